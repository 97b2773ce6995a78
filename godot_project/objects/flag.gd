class_name Flag
extends Area2D
## Ends the level: who touches it has won.

@onready var _win_sound: AudioStreamPlayer = $WinSound
@onready var _confetti: CPUParticles2D = $Confetti


func _on_body_entered(_body: Node2D) -> void:
	if Game.is_over:
		return
	_win_sound.play()
	_confetti.restart()
	Game.win()

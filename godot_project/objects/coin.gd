class_name Coin
extends Area2D
## Is collected by touch.

@onready var _animation: AnimationPlayer = $Animation


func _ready() -> void:
	# Coins in a row rise and sink as a wave.
	_animation.seek(fposmod(-position.x / 100.0, _animation.current_animation_length))


func _on_body_entered(_body: Node2D) -> void:
	set_deferred(&"monitoring", false)
	Game.collect_coin()
	_animation.play(&"collect")

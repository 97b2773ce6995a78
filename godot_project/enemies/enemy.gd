@abstract
class_name Enemy
extends CharacterBody2D
## Hurts the player by touch, and is beaten by a landing on top.
##
## How an enemy moves is up to the script that extends this one.

## How much higher than this the player has to come from for a landing.
const LANDING_HEIGHT := 4.0

@export var points := 50

var _is_beaten := false

@onready var _sprite: AnimatedSprite2D = $Sprite
@onready var _hitbox: Area2D = $Hitbox
@onready var _beaten_sound: AudioStreamPlayer2D = $BeatenSound


func _physics_process(delta: float) -> void:
	if _is_beaten:
		return
	_move(delta)
	for body in _hitbox.get_overlapping_bodies():
		if body is Player and not Game.is_over:
			_touch(body as Player)


## Moves on by one physics frame.
@abstract func _move(delta: float) -> void


func _touch(player: Player) -> void:
	# By the way it came, since a fast fall may have ended on the ground already.
	var motion := player.get_position_delta()
	var came_from := player.global_position - motion
	if motion.y > 0.0 and came_from.y < global_position.y - LANDING_HEIGHT:
		player.bounce()
		_be_beaten()
	else:
		player.hurt(global_position)


func _be_beaten() -> void:
	_is_beaten = true
	Game.score += points
	_beaten_sound.play()
	_sprite.pause()
	var tween := create_tween().set_parallel()
	tween.tween_property(_sprite, ^"scale", Vector2(1.4, 0.2), 0.12)
	tween.tween_property(_sprite, ^"modulate:a", 0.0, 0.25).set_delay(0.1)
	await tween.finished
	queue_free()

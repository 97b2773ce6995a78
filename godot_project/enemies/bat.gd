class_name Bat
extends Enemy
## Flies an eight around the place where it was put.

## How far it flies to each side, and up and down.
@export var reach := Vector2(40.0, 14.0)
## Seconds for one round.
@export_range(0.5, 10.0, 0.1, "suffix:s") var period := 3.2

var _time := 0.0

@onready var _home := position


func _move(delta: float) -> void:
	_time += delta
	var angle := TAU * _time / period
	position = _home + reach * Vector2(sin(angle), sin(2.0 * angle))
	_sprite.flip_h = cos(angle) < 0.0

class_name Slime
extends Enemy
## Crawls along the ground, and turns at walls and edges.

@export var speed := 28.0

var _direction := -1.0

@onready var _edge: RayCast2D = $Edge


func _move(delta: float) -> void:
	velocity += get_gravity() * delta
	velocity.x = _direction * speed
	move_and_slide()
	if is_on_wall():
		_turn(signf(get_wall_normal().x))
	elif is_on_floor() and not _edge.is_colliding():
		_turn(-_direction)


func _turn(direction: float) -> void:
	_direction = direction
	_sprite.flip_h = direction > 0.0
	_edge.position.x = absf(_edge.position.x) * direction
	_edge.force_raycast_update()

class_name Player
extends CharacterBody2D
## The radish. It runs, jumps, and bounces off the enemies on which it lands.

## A jump still works this long after the edge, and this long before the landing.
const JUMP_GRACE := 0.1
const INVINCIBLE_TIME := 1.5
const STUN_TIME := 0.3

@export var speed := 110.0
@export var acceleration := 900.0
@export var jump_speed := 300.0
@export var bounce_speed := 230.0
@export var knockback := Vector2(120.0, -160.0)

var _since_floor := INF
var _since_jump_pressed := INF
var _stun_left := 0.0
var _invincible_left := 0.0
var _safe_position := Vector2.ZERO

@onready var _sprite: AnimatedSprite2D = $Sprite
@onready var _effects: AnimationPlayer = $Effects
@onready var _dust: CPUParticles2D = $Dust
@onready var _camera: Camera2D = $Camera
@onready var _jump_sound: AudioStreamPlayer = $JumpSound
@onready var _hurt_sound: AudioStreamPlayer = $HurtSound
@onready var _left_foot: RayCast2D = $LeftFoot
@onready var _right_foot: RayCast2D = $RightFoot


func _ready() -> void:
	_safe_position = position


func _physics_process(delta: float) -> void:
	_count_time(delta)
	var was_on_floor := is_on_floor()
	velocity += get_gravity() * delta
	if Game.is_over:
		velocity.x = move_toward(velocity.x, 0.0, acceleration * delta)
	elif _stun_left <= 0.0:
		_run(delta)
		_jump()
	move_and_slide()

	if is_on_floor():
		if not was_on_floor:
			_dust.restart()
		if _left_foot.is_colliding() and _right_foot.is_colliding():
			_safe_position = position
	_animate()


## Keeps the camera within the level.
func limit_camera(area: Rect2i) -> void:
	_camera.limit_left = area.position.x
	_camera.limit_top = area.position.y
	_camera.limit_right = area.end.x
	_camera.limit_bottom = area.end.y
	_camera.reset_smoothing()


## Jumps off what was landed on.
func bounce() -> void:
	velocity.y = -bounce_speed
	_since_floor = INF


## Loses a life to something at [param from], and is thrown away from it.
func hurt(from: Vector2) -> void:
	if _invincible_left > 0.0 or Game.is_over:
		return
	velocity.x = knockback.x * (1.0 if global_position.x >= from.x else -1.0)
	velocity.y = knockback.y
	_stun_left = STUN_TIME
	_lose_life()


## Loses a life to the water, and comes back where it last stood safely.
func fall() -> void:
	position = _safe_position
	velocity = Vector2.ZERO
	_lose_life()


func _count_time(delta: float) -> void:
	_since_floor = 0.0 if is_on_floor() else _since_floor + delta
	_since_jump_pressed += delta
	if Input.is_action_just_pressed(&"jump"):
		_since_jump_pressed = 0.0
	_stun_left -= delta
	_invincible_left -= delta
	if _invincible_left <= 0.0 and _effects.current_animation == &"blink":
		_effects.play(&"RESET")


func _run(delta: float) -> void:
	var direction := Input.get_axis(&"move_left", &"move_right")
	velocity.x = move_toward(velocity.x, direction * speed, acceleration * delta)
	if direction != 0.0:
		_sprite.flip_h = direction < 0.0


func _jump() -> void:
	if _since_floor <= JUMP_GRACE and _since_jump_pressed <= JUMP_GRACE:
		velocity.y = -jump_speed
		_since_floor = INF
		_since_jump_pressed = INF
		_jump_sound.play()
	elif Input.is_action_just_released(&"jump") and velocity.y < 0.0:
		# A short press is a small jump.
		velocity.y *= 0.5


func _lose_life() -> void:
	_invincible_left = INVINCIBLE_TIME
	_effects.play(&"blink")
	_hurt_sound.play()
	Game.lose_life()


func _animate() -> void:
	if _stun_left > 0.0:
		_sprite.play(&"hurt")
	elif not is_on_floor():
		_sprite.play(&"jump" if velocity.y < 0.0 else &"fall")
	elif absf(velocity.x) > 10.0:
		_sprite.play(&"run")
	else:
		_sprite.play(&"idle")

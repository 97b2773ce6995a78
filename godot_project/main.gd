extends Node2D
## The level: begins a run, and watches for a fall into the water.

var _area: Rect2i

@onready var _player: Player = $Player
@onready var _ground: TileMapLayer = $Ground
@onready var _water: TileMapLayer = $Water
@onready var _coins: Node2D = $Coins
@onready var _menu: Menu = $Menu


func _ready() -> void:
	_area = _find_area()
	_player.limit_camera(_area)
	Game.begin(_coins.get_child_count())
	if not Game.was_started:
		_menu.open(Menu.Page.TITLE)


func _physics_process(_delta: float) -> void:
	if _player.position.y > _area.end.y and not Game.is_over:
		_player.fall()


## All tiles, and the sky above them, in pixels.
func _find_area() -> Rect2i:
	var cells := _ground.get_used_rect().merge(_water.get_used_rect()).expand(Vector2i.ZERO)
	var tile_size := _ground.tile_set.tile_size
	return Rect2i(cells.position * tile_size, cells.size * tile_size)

extends CanvasLayer
## Shows coins, score and lives.

@onready var _coins: Label = %Coins
@onready var _score: Label = %Score
@onready var _hearts: HBoxContainer = %Hearts


func _ready() -> void:
	Game.coins_changed.connect(_on_coins_changed)
	Game.score_changed.connect(_on_score_changed)
	Game.lives_changed.connect(_on_lives_changed)


func _notification(what: int) -> void:
	if what == NOTIFICATION_TRANSLATION_CHANGED and is_node_ready():
		_on_score_changed(Game.score)


func _on_coins_changed(coins: int, total: int) -> void:
	_coins.text = "%d/%d" % [coins, total]


func _on_score_changed(score: int) -> void:
	_score.text = tr("Score %04d") % score


func _on_lives_changed(lives: int) -> void:
	for heart: TextureRect in _hearts.get_children():
		heart.modulate = Color.WHITE if heart.get_index() < lives else Color(0.0, 0.0, 0.0, 0.45)

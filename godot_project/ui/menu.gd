class_name Menu
extends CanvasLayer
## Title, pause, and the end of the game. The game stands still while it is shown.

enum Page { TITLE, PAUSE, WON, LOST }

var _page := Page.TITLE

@onready var _title: Label = %Title
@onready var _text: Label = %Text
@onready var _play: Button = %Play
@onready var _lose_sound: AudioStreamPlayer = $LoseSound


func _ready() -> void:
	hide()
	Game.ended.connect(_on_game_ended)


func _notification(what: int) -> void:
	if what == NOTIFICATION_TRANSLATION_CHANGED and is_node_ready():
		_write()


func _unhandled_input(event: InputEvent) -> void:
	# Asked for now: after a restart this menu is in no tree.
	var viewport := get_viewport()
	if event.is_action_pressed(&"switch_language"):
		Game.switch_language()
	elif event.is_action_pressed(&"restart"):
		_restart()
	elif event.is_action_pressed(&"pause") and not Game.is_over:
		if visible:
			_on_play_pressed()
		else:
			open(Page.PAUSE)
	elif event.is_action_pressed(&"jump") and visible:
		_on_play_pressed()
	else:
		return
	viewport.set_input_as_handled()


func open(page: Page) -> void:
	_page = page
	_write()
	show()
	get_tree().paused = true
	_play.grab_focus()


func _write() -> void:
	match _page:
		Page.TITLE:
			_title.text = tr("Radish Run")
			_text.text = tr("Run: arrow keys   Jump: space bar\nHop on enemies, stay out of the water,\nand get to the flag!")
			_play.text = tr("Play")
		Page.PAUSE:
			_title.text = tr("Paused")
			_text.text = tr("Take a deep breath.")
			_play.text = tr("Go on")
		Page.WON:
			_title.text = tr("You made it!")
			_text.text = tr("Coins: %d of %d") % [Game.coins, Game.coins_total]
			_text.text += "\n" + tr("Score: %d") % Game.score
			_play.text = tr("Play again")
		Page.LOST:
			_title.text = tr("Game over")
			_text.text = tr("Even radishes need a little luck.")
			_text.text += "\n" + tr("Score: %d") % Game.score
			_play.text = tr("Play again")


func _restart() -> void:
	get_tree().paused = false
	get_tree().reload_current_scene()


func _on_game_ended(won: bool) -> void:
	if not won:
		_lose_sound.play()
	# Long enough to see why.
	await get_tree().create_timer(1.0).timeout
	open(Page.WON if won else Page.LOST)


func _on_play_pressed() -> void:
	if Game.is_over:
		_restart()
		return
	Game.was_started = true
	hide()
	get_tree().paused = false


func _on_language_pressed() -> void:
	Game.switch_language()

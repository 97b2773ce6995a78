@tool
extends PanelContainer
## One call in the dock: what was called, what it came to, how long it took, and who called.
##
## Pressed, it unfolds the message and the hint of a refusal, and the time of day.

## The human wants the edit with this token undone.
signal undo_requested(token: String)

const CLASS_NAMES := {
	"read_only": "Only reads",
	"mutating": "Edits, undoable",
	"destructive": "Deletes or overwrites",
	"runtime": "Drives the game",
}

var entry := {}

var _hovered := false

@onready var _margin: MarginContainer = %Margin
@onready var _lines: VBoxContainer = %Lines
@onready var _icon: TextureRect = %Icon
@onready var _tool: Label = %Tool
@onready var _time: Label = %Time
@onready var _detail: Label = %Detail
@onready var _client: Label = %Client
@onready var _more: Label = %More
@onready var _undo: Button = %Undo


func _ready() -> void:
	_undo.pressed.connect(func() -> void: undo_requested.emit(entry.get("undo_token", "")))
	mouse_entered.connect(_hover.bind(true))
	mouse_exited.connect(_hover.bind(false))
	focus_entered.connect(queue_redraw)
	focus_exited.connect(queue_redraw)
	_lines.resized.connect(_share_width)
	_theme()


func _notification(what: int) -> void:
	if what == NOTIFICATION_THEME_CHANGED and is_node_ready():
		_theme()
	elif what == NOTIFICATION_TRANSLATION_CHANGED and is_node_ready() and not entry.is_empty():
		_fill()


func _gui_input(event: InputEvent) -> void:
	var click := event as InputEventMouseButton
	var clicked := click != null and click.pressed and click.button_index == MOUSE_BUTTON_LEFT
	if clicked or event.is_action_pressed(&"ui_accept"):
		_more.visible = not _more.visible
		accept_event()


## Shows a call, an entry of [code]GodotMcp.calls()[/code].
func show_call(shown: Dictionary) -> void:
	if shown == entry:
		return
	if shown.seq != entry.get("seq", 0):
		_more.visible = false
	entry = shown
	_fill()
	_theme()


func _fill() -> void:
	_tool.text = entry.tool
	_time.text = _duration(entry.msec)
	_client.text = _short(entry.client)
	_detail.text = _outcome()
	_undo.visible = entry.get("standing", "") == "newest"
	if _undo.visible:
		_client.visible = false
	_more.text = "\n".join(_more_lines())
	tooltip_text = "\n".join([entry.tool, _detail.text, entry.client].filter(
			func(it: String) -> bool: return not it.is_empty()))


func _outcome() -> String:
	if entry.has("code"):
		return entry.code
	if entry.get("preview", false):
		return tr("Preview")
	var title: String = entry.get("title", "")
	if entry.get("standing", "") in ["undone", "gone"]:
		return tr("Undone: %s") % title
	return title


func _more_lines() -> PackedStringArray:
	var lines: PackedStringArray = []
	if entry.has("code"):
		lines.append(entry.message)
		if not entry.hint.is_empty():
			lines.append(entry.hint)
	var zone: int = Time.get_time_zone_from_system().bias * 60
	var clock := Time.get_time_string_from_unix_time(int(entry.unix_time) + zone)
	lines.append(" · ".join([clock, tr(CLASS_NAMES.get(entry.safety_class, "")), entry.client].filter(
			func(it: String) -> bool: return not it.is_empty())))
	return lines


## A client's name without its version.
func _short(client: String) -> String:
	var space := client.rfind(" ")
	return client.left(space) if space > 0 and client.substr(space + 1).left(1).is_valid_int() else client


func _duration(msec: float) -> String:
	if msec < 10.0:
		return "%.1f ms" % msec
	return "%d ms" % roundi(msec) if msec < 1000.0 else "%.1f s" % (msec / 1000.0)


## An error code is shown whole. The client gets what it needs, or the room that is left, or a share.
func _share_width() -> void:
	if _undo.visible:
		return
	var scale_by := EditorInterface.get_editor_scale()
	var wanted := _text_width(_client)
	var left := _lines.size.x - _text_width(_detail) - 8.0 * scale_by
	var share := 0.0 if entry.has("code") else 0.4
	var room := maxf(left, _lines.size.x * share)
	# A stump of a name says nothing. It is in the tooltip, and below when unfolded.
	_client.visible = room >= minf(wanted, 48.0 * scale_by)
	_client.custom_minimum_size.x = minf(wanted, room)


func _text_width(label: Label) -> float:
	var font_size := label.get_theme_font_size(&"font_size")
	var font := label.get_theme_font(&"font")
	return ceilf(font.get_string_size(label.text, HORIZONTAL_ALIGNMENT_LEFT, -1, font_size).x) + 1.0


func _theme() -> void:
	if is_part_of_edited_scene():
		return
	var scale_by := EditorInterface.get_editor_scale()
	for side: StringName in [&"margin_left", &"margin_top", &"margin_right", &"margin_bottom"]:
		_margin.add_theme_constant_override(side, roundi(4 * scale_by))
	_lines.add_theme_constant_override(&"separation", roundi(2 * scale_by))
	var font_color := get_theme_color(&"font_color", &"Label")
	var dim := Color(font_color, font_color.a * 0.65)
	var failed := entry.has("code")
	var undone: bool = entry.get("standing", "") in ["undone", "gone"]
	_icon.texture = get_theme_icon(&"StatusError" if failed else &"StatusSuccess", &"EditorIcons")
	_icon.modulate.a = 1.0 if failed else 0.8
	_icon.custom_minimum_size.y = _tool.get_combined_minimum_size().y
	_undo.icon = get_theme_icon(&"UndoRedo", &"EditorIcons")
	_tool.add_theme_color_override(&"font_color", dim if undone else font_color)
	for label: Label in [_time, _client, _more]:
		label.add_theme_color_override(&"font_color", dim)
	_detail.add_theme_color_override(&"font_color",
			get_theme_color(&"error_color", &"Editor") if failed else dim)
	_share_width()
	queue_redraw()


func _draw() -> void:
	if is_part_of_edited_scene():
		return
	# Drawn rather than set as a style: a style set on itself would announce a new theme each time.
	if has_focus():
		draw_style_box(get_theme_stylebox(&"focus", &"Tree"), Rect2(Vector2.ZERO, size))
	elif _hovered:
		draw_style_box(get_theme_stylebox(&"hovered", &"Tree"), Rect2(Vector2.ZERO, size))


func _hover(on: bool) -> void:
	_hovered = on
	queue_redraw()

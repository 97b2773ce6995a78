@tool
extends HBoxContainer
## One toolset in the dock, with its switch.

## The human switched it.
signal switched(toolset: String, on: bool)

var _toolset := {}

@onready var _switch: CheckBox = %Switch
@onready var _count: Label = %Count


func _ready() -> void:
	_switch.toggled.connect(func(on: bool) -> void: switched.emit(_toolset.name, on))
	_theme()


func _notification(what: int) -> void:
	if what == NOTIFICATION_THEME_CHANGED and is_node_ready():
		_theme()
	elif what == NOTIFICATION_TRANSLATION_CHANGED and is_node_ready() and not _toolset.is_empty():
		_fill()


## Shows a toolset, an entry of [code]GodotMcp.toolsets()[/code].
func show_toolset(entry: Dictionary) -> void:
	if entry != _toolset:
		_toolset = entry
		_fill()
	# Also after a switch that was refused.
	_switch.set_pressed_no_signal(entry.enabled)


func _fill() -> void:
	_switch.text = _toolset.name
	_switch.disabled = _toolset.locked
	_switch.tooltip_text = _toolset.description
	if _toolset.locked:
		_switch.tooltip_text += "\n" + tr("Always on.")
	_count.text = tr_n("%d tool", "%d tools", _toolset.tools) % _toolset.tools


func _theme() -> void:
	if is_part_of_edited_scene():
		return
	var font_color := get_theme_color(&"font_color", &"Label")
	_count.add_theme_color_override(&"font_color", Color(font_color, font_color.a * 0.65))
	# A locked switch is on and meant to be read, so it is not as faint as a disabled control.
	_switch.add_theme_color_override(&"font_disabled_color", font_color)

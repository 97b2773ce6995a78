@tool
extends VBoxContainer
## Asks the human about one call that waits (S7.2). Part of the dock, so nothing is ever blocked.

## [param decision] is [code]once[/code], [code]session[/code] or [code]deny[/code].
signal answered(id: String, decision: String)

## Lines of changes that are seen without scrolling.
const MAX_LINES := 6

var _approval := {}

@onready var _panel: PanelContainer = %Panel
@onready var _icon: TextureRect = %Icon
@onready var _question: Label = %Question
@onready var _changes: ScrollContainer = %Changes
@onready var _changes_text: Label = %ChangesText
@onready var _expiry: Label = %Expiry


func _ready() -> void:
	var buttons: Dictionary[Button, String] = {%Once: "once", %Session: "session", %Deny: "deny"}
	for button in buttons:
		button.pressed.connect(func() -> void: answered.emit(_approval.id, buttons[button]))
	_changes_text.resized.connect(_fit)
	_changes_text.minimum_size_changed.connect(_fit)
	_theme()


func _notification(what: int) -> void:
	if what == NOTIFICATION_THEME_CHANGED and is_node_ready():
		_theme()
	elif what == NOTIFICATION_TRANSLATION_CHANGED and is_node_ready() and not _approval.is_empty():
		show_approval(_approval)


## Shows an entry of [code]GodotMcp.approvals()[/code].
func show_approval(entry: Dictionary) -> void:
	_approval = entry
	var client: String = entry.client if not entry.client.is_empty() else tr("A client")
	_question.text = tr("%s asks to run %s: %s") % [client, entry.tool, entry.title]
	_changes_text.text = "\n".join(entry.changes)
	_changes.visible = not entry.changes.is_empty()
	_expiry.text = tr("Denied by itself in %d s.") % ceili(entry.expires_in_s)
	_fit()
	_theme()


## As tall as the changes, up to some lines.
func _fit() -> void:
	var most := float(_changes_text.get_line_height() * MAX_LINES)
	_changes.custom_minimum_size.y = minf(_changes_text.get_combined_minimum_size().y, most)


func _theme() -> void:
	if is_part_of_edited_scene():
		return
	var destructive: bool = _approval.get("safety_class", "") == "destructive"
	_icon.texture = get_theme_icon(&"StatusWarning", &"EditorIcons")
	_icon.custom_minimum_size.y = _question.get_line_height()
	var accent := get_theme_color(&"warning_color", &"Editor")
	if destructive:
		accent = get_theme_color(&"error_color", &"Editor")
	var font_color := get_theme_color(&"font_color", &"Label")
	_expiry.add_theme_color_override(&"font_color", Color(font_color, font_color.a * 0.65))
	var box := StyleBoxFlat.new()
	var scale_by := EditorInterface.get_editor_scale()
	box.bg_color = Color(accent, 0.12)
	box.border_color = Color(accent, 0.6)
	box.set_border_width_all(maxi(1, roundi(scale_by)))
	box.set_corner_radius_all(roundi(4 * scale_by))
	box.set_content_margin_all(8 * scale_by)
	_panel.add_theme_stylebox_override(&"panel", box)

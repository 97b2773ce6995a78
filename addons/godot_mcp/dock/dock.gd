@tool
extends ScrollContainer
## The dock of Godot MCP. Shows what the native node says and hands back what the human wants; it
## keeps no state of its own beyond what is on screen.

## The human wants another try after a start that failed.
signal retry_requested
## Something waits for the human's answer, and the dock is out of sight.
signal attention_wanted

const CallRow := preload("call_row.gd")
const ToolsetRow := preload("toolset_row.gd")
const ApprovalCard := preload("approval_card.gd")
const CALL_ROW := preload("call_row.tscn")
const TOOLSET_ROW := preload("toolset_row.tscn")
const APPROVAL_CARD := preload("approval_card.tscn")

const LANGUAGE_SETTING := "interface/editor/editor_language"
const DOMAIN := &"godot_mcp"
const MAX_CALLS := 30
## Shortest time between two looks, in seconds: a busy client must not keep the editor drawing.
const PAUSE := 0.15
## Id of the menu's check item, beyond those of the clients.
const RELAY_ITEM := 1000

## What to do, by the code of a start that failed.
const ADVICE := {
	"ports_busy": "Other programs use these ports, maybe other editors. Close them, or choose another port in the project setting godot_mcp/network/port.",
	"bind": "Check the address in GODOT_MCP_HOST, or choose another port in the project setting godot_mcp/network/port.",
	"token_required": "Listen on 127.0.0.1 only, or remove GODOT_MCP_NO_TOKEN.",
	"token_file": "Make this file readable and writable for you, or delete it: a new one is made.",
	"state_folder": "Make the .godot folder of this project writable.",
	"setting": "Correct this environment variable and restart the editor.",
	"no_library": "Install a release that has this file, or build it with \"make build\". Then restart the editor.",
	"not_loaded": "The Output panel says why. Restart the editor after installing or updating the addon.",
	"other": "The Output panel may say more.",
}

## The native node, none when its library is missing.
var host: Node
## Why there is no native node: [code]code[/code] and [code]message[/code].
var fault := {}

var _last_seq := 0
var _looked_at := 0.0
var _waiting_approvals := 0

@onready var _later: Timer = %Later
@onready var _status_icon: TextureRect = %StatusIcon
@onready var _status: Label = %Status
@onready var _pause: Button = %Pause
@onready var _fault: PanelContainer = %Fault
@onready var _fault_text: Label = %FaultText
@onready var _advice: Label = %Advice
@onready var _retry: Button = %Retry
@onready var _connection: VBoxContainer = %Connection
@onready var _address: LineEdit = %Address
@onready var _copy_address: Button = %CopyAddress
@onready var _configuration: MenuButton = %Configuration
@onready var _clients: Label = %Clients
@onready var _approvals: VBoxContainer = %Approvals
@onready var _tabs: TabContainer = %Tabs
@onready var _calls: ScrollContainer = %Calls
@onready var _call_list: VBoxContainer = %CallList
@onready var _no_calls: Label = %NoCalls
@onready var _tool_count: Label = %ToolCount
@onready var _toolset_list: VBoxContainer = %ToolsetList
@onready var _extensions_title: Label = %ExtensionsTitle
@onready var _extension_list: VBoxContainer = %ExtensionList
@onready var _messages: ScrollContainer = %Messages
@onready var _message_list: VBoxContainer = %MessageList


func _ready() -> void:
	if is_part_of_edited_scene():
		return
	_translate()
	_pause.toggled.connect(_on_pause_toggled)
	_retry.pressed.connect(retry_requested.emit)
	_copy_address.pressed.connect(_on_copy_address_pressed)
	_configuration.get_popup().id_pressed.connect(_on_configuration_chosen)
	_configuration.get_popup().hide_on_checkable_item_selection = false
	visibility_changed.connect(_on_state_changed)
	_later.timeout.connect(_on_later_timeout)
	if host != null:
		host.connect(&"state_changed", _on_state_changed)
		# The human's own undo changes which edit can be undone from here.
		EditorInterface.get_editor_undo_redo().history_changed.connect(_on_state_changed)
	_theme()
	refresh()


func _notification(what: int) -> void:
	if not is_node_ready() or is_part_of_edited_scene():
		return
	if what == NOTIFICATION_THEME_CHANGED:
		_theme()
		refresh()
	elif what == NOTIFICATION_TRANSLATION_CHANGED:
		refresh()


## Asks the native node and shows what it says.
func refresh() -> void:
	_looked_at = Time.get_ticks_msec() / 1000.0
	var status := fault.merged({"state": "failed"})
	if host != null:
		status = host.call(&"status")
	var running: bool = status.state == "running"
	_show_status(status)
	_show_fault(status)
	_connection.visible = running
	_tabs.visible = running
	_pause.visible = running
	if running:
		_show_connection(status)
		_show_approvals()
		_show_calls()
		_show_toolsets(status)
		_show_extensions()
		_show_messages(status.messages)


#region Showing

func _show_status(status: Dictionary) -> void:
	var text := tr("Not running")
	var icon := &"StatusError"
	match status.state:
		"running" when status.paused:
			text = tr("Paused")
			icon = &"StatusWarning"
		"running":
			text = tr("Running, read-only") if status.read_only else tr("Running")
			icon = &"StatusSuccess"
		"stopped":
			icon = &"StatusWarning"
	_status.text = text
	_status.tooltip_text = text
	_status_icon.texture = get_theme_icon(icon, &"EditorIcons")
	var paused: bool = status.get("paused", false)
	_pause.set_pressed_no_signal(paused)
	_pause.text = tr("Resume") if paused else tr("Pause")
	_pause.icon = get_theme_icon(&"Play" if paused else &"Pause", &"EditorIcons")
	_pause.tooltip_text = (tr("Let clients work again.") if paused
			else tr("Refuse all work of clients until you resume. They are told that a human has paused the server."))


func _show_fault(status: Dictionary) -> void:
	var conflict: String = status.get("conflict", "")
	_fault.visible = status.state == "failed" or not conflict.is_empty()
	if not _fault.visible:
		return
	if not conflict.is_empty():
		_fault_text.text = conflict
		_advice.text = tr("Delete one of the two folders, then restart the editor.")
		_retry.visible = false
		return
	_fault_text.text = status.message
	_advice.text = tr(ADVICE.get(status.code, ADVICE.other))
	_retry.visible = host != null


func _show_connection(status: Dictionary) -> void:
	if _address.text != status.url:
		_address.text = status.url
	var names: PackedStringArray = status.clients
	if names.is_empty():
		_clients.text = tr("No client has connected yet. Copy a configuration into one.")
	else:
		_clients.text = tr("Clients: %s") % ", ".join(names)
	_dim(_clients, names.is_empty())
	var menu := _configuration.get_popup()
	if menu.item_count == 0:
		_fill_menu(menu)


func _fill_menu(menu: PopupMenu) -> void:
	menu.auto_translate_mode = Node.AUTO_TRANSLATE_MODE_DISABLED
	var known: Array = host.call(&"configurable_clients")
	for index in known.size():
		var client: Dictionary = known[index]
		menu.add_item(client.name if not client.name.is_empty() else tr("Other Client"), index)
		menu.set_item_metadata(-1, client)
		menu.set_item_tooltip(-1, client.file)
	menu.add_separator()
	menu.add_check_item(tr("Through the Relay"), RELAY_ITEM)
	menu.set_item_tooltip(-1, tr("The client starts the program godot-mcp, which finds this editor again after a restart. For clients that speak stdio only."))


func _show_approvals() -> void:
	var waiting: Array = host.call(&"approvals")
	_approvals.visible = not waiting.is_empty()
	_resize(_approvals, waiting.size(), _new_approval_card)
	for index in waiting.size():
		(_approvals.get_child(index) as ApprovalCard).show_approval(waiting[index])
	if waiting.size() > _waiting_approvals:
		attention_wanted.emit()
	_waiting_approvals = waiting.size()
	if _approvals.visible:
		# The time that is left runs down.
		_look_after(1.0)


func _show_calls() -> void:
	var calls: Array = host.call(&"calls", maxi(_last_seq - MAX_CALLS, 0))
	calls = calls.slice(-MAX_CALLS)
	_no_calls.visible = calls.is_empty()
	if calls.is_empty():
		return
	_resize(_call_list, calls.size(), _new_call_row, 1)
	# The newest is on top. Rows move down with their calls, so what is unfolded or focused stays so.
	var new_calls := calls.filter(func(it: Dictionary) -> bool: return it.seq > _last_seq).size()
	for index in mini(new_calls, calls.size()):
		_call_list.move_child(_call_list.get_child(-1), 1)
	for index in calls.size():
		(_call_list.get_child(index + 1) as CallRow).show_call(calls[-1 - index])
	_last_seq = calls[-1].seq


func _show_toolsets(status: Dictionary) -> void:
	var toolsets: Array = host.call(&"toolsets")
	_resize(_toolset_list, toolsets.size(), _new_toolset_row)
	for index in toolsets.size():
		(_toolset_list.get_child(index) as ToolsetRow).show_toolset(toolsets[index])
	_tool_count.text = tr("Clients see %d of %d tools.") % [status.tools_listed, status.tools]


func _show_extensions() -> void:
	var extensions: Array = host.call(&"extensions")
	_extensions_title.visible = not extensions.is_empty()
	_extension_list.visible = not extensions.is_empty()
	_resize(_extension_list, extensions.size(), _new_text_row)
	for index in extensions.size():
		var extension: Dictionary = extensions[index]
		var error: String = extension.get("error", "")
		var count := tr_n("%d tool", "%d tools", extension.tools) % extension.tools
		_show_text(_extension_list.get_child(index),
				"%s: %s" % [extension.name, count if error.is_empty() else error],
				[&"font_color", &"Label"] if error.is_empty() else [&"error_color", &"Editor"])


func _show_messages(messages: Array) -> void:
	_tabs.set_tab_hidden(_messages.get_index(), messages.is_empty())
	_resize(_message_list, messages.size(), _new_text_row)
	for index in messages.size():
		_show_text(_message_list.get_child(index), messages[index].text,
				[&"error_color" if messages[index].error else &"warning_color", &"Editor"])


func _show_text(label: Label, text: String, color: Array) -> void:
	label.text = text
	label.add_theme_color_override(&"font_color", get_theme_color(color[0], color[1]))

#endregion
#region Rows

## Makes a list have [param count] rows after the first [param kept] children.
func _resize(list: Container, count: int, make: Callable, kept := 0) -> void:
	while list.get_child_count() < count + kept:
		list.add_child(make.call())
	while list.get_child_count() > count + kept:
		var row := list.get_child(-1)
		list.remove_child(row)
		row.queue_free()


func _new_call_row() -> CallRow:
	var row: CallRow = CALL_ROW.instantiate()
	row.undo_requested.connect(_on_undo_requested)
	return row


func _new_toolset_row() -> ToolsetRow:
	var row: ToolsetRow = TOOLSET_ROW.instantiate()
	row.switched.connect(_on_toolset_switched)
	return row


func _new_approval_card() -> ApprovalCard:
	var card: ApprovalCard = APPROVAL_CARD.instantiate()
	card.answered.connect(_on_approval_answered)
	return card


func _new_text_row() -> Label:
	var label := Label.new()
	label.auto_translate_mode = Node.AUTO_TRANSLATE_MODE_DISABLED
	label.autowrap_mode = TextServer.AUTOWRAP_WORD_SMART
	label.focus_mode = Control.FOCUS_ALL
	return label

#endregion
#region Looks

## Icons, colors and sizes come from the editor's theme at run time, so none is saved in the scene.
func _theme() -> void:
	var scale_by := EditorInterface.get_editor_scale()
	custom_minimum_size.x = 200 * scale_by
	_tabs.custom_minimum_size.y = 160 * scale_by
	_copy_address.icon = get_theme_icon(&"ActionCopy", &"EditorIcons")
	_configuration.icon = get_theme_icon(&"arrow", &"OptionButton")
	_call_list.add_theme_constant_override(&"separation", 0)
	for label: Label in [_no_calls, _tool_count, _extensions_title]:
		_dim(label, true)
	var accent := get_theme_color(&"error_color", &"Editor")
	var box := StyleBoxFlat.new()
	box.bg_color = Color(accent, 0.12)
	box.border_color = Color(accent, 0.6)
	box.set_border_width_all(maxi(1, roundi(scale_by)))
	box.set_corner_radius_all(roundi(4 * scale_by))
	box.set_content_margin_all(8 * scale_by)
	_fault.add_theme_stylebox_override(&"panel", box)


## The language that is set, also when this build of the editor has no texts in it.
func _language() -> String:
	var settings := EditorInterface.get_editor_settings()
	if settings.has_setting(LANGUAGE_SETTING) and settings.get_setting(LANGUAGE_SETTING) != "auto":
		return settings.get_setting(LANGUAGE_SETTING)
	return TranslationServer.get_tool_locale()


func _dim(label: Label, on: bool) -> void:
	var font_color := get_theme_color(&"font_color", &"Label")
	label.add_theme_color_override(&"font_color", Color(font_color, font_color.a * 0.65) if on else font_color)


## Texts follow the language of the editor, not that of the project.
func _translate() -> void:
	var domain := TranslationServer.get_or_add_domain(DOMAIN)
	domain.clear()
	var folder: String = (get_script() as Script).resource_path.get_base_dir().path_join("translations")
	for file in ResourceLoader.list_directory(folder):
		if file.get_extension() == "po":
			domain.add_translation(load(folder.path_join(file)))
	domain.set_locale_override(_language())
	set_translation_domain(DOMAIN)
	_tabs.set_tab_title(_calls.get_index(), tr("Calls"))
	_tabs.set_tab_title(_calls.get_index() + 1, tr("Toolsets"))
	_tabs.set_tab_title(_messages.get_index(), tr("Log"))

#endregion
#region What the human wants

func _on_pause_toggled(paused: bool) -> void:
	host.call(&"set_paused", paused)
	refresh()


func _on_toolset_switched(toolset: String, on: bool) -> void:
	_tell(host.call(&"set_toolset", toolset, on))
	refresh()


func _on_undo_requested(token: String) -> void:
	_tell(host.call(&"undo", token))
	refresh()


func _on_approval_answered(id: String, decision: String) -> void:
	host.call(&"answer_approval", id, decision)
	refresh()


func _on_copy_address_pressed() -> void:
	DisplayServer.clipboard_set(_address.text)
	_tell(tr("Address copied."), EditorToaster.SEVERITY_INFO)


func _on_configuration_chosen(id: int) -> void:
	var menu := _configuration.get_popup()
	var relay := menu.get_item_index(RELAY_ITEM)
	if id == RELAY_ITEM:
		menu.toggle_item_checked(relay)
		return
	var client: Dictionary = menu.get_item_metadata(menu.get_item_index(id))
	DisplayServer.clipboard_set(host.call(&"client_configuration", client.id, menu.is_item_checked(relay)))
	if client.file.is_empty():
		_tell(tr("Configuration copied."), EditorToaster.SEVERITY_INFO)
	else:
		_tell(tr("Configuration copied. Paste it into %s.") % client.file, EditorToaster.SEVERITY_INFO)


func _tell(message: String, severity := EditorToaster.SEVERITY_WARNING) -> void:
	if not message.is_empty():
		EditorInterface.get_editor_toaster().push_toast(message, severity)

#endregion
#region When to look

func _on_state_changed() -> void:
	if not is_visible_in_tree():
		# Only what cannot wait until the human looks.
		if host != null and host.call(&"approvals").size() > _waiting_approvals:
			attention_wanted.emit()
		return
	var wait := _looked_at + PAUSE - Time.get_ticks_msec() / 1000.0
	if wait <= 0.0:
		refresh()
	else:
		_look_after(wait)


func _look_after(seconds: float) -> void:
	if _later.is_stopped() or _later.time_left > seconds:
		_later.start(seconds)


func _on_later_timeout() -> void:
	if is_visible_in_tree():
		refresh()

#endregion

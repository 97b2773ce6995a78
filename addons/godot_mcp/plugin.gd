@tool
extends EditorPlugin
## Starts the server of Godot MCP with the editor, and stops it when the plugin is switched off.
##
## All logic is in the native library. This script starts it, shows the dock, and says what is missing
## when there is no library.

const NATIVE_CLASS := &"GodotMcp"
const EXTENSION := "res://addons/godot_mcp/godot_mcp.gdextension"
const MyLogger := preload("log.gd")
const MyExport := preload("export.gd")

var _logger: Logger
var _host: Node
var _export: EditorExportPlugin
## The dock's own control, and on Godot 4.6 the EditorDock round it.
var _dock: Control
var _frame: Control


func _enter_tree() -> void:
	_export = MyExport.new()
	add_export_plugin(_export)
	var fault := {}
	if ClassDB.class_exists(NATIVE_CLASS):
		_logger = MyLogger.new()
		OS.add_logger(_logger)
		_host = ClassDB.instantiate(NATIVE_CLASS)
		_host.name = NATIVE_CLASS
		add_child(_host)
		_start()
	else:
		fault = _missing()
		push_error("Godot MCP cannot start: %s" % fault.message)
	# A headless editor has nobody to look.
	if DisplayServer.get_name() != "headless":
		_add_dock(fault)


func _exit_tree() -> void:
	if _dock != null:
		_remove_dock()
	if _host != null:
		_host.call(&"stop")
		remove_child(_host)
		_host.free()
		_host = null
	if _logger != null:
		OS.remove_logger(_logger)
		_logger = null
	remove_export_plugin(_export)
	_export = null


## Called when the human switches the plugin on: the dock comes to the front, so it is found.
func _enable_plugin() -> void:
	if _dock != null:
		_show_dock()


func _start() -> void:
	_host.call(&"start", self, _logger)
	if _dock != null:
		_dock.call(&"refresh")


func _add_dock(fault: Dictionary) -> void:
	_dock = load("res://addons/godot_mcp/dock/dock.tscn").instantiate()
	_dock.set(&"host", _host)
	_dock.set(&"fault", fault)
	_dock.connect(&"retry_requested", _start)
	_dock.connect(&"attention_wanted", _show_dock)
	if not ClassDB.class_exists(&"EditorDock"):
		add_control_to_dock(DOCK_SLOT_RIGHT_UL, _dock)
		return
	# By name, since Godot 4.5 does not have the class.
	_frame = ClassDB.instantiate(&"EditorDock")
	_frame.set(&"title", "MCP")
	_frame.set(&"layout_key", "godot_mcp")
	_frame.set(&"default_slot", DOCK_SLOT_RIGHT_UL)
	_frame.add_child(_dock)
	call(&"add_dock", _frame)


func _remove_dock() -> void:
	if _frame != null:
		call(&"remove_dock", _frame)
		_frame.free()
		_frame = null
	else:
		remove_control_from_docks(_dock)
		_dock.free()
	_dock = null


func _show_dock() -> void:
	if _frame != null:
		_frame.call(&"make_visible")
		return
	var tabs := _dock.get_parent() as TabContainer
	if tabs != null:
		tabs.current_tab = tabs.get_tab_idx_from_control(_dock)


## Why the native class is not there.
func _missing() -> Dictionary:
	var file := _library()
	var platform := "%s %s" % [OS.get_name(), Engine.get_architecture_name()]
	if file.is_empty():
		return {"code": "no_library", "message": "there is no library for %s" % platform}
	if FileAccess.file_exists(file):
		return {"code": "not_loaded", "message": "%s could not be loaded" % file}
	return {"code": "no_library", "message": "%s is missing, the library for %s" % [file, platform]}


## The library that the extension names for this platform; empty without one.
func _library() -> String:
	var config := ConfigFile.new()
	if config.load(EXTENSION) != OK:
		return ""
	for key in config.get_section_keys("libraries"):
		if Array(key.split(".")).all(func(tag: String) -> bool: return OS.has_feature(tag)):
			return EXTENSION.get_base_dir().path_join(config.get_value("libraries", key))
	return ""

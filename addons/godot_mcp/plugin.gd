@tool
extends EditorPlugin
## Starts the server of Godot MCP with the editor, and stops it when the plugin is switched off.
##
## All logic is in the native library. This script only says what is missing when there is none.

const NATIVE_CLASS := &"GodotMcp"
const MyLogger := preload("log.gd")

var _logger: Logger
var _host: Node


func _enter_tree() -> void:
	if not ClassDB.class_exists(NATIVE_CLASS):
		push_error("Godot MCP cannot start: addons/godot_mcp/bin has no library for %s %s. " % [
				OS.get_name(), Engine.get_architecture_name()]
				+ "Install a release that has one, or build it with \"make build\", then restart the editor.")
		return
	_logger = MyLogger.new()
	OS.add_logger(_logger)
	_host = ClassDB.instantiate(NATIVE_CLASS)
	_host.name = NATIVE_CLASS
	add_child(_host)
	_host.call(&"start", self, _logger)


func _exit_tree() -> void:
	if _host != null:
		_host.call(&"stop")
		remove_child(_host)
		_host.free()
		_host = null
	if _logger != null:
		OS.remove_logger(_logger)
		_logger = null

@tool
class_name MCPToolkitExtensionContext
extends RefCounted
## What an extension is handed in [code]activate(context)[/code], once its tools are registered.
##
## Connections that are made through it end with the registration, just before
## [code]deactivate()[/code]: no callback outlives its script.

const _EDITOR_EVENTS := {
	"scene_changed": &"scene_changed",
	"scene_saved": &"scene_saved",
	"scene_closed": &"scene_closed",
	"script_saved": &"resource_saved",
}

var _plugin: EditorPlugin
var _host: Node
var _connections: Array[Array] = []


## Connects a signal until the extension goes or is loaded anew.
func connect_signal(source: Signal, callable: Callable) -> void:
	if source.is_null() or not callable.is_valid():
		push_warning("MCP: connect_signal() takes a signal and a function of live objects.")
		return
	if not source.is_connected(callable):
		source.connect(callable)
		_connections.append([source, callable])


## Calls [param callable] at each event of the editor: [code]scene_changed[/code] (its root, after a
## scene was opened or its tab was chosen), [code]scene_saved[/code] and [code]scene_closed[/code] (its
## path), [code]script_saved[/code] (the script), [code]selection_changed[/code],
## [code]play_started[/code], [code]play_stopped[/code], [code]filesystem_changed[/code]. False for
## another name.
func on(event: String, callable: Callable) -> bool:
	match event:
		"selection_changed":
			connect_signal(EditorInterface.get_selection().selection_changed, callable)
		"filesystem_changed":
			connect_signal(EditorInterface.get_resource_filesystem().filesystem_changed, callable)
		"play_started", "play_stopped":
			connect_signal(Signal(_host, event), callable)
		"script_saved":
			connect_signal(_plugin.resource_saved, _saved.bind(callable))
		_:
			if not _EDITOR_EVENTS.has(event):
				push_warning("MCP: there is no event \"%s\"." % event)
				return false
			connect_signal(Signal(_plugin, _EDITOR_EVENTS[event]), callable)
	return true


func _saved(resource: Resource, callable: Callable) -> void:
	if resource is Script and callable.is_valid():
		callable.call(resource)


func _close() -> void:
	for connection: Array in _connections:
		var source: Signal = connection[0]
		var callable: Callable = connection[1]
		if not source.is_null() and is_instance_valid(source.get_object()) and source.is_connected(callable):
			source.disconnect(callable)
	_connections.clear()

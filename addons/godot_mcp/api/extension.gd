@tool
class_name MCPToolkitExtension
extends RefCounted
## Base of scripts that add tools to the MCP server.
##
## A script with [code]@tool[/code], a class name of its own and this base is found by itself, anywhere
## in the project. See docs/extending.md of Godot MCP.
## [codeblock]
## func register(registry: MCPToolkitCommandRegistry, _server: Node) -> void:
##     registry.add("spawns.list", _list, MCPToolkitExtensionOptions.new("Lists spawn points.").mark_read_only())
##
## func _list(_params: Dictionary) -> Dictionary:
##     return MCPToolkitSuccess.ok({"spawns": []})
## [/codeblock]


## Adds the tools. Runs once for each version of the script that is loaded. [param server] is the node
## of the server.
func register(_registry: MCPToolkitCommandRegistry, _server: Node) -> void:
	pass


## Value of a setting, [code]<what>/<key>[/code]. See [method MCPToolkitCommandOptions.with_setting].
func setting(name: String) -> Variant:
	return ClassDB.class_call_static(&"GodotMcpApi", &"setting", name)


## The tree of the editor, whose [code]edited_scene_root[/code] is the scene in the current tab.
func get_tree() -> SceneTree:
	return Engine.get_main_loop() as SceneTree

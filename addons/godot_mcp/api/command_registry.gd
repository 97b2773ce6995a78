@tool
class_name MCPToolkitCommandRegistry
extends RefCounted
## What [method MCPToolkitExtension.register] adds tools to.
##
## It also has, as methods that can be called by name, what a script in another language cannot reach
## as a static function.

var _declared: Array = []
var _prompts: Array = []
var _resources: Array = []
var _class := ""
var _closed := false


## Adds a tool. [param method] is a name with a dot, such as [code]spawns.list[/code]; clients see
## [code]spawns_list[/code]. [param handler] takes the parameters, and a [MCPToolkitToolContext] when
## the options say that it can be cancelled, and answers a dictionary.
func add(method: String, handler: Callable, options: MCPToolkitCommandOptions) -> void:
	if _is_open(method):
		_declared.append([method, handler, options.to_dict()])


## Adds a prompt, a recipe that people pick in their client. [param text] is what the model is told, with
## arguments such as [code]{level}[/code] in it; a line whose argument was not given is left out, and so is
## one that names a tool in backticks which this server does not have. Each of [param arguments] has
## [code]name[/code], [code]description[/code] and, if it must be given, [code]required[/code].
func add_prompt(name: String, description: String, text: String, arguments: Array = []) -> void:
	if _is_open(name):
		_prompts.append({"name": name, "description": description, "text": text, "arguments": arguments.duplicate(true)})


## Adds what clients can read under a URI of this project's own, such as [code]godot://quests/all[/code], or
## [code]godot://quests/{id}[/code], for which [param handler] gets the [code]id[/code] in its parameters.
## It answers as a tool does. With another [param mime_type] than that of JSON, the answer has a
## [code]text[/code].
func add_resource(uri: String, name: String, description: String, handler: Callable, mime_type: String = "application/json") -> void:
	if _is_open(uri):
		_resources.append([{"uri": uri, "name": name, "description": description, "mime_type": mime_type}, handler])


## Calls another tool and waits for its answer, as [method MCPToolkitToolContext.call_tool] does. While a
## tool of this extension runs, the call is part of it.
func call_command(method: String, params: Dictionary = {}) -> Dictionary:
	return await MCPToolkitToolContext.ask(func(done: Callable) -> void:
		ClassDB.class_call_static(&"GodotMcpApi", &"call_tool", _class, method, params, done))


## Value of a setting, [code]<what>/<key>[/code]. See [method MCPToolkitCommandOptions.with_setting].
func setting(name: String) -> Variant:
	return ClassDB.class_call_static(&"GodotMcpApi", &"setting", name)


func create_options() -> MCPToolkitCommandOptions:
	return MCPToolkitCommandOptions.new()


func create_extension_options(description: String = "") -> MCPToolkitExtensionOptions:
	return MCPToolkitExtensionOptions.new(description)


## See [method MCPToolkitError.fail].
func fail(code: String, message: String, hint: String = "") -> Dictionary:
	return MCPToolkitError.fail(code, message, hint)


## See [method MCPToolkitError.require].
func require(parameters: Dictionary, required: Array) -> Variant:
	return MCPToolkitError.require(parameters, required)


## See [method MCPToolkitUndoRedoAction.begin].
func create_undo_action(description: String, context: Object = null) -> MCPToolkitUndoRedoAction:
	return MCPToolkitUndoRedoAction.begin(description, context)


## See [method MCPToolkitSafeSceneOps.queue_save].
func queue_save(path: String = "") -> String:
	return MCPToolkitSafeSceneOps.queue_save(path)


## See [method MCPToolkitSafeSceneOps.check_save].
func check_save(id: String, clear: bool = false) -> Dictionary:
	return MCPToolkitSafeSceneOps.check_save(id, clear)


func _is_open(name: String) -> bool:
	if _closed:
		push_warning("MCP: \"%s\" is added after register() has returned, so it is left out." % name)
	return not _closed

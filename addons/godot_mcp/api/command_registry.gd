@tool
class_name MCPToolkitCommandRegistry
extends RefCounted
## What [method MCPToolkitExtension.register] adds tools to.
##
## It also has, as methods that can be called by name, what a script in another language cannot reach
## as a static function.

var _declared: Array = []
var _closed := false


## Adds a tool. [param method] is a name with a dot, such as [code]spawns.list[/code]; clients see
## [code]spawns_list[/code]. [param handler] takes the parameters, and a [MCPToolkitToolContext] when
## the options say that it can be cancelled, and answers a dictionary.
func add(method: String, handler: Callable, options: MCPToolkitCommandOptions) -> void:
	if _closed:
		push_warning("MCP: \"%s\" is added after register() has returned, so it is left out." % method)
		return
	_declared.append([method, handler, options.to_dict()])


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

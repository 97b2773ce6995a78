@tool
class_name MCPToolkitUndoRedoAction
extends RefCounted
## Records what a tool did in the human's undo history, as one step.
##
## Change things first, then record what redo and undo have to do:
## [codeblock]
## var old: Variant = node.get("position")
## node.set("position", Vector2.ZERO)
## MCPToolkitUndoRedoAction.begin("Move %s home" % node.name, node) \
##         .do_property(node, "position", Vector2.ZERO) \
##         .undo_property(node, "position", old) \
##         .commit_recorded()
## [/codeblock]
## Undo runs its operations in the order in which they were added. The human reads the description
## behind [code]MCP: [/code]. The tool's answer gets an [code]undo_token[/code], which
## [code]godot_undo[/code] takes.

var _native: RefCounted


## Begins an action. [param context_object], a node of the edited scene, decides that it goes into
## the history of that scene. Without one, the first object of the action that belongs to a scene
## decides; with none, it is an action of the project.
static func begin(description: String, context_object: Object = null) -> MCPToolkitUndoRedoAction:
	var action := MCPToolkitUndoRedoAction.new()
	action._native = ClassDB.instantiate(&"GodotMcpUndoAction")
	action._native.call(&"begin", description, context_object)
	return action


## Whether there is a history to record in. It is in every editor, a headless one included.
func is_active() -> bool:
	return _native.call(&"is_active")


## Redo sets a property.
func do_property(object: Object, property: StringName, value: Variant) -> MCPToolkitUndoRedoAction:
	_native.call(&"add_property", false, object, property, value)
	return self


## Undo sets a property.
func undo_property(object: Object, property: StringName, value: Variant) -> MCPToolkitUndoRedoAction:
	_native.call(&"add_property", true, object, property, value)
	return self


## Redo calls a method, with the arguments that are bound to it.
func do_method(callable: Callable) -> MCPToolkitUndoRedoAction:
	_native.call(&"add_method", false, callable)
	return self


## Undo calls a method, with the arguments that are bound to it.
func undo_method(callable: Callable) -> MCPToolkitUndoRedoAction:
	_native.call(&"add_method", true, callable)
	return self


## Keeps an object that the action made, for redo. It is freed once undo has taken it away and the
## action is forgotten.
func do_reference(object: Object) -> MCPToolkitUndoRedoAction:
	_native.call(&"add_reference", false, object)
	return self


## Keeps an object that the action took away, for undo.
func undo_reference(object: Object) -> MCPToolkitUndoRedoAction:
	_native.call(&"add_reference", true, object)
	return self


## Runs what redo runs, and records the action. A second commit is a warning and does nothing.
func commit() -> void:
	_native.call(&"commit", true)


## Records the action, whose changes are made already.
func commit_recorded() -> void:
	_native.call(&"commit", false)

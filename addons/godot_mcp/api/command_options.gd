@tool
class_name MCPToolkitCommandOptions
extends RefCounted
## What a tool says of itself. Each method answers the options again, so that calls can be chained.
##
## Without any mark, a tool counts as changing, not as destructive, and not as idempotent.

var _options := {}


## What clients read of the tool.
func with_description(text: String) -> MCPToolkitCommandOptions:
	return _with("description", text)


## Name of the tool for people.
func with_title(text: String) -> MCPToolkitCommandOptions:
	return _with("title", text)


## JSON Schema of the parameters. They are checked before the tool runs; others are refused.
func with_input_schema(schema: Dictionary) -> MCPToolkitCommandOptions:
	return _with("input_schema", schema.duplicate(true))


## JSON Schema of the answer, for clients.
func with_output_schema(schema: Dictionary) -> MCPToolkitCommandOptions:
	return _with("output_schema", schema.duplicate(true))


## Time after which a call is answered [code]TIMEOUT[/code]: from 1000 to 300000, 30000 by default.
func with_timeout_ms(msec: int) -> MCPToolkitCommandOptions:
	return _with("timeout_ms", msec)


## Puts the tool into a toolset, which clients switch on when they need it.
func with_group(name: String, description: String = "", keywords: Array = []) -> MCPToolkitCommandOptions:
	return _with("group", {"name": name, "description": description, "keywords": keywords.map(str)})


## It changes nothing.
func mark_read_only() -> MCPToolkitCommandOptions:
	return _with("read_only", true)


## It deletes or overwrites. Callers have to confirm.
func mark_destructive() -> MCPToolkitCommandOptions:
	return _with("destructive", true)


## Twice is the same as once.
func mark_idempotent() -> MCPToolkitCommandOptions:
	return _with("idempotent", true)


## It talks to the world outside the project.
func mark_open_world() -> MCPToolkitCommandOptions:
	return _with("open_world", true)


## The handler takes a [MCPToolkitToolContext] as its second argument.
func mark_cancellable() -> MCPToolkitCommandOptions:
	return _with("cancellable", true)


## The handler looks at [method MCPToolkitToolContext.is_dry_run], and then changes nothing and says
## what it would do. It takes the context as its second argument.
func supports_dry_run() -> MCPToolkitCommandOptions:
	return _with("dry_run", true)


## It does not matter which scene is open.
func mark_scene_independent() -> MCPToolkitCommandOptions:
	return _with("scene_independent", true)


## A read that must not run beside a change.
func mark_exclusive_execution() -> MCPToolkitCommandOptions:
	return _with("exclusive", true)


## Oldest version of Godot, such as "4.5", in which there is the tool.
func with_min_godot_version(version: String) -> MCPToolkitCommandOptions:
	return _with("min_godot", version)


## Newest version of Godot in which there is the tool.
func with_max_godot_version(version: String) -> MCPToolkitCommandOptions:
	return _with("max_godot", version)


## What to do next, for answers that have no hint of their own.
func with_success_hint(text: String) -> MCPToolkitCommandOptions:
	return _with("success_hint", text)


## Shows clients a call: its arguments, and what they are for. They must fit the input schema.
func with_example(arguments: Dictionary, note: String = "") -> MCPToolkitCommandOptions:
	return _add("examples", {"arguments": arguments.duplicate(true), "note": note})


## A setting of the tool, [code]mcp_toolkit/<what>/<key>[/code], where [code]<what>[/code] is the first
## part of the tool's name. It stands in the settings of the project and in those of the editor, and the
## editor's, which are the user's own, win. A [param secret] stands in the editor's alone, and is taken
## out of every answer. See [method MCPToolkitToolContext.setting].
func with_setting(key: String, default: Variant, hint: String = "", secret: bool = false) -> MCPToolkitCommandOptions:
	return _add("settings", {"key": key, "default": default, "hint": hint, "secret": secret})


## This parameter must be a path inside the project, at any depth of arrays and dictionaries.
func guard_project_path(param: String) -> MCPToolkitCommandOptions:
	return _add("project_paths", param)


## As [method guard_project_path], for the user data of the project.
func guard_user_path(param: String) -> MCPToolkitCommandOptions:
	return _add("user_paths", param)


## Everything that was said.
func to_dict() -> Dictionary:
	return _options.duplicate(true)


func _with(key: String, value: Variant) -> MCPToolkitCommandOptions:
	_options[key] = value
	return self


func _add(key: String, value: Variant) -> MCPToolkitCommandOptions:
	var list: Array = _options.get_or_add(key, [])
	list.append(value)
	return self

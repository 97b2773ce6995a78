@tool
class_name MCPToolkitError
extends RefCounted
## Makes the answer of a tool that could not do what it was asked.
##
## A good answer says in its message what was asked and what was found, and in its hint what to do
## next.
## [codeblock]
## var missing: Variant = MCPToolkitError.require(params, ["node_path"])
## if missing != null:
##     return missing
## return MCPToolkitError.fail("NODE_NOT_FOUND", "no node at \"%s\"" % params.node_path,
##         MCPToolkitError.HINT_NODE_PATH)
## [/codeblock]

## Hint for a parameter that names a node.
const HINT_NODE_PATH := "Give a path from the scene's root, such as \"Player/Sprite\". `get_scene_tree` shows all nodes."
## Hint for a parameter that names a project file.
const HINT_FILE_PATH := "Give a path inside the project, such as \"res://levels/one.tscn\". `list_scenes` and `list_scripts` name files."
## Hint for a parameter that names a class.
const HINT_CLASS_NAME := "Give the name of an engine class or of a class_name, such as \"Sprite2D\". `describe_class` looks one up."

## All codes that [method fail] takes.
const CODES: Array[String] = [
	"ALREADY_EXISTS", "ALREADY_PLAYING", "BUSY", "CLASS_MISMATCH", "COMPILATION_FAILED",
	"CONNECT_FAILED", "CREATE_DIR_FAILED", "DELETE_FAILED", "DIR_NOT_EMPTY", "DISCONNECTED",
	"EDITED_SCENE", "EDITOR_VIEWPORT_UNAVAILABLE", "EMPTY_CONTENT", "EXECUTE_FAILED",
	"EXTERNAL_EDITOR_ACTIVE", "FAILED", "FILE_TOO_LARGE", "FILESYSTEM_NOT_READY",
	"FOLDER_PROTECTED", "GAME_NOT_RUNNING", "HEADLESS_UNSUPPORTED", "INTERNAL", "INVALID_CLASS",
	"INVALID_METHOD", "INVALID_PARAMS", "INVALID_PATH", "INVALID_STATE", "INVALID_VALUE",
	"LOAD_FAILED", "LOG_BUSY", "LOG_UNAVAILABLE", "NO_SCENE", "NODE_NOT_FOUND", "NOT_A_RESOURCE",
	"NOT_BREAKED", "NOT_FOUND", "NOT_UNIQUE", "PACK_FAILED", "PARENT_NOT_FOUND", "PARSE_ERROR",
	"PATH_DENIED", "PATH_IN_USE", "PROPERTY_NOT_FOUND", "READ_FAILED", "RESPONSE_TOO_LARGE",
	"RUNTIME_WINDOW_MINIMIZED", "SAVE_DELETE_FAILED", "SAVE_FAILED", "SAVE_READ_FAILED",
	"SAVE_WRITE_FAILED", "SET_FAILED", "TIMEOUT", "UNKNOWN_CLASS", "UNSUPPORTED",
	"UNSUPPORTED_FILE_TYPE", "WRITE_FAILED",
]

## Hints that [method fail] adds when it is given none, by code.
const DEFAULT_HINTS := {
	"TIMEOUT": "`health_check` says what the editor is busy with. Call again when it is idle.",
	"UNSUPPORTED": "This editor cannot do it. `get_server_info` says what runs here.",
	"PATH_DENIED": "Give a path inside the project (res://) or in its user data (user://), without \"..\".",
	"PARENT_NOT_FOUND": "`get_scene_tree` shows the nodes that can be a parent.",
	"COMPILATION_FAILED": "`get_parse_errors` names the lines. Repair them, then call again.",
	"GAME_NOT_RUNNING": "The game has to run first. `get_server_info` says whether it does.",
	"RESPONSE_TOO_LARGE": "Ask for less: a smaller range, a filter, or the next page.",
}


## An error answer. Without [param hint], the one of [constant DEFAULT_HINTS] is added, if there is
## one.
static func fail(code: String, message: String, hint: String = "") -> Dictionary:
	if code not in CODES:
		push_warning("MCP: \"%s\" is none of MCPToolkitError.CODES." % code)
	var answer := {"success": false, "error": message, "code": code}
	var what_to_do: String = hint if not hint.is_empty() else DEFAULT_HINTS.get(code, "")
	if not what_to_do.is_empty():
		answer["hint"] = what_to_do
	return answer


## Null when [param params] has all [param keys]. Otherwise an error answer that names the first
## one that is missing, null or empty text.
static func require(params: Dictionary, keys: Array) -> Variant:
	for key: Variant in keys:
		var value: Variant = params.get(key)
		if value == null or value is String and value.is_empty():
			return fail("INVALID_PARAMS", "the parameter \"%s\" is missing" % key, _hint_for(str(key)))
	return null


static func _hint_for(key: String) -> String:
	if key.ends_with("class_name"):
		return HINT_CLASS_NAME
	if key.ends_with("node_path") or key == "parent_path":
		return HINT_NODE_PATH
	if key.ends_with("file_path"):
		return HINT_FILE_PATH
	return "Give a value for \"%s\"." % key

@tool
class_name MCPToolkitFileGuard
extends RefCounted
## Says whether a path that a client gave stays inside the project.
##
## Use it for paths that [method MCPToolkitCommandOptions.guard_project_path] cannot check. It is the
## check of the built-in tools: links are followed, and what leads out is denied.
## [codeblock]
## var guard := MCPToolkitFileGuard.resolve_safe(params.get("file_path", ""))
## if guard["error"] != null:
##     return MCPToolkitError.fail("PATH_DENIED", guard["reason"])
## [/codeblock]


## [code]{error: null, path, absolute_path}[/code] for a path below one of [param allowed_prefixes],
## else [code]{error: "PATH_DENIED", reason}[/code].
static func resolve_safe(path: String, allowed_prefixes: Array = ["res://"]) -> Dictionary:
	return ClassDB.class_call_static(&"GodotMcpApi", &"resolve_path", path, allowed_prefixes)


## [code]{ok: true, absolute_path}[/code] for a path in the user data of the project, else
## [code]{ok: false, error_code, error_message}[/code].
static func resolve_safe_user(path: String) -> Dictionary:
	var found := resolve_safe(path, ["user://"])
	if found["error"] != null:
		return {"ok": false, "error_code": found["error"], "error_message": found["reason"]}
	return {"ok": true, "path": found["path"], "absolute_path": found["absolute_path"]}

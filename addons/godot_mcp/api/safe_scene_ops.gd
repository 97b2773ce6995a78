@tool
class_name MCPToolkitSafeSceneOps
extends RefCounted
## Saves the edited scene from inside a tool.
##
## Never call [method EditorInterface.save_scene] in a tool: its progress dialog lets the editor run
## on in the middle of your call.
## [codeblock]
## return await MCPToolkitSafeSceneOps.save_scene()
## [/codeblock]

const _SCAN_TIMEOUT := "mcp_toolkit/concurrency/scan_idle_timeout_ms"


## Saves the scene in the current tab to its file, or to the new file [param path], and answers as a
## tool does. A file that another program has changed, and another file that exists, are kept.
static func save_scene(path: String = "") -> Dictionary:
	var id := queue_save(path)
	while true:
		await (Engine.get_main_loop() as SceneTree).process_frame
		var state := check_save(id, true)
		if state["done"]:
			return state["result"]
		if state.get("unknown", false):
			break
	return MCPToolkitError.fail("SAVE_FAILED", "the server stopped before the scene was saved")


## As [method save_scene], without waiting: the save runs after the tool has returned. Answers an id
## for [method check_save].
static func queue_save(path: String = "") -> String:
	return ClassDB.class_call_static(&"GodotMcpApi", &"queue_save", path)


## How a save stands: [code]{done: false}[/code], [code]{done: true, success, result}[/code], or
## [code]{done: false, unknown: true}[/code] for an id that is not known. [param clear] forgets a save
## that is done.
static func check_save(id: String, clear: bool = false) -> Dictionary:
	return ClassDB.class_call_static(&"GodotMcpApi", &"check_save", id, clear)


## Waits until the editor does not scan files. False when it still does after [param timeout_ms];
## a negative time is the one of the project setting
## [code]mcp_toolkit/concurrency/scan_idle_timeout_ms[/code], 5000 when it is not set.
static func wait_for_scan_idle(timeout_ms: int = -1) -> bool:
	if timeout_ms < 0:
		timeout_ms = ProjectSettings.get_setting(_SCAN_TIMEOUT, 5000)
	var files := EditorInterface.get_resource_filesystem()
	var deadline := Time.get_ticks_msec() + timeout_ms
	while files.is_scanning():
		if Time.get_ticks_msec() >= deadline:
			return false
		await (Engine.get_main_loop() as SceneTree).process_frame
	return true

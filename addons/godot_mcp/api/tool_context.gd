@tool
class_name MCPToolkitToolContext
extends RefCounted
## One call of a tool, for the handler that runs it.
##
## It is over when the handler has returned, so do not keep it.

## The caller has gone away, or the time is up. Connect what ends a wait.
signal cancelled

var _cancelled := false
var _over := false
var _dry_run := false
var _client := ""
var _namespace := ""
var _deadline := 0
var _progress := Callable()
var _call := Callable()


## Whether nobody waits for the answer any more.
func is_cancelled() -> bool:
	return _cancelled


## Tells the client how far the work is.
func progress(done: float, total: float = -1.0, text: String = "") -> void:
	if _is_open() and _progress.is_valid():
		_progress.call(done, total, text)


## Whether the caller only wants to know what would be done.
func is_dry_run() -> bool:
	return _dry_run


## Name that the client gave itself.
func client_name() -> String:
	return _client


## Time that is left, in milliseconds.
func deadline_ms() -> int:
	return maxi(_deadline - Time.get_ticks_msec(), 0)


## Calls another tool of this server and waits for its answer, a dictionary with [code]success[/code].
## The call is admitted, recorded and confirmed as one of a client is. Tools call tools at most eight
## deep, and none calls itself.
func call_tool(tool: String, arguments: Dictionary = {}) -> Dictionary:
	if not _is_open() or not _call.is_valid():
		return MCPToolkitError.fail("INVALID_STATE", "the call of this context is over")
	return await ask(func(done: Callable) -> void: _call.call(tool, arguments, done))


## Value of a setting of this tool. See [method MCPToolkitCommandOptions.with_setting].
func setting(key: String) -> Variant:
	return ClassDB.class_call_static(&"GodotMcpApi", &"setting", "%s/%s" % [_namespace, key])


## Waits for what [param begin] hands the answer of to the callable that it is given.
static func ask(begin: Callable) -> Dictionary:
	var waiter := _Waiter.new()
	begin.call(waiter.settle)
	while waiter.answer.is_empty():
		await waiter.settled
	return waiter.answer


func _cancel() -> void:
	if not _cancelled:
		_cancelled = true
		cancelled.emit()


func _end() -> void:
	_over = true
	_progress = Callable()
	_call = Callable()


func _is_open() -> bool:
	if _over:
		push_warning("MCP: the context of a call is used after its handler has returned.")
	return not _over


class _Waiter:
	extends RefCounted

	signal settled

	var answer := {}


	func settle(result: Dictionary) -> void:
		answer = result
		settled.emit()

@tool
extends Logger
## Collects what the engine logs, from any thread, until the plugin takes it over.

## Entries that are kept between two frames. More are counted and dropped.
const CAPACITY := 1000
## Type numbers beyond [enum Logger.ErrorType], for printed text.
const PRINTED := -2
const PRINTED_ERROR := -1

var _mutex := Mutex.new()
var _entries: Array[Dictionary] = []
var _dropped := 0


func _log_message(message: String, error: bool) -> void:
	_add({"type": PRINTED_ERROR if error else PRINTED, "message": message.strip_edges(false, true)})


func _log_error(function: String, file: String, line: int, code: String, rationale: String,
		_editor_notify: bool, error_type: int, script_backtraces: Array[ScriptBacktrace]) -> void:
	var stack: Array[String] = []
	for trace in script_backtraces:
		for frame in trace.get_frame_count():
			stack.append("%s:%d %s" % [trace.get_frame_file(frame), trace.get_frame_line(frame),
					trace.get_frame_function(frame)])
	_add({
		"type": error_type,
		"message": code if rationale.is_empty() else rationale,
		"file": file,
		"line": line,
		"function": function,
		"stack": stack,
	})


## Hands over everything collected so far. Called by the plugin on the main thread.
func drain() -> Array[Dictionary]:
	_mutex.lock()
	var entries := _entries
	_entries = []
	if _dropped > 0:
		entries.append({"type": Logger.ERROR_TYPE_WARNING,
				"message": "%d more messages were logged in one frame" % _dropped})
		_dropped = 0
	_mutex.unlock()
	return entries


func _add(entry: Dictionary) -> void:
	_mutex.lock()
	if _entries.size() < CAPACITY:
		_entries.append(entry)
	else:
		_dropped += 1
	_mutex.unlock()

@tool
class_name MCPToolkitUntrusted
extends RefCounted
## Marks text that others wrote, so that a model takes it as data and not as instructions.
##
## Wrap what your tool reads from files, scenes, logs and other programs. Leave as it is what a tool
## of this server answered: that is wrapped already.
## [codeblock]
## return MCPToolkitSuccess.ok({"content": MCPToolkitUntrusted.wrap("config", path, text)})
## [/codeblock]


## [param body] between two marks that nobody can have written before. [param kind] and
## [param source] say what it is and where it comes from. Bytes become text, or base64 when they are
## none; arrays and dictionaries become JSON.
static func wrap(kind: String, source: String, body: Variant) -> String:
	return ClassDB.class_call_static(&"GodotMcpApi", &"wrap_untrusted", kind, source, body)

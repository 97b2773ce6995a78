@tool
class_name MCPToolkitPagination
extends RefCounted
## Adds the fields of a page to an answer, the same ones for every tool.
##
## [code]returned[/code], [code]total_<unit>[/code] and [code]has_more[/code] are always there. Only
## when there is more, there are a cursor, which the caller passes back, and a hint.
## [codeblock]
## var rows := all.slice(offset, offset + limit)
## return MCPToolkitSuccess.ok(MCPToolkitPagination.list_page({"bodies": rows}, rows, offset,
##         "bodies", all.size(), "call again with offset = next_offset"))
## [/codeblock]
## An answer is also bounded as a whole: one that is larger than 1 MiB is refused as
## [code]RESPONSE_TOO_LARGE[/code].

const _SCRIPT_CAP := "mcp_toolkit/limits/script_read_cap_kb"
const _SAVE_CAP := "mcp_toolkit/limits/save_read_cap_kb"


## A page of a list. [param page] has the rows already, [param items] are these rows once more, and
## [param unit] names what is counted. [param extras] are added where [param page] has no such field.
## Without [param resumable], there is no cursor, and [param hint] says how to see the rest.
static func list_page(page: Dictionary, items: Array, offset: int, unit: String, total: int,
		hint: String, extras: Dictionary = {}, resumable: bool = true) -> Dictionary:
	return ClassDB.class_call_static(&"GodotMcpApi", &"list_page", page, {
		"returned": items.size(), "offset": offset, "unit": unit, "total": total, "hint": hint,
		"resumable": resumable}, extras)


## A window of bytes. The cursor is [code]next_offset[/code].
static func byte_page(page: Dictionary, offset: int, returned_bytes: int, total_bytes: int,
		hint: String, extras: Dictionary = {}) -> Dictionary:
	return ClassDB.class_call_static(&"GodotMcpApi", &"list_page", page, {
		"returned": returned_bytes, "offset": offset, "unit": "bytes", "total": total_bytes,
		"hint": hint, "resumable": true}, extras)


## A window of lines, which count from 1. The cursor is [code]next_start_line[/code].
static func line_page(page: Dictionary, end_line: int, returned: int, total_lines: int,
		hint: String, extras: Dictionary = {}) -> Dictionary:
	return ClassDB.class_call_static(&"GodotMcpApi", &"line_page", page, {
		"end_line": end_line, "returned": returned, "total": total_lines, "hint": hint}, extras)


## Any other page. [param resume_field] names the cursor, and may be empty.
static func build(page: Dictionary, unit: String, total: int, returned: int, has_more: bool,
		resume_field: String, resume_value: int, hint: String, extras: Dictionary = {}) -> Dictionary:
	return ClassDB.class_call_static(&"GodotMcpApi", &"any_page", page, {
		"unit": unit, "total": total, "returned": returned, "has_more": has_more,
		"cursor": resume_field, "next": resume_value, "hint": hint}, extras)


## Most bytes of script text that one answer may carry, from the project settings as they are now.
static func script_cap_bytes() -> int:
	return _cap_bytes(_SCRIPT_CAP)


## Most bytes of a user:// file that one answer may carry, from the project settings as they are now.
static func save_cap_bytes() -> int:
	return _cap_bytes(_SAVE_CAP)


static func _cap_bytes(setting: String) -> int:
	return maxi(ProjectSettings.get_setting(setting, 256), 1) * 1024

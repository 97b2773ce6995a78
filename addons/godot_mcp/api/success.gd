@tool
class_name MCPToolkitSuccess
extends RefCounted
## Makes the answer of a tool that did what it was asked.
##
## [codeblock]
## return MCPToolkitSuccess.ok({"bodies": names})
## # {"bodies": [...], "success": true}
## [/codeblock]
## When only a part could be done, say so in numbers, and add [code]"status": "partial"[/code]. A
## [code]"hint"[/code] of your own goes before the one of
## [method MCPToolkitCommandOptions.with_success_hint].


## [param data] with [code]"success": true[/code] added. [param data] itself stays as it is.
static func ok(data: Dictionary = {}) -> Dictionary:
	var answer := data.duplicate()
	answer["success"] = true
	return answer

@tool
extends RefCounted
## For extensions that load this script by its path.


## Does nothing. It was for Godot 4.3, where a change of an editor description could crash the editor.
static func disarm_tooltip_uaf(_node: Node, _property: String) -> void:
	pass

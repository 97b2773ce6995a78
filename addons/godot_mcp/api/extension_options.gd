@tool
class_name MCPToolkitExtensionOptions
extends MCPToolkitCommandOptions
## Options of a tool that the project adds. They begin with its description.


func _init(description: String = "") -> void:
	with_description(description)

@tool
extends EditorExportPlugin
## Keeps this addon, the extensions of the project and files that name the server's token out of
## exported games.
##
## In GDScript, so that it also works on a machine for which there is no native library.

const ADDON := "res://addons/godot_mcp/"
## Thin scripts at old paths, see their README.
const OLD_PATHS := "res://addons/godot_mcp_toolkit/"
const BASE_CLASS := "MCPToolkitExtension"
const PREFIX := "MCPToolkit"
const TOKEN_FILE := "res://.godot/godot_mcp/token"
const EXTENSION_LIST := "res://.godot/extension_list.cfg"
const CLASS_LIST := "res://.godot/global_script_class_cache.cfg"
## Larger files are no configuration of a client.
const MAX_CONFIGURATION := 1_000_000

## Classes of extensions, with the paths of their scripts.
var _extensions: Dictionary[String, String] = {}
## Scripts that must not ship and that the engine has not offered yet.
var _missing: Dictionary[String, bool] = {}
var _extends: RegEx
## The token, as [method PackedByteArray.hex_encode] spells it.
var _token := ""
## Files of the editor that hold less during an export: what they held, and what we put there.
var _shortened: Dictionary[String, Array] = {}


func _get_name() -> String:
	# The engine asks its plugins in the order of their names, and the first one that takes a file
	# is the last one that sees it. "GDExtension" and "GDScript" would take the library and, in the
	# binary script modes, all scripts.
	return "Exclude Godot MCP"


func _export_begin(_features: PackedStringArray, _is_debug: bool, _path: String, _flags: int) -> void:
	_restore()
	_token = ""
	if FileAccess.file_exists(TOKEN_FILE):
		_token = FileAccess.get_file_as_string(TOKEN_FILE).strip_edges().to_utf8_buffer().hex_encode()
	_find_extensions()
	_missing.clear()
	if get_export_preset().get_script_export_mode() != EditorExportPreset.MODE_SCRIPT_TEXT:
		for it in ProjectSettings.get_global_class_list():
			if it["language"] == &"GDScript" and _is_ours(it["path"]):
				_missing[it["path"]] = true
	_shorten_extension_list()
	_shorten_class_list()


func _export_file(path: String, type: String, _features: PackedStringArray) -> void:
	_missing.erase(path)
	if _is_ours(path) or _extends_ours(path, type) or _has_token(path):
		skip()


func _export_end() -> void:
	_restore()
	var excluded := get_export_preset().get_exclude_filter().split(",", false)
	var left: Array[String] = []
	for path: String in _missing:
		var is_excluded := Array(excluded).any(func(filter: String) -> bool:
			return path.matchn(filter.strip_edges()) or path.trim_prefix("res://").matchn(filter.strip_edges()))
		if not is_excluded and get_export_preset().get_export_filter() == EditorExportPreset.EXPORT_ALL_RESOURCES:
			left.append(path)
	if left.is_empty():
		return
	get_export_platform().add_message(EditorExportPlatform.EXPORT_MESSAGE_WARNING, "Godot MCP",
			"These scripts ship, though nothing in the game runs them: %s. Another export plugin took them first. Set the preset's script export mode to \"Text\", or add them to its exclude filter."
			% ", ".join(left))


func _find_extensions() -> void:
	var classes := {}
	for it in ProjectSettings.get_global_class_list():
		classes[str(it["class"])] = it
	_extensions.clear()
	for name: String in classes:
		var base: String = classes[name]["base"]
		while classes.has(base) and base != BASE_CLASS:
			base = classes[base]["base"]
		var is_csharp: bool = classes[name]["language"] == &"C#" and name.begins_with(PREFIX)
		if base == BASE_CLASS or is_csharp:
			_extensions[name] = classes[name]["path"]
	var names := PackedStringArray([BASE_CLASS])
	names.append_array(PackedStringArray(_extensions.keys()))
	_extends = RegEx.create_from_string("(?m)^\\s*(class_name\\s+\\w+\\s+)?extends\\s+(%s)\\b" % "|".join(names))


func _is_ours(path: String) -> bool:
	var file := path.trim_suffix(".uid").trim_suffix(".import")
	return (file.begins_with(ADDON) or file.begins_with(OLD_PATHS) or file in _extensions.values()
			or file.get_file() in [".mcp.json", "godot_mcp_commands.json"] or file.begins_with("res://.godot/godot_mcp/"))


## A part of an extension that has no class name of its own.
func _extends_ours(path: String, type: String) -> bool:
	var script := path.trim_suffix(".uid")
	return ((type == "GDScript" or script != path) and script.get_extension() == "gd"
			and _extends.search(FileAccess.get_file_as_string(script)) != null)


## Configurations of clients have many names.
func _has_token(path: String) -> bool:
	if _token.is_empty() or FileAccess.file_exists(path + ".import"):
		return false
	var file := FileAccess.open(path, FileAccess.READ)
	if file == null or file.get_length() > MAX_CONFIGURATION:
		return false
	# Not every file is text, and the engine prints an error about what is none.
	return file.get_buffer(file.get_length()).hex_encode().contains(_token)


## A game that finds the addon in this list looks for its library and prints errors.
func _shorten_extension_list() -> void:
	if not FileAccess.file_exists(EXTENSION_LIST):
		return
	var lines := FileAccess.get_file_as_string(EXTENSION_LIST).split("\n", false)
	var kept := Array(lines).filter(func(line: String) -> bool: return not line.begins_with(ADDON))
	_shorten(EXTENSION_LIST, "".join(kept.map(func(line: String) -> String: return line + "\n")))


func _shorten_class_list() -> void:
	var config := ConfigFile.new()
	if not FileAccess.file_exists(CLASS_LIST) or config.load(CLASS_LIST) != OK:
		return
	var list: Array = config.get_value("", "list", [])
	config.set_value("", "list", list.filter(func(it: Dictionary) -> bool: return not _is_ours(it["path"])))
	_shorten(CLASS_LIST, config.encode_to_text())


## The engine ships its lists as they are on the disk when an export ends; a copy that is added to the
## game is no help, since both are then in it.
func _shorten(path: String, text: String) -> void:
	_shortened[path] = [FileAccess.get_file_as_bytes(path), text.to_utf8_buffer()]
	_write(path, text.to_utf8_buffer())


func _restore() -> void:
	for path in _shortened:
		# The editor may have written it anew meanwhile.
		if FileAccess.get_file_as_bytes(path) == _shortened[path][1]:
			_write(path, _shortened[path][0])
	_shortened.clear()


func _write(path: String, bytes: PackedByteArray) -> void:
	var file := FileAccess.open(path, FileAccess.WRITE)
	if file != null:
		file.store_buffer(bytes)

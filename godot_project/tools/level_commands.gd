@tool
extends RefCounted
## Commands of this project for agents; declared in res://godot_mcp_commands.json.

const LEVELS := "res://level/generated"
const COIN := "res://objects/coin.tscn"
const TABLE := "res://level/coins.csv"
const TILE := 18


func mcp_call(command: String, args: Dictionary, ctx: RefCounted) -> Dictionary:
	match command:
		"rebuild":
			return _rebuild(args.seed, args.get("coins", 12))
		"count":
			return _count(args.get("scene", "res://main.tscn"))
		"export_coins":
			return _export_coins(args.get("scene", "res://main.tscn"))
		"check_assets":
			return _check_assets(ctx)
	return {"ok": false, "error": "unknown command %s" % command}


## A scene with coins on a wave, the same for the same seed.
func _rebuild(level_seed: int, coins: int) -> Dictionary:
	var random := RandomNumberGenerator.new()
	random.seed = level_seed
	var coin := load(COIN) as PackedScene
	var root := Node2D.new()
	root.name = "Level%d" % level_seed
	for index in coins:
		var node := coin.instantiate() as Node2D
		node.name = "Coin%d" % index
		node.position = Vector2(index * 2, random.randi_range(-3, 3)) * TILE
		root.add_child(node)
		node.owner = root
	var scene := PackedScene.new()
	var error := scene.pack(root)
	root.free()
	if error == OK:
		DirAccess.make_dir_recursive_absolute(LEVELS)
		error = ResourceSaver.save(scene, "%s/level_%d.tscn" % [LEVELS, level_seed])
	if error != OK:
		return {"ok": false, "error": "the level was not saved: %s" % error_string(error)}
	return {"ok": true, "value": {"scene": "%s/level_%d.tscn" % [LEVELS, level_seed], "coins": coins}}


## Nodes of a scene by their script or class.
func _count(path: String) -> Dictionary:
	var state := _state(path)
	if state == null:
		return {"ok": false, "error": "%s is no scene" % path}
	var counts := {}
	for index in state.get_node_count():
		var instance := state.get_node_instance(index)
		var kind := str(state.get_node_type(index)) if instance == null else instance.resource_path
		counts[kind] = counts.get(kind, 0) + 1
	return {"ok": true, "value": counts}


## The places of all coins, as a table.
func _export_coins(path: String) -> Dictionary:
	var state := _state(path)
	if state == null:
		return {"ok": false, "error": "%s is no scene" % path}
	var lines: PackedStringArray = ["name,x,y"]
	for index in state.get_node_count():
		var instance := state.get_node_instance(index)
		if instance == null or instance.resource_path != COIN:
			continue
		var position := Vector2.ZERO
		for property in state.get_node_property_count(index):
			if state.get_node_property_name(index, property) == &"position":
				position = state.get_node_property_value(index, property)
		lines.append("%s,%d,%d" % [state.get_node_name(index), position.x, position.y])
	var file := FileAccess.open(TABLE, FileAccess.WRITE)
	if file == null:
		return {"ok": false, "error": error_string(FileAccess.get_open_error())}
	file.store_string("\n".join(lines) + "\n")
	file.close()
	return {"ok": true, "value": {"table": TABLE, "rows": lines.size() - 1}}


## Whether what scenes and resources name is there.
func _check_assets(ctx: RefCounted) -> Dictionary:
	var files := _files("res://")
	var missing: PackedStringArray = []
	for index in files.size():
		if ctx.is_cancelled():
			return {"ok": false, "error": "cancelled after %d files" % index}
		ctx.progress(index, files.size(), files[index])
		for dependency in ResourceLoader.get_dependencies(files[index]):
			var path := dependency.get_slice("::", 2) if dependency.contains("::") else dependency
			if not ResourceLoader.exists(path):
				missing.append("%s: %s" % [files[index], path])
	return {"ok": true, "value": {"checked": files.size(), "missing": missing}}


func _state(path: String) -> SceneState:
	var scene := load(path) as PackedScene if ResourceLoader.exists(path) else null
	return scene.get_state() if scene != null else null


func _files(folder: String) -> PackedStringArray:
	var found: PackedStringArray = []
	for file in DirAccess.get_files_at(folder):
		if file.get_extension() in ["tscn", "tres"]:
			found.append(folder.path_join(file))
	for child in DirAccess.get_directories_at(folder):
		if not child.begins_with(".") and child != "addons":
			found.append_array(_files(folder.path_join(child)))
	return found

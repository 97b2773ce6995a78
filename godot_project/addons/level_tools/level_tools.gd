@tool
class_name LevelTools
extends MCPToolkitExtension
## Tools of this project for MCP clients: what can be touched in the level, what overlaps, and on which
## layers things are.
##
## An example to copy, see docs/extending.md of Godot MCP.

const GROUP := "level_tools"
const ABOUT := "Bodies of the level: list them, find overlaps, set their layers."
const KINDS := {
	"area": "Area2D",
	"static": "StaticBody2D",
	"rigid": "RigidBody2D",
	"character": "CharacterBody2D",
}
const MOST := 100


func register(registry: MCPToolkitCommandRegistry, _server: Node) -> void:
	registry.add("level.list_bodies", _list_bodies,
		MCPToolkitExtensionOptions.new("Lists the 2D physics bodies of the edited scene with position, layers and number of shapes.")
			.with_input_schema({
				"type": "object",
				"properties": {
					"kind": {"type": "string", "enum": KINDS.keys() + ["all"], "description": "Default all."},
					"offset": {"type": "integer", "minimum": 0},
					"limit": {"type": "integer", "minimum": 1, "maximum": MOST, "description": "Default 50."},
				},
			})
			.mark_read_only()
			.mark_idempotent()
			.with_group(GROUP, ABOUT, ["physics", "collision", "layer", "coins", "enemies"]))
	registry.add("level.find_overlaps", _find_overlaps,
		MCPToolkitExtensionOptions.new("Finds bodies of the edited scene that overlap each other or a solid tile, such as coins in a wall.")
			.with_input_schema({"type": "object", "properties": {}})
			.mark_read_only()
			.mark_cancellable()
			.with_timeout_ms(120_000)
			.with_success_hint("`level_set_layers` takes things off a layer; `set_node_property` moves them.")
			.with_group(GROUP, ABOUT))
	registry.add("level.set_layers", _set_layers,
		MCPToolkitExtensionOptions.new("Puts a body of the edited scene on physics layers, by the names of the project settings. Undoable.")
			.with_input_schema({
				"type": "object",
				"properties": {
					"node_path": {"type": "string"},
					"layers": {"type": "array", "items": {"type": "string"}},
				},
				"required": ["node_path", "layers"],
			})
			.mark_idempotent()
			.with_group(GROUP, ABOUT))


func _list_bodies(params: Dictionary) -> Dictionary:
	var root := EditorInterface.get_edited_scene_root()
	if root == null:
		return _no_scene()
	var kind: String = params.get("kind", "all")
	var offset: int = params.get("offset", 0)
	var limit: int = params.get("limit", 50)
	var bodies := _bodies(root, KINDS.get(kind, "CollisionObject2D"))
	var rows: Array[Dictionary] = []
	for body in bodies.slice(offset, offset + limit):
		rows.append({
			"node_path": str(root.get_path_to(body)),
			"type": body.get_class(),
			"position": [body.global_position.x, body.global_position.y],
			"layers": _layer_names(body.collision_layer),
			"shapes": _shapes(body).size(),
		})
	return MCPToolkitSuccess.ok(MCPToolkitPagination.list_page({"bodies": rows}, rows, offset, "bodies",
			bodies.size(), "Call again with offset = next_offset."))


## Looks at one body a frame, so the editor stays fluid however large the level is.
func _find_overlaps(_params: Dictionary, ctx: MCPToolkitToolContext) -> Dictionary:
	var root := EditorInterface.get_edited_scene_root()
	if root == null:
		return _no_scene()
	var bodies := _bodies(root, "CollisionObject2D")
	var overlaps: Array[Array] = []
	for index in bodies.size():
		# While we waited, the human may have closed the scene.
		if ctx.is_cancelled() or not is_instance_valid(root):
			return MCPToolkitError.fail("DISCONNECTED", "stopped after %d of %d bodies" % [index, bodies.size()])
		var body := bodies[index]
		if not is_instance_valid(body):
			continue
		var name := str(root.get_path_to(body))
		ctx.progress(index, bodies.size(), name)
		for other in bodies.slice(index + 1):
			if is_instance_valid(other) and _overlap(_shapes(body), _shapes(other)):
				overlaps.append([name, str(root.get_path_to(other))])
		for layer: TileMapLayer in root.find_children("*", "TileMapLayer", true, false):
			if _overlap(_shapes(body), _solid_tiles(layer, body)):
				overlaps.append([name, str(root.get_path_to(layer))])
		await (Engine.get_main_loop() as SceneTree).process_frame
	return MCPToolkitSuccess.ok({"bodies": bodies.size(), "overlaps": overlaps})


func _set_layers(params: Dictionary) -> Dictionary:
	var root := EditorInterface.get_edited_scene_root()
	if root == null:
		return _no_scene()
	var node_path: String = params["node_path"]
	var body := root.get_node_or_null(node_path) as CollisionObject2D
	if body == null:
		return MCPToolkitError.fail("NODE_NOT_FOUND", "no 2D physics body at \"%s\"" % node_path,
				"`level_list_bodies` names all bodies.")
	var known := _all_layers()
	var bits := 0
	for layer: String in params["layers"]:
		if layer not in known:
			return MCPToolkitError.fail("INVALID_VALUE", "no 2D physics layer is named \"%s\"" % layer,
					"The project has: %s." % ", ".join(known.keys()))
		bits |= known[layer]

	var old := body.collision_layer
	body.collision_layer = bits
	MCPToolkitUndoRedoAction.begin("Set layers of %s" % body.name, body) \
		.do_property(body, &"collision_layer", bits) \
		.undo_property(body, &"collision_layer", old) \
		.commit_recorded()
	return MCPToolkitSuccess.ok({"old": _layer_names(old), "layers": _layer_names(body.collision_layer)})


func _no_scene() -> Dictionary:
	return MCPToolkitError.fail("NO_SCENE", "no scene is open in the editor", "Open one with `open_scene`.")


func _bodies(root: Node, type: String) -> Array[CollisionObject2D]:
	var bodies: Array[CollisionObject2D] = []
	if root is CollisionObject2D and root.is_class(type):
		bodies.append(root)
	# Parts of instances included.
	bodies.append_array(root.find_children("*", type, true, false))
	return bodies


## Shapes and where they are.
func _shapes(body: CollisionObject2D) -> Array[Array]:
	var shapes: Array[Array] = []
	for shape: CollisionShape2D in body.find_children("*", "CollisionShape2D", true, false):
		if shape.shape != null and not shape.disabled and shape.get_parent() == body:
			shapes.append([shape.shape, shape.global_transform])
	return shapes


## The shapes of tiles near a body. Tiles that let things through from one side do not count.
func _solid_tiles(layer: TileMapLayer, body: Node2D) -> Array[Array]:
	var shapes: Array[Array] = []
	if layer.tile_set == null or layer.tile_set.get_physics_layers_count() == 0:
		return shapes
	var center := layer.local_to_map(layer.to_local(body.global_position))
	for x in range(-2, 3):
		for y in range(-2, 3):
			var cell := center + Vector2i(x, y)
			var tile := layer.get_cell_tile_data(cell)
			if tile == null:
				continue
			for polygon in tile.get_collision_polygons_count(0):
				if tile.is_collision_polygon_one_way(0, polygon):
					continue
				var shape := ConvexPolygonShape2D.new()
				shape.points = tile.get_collision_polygon_points(0, polygon)
				shapes.append([shape, layer.global_transform * Transform2D(0.0, layer.map_to_local(cell))])
	return shapes


func _overlap(some: Array[Array], others: Array[Array]) -> bool:
	for one in some:
		for other in others:
			if (one[0] as Shape2D).collide(one[1], other[0], other[1]):
				return true
	return false


## Bits by name. A layer without a name goes by its number.
func _all_layers() -> Dictionary[String, int]:
	var layers: Dictionary[String, int] = {}
	for number in range(1, 33):
		var name: String = ProjectSettings.get_setting("layer_names/2d_physics/layer_%d" % number, "")
		layers[name if not name.is_empty() else str(number)] = 1 << (number - 1)
	return layers


func _layer_names(bits: int) -> Array[String]:
	var names: Array[String] = []
	var layers := _all_layers()
	for name in layers:
		if bits & layers[name]:
			names.append(name)
	return names

//! Thousands of random calls over all tools, valid and invalid: no crash, no engine error, and undoing
//! everything gives the original bytes. `SEED=n` repeats a run, `CALLS=n` makes it shorter,
//! `FINE=n` looks for engine errors after each call from the n-th on instead of each tenth.

use godot_mcp_core::registry::Registry;
use godot_mcp_core::{SafetyClass, ToolSpec, UndoKind};
use godot_mcp_tests::editor::{Editor, Launch};
use godot_mcp_tests::project_files::{Files, files, same};
use godot_mcp_tests::wire::Wire;
use serde_json::{Map, Value, json};

const SCENE: &str = "res://probes/main.tscn";
/// What a run of all tests makes; `CALLS=20000` is the long one.
const CALLS: usize = 6_000;
/// They start processes, ask the network, or break the scripts of the fixture: tested by themselves.
const LEFT_OUT: &[&str] = &[
    "godot_debug_workflow",
    "check_for_updates",
    "disable_toolset",
    "discover_tools",
    "write_script",
    "patch_script",
    "rename_symbol",
];

/// A small generator of our own, so that a seed means the same on every machine.
struct Random {
    state: u64,
    /// Paths of nodes that exist, looked up now and then.
    nodes: Vec<String>,
}

impl Random {
    fn below(&mut self, count: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        usize::try_from(self.state % count as u64).expect("below a usize")
    }

    fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// Three times in four one of the first `good`, which are valid.
    fn mostly<'a, T>(&mut self, items: &'a [T], good: usize) -> &'a T {
        let count = if self.chance(75) { good.min(items.len()) } else { items.len() };
        &items[self.below(count)]
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

const NODES: &[&str] = &[
    ".",
    "Player",
    "Player/Sprite",
    "Player/Remote",
    "Title",
    "Bar",
    "Sub",
    "Sub/Inner",
    "Timer",
    "Animations",
    "A",
    "B",
    "A/B",
    "Node",
    "Main",
    "/root/Main/Player",
    "%Player",
    "",
    "..",
    "/",
    "../..",
    "Nobody",
    "Player/",
];
const CLASSES: &[&str] = &[
    "Node2D",
    "Sprite2D",
    "Label",
    "Timer",
    "Node",
    "AnimationPlayer",
    "CharacterBody2D",
    "Node3D",
    "Sprite2d",
    "Foo",
    "Resource",
    "Viewport",
    "CanvasItem",
    "Window",
    "GPUParticles2D",
    "TileMapLayer",
    "Tree",
];
const PROPERTIES: &[&str] = &[
    "position",
    "visible",
    "modulate",
    "text",
    "texture",
    "rotation_degrees",
    "scale",
    "name",
    "script",
    "owner",
    "z_index",
    "target",
    "points",
    "mixed",
    "anything",
    "value",
    "wait_time",
    "horizontal_alignment",
    "material",
    "process_mode",
    "nonsense",
    "",
    "unique_name_in_owner",
    "global_position",
    "transform",
    "stubborn",
];
const FILES: &[&str] = &[
    "res://probes/main.tscn",
    "res://probes/sub.tscn",
    "res://probes/link.gd",
    "res://probes/main.gd",
    "res://probes/icon.png",
    "res://missing.tscn",
    "res://../x",
    "/etc/passwd",
    "res://new/a.tscn",
    "res://made.tscn",
    "",
    "user://x",
    "res://probes/",
    "res://.godot/x.cfg",
    "uid://abc",
];
/// Files that only each other need, for the tools that take files away.
const LOOSE: &[(&str, &str)] = &[
    ("loose/a.gd", "extends Node\nconst D = preload(\"res://loose/deep/d.gd\")\n"),
    ("loose/deep/d.gd", "class_name LooseD\nextends Resource\n@export var near: Resource\n"),
    ("loose/b.tres", "[gd_resource type=\"Gradient\" format=3]\n\n[resource]\n"),
    (
        "loose/user.tres",
        "[gd_resource type=\"GradientTexture1D\" load_steps=2 format=3]\n\n[ext_resource type=\"Gradient\" path=\"res://loose/b.tres\" id=\"1\"]\n\n[resource]\ngradient = ExtResource(\"1\")\n",
    ),
    (
        "loose/user.tscn",
        "[gd_scene load_steps=2 format=3]\n\n[ext_resource type=\"Script\" path=\"res://loose/a.gd\" id=\"1\"]\n\n[node name=\"User\" type=\"Node\"]\nscript = ExtResource(\"1\")\n",
    ),
    ("loose/notes.txt", "b.tres belongs to user.tres\n"),
];
const LOOSE_PATHS: &[&str] = &[
    "res://loose/a.gd",
    "res://loose/b.tres",
    "res://loose/deep/d.gd",
    "res://loose/notes.txt",
    "res://loose/user.tres",
    "res://loose/user.tscn",
    "res://loose/deep",
    "res://loose/moved.gd",
    "res://loose/far/away.tres",
    "res://elsewhere/d.gd",
    "res://loose/moved.txt",
    "res://loose",
    "res://",
    "res://.godot",
    "/etc/passwd",
    "res://../x",
    "",
];
/// Their paths are of `LOOSE`.
const TAKE_AWAY: &[&str] = &["delete_resource_file", "move_resource_file", "delete_folder"];

const NAMES: &[&str] =
    &["A", "B", "Player", "Enemy", "a/b", "", "x\ny", "Ünicode", "%x", "enemies", "actors"];
const SIGNALS: &[&str] = &["timeout", "ready", "visibility_changed", "nonsense", "tree_entered"];
// Without parameters, and of which nothing is saved: what is connected here really fires.
const METHODS: &[&str] =
    &["queue_redraw", "update_configuration_warnings", "notify_property_list_changed", "nonsense"];

/// What the engine logs by itself. The first two: when a scene that inherits another, or has instances
/// of it, comes to the front after that other one was saved, it is made anew.
const KNOWN: &[&str] = &[
    // Two dialogs that say what no longer fits, at once.
    "Attempting to parent and popup a dialog that already has a parent.",
    // The state of the scene that was replaced is restored at the frame's end.
    "_set_main_scene_state': Cannot convert argument 2 from Object to Object.",
    // The scene in front is made anew where instances of it have other nodes by now. We look nodes up by
    // `get_node_or_null` alone.
    "Node not found: ",
    // A file of the calls' own was taken away or undone while something refers to it.
    "Cannot open file 'res://missing.tscn'.",
    "Failed loading resource: res://missing.tscn.",
    "Cannot open file 'res://made.tscn'.",
    "Failed loading resource: res://made.tscn.",
    "pack (scene/resources/packed_scene.cpp",
    "reload_scene_from_memory (editor/editor_data.cpp",
    // The scene dock puts an item at the node's index, also where siblings have no item of theirs.
    "insert (./core/templates/local_vector.h",
    // A scene with 3D nodes is closed.
    "Condition \"!is_inside_tree()\" is true. Returning: Transform3D()",
    // A scene that an open one has instances of becomes an autoload; the answer warns of it.
    "(possible cyclic resource inclusion).",
    "Failed to instantiate scene state of \"res://",
    "Failed to create an autoload, path is not pointing to a scene or a script: ",
    "update_autoload (editor/settings/editor_autoload_settings.cpp",
    "Condition \"!named_globals.has(p_name)\" is true.",
    // Seen once, not again with the same seed: somebody looks up an object by an id that never was.
    "Condition \"slot >= slot_max\" is true. Returning: nullptr",
];

/// Texts of the dialogs that wait for a human.
const DIALOGS: &str = r#"
var open: Array[String] = []
for it: AcceptDialog in EditorInterface.get_base_control().get_tree().root.find_children("*", "AcceptDialog", true, false):
	if it.visible:
		open.append("%s: %s" % [it.title, it.dialog_text])
return open
"#;

/// What a human does meanwhile: changes nothing, but has the editor's tools hold on to things.
const HUMAN: &[&str] = &[
    // A click on a node in the tree, of which the inspector and the tools of the main screen take hold.
    "EditorInterface.get_selection().clear()\nif node:\n\tEditorInterface.get_selection().add_node(node)\n\tEditorInterface.edit_node(node)",
    "EditorInterface.get_selection().clear()\nif node:\n\tEditorInterface.get_selection().add_node(node)",
    "EditorInterface.get_selection().clear()",
    "EditorInterface.inspect_object(node)",
    "var held: Variant = null\nif node:\n\tfor it in node.get_property_list():\n\t\tif node.get(it.name) is Resource:\n\t\t\theld = node.get(it.name)\nif held:\n\tEditorInterface.inspect_object(held)",
    "EditorInterface.set_main_screen_editor(\"2D\")",
    "EditorInterface.set_main_screen_editor(\"3D\")",
    "EditorInterface.set_main_screen_editor(\"Script\")",
    "EditorInterface.edit_script(load(\"res://probes/link.gd\"))",
    "EditorInterface.select_file(\"res://probes/main.tscn\")",
];

/// One of them, with a node of the edited scene at hand. An animation player that the editor shows moves
/// what it animates, and a control among other selected nodes gets metadata of the editor's, so neither is
/// done.
fn human(random: &mut Random, editor: &Editor) -> String {
    let index = random.below(1_000);
    let body = random.pick(HUMAN);
    let done = editor.gd(&format!(
        "var root := EditorInterface.get_edited_scene_root()\nvar all: Array[Node] = [root]\nif root:\n\tall.append_array(root.find_children(\"*\", \"\", true, false).filter(func(it): return not it is AnimationMixer))\nvar node: Node = all[{index} % all.size()]\n{body}\nreturn str(node.name) if node else ''"
    ));
    format!("a human with {done}: {}", body.escape_default())
}

fn value(random: &mut Random, depth: usize) -> Value {
    let text = [
        "red",
        "#ff8000",
        "Vector2(1, 2)",
        "",
        "banana",
        "res://probes/icon.png",
        "../Sprite",
        "Player",
        "007",
    ];
    match random.below(if depth > 2 { 6 } else { 11 }) {
        0 => Value::Null,
        1 => json!(random.chance(50)),
        2 => json!(random.below(200) as i64 - 100),
        3 => json!(random.below(1_000) as f64 / 8.0),
        4 => json!(random.pick(&text)),
        5 => json!(9_223_372_036_854_775_807_i64),
        6 => json!({"x": random.below(9), "y": random.below(9)}),
        7 => Value::Array((0..random.below(5)).map(|_| value(random, depth + 1)).collect()),
        8 => {
            json!({"type": random.pick(&["Vector2", "Color", "NodePath", "NewResource", "float", "Dictionary"]), "value": "nan", "class": "Gradient"})
        }
        9 => json!({"r": 1, "g": 0.5, "b": 0}),
        _ => json!({"a": value(random, depth + 1), "b": value(random, depth + 1)}),
    }
}

/// A value that fits a property of many nodes.
fn fitting(random: &mut Random, property: &str) -> Value {
    let number = |random: &mut Random| json!(random.below(400) as f64 / 4.0 - 50.0);
    match property {
        "position" | "scale" => json!({"x": number(random), "y": number(random)}),
        "visible" => json!(random.chance(50)),
        "modulate" => json!(random.pick(&["red", "#ff800080", "Color(0, 1, 0.5, 1)"])),
        "text" => json!(random.pick(&["a", "Ünicode", "two\nlines", ""])),
        "z_index" | "process_mode" => json!(random.below(4)),
        "texture" => json!("res://probes/icon.png"),
        _ => number(random),
    }
}

fn argument(random: &mut Random, tool: &str, name: &str, schema: &Value) -> Value {
    if random.chance(4) {
        return value(random, 0);
    }
    if let Some(options) = schema["enum"].as_array() {
        return random.pick(options).clone();
    }
    let is_node = name.contains("node_path")
        || ["parent_path", "source_path", "target_path", "root_path"]
            .iter()
            .any(|it| name.ends_with(it));
    if is_node && schema["type"] == "string" && !random.nodes.is_empty() && random.chance(70) {
        let index = random.below(random.nodes.len());
        return json!(random.nodes[index]);
    }
    let text: &[&str] = match name {
        _ if is_node => NODES,
        _ if name.ends_with("_type") || name == "class_name" || name == "class_filter" => CLASSES,
        _ if name.contains("propert") => PROPERTIES,
        _ if TAKE_AWAY.contains(&tool) => LOOSE_PATHS,
        _ if schema["format"].as_str().is_some_and(|it| it.ends_with("-path")) => FILES,
        "signal_name" => SIGNALS,
        "method_name" => METHODS,
        "category" => &["scene_edit", "inspection", "author", "nonsense"],
        "uri" => &[
            "godot://scene/tree",
            "godot://project/info",
            "godot://nonsense",
            "godot://scene/res://../x",
        ],
        "undo_token" => &["u1", "u2", "u9999", ""],
        _ => NAMES,
    };
    match schema["type"].as_str() {
        Some("boolean") => json!(random.chance(50)),
        Some("integer") => json!(random.below(12) as i64 - 2),
        Some("number") => json!(random.below(100) as f64 / 4.0),
        Some("string") => {
            json!(random.mostly(text, if TAKE_AWAY.contains(&tool) { 11 } else { 8 }))
        }
        Some("array") => Value::Array(
            (0..random.below(4)).map(|_| argument(random, tool, name, &schema["items"])).collect(),
        ),
        Some("object") => match schema["properties"].as_object() {
            Some(fields) => fields
                .iter()
                .map(|(name, schema)| (name.clone(), argument(random, tool, name, schema)))
                .collect(),
            None => json!({*random.pick(PROPERTIES): value(random, 1)}),
        },
        _ => value(random, 0),
    }
}

fn arguments(random: &mut Random, spec: &ToolSpec) -> Value {
    let required: Vec<&str> = spec
        .input_schema
        .get("required")
        .and_then(Value::as_array)
        .map(|it| it.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let mut args = Map::new();
    for (name, schema) in spec.input_schema["properties"].as_object().into_iter().flatten() {
        let wanted = if required.contains(&name.as_str()) { 97 } else { 25 };
        let wanted = match name.as_str() {
            "dry_run" => 15,
            "expected_scene" => 3,
            "confirm" => 90,
            // Arguments that do not fit are a warning of the answer, and an error when it fires.
            "timeout_ms" | "binds" => 0,
            _ => wanted,
        };
        if random.chance(wanted) {
            let argument = match name.as_str() {
                "confirm" => json!(true),
                _ => argument(random, &spec.name, name, schema),
            };
            args.insert(name.clone(), argument);
        }
    }
    if let Some(property) = args.get("property").and_then(Value::as_str)
        && args.contains_key("value")
        && random.chance(60)
    {
        let fitting = fitting(random, property);
        args.insert("value".into(), fitting);
    }
    Value::Object(args)
}

#[test]
fn random_calls_do_no_harm() {
    let registry = Registry::new(godot_mcp_extension::builtin_specs());
    let specs: Vec<&ToolSpec> = registry
        .tools()
        .map(|it| &**it)
        .filter(|it| !LEFT_OUT.contains(&it.name.as_str()))
        .collect();
    let env = |name: &str| std::env::var(name).ok().and_then(|it| it.parse::<u64>().ok());
    let seed = env("SEED").unwrap_or(20_261_130);
    let calls = env("CALLS").and_then(|it| usize::try_from(it).ok()).unwrap_or(CALLS);
    let fine = env("FINE");
    println!("SEED={seed} CALLS={calls}");
    let mut random = Random { state: seed | 1, nodes: Vec::new() };

    let mut editor = Launch::fixture("plain").start();
    let mut wire = Wire::connect(&editor.url, &editor.token);
    for (name, text) in LOOSE {
        let file = editor.project.join(name);
        std::fs::create_dir_all(file.parent().expect("in a folder")).expect("a folder");
        std::fs::write(file, text).expect("written");
    }
    wire.call("rescan_filesystem", &json!({}));
    wire.call("open_scene", &json!({"scene_path": SCENE}));
    wire.call("save_scene", &json!({}));
    let original = files(&editor.project);

    // First what can be undone, in one scene; then everything.
    let undoable: Vec<&ToolSpec> = specs
        .iter()
        .copied()
        .filter(|it| it.class == SafetyClass::ReadOnly || it.undo == UndoKind::Action)
        .filter(|it| !["create_scene", "create_inherited_scene"].contains(&it.name.as_str()))
        .collect();
    let mut recent: Vec<String> = Vec::new();
    let mut applied = 0;
    let mut seen = 0;
    for round in 0..calls {
        let first_part = round < calls * 6 / 10;
        if round == calls * 6 / 10 {
            undo_everything(&editor, &mut wire, &mut seen);
            wire.call("save_scene", &json!({}));
            let what = format!("undoing {applied} edits:\n{}", recent.join("\n"));
            same(&original, &files(&editor.project), &what);
        }
        if round % 20 == 0 {
            if !first_part {
                bring_back(&editor, &mut wire, &original);
            }
            random.nodes = nodes(&mut wire);
            if random.nodes.is_empty() {
                wire.call("open_scene", &json!({"scene_path": SCENE}));
            }
        }
        if random.chance(2) {
            let done = human(&mut random, &editor);
            if fine.is_some_and(|it| round as u64 >= it) {
                println!("{done}");
            }
            recent.push(done);
        }
        let spec = random.pick(if first_part { &undoable } else { &specs });
        if spec.name == "delete_node" && random.chance(80) {
            continue;
        }
        let args = arguments(&mut random, spec);
        recent.push(format!("{round}: {} {args}", spec.name));
        if fine.is_some_and(|it| round as u64 >= it) {
            println!("{}", recent[recent.len() - 1]);
        }
        if recent.len() > 60 {
            recent.remove(0);
        }
        let Some(response) = wire.try_call(&spec.name, &args) else {
            assert!(editor.alive(), "the editor ended; the last calls:\n{}", recent.join("\n"));
            panic!("the connection ended; the last calls:\n{}", recent.join("\n"));
        };
        let answer: Value = serde_json::from_slice(&response.body).expect("JSON");
        let content = &answer["result"]["structuredContent"];
        if fine.is_some_and(|it| round as u64 >= it) {
            println!("    {content}");
        }
        assert!(content["error"] != "INTERNAL", "{} {args}: {content}", spec.name);
        applied += usize::from(content["applied"] == true && spec.undo == UndoKind::Action);
        if round % 10 == 9 || fine.is_some_and(|it| round as u64 >= it) {
            let errors = new_errors(&editor, &mut seen);
            let open = if errors.is_empty() { Value::Null } else { editor.gd(DIALOGS) };
            assert!(
                errors.is_empty(),
                "{}\ndialogs: {open}\nthe last calls:\n{}",
                errors.join("\n"),
                recent.join("\n")
            );
        }
    }
    println!("{calls} calls, {applied} edits applied");
    editor.quit_after(KNOWN);
}

/// What was taken away and not undone is there again.
fn bring_back(editor: &Editor, wire: &mut Wire, original: &Files) {
    let mut missing = false;
    for (name, bytes) in original {
        let file = editor.project.join(name);
        if !file.exists() {
            std::fs::create_dir_all(file.parent().expect("in a folder")).expect("a folder");
            std::fs::write(file, bytes).expect("written");
            missing = true;
        }
    }
    if missing {
        wire.call("rescan_filesystem", &json!({}));
    }
}

fn nodes(wire: &mut Wire) -> Vec<String> {
    let answer = wire.call("find_nodes", &json!({"limit": 60}));
    let found = answer["result"]["structuredContent"]["nodes"].as_array().cloned();
    let path = |it: &Value| it["path"].as_str().map(str::to_owned);
    found.unwrap_or_default().iter().filter_map(path).collect()
}

fn new_errors(editor: &Editor, seen: &mut usize) -> Vec<String> {
    let mut errors = editor.new_errors(seen);
    errors.retain(|it| !KNOWN.iter().any(|known| it.contains(known)));
    errors
}

fn undo_everything(editor: &Editor, wire: &mut Wire, seen: &mut usize) {
    loop {
        let answer = wire.call("godot_undo", &json!({}));
        let content = &answer["result"]["structuredContent"];
        assert!(answer["result"]["isError"] != true, "{content}");
        let errors = new_errors(editor, seen);
        assert!(errors.is_empty(), "undoing {}:\n{}", content["names"], errors.join("\n"));
        if content["undone"] == 0 {
            return;
        }
    }
}

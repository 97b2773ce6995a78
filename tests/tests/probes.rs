//! `cases/probes.md`, row by row: inputs that go wrong elsewhere, with the right outcome. "Kept" is
//! the value before the call, no undo entry, a scene that is not dirty.

use godot_mcp_tests::client::{Client, Era};
use godot_mcp_tests::editor::{Editor, Human, Launch};
use serde_json::{Value, json};

const SCENE: &str = "res://probes/main.tscn";

struct Probe {
    client: Client,
    human: Human,
    problems: Vec<String>,
}

impl Probe {
    fn note(&mut self, problem: impl Into<String>) {
        self.problems.push(problem.into());
    }

    fn versions(&mut self) -> Value {
        self.human.run(
            "var manager := EditorInterface.get_editor_undo_redo()\n\
             var id := manager.get_object_history_id(EditorInterface.get_edited_scene_root())\n\
             return [manager.get_history_undo_redo(id).get_version(), manager.get_history_undo_redo(0).get_version()]",
        )
    }

    /// The property in Godot's spelling, as the scene has it.
    fn value(&mut self, node: &str, property: &str) -> String {
        let code = format!(
            "return var_to_str(EditorInterface.get_edited_scene_root().get_node(\"{node}\").get(\"{property}\"))"
        );
        self.human.run(&code).as_str().unwrap_or_default().to_owned()
    }

    fn set(&mut self, node: &str, property: &str, value: &Value) -> Result<Value, Value> {
        self.client.call(
            "set_node_property",
            json!({"node_path": node, "property": property, "value": value}),
        )
    }

    /// Each value is set, reads as `wanted`, and one undo takes it back.
    fn sets(&mut self, node: &str, property: &str, values: &[Value], wanted: &str) {
        for value in values {
            let before = self.value(node, property);
            match self.set(node, property, value) {
                Err(error) => self.note(format!("{node}.{property} = {value}: {error}")),
                Ok(answer) => {
                    let found = self.value(node, property);
                    if found != wanted {
                        self.note(format!("{node}.{property} = {value}: {found}, not {wanted}"));
                    }
                    if answer["applied"] == true {
                        self.client.ok("godot_undo", json!({"undo_token": answer["undo_token"]}));
                    }
                    let after = self.value(node, property);
                    if after != before {
                        self.note(format!(
                            "{node}.{property} = {value}: undo gave {after}, not {before}"
                        ));
                    }
                }
            }
        }
    }

    /// Each call is refused with one of the codes and leaves everything as it was.
    fn kept(&mut self, node: &str, property: &str, values: &[Value], codes: &[&str]) -> Vec<Value> {
        let mut errors = Vec::new();
        for value in values {
            let (old, versions) = (self.value(node, property), self.versions());
            match self.set(node, property, value) {
                Ok(answer) => self.note(format!("{node}.{property} = {value} was taken: {answer}")),
                Err(error) => {
                    if !codes.iter().any(|it| error["error"] == *it) {
                        self.note(format!("{node}.{property} = {value}: {error}"));
                    }
                    errors.push(error);
                }
            }
            if self.value(node, property) != old || self.versions() != versions {
                self.note(format!("{node}.{property} = {value} left a trace"));
            }
            let active = self.client.ok("get_active_scene", json!({}));
            if active["dirty"] != false {
                self.note(format!("{node}.{property} = {value} made the scene dirty: {active}"));
            }
        }
        errors
    }

    fn refused(&mut self, tool: &str, args: Value, codes: &[&str]) -> Value {
        let versions = self.versions();
        let result = self.client.call(tool, args.clone());
        if self.versions() != versions {
            self.note(format!("{tool} {args} left a trace"));
        }
        match result {
            Ok(answer) => {
                self.note(format!("{tool} {args} was not refused: {answer}"));
                Value::Null
            }
            Err(error) => {
                if !codes.iter().any(|it| error["error"] == *it) {
                    self.note(format!("{tool} {args}: {error}"));
                }
                error
            }
        }
    }

    fn file(&self, editor: &Editor) -> String {
        std::fs::read_to_string(editor.project.join("probes/main.tscn")).expect("the scene")
    }
}

const INVALID: &[&str] = &["VALIDATION_ERROR"];

#[test]
fn every_probe_has_the_right_outcome() {
    let editor = Launch::fixture("plain").start();
    let client = Client::connect(&editor, Era::Sessions);
    client.ok("open_scene", json!({"scene_path": SCENE}));
    client.ok("save_scene", json!({}));
    let mut it = Probe { client, human: editor.human(), problems: Vec::new() };

    values(&mut it);
    resources(&mut it);
    scripts_and_references(&mut it);
    clamped_and_read_only(&mut it);
    paths(&mut it);
    persistence(&mut it);
    deletion(&mut it, &editor);
    creation(&mut it);
    contained(&mut it, &editor);
    extracted_beside(&mut it, &editor);
    named_by_the_engine(&mut it);
    selected_when_it_goes(&mut it);

    assert!(it.problems.is_empty(), "{} problems:\n{}", it.problems.len(), it.problems.join("\n"));
    drop(it);
    editor.quit();
}

fn values(it: &mut Probe) {
    let vector = [
        json!({"x": 1, "y": 2}),
        json!([1, 2]),
        json!("Vector2(1, 2)"),
        json!({"type": "Vector2", "x": 1, "y": 2}),
    ];
    it.sets("Player", "position", &vector, "Vector2(1, 2)");
    let not_vector = [
        json!("banana"),
        json!(5),
        json!(null),
        json!({"x": "a", "y": 1}),
        json!({"x": 1}),
        json!([1]),
        json!([1, 2, 3]),
        json!({"x": 1, "y": 2, "z": 3}),
    ];
    it.kept("Player", "position", &not_vector, INVALID);

    it.sets("Player", "modulate", &[json!("red")], "Color(1, 0, 0, 1)");
    it.sets("Player", "modulate", &[json!("#ff8000")], "Color(1, 0.5019608, 0, 1)");
    it.sets("Player", "modulate", &[json!("#f80")], "Color(1, 0.53333336, 0, 1)");
    let half = [json!("Color(1, 0.5, 0, 1)"), json!({"r": 1, "g": 0.5, "b": 0})];
    it.sets("Player", "modulate", &half, "Color(1, 0.5, 0, 1)");
    it.kept("Player", "modulate", &[json!("nonsense"), json!("#ggg"), json!([1, 2])], INVALID);

    let right = [json!("Right"), json!("HORIZONTAL_ALIGNMENT_RIGHT"), json!(2)];
    it.sets("Title", "horizontal_alignment", &right, "2");
    for error in it.kept("Title", "horizontal_alignment", &[json!("Rightish"), json!(99)], INVALID)
    {
        if !error.to_string().contains("Center") {
            it.note(format!("the valid names are not told: {error}"));
        }
    }
    for text in ["007", "1.50", "{\"a\":1}", "res://x.png", ""] {
        let spelled = format!("\"{}\"", text.replace('"', "\\\""));
        it.sets("Title", "text", &[json!(text)], &spelled);
    }
    it.kept("Player", "visible", &[json!("yes"), json!(1), json!("true")], INVALID);
    // Stored as radians in 32 bits, so accepted within their precision.
    let answer = it.client.ok(
        "set_node_property",
        json!({"node_path": "Player", "property": "rotation_degrees", "value": -35}),
    );
    let found: f64 = it.value("Player", "rotation_degrees").parse().unwrap_or(0.0);
    if (found + 35.0).abs() > 1e-4 || answer.get("clamped").is_some() {
        it.note(format!("rotation_degrees is {found}: {answer}"));
    }
    it.client.ok("godot_undo", json!({"undo_token": answer["undo_token"]}));
}

fn resources(it: &mut Probe) {
    let wanted = it.human.run("return var_to_str(load(\"res://probes/icon.png\"))");
    let uid = it.human.run(
        "return ResourceUID.id_to_text(ResourceLoader.get_resource_uid(\"res://probes/icon.png\"))",
    );
    let values = [json!("res://probes/icon.png"), uid];
    it.sets("Player/Sprite", "texture", &values, wanted.as_str().unwrap_or_default());
    it.sets("Player/Sprite", "texture", &[json!(null)], "null");
    let wrong = [json!("res://missing.png"), json!("res://probes/sub.tscn"), json!("hello")];
    let codes = ["RESOURCE_NOT_FOUND", "VALIDATION_ERROR"];
    let errors = it.kept("Player/Sprite", "texture", &wrong, &codes);
    if !errors.get(1).is_some_and(|it| it.to_string().contains("Texture2D")) {
        it.note(format!("the wanted class is not named: {errors:?}"));
    }
}

fn scripts_and_references(it: &mut Probe) {
    let path = [json!("../Sprite"), json!({"type": "NodePath", "value": "../Sprite"})];
    it.sets("Player/Remote", "remote_path", &path, "NodePath(\"../Sprite\")");

    // An exported node survives save and reload.
    it.client.ok(
        "set_node_property",
        json!({"node_path": ".", "property": "target", "value": "Player/Sprite"}),
    );
    it.client.ok("save_scene", json!({}));
    it.client.ok("reload_scene", json!({"scene_path": SCENE, "confirm": true}));
    let name = it.human.run("return EditorInterface.get_edited_scene_root().target.name");
    if name != "Sprite" {
        it.note(format!("the exported node is {name} after reload"));
    }
    it.client.ok(
        "set_node_property",
        json!({"node_path": ".", "property": "target", "value": "Player"}),
    );
    it.client.ok("save_scene", json!({}));
    it.kept(
        ".",
        "target",
        &[json!("Title"), json!("Nobody")],
        &["VALIDATION_ERROR", "RESOURCE_NOT_FOUND"],
    );

    it.sets(
        ".",
        "points",
        &[json!([[0, 0], {"x": 1, "y": 1}])],
        "Array[Vector2]([Vector2(0, 0), Vector2(1, 1)])",
    );
    it.sets(".", "big", &[json!(9_007_199_254_740_993_i64)], "9007199254740993");
    it.sets(".", "elements", &[json!(["fire", "earth"]), json!(5)], "5");
    it.sets(".", "speed", &[json!("fast")], "\"fast\"");
    it.kept(".", "speed", &[json!("warp")], INVALID);
    // A write that does not stick is not reported as done.
    it.kept(".", "stubborn", &[json!("new")], INVALID);
}

fn clamped_and_read_only(it: &mut Probe) {
    let answer = it
        .client
        .ok("set_node_property", json!({"node_path": "Bar", "property": "value", "value": 150}));
    if answer["clamped"] != true || answer["applied_value"] != 100.0 {
        it.note(format!("S10.6: {answer}"));
    }
    it.client.ok("godot_undo", json!({"undo_token": answer["undo_token"]}));
    if it.value("Bar", "value") != "0.0" {
        it.note("a clamped value is not undone");
    }

    let error = it.kept("Player", "positon", &[json!([1, 2])], INVALID);
    if !error.iter().any(|it| it["suggestions"].to_string().contains("\"position\"")) {
        it.note(format!("positon does not suggest position: {error:?}"));
    }
    let error = it.kept("Timer", "time_left", &[json!(1)], INVALID);
    if !error.iter().any(|it| it.to_string().contains("read-only")) {
        it.note(format!("time_left is not said to be read-only: {error:?}"));
    }
    let error = it.kept("Player", "name", &[json!("Hero")], INVALID);
    if !error.iter().any(|it| it.to_string().contains("rename_node")) {
        it.note(format!("name does not point to rename_node: {error:?}"));
    }
    it.kept("Player", "owner", &[json!("."), json!(null)], INVALID);
    it.sets("Title", "unique_name_in_owner", &[json!(true)], "true");
    let script = it.client.ok(
        "set_node_property",
        json!({"node_path": "Timer", "property": "script", "value": "res://probes/link.gd"}),
    );
    if script["applied"] != true {
        it.note(format!("a script is attached: {script}"));
    }
    it.client.ok("godot_undo", json!({"undo_token": script["undo_token"]}));
}

/// S8.4 and the row of node paths.
fn paths(it: &mut Probe) {
    for path in ["../..", "/root", "..", "/root/@EditorNode@1"] {
        it.refused(
            "get_node_properties",
            json!({"node_path": path}),
            &["VALIDATION_ERROR", "RESOURCE_NOT_FOUND"],
        );
    }
    let base = it.human.run("return str(EditorInterface.get_base_control().get_path())");
    let error = it.refused(
        "set_node_property",
        json!({"node_path": base, "property": "visible", "value": false}),
        INVALID,
    );
    if !error.to_string().contains("outside") {
        it.note(format!("an editor control is not said to be outside: {error}"));
    }
    for path in
        ["Player", "./Player", "/Main/Player", "Main/Player", "/root/Main/Player", "%Player"]
    {
        let answer =
            it.client.call("get_node_property", json!({"node_path": path, "property": "position"}));
        if answer.as_ref().is_ok_and(|it| it["exists"] == true) {
            continue;
        }
        it.note(format!("{path}: {answer:?}"));
    }
    for path in [".", "", "/", "Main", "/root/Main"] {
        let answer = it.client.call("get_node_groups", json!({"node_path": path}));
        if answer.is_err() {
            it.note(format!("{path:?}: {answer:?}"));
        }
    }
    let error = it.refused(
        "get_node_property",
        json!({"node_path": "Player/Sprit", "property": "x"}),
        &["RESOURCE_NOT_FOUND"],
    );
    if error["suggestions"][0] != "Player/Sprite" {
        it.note(format!("S3.4: {error}"));
    }
}

/// S5: preview and run agree, and the verdict is what a reopened file holds.
fn persistence(it: &mut Probe) {
    let set = json!({"node_path": "Sub/Inner", "property": "position", "value": [5, 5]});
    let create = json!({"parent_path": "Sub/Inner", "node_type": "Node2D", "node_name": "Extra"});
    for (tool, args) in [("set_node_property", set), ("create_node", create)] {
        for dry_run in [true, false] {
            let mut args = args.clone();
            args["dry_run"] = json!(dry_run);
            let answer = it.client.ok(tool, args);
            if answer["persisted"] != false || answer["reason"] != "instanced_child_not_editable" {
                it.note(format!("S5 {tool}: {answer}"));
            }
        }
    }
    // The engine leaves out numbers that are roughly the default.
    let set = json!({"node_path": "Player", "property": "rotation", "value": 1e-7});
    let answer = it.client.ok("set_node_property", set);
    if answer["persisted"] != false || answer["reason"] != "nearly_default" {
        it.note(format!("S5, nearly the default: {answer}"));
    }
    it.client.ok("save_scene", json!({}));
    it.client.ok("reload_scene", json!({"scene_path": SCENE, "confirm": true}));
    if it.value("Player", "rotation") != "0.0" {
        it.note("the verdict said that a rotation is lost, the file has it");
    }
    if it.value("Sub/Inner", "position") != "Vector2(0, 0)" {
        it.note("the verdict said lost, the file has it");
    }
}

fn deletion(it: &mut Probe, editor: &Editor) {
    let before = it.file(editor);
    let preview = it.client.ok("delete_node", json!({"node_path": "Player", "dry_run": true}));
    for word in ["timeout", "target", "walk"] {
        if !preview.to_string().contains(word) {
            it.note(format!("the preview does not name {word}: {preview}"));
        }
    }
    let answer = it.client.ok("delete_node", json!({"node_path": "Player", "confirm": true}));
    it.client.ok("godot_undo", json!({"undo_token": answer["undo_token"]}));
    it.client.ok("save_scene", json!({}));
    if it.file(editor) != before {
        it.note("delete, undo, save: the file differs");
    }
    it.refused("delete_node", json!({"node_path": ".", "confirm": true}), INVALID);

    // An old token, after the human has undone the step.
    let answer = it.client.ok(
        "set_node_property",
        json!({"node_path": "Player", "property": "position", "value": [7, 7]}),
    );
    it.client.ok("godot_undo", json!({}));
    let error =
        it.refused("godot_undo", json!({"undo_token": answer["undo_token"]}), &["STATE_CHANGED"]);
    if error["message"].as_str().is_none_or(str::is_empty) {
        it.note(format!("S6.6: {error}"));
    }
}

fn creation(it: &mut Probe) {
    let create = |kind: &str| json!({"parent_path": ".", "node_type": kind, "node_name": "Player"});
    let answer = it.client.ok("create_node", create("Node2D"));
    if answer["name"]
        .as_str()
        .is_none_or(|it| !it.starts_with("Player") || it == "Player" || it.contains('@'))
    {
        it.note(format!("a taken name: {answer}"));
    }
    it.client.ok("godot_undo", json!({"undo_token": answer["undo_token"]}));
    let error = it.refused("create_node", create("Sprite2d"), INVALID);
    if error["suggestions"][0] != "Sprite2D" {
        it.note(format!("Sprite2d: {error}"));
    }
    let error = it.refused("create_node", create("Foo"), INVALID);
    if error.get("suggestions").is_some() {
        it.note(format!("Foo has suggestions: {error}"));
    }
    for name in ["a\nb", "a/b", "", "a.b"] {
        it.refused(
            "create_node",
            json!({"parent_path": ".", "node_type": "Node", "node_name": name}),
            INVALID,
        );
    }
}

/// The new scene beside its origin does not change what is saved of that.
fn extracted_beside(it: &mut Probe, editor: &Editor) {
    it.client.ok("save_scene", json!({}));
    let before = it.file(editor);
    for node in ["Title", "Player"] {
        let path = format!("res://probes/extracted_{node}.tscn");
        let extract = json!({"node_path": node, "scene_path": path});
        let extracted = it.client.ok("extract_scene", extract);
        let instance = json!({"parent_path": "Timer", "scene_path": path});
        let instanced = it.client.ok("instance_scene", instance);
        it.client.ok("save_scene", json!({}));
        for step in [instanced, extracted] {
            it.client.ok("godot_undo", json!({"undo_token": step["undo_token"]}));
        }
        it.client.ok("save_scene", json!({}));
        let now = it.file(editor);
        if now != before {
            it.note(format!("{node}: undone and saved, the scene is\n{now}\ninstead of\n{before}"));
        }
    }
}

/// A node that a script added without a name: a copy of it gets one that can be given.
fn named_by_the_engine(it: &mut Probe) {
    let code = "var node := Timer.new()\nEditorInterface.get_edited_scene_root().add_child(node)\nreturn str(node.name)";
    let name = it.human.run(code);
    let copy = it.client.ok("duplicate_node", json!({"node_path": name}));
    if copy["name"].as_str().is_none_or(|it| !it.starts_with("Timer")) {
        it.note(format!("a copy of {name}: {copy}"));
    }
    it.client.ok("godot_undo", json!({"undo_token": copy["undo_token"]}));
    it.human.run(&format!("EditorInterface.get_edited_scene_root().get_node({name}).free()"));
}

/// The editor's tools show a selected node; the scene that it is in is made anew or closed all the same.
fn selected_when_it_goes(it: &mut Probe) {
    let scene = json!({"scene_path": SCENE, "confirm": true});
    for node in ["Title", "Player", "Sub", "Animations", "Timer", "."] {
        it.client.ok("select_nodes", json!({"node_paths": [node]}));
        it.client.ok("reload_scene", scene.clone());
        let selected = it.client.ok("get_selected_node", json!({}));
        if selected["nodes"][0]["node_path"] != node {
            it.note(format!("{node} is no longer selected after a reload: {selected}"));
        }
    }
    for node in ["Title", "Player", "Animations"] {
        it.client.ok("select_nodes", json!({"node_paths": [node]}));
        it.client.ok("close_scene", scene.clone());
        it.client.ok("open_scene", json!({"scene_path": SCENE}));
    }
}

/// S8.1: nothing outside the project is read or written.
fn contained(it: &mut Probe, editor: &Editor) {
    let outside = editor.project.parent().expect("a folder").join("outside.tscn");
    std::fs::write(&outside, "[gd_scene format=3]\n\n[node name=\"A\" type=\"Node\"]\n")
        .expect("written");
    #[cfg(unix)]
    std::os::unix::fs::symlink(&outside, editor.project.join("link.tscn")).expect("linked");
    let paths = [
        "res://../outside.tscn",
        "/etc/passwd",
        "res:///etc/passwd",
        "RES://x.tscn",
        "res://a/./../..//x.tscn",
        "res://.godot/x.tscn",
        "res://link.tscn",
        "user://x.tscn",
        "res://a\0.tscn",
        "res://a\n.tscn",
    ];
    for path in paths {
        let calls = [
            ("open_scene", json!({"scene_path": path})),
            ("create_scene", json!({"root_type": "Node2D", "scene_path": path})),
            ("instance_scene", json!({"parent_path": ".", "scene_path": path})),
            ("attach_script", json!({"node_path": "Timer", "script_path": path})),
            ("extract_scene", json!({"node_path": "Player", "scene_path": path})),
        ];
        for (tool, args) in calls {
            it.refused(tool, args, &["PATH_DENIED"]);
        }
        it.kept("Player/Sprite", "texture", &[json!(path)], &["PATH_DENIED", "VALIDATION_ERROR"]);
    }
}

//! Files and settings against a real editor: what others changed meanwhile, large projects, starting
//! skeletons, and moves whose references lie everywhere.

use std::process::Command;
use std::time::Instant;

use godot_mcp_tests::client::{Client, Era};
use godot_mcp_tests::editor::{Editor, Launch, godot};
use godot_mcp_tests::project_files::{files, same};
use serde_json::{Value, json};

fn write(editor: &Editor, file: &str, text: &str) {
    let file = editor.project.join(file);
    std::fs::create_dir_all(file.parent().expect("in a folder")).expect("created");
    std::fs::write(file, text).expect("written");
}

fn scan(client: &Client) {
    client.ok("rescan_filesystem", json!({}));
}

#[track_caller]
fn refused(client: &Client, tool: &str, args: Value, code: &str) -> Value {
    let error = client.call(tool, args.clone()).expect_err(tool);
    assert_eq!(error["error"], code, "{tool} {args}: {error}");
    error
}

#[test]
fn files_and_settings() {
    let editor = Launch::fixture("plain").start();
    let client = Client::connect(&editor, Era::Modern);
    moves(&editor, &client);
    deletes(&editor, &client);
    settings_of_others(&editor, &client);
    autoload_of_a_loaded_scene(&editor, &client);
    a_scene_without_its_part(&editor, &client);
    code_by_settings(&editor, &client);
    skeletons(&editor, &client);
    large_projects(&editor, &client);
    // The editor compiles a script that it holds as an autoload while what that script names is on its
    // way, and says so; the next look at it is right.
    editor.quit_after(&[
        "Attempt to open script 'res://moves/",
        "Failed to compile depended scripts.",
        "Condition \"idx == -1\" is true. Continuing.",
        "_update_scan_actions",
        // `autoload_of_a_loaded_scene`
        "Another resource is loaded from path 'res://probes/sub.tscn'",
        "Failed to instantiate scene state of \"res://probes/sub.tscn\"",
        "Failed to create an autoload, path is not pointing to a scene or a script: res://probes/sub",
        "update_autoload (editor/settings/editor_autoload_settings.cpp",
        "Condition \"!named_globals.has(p_name)\" is true.",
    ]);
}

/// The engine does not save a scene with an instance whose file is gone. Each way to save says so.
fn a_scene_without_its_part(editor: &Editor, client: &Client) {
    client.ok("create_scene", json!({"root_type": "Node2D", "scene_path": "res://whole.tscn"}));
    client.ok("open_scene", json!({"scene_path": "res://whole.tscn"}));
    let part = json!({"parent_path": ".", "node_type": "Node2D", "node_name": "Part"});
    client.ok("create_node", part);
    let extract = json!({"node_path": "Part", "scene_path": "res://part.tscn"});
    client.ok("extract_scene", extract);
    let instance = json!({"parent_path": ".", "scene_path": "res://part.tscn", "name": "Held"});
    client.ok("instance_scene", instance);
    client.ok("save_scene", json!({}));
    std::fs::remove_file(editor.project.join("part.tscn")).expect("removed");
    scan(client);
    let saved = std::fs::read(editor.project.join("whole.tscn")).expect("there");
    client.ok("rename_node", json!({"node_path": "Part", "new_name": "Other"}));
    let more = json!({"parent_path": ".", "node_type": "Node", "node_name": "More", "save": true});
    for (tool, args) in [("save_scene", json!({})), ("compose_node", more)] {
        let error = refused(client, tool, args, "RESOURCE_NOT_FOUND");
        assert!(error["message"].to_string().contains("Held"), "{error}");
    }
    refused(client, "duplicate_node", json!({"node_path": "Held"}), "RESOURCE_NOT_FOUND");
    let all = client.ok("save_all_scenes", json!({}));
    assert!(all["not_saved"][0]["why"].to_string().contains("Held"), "{all}");
    assert_eq!(std::fs::read(editor.project.join("whole.tscn")).expect("there"), saved);
    client.ok("delete_node", json!({"node_path": "Held", "confirm": true}));
    client.ok("save_scene", json!({}));
    client.ok("close_scene", json!({"scene_path": "res://whole.tscn", "confirm": true}));
}

/// The engine cannot make the editor's own node of a scene that is loaded; the answer says so.
fn autoload_of_a_loaded_scene(editor: &Editor, client: &Client) {
    let register = |scene: &str| json!({"name": "Loaded", "path": format!("res://probes/{scene}.tscn"), "confirm": true});
    editor.gd("Engine.set_meta(&\"held\", load(\"res://probes/sub.tscn\"))");
    let warned = client.ok("register_autoload", register("sub"));
    assert!(warned["warning"].to_string().contains("next start"), "{warned}");
    client.ok("godot_undo", json!({"undo_token": warned["undo_token"]}));
    assert!(!client.ok("get_project_info", json!({}))["autoloads"].to_string().contains("Loaded"));
    editor.gd("Engine.remove_meta(&\"held\")");
    let plain = client.ok("register_autoload", register("sub"));
    assert!(plain.get("warning").is_none(), "{plain}");
    client.ok("godot_undo", json!({"undo_token": plain["undo_token"]}));
}

/// Each reference follows the file: in closed scenes, an open one, scripts, settings and by UID. One
/// undo gives every byte back (S6.3, S6.5).
fn moves(editor: &Editor, client: &Client) {
    write(editor, "moves/thing.gd", "class_name MovedThing\nextends Node2D\n");
    write(
        editor,
        "moves/user.gd",
        "extends Node\nconst Thing = preload(\"res://moves/thing.gd\")\nconst Near = preload(\"thing.gd\")\n",
    );
    for name in ["closed", "open"] {
        write(
            editor,
            &format!("moves/{name}.tscn"),
            "[gd_scene format=3]\n\n[ext_resource type=\"Script\" path=\"res://moves/thing.gd\" id=\"1\"]\n\n[node name=\"Root\" type=\"Node2D\"]\nscript = ExtResource(\"1\")\n",
        );
    }
    scan(client);
    client.ok("open_scene", json!({"scene_path": "res://moves/open.tscn"}));
    client.ok("save_scene", json!({}));
    client.ok(
        "register_autoload",
        json!({"name": "Moved", "path": "res://moves/user.gd", "confirm": true}),
    );
    let before = files(&editor.project);
    let args = json!({"path": "res://moves/thing.gd", "new_path": "res://moved/other.gd"});
    let mut preview = args.clone();
    preview["dry_run"] = json!(true);
    let planned = client.ok("move_resource_file", preview);
    same(&before, &files(&editor.project), "the preview of a move");
    let shown = planned["references"].to_string();
    for file in ["closed.tscn", "open.tscn", "user.gd"] {
        assert!(shown.contains(file), "{file} in {planned}");
    }

    let moved = client.ok("move_resource_file", args);
    for field in ["changes", "references", "persisted"] {
        assert_eq!(planned[field], moved[field], "S4.1: {field}");
    }
    client.ok("save_scene", json!({}));
    let now = files(&editor.project);
    let text = |name: &str| String::from_utf8_lossy(now.get(name).expect(name)).into_owned();
    assert!(!now.contains_key("moves/thing.gd") && now.contains_key("moved/other.gd.uid"));
    for name in ["moves/closed.tscn", "moves/open.tscn", "moves/user.gd"] {
        assert!(!text(name).contains("thing.gd"), "{name}: {}", text(name));
        assert!(text(name).contains("res://moved/other.gd"), "{name}: {}", text(name));
    }
    let user = client.ok("get_parse_errors", json!({"script_path": "res://moves/user.gd"}));
    assert_eq!(user["ok"], true, "{user}");

    client.ok("godot_undo", json!({"undo_token": moved["undo_token"]}));
    client.ok("save_scene", json!({}));
    same(&before, &files(&editor.project), "after the undo of a move");
    client.ok("godot_redo", json!({}));
    client.ok("save_scene", json!({}));
    same(&now, &files(&editor.project), "after the redo of a move");
    client.ok("godot_undo", json!({}));
    client.ok("save_scene", json!({}));
    same(&before, &files(&editor.project), "after the second undo of a move");

    // A setting that names the file follows it too.
    let args = json!({"path": "res://moves/user.gd", "new_path": "res://moved/user.gd"});
    client.ok("move_resource_file", args);
    let settings = std::fs::read_to_string(editor.project.join("project.godot")).expect("there");
    assert!(!settings.contains("res://moves/user.gd"), "{settings}");
    client.ok("godot_undo", json!({}));
    same(&before, &files(&editor.project), "after the undo of the second move");
}

/// S6.5: bytes, `.uid` and `.import` come back.
fn deletes(editor: &Editor, client: &Client) {
    let icon = editor.project.join("probes/icon.png");
    std::fs::create_dir_all(editor.project.join("deletes")).expect("created");
    std::fs::copy(icon, editor.project.join("deletes/picture.png")).expect("copied");
    write(editor, "deletes/notes.txt", "one\ntwo\n");
    write(editor, "deletes/code.gd", "extends Node\n");
    scan(client);
    let before = files(&editor.project);
    assert!(before.contains_key("deletes/picture.png.import"), "imported");
    assert!(before.contains_key("deletes/code.gd.uid"), "has a UID");
    for file in ["picture.png", "notes.txt", "code.gd"] {
        let path = format!("res://deletes/{file}");
        refused(client, "delete_resource_file", json!({"path": path}), "PRECONDITION_FAILED");
        same(&before, &files(&editor.project), "a refusal");
        client.ok("delete_resource_file", json!({"path": path, "confirm": true}));
        let gone = files(&editor.project);
        assert!(!gone.keys().any(|it| it.starts_with(&format!("deletes/{file}"))), "{file}");
        client.ok("godot_undo", json!({}));
        same(&before, &files(&editor.project), file);
    }
    let folder = json!({"path": "res://deletes", "recursive": true, "confirm": true});
    client.ok("delete_folder", folder);
    assert!(!editor.project.join("deletes").exists());
    client.ok("godot_undo", json!({}));
    same(&before, &files(&editor.project), "a folder");
}

/// What a human wrote into `project.godot` behind the editor is never overwritten.
fn settings_of_others(editor: &Editor, client: &Client) {
    let file = editor.project.join("project.godot");
    let before = std::fs::read_to_string(&file).expect("there");
    let by_hand = format!("{before}\n[by_hand]\n\nanswer=42\n");
    std::fs::write(&file, &by_hand).expect("written");
    for (tool, args) in [
        (
            "set_setting",
            json!({"name": "application/config/description", "value": "x", "confirm": true}),
        ),
        ("add_input_action", json!({"name": "by_hand"})),
        (
            "register_autoload",
            json!({"name": "ByHand", "path": "res://deletes/code.gd", "confirm": true}),
        ),
    ] {
        refused(client, tool, args, "STATE_CHANGED");
        assert_eq!(std::fs::read_to_string(&file).expect("there"), by_hand, "{tool}");
    }
    std::fs::write(&file, &before).expect("written");
    client.ok("add_input_action", json!({"name": "by_hand"}));
    client.ok("godot_undo", json!({}));
    assert_eq!(std::fs::read_to_string(&file).expect("there"), before);
}

/// Users-hit: a setting must not register code that runs at start; no line break gets into the file.
fn code_by_settings(editor: &Editor, client: &Client) {
    let before = files(&editor.project);
    for (name, value) in [
        ("autoload/Evil", json!("*res://deletes/code.gd")),
        ("editor_plugins/enabled", json!(["res://evil/plugin.cfg"])),
        ("application/run/main_loop_type", json!("Evil")),
        ("application/config/project_settings_override", json!("res://evil.cfg")),
        ("debug/file_logging/log_path", json!("/tmp/evil")),
        ("application/config/nme", json!("x")),
        ("own/text\n[autoload]", json!("x")),
    ] {
        let error = client
            .call("set_setting", json!({"name": name, "value": value, "confirm": true}))
            .expect_err(name);
        assert!(error["hint"].as_str().is_some_and(|it| !it.is_empty()), "{error}");
        same(&before, &files(&editor.project), name);
    }
    for name in ["two\nlines", "", "a/b", "with \"quotes\""] {
        let error = client.call("add_input_action", json!({"name": name})).expect_err(name);
        assert_eq!(error["error"], "VALIDATION_ERROR", "{name:?}: {error}");
        same(&before, &files(&editor.project), name);
    }
}

/// Each of the four types opens, runs for 60 frames without an error, and is undone to the byte.
fn skeletons(editor: &Editor, client: &Client) {
    let before = files(&editor.project);
    for kind in ["2d_platformer", "2d_topdown", "3d", "ui"] {
        let made = client.ok("scaffold_project", json!({"type": kind, "confirm": true}));
        let main_scene = made["main_scene"].as_str().expect("a scene");
        let run = Command::new(godot())
            .args(["--headless", "--path"])
            .arg(&editor.project)
            .args(["--quit-after", "60"])
            .output()
            .expect("the game starts");
        let log = String::from_utf8_lossy(&run.stdout).into_owned()
            + &String::from_utf8_lossy(&run.stderr);
        assert!(run.status.success(), "{kind}: {log}");
        assert!(!log.contains("ERROR") && !log.contains("WARNING"), "{kind}: {log}");
        client.ok("open_scene", json!({"scene_path": main_scene}));
        client.ok("close_scene", json!({"scene_path": main_scene, "confirm": true}));
        client.ok("godot_undo", json!({"undo_token": made["undo_token"]}));
        same(&before, &files(&editor.project), kind);
    }
}

/// 10,000 files are searched in under a second, and what `.gdignore` hides stays hidden.
fn large_projects(editor: &Editor, client: &Client) {
    for folder in 0..100 {
        let place = editor.project.join(format!("many/f{folder}"));
        std::fs::create_dir_all(&place).expect("created");
        for file in 0..100 {
            let text = format!("# file {folder} {file}\nthe needle is {}\n", file == 50);
            std::fs::write(place.join(format!("t{file}.txt")), text).expect("written");
        }
    }
    write(editor, "many/hidden/.gdignore", "");
    write(editor, "many/hidden/t.txt", "needle is true\n");
    let args = json!({"directory": "res://many", "content": "needle is true"});
    client.ok("search_files", args.clone());
    let start = Instant::now();
    let found = client.ok("search_files", args);
    let time = start.elapsed();
    assert_eq!(found["total"], 100, "{found}");
    assert!(time.as_secs_f64() < 1.0, "{time:?}");
    // A pattern that makes backtracking engines stand still.
    let hostile = json!({
        "directory": "res://many", "content": "(a+)+$", "regex": true, "ignore_case": true
    });
    let start = Instant::now();
    client.ok("search_files", hostile);
    assert!(start.elapsed().as_secs() < 3, "{:?}", start.elapsed());
}

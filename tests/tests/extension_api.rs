//! The helper classes for extensions, from a script in a real editor: results, errors, pages, paths,
//! the envelope, undo and saves (X7 to X10.1).

use std::path::Path;
use std::time::{Duration, Instant};

use godot_mcp_tests::client::{Client, Era};
use godot_mcp_tests::editor::{Editor, Human, Launch, copy_folder, repository};
use serde_json::{Value, json};

const SCENE: &str = "res://probes/main.tscn";

/// X8: the codes of the contract, each once, and hints that name tools of this server.
#[test]
fn error_codes_and_hints() {
    let contract = "ALREADY_EXISTS ALREADY_PLAYING BUSY CLASS_MISMATCH COMPILATION_FAILED \
        CONNECT_FAILED CREATE_DIR_FAILED DELETE_FAILED DIR_NOT_EMPTY DISCONNECTED EDITED_SCENE \
        EDITOR_VIEWPORT_UNAVAILABLE EMPTY_CONTENT EXECUTE_FAILED EXTERNAL_EDITOR_ACTIVE FAILED \
        FILE_TOO_LARGE FILESYSTEM_NOT_READY FOLDER_PROTECTED GAME_NOT_RUNNING HEADLESS_UNSUPPORTED \
        INTERNAL INVALID_CLASS INVALID_METHOD INVALID_PARAMS INVALID_PATH INVALID_STATE \
        INVALID_VALUE LOAD_FAILED LOG_BUSY LOG_UNAVAILABLE NO_SCENE NODE_NOT_FOUND NOT_A_RESOURCE \
        NOT_BREAKED NOT_FOUND NOT_UNIQUE PACK_FAILED PARENT_NOT_FOUND PARSE_ERROR PATH_DENIED \
        PATH_IN_USE PROPERTY_NOT_FOUND READ_FAILED RESPONSE_TOO_LARGE RUNTIME_WINDOW_MINIMIZED \
        SAVE_DELETE_FAILED SAVE_FAILED SAVE_READ_FAILED SAVE_WRITE_FAILED SET_FAILED TIMEOUT \
        UNKNOWN_CLASS UNSUPPORTED UNSUPPORTED_FILE_TYPE WRITE_FAILED";
    let contract: Vec<&str> = contract.split_whitespace().collect();
    assert_eq!(contract.len(), 56);
    let folder = repository().join("addons/godot_mcp/api");
    let text = std::fs::read_to_string(folder.join("error.gd")).expect("the script");
    let list = text.split_once("const CODES").and_then(|it| it.1.split_once(']'));
    let list = list.and_then(|it| it.1.split_once(']')).expect("the list").0;
    let found: Vec<&str> = list.split('"').skip(1).step_by(2).collect();
    assert_eq!(found, contract);

    let tools: Vec<String> =
        godot_mcp_extension::builtin_specs().iter().map(|it| it.name.clone()).collect();
    for entry in std::fs::read_dir(folder).expect("listed").filter_map(Result::ok) {
        let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
        for name in text.split('`').skip(1).step_by(2) {
            assert!(tools.iter().any(|it| it == name), "{:?} names {name:?}", entry.file_name());
        }
    }
}

/// X1: by the class names that extensions use, in an editor.
#[test]
fn helpers_of_extensions() {
    let editor = Launch::fixture("plain").start();
    let client = Client::connect(&editor, Era::Modern);
    let mut human = editor.human();
    results(&mut human);
    pages(&mut human);
    paths(&editor, &mut human);
    envelope(&mut human);
    undo(&client, &mut human);
    saves(&editor, &client, &mut human);
    drop((client, human));
    editor.quit_after(&["ERROR: MCP: the action"]);
}

/// X8.
fn results(human: &mut Human) {
    assert_eq!(human.run("return MCPToolkitSuccess.ok()"), json!({"success": true}));
    let kept =
        "var data := {\"n\": 1}\nvar answer := MCPToolkitSuccess.ok(data)\nreturn [answer, data]";
    assert_eq!(human.run(kept), json!([{"n": 1, "success": true}, {"n": 1}]));
    let failed =
        human.run("return MCPToolkitError.fail(\"NOT_FOUND\", \"no \\\"x\\\"\", \"look\")");
    assert_eq!(
        failed,
        json!({"success": false, "error": "no \"x\"", "code": "NOT_FOUND", "hint": "look"})
    );
    let plain = human.run("return MCPToolkitError.fail(\"NOT_FOUND\", \"x\")");
    assert_eq!(plain, json!({"success": false, "error": "x", "code": "NOT_FOUND"}));
    for code in human.run("return MCPToolkitError.DEFAULT_HINTS.keys()").as_array().expect("codes")
    {
        let hinted = human.run(&format!("return MCPToolkitError.fail({code}, \"x\")"));
        assert!(hinted["hint"].as_str().is_some_and(|it| !it.is_empty()), "{code}");
    }
    assert_eq!(
        human.run("return MCPToolkitError.require({\"a\": 1, \"b\": false}, [\"a\", \"b\"])"),
        json!(null)
    );
    for (key, hint) in [
        ("node_path", "HINT_NODE_PATH"),
        ("file_path", "HINT_FILE_PATH"),
        ("class_name", "HINT_CLASS_NAME"),
    ] {
        for given in ["{}", &format!("{{\"{key}\": null}}"), &format!("{{\"{key}\": \"\"}}")] {
            let found = human.run(&format!(
                "return [MCPToolkitError.require({given}, [\"{key}\"]), MCPToolkitError.{hint}]"
            ));
            assert_eq!(found[0]["code"], "INVALID_PARAMS", "{given}");
            assert_eq!(found[0]["hint"], found[1], "{given}");
            assert!(found[0]["error"].as_str().is_some_and(|it| it.contains(key)), "{found}");
        }
    }
}

/// X9.
fn pages(human: &mut Human) {
    let more = human.run(
        "return MCPToolkitPagination.list_page({\"rows\": [1, 2]}, [1, 2], 4, \"rows\", 9, \"go on\", {\"rows\": 0, \"scene\": \"a\"})",
    );
    let wanted = json!({"rows": [1, 2], "returned": 2, "total_rows": 9, "has_more": true,
        "next_offset": 6, "hint": "go on", "scene": "a"});
    assert_eq!(more, wanted);
    let last = human.run("return MCPToolkitPagination.byte_page({}, 6, 3, 9, \"go on\")");
    assert_eq!(last, json!({"returned": 3, "total_bytes": 9, "has_more": false}));
    let lines = human.run("return MCPToolkitPagination.line_page({}, 20, 20, 30, \"go on\")");
    assert_eq!(lines["next_start_line"], 21);
    let set = human.run(
        "return MCPToolkitPagination.list_page({}, [1], 0, \"rows\", 9, \"narrow\", {}, false)",
    );
    assert_eq!(set, json!({"returned": 1, "total_rows": 9, "has_more": true, "hint": "narrow"}));
    let own = human.run(
        "return MCPToolkitPagination.build({}, \"cells\", 8, 2, true, \"next_cell\", 5, \"on\")",
    );
    assert_eq!(own["next_cell"], 5);
    // Read live.
    let caps = human.run(
        "var before := [MCPToolkitPagination.script_cap_bytes(), MCPToolkitPagination.save_cap_bytes()]\n\
         ProjectSettings.set_setting(\"mcp_toolkit/limits/save_read_cap_kb\", 64)\n\
         before.append(MCPToolkitPagination.save_cap_bytes())\n\
         ProjectSettings.set_setting(\"mcp_toolkit/limits/save_read_cap_kb\", null)\n\
         return before",
    );
    assert_eq!(caps, json!([262_144, 262_144, 65_536]));
}

/// S8.1, by the helper of extensions.
fn paths(editor: &Editor, human: &mut Human) {
    #[cfg(unix)]
    std::os::unix::fs::symlink("/etc", editor.project.join("out")).expect("linked");
    let denied = [
        "",
        "x.gd",
        "res://../x",
        "res://a/../../x",
        "/etc/passwd",
        "res:///etc/passwd",
        "c:/x",
        "res://c:/x",
        "\\\\\\\\host\\\\share",
        "//host/share",
        "res://.godot/x",
        "user://x",
        "uid://abc",
        "res://out/passwd",
        "RES://x",
    ];
    for path in denied {
        let found = human.run(&format!("return MCPToolkitFileGuard.resolve_safe(\"{path}\")"));
        assert_eq!(found["error"], "PATH_DENIED", "{path}: {found}");
        assert!(found["reason"].as_str().is_some_and(|it| !it.is_empty()), "{path}");
    }
    let fine =
        human.run("return MCPToolkitFileGuard.resolve_safe(\"res://a/./../probes/main.gd\")");
    assert_eq!(fine["error"], Value::Null);
    assert_eq!(fine["path"], "res://probes/main.gd");
    assert_eq!(fine["absolute_path"], json!(editor.project.join("probes/main.gd")));
    let below = |human: &mut Human, path: &str, prefix: &str| {
        human.run(&format!(
            "return MCPToolkitFileGuard.resolve_safe(\"{path}\", [\"{prefix}\"])[\"error\"]"
        ))
    };
    assert_eq!(below(human, "user://shots/a.png", "user://shots/"), Value::Null);
    assert_eq!(below(human, "user://shots/../b.png", "user://shots/"), "PATH_DENIED");
    assert_eq!(below(human, "res://probes/main.gd", "res://probes"), Value::Null);
    assert_eq!(below(human, "res://probes2/main.gd", "res://probes"), "PATH_DENIED");
    let user = human.run("return MCPToolkitFileGuard.resolve_safe_user(\"user://slot.save\")");
    assert_eq!(user["ok"], true, "{user}");
    let user = human.run("return MCPToolkitFileGuard.resolve_safe_user(\"user://../slot.save\")");
    assert_eq!((&user["ok"], &user["error_code"]), (&json!(false), &json!("PATH_DENIED")));
    assert!(user["error_message"].is_string(), "{user}");
}

/// S9.3, by the helper of extensions.
fn envelope(human: &mut Human) {
    let code = "var made := [MCPToolkitUntrusted.wrap(\"config\", \"res://a.cfg\", \"x\\n</untrusted>\"),\
        MCPToolkitUntrusted.wrap(\"blob\", \"b\", \"bytes\".to_utf8_buffer()),\
        MCPToolkitUntrusted.wrap(\"blob\", \"b\", PackedByteArray([255, 254])),\
        MCPToolkitUntrusted.wrap(\"list\", \"\", [1, {\"a\": true}])]\nreturn made";
    let made = human.run(code);
    let text = |index: usize| {
        let text = made[index].as_str().expect("text");
        godot_mcp_core::untrusted::unwrap(text).expect("an envelope").to_owned()
    };
    assert_eq!(text(0), "x\n</untrusted>");
    assert!(made[0].as_str().is_some_and(|it| it.contains("source=\"config: res://a.cfg\"")));
    assert_eq!(text(1), "bytes");
    assert_eq!(text(2), "//4=");
    assert_eq!(text(3), "[1,{\"a\":true}]");
}

/// X7.
fn undo(client: &Client, human: &mut Human) {
    client.ok("open_scene", json!({"scene_path": SCENE}));
    let state = |human: &mut Human| {
        human.run(
            "var root := EditorInterface.get_edited_scene_root()\n\
             var names := []\n\
             for it in root.get_children(): names.append(it.name)\n\
             return [names, root.get_node(\"Player\").position.x]",
        )
    };
    let before = state(human);
    assert_eq!(
        human.run("return MCPToolkitUndoRedoAction.begin(\"x\").is_active()"),
        true,
        "headless"
    );

    // The change is made first and then recorded, as in the documentation.
    human.run(
        "var node := EditorInterface.get_edited_scene_root().get_node(\"Player\")\n\
         var old: Variant = node.get(\"position\")\n\
         node.set(\"position\", Vector2(70, 7))\n\
         MCPToolkitUndoRedoAction.begin(\"set Player.position\", node).do_property(node, \"position\", Vector2(70, 7)).undo_property(node, \"position\", old).commit_recorded()",
    );
    let moved = state(human);
    assert_eq!(moved[1], 70.0);
    let history = client.ok("list_history", json!({}));
    assert!(history.to_string().contains("MCP: set Player.position"), "{history}");
    client.ok("godot_undo", json!({}));
    assert_eq!(state(human), before);
    client.ok("godot_redo", json!({}));
    assert_eq!(state(human), moved);
    client.ok("godot_undo", json!({}));

    // A node with its owner; bound arguments are kept; undo takes it away again.
    human.run(
        "var root := EditorInterface.get_edited_scene_root()\n\
         var marker := Marker2D.new()\n\
         marker.name = \"Marker\"\n\
         root.add_child(marker)\n\
         marker.set_owner(root)\n\
         MCPToolkitUndoRedoAction.begin(\"MCP: create Marker\", root).do_method(root.add_child.bind(marker)).do_method(marker.set_owner.bind(root)).do_reference(marker).undo_method(root.remove_child.bind(marker)).commit_recorded()",
    );
    let owner = "var it := EditorInterface.get_edited_scene_root().get_node_or_null(\"Marker\")\nreturn it != null and it.owner == EditorInterface.get_edited_scene_root()";
    assert_eq!(human.run(owner), true);
    let undone = client.ok("godot_undo", json!({}));
    assert_eq!(undone["names"], json!(["MCP: create Marker"]), "one prefix");
    assert_eq!(state(human), before);
    client.ok("godot_redo", json!({}));
    assert_eq!(human.run(owner), true, "bound arguments are kept");
    client.ok("godot_undo", json!({}));

    // Executed by the history; no context, and still the scene's history; lambdas, also one that is
    // named as a method is.
    human.run(
        "var root := EditorInterface.get_edited_scene_root()\n\
         var node := root.get_node(\"Player\")\n\
         var set_position := func set_position(x: float) -> void: node.position.x = x\n\
         MCPToolkitUndoRedoAction.begin(\"by lambda\").do_property(node, \"rotation\", 1.0).do_method(set_position.bind(5.0)).undo_property(node, \"rotation\", node.rotation).undo_method(set_position.bind(node.position.x)).commit()",
    );
    assert_eq!(state(human)[1], 5.0);
    let scene_history = "var manager := EditorInterface.get_editor_undo_redo()\nvar root := EditorInterface.get_edited_scene_root()\nreturn manager.get_history_undo_redo(manager.get_object_history_id(root)).get_current_action_name()";
    assert_eq!(human.run(scene_history), "MCP: by lambda");
    client.ok("godot_undo", json!({}));
    assert_eq!(state(human), before);

    // A container that the caller goes on to change is not the one in the history.
    human.run(
        "var node := EditorInterface.get_edited_scene_root().get_node(\"Player\")\n\
         var list := [1]\n\
         MCPToolkitUndoRedoAction.begin(\"list\", node).do_method(node.set_meta.bind(&\"x\", 1)).do_property(node, \"metadata/list\", list).undo_method(node.remove_meta.bind(&\"list\")).undo_method(node.remove_meta.bind(&\"x\")).commit()\n\
         list.append(2)",
    );
    client.ok("godot_undo", json!({}));
    client.ok("godot_redo", json!({}));
    let list =
        "return EditorInterface.get_edited_scene_root().get_node(\"Player\").get_meta(\"list\")";
    assert_eq!(human.run(list), json!([1]));
    client.ok("godot_undo", json!({}));

    // The second commit, and an object that is gone, change nothing.
    let version = "var manager := EditorInterface.get_editor_undo_redo()\nreturn [manager.get_history_undo_redo(manager.get_object_history_id(EditorInterface.get_edited_scene_root())).get_version(), manager.get_history_undo_redo(0).get_version()]";
    let versions = human.run(version);
    human.run(
        "var node := EditorInterface.get_edited_scene_root().get_node(\"Player\")\n\
         var action := MCPToolkitUndoRedoAction.begin(\"twice\", node).do_property(node, \"rotation\", 1.0).undo_property(node, \"rotation\", 0.0)\n\
         action.commit_recorded()\n\
         action.commit_recorded()\n\
         action.do_property(node, \"rotation\", 3.0).commit()",
    );
    client.ok("godot_undo", json!({}));
    assert_eq!(human.run(version), versions, "committed once");
    human.run(
        "var node := Node.new()\n\
         var action := MCPToolkitUndoRedoAction.begin(\"gone\").do_property(node, \"name\", \"x\")\n\
         node.free()\n\
         action.commit_recorded()\n\
         MCPToolkitUndoRedoAction.begin(\"empty\").commit_recorded()",
    );
    assert_eq!(human.run(version), versions);
    assert_eq!(state(human), before);
}

/// X10.1.
fn saves(editor: &Editor, client: &Client, human: &mut Human) {
    let file = editor.project.join("probes/main.tscn");
    client.ok("open_scene", json!({"scene_path": SCENE}));
    client.ok("save_scene", json!({}));
    let before = std::fs::read_to_string(&file).expect("the scene");
    let change = json!({"node_path": "Player", "property": "position", "value": [31, 8]});
    client.ok("set_node_property", change.clone());

    // Awaited, as a handler does it.
    let saved = awaited(human, "await MCPToolkitSafeSceneOps.save_scene()");
    assert_eq!(saved["success"], true, "{saved}");
    assert_ne!(std::fs::read_to_string(&file).expect("the scene"), before);
    assert_eq!(client.ok("list_open_scenes", json!({}))["scenes"][0]["dirty"], false);
    client.ok("godot_undo", json!({}));

    // Started and asked for, by C# too.
    let id = human.run("return MCPToolkitSafeSceneOps.queue_save()");
    let id = id.as_str().expect("an id").to_owned();
    let deadline = Instant::now() + Duration::from_secs(20);
    let check =
        |clear: bool| format!("return MCPToolkitSafeSceneOps.check_save(\"{id}\", {clear})");
    while human.run(&check(false))["done"] != true {
        assert!(Instant::now() < deadline, "never saved");
    }
    let done = human.run(&check(true));
    assert_eq!((&done["success"], &done["result"]["success"]), (&json!(true), &json!(true)));
    assert_eq!(human.run(&check(false)), json!({"done": false, "unknown": true}));
    assert_eq!(std::fs::read_to_string(&file).expect("the scene"), before, "undone and saved");

    // What must not be written is not.
    for (path, code) in [
        ("res://../x.tscn", "PATH_DENIED"),
        ("res://addons/godot_mcp/x.tscn", "PATH_DENIED"),
        ("res://probes/sub.tscn", "ALREADY_EXISTS"),
        ("res://nowhere/x.tscn", "NOT_FOUND"),
        ("res://x.txt", "INVALID_PARAMS"),
    ] {
        let refused =
            awaited(human, &format!("await MCPToolkitSafeSceneOps.save_scene(\"{path}\")"));
        assert_eq!(refused["success"], false, "{path}");
        assert_eq!(refused["code"], code, "{path}: {refused}");
        assert!(refused["hint"].is_string(), "{refused}");
    }
    let outside = std::fs::read_to_string(&file).expect("the scene") + "\n; outside\n";
    std::fs::write(&file, &outside).expect("written");
    let refused = awaited(human, "await MCPToolkitSafeSceneOps.save_scene()");
    assert_eq!(refused["code"], "INVALID_STATE", "{refused}");
    assert_eq!(std::fs::read_to_string(&file).expect("the scene"), outside);

    // While the editor scans, a save waits, and a handler can wait too.
    let scan = "EditorInterface.get_resource_filesystem().scan()\n";
    human.run(scan);
    assert_eq!(awaited(human, "await MCPToolkitSafeSceneOps.wait_for_scan_idle(60000)"), true);
    human.run(scan);
    let begun = Instant::now();
    let fast = awaited(human, "await MCPToolkitSafeSceneOps.wait_for_scan_idle(0)");
    assert!(fast.is_boolean() && begun.elapsed() < Duration::from_secs(2), "{fast}");
    let copy = awaited(human, "await MCPToolkitSafeSceneOps.save_scene(\"res://copy.tscn\")");
    assert_eq!(copy["success"], true, "{copy}");
    assert!(editor.project.join("copy.tscn").is_file());
}

/// X12: extensions that load helpers by their old paths find them, and that is no conflict.
#[test]
fn old_paths_forward() {
    let editor = on_copy(|addons| {
        copy_folder(
            &repository().join("addons/godot_mcp_toolkit"),
            &addons.join("godot_mcp_toolkit"),
        );
    });
    let mut human = editor.human();
    let found = human.run(
        "const FileGuard = preload(\"res://addons/godot_mcp_toolkit/security/file_guard.gd\")\n\
         const Untrusted = preload(\"res://addons/godot_mcp_toolkit/security/untrusted.gd\")\n\
         const Pagination = preload(\"res://addons/godot_mcp_toolkit/contract/pagination.gd\")\n\
         const Helpers := preload(\"res://addons/godot_mcp_toolkit/commands/editor_helpers.gd\")\n\
         var node := Node.new()\n\
         Helpers.disarm_tooltip_uaf(node, \"editor_description\")\n\
         node.free()\n\
         return [FileGuard.resolve_safe(\"res://../x\")[\"error\"], FileGuard.resolve_safe_user(\"user://x\")[\"ok\"], Untrusted.wrap(\"a\", \"b\", \"c\").contains(\"a: b\"), Pagination.byte_page({}, 0, 1, 2, \"h\")[\"next_offset\"], load(\"res://addons/godot_mcp_toolkit/contract/mcp_toolkit_success.gd\").call(\"ok\", {\"n\": 1})]",
    );
    assert_eq!(found, json!(["PATH_DENIED", true, true, 1, {"n": 1, "success": true}]));
    assert_eq!(conflict(&mut human), ["", "false"]);
    drop(human);
    editor.quit();
}

/// X1: with the other toolkit in the project, one sentence says what to do, in the Output panel and
/// in the dock. That `doctor` says it too is tested with that program.
#[test]
fn the_other_toolkit_is_named() {
    let editor = on_copy(|addons| {
        let other = addons.join("godot_mcp_toolkit");
        std::fs::create_dir_all(&other).expect("created");
        std::fs::write(other.join("plugin.cfg"), "[plugin]\nname=\"Other\"\nscript=\"x.gd\"\n")
            .expect("written");
    });
    let sentences: Vec<_> =
        editor.log().into_iter().filter(|it| it.contains("one of the two has to go")).collect();
    assert_eq!(sentences.len(), 1, "{sentences:?}");
    let mut human = editor.human();
    let [sentence, shown] = conflict(&mut human);
    assert!(sentences[0].contains(&sentence) && !sentence.is_empty(), "{sentence}");
    assert_eq!(shown, "true");
    drop(human);
    editor.quit_after(&["one of the two has to go"]);
}

fn on_copy(prepare: impl FnOnce(&Path)) -> Editor {
    let folder = tempfile::tempdir().expect("a folder").keep();
    copy_folder(&repository().join("tests/fixtures/plain"), &folder);
    prepare(&folder.join("addons"));
    let editor = Launch::folder(folder.clone()).start();
    std::fs::remove_dir_all(folder).expect("removed");
    editor
}

/// What the dock is told, and whether it shows it.
fn conflict(human: &mut Human) -> [String; 2] {
    let found = human.run(
        "var host := plugin.get_tree().root.find_child(\"GodotMcp\", true, false)\n\
         var dock: Control = load(\"res://addons/godot_mcp/dock/dock.tscn\").instantiate()\n\
         dock.set(&\"host\", host)\n\
         plugin.add_child(dock)\n\
         var shown: bool = dock.get_node(\"%Fault\").visible\n\
         var text: String = dock.get_node(\"%FaultText\").text\n\
         dock.free()\n\
         return [host.call(&\"status\").conflict, str(shown), text]",
    );
    let text = |index: usize| found[index].as_str().expect("text").to_owned();
    if !text(0).is_empty() {
        assert_eq!(text(0), text(2));
    }
    [text(0), text(1)]
}

/// The value of an expression that waits.
fn awaited(human: &mut Human, expression: &str) -> Value {
    human.run(&format!(
        "plugin.set_meta(&\"awaited\", [])\n(func() -> void: plugin.set_meta(&\"awaited\", [{expression}])).call()"
    ));
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let found = human.run("return plugin.get_meta(&\"awaited\")");
        if let Some(value) = found.get(0) {
            return value.clone();
        }
        assert!(Instant::now() < deadline, "{expression} does not end");
    }
}

//! Batches against a real editor: order and outcome of their entries, all or nothing, the gate for
//! every entry, one approval for a batch, thousands of nodes in one step, closed scenes on disk.

#![expect(clippy::print_stdout, reason = "says what it measured")]

use std::sync::{Arc, Mutex};

use godot_mcp_tests::client::{Client, Era};
use godot_mcp_tests::editor::{Editor, Launch};
use godot_mcp_tests::project_files::{Files, files, same};
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
    Implementation,
};
use rmcp::service::{RequestContext, RoleClient};
use rmcp::{ClientHandler, ErrorData};
use serde_json::{Value, json};

const SCENE: &str = "[gd_scene format=3]\n\n[node name=\"Main\" type=\"Node2D\"]\n\n[node name=\"A\" type=\"Sprite2D\" parent=\".\"]\nposition = Vector2(5, 6)\n\n[node name=\"B\" type=\"Timer\" parent=\".\"]\n";

/// Scene, history and dirty flag (S2.2).
const STATE: &str = "
var root := EditorInterface.get_edited_scene_root()
var lines := []
for node in root.find_children(\"*\", \"\", true, false):
	lines.append(str(root.get_path_to(node), \" \", node.get_class(), \" \", node.get(\"position\"), \" \", node.owner))
var manager := EditorInterface.get_editor_undo_redo()
var history := manager.get_history_undo_redo(manager.get_object_history_id(root))
var global := manager.get_history_undo_redo(0)
return [lines, history.get_version(), history.get_history_count(), global.get_version()]";

fn open(editor: &Editor, client: &Client, file: &str, text: &str) {
    std::fs::write(editor.project.join(file), text).expect("written");
    editor.gd("EditorInterface.get_resource_filesystem().scan()");
    while editor.gd("return EditorInterface.get_resource_filesystem().is_scanning()") == true {}
    client.ok("open_scene", json!({"scene_path": format!("res://{file}")}));
    client.ok("save_scene", json!({}));
}

fn command(tool: &str, arguments: Value) -> Value {
    json!({"tool": tool, "arguments": arguments})
}

fn create(name: &str) -> Value {
    command("create_node", json!({"parent_path": ".", "node_type": "Node2D", "node_name": name}))
}

fn place(node: &str, x: i64) -> Value {
    command(
        "set_node_property",
        json!({"node_path": node, "property": "position", "value": [x, 0]}),
    )
}

fn delete(node: &str) -> Value {
    command("delete_node", json!({"node_path": node, "confirm": true}))
}

fn statuses(answer: &Value) -> Vec<String> {
    let results = answer["results"].as_array().expect("results");
    results
        .iter()
        .enumerate()
        .map(|(index, it)| {
            assert_eq!(it["index"], index, "every step has its index: {answer}");
            it["status"].as_str().expect("a status").to_owned()
        })
        .collect()
}

#[test]
fn batches() {
    let editor = Launch::fixture("plain").start();
    let client = Client::connect(&editor, Era::Modern);
    open(&editor, &client, "batch.tscn", SCENE);
    sequences(&editor, &client);
    services(&editor, &client);
    attempts(&editor, &client);
    atomic(&editor, &client);
    previews(&editor, &client);
    records(&editor, &client);
    many_nodes(&editor, &client);
    closed_scenes(&editor, &client);
    resources(&editor, &client);
    drop(client);
    editor.quit();
}

/// Each entry an action of its own; stops at the first fault or goes on, as asked.
fn sequences(editor: &Editor, client: &Client) {
    let before = editor.gd(STATE);
    let commands = json!([
        create("N"),
        place("N", 3),
        place("Missing", 1),
        place("A", 9),
        command("get_node_property", json!({"node_path": "N", "property": "position"}))
    ]);
    let stopped = client.ok("run_commands", json!({"commands": commands}));
    assert_eq!(statuses(&stopped), ["done", "done", "failed", "skipped", "skipped"]);
    assert_eq!(
        (&stopped["done"], &stopped["failed"], &stopped["skipped"]),
        (&json!(2), &json!(1), &json!(2))
    );
    assert_eq!(stopped["results"][2]["error"]["error"], "RESOURCE_NOT_FOUND");
    assert_eq!(
        (&stopped["applied"], &stopped["persisted"], &stopped["undoable"]),
        (&json!(true), &json!(true), &json!(true))
    );
    // Planned at its turn: the node was made by the entry before.
    assert_eq!(stopped["results"][1]["answer"]["value"], json!({"x": 3.0, "y": 0.0}), "{stopped}");
    for index in [1, 0] {
        let token = &stopped["results"][index]["answer"]["undo_token"];
        assert_eq!(client.ok("godot_undo", json!({"undo_token": token}))["undone"], 1);
    }
    let names = |it: &Value| it[0].clone();
    assert_eq!(names(&editor.gd(STATE)), names(&before));

    let on = client.ok("run_commands", json!({"commands": commands, "stop_on_error": false}));
    assert_eq!(statuses(&on), ["done", "done", "failed", "done", "done"]);
    assert_eq!(on["results"][4]["answer"]["value"], json!({"x": 3.0, "y": 0.0}), "{on}");
    client.ok("godot_undo", json!({"count": 3}));
    assert_eq!(names(&editor.gd(STATE)), names(&before));
    // Only reads: nothing was applied.
    let read =
        client.ok("run_commands", json!({"commands": [command("get_active_scene", json!({}))]}));
    assert_eq!((&read["applied"], &read["undoable"]), (&json!(false), &json!(false)));
    // A key in an entry: it runs once, and the batch after it gets the recorded answer.
    let mut keyed = create("Keyed");
    keyed["arguments"]["idempotency_key"] = json!("batch-entry-1");
    let first = client.ok("run_commands", json!({"commands": [keyed]}));
    let again = client.ok("run_commands", json!({"commands": [keyed]}));
    assert_eq!(again["results"][0]["answer"]["replayed"], true, "{again}");
    assert_eq!(
        first["results"][0]["answer"]["undo_token"],
        again["results"][0]["answer"]["undo_token"]
    );
    client.ok("godot_undo", json!({}));
    assert_eq!(names(&editor.gd(STATE)), names(&before));
    client.ok("save_scene", json!({}));
}

/// Tools that do not run on the main thread, or take several frames, work in a batch too.
fn services(editor: &Editor, client: &Client) {
    std::fs::write(
        editor.project.join("hero.gd"),
        "extends Node2D\n\nvar health := 3\n\nfunc hit() -> void:\n\thealth -= 1\n",
    )
    .expect("written");
    let answer = client.ok("run_commands", json!({"commands": [
        command("list_scripts", json!({"directory": "res://"})),
        command("write_script", json!({"script_path": "res://batch_made.gd", "content": "class_name BatchMade\nextends Node2D\n"})),
        command("create_node", json!({"parent_path": ".", "node_type": "BatchMade", "node_name": "Made"})),
        command("script_symbols", json!({"script_path": "res://hero.gd"})),
        command("rename_symbol", json!({"script_path": "res://hero.gd", "line": 3, "column": 5, "new_name": "hp"})),
        command("read_script", json!({"script_path": "res://hero.gd"})),
        command("open_scene", json!({"scene_path": "res://probes/main.tscn"})),
        command("get_active_scene", json!({})),
        command("open_scene", json!({"scene_path": "res://batch.tscn"})),
    ]}));
    assert_eq!(answer["done"], 9, "{answer}");
    let script = std::fs::read_to_string(editor.project.join("hero.gd")).expect("the script");
    assert!(script.contains("var hp := 3") && script.contains("hp -= 1"), "{script}");
    assert!(
        answer["results"][5]["answer"].to_string().contains("hp -= 1"),
        "read after the rename"
    );
    assert_eq!(answer["results"][7]["answer"]["scene_path"], "res://probes/main.tscn");
    client.ok("godot_undo", json!({"count": 3}));
    std::fs::remove_file(editor.project.join("hero.gd")).expect("removed");
    client.ok("rescan_filesystem", json!({}));
    client.ok("save_scene", json!({}));
}

/// Every entry passes the gate: each attempt is refused for its own reason, and nothing changes.
fn attempts(editor: &Editor, client: &Client) {
    client.ok("disable_toolset", json!({"category": "journal"}));
    let mut text = delete("A");
    text["arguments"]["dry_run"] = json!("true");
    let mut confirm = delete("A");
    confirm["arguments"]["confirm"] = json!("true");
    let mut scene = place("A", 1);
    scene["arguments"]["expected_scene"] = json!("res://other.tscn");
    let outside = |tool: &str, name: &str, path: &str| {
        let mut arguments = json!({"node_path": "A", "content": ""});
        arguments[name] = json!(path);
        if tool == "write_script" {
            arguments.as_object_mut().expect("an object").remove("node_path");
        } else {
            arguments.as_object_mut().expect("an object").remove("content");
        }
        command(tool, arguments)
    };
    let table = [
        ("dry_run as text", text, "VALIDATION_ERROR"),
        ("confirm as text", confirm, "VALIDATION_ERROR"),
        ("no confirm", command("delete_node", json!({"node_path": "A"})), "PRECONDITION_FAILED"),
        ("an unknown tool", command("delete_nod", json!({})), "RESOURCE_NOT_FOUND"),
        ("an unknown parameter", command("delete_node", json!({"node": "A"})), "VALIDATION_ERROR"),
        (
            "a disabled toolset",
            command("get_transaction", json!({"transaction_id": "1"})),
            "TOOLSET_DISABLED",
        ),
        ("a path outside", outside("write_script", "script_path", "res://../x.gd"), "PATH_DENIED"),
        (
            "the addon",
            outside("write_script", "script_path", "res://addons/godot_mcp/x.gd"),
            "PATH_DENIED",
        ),
        (
            "a path outside, for a read",
            command("read_script", json!({"script_path": "/etc/passwd"})),
            "PATH_DENIED",
        ),
        (
            "a script outside",
            outside("attach_script", "script_path", "res://../x.gd"),
            "PATH_DENIED",
        ),
        ("another scene", scene, "STATE_CHANGED"),
    ];
    let before = (editor.gd(STATE), files(&editor.project));
    for (what, entry, code) in &table {
        let one = client.ok("run_commands", json!({"commands": [entry]}));
        assert_eq!(one["results"][0]["error"]["error"], *code, "{what}: {one}");
        assert_eq!((&one["failed"], &one["applied"]), (&json!(1), &json!(false)), "{what}");
        let all = client.refused(
            "run_commands",
            json!({"commands": [create("X"), place("A", 1), entry], "atomic": true}),
        );
        assert_eq!(
            (&all["error"], &all["details"]["index"]),
            (&json!(code), &json!(2)),
            "{what}: {all}"
        );
        let preview = client.ok("run_commands", json!({"commands": [entry], "dry_run": true}));
        assert_eq!(preview["results"][0]["status"], "refused", "{what}: {preview}");
    }
    let inner = json!({"commands": [delete("A")]});
    for (what, args) in [
        ("nested", json!({"commands": [create("X"), command("run_commands", inner.clone())]})),
        (
            "nested, previewed",
            json!({"commands": [command("run_commands", inner)], "dry_run": true}),
        ),
        ("dry_run of the batch as text", json!({"commands": [delete("A")], "dry_run": "true"})),
        ("no commands", json!({"commands": []})),
        ("arguments as a list", json!({"commands": [{"tool": "delete_node", "arguments": ["A"]}]})),
        (
            "another key",
            json!({"commands": [{"tool": "delete_node", "args": {"node_path": "A", "confirm": true}}]}),
        ),
    ] {
        assert_eq!(client.refused("run_commands", args)["error"], "VALIDATION_ERROR", "{what}");
    }
    for tool in [
        command("save_scene", json!({})),
        command("rescan_filesystem", json!({})),
        command("script_symbols", json!({"script_path": "res://probes/main.gd"})),
    ] {
        let refused = client
            .refused("run_commands", json!({"commands": [create("X"), tool], "atomic": true}));
        assert_eq!(
            (&refused["error"], &refused["details"]["index"]),
            (&json!("UNSUPPORTED"), &json!(1)),
            "{refused}"
        );
    }
    assert_eq!(editor.gd(STATE), before.0);
    same(&before.1, &files(&editor.project), "attempts");
    client.ok("enable_toolset", json!({"category": "journal"}));
}

/// One action for all, or not a trace of any.
fn atomic(editor: &Editor, client: &Client) {
    let before = files(&editor.project);
    let state = editor.gd(STATE);
    let edits = [
        create("N"),
        place("N", 7),
        command(
            "write_script",
            json!({"script_path": "res://probes/n.gd", "content": "extends Node2D\n"}),
        ),
        command("attach_script", json!({"node_path": "N", "script_path": "res://probes/n.gd"})),
        command(
            "patch_script",
            json!({"script_path": "res://probes/n.gd", "find": "extends Node2D\n", "replace": "extends Node2D\n\nvar x := 1\n"}),
        ),
        command("rename_node", json!({"node_path": "N", "new_name": "M"})),
        delete("B"),
        command("get_node_property", json!({"node_path": "M", "property": "position"})),
    ];
    // Whatever fails, at every place.
    for at in 0..=edits.len() {
        let mut commands = edits.to_vec();
        commands.insert(at, place("Missing", 1));
        let refused = client.refused("run_commands", json!({"commands": commands, "atomic": true}));
        assert_eq!(
            (&refused["error"], &refused["details"]["index"]),
            (&json!("RESOURCE_NOT_FOUND"), &json!(at)),
            "{refused}"
        );
        assert_eq!(editor.gd(STATE), state, "at {at}");
        same(&before, &files(&editor.project), &format!("taken back at {at}"));
        assert_eq!(client.ok("get_active_scene", json!({}))["dirty"], false, "at {at}");
    }
    let done = client.ok("run_commands", json!({"commands": edits, "atomic": true}));
    assert_eq!(
        (&done["done"], &done["applied"], &done["persisted"]),
        (&json!(8), &json!(true), &json!(true)),
        "{done}"
    );
    assert_eq!(done["results"][7]["answer"]["value"], json!({"x": 7.0, "y": 0.0}));
    assert!(done["results"][0]["answer"].get("undo_token").is_none(), "one step has one token");
    client.ok("save_scene", json!({}));
    let after = files(&editor.project);
    assert!(String::from_utf8_lossy(&after["batch.tscn"]).contains("[node name=\"M\""));
    for round in 0..2 {
        let undone = match round {
            0 => client.ok("godot_undo", json!({"undo_token": done["undo_token"]})),
            _ => client.ok("godot_undo", json!({})),
        };
        assert_eq!(undone["undone"], 1);
        client.ok("save_scene", json!({}));
        same(&before, &files(&editor.project), "undone");
        client.ok("godot_redo", json!({}));
        client.ok("save_scene", json!({}));
        same(&after, &files(&editor.project), "redone");
    }
    client.ok("godot_undo", json!({}));
    client.ok("save_scene", json!({}));
    same(&before, &files(&editor.project), "undone at last");
}

/// S4.2: nothing is applied for a preview, so what depends on commands before it is said to.
fn previews(editor: &Editor, client: &Client) {
    let before = (editor.gd(STATE), files(&editor.project));
    let commands = json!([
        create("N"),
        place("N", 1),
        place("A", 1),
        command("get_active_scene", json!({})),
        delete("B")
    ]);
    for atomic in [false, true] {
        let seen = client
            .ok("run_commands", json!({"commands": commands, "dry_run": true, "atomic": atomic}));
        assert_eq!(
            statuses(&seen),
            ["previewed", "not_previewed", "previewed", "not_previewed", "previewed"],
            "{seen}"
        );
        assert!(
            seen["results"][1]["reason"].as_str().is_some_and(|it| it.contains("depends")),
            "{seen}"
        );
        assert!(seen["results"][0]["preview"]["changes"][0].is_object(), "{seen}");
        assert_eq!(editor.gd(STATE), before.0);
        same(&before.1, &files(&editor.project), "a preview");
    }
    // S4.1: the preview of an entry that depends on nothing is what it does.
    let entry = json!([delete("B")]);
    let seen = client.ok("run_commands", json!({"commands": entry, "dry_run": true}));
    let done = client.ok("run_commands", json!({"commands": entry}));
    for field in ["persisted", "undoable", "changes"] {
        assert_eq!(
            seen["results"][0]["preview"][field], done["results"][0]["answer"][field],
            "{field}"
        );
    }
    client.ok("godot_undo", json!({}));
    client.ok("save_scene", json!({}));
}

/// Audit log and journal say what each entry came to.
fn records(editor: &Editor, client: &Client) {
    let log = editor.project.join(".godot/godot_mcp/audit.jsonl");
    let lines = || -> Vec<Value> {
        let text = std::fs::read_to_string(&log).expect("the audit log");
        text.lines().map(|it| serde_json::from_str(it).expect("JSON")).collect()
    };
    let seen = lines().len();
    client.ok(
        "run_commands",
        json!({"commands": [create("N"), place("Missing", 1)], "idempotency_key": "batch-records"}),
    );
    client.ok("godot_undo", json!({}));
    client.refused(
        "run_commands",
        json!({"commands": [create("N"), place("Missing", 1)], "atomic": true}),
    );
    let told: Vec<_> = lines()[seen..]
        .iter()
        .map(|it| {
            (
                it["tool"].as_str().unwrap_or_default().to_owned(),
                it["outcome"].as_str().unwrap_or_default().to_owned(),
            )
        })
        .collect();
    let told: Vec<_> = told.iter().map(|it| (it.0.as_str(), it.1.as_str())).collect();
    assert_eq!(
        told,
        [
            ("create_node", "ok"),
            ("set_node_property", "refused"),
            ("run_commands", "ok"),
            ("godot_undo", "ok"),
            ("create_node", "taken_back"),
            ("set_node_property", "refused"),
            ("run_commands", "refused"),
        ]
    );
    let entry = &lines()[seen];
    assert!(
        entry["undo_token"].is_string()
            && entry["transaction_id"] == lines()[seen + 2]["transaction_id"],
        "{entry}"
    );
    let transaction = client.ok("get_transaction", json!({"idempotency_key": "batch-records"}));
    assert_eq!(
        (&transaction["state"], &transaction["answer"]["failed"]),
        (&json!("done"), &json!(1)),
        "{transaction}"
    );
    client.ok("save_scene", json!({}));
}

/// S6.1: 5,000 nodes are one action, with a verdict for each that is not like the others.
fn many_nodes(editor: &Editor, client: &Client) {
    const COUNT: usize = 5_000;
    let inner = "[gd_scene format=3]\n\n[node name=\"Inner\" type=\"Node2D\"]\n\n[node name=\"Hidden\" type=\"Sprite2D\" parent=\".\"]\n";
    std::fs::write(editor.project.join("inner.tscn"), inner).expect("written");
    let text = "[gd_scene format=3]\n\n[ext_resource type=\"PackedScene\" path=\"res://inner.tscn\" id=\"1\"]\n\n[node name=\"Many\" type=\"Node2D\"]\n\n[node name=\"Inner\" parent=\".\" instance=ExtResource(\"1\")]\n";
    open(editor, client, "many.tscn", text);
    let before = files(&editor.project);
    let names: Vec<_> = (0..COUNT).map(|_| "S").collect();
    let made = client.ok(
        "batch_create_nodes",
        json!({"parent_path": ".", "node_type": "Sprite2D", "names": names}),
    );
    assert_eq!((&made["created"], &made["renamed"]), (&json!(COUNT), &json!(COUNT - 1)));
    client.ok("save_scene", json!({}));
    let filled = files(&editor.project);
    let args = json!({"property": "offset", "value": [1, 2], "node_type": "Sprite2D"});
    let mut preview = args.clone();
    preview["dry_run"] = json!(true);
    let preview = client.ok("batch_set_property", preview);
    let begun = std::time::Instant::now();
    let set = client.ok("batch_set_property", args);
    println!("batch_set_property of {COUNT} nodes: {:?}", begun.elapsed());
    assert_eq!((&set["nodes"], &set["changed"]), (&json!(COUNT + 1), &json!(COUNT + 1)));
    assert_eq!(set["persisted"], false, "one of them is in an instance");
    assert_eq!(set["persistence"], preview["persistence"]);
    let groups = set["persistence"].as_array().expect("groups");
    assert!(groups.iter().any(|it| it["persisted"] == true && it["count"] == COUNT), "{groups:?}");
    assert!(
        groups.iter().any(|it| it["targets"] == json!(["Inner/Hidden"])
            && it["reason"] == "instanced_child_not_editable"),
        "{groups:?}"
    );
    let count = || {
        editor.gd("return EditorInterface.get_edited_scene_root().get_children().filter(func(it): return it is Sprite2D and it.offset == Vector2(1, 2)).size()")
    };
    assert_eq!(count(), COUNT);
    client.ok("save_scene", json!({}));
    let after = files(&editor.project);
    assert_eq!(client.ok("godot_undo", json!({"undo_token": set["undo_token"]}))["undone"], 1);
    assert_eq!(count(), 0);
    client.ok("save_scene", json!({}));
    same(&filled, &files(&editor.project), "undone");
    client.ok("godot_redo", json!({}));
    client.ok("save_scene", json!({}));
    same(&after, &files(&editor.project), "redone");
    client.ok("godot_undo", json!({"count": 2}));
    client.ok("save_scene", json!({}));
    same(&before, &files(&editor.project), "both undone");
    client.ok("open_scene", json!({"scene_path": "res://batch.tscn"}));
    client.ok("close_scene", json!({"scene_path": "res://many.tscn", "confirm": true}));
}

/// Closed scenes change on disk, and nothing but the property does.
fn closed_scenes(editor: &Editor, client: &Client) {
    let odd = "[gd_scene   load_steps=3 format=3]\r\n; a remark\r\n[ext_resource type=\"PackedScene\" path=\"res://inner.tscn\" id=\"1\"]\r\n\r\n[node name=\"Root\" type=\"Node2D\"]\r\n\r\n[node name=\"S\" type=\"Sprite2D\" parent=\".\"]\r\nregion_enabled = true\r\nscale = Vector2( 2,2 )\r\n\r\n[node name=\"Text\" type=\"Label\" parent=\".\"]\r\ntext = \"[node name=\\\"X\\\" type=\\\"Sprite2D\\\"]\r\n\"\r\n\r\n[node name=\"Inner\" parent=\".\" instance=ExtResource(\"1\")]\r\n";
    std::fs::write(editor.project.join("odd.tscn"), odd).expect("written");
    std::fs::write(
        editor.project.join("none.tscn"),
        "[gd_scene format=3]\n\n[node name=\"None\" type=\"Node2D\"]\n",
    )
    .expect("written");
    client.ok("rescan_filesystem", json!({}));
    let before = files(&editor.project);
    let args = json!({
        "scenes": ["res://odd.tscn", "res://inner.tscn", "res://none.tscn", "res://batch.tscn", "res://missing.tscn"],
        "node_type": "Sprite2D", "property": "texture", "value": "res://probes/icon.png", "confirm": true,
    });
    let done = client.ok("cross_scene_set_property", args);
    let scenes = done["scenes"].as_array().expect("scenes");
    assert_eq!(
        (&scenes[0]["nodes"], &scenes[1]["nodes"], &scenes[2]["nodes"]),
        (&json!(["S"]), &json!(["Hidden"]), &json!([])),
        "{done}"
    );
    assert_eq!(
        (&scenes[3]["refused"], &scenes[4]["refused"]),
        (&json!("PRECONDITION_FAILED"), &json!("RESOURCE_NOT_FOUND"))
    );
    let after = files(&editor.project);
    let text = String::from_utf8_lossy(&after["odd.tscn"]).into_owned();
    let added: Vec<_> = text.split("\r\n").filter(|it| !odd.contains(it)).collect();
    assert_eq!(added.len(), 2, "{text}");
    assert!(
        added[0].starts_with("[ext_resource type=\"Texture2D\"")
            && added[1].starts_with("texture = ExtResource(\""),
        "{added:?}"
    );
    let rest: String = text.split_inclusive("\r\n").filter(|it| odd.contains(it)).collect();
    assert_eq!(rest, odd, "everything else is as it was");
    assert_eq!(editor.gd("var scene: Node = load(\"res://odd.tscn\").instantiate()\nvar path: String = scene.get_node(\"S\").texture.resource_path\nscene.free()\nreturn path"), "res://probes/icon.png");
    client.ok("godot_undo", json!({"undo_token": done["undo_token"]}));
    same(&before, &files(&editor.project), "undone");
    client.ok("godot_redo", json!({}));
    same(&after, &files(&editor.project), "redone");
    client.ok("godot_undo", json!({}));
    // The default of a plain node is left out of the file, as the editor does.
    let off = json!({"scenes": ["res://odd.tscn"], "node_type": "Sprite2D", "property": "region_enabled", "value": false, "confirm": true});
    client.ok("cross_scene_set_property", off);
    let text = std::fs::read_to_string(editor.project.join("odd.tscn")).expect("the scene");
    assert_eq!(text, odd.replace("region_enabled = true\r\n", ""));
    client.ok("godot_undo", json!({}));
    for (property, value) in [
        ("position", json!("banana")),
        ("positon", json!([1, 2])),
        ("global_position", json!([1, 2])),
        ("name", json!("X")),
    ] {
        let args = json!({"scenes": ["res://odd.tscn"], "node_type": "Sprite2D", "property": property, "value": value, "confirm": true});
        assert_eq!(
            client.refused("cross_scene_set_property", args)["error"],
            "VALIDATION_ERROR",
            "{property}"
        );
    }
    same(&before, &files(&editor.project), "refused");
}

/// Runs an edit of files, undoes and redoes it to the byte, and undoes it again.
#[track_caller]
fn circle(editor: &Editor, client: &Client, tool: &str, args: &Value) -> (Value, Files) {
    let before = files(&editor.project);
    let mut preview = args.clone();
    preview["dry_run"] = json!(true);
    client.ok(tool, preview);
    same(&before, &files(&editor.project), &format!("{tool}: previewed"));
    let done = client.ok(tool, args.clone());
    assert_eq!(done["applied"], true, "{tool}: {done}");
    let after = files(&editor.project);
    for _ in 0..2 {
        assert_eq!(client.ok("godot_undo", json!({}))["undone"], 1, "{tool}");
        same(&before, &files(&editor.project), &format!("{tool}: undone"));
        client.ok("godot_redo", json!({}));
        same(&after, &files(&editor.project), &format!("{tool}: redone"));
    }
    client.ok("godot_undo", json!({}));
    same(&before, &files(&editor.project), &format!("{tool}: undone at last"));
    (done, after)
}

/// Resource files of several kinds, undone to the byte; what is loaded from them follows.
fn resources(editor: &Editor, client: &Client) {
    let write = |file: &str, text: &str| {
        std::fs::write(editor.project.join(file), text).expect("written");
    };
    write(
        "res_item.gd",
        "class_name BatchItem\nextends Resource\n\n@export var price := 1\n@export var icon: Texture2D\n@export var parts: Array[Resource]\n",
    );
    write(
        "style.tres",
        "[gd_resource type=\"StyleBoxFlat\" format=3 uid=\"uid://bq0a1b2c3d4e5\"]\n\n[resource]\nbg_color = Color(1, 0, 0, 1)\n",
    );
    client.ok("rescan_filesystem", json!({}));

    // Of a script, with a file and with others inside, into text and into a binary file.
    for file in ["res://shop/sword.tres", "res://sword.res"] {
        let args = json!({
            "type": "BatchItem", "resource_path": file, "confirm": true,
            "properties": {"price": 9, "icon": "res://probes/icon.png", "parts": [
                {"type": "NewResource", "class": "CircleShape2D", "properties": {"radius": 4}},
                {"type": "NewResource", "class": "BatchItem", "properties": {"price": 2}},
            ]},
        });
        let (_, after) = circle(editor, client, "create_resource", &args);
        assert!(after.contains_key(file.trim_start_matches("res://")));
        // S8: what is the same plan gives the same bytes, so an approval can be bound to them.
        let (_, again) = circle(editor, client, "create_resource", &args);
        same(&after, &again, "made twice");
    }
    client.ok("create_resource", json!({"type": "BatchItem", "resource_path": "res://sword.tres", "properties": {"price": 9}, "confirm": true}));
    let read = client.ok("read_resource_file", json!({"resource_path": "res://sword.tres"}));
    assert_eq!(
        (&read["properties"]["price"], &read["script"]),
        (&json!(9), &json!("res://res_item.gd")),
        "{read}"
    );
    let uid = read["uid"].clone();
    let args = json!({"type": "BatchItem", "resource_path": "res://sword.tres", "properties": {"price": 3}, "confirm": true});
    assert_eq!(client.refused("create_resource", args.clone())["error"], "ALREADY_EXISTS");
    let mut over = args;
    over["overwrite"] = json!(true);
    circle(editor, client, "create_resource", &over);
    client.ok("create_resource", over);
    let read = client.ok("read_resource_file", json!({"resource_path": "res://sword.tres"}));
    assert_eq!((&read["properties"]["price"], &read["uid"]), (&json!(3), &uid), "the uid stays");

    // What is loaded follows, in both directions.
    editor.gd("Engine.set_meta(\"kept\", load(\"res://style.tres\"))");
    let color = || editor.gd("return Engine.get_meta(\"kept\").bg_color.to_html(false)");
    let args =
        json!({"resource_path": "res://style.tres", "property": "bg_color", "value": "blue"});
    circle(editor, client, "set_resource_property", &args);
    assert_eq!(color(), "ff0000");
    client.ok("set_resource_property", args);
    assert_eq!(color(), "0000ff");
    client.ok("godot_undo", json!({}));
    assert_eq!(color(), "ff0000");
    // By its uid, with what the engine clamps, and without a change.
    let by_uid = client.ok(
        "set_resource_property",
        json!({"resource_path": "uid://bq0a1b2c3d4e5", "property": "corner_detail", "value": 100}),
    );
    assert_eq!(
        (&by_uid["clamped"], &by_uid["applied_value"]),
        (&json!(true), &json!(20)),
        "{by_uid}"
    );
    client.ok("godot_undo", json!({}));
    let same_value = client.ok(
        "set_resource_property",
        json!({"resource_path": "res://style.tres", "property": "bg_color", "value": "red"}),
    );
    assert_eq!((&same_value["applied"], &same_value["no_change"]), (&json!(false), &json!(true)));
    // The human has changed it in the inspector and not saved it.
    editor.gd("Engine.get_meta(\"kept\").bg_color = Color.GREEN");
    let unsaved = client.refused(
        "set_resource_property",
        json!({"resource_path": "res://style.tres", "property": "bg_color", "value": "blue"}),
    );
    assert_eq!(unsaved["error"], "STATE_CHANGED", "{unsaved}");
    editor.gd("Engine.get_meta(\"kept\").bg_color = Color.RED\nEngine.remove_meta(\"kept\")");

    let before = files(&editor.project);
    let set = |file: &str, property: &str, value: Value| json!({"resource_path": file, "property": property, "value": value});
    for (args, code) in [
        (set("res://style.tres", "bg_colr", json!("red")), "VALIDATION_ERROR"),
        (set("res://style.tres", "bg_color", json!("redd")), "VALIDATION_ERROR"),
        (set("res://sword.tres", "icon", json!("res://style.tres")), "VALIDATION_ERROR"),
        (set("res://sword.tres", "icon", json!("res://missing.png")), "RESOURCE_NOT_FOUND"),
        (set("res://sword.tres", "icon", json!("res://../x.png")), "PATH_DENIED"),
        (set("res://missing.tres", "price", json!(1)), "RESOURCE_NOT_FOUND"),
        (set("res://probes/icon.png", "price", json!(1)), "VALIDATION_ERROR"),
        (set("res://batch.tscn", "price", json!(1)), "VALIDATION_ERROR"),
        (set("res://../x.tres", "price", json!(1)), "PATH_DENIED"),
    ] {
        assert_eq!(client.refused("set_resource_property", args.clone())["error"], code, "{args}");
    }
    same(&before, &files(&editor.project), "refused");

    circle(
        editor,
        client,
        "edit_gradient",
        &json!({"resource_path": "res://sky.tres", "points": [{"offset": 0, "color": "red"}, {"offset": 1, "color": "#00f"}]}),
    );
    client.ok("create_resource", json!({"type": "GradientTexture1D", "resource_path": "res://sky.tres", "confirm": true, "properties": {"gradient": {"type": "NewResource", "class": "Gradient"}}}));
    let (_, after) = circle(
        editor,
        client,
        "edit_gradient",
        &json!({"resource_path": "res://sky.tres", "points": [{"offset": 0.25, "color": "red"}]}),
    );
    assert!(String::from_utf8_lossy(&after["sky.tres"]).contains("PackedFloat32Array(0.25)"));
    circle(
        editor,
        client,
        "edit_curve",
        &json!({"resource_path": "res://curve.tres", "points": [{"x": 0.5, "y": 1, "left_tangent": 2}, {"x": 0, "y": -1}], "min_value": -1}),
    );
    circle(
        editor,
        client,
        "edit_noise",
        &json!({"resource_path": "res://noise.tres", "properties": {"seed": 5, "fractal_type": "Ridged"}}),
    );

    // Real files that the editor imports; undo takes away what the import wrote beside them.
    let (picture, after) = circle(
        editor,
        client,
        "create_placeholder_texture",
        &json!({"resource_path": "res://art/hero.png", "width": 32, "height": 16, "color": "teal", "pattern": "border"}),
    );
    assert_eq!(
        (&picture["imported"], &picture["type"]),
        (&json!(true), &json!("CompressedTexture2D")),
        "{picture}"
    );
    assert!(
        after.contains_key("art/hero.png") && after.contains_key("art/hero.png.import"),
        "{:?}",
        after.keys()
    );
    let (sound, after) = circle(
        editor,
        client,
        "create_placeholder_sound",
        &json!({"resource_path": "res://beep.wav", "duration": 0.25, "wave": "noise"}),
    );
    assert_eq!(
        (&sound["imported"], &sound["type"]),
        (&json!(true), &json!("AudioStreamWAV")),
        "{sound}"
    );
    assert!(after.contains_key("beep.wav.import"));
    client.ok(
        "create_placeholder_sound",
        json!({"resource_path": "res://beep.wav", "duration": 0.25}),
    );
    let length = editor.gd("return load(\"res://beep.wav\").get_length()");
    assert!(length.as_f64().is_some_and(|it| (it - 0.25).abs() < 0.001), "{length}");
    client.ok(
        "create_placeholder_texture",
        json!({"resource_path": "res://sheet.png", "width": 32, "height": 16}),
    );
    let pixels = editor.gd("var image: Image = load(\"res://sheet.png\").get_image()\nreturn [image.get_width(), image.get_height(), image.get_pixel(0, 0).to_html()]");
    assert_eq!(pixels, json!([32, 16, "ff00ffff"]));

    let cut = json!({"texture_path": "res://sheet.png", "resource_path": "res://hero.tres", "columns": 4, "rows": 2, "animations": [
        {"name": "run", "first": 0, "count": 4, "fps": 12}, {"name": "turn", "first": 3, "count": 2, "loop": false},
    ]});
    circle(editor, client, "sprite_frames_from_sheet", &cut);
    client.ok("sprite_frames_from_sheet", cut);
    let frames = editor.gd("var frames: SpriteFrames = load(\"res://hero.tres\")\nreturn [frames.get_animation_names(), frames.get_frame_texture(\"turn\", 1).region.position.y, frames.get_animation_loop(\"turn\"), frames.get_animation_speed(\"run\")]");
    assert_eq!(frames, json!([["run", "turn"], 8.0, false, 12.0]));
    for args in [
        json!({"animation": "run", "fps": 3, "frames": ["res://sheet.png"]}),
        json!({"animation": "turn", "new_name": "spin"}),
        json!({"animation": "run", "remove": true}),
    ] {
        let mut args = args;
        args["resource_path"] = json!("res://hero.tres");
        circle(editor, client, "edit_sprite_frames", &args);
    }

    // In one step with what uses them.
    let batch = json!({"atomic": true, "commands": [
        command("create_resource", json!({"type": "CircleShape2D", "resource_path": "res://round.tres", "properties": {"radius": 7}, "confirm": true})),
        command("set_resource_property", json!({"resource_path": "res://round.tres", "property": "radius", "value": 8})),
        command("read_resource_file", json!({"resource_path": "res://round.tres"})),
        command("compose_node", json!({"parent_path": ".", "node_type": "StaticBody2D", "node_name": "Wall", "children": [
            {"node_type": "CollisionShape2D", "node_name": "Shape", "properties": {"shape": "res://round.tres"}},
        ]})),
    ]});
    client.ok("save_scene", json!({}));
    let (done, after) = circle(editor, client, "run_commands", &batch);
    assert_eq!(done["results"][2]["answer"]["properties"]["radius"], 8.0, "{done}");
    assert!(String::from_utf8_lossy(&after["round.tres"]).contains("radius = 8.0"));
    client.ok("save_scene", json!({}));
}

/// A human behind a client, who says yes to everything or no to everything.
#[derive(Clone)]
struct Human {
    asked: Arc<Mutex<Vec<String>>>,
    approves: Arc<Mutex<bool>>,
    /// Run while the human thinks.
    meanwhile: Arc<Mutex<Option<Box<dyn FnOnce() + Send>>>>,
}

impl ClientHandler for Human {
    fn get_info(&self) -> ClientConfig {
        let capabilities = ClientCapabilities::builder().enable_elicitation().build();
        ClientConfig::new(capabilities, Implementation::new("human", "1"))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let ElicitRequestParams::FormElicitationParams { message, .. } = request else {
            return Err(ErrorData::invalid_params("a form", None));
        };
        self.asked.lock().expect("no panic").push(message);
        if let Some(work) = self.meanwhile.lock().expect("no panic").take() {
            work();
        }
        let mut result = ElicitResult::new(ElicitationAction::Accept);
        result.content = Some(json!({"approve": *self.approves.lock().expect("no panic")}));
        Ok(result)
    }
}

/// S7 and S2.1: a human is asked once about a batch, and their word holds for what they were shown.
#[test]
fn approval_of_a_batch() {
    let editor = Launch::fixture("plain").env("GODOT_MCP_APPROVAL_REQUIRE", "true").start();
    std::fs::write(editor.project.join("batch.tscn"), SCENE).expect("written");
    editor.gd("EditorInterface.open_scene_from_path(\"res://batch.tscn\")");
    for era in [Era::Sessions, Era::Modern] {
        let human = Human {
            asked: Arc::default(),
            approves: Arc::new(Mutex::new(true)),
            meanwhile: Arc::default(),
        };
        let asked = || std::mem::take(&mut *human.asked.lock().expect("no panic"));
        let client = Client::connect_as(human.clone(), &editor.url, &editor.token, era);
        let before = editor.gd(STATE);
        let names = |it: &Value| it[0].clone();

        // Reads, previews and what is refused anyway: nobody is asked.
        client.ok("run_commands", json!({"commands": [command("get_active_scene", json!({}))]}));
        client.ok("run_commands", json!({"commands": [delete("A")], "dry_run": true}));
        let mut preview = delete("A");
        preview["arguments"]["dry_run"] = json!(true);
        client.ok("run_commands", json!({"commands": [preview]}));
        client.refused("run_commands", json!({"atomic": true, "commands": [create("N"), command("delete_node", json!({"node_path": "A"}))]}));
        assert_eq!(asked(), Vec::<String>::new(), "{era:?}");

        // No is no, for all of them.
        *human.approves.lock().expect("no panic") = false;
        let commands = json!([
            create("N"),
            place("N", 4),
            delete("A"),
            command("get_active_scene", json!({}))
        ]);
        for atomic in [false, true] {
            let denied =
                client.refused("run_commands", json!({"commands": commands, "atomic": atomic}));
            assert_eq!(denied["error"], "APPROVAL_DENIED", "{era:?}: {denied}");
            assert_eq!(asked().len(), 1);
        }
        assert_eq!(editor.gd(STATE), before, "{era:?}");

        // Yes: one question shows all plans, and names what depends on commands before it.
        *human.approves.lock().expect("no panic") = true;
        for atomic in [false, true] {
            let done = client.ok("run_commands", json!({"commands": commands, "atomic": atomic}));
            assert_eq!(done["done"], 4, "{era:?}: {done}");
            let questions = asked();
            assert_eq!(questions.len(), 1, "{era:?}");
            for part in [
                "run_commands (destructive)",
                "4 commands",
                "add N",
                "set_node_property",
                "depends on commands before it",
                "remove A",
            ] {
                assert!(
                    questions[0].contains(part),
                    "{era:?}: {part} is missing: {}",
                    questions[0]
                );
            }
            client
                .call("godot_undo", json!({"count": if atomic { 1 } else { 3 }}))
                .expect("undone");
            asked();
            assert_eq!(names(&editor.gd(STATE)), names(&before), "{era:?}");
        }

        // The scene changes while the human thinks.
        let before = editor.gd(STATE);
        let other = Mutex::new(editor.human());
        *human.meanwhile.lock().expect("no panic") = Some(Box::new(move || {
            other.lock().expect("no panic").run(
                "EditorInterface.get_edited_scene_root().get_node(\"A\").position = Vector2(8, 8)",
            );
        }));
        let changed =
            client.refused("run_commands", json!({"commands": [create("N"), place("A", 1)]}));
        assert_eq!(changed["error"], "STATE_CHANGED", "{era:?}: {changed}");
        editor
            .gd("EditorInterface.get_edited_scene_root().get_node(\"A\").position = Vector2(5, 6)");
        assert_eq!(editor.gd(STATE), before, "{era:?}");
        asked();

        // An entry that would do something else than it was shown to: here it deletes another A.
        let swap = json!([
            command("rename_node", json!({"node_path": "A", "new_name": "Z"})),
            command("rename_node", json!({"node_path": "B", "new_name": "A"})),
            delete("A"),
        ]);
        let refused = client.refused("run_commands", json!({"commands": swap, "atomic": true}));
        assert!(
            ["STATE_CHANGED", "ALREADY_EXISTS"]
                .contains(&refused["error"].as_str().unwrap_or_default()),
            "{era:?}: {refused}"
        );
        assert_eq!(editor.gd(STATE), before, "{era:?}");

        // The plan of a new resource is the same each time, so what was approved is what is written.
        let file = format!("res://approved_{era:?}.tres");
        let written = client.ok("create_resource", json!({"type": "StyleBoxTexture", "resource_path": file, "confirm": true, "properties": {"texture": {"type": "NewResource", "class": "GradientTexture2D", "properties": {"gradient": {"type": "NewResource", "class": "Gradient"}}}}}));
        assert_eq!(written["applied"], true, "{era:?}");
        client.ok("godot_undo", json!({}));
        let before = editor.gd(STATE);

        // More than a human can look through.
        let many: Vec<_> = (0..30).map(|it| create(&format!("N{it}"))).collect();
        let refused = client.refused("run_commands", json!({"commands": many}));
        assert_eq!(refused["error"], "VALIDATION_ERROR", "{refused}");
        assert_eq!(editor.gd(STATE), before, "{era:?}");
    }
    editor.quit();
}

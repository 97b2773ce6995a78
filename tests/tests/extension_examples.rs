//! An extension in the shape of each example of the source document does what that document says: the
//! quick starts, cancellation, undo, pages, the headless guard, errors and hints. What a C# extension
//! calls is called by a script of that shape.

use std::io::Write;
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use godot_mcp_tests::client::{Client, Era};
use godot_mcp_tests::editor::{Editor, Human, Launch, copy_folder, repository};
use godot_mcp_tests::parts::Parts;
use godot_mcp_tests::wire::Wire;
use serde_json::{Value, json};

const SCENE: &str = "res://probes/main.tscn";

/// X12: they run as they are.
#[test]
fn examples_of_the_source_document() {
    let folder = tempfile::tempdir().expect("a folder");
    let project = project(folder.path().join("project"));
    let mut editor = Launch::folder(project).start();
    let client = Client::connect(&editor, Era::Modern);
    let mut human = editor.human();
    // They are found in the editor's first scan.
    wait(|| {
        let status = client.ok("extensions_status", json!({}));
        status["extensions"].as_array().map(Vec::len) == Some(6)
    });
    client.ok("open_scene", json!({"scene_path": SCENE}));
    let mut parts = Parts::default();
    parts.run("all are registered", || registered(&editor, &client, &mut human));
    parts.run("quick start", || quick_start(&editor, &client, &mut human));
    parts.run("errors and hints", || errors_and_hints(&editor, &client, &mut human));
    parts.run("paths and text", || paths_and_text(&editor, &client, &mut human));
    parts.run("pages", || pages(&editor, &client, &mut human));
    parts.run("cancellation", || cancellation(&editor, &client, &mut human));
    parts.run("undo", || undo(&editor, &client, &mut human));
    parts.run("saves", || saves(&editor, &client, &mut human));
    parts.run("by name", || by_name(&editor, &client, &mut human));
    parts.end();
    assert!(editor.alive());
    drop((client, human));
    editor.quit_after(&["FilesExample", "shapes.fail", "shapes_fail"]);
}

fn project(project: PathBuf) -> PathBuf {
    copy_folder(&repository().join("tests/fixtures/plain"), &project);
    copy_folder(&repository().join("tests/fixtures/extension_examples"), &project);
    let old = "addons/godot_mcp_toolkit";
    copy_folder(&repository().join(old), &project.join(old));
    std::fs::write(project.join("a.cfg"), "[a]\nb=1\n").expect("written");
    std::fs::write(project.join("blob.txt"), "0123456789abcdefghijklmnopqrstuvwxyz")
        .expect("written");
    project
}

fn registered(_: &Editor, client: &Client, _: &mut Human) {
    let status = client.ok("extensions_status", json!({}));
    let tools = client.tools();
    for name in [
        "shapes_list",
        "shapes_recount",
        "shapes_picture",
        "shapes_weigh",
        "shapes_fail",
        "config_read",
        "config_check",
        "config_blob",
        "config_keys",
        "forecast_fetch",
        "forecast_count",
        "forecast_log",
        "change_property",
        "change_marker",
        "change_turn",
        "change_group",
        "change_remove",
        "change_note",
        "keep_now",
        "keep_start",
        "keep_check",
        "talk_list",
        "talk_set",
        "talk_wait",
        "talk_save",
    ] {
        let listed = tools.iter().filter(|it| it.name == name).count();
        // The group is on in this editor, as all toolsets are.
        assert_eq!(listed, 1, "{name} is not listed: {status}");
    }
}

/// Quick start, groups (X4.6), exclusive execution.
fn quick_start(_: &Editor, client: &Client, _: &mut Human) {
    let all = client.ok("shapes_list", json!({}));
    assert_eq!(all["success"], true);
    assert!(all["data"].as_array().is_some_and(|it| !it.is_empty()), "{all}");
    let bodies = client.ok("shapes_list", json!({"kind": "body"}));
    assert!(bodies["data"].as_array().map(Vec::len) <= all["data"].as_array().map(Vec::len));
    let refused = client.refused("shapes_list", json!({"kind": "ghost"}));
    assert_eq!(refused["error"], "VALIDATION_ERROR");
    // X4.4: parameters that the schema does not name are refused.
    assert_eq!(client.refused("shapes_list", json!({"kin": "all"}))["error"], "VALIDATION_ERROR");
    // The dotted name is accepted too (X3.1).
    assert_eq!(client.ok("shapes.list", json!({}))["data"], all["data"]);
    let annotations = tool(client, "shapes_list");
    assert_eq!(annotations["annotations"]["readOnlyHint"], true, "{annotations}");
    assert_eq!(annotations["annotations"]["idempotentHint"], true);
    assert_eq!(tool(client, "change_remove")["annotations"]["destructiveHint"], true);
    assert_eq!(tool(client, "change_property")["annotations"]["readOnlyHint"], false);

    let sets = client.ok("list_toolsets", json!({})).to_string();
    assert!(sets.contains("shape_tools"), "{sets}");
    client.ok("disable_toolset", json!({"category": "shape_tools"}));
    assert_eq!(client.refused("shapes_list", json!({}))["error"], "TOOLSET_DISABLED");
    client.ok("shapes_recount", json!({}));
    let found = client.ok("discover_tools", json!({"request": "what shapes touch"}));
    assert!(found.to_string().contains("shape_tools"), "{found}");
    client.ok("enable_toolset", json!({"category": "shape_tools"}));
    client.ok("shapes_list", json!({}));
}

/// Errors, default hints, hints, partial results (X8), the headless guard, what is no answer (X5.3).
fn errors_and_hints(_: &Editor, client: &Client, _: &mut Human) {
    let own = client.refused("shapes_fail", json!({"how": "hint"}));
    assert_eq!((&own["error"], &own["message"]), (&json!("NOT_FOUND"), &json!("no such shape")));
    assert_eq!(own["hint"], "Call shapes_list for all.");
    let default = client.refused("shapes_fail", json!({"how": "default hint"}));
    assert_eq!(default["error"], "TIMEOUT");
    assert!(default["hint"].as_str().is_some_and(|it| it.contains("health_check")), "{default}");
    let missing = client.refused("shapes_fail", json!({"how": "require", "node_path": "A"}));
    assert_eq!(missing["error"], "INVALID_PARAMS");
    assert!(missing["message"].as_str().is_some_and(|it| it.contains("file_path")), "{missing}");
    assert!(missing["hint"].as_str().is_some_and(|it| it.contains("res://")), "{missing}");
    for how in ["number", "no success"] {
        let wrong = client.refused("shapes_fail", json!({"how": how}));
        assert_eq!(wrong["error"], "INTERNAL", "{how}: {wrong}");
        assert!(wrong["message"].as_str().is_some_and(|it| it.contains("_fail")), "{wrong}");
    }
    let headless = client.refused("shapes_picture", json!({}));
    assert_eq!(headless["error"], "HEADLESS_UNSUPPORTED");
    assert_eq!(headless["hint"], "Run the editor with a window.");

    let partial = client.ok("shapes_weigh", json!({}));
    assert_eq!((&partial["status"], &partial["failed"]), (&json!("partial"), &json!(2)));
    assert_eq!(partial["hint"], "Call shapes_list to see what was weighed.");
    let heavy = client.ok("shapes_weigh", json!({"heavy": 3}));
    assert_eq!(heavy["hint"], "3 are heavy. Call shapes_recount for all.");
}

/// Path guards, declared (X4.5) and by hand, and untrusted text.
fn paths_and_text(_: &Editor, client: &Client, _: &mut Human) {
    let read = client.ok("config_read", json!({"file_path": "res://a.cfg"}));
    let content = read["content"].as_str().expect("text");
    assert_eq!(godot_mcp_core::untrusted::unwrap(content), Some("[a]\nb=1\n"));
    for path in ["res://../../secret", "/etc/passwd", "C:/x", "//host/share", "res://.godot/x"] {
        for tool in ["config_read", "config_check"] {
            let denied = client.refused(tool, json!({"file_path": path}));
            assert_eq!(denied["error"], "PATH_DENIED", "{tool} {path}");
        }
    }
    let slot = json!({"file_path": "res://a.cfg", "slot": "user://../x"});
    assert_eq!(client.refused("config_read", slot)["error"], "PATH_DENIED");
    client.ok("config_check", json!({"file_path": "res://a.cfg"}));
    let user = client.ok("config_check", json!({"slot": "user://one.save"}));
    assert_eq!(user["user"]["ok"], true);
    let user = client.ok("config_check", json!({"slot": "user://../one.save"}));
    assert_eq!(user["user"]["error_code"], "PATH_DENIED");
}

/// X9, the loop of a reader: call, take the cursor, call again, until there is no more.
fn pages(_: &Editor, client: &Client, _: &mut Human) {
    let (mut text, mut offset) = (String::new(), json!(0));
    for round in 0.. {
        assert!(round < 10);
        let page = client.ok("config_blob", json!({"path": "res://blob.txt", "offset": offset}));
        assert_eq!(page["total_bytes"], 36);
        let content = page["content"].as_str().expect("text");
        text += godot_mcp_core::untrusted::unwrap(content).expect("an envelope");
        if page["has_more"] == false {
            assert!(page.get("next_offset").is_none() && page.get("hint").is_none(), "{page}");
            break;
        }
        offset = page["next_offset"].clone();
    }
    assert_eq!(text, "0123456789abcdefghijklmnopqrstuvwxyz");
    let large = client.refused("config_blob", json!({"path": "res://blob.txt", "max_bytes": 99}));
    assert_eq!(large["error"], "FILE_TOO_LARGE");
    let page = client.ok("config_keys", json!({"offset": 20}));
    assert_eq!((&page["returned"], &page["has_more"]), (&json!(5), &json!(false)));
    let page = client.ok("config_keys", json!({}));
    assert_eq!((&page["total_keys"], &page["next_offset"]), (&json!(25), &json!(10)));
}

/// X6: by the signal and by asking. A call that is not cancelled answers as always.
fn cancellation(editor: &Editor, client: &Client, _: &mut Human) {
    let quick = client.ok("forecast_fetch", json!({"query": "here", "quick": true}));
    assert_eq!(quick["data"], "sunny");
    let log = |client: &Client| client.ok("forecast_log", json!({}))["log"].to_string();
    for (tool, begun, ended) in [
        ("forecast_fetch", "fetching there", "fetch cancelled: given up"),
        ("forecast_count", "counting", "count cancelled"),
    ] {
        let args = if tool == "forecast_fetch" { json!({"query": "there"}) } else { json!({}) };
        // Gone before the answer, as a client is whose user stops it.
        let request = Wire::connect(&editor.url, &editor.token).bytes_of_call(tool, &args);
        let address = editor.url.trim_start_matches("http://").trim_end_matches("/mcp");
        let mut stream = TcpStream::connect(address).expect("the server listens");
        stream.write_all(&request).expect("sent");
        wait(|| log(client).contains(begun));
        drop(stream);
        wait(|| log(client).contains(ended));
    }
}

/// X7: apply first and record, references, is_active, contexts, deletions.
fn undo(_: &Editor, client: &Client, human: &mut Human) {
    let tree = "var root := EditorInterface.get_edited_scene_root()\n\
        var lines := []\n\
        for it in root.find_children(\"*\", \"Node2D\", true, false):\n\
        \tlines.append([root.get_path_to(it), it.position, it.rotation, it.owner == root, it.is_in_group(\"enemies\"), it.editor_description])\n\
        return str(lines)";
    client.ok("reload_scene", json!({"scene_path": SCENE, "confirm": true}));
    for (tool, args) in [
        ("change_property", json!({"node_path": "Player", "property": "rotation", "value": 0.5})),
        ("change_marker", json!({"parent_path": ".", "name": "Spot"})),
        ("change_turn", json!({"node_path": "Player", "angle": 2.0})),
        ("change_group", json!({"node_path": "Player"})),
        ("change_remove", json!({"node_path": "Player/Sprite", "confirm": true})),
        ("change_note", json!({"node_path": "Player", "text": "the hero"})),
        ("talk_set", json!({"node_path": "Player", "property": "rotation", "value": 1.5})),
    ] {
        let before = human.run(tree);
        let answer = client.ok(tool, args);
        assert_eq!(answer["success"], true, "{tool}");
        let done = human.run(tree);
        assert_ne!(before, done, "{tool}");
        let token = answer["undo_token"].clone();
        assert!(token.is_string(), "{tool}: {answer}");
        let undone = client.ok("godot_undo", json!({"undo_token": token}));
        assert!(undone["names"][0].as_str().is_some_and(|it| it.starts_with("MCP: ")), "{undone}");
        assert_eq!(human.run(tree), before, "{tool} undone");
        client.ok("godot_redo", json!({}));
        assert_eq!(human.run(tree), done, "{tool} done again");
        client.ok("godot_undo", json!({}));
        assert_eq!(human.run(tree), before, "{tool} undone again");
    }
}

/// X10.1, as a handler does it and as C# does.
fn saves(editor: &Editor, client: &Client, _: &mut Human) {
    let file = editor.project.join("probes/main.tscn");
    client.ok("save_scene", json!({}));
    for start in ["keep_start", "talk_save"] {
        client.ok("change_turn", json!({"node_path": "Player", "angle": 1.0}));
        let saved = client.ok("keep_now", json!({}));
        assert_eq!(saved["success"], true);
        let text = std::fs::read_to_string(&file).expect("the scene");
        assert!(text.contains("rotation = 1.0"), "{text}");
        client.ok("godot_undo", json!({}));
        let id = client.ok(start, json!({}))["id"].clone();
        let check = if start == "keep_start" { "keep_check" } else { "talk_save" };
        let mut state = Value::Null;
        wait(|| {
            state = client.ok(check, json!({"id": id}))["state"].clone();
            state["done"] == true
        });
        assert_eq!(state["success"], true, "{state}");
        let text = std::fs::read_to_string(&file).expect("the scene");
        assert!(!text.contains("rotation = 1.0"), "{text}");
        let gone = client.ok(check, json!({"id": id}))["state"].clone();
        assert_eq!(gone, json!({"done": false, "unknown": true}));
    }
}

/// The registry as C# sees it (X2.1).
fn by_name(_: &Editor, client: &Client, _: &mut Human) {
    let list = client.ok("talk_list", json!({}));
    assert_eq!(
        (&list["data"], &list["hint"]),
        (&json!(["hello"]), &json!("Call talk_set to change one."))
    );
    assert_eq!(tool(client, "talk_list")["annotations"]["readOnlyHint"], true);
    let missing = client.refused("talk_set", json!({}));
    assert_eq!(missing["error"], "INVALID_PARAMS");
    let unknown = client.refused("talk_set", json!({"node_path": "Ghost"}));
    assert_eq!(
        (&unknown["error"], &unknown["hint"]),
        (&json!("NOT_FOUND"), &json!("Call talk_list for all."))
    );
    assert_eq!(client.ok("talk_wait", json!({}))["data"], "no need to wait");
}

/// A tool as it is listed.
fn tool(client: &Client, name: &str) -> Value {
    json!(client.tools().iter().find(|it| it.name == name).expect("listed"))
}

#[track_caller]
fn wait(mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !done() {
        assert!(Instant::now() < deadline, "it does not come about");
    }
}

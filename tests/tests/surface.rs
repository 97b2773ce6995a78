//! Resources, prompts and completion in a real editor, and sessions across its restarts.

use std::time::Duration;

use godot_mcp_tests::client::{Client, Era, Heard};
use godot_mcp_tests::editor::{Editor, Launch, free_port};
use serde_json::{Value, json};

const SCENE: &str = "res://probes/main.tscn";
const PATIENCE: Duration = Duration::from_secs(10);

const TREE: &str = "godot://scene/tree";
const CURRENT: &str = "godot://scene/current";
const SELECTED: &str = "godot://node/selected";
const SCENE_FILE: &str = "godot://scene/probes/main.tscn";
const SCRIPT_FILE: &str = "godot://script/probes%2Fmain.gd";

fn text(read: &Value) -> String {
    read["contents"][0]["text"].as_str().unwrap_or_default().to_owned()
}

/// Templates read that very path: percent-encoded or not, and never out of the project (S8.1). Text
/// of files comes without the envelope that tools put round it: a resource is content as such.
#[test]
fn resources_are_read() {
    let editor = Launch::fixture("plain").start();
    let client = Client::connect(&editor, Era::Modern);
    client.ok("open_scene", json!({"scene_path": SCENE}));
    let json = |uri: &str| -> Value {
        serde_json::from_str(&text(&client.read(uri).expect("a resource"))).expect("JSON")
    };
    assert_eq!(json("godot://project/info")["name"], "Plain");
    assert_eq!(json(CURRENT)["scene_path"], SCENE);
    assert_eq!(json(TREE)["root"]["name"], "Main");
    assert_eq!(json(SELECTED), json!({"selected": []}));
    let file = |path: &str| std::fs::read_to_string(editor.project.join(path)).expect("a file");
    assert_eq!(text(&client.read(SCENE_FILE).expect("a scene")), file("probes/main.tscn"));
    let script = client.read(SCRIPT_FILE).expect("a script");
    assert_eq!(text(&script), file("probes/main.gd"));
    assert_eq!(script["contents"][0]["uri"], SCRIPT_FILE);
    for (uri, says) in [
        ("godot://script/../outside.gd", "not a path in the project"),
        ("godot://script/%2e%2e%2foutside.gd", "not a path in the project"),
        ("godot://script/probes/man.gd", "main.gd"),
        ("godot://scene/probes/main.gd", "*.tscn"),
        ("godot://nothing", "resources are"),
    ] {
        let error = client.read(uri).expect_err("refused");
        assert!(error.contains(says), "{uri}: {error}");
    }
    drop(client);
    editor.quit();
}

/// Who subscribed is told of each change of scene, selection and file, whoever made it: an agent, the
/// human, a script, another program. Nobody is told of what did not change.
#[test]
fn subscribers_hear_of_changes() {
    let editor = Launch::fixture("plain").start();
    let mut client = Client::connect(&editor, Era::Sessions);
    let missing = "godot://script/made_later.gd";
    for uri in [TREE, CURRENT, SELECTED, SCENE_FILE, SCRIPT_FILE, missing] {
        client.subscribe(uri).expect("subscribed");
    }
    let refused = client.subscribe("godot://script/../x.gd").expect_err("outside");
    assert!(refused.to_string().contains("not a path in the project"), "{refused}");

    client.ok("open_scene", json!({"scene_path": SCENE}));
    client.hears_of(&[TREE, CURRENT], PATIENCE);
    client.heard_until_silent(Duration::from_millis(400));

    // An agent.
    client.ok("select_nodes", json!({"node_paths": ["Player"]}));
    client.hears_of(&[SELECTED], PATIENCE);
    client.ok("rename_node", json!({"node_path": "Player", "new_name": "Hero"}));
    client.hears_of(&[TREE, CURRENT, SELECTED], PATIENCE);
    client.ok("save_scene", json!({}));
    client.hears_of(&[SCENE_FILE, CURRENT], PATIENCE);

    // The human, and a script that adds a node behind the history's back.
    let root = "EditorInterface.get_edited_scene_root()";
    editor.gd("EditorInterface.get_selection().clear()");
    client.hears_of(&[SELECTED], PATIENCE);
    editor.gd(&format!("{root}.add_child(Node.new())"));
    client.hears_of(&[TREE], PATIENCE);

    // Another program, which the editor itself does not notice.
    std::fs::write(editor.project.join("made_later.gd"), "extends Node\n").expect("written");
    client.hears_of(&[missing], PATIENCE);
    let script = editor.project.join("probes/main.gd");
    let old = std::fs::read_to_string(&script).expect("a script");
    std::fs::write(&script, format!("{old}\n# changed\n")).expect("written");
    client.hears_of(&[SCRIPT_FILE], PATIENCE);

    // Looking changes nothing, and neither does writing the same bytes again.
    client.heard_until_silent(Duration::from_millis(800));
    client.ok("get_scene_tree", json!({}));
    client.ok(
        "set_node_property",
        json!({"node_path": "Hero", "property": "visible", "value": true}),
    );
    std::fs::write(&script, format!("{old}\n# changed\n")).expect("written");
    let heard = client.heard_until_silent(Duration::from_millis(900));
    assert_eq!(heard, [], "nothing changed");

    // Who unsubscribed hears no more.
    for uri in [CURRENT, SELECTED, SCENE_FILE, SCRIPT_FILE, missing] {
        client.unsubscribe(uri);
    }
    client.ok("rename_node", json!({"node_path": "Hero", "new_name": "Player"}));
    client.hears_of(&[TREE], PATIENCE);
    client.unsubscribe(TREE);
    client.ok("rename_node", json!({"node_path": "Player", "new_name": "Hero"}));
    assert_eq!(client.heard_until_silent(Duration::from_millis(500)), []);
    drop(client);
    editor.quit();
}

/// The same on the streams of 2026-07-28, with what is not asked for left out.
#[test]
fn listeners_hear_of_changes() {
    let editor = Launch::fixture("plain").start();
    let client = Client::connect(&editor, Era::Modern);
    client.ok("open_scene", json!({"scene_path": SCENE}));
    let heard = client.listens(
        &[TREE, SCENE_FILE, "godot://script/../x.gd"],
        |client| {
            client.ok("select_nodes", json!({"node_paths": ["Player"]}));
            client.ok("rename_node", json!({"node_path": "Player", "new_name": "Hero"}));
            client.ok("save_scene", json!({}));
        },
        &[TREE, SCENE_FILE],
    );
    assert!(heard.iter().all(|it| it == TREE || it == SCENE_FILE), "{heard:?}");
    drop(client);
    editor.quit();
}

/// What the engine logs during a call reaches a client that asked for it, marked as untrusted (S9.3).
#[test]
fn engine_errors_are_logged_to_clients_that_ask() {
    let editor = Launch::fixture("plain").start();
    let mut client = Client::connect(&editor, Era::Sessions);
    let push = "push_warning(\"a warning of the project\")";
    let call = |client: &Client| client.ok("get_active_scene", json!({}));
    let logged = |client: &mut Client| {
        client
            .heard_until_silent(Duration::from_millis(300))
            .into_iter()
            .filter(|it| matches!(it, Heard::Logged(..)))
            .collect::<Vec<_>>()
    };
    editor.gd(push);
    call(&client);
    assert_eq!(logged(&mut client), [], "nobody asked");
    client.set_log_level("warning");
    client.ok("open_scene", json!({"scene_path": SCENE}));
    logged(&mut client);
    // During the call: the scene's script warns when its node enters the tree.
    let script = editor.project.join("warns.gd");
    let source = "@tool\nextends Node\nfunc _enter_tree():\n\tpush_warning(\"mind the gap\")\n";
    std::fs::write(&script, source).expect("written");
    client
        .ok("create_node", json!({"parent_path": ".", "node_type": "Node", "node_name": "Warns"}));
    client.ok("attach_script", json!({"node_path": "Warns", "script_path": "res://warns.gd"}));
    client.ok("move_node", json!({"node_path": "Warns", "new_parent_path": "Player"}));
    let heard = logged(&mut client);
    let found = heard.iter().any(|it| match it {
        Heard::Logged(level, data) => {
            let message = data["message"].as_str().unwrap_or_default();
            level == "warning" && message.starts_with("<untrusted") && message.contains("the gap")
        }
        _ => false,
    });
    assert!(found, "{heard:?}");
    drop(client);
    drop(editor);
}

#[test]
fn arguments_are_completed() {
    let editor = Launch::fixture("plain").start();
    let client = Client::connect(&editor, Era::Modern);
    let template = |uri: &str| json!({"type": "ref/resource", "uri": uri});
    let prompt = |name: &str| json!({"type": "ref/prompt", "name": name});
    let values = |reference: Value, argument: &str, text: &str| {
        client.complete(&reference, argument, text).expect("completion")
    };
    let scenes = template("godot://scene/{path}");
    assert_eq!(values(scenes.clone(), "path", "mai"), ["probes/main.tscn"]);
    assert_eq!(values(scenes, "path", "res://probes/s"), ["res://probes/sub.tscn"]);
    let scripts = values(template("godot://script/{path}"), "path", "probes/");
    assert!(scripts.contains(&"probes/main.gd".to_owned()), "{scripts:?}");
    assert!(scripts.iter().all(|it| it.ends_with(".gd")), "{scripts:?}");
    assert_eq!(values(prompt("debug_scene"), "scene_path", "sub"), ["res://probes/sub.tscn"]);
    let classes = values(prompt("build_scene"), "root_class", "CharacterB");
    assert_eq!(classes, ["CharacterBody2D", "CharacterBody3D"]);
    assert_eq!(values(prompt("troubleshoot"), "toolset", "insp"), ["inspection"]);
    assert_eq!(values(prompt("build_scene"), "description", "a"), Vec::<String>::new());
    for (reference, argument, says) in [
        (prompt("build_scen"), "description", "build_scene"),
        (prompt("build_scene"), "desc", "its arguments are"),
        (template("godot://scenes/{path}"), "path", "godot://scene/{path}"),
        (template("godot://scene/{path}"), "file", "its argument is: path"),
    ] {
        let error = client.complete(&reference, argument, "").expect_err("refused");
        assert!(error.contains(says), "{reference} {argument}: {error}");
    }
    // A class of the project's own, as soon as the editor knows it.
    let source = "class_name ZebraBody\nextends CharacterBody2D\n";
    std::fs::write(editor.project.join("zebra.gd"), source).expect("written");
    client.ok("rescan_filesystem", json!({}));
    let known = std::time::Instant::now();
    while values(prompt("build_scene"), "root_class", "Zebra") != ["ZebraBody"] {
        assert!(known.elapsed() < PATIENCE, "the class is not offered");
    }
    drop(client);
    editor.quit();
}

#[test]
fn prompts_fit_the_server() {
    let editor = Launch::fixture("plain").env("GODOT_MCP_DEFAULT_TOOLSETS", "").start();
    let client = Client::connect(&editor, Era::Sessions);
    let listed = client.prompts();
    let names: Vec<_> = listed.as_array().expect("a list").iter().map(|it| &it["name"]).collect();
    let expected = ["build_scene", "debug_scene", "play_test", "script_edit", "troubleshoot"];
    assert_eq!(names, expected);
    let build = json!({"description": "a {scene_path} with two cats"});
    let off = client.prompt("build_scene", &build).expect("a prompt");
    assert!(off.contains("a {scene_path} with two cats"), "{off}");
    assert!(off.contains("`enable_toolset` with category \"scene_edit"), "{off}");
    client.ok("enable_toolset", json!({"category": "scene_edit"}));
    let on = client.prompt("build_scene", &build).expect("a prompt");
    assert!(on.contains("`create_node`") && !on.contains("First switch on"), "{on}");
    for (name, args, says) in [
        ("build_scene", json!({}), "needs the argument"),
        ("build_scene", json!({"description": " "}), "needs the argument"),
        ("build_scene", json!({"description": "x", "wat": "y"}), "no argument"),
        ("build_scenes", json!({}), "build_scene"),
    ] {
        let error = client.prompt(name, &args).expect_err("refused");
        assert!(error.contains(says), "{name} {args}: {error}");
    }
    drop(client);
    editor.quit();
}

/// An editor that is killed, or closed by the human, and started again: connected clients of both
/// eras go on, those with a session under its old id and with their subscriptions.
#[test]
fn clients_survive_a_restart() {
    let port = free_port().to_string();
    let start = |launch: Launch| launch.env("GODOT_MCP_PORT", &port).start();
    let first = start(Launch::fixture("plain"));
    let home = first.keep_home();
    let project = first.project.clone();
    let mut session = Client::connect(&first, Era::Sessions);
    let modern = Client::connect(&first, Era::Modern);
    let id = saved_session(&first);
    session.subscribe(TREE).expect("subscribed");
    session.ok("get_active_scene", json!({}));

    let killed = |editor: Editor| drop(editor);
    let closed = |editor: Editor| editor.quit();
    let mut editor = first;
    for end in [&killed as &dyn Fn(Editor), &closed, &killed] {
        end(editor);
        editor = start(Launch::fixture("plain").on(&project));
        for client in [&session, &modern] {
            client.ok("open_scene", json!({"scene_path": SCENE}));
        }
        // An editor that was closed opens its scenes again, so there may be nothing to tell yet.
        session.heard_until_silent(Duration::from_millis(300));
        session.ok("rename_node", json!({"node_path": "Player", "new_name": "Hero"}));
        session.hears_of(&[TREE], PATIENCE);
        assert_eq!(saved_session(&editor), id, "the same session, not a new one");
    }
    drop((session, modern));
    editor.quit();
    drop(home);
}

/// The only session that the project keeps.
fn saved_session(editor: &Editor) -> String {
    let file = editor.project.join(".godot/godot_mcp/sessions.json");
    let saved = std::fs::read_to_string(file).expect("the session file");
    let saved: Value = serde_json::from_str(&saved).expect("JSON");
    assert_eq!(saved.as_array().map(Vec::len), Some(1), "{saved}");
    saved[0]["id"].as_str().expect("an id").to_owned()
}

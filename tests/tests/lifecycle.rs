//! The plugin's life: switching on and off, a blocked main thread, humans who interfere, faults.

use std::time::{Duration, Instant};

use godot_mcp_tests::client::{Client, Era};
use godot_mcp_tests::editor::{Editor, Human, Launch, repository};
use godot_mcp_tests::wire::Wire;
use serde_json::{Value, json};

const SCENE: &str = "res://probes/main.tscn";
const PLUGIN: &str = "godot_mcp";

fn toggle(on: bool) -> String {
    format!("EditorInterface.set_plugin_enabled(\"{PLUGIN}\", {on})")
}

/// Sends code that blocks the main thread, and returns once it does.
fn block(editor: &Editor, human: &mut Human, code: &str) {
    let mark = editor.project.join("blocked");
    human.send(&format!("FileAccess.open(\"res://blocked\", FileAccess.WRITE).close()\n{code}"));
    while !mark.exists() {
        std::thread::yield_now();
    }
    std::fs::remove_file(mark).expect("written above");
}

/// Enabled and disabled 100 times in a row: the server answers each time, and nothing leaks, crashes
/// or logs an error. The engine's own sleep is back whenever the plugin is off.
#[test]
fn a_hundred_switches() {
    let editor = Launch::fixture("plain").start();
    let mut human = editor.human();
    let objects = |human: &mut Human| {
        human.run("return [Performance.get_monitor(Performance.OBJECT_COUNT), Performance.get_monitor(Performance.OBJECT_ORPHAN_NODE_COUNT)]")
    };
    human.run(&toggle(false));
    // The engine itself keeps some objects at each switch of any plugin.
    let empty = |human: &mut Human, on: bool| {
        human.run(&format!("EditorInterface.set_plugin_enabled(\"empty\", {on})"));
    };
    let count = |value: &Value| value[0].as_f64().unwrap_or(0.0);
    for on in [true, false, true, false] {
        empty(&mut human, on);
    }
    let start = objects(&mut human);
    for _ in 0..100 {
        empty(&mut human, true);
        empty(&mut human, false);
    }
    let engines_own = count(&objects(&mut human)) - count(&start);
    human.run(&toggle(true));
    human.run(&toggle(false));
    let before = objects(&mut human);
    for round in 0..100 {
        human.run(&toggle(true));
        let url = editor.discovery()["url"].as_str().expect("a url").to_owned();
        let answer = Wire::connect(&url, &editor.token).call("health_check", &json!({}));
        assert_eq!(answer["result"]["structuredContent"]["status"], "ok", "round {round}");
        human.run(&toggle(false));
        assert!(!editor.project.join(".godot/godot_mcp/server.json").exists(), "round {round}");
        let usec = human.run("return OS.low_processor_usage_mode_sleep_usec");
        assert_ne!(usec, 0, "the engine's sleep is not restored");
    }
    let after = objects(&mut human);
    let grown = count(&after) - count(&before);
    println!("objects kept by 100 switches: {grown}, of an empty plugin {engines_own}");
    // The harness keeps a script a request, and 100 rounds above make two requests more than the
    // empty plugin's.
    assert!(grown < engines_own + 250.0, "{before} became {after}; an empty plugin: {engines_own}");
    assert_eq!(before[1], after[1], "orphan nodes");
    drop(human);
    editor.quit();
}

/// `health_check` and other engine-free reads answer within 100 ms while the main thread is blocked
/// for 10 s, and say for how long it has been.
#[test]
fn answers_while_the_main_thread_is_blocked() {
    let editor = Launch::fixture("plain").start();
    let mut human = editor.human();
    let mut wire = Wire::connect(&editor.url, &editor.token);
    wire.call("health_check", &json!({}));
    human.send("OS.delay_msec(10000)");
    let start = Instant::now();
    let mut longest = Duration::ZERO;
    let mut seen = 0;
    while start.elapsed() < Duration::from_millis(9_500) {
        for tool in ["health_check", "list_toolsets", "get_server_info", "get_errors"] {
            let begun = Instant::now();
            let answer = wire.call(tool, &json!({}));
            assert!(answer["result"]["isError"] != true, "{answer}");
            longest = longest.max(begun.elapsed());
            if tool == "health_check" {
                let content = &answer["result"]["structuredContent"];
                seen = content["main_thread_stalled_ms"].as_u64().unwrap_or(0).max(seen);
            }
        }
        // Paces the loop: 9.5 s of it are the thing under test.
        std::thread::park_timeout(Duration::from_millis(100));
    }
    println!("longest engine-free answer while blocked: {longest:?}, stall seen: {seen} ms");
    assert!(longest < Duration::from_millis(100), "{longest:?}");
    assert!(seen > 9_000, "the stall is told: {seen} ms");
    human.answer();
    assert_ne!(wire.call("get_active_scene", &json!({}))["result"]["isError"], true);
    drop(human);
    editor.quit();
}

/// A call that waits while the human closes the scene, frees the node or switches the plugin off
/// ends in a clear error or a right answer, never in a crash.
#[test]
fn humans_interfere() {
    let mut editor = Launch::fixture("plain").start();
    let client = Client::connect(&editor, Era::Modern);
    let mut human = editor.human();
    let set = json!({"node_path": "Player", "property": "position", "value": [3, 4]});

    // While the main thread is busy, the call waits; the human's code closes the scene first.
    client.ok("open_scene", json!({"scene_path": SCENE}));
    block(&editor, &mut human, "OS.delay_msec(300)\nEditorInterface.close_scene()");
    let error = client.refused("set_node_property", set.clone());
    assert_eq!(error["error"], "PRECONDITION_FAILED", "{error}");
    human.answer();

    client.ok("open_scene", json!({"scene_path": SCENE}));
    block(
        &editor,
        &mut human,
        "OS.delay_msec(300)\nEditorInterface.get_edited_scene_root().get_node(\"Player\").free()",
    );
    let error = client.refused("set_node_property", set.clone());
    assert_eq!(error["error"], "RESOURCE_NOT_FOUND", "{error}");
    human.answer();
    client.ok("close_scene", json!({"confirm": true}));

    // A save by the human while a call runs.
    client.ok("open_scene", json!({"scene_path": SCENE}));
    block(&editor, &mut human, "OS.delay_msec(200)\nEditorInterface.save_scene()");
    client.ok("set_node_property", set.clone());
    human.answer();

    // The plugin is switched off with calls in flight.
    let (url, token) = (editor.url.clone(), editor.token.clone());
    block(&editor, &mut human, &format!("OS.delay_msec(500)\n{}", toggle(false)));
    let answers: Vec<Value> = std::thread::scope(|scope| {
        let calls: Vec<_> = (0..8)
            .map(|_| {
                let (url, token, set) = (&url, &token, &set);
                scope.spawn(move || {
                    let mut wire = Wire::connect(url, token);
                    let response = wire.try_call("set_node_property", set);
                    response.map_or(Value::Null, |it| {
                        serde_json::from_slice(&it.body).unwrap_or(Value::Null)
                    })
                })
            })
            .collect();
        calls.into_iter().map(|it| it.join().expect("a client")).collect()
    });
    for answer in answers {
        let error = &answer["result"]["structuredContent"]["error"];
        let fine = answer.is_null()
            || error == "CANCELLED"
            || error == "BUSY"
            || answer.get("error").is_some();
        assert!(fine, "{answer}");
    }
    human.answer();
    assert!(editor.alive());
    human.run(&toggle(true));
    let url = editor.discovery()["url"].as_str().expect("a url").to_owned();
    Client::connect_to(&url, &editor.token, Era::Sessions).ok("get_active_scene", json!({}));
    drop((human, client));
    editor.quit();
}

/// A second editor on the same machine takes the next port, and each project has its own file.
#[test]
fn a_second_editor_takes_the_next_port() {
    let base = godot_mcp_tests::editor::free_port().min(60_000).to_string();
    let first = Launch::fixture("plain").env("GODOT_MCP_PORT", &base).start();
    let second = Launch::fixture("plain").env("GODOT_MCP_PORT", &base).start();
    assert_ne!(first.url, second.url);
    assert!(first.url.contains(&base), "{}", first.url);
    for editor in [&first, &second] {
        let about = editor.discovery();
        assert_eq!(about["pid"], editor.pid());
        let client = Client::connect(editor, Era::Modern);
        assert_eq!(client.ok("health_check", json!({}))["status"], "ok");
    }
    first.quit();
    second.quit();
}

/// Private files: the token and the discovery file are for this user only, and gone at exit.
#[cfg(unix)]
#[test]
fn state_is_private_and_cleaned_up() {
    use std::os::unix::fs::PermissionsExt;
    let editor = Launch::fixture("plain").start();
    let state = editor.project.join(".godot/godot_mcp");
    for file in ["token", "server.json"] {
        let mode = std::fs::metadata(state.join(file)).expect("exists").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    let home = editor.keep_home();
    editor.quit();
    assert!(!state.join("server.json").exists());
    drop(home);
}

/// No listener while the editor only imports, exports or writes documentation.
#[test]
fn batch_modes_do_not_listen() {
    for args in [["--import", ""], ["--export-pack", "none"]] {
        let mut launch = Launch::fixture("plain").without_server();
        for arg in args.iter().filter(|it| !it.is_empty()) {
            launch = launch.arg(arg);
        }
        let launch = if args[0] == "--export-pack" { launch.arg("out.pck") } else { launch };
        let editor = launch.start();
        let file = editor.project.join(".godot/godot_mcp/server.json");
        let home = editor.keep_home();
        let (_, log) = editor.wait(Duration::from_secs(120));
        assert!(!log.iter().any(|it| it.contains("Godot MCP serves")), "{args:?}: {log:?}");
        assert!(!file.exists());
        drop(home);
    }
}

/// A platform without a library: one plain sentence, and the editor goes on.
#[test]
fn a_missing_library_is_said_in_one_sentence() {
    let home = tempfile::tempdir().expect("a folder");
    let project = home.path().join("project");
    godot_mcp_tests::editor::copy_folder(&repository().join("tests/fixtures/plain"), &project);
    godot_mcp_tests::editor::install_addon(&project);
    std::fs::remove_dir_all(project.join("addons/godot_mcp/bin")).expect("removed");
    let editor = Launch::fixture("plain").on(&project).start_bare_with_addon();
    let sentences = editor.log().iter().filter(|it| it.contains("Godot MCP cannot start")).count();
    assert_eq!(sentences, 1, "{}", editor.log_tail(30));
}

/// S11.3 and S2.5: both eras at once, many clients, none evicted.
#[test]
fn many_clients_of_both_eras() {
    let editor = Launch::fixture("plain").start();
    let clients: Vec<Client> = (0..12)
        .map(|it| Client::connect(&editor, if it % 2 == 0 { Era::Sessions } else { Era::Modern }))
        .collect();
    for _ in 0..3 {
        for client in &clients {
            client.ok("get_active_scene", json!({}));
        }
    }
    let names = |client: &Client| client.tools().len();
    let all = names(&clients[0]);
    clients[0].ok("disable_toolset", json!({"category": "scene_edit"}));
    assert!(clients.iter().all(|it| names(it) < all), "one server-wide set (S11.1)");
    let error = clients[1]
        .refused("create_node", json!({"parent_path": ".", "node_type": "Node", "node_name": "A"}));
    assert_eq!(error["error"], "TOOLSET_DISABLED");
    // A grant outlives the connection that made it.
    clients[1].ok("enable_toolset", json!({"category": "scene_edit"}));
    drop(clients);
    assert_eq!(names(&Client::connect(&editor, Era::Modern)), all);
    editor.quit();
}

/// S9.2: read-only is enforced at the gate and in the list.
#[test]
fn read_only_mode() {
    let editor = Launch::fixture("plain").env("GODOT_MCP_READ_ONLY", "1").start();
    let client = Client::connect(&editor, Era::Modern);
    for tool in client.tools() {
        let annotations = tool.annotations.expect("annotations");
        assert_eq!(annotations.read_only_hint, Some(true), "{}", tool.name);
    }
    let error = client
        .refused("create_node", json!({"parent_path": ".", "node_type": "Node", "node_name": "A"}));
    assert_eq!(error["error"], "READ_ONLY");
    drop(client);
    editor.quit();
}

/// S3.5: a panic is an answer with the tool's name, what the tool had begun is taken back, and the
/// editor goes on.
#[test]
fn a_panic_is_an_answer() {
    for point in ["plan", "apply"] {
        let editor = Launch::fixture("plain")
            .env("GODOT_MCP_TEST_PANIC", &format!("{point}:duplicate_node"))
            .start();
        let client = Client::connect(&editor, Era::Modern);
        client.ok("open_scene", json!({"scene_path": SCENE}));
        let state = || {
            let tree = client.ok("get_scene_tree", json!({}));
            let history = client.ok("list_history", json!({}));
            let dirty = client.ok("get_active_scene", json!({}))["dirty"].clone();
            (tree, history, dirty)
        };
        let before = state();
        let error = client.call("duplicate_node", json!({"node_path": "Player"})).expect_err(point);
        assert_eq!(error["error"], "INTERNAL", "{error}");
        let message = error["message"].as_str().expect("a message");
        assert!(message.contains("duplicate_node"), "{error}");
        assert_eq!(state(), before, "{point}");
        client.ok(
            "create_node",
            json!({"parent_path": ".", "node_type": "Node", "node_name": "New"}),
        );
        editor.quit_after(&["the test asked for it"]);
    }
}

//! Clients that other people made, against a real editor: the MCP inspector and both SDKs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use godot_mcp_tests::client::{Client, Era};
use godot_mcp_tests::editor::{Launch, repository};
use serde_json::{Value, json};

/// Something that `scripts/third_party.sh` installs.
fn third_party(what: &str) -> PathBuf {
    let output = Command::new(repository().join("scripts/third_party.sh"))
        .arg(what)
        .stderr(Stdio::inherit())
        .output()
        .expect("scripts/third_party.sh runs");
    assert!(output.status.success(), "{what} cannot be installed");
    PathBuf::from(String::from_utf8(output.stdout).expect("UTF-8").trim())
}

fn node() -> Command {
    Command::new(third_party("node").join("node"))
}

/// What a program prints; it must succeed.
#[track_caller]
fn printed(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{text}\n{errors}", output.status);
    text
}

/// With `--strict`, it also complains about schemas that some model's client could not take (S11.7).
#[test]
fn the_inspector_lists_and_calls() {
    let editor = Launch::fixture("plain").start();
    let script = third_party("inspector");
    let home = tempfile::tempdir().expect("a folder");
    let inspect = |args: &[&str]| {
        let mut command = node();
        command
            .arg(&script)
            .arg("--cli")
            .args([&editor.url, "--transport", "http", "--header"])
            .arg(format!("Authorization: Bearer {}", editor.token))
            .args(args)
            .env("HOME", home.path());
        serde_json::from_str::<Value>(&printed(&mut command)).expect("JSON")
    };
    let tools = inspect(&["--method", "tools/list", "--strict"]);
    let names: Vec<_> = tools["tools"].as_array().expect("tools").iter().collect();
    assert!(names.iter().any(|it| it["name"] == "health_check"), "{tools}");
    let health = inspect(&["--method", "tools/call", "--tool-name", "health_check"]);
    assert_eq!(health["structuredContent"]["status"], json!("ok"), "{health}");
    let class = inspect(&[
        "--method",
        "tools/call",
        "--tool-name",
        "describe_class",
        "--tool-arg",
        "class_name=Timer",
    ]);
    assert!(class.to_string().contains("wait_time"), "{class}");
    let read = inspect(&["--method", "resources/read", "--uri", "godot://project/info"]);
    assert!(read.to_string().contains("Plain"), "{read}");
    editor.quit();
}

/// Each SDK in both eras, over HTTP and through the relay: TypeScript's first generation knows only
/// sessions.
#[test]
fn sdk_clients_make_ten_calls() {
    let packages = third_party("typescript");
    let typescript = |generation: &str| {
        let mut command = node();
        command.arg(repository().join("tests/clients/ten_calls.mjs"));
        command.arg(&packages).arg(generation);
        command
    };
    let python = |mode: &str| {
        let mut command = Command::new(third_party("python"));
        command.arg(repository().join("tests/clients/ten_calls.py")).arg(mode);
        command
    };
    let editor = Launch::fixture("plain").start();
    let scene = editor.project.join("probes/main.tscn");
    let before = std::fs::read(&scene).expect("a scene");
    // What `godot-mcp configure` enters: the relay, found on the disk beside this test.
    let program = std::env::current_exe().expect("a test binary");
    let relay = program.parent().and_then(Path::parent).expect("the profile's folder");
    let relay = relay.join("godot-mcp");
    let project = editor.project.as_os_str();
    let clients: [(&dyn Fn() -> Command, _, _); 4] = [
        (&|| typescript("1"), "TypeScript 1", json!("2025-11-25")),
        (&|| typescript("2"), "TypeScript 2", json!("2026-07-28")),
        (&|| python("legacy"), "Python, session", json!("2025-11-25")),
        (&|| python("auto"), "Python", json!("2026-07-28")),
    ];
    for (client, name, protocol) in clients {
        for through_relay in [false, true] {
            let mut client = client();
            match through_relay {
                false => client.args(["--url", &editor.url, "--token", &editor.token]),
                true => {
                    client.arg("--command").arg(&relay).args(["relay", "--project"]).arg(project)
                }
            };
            let text = printed(&mut client);
            let about: Value = serde_json::from_str(text.trim()).expect("one line of JSON");
            println!("{name}, relay {through_relay}: {about}");
            assert_eq!(about["calls"], json!(10), "{name}");
            // The first generation of the TypeScript SDK tells it of HTTP only.
            if !through_relay || !about["protocol"].is_null() {
                assert_eq!(about["protocol"], protocol, "{name}");
            }
            // The ten calls have made, renamed and saved a node.
            let saved = std::fs::read_to_string(&scene).expect("a scene");
            let node = "[node name=\"Cap\" type=\"Node2D\" parent=\"Player\"";
            assert!(saved.contains(node), "{name}: {saved}");
            std::fs::write(&scene, &before).expect("written");
            Client::connect(&editor, Era::Modern).ok(
                "reload_scene",
                json!({"scene_path": "res://probes/main.tscn", "confirm": true}),
            );
        }
    }
    editor.quit();
}

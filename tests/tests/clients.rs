//! Clients that other people made, against a real editor: the MCP inspector and both SDKs.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use godot_mcp_tests::editor::{Editor, Launch, repository};
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

/// The ten calls have renamed and saved a node; a file that has it is what they left.
#[track_caller]
fn check_saved(editor: &Editor, client: &str, printed: &str) {
    let about: Value = serde_json::from_str(printed.trim()).expect("one line of JSON");
    println!("{client}: {about}");
    assert_eq!(about["calls"], 10);
    let scene = std::fs::read_to_string(editor.project.join("probes/main.tscn")).expect("a scene");
    assert!(scene.contains("[node name=\"Cap\" type=\"Node2D\" parent=\"Player\""), "{scene}");
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

#[test]
fn typescript_clients_make_ten_calls() {
    let packages = third_party("typescript");
    for generation in ["1", "2"] {
        let editor = Launch::fixture("plain").start();
        let text = printed(
            node().arg(repository().join("tests/clients/ten_calls.mjs")).arg(&packages).args([
                generation,
                "--url",
                &editor.url,
                "--token",
                &editor.token,
            ]),
        );
        check_saved(&editor, &format!("TypeScript {generation}"), &text);
        editor.quit();
    }
}

#[test]
fn the_python_client_makes_ten_calls() {
    let python = third_party("python");
    for mode in ["legacy", "auto"] {
        let editor = Launch::fixture("plain").start();
        let text = printed(
            Command::new(&python).arg(repository().join("tests/clients/ten_calls.py")).args([
                mode,
                "--url",
                &editor.url,
                "--token",
                &editor.token,
            ]),
        );
        check_saved(&editor, &format!("Python {mode}"), &text);
        editor.quit();
    }
}

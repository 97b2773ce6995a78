//! `godot-mcp relay`: an MCP client over standard input and output, and an editor that comes and goes.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use godot_mcp_tests::editor::{Editor, Launch, copy_folder, godot, install_addon, repository};
use serde_json::{Value, json};

struct Relay {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    id: u64,
}

/// `cargo build --workspace` puts it beside the folder of the tests.
fn program() -> PathBuf {
    let test = std::env::current_exe().expect("a test binary");
    test.parent().and_then(Path::parent).expect("the profile's folder").join("godot-mcp")
}

impl Relay {
    fn start(project: &Path) -> Self {
        Self::with(project, &[])
    }

    /// One that may start an editor.
    fn starting(project: &Path) -> Self {
        let godot = godot();
        let mut relay =
            Self::with(project, &["--start", "--godot", godot.to_str().expect("UTF-8")]);
        relay.say_hello();
        relay
    }

    fn with(project: &Path, args: &[&str]) -> Self {
        let mut child = Command::new(program())
            .args(["relay", "--project"])
            .arg(project)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("`cargo build --workspace` has built the command line program");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("piped"));
        Self { child, input, output, id: 0 }
    }

    /// A client of the versions with sessions.
    fn with_session(project: &Path) -> Self {
        let mut relay = Self::start(project);
        relay.say_hello();
        relay
    }

    fn say_hello(&mut self) {
        let hello = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "relay test", "version": "1"},
        });
        let answer = self.request("initialize", hello);
        assert_eq!(answer["result"]["protocolVersion"], "2025-06-18", "{answer}");
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    }

    fn send(&mut self, message: &Value) {
        let input = self.input.as_mut().expect("open");
        input.write_all(format!("{message}\n").as_bytes()).expect("the relay reads");
    }

    /// Every line must be a JSON-RPC message; notifications in between are skipped.
    #[track_caller]
    fn request(&mut self, method: &str, params: Value) -> Value {
        self.id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}));
        loop {
            let mut line = String::new();
            self.output.read_line(&mut line).expect("UTF-8");
            assert!(!line.is_empty(), "the relay ended");
            let message: Value = serde_json::from_str(&line).expect("nothing but protocol");
            assert_eq!(message["jsonrpc"], "2.0");
            if message["id"] == self.id {
                return message;
            }
        }
    }

    #[track_caller]
    fn call(&mut self, tool: &str, args: Value) -> Value {
        self.request("tools/call", json!({"name": tool, "arguments": args}))["result"].clone()
    }

    /// Whether a call reached the editor. Without one it is a clear tool error, and soon.
    #[track_caller]
    fn reaches_editor(&mut self) -> bool {
        let start = Instant::now();
        let result = self.call("get_active_scene", json!({}));
        assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
        if result["isError"] != true {
            return true;
        }
        let error: Value =
            serde_json::from_str(result["content"][0]["text"].as_str().expect("text"))
                .expect("the shape of errors (S3)");
        assert_eq!(error["error"], "PRECONDITION_FAILED", "{error}");
        assert!(error["hint"].as_str().is_some_and(|it| it.contains("godot-mcp open")), "{error}");
        false
    }

    fn ends_with_its_client(mut self) {
        drop(self.input.take());
        let start = Instant::now();
        while self.child.try_wait().expect("a child").is_none() {
            assert!(start.elapsed() < Duration::from_secs(1), "still running");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn kill(editor: Editor) {
    // As a crash does it: nothing is cleaned up.
    let pid = editor.pid().to_string();
    Command::new("kill").args(["-9", &pid]).status().expect("kill");
    drop(editor);
}

/// 1,000 calls; the editor is killed and started again in the middle, and the client goes on.
#[test]
fn the_editor_comes_and_goes() {
    let folder = tempfile::tempdir().expect("a folder");
    let project = folder.path().join("project");
    copy_folder(&repository().join("tests/fixtures/plain"), &project);
    install_addon(&project);
    let editor = Launch::fixture("plain").on(&project).start();
    let mut relay = Relay::with_session(&project);
    assert!(relay.reaches_editor());
    for _ in 0..500 {
        assert_eq!(relay.call("health_check", json!({}))["isError"], false);
    }
    kill(editor);
    assert!(!relay.reaches_editor());
    let listed = relay.request("tools/list", json!({}));
    assert!(listed["result"]["tools"].as_array().is_some_and(|it| !it.is_empty()), "{listed}");

    let editor = Launch::fixture("plain").on(&project).start();
    assert!(relay.reaches_editor(), "the relay has found the new one");
    for _ in 0..500 {
        assert_eq!(relay.call("health_check", json!({}))["isError"], false);
    }
    relay.ends_with_its_client();
    editor.quit();
}

/// A client that is started before the editor keeps its connection.
#[test]
fn no_editor_yet() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("project.godot"), "config_version=5\n").expect("written");
    let mut relay = Relay::with_session(folder.path());
    assert!(!relay.reaches_editor());
    relay.ends_with_its_client();
}

/// Each relay talks to the editor of its project; large answers pass; clients of 2026-07-28 too.
#[test]
fn two_editors_and_large_answers() {
    let folder = tempfile::tempdir().expect("a folder");
    let project = folder.path().join("project");
    copy_folder(&repository().join("tests/fixtures/plain"), &project);
    install_addon(&project);
    let settings = project.join("project.godot");
    let text = std::fs::read_to_string(&settings).expect("settings");
    std::fs::write(&settings, text.replace("\"Plain\"", "\"Other\"")).expect("written");
    let first = Launch::fixture("plain").start();
    let second = Launch::fixture("plain").on(&project).start();
    let text = format!("# {}\nextends Node\n", "x".repeat(1_000_000));
    std::fs::write(first.project.join("large.gd"), &text).expect("written");
    let name = |relay: &mut Relay| {
        relay.call("get_project_info", json!({}))["structuredContent"]["name"].clone()
    };
    let mut one = Relay::with_session(&first.project);
    let mut two = Relay::with_session(&second.project);
    assert_ne!(name(&mut one), name(&mut two));
    let read = one.request("resources/read", json!({"uri": "godot://script/large.gd"}));
    let answer = read.to_string();
    assert!(answer.len() > 1_000_000, "{}", &answer[..answer.len().min(400)]);

    let mut modern = Relay::start(&first.project);
    let called = modern.request(
        "tools/call",
        json!({"name": "get_project_info", "arguments": {}, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "modern", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }}),
    );
    assert_eq!(called["result"]["structuredContent"]["name"], name(&mut one), "{called}");
    for relay in [one, two, modern] {
        relay.ends_with_its_client();
    }
    first.quit();
    second.quit();
}

fn open(project: &Path) -> String {
    let output = Command::new(program())
        .args(["open", "--headless", "--project"])
        .arg(project)
        .args(["--godot"])
        .arg(godot())
        .output()
        .expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{errors}");
    text
}

/// Ends the editor that serves a project, whoever started it.
fn end_editor(project: &Path) {
    let file = project.join(".godot/godot_mcp/server.json");
    let text = std::fs::read_to_string(&file).expect("an editor serves");
    let discovery: Value = serde_json::from_str(&text).expect("JSON");
    let pid = discovery["pid"].to_string();
    Command::new("kill").args(["-9", &pid]).status().expect("kill");
    std::fs::remove_file(&file).expect("removed");
}

/// `open` starts an editor once; a relay that may start one does so when none runs.
#[test]
fn starts_an_editor_when_asked_to() {
    let folder = tempfile::tempdir().expect("a folder");
    let project = folder.path().join("project");
    copy_folder(&repository().join("tests/fixtures/plain"), &project);
    install_addon(&project);
    let opened = open(&project);
    assert!(opened.contains("serves at"), "{opened}");
    let again = open(&project);
    assert!(again.contains("already runs"), "{again}");

    let mut relay = Relay::starting(&project);
    assert_eq!(relay.call("health_check", json!({}))["isError"], false, "the one that runs");
    end_editor(&project);
    // Each answer tells of an editor that is starting, until one has started.
    let start = Instant::now();
    loop {
        let result = relay.call("health_check", json!({}));
        if result["isError"] == false {
            break;
        }
        let text = result["content"][0]["text"].as_str().expect("text");
        assert!(text.contains("BUSY"), "{text}");
        assert!(start.elapsed() < Duration::from_secs(60), "{text}");
        std::thread::park_timeout(Duration::from_millis(100));
    }
    relay.ends_with_its_client();
    end_editor(&project);
}

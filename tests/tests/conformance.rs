//! The official MCP conformance suite, against the pack of tools that it calls, and as far as it needs
//! no such tools, against a real editor.

#![expect(clippy::print_stdout, reason = "says how many scenarios pass")]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use godot_mcp_tests::editor::{Launch, repository};

/// The pack's server. Ends with its standard input.
struct PackServer {
    child: Child,
    url: String,
}

impl PackServer {
    fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_conformance_server"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut url = String::new();
        let mut output = BufReader::new(child.stdout.take().expect("piped"));
        output.read_line(&mut url).expect("the address");
        Self { child, url: url.trim().to_owned() }
    }
}

impl Drop for PackServer {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        self.child.wait().expect("a child");
    }
}

/// Runs the suite. Its summary, and whether it is content.
fn suite(url: &str, args: &[&str]) -> (String, bool) {
    let output = Command::new(repository().join("scripts/conformance.sh"))
        .arg(url)
        .args(args)
        .stderr(Stdio::inherit())
        .output()
        .expect("scripts/conformance.sh runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let summary = text.split_once("=== SUMMARY ===").map_or(text.clone(), |it| it.1.to_owned());
    (summary, output.status.success())
}

/// Runs all that a revision requires. There is no file of expected failures: nothing may fail.
#[track_caller]
fn requires(revision: &str, scenarios: usize) {
    let server = PackServer::start();
    let (summary, content) = suite(&server.url, &["--requirements", revision]);
    let (scored, rest) = summary.split_once("Not scored").expect("what is not scored");
    let not_scored: Vec<_> =
        rest.lines().filter_map(|it| it.trim().split_once(' ')).map(|it| it.1).collect();
    let is_scored = |line: &&str| {
        let name = line.split_once(' ').map_or("", |it| it.1);
        let name = name.split(':').next().unwrap_or_default();
        !not_scored.iter().any(|it| it.split(" (").next() == Some(name))
    };
    let lines: Vec<_> =
        scored.lines().filter(|it| it.starts_with('✓') || it.starts_with('✗')).collect();
    let required: Vec<_> = lines.into_iter().filter(is_scored).collect();
    let passed = required.iter().filter(|it| it.starts_with('✓')).count();
    println!("{revision}: {passed} of {} required scenarios pass", required.len());
    assert!(content, "{summary}");
    assert_eq!((passed, required.len()), (scenarios, scenarios), "{summary}");
}

#[test]
fn requirements_of_2025_11_25() {
    requires("2025-11-25", 30);
}

#[test]
fn requirements_of_2026_07_28() {
    requires("2026-07-28", 37);
}

/// The suite can say no: against a server without the tools that it calls.
#[test]
fn a_failure_is_seen() {
    let server = PackServer::start();
    let url = server.url.replace("/mcp", "/other");
    let (summary, content) = suite(&url, &["--scenario", "tools-call-simple-text"]);
    assert!(!content, "{summary}");
}

/// What the editor itself answers, without the pack. The suite sends no token, so it is off.
#[test]
fn a_real_editor() {
    let editor = Launch::fixture("plain").env("GODOT_MCP_NO_TOKEN", "1").start();
    for (version, scenario) in [
        ("2025-11-25", "server-initialize"),
        ("2025-11-25", "server-session-lifecycle"),
        ("2025-11-25", "ping"),
        ("2025-11-25", "logging-set-level"),
        ("2025-11-25", "tools-list"),
        ("2025-11-25", "resources-list"),
        ("2025-11-25", "prompts-list"),
        ("2025-11-25", "dns-rebinding-protection"),
        ("2025-11-25", "server-sse-multiple-streams"),
        ("2026-07-28", "tools-list"),
        ("2026-07-28", "resources-list"),
        ("2026-07-28", "prompts-list"),
        ("2026-07-28", "sep-2164-resource-not-found"),
        ("2026-07-28", "http-header-validation"),
        ("2026-07-28", "dns-rebinding-protection"),
        ("2026-07-28", "input-required-result-unsupported-methods"),
    ] {
        let args = ["--spec-version", version, "--scenario", scenario];
        let (summary, content) = suite(&editor.url, &args);
        assert!(content, "{version} {scenario}:\n{summary}");
    }
    editor.quit();
}

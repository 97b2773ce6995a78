//! Project commands against a real editor (R98): calls, refusals, replays, commands that misbehave,
//! the write block, a killed editor, taking a call back.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use godot_mcp_core::commands::limits;
use godot_mcp_tests::client::{Client, Era};
use godot_mcp_tests::editor::{Editor, Launch};
use godot_mcp_tests::wire::Wire;
use serde_json::{Value, json};

const CASES: &str = r#"@tool
extends RefCounted

const Helper := preload("res://tools/helper.gd")


func mcp_call(command: String, args: Dictionary, ctx: RefCounted) -> Variant:
	match command:
		"echo":
			return {"ok": true, "value": args, "extra": 1}
		"types":
			var types := {}
			for key: String in args:
				types[key] = type_string(typeof(args[key]))
			return {"ok": true, "value": types}
		"helper":
			return {"ok": true, "value": Helper.answer()}
		"nothing":
			return {"ok": true}
		"entry":
			return {"ok": true, "value": [command, type_string(typeof(args))]}
		"meta":
			Engine.set_meta(&"by_a_command", true)
			return {"ok": true}
		"write":
			for index in int(args.count):
				_write("res://made/f%d.txt" % index, str(args.get("text", "made")))
			return {"ok": true, "value": args.count}
		"change":
			_write("res://kept.txt", "changed")
			DirAccess.remove_absolute("res://gone.txt")
			_write("res://new.txt", "new")
			return {"ok": true}
		"fail":
			return {"ok": false, "error": "no luck"}
		"fail_badly":
			return {"ok": false, "error": ["x".repeat(5000)]}
		"no_ok":
			return 7
		"int_ok":
			return {"ok": 1}
		"push_error":
			push_error("something is wrong")
			return {"ok": true}
		"push_error_and_fail":
			push_error("something is wrong")
			return {"ok": false, "error": "no luck"}
		"prints":
			for index in 1000:
				print("line %d" % index)
			return {"ok": true}
		"object":
			return {"ok": true, "value": RefCounted.new()}
		"long":
			return {"ok": true, "value": "x".repeat(int(args.count))}
		"nan":
			return {"ok": true, "value": NAN}
		"cyclic":
			var circle := {}
			circle["self"] = circle
			return {"ok": true, "value": circle}
		"progress":
			ctx.progress(1, 2, "half")
			return {"ok": true, "value": ctx.is_cancelled()}
		"block":
			_write("res://block.txt", "begun")
			OS.delay_msec(int(args.ms))
			return {"ok": true, "value": "woke"}
		"wait_for_file":
			_write("res://waiting.txt", "begun")
			var tree := Engine.get_main_loop() as SceneTree
			while not FileAccess.file_exists("user://release"):
				await tree.process_frame
			return {"ok": true, "value": ctx.is_cancelled()}
		"await_frames":
			var tree := Engine.get_main_loop() as SceneTree
			for index in 5:
				await tree.process_frame
			return {"ok": true, "value": "later"}
	return {"ok": false, "error": "unknown command %s" % command}


func _write(path: String, text: String) -> void:
	DirAccess.make_dir_recursive_absolute(path.get_base_dir())
	var file := FileAccess.open(path, FileAccess.WRITE)
	file.store_string(text)
	file.close()
"#;

const NODES: &str = r#"@tool
extends Node


func mcp_call(command: String, _args: Dictionary) -> Dictionary:
	match command:
		"tree":
			await get_tree().process_frame
			return {"ok": true, "value": str(get_parent().get_class())}
		"free_self":
			queue_free()
			await get_tree().create_timer(60).timeout
	return {"ok": true}
"#;

const HELPER: &str = "@tool\n\n\nstatic func answer() -> int:\n\treturn 1\n";

/// Files of a project with commands of every kind.
fn declare(project: &Path) {
    let mutating = ["write", "change", "block", "wait_for_file"];
    let command = |name: &str| {
        json!({"name": name, "title": name, "description": name,
               "input_schema": {"type": "object"}, "mutates": mutating.contains(&name)})
    };
    let names: Vec<_> = CASES
        .lines()
        .filter_map(|it| it.strip_prefix("\t\t\"")?.strip_suffix("\":"))
        .map(command)
        .collect();
    let mut strict = command("strict");
    strict["input_schema"] = json!({"type": "object", "properties": {"seed": {"type": "integer", "minimum": 0}},
        "required": ["seed"], "additionalProperties": false});
    let mut outside = command("outside");
    outside["input_schema"] = json!({"type": "object", "anyOf": []});
    let mut liar = command("write");
    liar["mutates"] = json!(false);
    let file = json!({"version": 1, "providers": [
        {"id": "cases", "script": "res://tools/cases.gd", "commands": names},
        {"id": "nodes", "script": "res://tools/nodes.gd",
         "commands": [command("tree"), command("free_self")]},
        {"id": "liar", "script": "res://tools/cases.gd", "commands": [liar, strict, outside]},
        {"id": "plain", "script": "res://tools/plain.gd", "commands": [command("a")]},
        {"id": "broken", "script": "res://tools/broken.gd", "commands": [command("a")]},
        {"id": "mute", "script": "res://tools/mute.gd", "commands": [command("a")]},
        {"id": "edited", "script": "res://tools/edited.gd", "commands": [command("a")]},
    ]});
    write(project, limits::FILE, &file.to_string());
    write(project, "tools/cases.gd", CASES);
    write(project, "tools/nodes.gd", NODES);
    write(project, "tools/helper.gd", HELPER);
    write(project, "tools/plain.gd", "extends RefCounted\n# @tool\n");
    write(project, "tools/broken.gd", "@tool\nextends RefCounted\nfunc mcp_call(\n");
    write(project, "tools/mute.gd", "@tool\nextends RefCounted\n");
    edited(project, 1);
    write(project, "kept.txt", "kept");
    write(project, "gone.txt", "gone");
}

fn edited(project: &Path, value: i64) {
    let text = format!(
        "@tool\nextends RefCounted\n\n\nfunc mcp_call(_c: String, _a: Dictionary) -> Dictionary:\n\treturn {{\"ok\": true, \"value\": {value}}}\n"
    );
    write(project, "tools/edited.gd", &text);
}

fn write(project: &Path, path: &str, text: &str) {
    let path = project.join(path);
    std::fs::create_dir_all(path.parent().expect("below the project")).expect("folders");
    std::fs::write(path, text).expect("written");
}

const HOST: &str =
    "EditorInterface.get_base_control().get_tree().root.find_child(\"GodotMcp\", true, false)";

struct Session {
    editor: Editor,
    client: Client,
    count: AtomicU32,
}

impl Session {
    fn start() -> Self {
        let editor = Launch::fixture("plain").start();
        declare(&editor.project);
        Self::of(editor)
    }

    fn of(editor: Editor) -> Self {
        let client = Client::connect(&editor, Era::Modern);
        Self { editor, client, count: AtomicU32::new(0) }
    }

    fn args(&self, provider: &str, command: &str, arguments: Value) -> Value {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        json!({"provider": provider, "command": command, "arguments": arguments,
               "idempotency_key": format!("key {number}")})
    }

    #[track_caller]
    fn run(&self, provider: &str, command: &str, arguments: Value) -> Value {
        self.client.ok("editor_commands_call", self.args(provider, command, arguments))
    }

    #[track_caller]
    fn refused(&self, provider: &str, command: &str, arguments: Value) -> Value {
        let args = self.args(provider, command, arguments);
        let error = self.client.refused("editor_commands_call", args.clone());
        assert_eq!(error["details"]["mutation_status"], "not_started", "R65: {error}");
        let key = json!({"idempotency_key": args["idempotency_key"]});
        let unknown = self.client.refused("get_transaction", key);
        assert_eq!(unknown["error"], "RESOURCE_NOT_FOUND", "R63: nothing is journaled");
        error
    }

    /// Waits until the command that runs is over.
    fn wait_until_writable(&self) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !self.client.ok("editor_commands_status", json!({}))["running"].is_null() {
            assert!(Instant::now() < deadline, "the command is still running");
            std::thread::yield_now();
        }
    }
}

/// Engine lines that these commands cause on purpose.
const KNOWN: &[&str] = &[
    "something is wrong",
    "of somebody else",
    "res://tools/broken.gd",
    "gdscript://",
    "Failed to load script",
    "Parse Error",
    "push_error",
    "modules/gdscript",
    "core/variant/variant_utility.cpp",
    "GDScript backtrace",
    "mcp_call",
    "Parse error",
];

#[track_caller]
fn classified(answer: &Value, wanted: &str) {
    assert_eq!(answer["classification"], wanted, "{answer}");
    assert!(answer["reason"].as_str().is_some_and(|it| !it.is_empty()), "R68: {answer}");
    assert_eq!((&answer["applied"], &answer["rolled_back"]), (&json!(true), &json!(false)), "R75");
}

/// R1, R2, R4, R5, R24, R50 to R59.
fn lists(session: &Session) {
    let tools: Vec<String> = session.client.tools().iter().map(|it| it.name.to_string()).collect();
    for name in ["editor_commands_list", "editor_commands_call"] {
        assert!(tools.iter().any(|it| it == name), "R1, R2: {name}");
    }
    assert_eq!(limits::FILE, "godot_mcp_commands.json", "R5");
    assert!(session.editor.project.join(limits::FILE).is_file(), "R5: next to project.godot");
    let listing = session.client.ok("editor.commands.list", json!({}));
    assert_eq!(listing, session.client.ok("editor_commands_list", json!({})), "R1: both names");
    assert_eq!((&listing["status"], &listing["enabled"]), (&json!("valid"), &json!(true)));
    // The add-on is the server, so their versions cannot differ.
    assert_eq!(listing["editor"], json!({"connected": true, "serves_commands": true}), "R4");
    let reason = |provider: usize, command: usize| {
        listing["providers"][provider]["commands"][command]["unavailable_reason"].clone()
    };
    assert_eq!(reason(0, 0), Value::Null);
    assert!(reason(2, 2).as_str().is_some_and(|it| it.contains("anyOf")), "R32");
    assert!(reason(3, 0).as_str().is_some_and(|it| it.contains("@tool")), "R43");
}

/// R40, R60, R62 to R65.
fn refuses(session: &Session) {
    let project = &session.editor.project;
    for (provider, command, arguments, code) in [
        ("case", "echo", json!({}), "VALIDATION_ERROR"),
        ("cases", "ecko", json!({}), "VALIDATION_ERROR"),
        ("liar", "strict", json!({}), "VALIDATION_ERROR"),
        ("liar", "strict", json!({"seed": -1}), "VALIDATION_ERROR"),
        ("liar", "outside", json!({}), "UNSUPPORTED"),
        ("plain", "a", json!({}), "VALIDATION_ERROR"),
    ] {
        let error = session.refused(provider, command, arguments);
        assert_eq!(error["error"], code, "{error}");
    }
    for (deadline, fits) in [
        (limits::DEADLINE_MIN_MS - 1, false),
        (limits::DEADLINE_MAX_MS + 1, false),
        (limits::DEADLINE_MIN_MS, true),
        (limits::DEADLINE_MAX_MS, true),
    ] {
        let mut args = session.args("cases", "nothing", json!({}));
        args["deadline_ms"] = json!(deadline);
        assert_eq!(
            session.client.call("editor_commands_call", args).is_ok(),
            fits,
            "R61: {deadline}"
        );
    }
    // R60: three are needed, and there are no others.
    let whole = session.args("cases", "nothing", json!({}));
    for name in ["provider", "command", "idempotency_key", "more"] {
        let mut args = whole.clone();
        match args.get(name) {
            Some(_) => drop(args.as_object_mut().expect("an object").remove(name)),
            None => args[name] = json!(1),
        }
        let error = session.client.refused("editor_commands_call", args);
        assert_eq!(error["error"], "VALIDATION_ERROR", "R60: {name}: {error}");
    }
    // R62, R64: the script as it is on disk at that moment.
    let script = "@tool\nextends RefCounted\nfunc mcp_call(_c, _a):\n\treturn {\"ok\": true}\n";
    write(project, "tools/plain.gd", script);
    classified(&session.run("plain", "a", json!({})), "passed");
    std::fs::remove_file(project.join("tools/plain.gd")).expect("removed");
    assert_eq!(session.refused("plain", "a", json!({}))["error"], "VALIDATION_ERROR", "R64: gone");
    write(project, "tools/plain.gd", "extends RefCounted\n# @tool\n");
    assert_eq!(session.refused("plain", "a", json!({}))["error"], "VALIDATION_ERROR", "R64: @tool");
    // R64: a human has paused the server.
    session.editor.gd(&format!("{HOST}.set_paused(true)"));
    let paused =
        session.client.refused("editor_commands_call", session.args("cases", "nothing", json!({})));
    assert_eq!(
        (&paused["error"], &paused["details"]["refusal"], &paused["details"]["mutation_status"]),
        (&json!("PAUSED"), &json!("unavailable"), &json!("not_started")),
        "R64: {paused}"
    );
    session.editor.gd(&format!("{HOST}.set_paused(false)"));

    // B9: what was listed is what is called.
    let listing = session.client.ok("editor_commands_list", json!({}));
    let mut args = session.args("cases", "nothing", json!({}));
    args["expected_file_sha256"] = listing["sha256"].clone();
    args["expected_script_sha256"] = listing["providers"][0]["bundle_sha256"].clone();
    session.client.ok("editor_commands_call", args.clone());
    write(project, "tools/helper.gd", &HELPER.replace('1', "2"));
    args["idempotency_key"] = json!("drift");
    assert_eq!(
        session.client.refused("editor_commands_call", args)["error"],
        "STATE_CHANGED",
        "A15"
    );
    write(project, "tools/helper.gd", HELPER);

    // R22, R24: an invalid file, at once.
    let text = std::fs::read_to_string(project.join(limits::FILE)).expect("declared");
    write(project, limits::FILE, &text.replacen("\"cases\"", "\"Cases\"", 1));
    let error = session.refused("nodes", "tree", json!({}));
    assert!(error["message"].as_str().is_some_and(|it| it.contains("invalid")), "{error}");
    std::fs::remove_file(project.join(limits::FILE)).expect("removed");
    assert_eq!(session.client.ok("editor_commands_list", json!({}))["status"], "absent");
    session.refused("nodes", "tree", json!({}));
    write(project, limits::FILE, &text);
}

/// R33, R38, R41: by the text of the message.
fn converts(session: &Session) {
    let answer = session.client.ok(
        "editor.commands.call",
        json!({"provider": "cases", "command": "echo", "idempotencyId": "own spelling of the key"}),
    );
    assert_eq!(answer["result"], json!({}), "R33, and the contract's name of the key");
    let mut wire = Wire::connect(&session.editor.url, &session.editor.token);
    let mut send = |spelled: &str| {
        let place = "1".repeat(spelled.len());
        let number: Value = serde_json::from_str(&place).expect("a number");
        let args = session.args("cases", "types", json!({"n": number}));
        let bytes = wire.bytes_of_call("editor_commands_call", &args);
        let text = String::from_utf8(bytes).expect("UTF-8");
        let (from, to) = (format!("\"n\":{number}"), format!("\"n\":{spelled}"));
        assert!(text.contains(&from), "{text}");
        let response = wire.raw(text.replace(&from, &to).as_bytes()).expect("an answer");
        let answer: Value = serde_json::from_slice(&response.body).expect("JSON");
        answer["result"]["structuredContent"].clone()
    };
    for (spelled, kind) in [
        ("7", "int"),
        ("7.0", "float"),
        ("7e0", "float"),
        ("-0", "int"),
        ("9007199254740992", "int"),
        ("1e300", "float"),
    ] {
        assert_eq!(send(spelled)["result"]["n"], kind, "{spelled}");
    }
    let beyond = send("9007199254740993");
    assert_eq!(beyond["error"], "VALIDATION_ERROR", "R38: {beyond}");
}

/// R42, R44, R46, R49, R66 to R75, R92 to R95, A8, C5.
fn answers(session: &Session) {
    let entry = session.run("cases", "entry", json!({"a": 1}));
    assert_eq!(entry["result"], json!(["entry", "Dictionary"]), "R44");
    let one =
        session.client.ok("get_transaction", json!({"transaction_id": entry["transaction_id"]}));
    assert_eq!(
        (&one["state"], &one["tool"]),
        (&json!("done"), &json!("editor_commands_call")),
        "R66"
    );
    let depth = || session.client.ok("list_history", json!({}))["global"]["depth"].clone();
    let before = depth();
    session.run("cases", "meta", json!({}));
    assert_eq!(session.editor.gd("return Engine.get_meta(&\"by_a_command\", false)"), true, "R49");
    assert_eq!(depth(), before, "R49: nothing of it can be undone");
    let answer = session.run("cases", "echo", json!({"a": [1, 2.5, null, "x"]}));
    classified(&answer, "passed");
    assert_eq!(answer["result"], json!({"a": [1, 2.5, null, "x"]}), "R42");
    let edges =
        json!({"high": 9_007_199_254_740_992_i64, "low": -9_007_199_254_740_992_i64, "f": 1e300});
    assert_eq!(session.run("cases", "echo", edges.clone())["result"], edges, "R42: exact");
    assert_eq!(
        answer["command"],
        json!({"provider": "cases", "name": "echo", "mutates": false}),
        "R69"
    );
    assert_eq!(answer["changes"]["total"], 0, "{answer}");
    assert_eq!(answer["log_capture"], true);
    assert!(answer["transaction_id"].is_string() && answer["replayed"] == false, "R76");
    let nothing = session.run("cases", "nothing", json!({}));
    assert_eq!(nothing["result"], Value::Null, "A8");

    let failed = session.run("cases", "fail", json!({}));
    classified(&failed, "failed");
    assert!(failed["error"].as_str().is_some_and(|it| it.contains("\nno luck\n")), "R71: {failed}");
    let long = session.run("cases", "fail_badly", json!({}));
    let text = long["error"].as_str().expect("a text");
    assert_eq!(text.lines().nth(1).map(str::len), Some(limits::ERROR_MAX_CHARS), "R93");
    for command in ["no_ok", "int_ok"] {
        let answer = session.run("cases", command, json!({}));
        classified(&answer, "failed");
        assert!(answer["result_literal"].is_string(), "R46: {answer}");
    }
    classified(&session.run("mute", "a", json!({})), "failed");
    let errors = session.run("cases", "push_error", json!({}));
    classified(&errors, "failed");
    let diagnostic = &errors["diagnostics"][0];
    assert_eq!(diagnostic["file"], "res://tools/cases.gd", "R72: {errors}");
    assert!(diagnostic["line"].as_i64().is_some_and(|it| it > 0), "R72: {errors}");
    let broken = session.run("broken", "a", json!({}));
    classified(&broken, "compile_error");
    assert!(broken["diagnostics"][0]["message"].is_string(), "{broken}");

    let prints = session.run("cases", "prints", json!({}));
    classified(&prints, "passed");
    let lines = prints["output"].as_str().expect("prints").lines().count() - 2;
    assert_eq!(lines, limits::LOG_ENTRIES_MAX, "R94");
    assert!(
        prints["log_truncated"].as_u64().is_some_and(|it| it >= 800),
        "A12: {}",
        prints["log_truncated"]
    );

    let object = session.run("cases", "object", json!({}));
    classified(&object, "passed");
    assert!(object.get("result").is_none() && object["result_unavailable"].is_string(), "{object}");
    assert!(
        object["result_literal"].as_str().is_some_and(|it| it.contains("RefCounted")),
        "R70: {object}"
    );
    let nan = session.run("cases", "nan", json!({}));
    assert_eq!(nan["result"], json!({"type": "float", "value": "nan"}));
    let cyclic = session.run("cases", "cyclic", json!({}));
    assert!(
        cyclic["result_unavailable"].as_str().is_some_and(|it| it.contains("itself")),
        "{cyclic}"
    );
    // The quotes count too.
    for (count, fits) in [(limits::VALUE_LITERAL_MAX_CHARS - 2, true), (300_000, false)] {
        let answer = session.run("cases", "long", json!({"count": count}));
        assert_eq!(answer["result_literal"].is_string(), fits, "R92: {count}");
        assert_eq!(answer["result_unavailable"].is_string(), !fits, "R92: {count}");
    }
}

/// R73, R74, R86, R95 and B7.
fn tells_changes(session: &Session) {
    let answer = session.run("cases", "write", json!({"count": 2_000}));
    classified(&answer, "passed");
    assert_eq!(answer["changes"]["total"], 2_000);
    assert_eq!(
        answer["changes"]["added"].as_array().map(Vec::len),
        Some(limits::CHANGES_LISTED_MAX)
    );
    assert_eq!(answer["changes"]["truncated"], true);
    let again = session.run("cases", "write", json!({"count": 2_000}));
    assert_eq!(again["changes"]["total"], 0, "R73: the same content is no change");
    // R86: it says that it changes nothing, and is not kept from it.
    let liar = session.run("liar", "write", json!({"count": 3, "text": "other"}));
    assert_eq!(liar["declaration_mismatch"], json!({"files": 3}), "R74: {liar}");
    let modified = json!(["res://made/f0.txt", "res://made/f1.txt", "res://made/f2.txt"]);
    assert_eq!(liar["changes"]["modified"], modified);
}

/// R85, B3, A10.
fn replays(session: &Session) {
    let mut args = session.args("cases", "write", json!({"count": 1, "text": "replayed"}));
    let first = session.client.ok("editor_commands_call", args.clone());
    assert_eq!(first["changes"]["total"], 1);
    write(&session.editor.project, "made/f0.txt", "by hand");
    args["deadline_ms"] = json!(30_000);
    let mut again = session.client.ok("editor_commands_call", args.clone());
    assert_eq!(again["replayed"], true, "A10: the deadline is no argument");
    again["replayed"] = json!(false);
    assert_eq!(again, first, "B3");
    let text = std::fs::read_to_string(session.editor.project.join("made/f0.txt")).expect("there");
    assert_eq!(text, "by hand", "R85: it did not run again");
    args["arguments"]["count"] = json!(2);
    let conflict = session.client.refused("editor_commands_call", args);
    assert_eq!(conflict["error"], "IDEMPOTENCY_CONFLICT", "A10");
}

/// R47, A15, C4.
fn reads_scripts_afresh(session: &Session) {
    let project = &session.editor.project;
    for value in 1..4 {
        edited(project, value);
        assert_eq!(session.run("edited", "a", json!({}))["result"], value);
        write(project, "tools/helper.gd", &HELPER.replace('1', &value.to_string()));
        assert_eq!(session.run("cases", "helper", json!({}))["result"], value, "A15");
    }
}

/// R45, R48, B1, C3.
/// R48, C2, C3.
fn awaits(session: &Session) {
    assert_eq!(session.run("cases", "await_frames", json!({}))["result"], "later");
    let tree = session.run("nodes", "tree", json!({}));
    assert_eq!(tree["result"], "EditorPlugin", "R48: {tree}");
    let left = session.editor.gd("return EditorInterface.get_base_control().get_tree().root.find_children(\"McpCommandProvider*\", \"\", true, false).size()");
    assert_eq!(left, 0, "R48: freed");
    let freed = session.run("nodes", "free_self", json!({}));
    classified(&freed, "failed");
    assert!(freed["reason"].as_str().is_some_and(|it| it.contains("freed itself")), "{freed}");
    assert_eq!(session.run("cases", "progress", json!({}))["result"], false);
}

/// R77 to R83, A11.
fn blocks_writes_while_uncertain(session: &Session) {
    let mut args = session.args("cases", "wait_for_file", json!({}));
    args["deadline_ms"] = json!(limits::DEADLINE_MIN_MS);
    let begun = Instant::now();
    let error = session.client.refused("editor_commands_call", args.clone());
    let waited = begun.elapsed();
    let least = Duration::from_millis(limits::DEADLINE_MIN_MS + limits::DEADLINE_GRACE_MS);
    assert!(waited >= least && waited < least * 2, "R77: {waited:?}");
    assert_eq!(
        (&error["error"], &error["details"]["mutation_status"]),
        (&json!("TIMEOUT"), &json!("uncertain"))
    );
    assert_eq!(error["details"]["changed_paths"], json!(["res://waiting.txt"]), "R78: {error}");
    let again = session.client.refused("editor_commands_call", args.clone());
    assert_eq!(again["details"]["mutation_status"], "uncertain", "A11: {again}");
    let status = session.client.ok("editor_commands_status", json!({}));
    assert_eq!(
        (&status["writes_blocked"], &status["running"]["phase"]),
        (&json!(true), &json!("awaiting")),
        "{status}"
    );

    let change = json!({"script_path": "res://x.gd", "content": "extends Node\n"});
    for (tool, args) in [
        ("write_script", change),
        ("editor_commands_call", session.args("cases", "nothing", json!({}))),
        ("godot_undo", json!({})),
    ] {
        let args = match session.client.call(tool, args) {
            Err(error) if error["error"] == "BUSY" => error,
            other => panic!("R80: {tool}: {other:?}"),
        };
        assert_eq!(args["details"]["blocked_by"], status["running"]["transaction_id"]);
    }
    session.client.ok("get_project_info", json!({}));
    session.client.ok("editor_commands_list", json!({}));

    session.editor.gd("FileAccess.open(\"user://release\", FileAccess.WRITE).close()");
    session.wait_until_writable();
    let late = session.client.ok("editor_commands_call", args);
    assert_eq!(
        (&late["replayed"], &late["result"]),
        (&json!(true), &json!(true)),
        "R81, B1: {late}"
    );
    assert_eq!(late["changes"]["added"], json!(["res://waiting.txt"]));
    classified(&session.run("cases", "nothing", json!({})), "passed");
}

/// R79, R82, R84 and a main thread that is stuck for 40 s: answers and reads do not need it.
fn answers_while_the_main_thread_is_stuck(session: &Session) {
    let mut args = session.args("cases", "block", json!({"ms": 40_000}));
    args["deadline_ms"] = json!(limits::DEADLINE_MIN_MS);
    let error = session.client.refused("editor_commands_call", args.clone());
    assert_eq!(error["details"]["mutation_status"], "uncertain", "{error}");
    assert_eq!(error["details"]["changed_paths"], json!(["res://block.txt"]));
    assert!(
        error["details"]["main_thread_blocked_ms"].as_u64().is_some_and(|it| it > 1_000),
        "{error}"
    );
    for tool in ["editor_commands_status", "editor_commands_list", "health_check"] {
        let begun = Instant::now();
        session.client.ok(tool, json!({}));
        assert!(begun.elapsed() < Duration::from_millis(100), "{tool}: {:?}", begun.elapsed());
    }
    let status = session.client.ok("editor_commands_status", json!({}));
    assert!(
        status["main_thread_blocked_ms"].as_u64().is_some_and(|it| it > 1_000),
        "R84: {status}"
    );
    session.wait_until_writable();
    let late = session.client.ok("editor_commands_call", args);
    assert_eq!(late["result"], "woke", "{late}");
}

/// A9, A14, B4: what others log meanwhile is told apart, and does not count.
fn tells_ambient_errors_apart(session: &Session) {
    let mut args = session.args("cases", "wait_for_file", json!({}));
    args["deadline_ms"] = json!(limits::DEADLINE_MAX_MS);
    let release = "FileAccess.open(\"user://release\", FileAccess.WRITE).close()";
    session.editor.gd("DirAccess.remove_absolute(\"user://release\")");
    let answer = std::thread::scope(|scope| {
        let call = scope.spawn(|| session.client.ok("editor_commands_call", args));
        let phase =
            || session.client.ok("editor_commands_status", json!({}))["running"]["phase"].clone();
        while phase() != "awaiting" {}
        session.editor.gd("push_error(\"of somebody else\")");
        session.editor.gd(release);
        call.join().expect("an answer")
    });
    classified(&answer, "passed");
    let ambient = answer["ambient_diagnostics"][0]["message"].as_str().unwrap_or_default();
    assert!(ambient.contains("of somebody else"), "{answer}");
    // A9: the answer says no, and an error was logged too.
    let both = session.run("cases", "push_error_and_fail", json!({}));
    classified(&both, "failed");
    assert!(both["error"].is_string() && both["diagnostics"][0].is_object(), "{both}");
}

/// C9, R85: a client that hangs up does not stop a command; its key collects the answer.
fn outlives_its_client(session: &Session) {
    session.editor.gd("DirAccess.remove_absolute(\"user://release\")");
    let args = session.args("cases", "wait_for_file", json!({}));
    let mut wire = Wire::connect(&session.editor.url, &session.editor.token);
    let bytes = wire.bytes_of_call("editor_commands_call", &args);
    wire.send(&bytes);
    let running = || session.client.ok("editor_commands_status", json!({}))["running"].clone();
    while running()["phase"] != "awaiting" {}
    drop(wire);
    session.editor.gd("FileAccess.open(\"user://release\", FileAccess.WRITE).close()");
    session.wait_until_writable();
    let late = session.client.ok("editor_commands_call", args);
    assert_eq!(late["replayed"], true, "{late}");
    classified(&late, "passed");
}

/// B5.
fn reverts(session: &Session) {
    let project = &session.editor.project;
    let files = ["kept.txt", "gone.txt", "new.txt"];
    let state = || files.map(|it| std::fs::read(project.join(it)).ok());
    let before = state();
    let called = session.run("cases", "change", json!({}));
    let after = state();
    assert_ne!(before, after);
    assert_eq!(
        called["changes"],
        json!({"added": ["res://new.txt"], "modified": ["res://kept.txt"], "removed": ["res://gone.txt"], "total": 3})
    );
    let id = json!({"transaction_id": called["transaction_id"]});
    assert_eq!(
        session.client.ok("editor_commands_status", id.clone())["changes"],
        called["changes"]
    );

    write(project, "new.txt", "since");
    let refused = session.client.refused("editor_commands_revert", id.clone());
    assert_eq!(
        (&refused["error"], &refused["details"]["files"]),
        (&json!("STATE_CHANGED"), &json!(["res://new.txt"]))
    );
    write(project, "new.txt", "new");
    let mut preview = id.clone();
    preview["dry_run"] = json!(true);
    session.client.ok("editor_commands_revert", preview);
    assert_eq!(state(), after, "a preview changes nothing, nor does a refusal");
    session.client.ok("editor_commands_revert", id);
    assert_eq!(state(), before, "the very bytes");
    session.client.ok("godot_undo", json!({}));
    assert_eq!(state(), after, "one undo step");
    session.client.ok("godot_redo", json!({}));
    assert_eq!(state(), before);
}

#[test]
fn commands() {
    let session = Session::start();
    let steps: &[(&str, fn(&Session))] = &[
        ("lists", lists),
        ("refuses", refuses),
        ("converts", converts),
        ("answers", answers),
        ("tells_changes", tells_changes),
        ("replays", replays),
        ("reads_scripts_afresh", reads_scripts_afresh),
        ("awaits", awaits),
        ("reverts", reverts),
        ("blocks_writes_while_uncertain", blocks_writes_while_uncertain),
        ("tells_ambient_errors_apart", tells_ambient_errors_apart),
        ("outlives_its_client", outlives_its_client),
        ("answers_while_the_main_thread_is_stuck", answers_while_the_main_thread_is_stuck),
    ];
    for (name, step) in steps {
        let begun = Instant::now();
        step(&session);
        println!("{name}: {:?}", begun.elapsed());
    }
    session.editor.quit_after(KNOWN);
}

/// B2: an editor that is killed while a command runs. The next start says what it had changed, and
/// writes are open.
#[test]
fn a_killed_editor_is_settled() {
    let session = Session::start();
    let (home, project) = (session.editor.keep_home(), session.editor.project.clone());
    // The first call learns the files; what the editor itself writes at its start is then known.
    session.run("cases", "nothing", json!({}));
    let mut args = session.args("cases", "wait_for_file", json!({}));
    args["deadline_ms"] = json!(limits::DEADLINE_MIN_MS);
    let error = session.client.refused("editor_commands_call", args.clone());
    let id = error["details"]["transaction_id"].clone();
    let pid = session.editor.pid().to_string();
    assert!(
        std::process::Command::new("kill").args(["-9", &pid]).status().expect("kill").success()
    );
    drop(session);

    let session = Session::of(Launch::fixture("plain").on(&project).start());
    let status = session.client.ok("editor_commands_status", json!({}));
    assert_eq!((&status["running"], &status["writes_blocked"]), (&Value::Null, &json!(false)));
    let told = session.client.ok("editor_commands_status", json!({"transaction_id": id}));
    assert_eq!(told["state"], "interrupted", "{told}");
    let added = json!(["res://waiting.txt"]);
    assert_eq!(told["changes"]["added"], added, "{told}");
    assert_eq!(told["changes"]["total"], 1, "{told}");
    let transaction = session.client.ok("get_transaction", json!({"transaction_id": id}));
    assert_eq!(transaction["state"], "interrupted");
    let again = session.client.refused("editor_commands_call", args);
    assert_eq!(
        (&again["error"], &again["details"]["changes"]["added"]),
        (&json!("CANCELLED"), &added),
        "{again}"
    );
    session.count.store(100, Ordering::Relaxed);
    classified(&session.run("cases", "nothing", json!({})), "passed");
    session.client.ok("editor_commands_revert", json!({"transaction_id": id}));
    assert!(!project.join("waiting.txt").exists());
    session.editor.quit_after(KNOWN);
    drop(home);
}

/// R66, R81, B2: killed at each step of a call in the journal. The next start knows whether it ran, and
/// the files that it changed.
#[test]
fn a_call_is_killed_at_each_step() {
    let session = Session::start();
    let (home, project) = (session.editor.keep_home(), session.editor.project.clone());
    session.run("cases", "nothing", json!({}));
    session.editor.quit_after(KNOWN);
    drop(session.client);
    for (point, state, changed) in [
        ("begun", "interrupted", false),
        ("committed", "interrupted", false),
        ("ran", "interrupted", true),
        ("settled", "done", true),
    ] {
        let kill = format!("{point}:editor_commands_call");
        let launch = Launch::fixture("plain").on(&project).env("GODOT_MCP_TEST_KILL", &kill);
        let editor = launch.start();
        let key = format!("killed when {point}");
        let args = json!({"provider": "cases", "command": "write", "idempotency_key": key,
            "arguments": {"count": 2, "text": point}});
        let mut wire = Wire::connect(&editor.url, &editor.token);
        assert!(wire.try_call("editor_commands_call", &args).is_none(), "{point}: it answered");
        editor.wait_for_end(Duration::from_secs(10));

        let session = Session::of(Launch::fixture("plain").on(&project).start());
        let told = session.client.ok("get_transaction", json!({"idempotency_key": key}));
        assert_eq!(told["state"], state, "{point}: {told}");
        let status = session.client.ok("editor_commands_status", json!({}));
        assert_eq!(status["writes_blocked"], false, "{point}: {status}");
        let written = std::fs::read_to_string(project.join("made/f1.txt")).unwrap_or_default();
        assert_eq!(written == point, changed, "{point}: {written}");
        let again = session.client.call("editor_commands_call", args);
        match (point, again) {
            // Nothing has run under the key, so it is free.
            ("begun", Ok(answer)) => assert_eq!(answer["replayed"], false, "{answer}"),
            ("settled", Ok(answer)) => {
                assert_eq!((&answer["replayed"], &answer["result"]), (&json!(true), &json!(2)));
            }
            ("committed" | "ran", Err(error)) => {
                let total = if changed { 2 } else { 0 };
                assert_eq!(error["details"]["changes"]["total"], total, "{point}: {error}");
            }
            (_, other) => panic!("{point}: {other:?}"),
        }
        session.count.store(1_000 + u32::try_from(point.len()).expect("short"), Ordering::Relaxed);
        classified(&session.run("cases", "nothing", json!({})), "passed");
        session.editor.quit_after(KNOWN);
    }
    drop(home);
}

/// R87 to R89.
#[test]
fn the_operator_switches_commands_off() {
    let editor = Launch::fixture("plain").env("GODOT_MCP_PROJECT_COMMANDS", "false").start();
    declare(&editor.project);
    let session = Session::of(editor);
    let listing = session.client.ok("editor_commands_list", json!({}));
    assert_eq!((&listing["status"], &listing["enabled"]), (&json!("valid"), &json!(false)));
    assert!(
        listing["disabled_reason"]
            .as_str()
            .is_some_and(|it| it.contains("GODOT_MCP_PROJECT_COMMANDS"))
    );
    assert_eq!(listing["providers"][0]["commands"][0]["available"], false);
    assert_eq!(listing["editor"]["serves_commands"], false);
    let error = session.refused("cases", "nothing", json!({}));
    assert_eq!(
        (&error["error"], &error["details"]["refusal"]),
        (&json!("APPROVAL_DENIED"), &json!("permission_denied"))
    );
    session.editor.quit();
}

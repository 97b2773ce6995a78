//! The journal against a real editor: keys, calls that were cut off, a stalled main thread, kill -9.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use godot_mcp_core::audit;
use godot_mcp_tests::client::{Client, Era};
use godot_mcp_tests::editor::{Editor, Launch};
use godot_mcp_tests::wire::Wire;
use serde_json::{Value, json};

const SCENE: &str = "res://journal.tscn";

fn open_scene(editor: &Editor) {
    editor.gd(&format!(
        "var root := Node2D.new()\nroot.name = \"Main\"\nvar a := Node2D.new()\na.name = \"A\"\n\
         root.add_child(a)\na.owner = root\nvar packed := PackedScene.new()\npacked.pack(root)\n\
         root.free()\nResourceSaver.save(packed, \"{SCENE}\")\n\
         EditorInterface.open_scene_from_path(\"{SCENE}\")"
    ));
}

fn children(editor: &Editor) -> i64 {
    let count = editor.gd("return EditorInterface.get_edited_scene_root().get_child_count()");
    count.as_f64().expect("a number") as i64
}

fn create(name: &str, key: &str) -> Value {
    json!({"parent_path": ".", "node_type": "Node2D", "node_name": name, "idempotency_key": key})
}

fn state_folder(project: &Path) -> std::path::PathBuf {
    project.join(".godot/godot_mcp")
}

#[track_caller]
fn audit_holds(project: &Path) -> audit::Chain {
    let report = audit::verify(&state_folder(project).join("audit.jsonl")).expect("readable");
    report.chain.unwrap_or_else(|it| panic!("{it:?}"))
}

/// S2.4 in both eras: the same call replays, another one conflicts, a preview is not recorded.
#[test]
fn keys() {
    let editor = Launch::fixture("plain").start();
    open_scene(&editor);
    for (index, era) in [Era::Sessions, Era::Modern].into_iter().enumerate() {
        let client = Client::connect(&editor, era);
        let (name, key) = (format!("N{index}"), format!("key {index}"));
        let mut preview = create(&name, &key);
        preview["dry_run"] = json!(true);
        assert_eq!(client.ok("create_node", preview)["dry_run"], true);
        let unknown = client.refused("get_transaction", json!({"idempotency_key": key}));
        assert_eq!(unknown["error"], "RESOURCE_NOT_FOUND", "S4.2");

        let first = client.ok("create_node", create(&name, &key));
        assert_eq!(first.get("replayed"), None);
        let mut again = client.ok("create_node", create(&name, &key));
        assert_eq!(again["replayed"], true);
        again.as_object_mut().expect("an object").remove("replayed");
        assert_eq!(again, first);
        assert_eq!(children(&editor), 2 + index as i64, "it ran once");

        let conflict = client.refused("create_node", create("Other", &key));
        assert_eq!(conflict["error"], "IDEMPOTENCY_CONFLICT");
        assert_eq!(
            client.refused(
                "delete_node",
                json!({"node_path": "A", "confirm": true, "idempotency_key": key})
            )["error"],
            "IDEMPOTENCY_CONFLICT"
        );
        let told = client.ok("get_transaction", json!({"idempotency_key": key}));
        assert_eq!((&told["state"], &told["answer"]), (&json!("done"), &first));
        assert_eq!(told["transaction_id"], conflict["details"]["transaction_id"]);
        let by_id = client.ok("get_transaction", json!({"transaction_id": told["transaction_id"]}));
        assert_eq!(by_id, told);

        // What did nothing leaves its key free.
        let free = format!("free {index}");
        let wrong = json!({"node_path": "Nobody", "confirm": true, "idempotency_key": free});
        assert_eq!(client.refused("delete_node", wrong)["error"], "RESOURCE_NOT_FOUND");
        client.ok(
            "delete_node",
            json!({"node_path": name, "confirm": true, "idempotency_key": free}),
        );
        client.ok("create_node", create(&name, &format!("back {index}")));
        let refused = client.refused("get_active_scene", json!({"idempotency_key": "x"}));
        assert_eq!(refused["error"], "VALIDATION_ERROR", "a read takes no key");
        assert_eq!(client.refused("create_node", create("X", ""))["required"], "idempotency_key");
        for both in [json!({}), json!({"transaction_id": "tx_1", "idempotency_key": "k"})] {
            assert_eq!(client.refused("get_transaction", both)["error"], "VALIDATION_ERROR");
        }
    }
    let chain = audit_holds(&editor.project);
    let log =
        std::fs::read_to_string(state_folder(&editor.project).join("audit.jsonl")).expect("UTF-8");
    assert!(chain.lines > 20 && !log.contains("parent_path"), "S9.4: no argument values");
    for outcome in ["\"ok\"", "\"preview\"", "\"replayed\"", "\"refused\"", "IDEMPOTENCY_CONFLICT"]
    {
        assert!(log.contains(outcome), "{outcome}");
    }
    editor.quit();
}

/// S2.4: 1,000 calls at once with 10 keys run 10 times, and all 1,000 get an answer.
#[test]
fn a_thousand_calls_with_ten_keys() {
    let editor = Launch::fixture("plain").start();
    open_scene(&editor);
    let (replayed, ran) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let gate = std::sync::Barrier::new(200);
    std::thread::scope(|scope| {
        for _ in 0..200 {
            scope.spawn(|| {
                let mut wire = Wire::connect(&editor.url, &editor.token);
                gate.wait();
                for index in 0..5 {
                    let number =
                        (index * 2 + usize::from(replayed.load(Ordering::Relaxed) % 2 == 0)) % 10;
                    let (name, key) = (format!("N{number}"), format!("key {number}"));
                    let answer = wire.call("create_node", &create(&name, &key));
                    let result = &answer["result"];
                    assert_eq!(result["isError"], false, "{answer}");
                    match result["structuredContent"]["replayed"] == true {
                        true => replayed.fetch_add(1, Ordering::Relaxed),
                        false => ran.fetch_add(1, Ordering::Relaxed),
                    };
                }
            });
        }
    });
    let (ran, replayed) = (ran.into_inner(), replayed.into_inner());
    assert_eq!(ran + replayed, 1_000);
    assert!(ran <= 10, "{ran} ran");
    assert_eq!(children(&editor), 1 + ran as i64);
    editor.quit();
}

/// S2.4, S2.5: a call whose connection was lost on the way is collected by its key.
#[test]
fn a_lost_connection() {
    let editor = Launch::fixture("plain").start();
    open_scene(&editor);
    let mut wire = Wire::connect(&editor.url, &editor.token);
    for round in 0..20 {
        let key = format!("lost {round}");
        let name = format!("Lost{round}");
        let call = create(&name, &key);
        let mut lost = RawCall::send(&editor, "create_node", &call);
        if round % 2 == 0 {
            // At a moment that nobody chose: before it began, or on the way.
            std::thread::park_timeout(Duration::from_micros(100 * round));
        } else {
            let asked = json!({"idempotency_key": key});
            while wire.call("get_transaction", &asked)["result"]["structuredContent"]["state"]
                != "done"
            {}
        }
        lost.hang_up();
        let collected = wire.call("create_node", &call);
        let answer = &collected["result"]["structuredContent"];
        assert_eq!(answer["applied"], true, "{collected}");
        if round % 2 == 1 {
            assert_eq!(answer["replayed"], true, "{collected}");
        }
        assert_eq!(children(&editor), 2 + round as i64, "each ran once");
    }
    editor.quit();
}

/// S2.3: while the main thread is stuck in a commit, the call that is stuck and the one behind it
/// are answered at their deadline, and say truly whether they may have applied.
#[test]
fn a_stalled_main_thread() {
    let editor = Launch::fixture("plain").start();
    open_scene(&editor);
    editor.gd(
        "var script := GDScript.new()\nscript.source_code = \"@tool\\nextends Node2D\\n@export var slow := 0:\\n\\tset(value):\\n\\t\\tif value == 1: OS.delay_msec(34000)\\n\\t\\tslow = value\\n\"\n\
         script.reload()\nEditorInterface.get_edited_scene_root().get_node(\"A\").set_script(script)",
    );
    std::thread::scope(|scope| {
        let stuck = scope.spawn(|| {
            let mut wire = Wire::connect(&editor.url, &editor.token);
            let args = json!({"node_path": "A", "property": "slow", "value": 1, "idempotency_key": "stuck"});
            wire.call("set_node_property", &args)["result"]["structuredContent"].clone()
        });
        let mut wire = Wire::connect(&editor.url, &editor.token);
        let asked = json!({"idempotency_key": "stuck"});
        let begun = Instant::now();
        while wire.call("get_transaction", &asked)["result"]["structuredContent"]["state"]
            != "committing"
        {
            assert!(begun.elapsed() < Duration::from_secs(20));
        }
        let behind =
            wire.call("create_node", &create("Behind", "behind"))["result"]["structuredContent"]
                .clone();
        let stuck = stuck.join().expect("answered");
        for (answer, applied) in [(&stuck, true), (&behind, false)] {
            assert_eq!(answer["error"], "TIMEOUT", "{answer}");
            assert_eq!(answer["details"]["may_have_applied"], applied, "{answer}");
        }
        let id = &stuck["details"]["transaction_id"];
        assert!(id.is_string(), "{stuck}");
        let told = || -> Value {
            let mut wire = Wire::connect(&editor.url, &editor.token);
            wire.call("get_transaction", &json!({"transaction_id": id}))["result"]["structuredContent"].clone()
        };
        assert_eq!(told()["state"], "committing");
        let begun = Instant::now();
        while told()["state"] == "committing" {
            assert!(begun.elapsed() < Duration::from_secs(20));
            std::thread::park_timeout(Duration::from_millis(50));
        }
        assert_eq!(told()["state"], "done");
        assert_eq!(told()["answer"]["applied"], true);
        assert_eq!(children(&editor), 1, "the call behind was given up and did not run later");
        let again = wire.call("create_node", &create("Behind", "behind"));
        assert_eq!(
            again["result"]["structuredContent"]["applied"], true,
            "its key is free: {again}"
        );
    });
    editor.quit();
}

/// kill -9 of the editor during random edits, again and again: the journal is readable, the project
/// opens, the audit chain holds, and each acknowledged edit that was saved is there.
#[test]
fn killed_editors() {
    let rounds: u64 =
        std::env::var("GODOT_MCP_KILLS").ok().and_then(|it| it.parse().ok()).unwrap_or(4);
    let mut editor = Launch::fixture("plain").start();
    open_scene(&editor);
    let (home, project) = (editor.keep_home(), editor.project.clone());
    for round in 0..rounds {
        let (mut saved, mut last) = (None, None);
        let mut wire = Wire::connect(&editor.url, &editor.token);
        let pid = editor.pid();
        let limit = 20 + 180 * round / rounds;
        let killer = std::thread::spawn(move || {
            std::thread::park();
            std::thread::park_timeout(Duration::from_micros(370 * round % 4_000));
            let killed = std::process::Command::new("kill").args(["-9", &pid.to_string()]).status();
            assert!(killed.expect("kill runs").success());
        });
        for index in 0_u64.. {
            if index == limit {
                killer.thread().unpark();
            }
            let value = round * 10_000 + index;
            let key = format!("{round} {index}");
            let (tool, args) = match index % 5 {
                0 => ("create_node", create(&format!("R{round}I{index}"), &key)),
                4 if index % 15 == 4 => ("save_scene", json!({"idempotency_key": key})),
                3 => (
                    "delete_node",
                    json!({"node_path": format!("R{round}I{}", index - 3), "confirm": true, "idempotency_key": key}),
                ),
                _ => (
                    "set_node_property",
                    json!({"node_path": "A", "property": "position", "value": [value, 1], "idempotency_key": key}),
                ),
            };
            let Some(response) = wire.try_answer(tool, &args) else { break };
            let answer = &response["result"]["structuredContent"];
            assert!(answer.get("error").is_none(), "{tool} {args}: {answer}");
            match tool {
                "set_node_property" => last = Some(value),
                "save_scene" => saved = last,
                _ => {}
            }
        }
        killer.join().expect("killed");
        drop(editor);

        let text = std::fs::read_to_string(project.join("journal.tscn")).expect("the scene");
        if let Some(saved) = saved {
            let found = text.lines().find_map(|it| it.strip_prefix("position = Vector2("));
            let found: u64 =
                found.and_then(|it| it.split(',').next()?.parse().ok()).expect("a position");
            assert!(found >= saved, "round {round}: {found} in the file, {saved} was saved");
        }
        editor = Launch::fixture("plain").on(&project).start();
        editor.gd(&format!("EditorInterface.open_scene_from_path(\"{SCENE}\")"));
        let client = Client::connect(&editor, Era::Modern);
        let (mut done, mut open) = (0, 0);
        for index in 0..limit {
            let told = client
                .ok("get_transaction", json!({"idempotency_key": format!("{round} {index}")}));
            match told["state"].as_str() {
                Some("done") => done += 1,
                Some("interrupted") => open += 1,
                _ => panic!("{told}"),
            }
        }
        assert_eq!((done, open), (limit, 0), "all before the last were acknowledged");
        let chain = audit_holds(&project);
        println!("round {round}: {done} done, saved {saved:?}, audit {} lines", chain.lines);
        let names = std::fs::read_dir(state_folder(&project)).expect("a folder").flatten();
        for entry in names {
            assert!(!entry.file_name().to_string_lossy().contains("damaged"), "{entry:?}");
        }
    }
    editor.quit();
    drop(home);
}

/// S9.6: a client that calls too often is told when to come again.
#[test]
fn rate_limit() {
    let editor = Launch::fixture("plain").env("GODOT_MCP_RATE_LIMIT", "5").start();
    let client = Client::connect(&editor, Era::Modern);
    let mut busy = None;
    for _ in 0..20 {
        busy = busy.or(client.call("health_check", json!({})).err());
    }
    let busy = busy.expect("one was too many");
    assert_eq!((&busy["error"], &busy["retryable"]), (&json!("BUSY"), &json!(true)));
    let wait = busy["details"]["retry_after_ms"].as_u64().expect("milliseconds");
    assert!((1..=201).contains(&wait), "{wait}");
    Wire::connect(&editor.url, &editor.token).call("health_check", &json!({}));
    std::thread::park_timeout(Duration::from_millis(wait + 50));
    client.ok("health_check", json!({}));
    editor.quit();
}

/// A damaged journal is set aside and said, and the editor serves.
#[test]
fn a_damaged_journal() {
    let editor = Launch::fixture("plain").start();
    open_scene(&editor);
    Client::connect(&editor, Era::Modern).ok("create_node", create("N", "k"));
    let (home, project) = (editor.keep_home(), editor.project.clone());
    editor.quit();
    std::fs::write(state_folder(&project).join("journal.redb"), b"no database".repeat(1_000))
        .expect("written");
    let editor = Launch::fixture("plain").on(&project).start();
    assert!(editor.log().iter().any(|it| it.contains("set aside")), "{}", editor.log_tail(20));
    let client = Client::connect(&editor, Era::Modern);
    let unknown = client.refused("get_transaction", json!({"idempotency_key": "k"}));
    assert_eq!(unknown["error"], "RESOURCE_NOT_FOUND");
    audit_holds(&project);
    editor.quit();
    drop(home);
}

/// One call on a connection that can be cut.
struct RawCall(TcpStream);

impl RawCall {
    fn send(editor: &Editor, name: &str, args: &Value) -> Self {
        let request = Wire::connect(&editor.url, &editor.token).bytes_of_call(name, args);
        let authority =
            editor.url.trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
        let mut stream = TcpStream::connect(authority).expect("the server listens");
        stream.set_nodelay(true).expect("a socket option");
        stream.write_all(&request).expect("sent");
        Self(stream)
    }

    fn hang_up(&mut self) {
        self.0.shutdown(std::net::Shutdown::Both).ok();
        // What was on its way is not wanted.
        let _ = self.0.read(&mut [0; 1]);
    }
}

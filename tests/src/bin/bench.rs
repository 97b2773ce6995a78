//! `make bench`: end to end over HTTP against a real headless editor, with a native client and a
//! kept connection. Prints each figure beside its bound and fails when one is missed.
#![expect(clippy::print_stdout, reason = "a command line program")]

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use godot_mcp_core::commands::manifest::Tracker;
use godot_mcp_core::journal::{Begun, Call, Journal, Options};
use godot_mcp_tests::editor::{Editor, Launch};
use godot_mcp_tests::wire::Wire;
use serde_json::{Value, json};

/// Warm calls a figure.
const CALLS: usize = 200;
/// Pairs of looks at a project.
const COMPARISONS: usize = 20;
const WARM_UP: usize = 30;
/// The engine's sleep of an unfocused editor.
const UNFOCUSED_USEC: u32 = 100_000;
const IDLE_WINDOW: Duration = Duration::from_secs(3);
const IDLE_WINDOWS: usize = 7;

fn main() -> ExitCode {
    let editor = Launch::fixture("plain").start();
    let mut bench = Bench { wire: Wire::connect(&editor.url, &editor.token), failed: false };
    println!("{:<44} {:>9} {:>9} {:>9}", "", "p50", "p95", "bound");

    editor.gd(&small_scene());
    let focused = bench.all(&editor, "");
    editor.gd(&format!("OS.low_processor_usage_mode_sleep_usec = {UNFOCUSED_USEC}"));
    // Two calls, so that the pump has taken the new value over.
    for _ in 0..2 {
        bench.wire.call("get_active_scene", &json!({}));
    }
    let unfocused = bench.all(&editor, ", sleep of 100 ms");
    for ((name, focused), (_, unfocused)) in focused.iter().zip(&unfocused) {
        bench.figure_ratio(&format!("{name}: unfocused / focused"), unfocused / focused, 1.5);
    }
    editor.gd("OS.low_processor_usage_mode_sleep_usec = 6900");

    big_scene(&editor);
    let mut bytes = 0;
    let times = bench.time(|wire| {
        bytes = wire.call_bytes("get_scene_tree", &json!({"max_nodes": 2000})).body.len();
    });
    bench.figure("get_scene_tree, 1,000 nodes", &times, Some(6.0));
    bench.count("get_scene_tree, 1,000 nodes: bytes", bytes as f64, 20_000.0, false);

    bench.extension(&editor);

    let rate = in_flight(&editor, 8);
    bench.count("8 calls in flight: calls a second", rate, 4_000.0, true);

    let times = bench.time(|wire| {
        let args = json!({"node_path": "A", "property": "visible", "value": true});
        check(&wire.call("set_node_property", &args));
    });
    bench.figure("set_node_property without a change", &times, None);
    // 100 nodes below the root of the big scene.
    let nodes: Vec<String> =
        (0..100).map(|it| if it == 0 { "A".to_owned() } else { format!("N{}", it * 10) }).collect();
    let mut value = 0;
    let sets = |value: i32| -> Vec<Value> {
        let args =
            |node| json!({"node_path": node, "property": "position", "value": [value, value]});
        nodes.iter().map(args).collect()
    };
    for atomic in [false, true] {
        let times = bench.few(|wire| {
            value += 1;
            let command = |args| json!({"tool": "set_node_property", "arguments": args});
            let commands: Vec<_> = sets(value).into_iter().map(command).collect();
            check(&wire.call("run_commands", &json!({"commands": commands, "atomic": atomic})));
        });
        let how = if atomic { ", atomic" } else { "" };
        bench.figure(&format!("run_commands, 100 property sets{how}"), &times, Some(10.0));
    }
    let times = bench.few(|wire| {
        value += 1;
        check(&wire.call("apply_node_edits", &json!({"edits": sets(value)})));
    });
    bench.figure("apply_node_edits, 100 property sets", &times, Some(10.0));
    let times = bench.few(|wire| {
        value += 1;
        let args = json!({"node_paths": nodes, "property": "position", "value": [value, value]});
        check(&wire.call("batch_set_property", &args));
    });
    bench.figure("batch_set_property, 100 nodes", &times, Some(10.0));
    let mut key = 0;
    let times = bench.time(|wire| {
        key += 1;
        let args = json!({
            "node_path": "A", "property": "visible", "value": true, "idempotency_key": key.to_string()
        });
        check(&wire.call("set_node_property", &args));
    });
    bench.figure("the same with a key, forced to the disk", &times, None);
    for (name, forced, bound) in [
        ("journal, each write of a call (kernel)", false, Some(0.3)),
        ("journal, each write of a keyed call (disk)", true, None),
    ] {
        bench.figure(name, &journal_times(forced), bound);
    }

    bench.scripts(&editor);
    bench.search(&editor);

    drop(editor);
    for files in [1_000, 10_000, 100_000] {
        let (first, times) = compare_times(files);
        bench.figure(
            &format!("a call's two looks at {files} files"),
            &times,
            comparison_bound(files),
        );
        println!("  the first look, which reads all: {:.0} ms", first.as_secs_f64() * 1000.0);
    }
    let with = Launch::fixture("plain").start();
    let without = Launch::fixture("plain").without_addon().start_bare();
    // The first seconds have scans and thumbnails in them.
    std::thread::park_timeout(Duration::from_secs(8));
    bench.idle(&with, &without);
    bench.memory(&with, &without);

    if bench.failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// What a command may cost beside its work when nothing changed.
fn comparison_bound(files: usize) -> Option<f64> {
    (files == 10_000).then_some(30.0)
}

/// A hundred in a folder, each with its number.
fn many_files(root: &Path, files: usize) {
    for index in 0..files {
        let folder = root.join(format!("d{}", index / 100));
        if index % 100 == 0 {
            std::fs::create_dir_all(&folder).expect("made");
        }
        std::fs::write(folder.join(format!("f{index}.txt")), index.to_string()).expect("written");
    }
}

/// The first look at a project of that many files, and warm pairs of looks: before and after a call.
fn compare_times(files: usize) -> (Duration, Vec<f64>) {
    let folder = tempfile::tempdir().expect("a folder");
    let (root, state) = (folder.path().join("p"), folder.path().join("s"));
    many_files(&root, files);
    let tracker = Tracker::open(&root, &state).expect("opened");
    let begun = Instant::now();
    let before = tracker.look().expect("compared");
    let first = begun.elapsed();
    // Until the times of the files are beyond doubt.
    std::thread::park_timeout(Duration::from_millis(2_500));
    tracker.look().expect("compared");
    let mut times: Vec<f64> = (0..COMPARISONS)
        .map(|_| {
            let begun = Instant::now();
            let (one, two) = (tracker.look().expect("compared"), tracker.look().expect("compared"));
            assert!(one.changes(&two).is_empty() && one.len() == before.len());
            begun.elapsed().as_secs_f64() * 1000.0
        })
        .collect();
    times.sort_by(f64::total_cmp);
    (first, times)
}

struct Bench {
    wire: Wire,
    failed: bool,
}

impl Bench {
    /// The figures that are measured both focused and unfocused; p50 of each.
    fn all(&mut self, editor: &Editor, note: &str) -> Vec<(&'static str, f64)> {
        let mut medians = Vec::new();
        let mut value = 0;
        let mut measure = |bench: &mut Self, name, bound, call: &mut dyn FnMut(&mut Wire)| {
            let times = bench.time(call);
            bench.figure(&format!("{name}{note}"), &times, Some(bound));
            medians.push((name, percentile(&times, 0.5)));
        };
        measure(self, "get_active_scene", 0.6, &mut |wire| {
            check(&wire.call("get_active_scene", &json!({})))
        });
        measure(self, "get_scene_tree, small", 0.6, &mut |wire| {
            check(&wire.call("get_scene_tree", &json!({})))
        });
        measure(self, "set_node_property", 1.0, &mut |wire| {
            value += 1;
            let args = json!({"node_path": "A", "property": "position", "value": [value, 1]});
            check(&wire.call("set_node_property", &args));
        });
        measure(self, "create_node and delete_node", 3.0, &mut |wire| {
            let args = json!({"parent_path": ".", "node_type": "Node2D", "node_name": "New"});
            check(&wire.call("create_node", &args));
            check(&wire.call("delete_node", &json!({"node_path": "New", "confirm": true})));
        });
        // The history would grow over the runs and is not what is measured.
        editor.gd("EditorInterface.save_scene()");
        medians
    }

    /// Both editors in the same windows, so that what else the machine does meets both.
    fn idle(&mut self, with: &Editor, without: &Editor) {
        let mut windows: Vec<(f64, f64)> = (0..IDLE_WINDOWS)
            .map(|_| {
                let times = || (cpu_time(with.pid()), cpu_time(without.pid()));
                let (start, before) = (Instant::now(), times());
                std::thread::park_timeout(IDLE_WINDOW);
                let (after, spent) = (times(), start.elapsed().as_nanos() as f64 / 100.0);
                ((after.0 - before.0) / spent, (after.1 - before.1) / spent)
            })
            .collect();
        windows.sort_by(|one, two| (one.0 - one.1).total_cmp(&(two.0 - two.1)));
        let (on, off) = windows[IDLE_WINDOWS / 2];
        println!("{:<44} {on:>8.2}% {off:>8.2}%", "idle CPU of the editor: plugin on, off");
        self.count("idle CPU: percentage points over plugin off", on - off, 1.0, false);
    }

    /// A tool of the project beside a built-in read, in turns.
    fn extension(&mut self, editor: &Editor) {
        let script = "@tool\nclass_name BenchTools\nextends MCPToolkitExtension\n\n\
            func register(registry: MCPToolkitCommandRegistry, _server: Node) -> void:\n\
            \tregistry.add(\"bench.echo\", _echo, MCPToolkitExtensionOptions.new(\"x\").mark_read_only())\n\n\
            func _echo(_params: Dictionary) -> Dictionary:\n\treturn MCPToolkitSuccess.ok()\n";
        std::fs::write(editor.project.join("bench_tools.gd"), script).expect("written");
        check(&self.wire.call("extensions_refresh", &json!({})));
        let (mut own, mut builtin) = (Vec::new(), Vec::new());
        for index in 0..WARM_UP + CALLS {
            for (name, times) in [("bench_echo", &mut own), ("get_active_scene", &mut builtin)] {
                let start = Instant::now();
                check(&self.wire.call(name, &json!({})));
                if index >= WARM_UP {
                    times.push(start.elapsed().as_secs_f64() * 1000.0);
                }
            }
        }
        own.sort_by(f64::total_cmp);
        builtin.sort_by(f64::total_cmp);
        let over = percentile(&own, 0.5) - percentile(&builtin, 0.5);
        self.figure("a tool of the project", &own, None);
        self.count("the same: microseconds over a built-in read", over * 1000.0, 200.0, false);
    }

    /// A check of 200 lines that use each other and the engine.
    fn scripts(&mut self, editor: &Editor) {
        let mut text = "class_name BenchScript\nextends Node2D\n\n".to_owned();
        for index in 0..39 {
            text.push_str(&format!(
                "\nfunc part{index}(a: Vector2, b := {index}) -> float:\n\tvar sum := a * b + position\n\t\
                 return sum.length() + part{}(a, b)\n\n",
                (index + 1) % 39
            ));
        }
        assert!(text.lines().count().abs_diff(200) < 5);
        std::fs::write(editor.project.join("bench_script.gd"), &text).expect("written");
        check(&self.wire.call("rescan_filesystem", &json!({})));
        let args = json!({"script_path": "res://bench_script.gd"});
        let times = self.few(|wire| check(&wire.call("get_parse_errors", &args)));
        self.figure("get_parse_errors, 200 lines", &times, Some(15.0));
    }

    fn search(&mut self, editor: &Editor) {
        many_files(&editor.project.join("bench_files"), 10_000);
        let args = json!({"content": "9999"});
        let times = self.few(|wire| {
            let found = wire.call("search_files", &args);
            check(&found);
            assert!(found.to_string().contains("f9999.txt"), "{found}");
        });
        self.figure("search_files by content, 10,000 files", &times, Some(1_000.0));
    }

    fn memory(&mut self, with: &Editor, without: &Editor) {
        let (on, off) = (memory(with.pid()), memory(without.pid()));
        println!("{:<44} {on:>6.1} MiB {off:>5.1} MiB", "memory of the editor: plugin on, off");
        self.count("memory: MiB over plugin off", on - off, 20.0, false);
    }

    fn time(&mut self, mut call: impl FnMut(&mut Wire)) -> Vec<f64> {
        for _ in 0..WARM_UP {
            call(&mut self.wire);
        }
        let mut times: Vec<f64> = (0..CALLS)
            .map(|_| {
                let start = Instant::now();
                call(&mut self.wire);
                start.elapsed().as_secs_f64() * 1000.0
            })
            .collect();
        times.sort_by(f64::total_cmp);
        times
    }

    /// As `time`, for calls that do the work of a hundred.
    fn few(&mut self, mut call: impl FnMut(&mut Wire)) -> Vec<f64> {
        let mut times: Vec<f64> = (0..10)
            .map(|_| {
                let start = Instant::now();
                call(&mut self.wire);
                start.elapsed().as_secs_f64() * 1000.0
            })
            .collect();
        times.sort_by(f64::total_cmp);
        times
    }

    fn figure(&mut self, name: &str, times: &[f64], bound: Option<f64>) {
        let (p50, p95) = (percentile(times, 0.5), percentile(times, 0.95));
        let bound_text = bound.map(|it| format!("{it:.1} ms")).unwrap_or_default();
        let missed = bound.is_some_and(|it| p50 > it);
        self.failed |= missed;
        println!("{name:<44} {p50:>6.3} ms {p95:>6.3} ms {bound_text:>9}{}", mark(missed));
    }

    fn figure_ratio(&mut self, name: &str, ratio: f64, bound: f64) {
        let missed = ratio > bound;
        self.failed |= missed;
        println!("{name:<44} {ratio:>8.2}x {:>9} {bound:>8.1}x{}", "", mark(missed));
    }

    fn count(&mut self, name: &str, value: f64, bound: f64, at_least: bool) {
        let missed = if at_least { value < bound } else { value > bound };
        self.failed |= missed;
        println!("{name:<44} {value:>9.1} {:>9} {bound:>9.0}{}", "", mark(missed));
    }
}

fn mark(missed: bool) -> &'static str {
    if missed { "  MISSED" } else { "" }
}

fn percentile(sorted: &[f64], part: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * part).round() as usize]
}

#[track_caller]
fn check(answer: &Value) {
    assert!(answer["result"]["isError"] != true && answer.get("error").is_none(), "{answer}");
}

fn small_scene() -> String {
    scene_code("small", 8)
}

fn big_scene(editor: &Editor) {
    editor.gd(&scene_code("big", 1_000));
}

/// Writes a scene of so many nodes, in groups of ten under a parent, and opens it.
fn scene_code(name: &str, count: usize) -> String {
    format!(
        "var root := Node2D.new()\nroot.name = \"Main\"\nvar parent: Node = root\nfor index in {count} - 1:\n\
         \tvar node := Node2D.new()\n\tnode.name = \"A\" if index == 0 else \"N%d\" % index\n\
         \tif index % 10 == 0:\n\t\tparent = root\n\tparent.add_child(node)\n\tnode.owner = root\n\
         \tif index % 10 == 0:\n\t\tparent = node\n\
         var packed := PackedScene.new()\npacked.pack(root)\nroot.free()\n\
         ResourceSaver.save(packed, \"res://{name}.tscn\")\n\
         EditorInterface.open_scene_from_path(\"res://{name}.tscn\")"
    )
}

/// Calls a second with so many clients, each with a connection of its own.
fn in_flight(editor: &Editor, clients: usize) -> f64 {
    const EACH: usize = 1_000;
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..clients {
            scope.spawn(|| {
                let mut wire = Wire::connect(&editor.url, &editor.token);
                for _ in 0..EACH {
                    check(&wire.call("get_active_scene", &json!({})));
                }
            });
        }
    });
    (clients * EACH) as f64 / start.elapsed().as_secs_f64()
}

/// What the journal adds to one call: its three entries, without or with the forced write.
fn journal_times(forced: bool) -> Vec<f64> {
    let folder = tempfile::tempdir().expect("a folder");
    let (journal, _) = Journal::open(folder.path(), Options::default()).expect("opens");
    let answer =
        Ok(json!({"applied": true, "undo_token": "u1", "changes": ["x".repeat(200)]}).into());
    let mut times: Vec<f64> = (0..2_000)
        .map(|index| {
            let call = Call {
                tool: "set_node_property".to_owned(),
                class: "mutating",
                client: "bench".to_owned(),
                arguments: "0".repeat(64),
                key: forced.then(|| index.to_string()),
            };
            let start = Instant::now();
            let Ok(Begun::Run(ticket)) = journal.begin(call) else { panic!("a new key") };
            if forced {
                let (tell, told) = std::sync::mpsc::channel();
                journal.force(&ticket, move |it| tell.send(it).expect("listens"));
                told.recv().expect("told").expect("written");
            }
            ticket.commit().expect("written");
            ticket.settle(&answer);
            start.elapsed().as_secs_f64() * 1000.0
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times
}

/// Nanoseconds that the threads of a process have run for.
fn cpu_time(pid: u32) -> f64 {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("Linux");
    let times = tasks.filter_map(|task| {
        let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    });
    times.sum()
}

/// MiB that a process has in memory and shares with no other.
fn memory(pid: u32) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).expect("Linux");
    let line = text.lines().find(|it| it.starts_with("Pss:")).expect("a sum");
    line.split_whitespace().nth(1).and_then(|it| it.parse::<f64>().ok()).expect("KiB") / 1024.0
}

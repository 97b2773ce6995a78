//! The dock in an editor with a window: that it can be read and worked with, in pictures kept under
//! `target/render/`, and that the server works in such an editor at all.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use godot_mcp_tests::display::Display;
use godot_mcp_tests::editor::{
    Editor, Human, Launch, copy_folder, free_port, install_addon, repository,
};
use godot_mcp_tests::wire::Wire;
use serde_json::{Value, json};
use tempfile::TempDir;

/// The probe of the harness, and what the snippets below use of it.
const PROBE: &str = "var it = load(\"res://addons/harness/dock_probe.gd\").new()
var dock = it.dock
var host = it.host
var tabs = it.tabs";

const SCENE: &str = "res://probes/main.tscn";

/// How an editor looks.
struct Look {
    name: &'static str,
    preset: &'static str,
    scale: f64,
    size: (u32, u32),
    language: &'static str,
}

const LOOKS: &[Look] = &[
    Look { name: "dark-100", preset: "Default", scale: 1.0, size: (1280, 720), language: "en" },
    Look { name: "light-100", preset: "Light", scale: 1.0, size: (1280, 720), language: "en" },
    Look { name: "dark-200", preset: "Default", scale: 2.0, size: (2560, 1440), language: "en" },
    Look { name: "light-200", preset: "Light", scale: 2.0, size: (2560, 1440), language: "en" },
    Look { name: "chinese", preset: "Default", scale: 1.0, size: (1280, 720), language: "zh_CN" },
];

impl Look {
    fn launch(&self, display: &Display, project: &Path) -> Launch {
        Launch::fixture("plain")
            .window(display)
            .on(project)
            .setting("interface/theme/color_preset", &format!("\"{}\"", self.preset))
            // The list of scales: automatic, 75 %, 100 %, 125 %, 150 %, 175 %, 200 %.
            .setting("interface/editor/display_scale", if self.scale > 1.0 { "6" } else { "2" })
            .setting("interface/editor/editor_language", &format!("\"{}\"", self.language))
    }
}

/// A project that an editor with a window has closed once. One test at a time has it.
///
/// The first such editor reads the documentation of all scripts on two threads, and the second may
/// wait for the first before that is known to run: on a busy machine, now and then, 4.6.3 ends with
/// `std::system_error`. Later starts find what it wrote.
fn project() -> MutexGuard<'static, TempDir> {
    static PROJECT: LazyLock<Mutex<TempDir>> = LazyLock::new(|| {
        let folder = tempfile::tempdir().expect("a folder");
        copy_folder(&repository().join("tests/fixtures/plain"), folder.path());
        install_addon(folder.path());
        let display = Display::start(1280, 720);
        let documentation = folder.path().join(".godot/editor/editor_script_doc_cache.res");
        for attempt in 0..10 {
            let editor = LOOKS[0].launch(&display, folder.path()).start();
            // No signal tells when it has read them all.
            std::thread::park_timeout(Duration::from_secs(4 + 2 * attempt));
            editor.human().send("EditorInterface.get_base_control().get_tree().quit()");
            editor.wait_for_end(Duration::from_secs(60));
            if documentation.exists() {
                break;
            }
        }
        assert!(documentation.exists(), "no editor with a window came to its end");
        Mutex::new(folder)
    });
    // A test that failed leaves nothing behind that the next could not bear.
    PROJECT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An editor with the dock in front.
struct Studio {
    editor: Editor,
    human: Human,
    look: &'static str,
}

impl Studio {
    fn new(editor: Editor, look: &'static str) -> Self {
        let human = editor.human();
        let mut studio = Self { editor, human, look };
        studio.run("dock.get_parent().make_visible()\ndock.refresh()");
        studio
    }

    #[track_caller]
    fn run(&mut self, body: &str) -> Value {
        self.human.run(&format!("{PROBE}\n{body}"))
    }

    fn wire(&self, client: &str, version: &str) -> Wire {
        Wire::connect(&self.editor.url, &self.editor.token).named(client, version)
    }

    /// Lets the editor lay out and draw.
    fn settle(&mut self) {
        let drawn =
            |it: &mut Self| it.run("return Engine.get_frames_drawn()").as_u64().unwrap_or(0);
        // The dock shows changes after a short pause.
        let start = Instant::now();
        let mut seen = drawn(self);
        let mut left = 4;
        while left > 0 || start.elapsed() < Duration::from_millis(500) {
            self.run("EditorInterface.get_base_control().queue_redraw()");
            let now = drawn(self);
            left -= i32::from(now != seen);
            seen = now;
        }
    }

    /// Keeps a picture of the dock, and one of the window, and checks what can be checked.
    #[track_caller]
    fn look(&mut self, state: &str) {
        self.settle();
        let folder = repository().join("target/render");
        std::fs::create_dir_all(&folder).expect("a folder");
        let file = |kind: &str| {
            let name = format!("{}-{state}{kind}.png", self.look);
            folder.join(name).to_str().expect("UTF-8").to_owned()
        };
        let (dock, window) = (file(""), file("-window"));
        let colors = self.run(&format!("return it.take(\"{dock}\", \"{window}\")"));
        let faults = self.run("return it.faults()");
        let (look, list) = (self.look, faults.as_array().expect("a list"));
        assert!(list.is_empty(), "{look} {state}: {faults:#}");
        assert!(
            colors.as_u64().unwrap_or(0) > 8,
            "{look} {state}: a blank picture, {colors} colors"
        );
    }
}

/// A session that leaves edits, refusals and a preview in the list of calls.
fn work(studio: &Studio) {
    let mut claude = studio.wire("claude-code", "2.1.4");
    let mut cursor = studio.wire("cursor", "1.7.3");
    cursor.call("get_project_info", &json!({}));
    claude.call("open_scene", &json!({"scene_path": SCENE}));
    claude.call("get_scene_tree", &json!({}));
    cursor.call("find_nodes", &json!({"class_filter": "Node2D"}));
    let coin = json!({"parent_path": ".", "node_type": "Sprite2D", "node_name": "Coin"});
    claude.call("create_node", &coin);
    claude.call("set_node_property", &property("Coin", "positon", &json!([10, 20])));
    let mut preview = property("Coin", "position", &json!([10, 20]));
    preview["dry_run"] = json!(true);
    claude.call("set_node_property", &preview);
    claude.call("delete_node", &json!({"node_path": "Nobody", "confirm": true}));
    claude.call("set_node_property", &property("Coin", "position", &json!([10, 20])));
}

fn property(node: &str, property: &str, value: &Value) -> Value {
    json!({"node_path": node, "property": property, "value": value})
}

fn error_of(answer: &Value) -> &Value {
    &answer["result"]["structuredContent"]["error"]
}

/// Both themes, both scales, each state: no text cut, nothing overlapping, all within the dock.
#[test]
fn the_dock_can_be_read() {
    let project = project();
    for look in LOOKS {
        let display = Display::start(look.size.0, look.size.1);
        let port = free_port().min(60_000);
        let editor =
            look.launch(&display, project.path()).env("GODOT_MCP_PORT", &port.to_string()).start();
        let mut studio = Studio::new(editor, look.name);
        assert_eq!(studio.run("return EditorInterface.get_editor_scale()"), look.scale);
        let running = if look.language == "en" { "Running" } else { "正在运行" };
        assert_eq!(studio.run("return dock.get_node(\"%Status\").text"), running);
        studio.look("empty");

        work(&studio);
        studio.look("clients");
        studio.run("it.focus_row(\"delete_node\")\nit.key(KEY_ENTER)");
        studio.look("unfolded");
        studio.run("tabs.current_tab = 1");
        studio.look("toolsets");
        studio.run("tabs.current_tab = 0\nhost.set_paused(true)");
        studio.look("paused");
        studio.run("host.set_paused(false)");

        studio.run("it.stand_in()");
        studio.look("approval");
        studio.run(
            "dock.host.answer_approval(\"a1\", \"deny\")\ntabs.current_tab = 1\ndock.refresh()",
        );
        // They are listed below the toolsets.
        studio.settle();
        studio.run(
            "tabs.get_node(\"Toolsets\").ensure_control_visible(dock.get_node(\"%ExtensionList\").get_child(-1))",
        );
        studio.look("extensions");
        studio.run("tabs.current_tab = 2");
        studio.look("messages");
        studio.run("tabs.current_tab = 0\ndock.host.free()\ndock.host = host\ndock.refresh()");

        // The port is taken while the plugin is off, and the nine that it would try next.
        studio.run("host.stop()");
        let taken: Vec<_> =
            (port..port + 10).filter_map(|it| TcpListener::bind(("127.0.0.1", it)).ok()).collect();
        studio.run("dock.retry_requested.emit()");
        studio.look("error");
        drop(taken);
        studio.run("dock.get_node(\"%Retry\").pressed.emit()");
        assert_eq!(studio.run("return host.status().state"), "running");

        // The refused start above is the only error that may be in the log.
        let errors = studio.editor.log_errors();
        let (expected, rest): (Vec<_>, Vec<_>) =
            errors.into_iter().partition(|it| it.contains("Godot MCP did not start: no port"));
        assert!(rest.is_empty(), "{}", rest.join("\n"));
        assert_eq!(expected.len(), 1);
    }
}

/// Without the library the dock says which file is missing and what to do.
#[test]
fn a_missing_library_is_shown() {
    let (display, whole) = (Display::start(1280, 720), project());
    let home = tempfile::tempdir().expect("a folder");
    let project = home.path();
    copy_folder(whole.path(), project);
    copy_folder(&whole.path().join(".godot"), &project.join(".godot"));
    std::fs::remove_dir_all(project.join("addons/godot_mcp/bin")).expect("removed");
    let editor = LOOKS[0].launch(&display, project).start_bare_with_addon();
    let mut studio = Studio::new(editor, "dark-100");
    studio.look("no-library");
    let text = studio.run("return dock.get_node(\"%FaultText\").text");
    assert!(text.as_str().unwrap_or_default().contains("addons/godot_mcp/bin/lib"), "{text}");
    assert_eq!(studio.run("return dock.get_node(\"%Retry\").visible"), false);
}

/// What the human does in the dock arrives: undo, pause, toolsets, configuration, approval.
#[test]
fn the_dock_works() {
    let (display, project) = (Display::start(1280, 720), project());
    let mut studio = Studio::new(LOOKS[0].launch(&display, project.path()).start(), "dark-100");
    work(&studio);
    studio.settle();
    let mut wire = studio.wire("claude-code", "2.1.4");
    let position = |wire: &mut Wire| {
        let args = json!({"node_path": "Coin", "property": "position"});
        wire.call("get_node_property", &args)["result"]["structuredContent"]["value"].clone()
    };
    assert_eq!(position(&mut wire), json!({"x": 10.0, "y": 20.0}));

    // Only the newest edit offers undo; pressed with the mouse, it is taken back.
    studio.settle();
    let offered = studio.run("return it.undo_buttons().map(func(e): return e.owner.entry.tool)");
    assert_eq!(offered, json!(["set_node_property"]));
    studio.run("it.click(it.undo_buttons()[0])");
    studio.settle();
    assert_eq!(position(&mut wire), json!({"x": 0.0, "y": 0.0}));
    studio.settle();
    let standings = studio.run(
        "return it.rows().filter(func(e): return e.entry.has(\"standing\")).map(func(e): return e.entry.standing)",
    );
    assert_eq!(standings, json!(["undone", "newest"]), "the edit before is now the newest");
    // A human's undo shows too, without any call.
    studio.run("return host.undo(it.undo_buttons()[0].owner.entry.undo_token)");
    studio.settle();
    assert_eq!(studio.run("return it.undo_buttons().size()"), 0);

    // Paused by the keyboard: edits are refused, core's included; then resumed.
    studio.run("dock.get_node(\"%Pause\").grab_focus()\nit.key(KEY_ENTER)");
    studio.settle();
    for (tool, args) in [("get_scene_tree", json!({})), ("godot_redo", json!({}))] {
        assert_eq!(error_of(&wire.call(tool, &args)), "PAUSED", "{tool}");
    }
    studio.run("dock.get_node(\"%Pause\").grab_focus()\nit.key(KEY_ENTER)");
    studio.settle();
    assert_eq!(*error_of(&wire.call("get_scene_tree", &json!({}))), Value::Null);

    // Toolsets: switched here, seen there; core is locked.
    studio.run("tabs.current_tab = 1");
    studio.run("it.click(it.switch_of(\"scene_edit\"))");
    studio.settle();
    let call = wire.call("save_scene", &json!({}));
    assert_eq!(error_of(&call), "TOOLSET_DISABLED");
    assert_eq!(studio.run("return it.switch_of(\"core\").disabled"), true);
    wire.call("enable_toolset", &json!({"category": "scene_edit"}));
    studio.settle();
    assert_eq!(studio.run("return it.switch_of(\"scene_edit\").button_pressed"), true);

    // The configuration has address and token, for each client.
    for index in 0..6 {
        let copied = studio.run(&format!(
            "it.menu().id_pressed.emit({index})\nreturn DisplayServer.clipboard_get()"
        ));
        let text = copied.as_str().unwrap_or_default();
        assert!(text.contains(&studio.editor.url), "{text}");
        assert!(text.contains(&format!("Bearer {}", studio.editor.token)), "{text}");
    }
    let relay = studio.run("it.menu().id_pressed.emit(1000)\nit.menu().id_pressed.emit(0)\nreturn DisplayServer.clipboard_get()");
    let relay: Value = serde_json::from_str(relay.as_str().unwrap_or_default()).expect("JSON");
    assert_eq!(relay["mcpServers"]["godot"]["command"], "godot-mcp");

    // An approval is answered with one of the three words.
    for (button, word) in [("Once", "once"), ("Session", "session"), ("Deny", "deny")] {
        studio.run("it.stand_in()");
        studio.settle();
        let answered = studio.run(&format!(
            "it.click(dock.get_node(\"%Approvals\").get_child(0).get_node(\"%{button}\"))"
        ));
        assert_eq!(answered, Value::Null);
        studio.settle();
        assert_eq!(studio.run("return dock.host.answers"), json!([["a1", word]]));
        assert_eq!(studio.run("return dock.get_node(\"%Approvals\").visible"), false);
        studio.run("dock.host.free()\ndock.host = host");
    }
    drop(wire);
    let Studio { editor, human, .. } = studio;
    drop(human);
    editor.quit();
}

/// Every message of the dock has a Chinese translation, and none is left over.
#[test]
fn every_text_is_translated() {
    let folder = repository().join("addons/godot_mcp/dock");
    let mut wanted = std::collections::BTreeSet::new();
    let files = |folder: &PathBuf| std::fs::read_dir(folder).expect("a folder").flatten();
    for file in files(&folder).map(|it| it.path()) {
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        match file.extension().and_then(|it| it.to_str()) {
            Some("tscn") => {
                for line in text.lines() {
                    let value =
                        line.strip_prefix("text = ").or(line.strip_prefix("tooltip_text = "));
                    wanted.extend(value.map(|it| it.trim_matches('"').to_owned()));
                }
            }
            Some("gd") => {
                for part in text.split("tr(\"").skip(1).chain(text.split("tr_n(\"").skip(1)) {
                    wanted.extend(literal(part));
                }
                // Tables of texts that are chosen by a code.
                for line in text.lines().filter(|it| it.starts_with("\t\"") && it.ends_with("\","))
                {
                    wanted.extend(line.split_once(": \"").and_then(|it| literal(it.1)));
                }
            }
            _ => {}
        }
    }
    let po = std::fs::read_to_string(folder.join("translations/zh_CN.po")).expect("a file");
    let mut known = std::collections::BTreeSet::new();
    let mut id = String::new();
    for line in po.lines() {
        if let Some(text) = line.strip_prefix("msgid \"") {
            id = text.trim_end_matches('"').to_owned();
        } else if line.starts_with("msgstr") && !id.is_empty() {
            assert!(!line.ends_with(" \"\""), "no translation of \"{id}\"");
            known.insert(id.clone());
        }
    }
    let missing: Vec<_> = wanted.difference(&known).collect();
    let left_over: Vec<_> = known.difference(&wanted).collect();
    assert!(missing.is_empty() && left_over.is_empty(), "{missing:#?} {left_over:#?}");
}

/// A string literal of GDScript up to its end, as it is written.
fn literal(rest: &str) -> Option<String> {
    let mut escaped = false;
    let end = rest.find(|c: char| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    })?;
    Some(rest[..end].to_owned())
}

/// The window is unfocused while an agent works. Calls are still answered in about a millisecond,
/// the dock in sight or not, and an idle dock asks for nothing.
#[test]
fn a_windowed_editor_serves() {
    let (display, project) = (Display::start(1280, 720), project());
    let mut studio = Studio::new(LOOKS[0].launch(&display, project.path()).start(), "dark-100");
    let mut wire = studio.wire("claude-code", "2.1.4");
    wire.call("open_scene", &json!({"scene_path": SCENE}));
    studio.settle();
    for shown in [false, true] {
        studio.run(match shown {
            true => "dock.get_parent().make_visible()",
            false => "EditorInterface.get_inspector().find_parent(\"Inspector\").make_visible()",
        });
        studio.run(
            "dock.get_tree().root.propagate_notification(Node.NOTIFICATION_APPLICATION_FOCUS_OUT)",
        );
        assert_eq!(studio.run("return dock.is_visible_in_tree()"), shown);
        studio.settle();
        let mut times: Vec<Duration> = (0..200)
            .map(|_| {
                std::thread::park_timeout(Duration::from_millis(10));
                let begun = Instant::now();
                wire.call("get_scene_tree", &json!({}));
                begun.elapsed()
            })
            .collect();
        times.sort();
        println!(
            "unfocused window, dock {}: p50 {:?}, p95 {:?}, longest {:?}",
            if shown { "shown" } else { "hidden" },
            times[100],
            times[190],
            times[199]
        );
        assert!(times[100] < Duration::from_millis(20), "{times:?}");
    }
    studio.settle();
    studio.run("dock.set_meta(\"told\", 0)\nhost.state_changed.connect(func(): dock.set_meta(\"told\", dock.get_meta(\"told\") + 1))");
    std::thread::park_timeout(Duration::from_secs(1));
    assert_eq!(studio.run("return dock.get_meta(\"told\")"), 0, "nothing happened");
    drop(wire);
    let Studio { editor, human, .. } = studio;
    drop(human);
    editor.quit();
}

/// Switched off and on 100 times, the dock comes and goes and nothing is left behind.
#[test]
fn a_hundred_docks() {
    let (display, project) = (Display::start(1280, 720), project());
    let editor = LOOKS[0].launch(&display, project.path()).start();
    let mut human = editor.human();
    let toggle = |on: bool| format!("EditorInterface.set_plugin_enabled(\"godot_mcp\", {on})");
    let count = |human: &mut Human| {
        human.run("return [Performance.get_monitor(Performance.OBJECT_NODE_COUNT), Performance.get_monitor(Performance.OBJECT_ORPHAN_NODE_COUNT)]")
    };
    for on in [false, true, false] {
        human.run(&toggle(on));
    }
    let before = count(&mut human);
    for _ in 0..100 {
        human.run(&toggle(true));
        let shown =
            human.run(&format!("{PROBE}\nreturn dock != null and dock.is_visible_in_tree()"));
        assert_eq!(shown, true, "in front when the human switches the plugin on");
        human.run(&toggle(false));
    }
    let after = count(&mut human);
    let nodes = |it: &Value| it[0].as_f64().unwrap_or(0.0);
    // The editor itself comes and goes with a few, such as those of a notice.
    assert!(nodes(&after) < nodes(&before) + 20.0, "{before} became {after}");
    assert_eq!(after[1], before[1], "orphan nodes");
    drop(human);
    editor.quit();
}

//! The life of extensions in an editor that nobody looks at: changes on disk, events, tools that call
//! tools, and many changes and calls at random (X2.4, X6, X10, X11, X13.2).

#![expect(clippy::print_stdout, reason = "says what it measured")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use godot_mcp_tests::client::{Client, Era, Heard};
use godot_mcp_tests::editor::{Editor, Launch};
use godot_mcp_tests::parts::Parts;
use godot_mcp_tests::wire::Wire;
use rmcp::ClientHandler;
use rmcp::model::{ClientConfig, Implementation, ProgressNotificationParam};
use rmcp::service::{NotificationContext, RoleClient};
use serde_json::{Value, json};

const SCENE: &str = "res://probes/main.tscn";

fn write(editor: &Editor, name: &str, text: &str) {
    std::fs::write(editor.project.join(name), text).expect("written");
}

fn script(class: &str, register: &str, rest: &str) -> String {
    format!(
        "@tool\nclass_name {class}\nextends MCPToolkitExtension\n\n\
         func register(registry: MCPToolkitCommandRegistry, _server: Node) -> void:\n{register}\n\n{rest}"
    )
}

fn names(client: &Client) -> BTreeSet<String> {
    client.tools().into_iter().map(|it| it.name.to_string()).collect()
}

/// Waits for a tool to come or go by itself; how long that took.
fn wait_for(client: &Client, tool: &str, wanted: bool) -> Duration {
    let begun = Instant::now();
    while names(client).contains(tool) != wanted {
        assert!(begun.elapsed() < Duration::from_secs(20), "{tool} does not change by itself");
        std::thread::park_timeout(Duration::from_millis(10));
    }
    begun.elapsed()
}

#[test]
fn life() {
    let editor = Launch::fixture("plain")
        .env("GODOT_MCP_DEFAULT_TOOLSETS", "core,inspection,scene_edit,composite,extensions")
        .start();
    let mut client = Client::connect(&editor, Era::Sessions);
    // Read live.
    editor.gd("ProjectSettings.set_setting(\"mcp_toolkit/concurrency/scene_lease_ttl_ms\", 500)");
    let mut parts = Parts::default();
    parts.run("seen by itself", || seen_by_itself(&editor, &mut client));
    parts.run("activated", || activated(&editor, &client));
    parts.run("tools call tools", || tools_call_tools(&editor, &client));
    parts.run("offers", || offers(&editor, &client));
    parts.run("events", || events(&editor, &client));
    parts.run("native extensions", || native_extensions(&editor, &client));
    parts.run("random changes", || random_changes(&editor, &mut client));
    parts.run("tabs are held", || tabs_are_held(&editor));
    parts.run("random calls", || random_calls(&editor));
    parts.end();
    drop(client);
    let broken = [
        "Broken",
        "Parse Error",
        "Parse error",
        "broken",
        "Identifier \"nonsense\"",
        "Failed to load script",
        // Forty versions of a script that was broken now and then: the engine keeps one of them.
        "instances leaked at exit",
        "resources still in use at exit",
    ];
    editor.quit_after(&broken);
}

/// X11.1 and X11.3: no focus, no refresh, one notice a change.
fn seen_by_itself(editor: &Editor, client: &mut Client) {
    let text = |answer: u8| {
        script(
            "SeenTools",
            "\tregistry.add(\"seen.get\", _get, MCPToolkitExtensionOptions.new(\"x\").mark_read_only())",
            &format!(
                "func _get(_p) -> Dictionary:\n\treturn MCPToolkitSuccess.ok({{\"answer\": {answer}}})\n"
            ),
        )
    };
    let silence = Duration::from_millis(1_500);
    client.heard_until_silent(silence);
    std::fs::create_dir_all(editor.project.join("new/folder")).expect("a folder");
    write(editor, "new/folder/seen.gd", &text(1));
    let mut times = vec![wait_for(client, "seen_get", true)];
    let heard = client.heard_until_silent(silence);
    assert_eq!(heard, [Heard::ToolsChanged], "one notice");
    write(editor, "new/folder/seen.gd", &text(22));
    let begun = Instant::now();
    while client.ok("seen_get", json!({}))["answer"] != 22 {
        assert!(begun.elapsed() < Duration::from_secs(20), "a change is not seen");
    }
    times.push(begun.elapsed());
    std::fs::remove_file(editor.project.join("new/folder/seen.gd")).expect("removed");
    times.push(wait_for(client, "seen_get", false));
    // Some 0.65 s; the rest is for busy machines.
    assert!(times.iter().all(|it| *it < Duration::from_secs(4)), "{times:?}");
    assert_eq!(client.heard_until_silent(silence), [Heard::ToolsChanged], "one notice");
    println!("seen after: added {:?}, changed {:?}, removed {:?}", times[0], times[1], times[2]);
}

/// X2.4 and X13.2: once each, and one callback an event after 20 versions.
fn activated(editor: &Editor, client: &Client) {
    for version in 0..20 {
        let rest = format!(
            "func activate(context: MCPToolkitExtensionContext) -> void:\n\
             \tEngine.set_meta(&\"on\", Engine.get_meta(&\"on\", 0) + 1)\n\
             \tcontext.on(\"selection_changed\", _selected)\n\
             \tcontext.on(\"scene_changed\", func(_root): pass)\n\
             \tcontext.connect_signal(EditorInterface.get_selection().selection_changed, _counted)\n\
             func deactivate() -> void:\n\tEngine.set_meta(&\"off\", Engine.get_meta(&\"off\", 0) + 1)\n\
             func _selected() -> void:\n\tEngine.set_meta(&\"selected\", Engine.get_meta(&\"selected\", 0) + 1)\n\
             func _counted() -> void:\n\tEngine.set_meta(&\"counted\", {version})\n"
        );
        write(editor, "active.gd", &script("ActiveTools", "\tprint(registry)", &rest));
        client.ok("extensions_refresh", json!({}));
    }
    let status = client.ok("extensions_status", json!({})).to_string();
    assert_eq!(
        editor.gd("return [Engine.get_meta(&\"on\"), Engine.get_meta(&\"off\")]"),
        json!([20, 19]),
        "{status}"
    );
    client.ok("open_scene", json!({"scene_path": SCENE}));
    let before = editor.gd("return Engine.get_meta(&\"selected\", 0)");
    let code = "Engine.set_meta(&\"selected\", 0)\nEngine.remove_meta(&\"counted\")\nEditorInterface.get_selection().selection_changed.emit()\nreturn [Engine.get_meta(&\"selected\"), Engine.get_meta(&\"counted\")]";
    assert_eq!(editor.gd(code), json!([1, 19]), "{before}");
    std::fs::remove_file(editor.project.join("active.gd")).expect("removed");
    client.ok("extensions_refresh", json!({}));
    assert_eq!(editor.gd(&code.replace("\"counted\")]", "\"counted\", -1)]")), json!([0, -1]));
    assert_eq!(editor.gd("return Engine.get_meta(&\"off\")"), 20);
}

/// X6: through the gate and the locks, of which the caller holds one.
fn tools_call_tools(editor: &Editor, client: &Client) {
    let add = |name: &str, marks: &str| {
        format!(
            "\tregistry.add(\"outer.{name}\", _{name}, MCPToolkitExtensionOptions.new(\"x\").mark_cancellable(){marks})\n"
        )
    };
    let register =
        [add("make", ""), add("look", ".mark_read_only()"), add("self", ".mark_read_only()"), add("bad", ""), add("deep", ".mark_read_only().with_input_schema({\"type\": \"object\", \"properties\": {\"n\": {\"type\": \"integer\"}}})")].concat();
    let rest = "func _make(_p, ctx: MCPToolkitToolContext) -> Dictionary:\n\
        \tvar made: Dictionary = await ctx.call_tool(\"create_node\", {\"parent_path\": \".\", \"node_type\": \"Node2D\", \"node_name\": \"Made\"})\n\
        \tvar seen: Dictionary = await ctx.call_tool(\"outer.look\")\n\
        \treturn MCPToolkitSuccess.ok({\"made\": made, \"seen\": seen})\n\
        func _look(_p, ctx: MCPToolkitToolContext) -> Dictionary:\n\
        \treturn await ctx.call_tool(\"get_active_scene\")\n\
        func _self(_p, ctx: MCPToolkitToolContext) -> Dictionary:\n\treturn await ctx.call_tool(\"outer_self\")\n\
        func _deep(_p, ctx: MCPToolkitToolContext) -> Dictionary:\n\treturn await ctx.call_tool(\"outer_look\")\n\
        func _bad(_p, ctx: MCPToolkitToolContext) -> Dictionary:\n\
        \treturn await ctx.call_tool(\"delete_node\", {\"node_path\": \"Made\"})\n";
    write(editor, "outer.gd", &script("OuterTools", &register, rest));
    client.ok("extensions_refresh", json!({}));
    let status = client.ok("extensions_status", json!({})).to_string();
    let answer = client.call("outer_make", json!({})).unwrap_or_else(|it| panic!("{it}: {status}"));
    assert_eq!(answer["made"]["success"], true, "{answer}");
    assert!(answer["made"]["undo_token"].is_string(), "{answer}");
    assert_eq!(answer["seen"]["success"], true, "{answer}");
    assert!(client.ok("outer_deep", json!({})).to_string().contains(SCENE));
    let error = client.refused("outer_self", json!({}));
    assert_eq!(error["error"], "INVALID_STATE", "{error}");
    // The gate is passed: without `confirm` nothing is deleted.
    let error = client.refused("outer_bad", json!({}));
    assert!(error["message"].to_string().contains("confirm"), "{error}");
    client.ok("get_node_properties", json!({"node_path": "Made"}));
}

/// X6: as deep as eight, and progress on its way to the client.
fn chains(editor: &Editor, client: &Client) {
    let register = "\tfor index in 12:\n\t\tregistry.add(\"chain.n%d\" % index, _next.bind(index), MCPToolkitExtensionOptions.new(\"x\").mark_read_only().mark_cancellable())";
    let rest = "func _next(_p, ctx: MCPToolkitToolContext, index: int) -> Dictionary:\n\
        \tctx.progress(index, 12, \"link %d\" % index)\n\
        \tif index == 11:\n\t\treturn MCPToolkitSuccess.ok({\"links\": 1})\n\
        \tvar answer: Dictionary = await ctx.call_tool(\"chain_n%d\" % (index + 1))\n\
        \tif answer.success:\n\t\tanswer.links += 1\n\treturn answer\n";
    write(editor, "chain.gd", &script("ChainTools", register, rest));
    client.ok("extensions_refresh", json!({}));
    assert_eq!(client.ok("chain_n3", json!({}))["links"], 9, "itself and eight inside it");
    let error = client.refused("chain_n2", json!({}));
    assert_eq!(error["error"], "INVALID_STATE", "{error}");
    assert!(error["message"].to_string().contains("at most 8"), "{error}");

    let (told, heard) = std::sync::mpsc::channel();
    let listener = Client::connect_as(Progress(told), &editor.url, &editor.token, Era::Modern);
    listener.ok("chain_n11", json!({}));
    let (done, total, text) = heard.recv_timeout(Duration::from_secs(5)).expect("progress");
    assert_eq!((done, total, text.as_str()), (11.0, Some(12.0), "link 11"));
    std::fs::remove_file(editor.project.join("chain.gd")).expect("removed");
}

/// A client that only listens to progress.
struct Progress(std::sync::mpsc::Sender<(f64, Option<f64>, String)>);

impl ClientHandler for Progress {
    fn get_info(&self) -> ClientConfig {
        let mut info = ClientConfig::default();
        info.client_info = Implementation::new("progress", "1");
        info
    }

    async fn on_progress(
        &self,
        it: ProgressNotificationParam,
        _cx: NotificationContext<RoleClient>,
    ) {
        drop(self.0.send((it.progress, it.total, it.message.unwrap_or_default())));
    }
}

/// X13.3 and X13.4, and examples of calls: what extensions have beside tools.
fn offers(editor: &Editor, client: &Client) {
    let register = "\tvar options := MCPToolkitExtensionOptions.new(\"Looks up.\").mark_read_only().mark_cancellable() \\\n\
        \t\t.with_input_schema({\"type\": \"object\", \"properties\": {\"n\": {\"type\": \"integer\"}}}) \\\n\
        \t\t.with_example({\"n\": 3}, \"the third\").with_example({\"n\": \"x\"}) \\\n\
        \t\t.with_setting(\"city\", \"Ghent\", \"Where to look\").with_setting(\"limit\", 7).with_setting(\"key\", \"\", \"\", true)\n\
        \tregistry.add(\"lookup.get\", _look_up, options)\n\
        \tregistry.add(\"lookup.bad\", _look_up, MCPToolkitExtensionOptions.new(\"x\").with_setting(\"key\", \"abc\", \"\", true))\n\
        \tregistry.add(\"lookup.inner\", _inner.bind(registry), MCPToolkitExtensionOptions.new(\"x\"))\n\
        \tregistry.add(\"lookup.note\", _note, MCPToolkitExtensionOptions.new(\"x\"))\n\
        \tregistry.add_prompt(\"balance_level\", \"Balances a level.\", \"Balance {level}.\\nMind {what}.\\nUse `lookup_get`.\\nUse `no_such_tool`.\", [{\"name\": \"level\", \"description\": \"Which\", \"required\": true}, {\"name\": \"what\"}])\n\
        \tregistry.add_prompt(\"build_scene\", \"x\", \"x\")\n\
        \tregistry.add_resource(\"godot://quests/all\", \"quests\", \"All quests.\", func(_p): return MCPToolkitSuccess.ok({\"quests\": [\"a b\"]}))\n\
        \tregistry.add_resource(\"godot://quests/{id}\", \"quest\", \"One quest.\", _quest, \"text/plain\")\n\
        \tregistry.add_resource(\"godot://scene/x\", \"x\", \"x\", _quest)";
    let rest = "func _look_up(_p, ctx: MCPToolkitToolContext) -> Dictionary:\n\
        \treturn MCPToolkitSuccess.ok({\"city\": ctx.setting(\"city\"), \"limit\": ctx.setting(\"limit\"), \"same\": setting(\"lookup/city\"), \"url\": \"https://x/?key=%s\" % ctx.setting(\"key\"), \"length\": str(ctx.setting(\"key\")).length()})\n\
        func _quest(p: Dictionary) -> Dictionary:\n\tawait Engine.get_main_loop().process_frame\n\
        \tif p.id == \"none\":\n\t\treturn MCPToolkitError.fail(\"NOT_FOUND\", \"no such quest\")\n\
        \treturn MCPToolkitSuccess.ok({\"text\": \"Quest %s\" % p.id})\n\
        func _inner(_p, registry: MCPToolkitCommandRegistry) -> Dictionary:\n\
        \tawait Engine.get_main_loop().process_frame\n\
        \treturn await registry.call_command(\"lookup.note\")\n\
        func _note(_p) -> Dictionary:\n\treturn MCPToolkitSuccess.ok({\"noted\": true})\n";
    write(editor, "lookup.gd", &script("LookupTools", register, rest));
    client.ok("extensions_refresh", json!({}));
    let status = client.ok("extensions_status", json!({})).to_string();
    for part in [
        "an example does not fit its schema",
        "the secret \\\"key\\\" has a default",
        "\\\"build_scene\\\": its name is taken",
        "\\\"godot://scene/\\\" is the server's own",
    ] {
        assert!(status.contains(part), "{part} in {status}");
    }
    let listed = client.tools().into_iter().find(|it| it.name == "lookup_get");
    let about = json!(listed)["description"].to_string();
    assert!(about.ends_with("Example: {\\\"n\\\":3} (the third)\""), "{about}");
    assert_eq!(about.matches("Example").count(), 1, "{about}");

    // The default, the project's value, the user's own.
    let look = || client.ok("lookup_get", json!({}));
    assert_eq!((&look()["city"], &look()["limit"]), (&json!("Ghent"), &json!(7)));
    editor.gd("ProjectSettings.set_setting(\"mcp_toolkit/lookup/city\", \"Bruges\")");
    assert_eq!((&look()["city"], &look()["same"]), (&json!("Bruges"), &json!("Bruges")));
    let user = |key: &str, value: &str| {
        editor.gd(&format!(
            "EditorInterface.get_editor_settings().set_setting(\"mcp_toolkit/lookup/{key}\", \"{value}\")"
        ))
    };
    user("city", "Antwerp");
    assert_eq!(look()["city"], "Antwerp");
    user("key", "s3cr3t-0123");
    let answer = look();
    assert_eq!(answer["length"], 11, "the handler has it: {answer}");
    assert_eq!(answer["url"], "https://x/?key=<secret lookup/key>");
    assert!(editor.gd("return ProjectSettings.has_setting(\"mcp_toolkit/lookup/key\")") == false);

    let prompts = client.prompts().to_string();
    assert!(
        prompts.contains("balance_level") && prompts.contains("Balances a level."),
        "{prompts}"
    );
    let text = client.prompt("balance_level", &json!({"level": "one"})).expect("a text");
    assert_eq!(text, "Balance one.\nUse `lookup_get`.");
    assert!(client.prompt("balance_level", &json!({})).is_err());
    let read = |uri: &str| client.read(uri).map(|it| it["contents"][0].clone());
    let all = read("godot://quests/all").expect("read");
    assert_eq!(all["text"], "{\"quests\":[\"a b\"]}", "{all}");
    let one = read("godot://quests/a%20b").expect("read");
    assert_eq!((&one["text"], &one["mimeType"]), (&json!("Quest a b"), &json!("text/plain")));
    let missing = read("godot://quests/none").expect_err("refused");
    assert!(missing.contains("no such quest"), "{missing}");
    assert!(read("godot://quests/a/b").is_err());
    let reference = json!({"type": "ref/prompt", "name": "balance_level"});
    assert_eq!(client.complete(&reference, "level", "o"), Ok(Vec::new()));

    // What a changing tool calls by the registry is part of it too.
    let begun = Instant::now();
    assert_eq!(client.ok("lookup_inner", json!({}))["noted"], true);
    assert!(begun.elapsed() < Duration::from_secs(5), "it waits for itself");

    std::fs::remove_file(editor.project.join("lookup.gd")).expect("removed");
    client.ok("extensions_refresh", json!({}));
    assert!(!client.prompts().to_string().contains("balance_level"));
    assert!(read("godot://quests/all").is_err());
    chains(editor, client);
}

/// X13.2: each event is told, once.
fn events(editor: &Editor, client: &Client) {
    let names = [
        "scene_changed",
        "scene_saved",
        "scene_closed",
        "script_saved",
        "selection_changed",
        "play_started",
        "play_stopped",
        "filesystem_changed",
    ];
    let rest = format!(
        "func activate(context: MCPToolkitExtensionContext) -> void:\n\
         \tfor event: String in {names:?}:\n\
         \t\tif not context.on(event, _heard.bind(event) if event in [\"selection_changed\", \"play_started\", \"play_stopped\", \"filesystem_changed\"] else _heard_of.bind(event)):\n\t\t\tpush_error(event)\n\
         \tEngine.set_meta(&\"unknown\", context.on(\"no_such_event\", _heard))\n\
         func _heard(event: String) -> void:\n\tEngine.set_meta(event, Engine.get_meta(event, 0) + 1)\n\
         func _heard_of(_what: Variant, event: String) -> void:\n\t_heard(event)\n"
    );
    write(editor, "events.gd", &script("EventTools", "\tprint(registry)", &rest));
    client.ok("extensions_refresh", json!({}));
    let heard = |event: &str| {
        let begun = Instant::now();
        while editor.gd(&format!("return Engine.get_meta(&\"{event}\", 0)")) == 0 {
            assert!(begun.elapsed() < Duration::from_secs(20), "{event} is not told");
        }
    };
    assert_eq!(editor.gd("return Engine.get_meta(&\"unknown\")"), false);
    client.ok("open_scene", json!({"scene_path": "res://probes/sub.tscn"}));
    heard("scene_changed");
    client.ok("save_scene", json!({}));
    heard("scene_saved");
    client.ok("close_scene", json!({"confirm": true}));
    heard("scene_closed");
    editor.gd("EditorInterface.get_selection().clear()\nEditorInterface.get_selection().selection_changed.emit()");
    heard("selection_changed");
    editor.gd("EditorInterface.get_resource_filesystem().scan()");
    heard("filesystem_changed");
    // The editor tells plugins of saved resources by this signal.
    editor.gd("plugin.get_tree().root.find_child(\"GodotMcp\", true, false).get_parent().resource_saved.emit(load(\"res://events.gd\"))");
    heard("script_saved");
    editor.gd("EditorInterface.play_custom_scene(\"res://probes/sub.tscn\")");
    heard("play_started");
    editor.gd("EditorInterface.stop_playing_scene()");
    heard("play_stopped");
    std::fs::remove_file(editor.project.join("events.gd")).expect("removed");
    client.ok("extensions_refresh", json!({}));
    client.ok("open_scene", json!({"scene_path": SCENE}));
}

/// X13.1: by name, with the same options, checks and refusals.
fn native_extensions(editor: &Editor, client: &Client) {
    let registry = "Engine.get_singleton(\"GodotMcpRegistry\")";
    let add = |name: &str, options: &str| {
        editor.gd(&format!("return {registry}.add(\"{name}\", MCPToolkitSuccess.ok, {options})"))
    };
    let options = "{\"description\": \"Echoes\", \"read_only\": true, \"input_schema\": {\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"integer\"}}}}";
    assert_eq!(add("plug.echo", options), "");
    assert_eq!(client.ok("plug_echo", json!({"a": 7}))["a"], 7);
    assert_eq!(client.refused("plug_echo", json!({"a": "x"}))["error"], "VALIDATION_ERROR");
    assert_eq!(add("plug.other", "MCPToolkitExtensionOptions.new(\"x\").mark_read_only()"), "");
    client.ok("extensions_refresh", json!({}));
    client.ok("plug_other", json!({}));
    for (name, options) in [("scene.x", options), ("plug", options), ("plug.bad", "3")] {
        assert_ne!(add(name, options), "", "{name}");
    }
    assert_eq!(editor.gd(&format!("return {registry}.remove(\"plug.echo\")")), true);
    assert_eq!(editor.gd(&format!("return {registry}.remove(\"plug.echo\")")), false);
    assert!(!names(client).contains("plug_echo") && names(client).contains("plug_other"));
}

/// A small generator: the same seed gives the same story.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

fn seed() -> u64 {
    std::env::var("SEED").ok().and_then(|it| it.parse().ok()).unwrap_or(5)
}

/// A script as it is on disk.
#[derive(Clone, Debug)]
struct OnDisk {
    class: String,
    file: String,
    tool: u64,
    group: Option<u64>,
    broken: bool,
    version: u64,
}

impl OnDisk {
    fn text(&self) -> String {
        let group =
            self.group.map(|it| format!(".with_group(\"gen_set{it}\", \"x\")")).unwrap_or_default();
        let version = self.version;
        let register = format!(
            "\tEngine.set_meta(&\"version{version}\", Engine.get_meta(&\"version{version}\", 0) + 1)\n\
             \tregistry.add(\"gen.tool{}\", _run, MCPToolkitExtensionOptions.new(\"x\").mark_read_only(){group})",
            self.tool
        );
        let rest = match self.broken {
            true => "func _run(_p):\n\treturn nonsense +\n".to_owned(),
            false => format!(
                "func activate(context: MCPToolkitExtensionContext) -> void:\n\
                 \tcontext.on(\"selection_changed\", _selected)\n\
                 func _selected() -> void:\n\tpass\n\
                 func _run(_p):\n\treturn MCPToolkitSuccess.ok({{\"version\": {version}}})\n"
            ),
        };
        script(&self.class, &register, &rest)
    }
}

/// X11.2 and X11.3: after any sequence of changes, what is listed is what is on disk, no version has
/// registered twice, no callback is left, and clients hear of changes of the list, once each.
fn random_changes(editor: &Editor, client: &mut Client) {
    const ROUNDS: u64 = 40;
    let mut random = Random(seed());
    let mut disk: BTreeMap<u64, OnDisk> = BTreeMap::new();
    let mut on: BTreeSet<u64> = BTreeSet::new();
    let (mut version, mut story) = (0, Vec::new());
    let callbacks = || {
        let code =
            "return EditorInterface.get_selection().selection_changed.get_connections().size()";
        editor.gd(code).as_u64().expect("a number")
    };
    let callbacks_at_first = callbacks();
    client.heard_until_silent(Duration::from_millis(700));
    let (mut shown, mut list_changes) = (json!(client.tools()), 0);
    let mut note = |client: &Client| {
        let now = json!(client.tools());
        list_changes += usize::from(now != shown);
        shown = now;
    };
    for round in 0..ROUNDS {
        for _ in 0..=random.below(3) {
            let slot = random.below(4);
            version += 1;
            let old = disk.get(&slot).cloned();
            let mut new = old.clone().unwrap_or_else(|| OnDisk {
                class: format!("Gen{slot}x"),
                file: format!("gen{slot}.gd"),
                tool: random.below(5),
                group: None,
                broken: false,
                version: 0,
            });
            new.version = version;
            match random.below(8) {
                0 => new.tool = random.below(5),
                1 => new.group = Some(random.below(2)),
                2 => new.group = None,
                3 => new.broken = true,
                4 => new.broken = false,
                5 => new.class = format!("Gen{slot}v{version}"),
                6 => new.file = format!("gen{slot}_{version}.gd"),
                _ => {
                    if let Some(old) = old {
                        std::fs::remove_file(editor.project.join(&old.file)).expect("removed");
                        story.push(format!("{round}: remove {}", old.file));
                        disk.remove(&slot);
                    }
                    continue;
                }
            }
            if let Some(old) = old.filter(|it| it.file != new.file) {
                std::fs::remove_file(editor.project.join(&old.file)).expect("removed");
            }
            write(editor, &new.file, &new.text());
            story.push(format!("{round}: {new:?}"));
            disk.insert(slot, new);
        }
        client.ok("extensions_refresh", json!({}));
        note(client);
        // Groups are switched between changes, as clients do.
        let group = random.below(2);
        let exists = winners(&disk).values().any(|it| it.group == Some(group));
        if exists {
            let name = json!({"category": format!("gen_set{group}")});
            match random.below(2) {
                0 => drop((client.ok("enable_toolset", name), on.insert(group))),
                _ => drop((client.ok("disable_toolset", name), on.remove(&group))),
            }
        }
        note(client);
        let loaded = disk.values().filter(|it| !it.broken).count() as u64;
        assert_eq!(callbacks(), callbacks_at_first + loaded, "round {round}");
        let wanted: BTreeMap<String, u64> = winners(&disk)
            .into_iter()
            .filter(|(_, it)| it.group.is_none_or(|it| on.contains(&it)))
            .map(|(tool, it)| (format!("gen_tool{tool}"), it.version))
            .collect();
        let listed: Vec<String> = client
            .tools()
            .iter()
            .map(|it| it.name.to_string())
            .filter(|it| it.starts_with("gen_"))
            .collect();
        let mut sorted = listed.clone();
        sorted.sort();
        let about = || {
            format!(
                "seed {}: {}\n{}",
                seed(),
                story.join("\n"),
                client.ok("extensions_status", json!({}))
            )
        };
        assert_eq!(
            sorted,
            wanted.keys().cloned().collect::<Vec<_>>(),
            "round {round}, {}",
            about()
        );
        for (tool, version) in wanted {
            assert_eq!(client.ok(&tool, json!({}))["version"], version, "{tool}, {}", about());
        }
    }
    let twice = format!(
        "var found := []\nfor index in {version} + 1:\n\tif Engine.get_meta(\"version%d\" % index, 0) > 1:\n\t\tfound.append(index)\nreturn found"
    );
    assert_eq!(editor.gd(&twice), json!([]), "{}", story.join("\n"));
    for it in disk.values() {
        std::fs::remove_file(editor.project.join(&it.file)).expect("removed");
    }
    client.ok("extensions_refresh", json!({}));
    note(client);
    assert!(!names(client).iter().any(|it| it.starts_with("gen_")));
    assert_eq!(callbacks(), callbacks_at_first, "a callback is left");
    // Changes in a moment may be told as one, more so on a busy machine.
    let heard = client.heard_until_silent(Duration::from_millis(700));
    let told = heard.iter().filter(|it| **it == Heard::ToolsChanged).count();
    assert!(told >= list_changes / 4 && told <= list_changes, "{told} notices of {list_changes}");
    println!(
        "{ROUNDS} rounds, {version} changes, {told} notices of {list_changes} changes of the list"
    );
}

/// By tool: the first by class name has it (X2.5, X3.2).
fn winners(disk: &BTreeMap<u64, OnDisk>) -> BTreeMap<u64, OnDisk> {
    let mut classes: Vec<&OnDisk> = disk.values().filter(|it| !it.broken).collect();
    classes.sort_by(|one, two| one.class.cmp(&two.class));
    let mut winners = BTreeMap::new();
    for it in classes {
        winners.entry(it.tool).or_insert_with(|| it.clone());
    }
    winners
}

/// X10.3: who works in a scene keeps its tab from other clients, for a time, and nobody waits alone.
fn tabs_are_held(editor: &Editor) {
    // The time that this editor is set to, and room for a busy machine.
    const HELD: Duration = Duration::from_secs(4);
    const OTHER: &str = "res://probes/sub.tscn";
    let open = |client: &Client, path: &str| {
        let begun = Instant::now();
        let answer = client.call_raw("open_scene", &json!({"scene_path": path}));
        assert_ne!(answer.is_error, Some(true), "{answer:?}");
        (begun.elapsed(), json!(answer.meta)["concurrency"].clone())
    };
    let [one, two] = [(); 2].map(|()| Client::connect(editor, Era::Sessions));
    // From the client of the tests before.
    open(&one, OTHER);
    for path in [SCENE, OTHER, SCENE, OTHER, SCENE] {
        let (_, waited) = open(&one, path);
        assert_ne!(waited["reason"], "scene_lease", "alone, nobody waits");
    }
    let (took, waited) = open(&two, OTHER);
    assert_eq!(
        (&waited["reason"], &waited["holder_scene"]),
        (&json!("scene_lease"), &json!(SCENE))
    );
    assert!(waited["queued_ms"].as_u64() > Some(100) && took < HELD, "{took:?}: {waited}");
    // A batch that would is held up too.
    open(&two, SCENE);
    let batch = json!({"commands": [{"tool": "open_scene", "arguments": {"scene_path": OTHER}}]});
    let answer = one.call_raw("run_commands", &batch);
    assert_ne!(answer.is_error, Some(true), "{answer:?}");
    assert_eq!(json!(answer.meta)["concurrency"]["reason"], "scene_lease", "{answer:?}");
    open(&two, OTHER);
    // The other way round; a holder that goes on working is not waited for longer.
    let (done, busy) = (std::sync::atomic::AtomicBool::new(false), &two);
    let (took, waited) = std::thread::scope(|scope| {
        let opened = scope.spawn(|| {
            let client = Client::connect(editor, Era::Modern);
            let opened = open(&client, SCENE);
            done.store(true, std::sync::atomic::Ordering::Release);
            opened
        });
        while !done.load(std::sync::atomic::Ordering::Acquire) {
            busy.ok("get_scene_tree", json!({}));
        }
        opened.join().expect("a client")
    });
    assert_eq!(waited["reason"], "scene_lease", "{waited}");
    assert!(took < HELD, "{took:?}");
    // A client that leaves frees its tab at once, one of the stateless protocol with its connection.
    one.ok("get_scene_tree", json!({}));
    one.leave();
    let (took, waited) = open(&two, OTHER);
    assert!(took < HELD && waited["reason"] != "scene_lease", "{took:?}: {waited}");
    let modern = Client::connect(editor, Era::Modern);
    open(&modern, OTHER);
    modern.ok("get_scene_tree", json!({}));
    drop(modern);
    two.leave();
    let last = Client::connect(editor, Era::Sessions);
    let (took, waited) = open(&last, SCENE);
    assert!(took < HELD && waited["reason"] != "scene_lease", "{took:?}: {waited}");
    last.leave();
}

/// X5.6, X10.2 and X10.4: random clients with slow, endless and abandoned calls, that want
/// other tabs, and come and go. Every call ends, changes do not overlap, no handler runs twice, and no
/// lock is left.
fn random_calls(editor: &Editor) {
    const CLIENTS: u64 = 4;
    const EACH: u64 = 25;
    let schema = ".with_input_schema({\"type\": \"object\", \"properties\": {\"id\": {\"type\": \"string\"}, \"frames\": {\"type\": \"integer\"}}}).mark_cancellable()";
    let add = |name: &str, marks: &str| {
        format!(
            "\tregistry.add(\"many.{name}\", _{name}, MCPToolkitExtensionOptions.new(\"x\"){schema}{marks})\n"
        )
    };
    let register = [
        add("change", ".with_timeout_ms(20000)"),
        add("read", ".mark_read_only()"),
        add("exclusive", ".mark_read_only().mark_exclusive_execution()"),
        add("stuck", ".mark_read_only().mark_exclusive_execution().with_timeout_ms(1000)"),
        add("report", ".mark_read_only()"),
    ]
    .concat();
    let rest = "var runs := {}\nvar inside := 0\nvar overlaps := 0\n\
        func _wait(p: Dictionary) -> void:\n\truns[p.id] = runs.get(p.id, 0) + 1\n\
        \tfor index in p.get(\"frames\", 0):\n\t\tawait Engine.get_main_loop().process_frame\n\
        func _change(p, _ctx) -> Dictionary:\n\tinside += 1\n\tif inside > 1:\n\t\toverlaps += 1\n\tawait _wait(p)\n\tinside -= 1\n\treturn MCPToolkitSuccess.ok()\n\
        func _exclusive(p, ctx) -> Dictionary:\n\treturn await _change(p, ctx)\n\
        func _read(p, _ctx) -> Dictionary:\n\tawait _wait(p)\n\treturn MCPToolkitSuccess.ok()\n\
        func _stuck(p, ctx) -> Dictionary:\n\tawait _wait(p)\n\tawait ctx.cancelled\n\treturn {}\n\
        func _report(_p, _ctx) -> Dictionary:\n\treturn MCPToolkitSuccess.ok({\"twice\": runs.values().filter(func(it): return it > 1).size(), \"runs\": runs.keys().filter(func(it): return not it.begins_with(\"gone\")).size(), \"inside\": inside, \"overlaps\": overlaps})\n";
    write(editor, "many.gd", &script("ManyTools", &register, rest));
    let client = Client::connect(editor, Era::Modern);
    client.ok("extensions_refresh", json!({}));
    assert!(
        names(&client).contains("many_change"),
        "{}",
        client.ok("extensions_status", json!({}))
    );
    let begun = Instant::now();
    // A call whose time was over while it waited for the lock says that it has not run. What the main
    // thread was too busy to answer in time does not say.
    let (ended, idle, unknown) = std::thread::scope(|scope| {
        let all: Vec<_> = (0..CLIENTS)
            .map(|who| {
                scope.spawn(move || {
                    let mut random = Random(seed() * 100 + who);
                    let mut client = Client::connect(editor, Era::Modern);
                    let (mut ended, mut idle, mut unknown) = (0, 0, 0);
                    for index in 0..EACH {
                        let kind = ["change", "read", "exclusive", "change", "read", "stuck"]
                            [random.below(6) as usize];
                        // The stuck ones take a second each, so they are few.
                        let kind = if kind == "stuck" && index % 5 != 0 { "read" } else { kind };
                        match random.below(12) {
                            0 => {
                                let scene = [SCENE, "res://probes/sub.tscn"];
                                let path = scene[random.below(2) as usize];
                                client.ok("open_scene", json!({"scene_path": path}));
                            }
                            1 => abandon(editor, kind, &format!("gone {who}.{index}")),
                            _ => {}
                        }
                        let args =
                            json!({"id": format!("{who}.{index}"), "frames": random.below(6)});
                        match (client.call(&format!("many_{kind}"), args), kind) {
                            (Err(error), "stuck") => {
                                assert_eq!(error["error"], "TIMEOUT", "{error}");
                                idle += u64::from(error["details"]["started"] == false);
                                unknown += u64::from(error["details"]["started"].is_null());
                            }
                            (Ok(_), _) => {}
                            (Err(error), _) => panic!("{kind}: {error}"),
                        }
                        ended += 1;
                        if random.below(10) == 0 {
                            let new = Client::connect(editor, Era::Sessions);
                            std::mem::replace(&mut client, new).leave();
                        }
                    }
                    (ended, idle, unknown)
                })
            })
            .collect();
        let sums = all.into_iter().map(|it| it.join().expect("a client"));
        sums.fold((0, 0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1, sum.2 + it.2))
    });
    let report: Value = client.ok("many_report", json!({}));
    assert_eq!(ended, CLIENTS * EACH);
    assert_eq!(
        (&report["twice"], &report["overlaps"], &report["inside"]),
        (&json!(0), &json!(0), &json!(0)),
        "{report}"
    );
    let runs = report["runs"].as_u64().expect("a number");
    let most = ended - idle;
    assert!(
        (most - unknown..=most).contains(&runs),
        "{runs} of {ended}, {idle} not begun: {report}"
    );
    println!(
        "{ended} calls of {CLIENTS} clients in {:?}, {idle} timed out in line",
        begun.elapsed()
    );
    std::fs::remove_file(editor.project.join("many.gd")).expect("removed");
}

/// A call whose client hangs up before the answer.
fn abandon(editor: &Editor, kind: &str, id: &str) {
    let mut wire = Wire::connect(&editor.url, &editor.token);
    let request = wire.bytes_of_call(&format!("many_{kind}"), &json!({"id": id, "frames": 30}));
    let address = editor.url.trim_start_matches("http://").trim_end_matches("/mcp");
    let mut stream = TcpStream::connect(address).expect("the server listens");
    stream.write_all(&request).expect("sent");
}

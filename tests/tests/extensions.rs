//! The registry of tools that a project adds: discovery, names, faults, hot reload, and handlers that go
//! wrong (X2 to X5, X11).

use std::time::{Duration, Instant};

use godot_mcp_tests::client::{Client, Era};
use godot_mcp_tests::editor::{Editor, Launch};
use serde_json::{Value, json};

/// An extension with one tool that answers `answer`, and counts its registrations.
fn script(class: &str, tool: &str, answer: &str) -> String {
    format!(
        "@tool\nclass_name {class}\nextends MCPToolkitExtension\n\n\
         func register(registry: MCPToolkitCommandRegistry, _server: Node) -> void:\n\
         \tEngine.set_meta(&\"{class}\", Engine.get_meta(&\"{class}\", 0) + 1)\n\
         \tregistry.add(\"{tool}\", _run, MCPToolkitExtensionOptions.new(\"Answers\").mark_read_only())\n\n\
         func _run(_params: Dictionary) -> Dictionary:\n\treturn MCPToolkitSuccess.ok({{\"answer\": {answer}}})\n"
    )
}

struct Story {
    editor: Editor,
    client: Client,
}

impl Story {
    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.editor.project.join(name), text).expect("written");
    }

    fn refresh(&self) -> Value {
        self.client.ok("extensions_refresh", json!({}))
    }

    fn faults(&self, class: &str) -> String {
        let status = self.client.ok("extensions_status", json!({}));
        let all = status["extensions"].as_array().cloned().unwrap_or_default();
        let found = all.into_iter().find(|it| it["class"] == class);
        found.map(|it| it["faults"].to_string()).unwrap_or_default()
    }

    fn listed(&self, name: &str) -> usize {
        self.client.tools().iter().filter(|it| it.name == name).count()
    }
}

#[test]
fn the_registry_follows_the_project() {
    let editor = Launch::fixture("plain").env("GODOT_MCP_TEST_PANIC", "plan:bad_panic").start();
    let client = Client::connect(&editor, Era::Modern);
    let others = [Client::connect(&editor, Era::Sessions), Client::connect(&editor, Era::Modern)];
    let mut story = Story { editor, client };

    // X11.1 and X2.1: new files, in any folder, whatever the class is called.
    story.write("one.gd", &script("OneTools", "one.get", "1"));
    story.write("two.gd", &script("TwoTools", "two.get", "2"));
    let changes = story.refresh();
    assert_eq!(changes["added"], json!(["OneTools", "TwoTools"]), "{changes}");
    assert_eq!(story.client.ok("one_get", json!({}))["answer"], 1);
    assert_eq!(others[0].ok("two_get", json!({}))["answer"], 2);

    // X2.4: once a version, however often it is looked at, and for all clients together.
    for _ in 0..10 {
        let changes = story.refresh();
        for kind in ["added", "removed", "changed", "failed"] {
            assert_eq!(changes[kind], json!([]), "{changes}");
        }
    }
    for index in 0..10 {
        story.write("unrelated.gd", &format!("extends Node\nvar x := {index}\n"));
        story.refresh();
    }
    let count = "return [Engine.get_meta(&\"OneTools\"), Engine.get_meta(&\"TwoTools\")]";
    assert_eq!(story.editor.gd(count), json!([1, 1]));

    // X11.1: a change on the disk is seen by itself, in an editor that nobody looks at.
    story.write("one.gd", &script("OneTools", "one.get", "11"));
    let begun = Instant::now();
    while story.client.ok("one_get", json!({}))["answer"] != 11 {
        assert!(begun.elapsed() < Duration::from_secs(10), "not seen");
    }
    println!("a change on the disk is seen after {:?}", begun.elapsed());
    assert_eq!(story.editor.gd(count), json!([2, 1]));

    // X3.3 and X2.6: broken, named with its line, repaired.
    story.write("one.gd", &script("OneTools", "one.get", "1 +* 2"));
    let changes = story.refresh();
    assert_eq!(changes["failed"], json!(["OneTools"]), "{changes}");
    let line = &changes["faults"]["OneTools"]["faults"][0]["line"];
    assert_eq!(line, 10, "{changes}");
    assert_eq!(story.listed("one_get"), 0);
    assert_eq!(story.listed("two_get"), 1, "the others stay");
    story.write("one.gd", &script("OneTools", "one.get", "12"));
    story.refresh();
    assert_eq!(story.client.ok("one_get", json!({}))["answer"], 12);
    assert_eq!(story.faults("OneTools"), "[]");

    // X3.1 and X3.2: reserved, taken by a built-in, taken by another; the rest of it loads.
    story.write(
        "zoo.gd",
        &script("ZooTools", "zoo.get", "3").replace(
            "\n\nfunc _run",
            "\n\tfor it in [\"scene.get\", \"one.get\", \"get.active_scene\", \"Bad\", \"zoo.other\", \"zoo.a_b\", \"zoo_a.b\"]:\n\
             \t\tregistry.add(it, _run, MCPToolkitExtensionOptions.new(\"x\"))\n\nfunc _run",
        ),
    );
    story.refresh();
    let faults = story.faults("ZooTools");
    for part in [
        "namespace \\\"scene\\\" is reserved",
        "\\\"one.get\\\" is left out, since its name is taken by the extension OneTools",
        "\\\"get.active_scene\\\" is left out, since its name is taken by a built-in tool",
        "\\\"Bad\\\": a name has the form",
        // Both would be the tool zoo_a_b.
        "\\\"zoo_a.b\\\" is left out, since its name is taken by the extension ZooTools",
    ] {
        assert!(faults.contains(part), "{part} in {faults}");
    }
    assert_eq!((story.listed("zoo_get"), story.listed("zoo_other")), (1, 1));
    assert_eq!((story.listed("one_get"), story.listed("get_active_scene")), (1, 1));
    assert_eq!(story.client.ok("one_get", json!({}))["answer"], 12, "the first one has it");
    assert_eq!(story.refresh()["changed"], json!([]), "a refusal is no reason to load again");

    options(&mut story);

    // Removed, and renamed.
    std::fs::remove_file(story.editor.project.join("zoo.gd")).expect("removed");
    std::fs::rename(story.editor.project.join("two.gd"), story.editor.project.join("two_b.gd"))
        .expect("renamed");
    let changes = story.refresh();
    assert!(changes["removed"].to_string().contains("ZooTools"), "{changes}");
    assert_eq!(story.listed("zoo_get"), 0);
    assert_eq!(story.client.ok("two_get", json!({}))["answer"], 2);

    // X2.3: an addon that is switched off.
    let addon = story.editor.project.join("addons/off");
    std::fs::create_dir_all(&addon).expect("created");
    std::fs::write(addon.join("plugin.cfg"), "[plugin]\nname=\"Off\"\nscript=\"x.gd\"\n")
        .expect("written");
    story.write("addons/off/off.gd", &script("OffTools", "off.get", "1"));
    story.refresh();
    assert_eq!(story.listed("off_get"), 0);

    // X2.2: a deeper one counts, the class between does not.
    story.write("base.gd", &script("BaseTools", "base.get", "0"));
    story.write("deep.gd", "@tool\nclass_name DeepTools\nextends BaseTools\n\nfunc _run(_params: Dictionary) -> Dictionary:\n\treturn MCPToolkitSuccess.ok({\"answer\": 9})\n");
    story.refresh();
    assert_eq!(story.client.ok("base_get", json!({}))["answer"], 9);
    assert_eq!(
        (story.faults("DeepTools"), story.faults("BaseTools")),
        ("[]".into(), String::new())
    );

    // X13.7.
    let valid = story.client.ok("extensions_validate", json!({"script_path": "res://one.gd"}));
    assert_eq!((&valid["valid"], &valid["class"]), (&json!(true), &json!("OneTools")), "{valid}");
    story.write(
        "broken.gd",
        "@tool\nclass_name BrokenTools\nextends MCPToolkitExtension\nfunc x( -> int:\n",
    );
    let valid = story.client.ok("extensions_validate", json!({"script_path": "res://broken.gd"}));
    assert!(valid["valid"] == false && valid["faults"][0]["line"] == 4, "{valid}");

    previews(&story);
    the_dock(&story);
    handlers(&mut story);
    assert!(story.editor.alive());
    let Story { editor, client } = story;
    drop((client, others));
    // Nothing but what was done on purpose; no leak.
    editor.quit_after(&[
        "res://one.gd",
        "res://broken.gd",
        "res://bad.gd",
        "the test asked for it",
    ]);
}

/// X4.2: a preview is the handler's own, and changes nothing.
fn previews(story: &Story) {
    story.write(
        "dry.gd",
        "@tool\nclass_name DryTools\nextends MCPToolkitExtension\nvar done := 0\n\
         func register(registry: MCPToolkitCommandRegistry, _server: Node) -> void:\n\
         \tregistry.add(\"dry.count\", _count, MCPToolkitExtensionOptions.new(\"x\").supports_dry_run().mark_destructive())\n\
         func _count(_params, ctx: MCPToolkitToolContext) -> Dictionary:\n\
         \tif ctx.is_dry_run():\n\t\treturn MCPToolkitSuccess.ok({\"would\": done + 1})\n\
         \tdone += 1\n\treturn MCPToolkitSuccess.ok({\"done\": done})\n",
    );
    story.refresh();
    let client = &story.client;
    for _ in 0..2 {
        let preview = client.ok("dry_count", json!({"dry_run": true}));
        assert_eq!((&preview["would"], &preview["dry_run"]), (&json!(1), &json!(true)));
    }
    // Destructive, so the caller confirms.
    let refused = client.refused("dry_count", json!({}));
    assert!(refused["message"].to_string().contains("confirm"), "{refused}");
    assert_eq!(client.ok("dry_count", json!({"confirm": true}))["done"], 1);
    // No undo action was committed, and the answer says so.
    assert_eq!(client.ok("dry_count", json!({"confirm": true}))["undoable"], false);
}

/// X3.3: the dock shows each extension with what is wrong with it.
fn the_dock(story: &Story) {
    let code = "var dock: Control = load(\"res://addons/godot_mcp/dock/dock.tscn\").instantiate()\n\
        dock.set(&\"host\", plugin.get_tree().root.find_child(\"GodotMcp\", true, false))\n\
        plugin.add_child(dock)\n\
        var lines := []\n\
        for row in dock.get_node(\"%ExtensionList\").get_children():\n\
        \tfor it in [row] + row.find_children(\"*\", \"\", true, false):\n\
        \t\tif it is Label or it is Button or it is LinkButton:\n\t\t\tlines.append(it.text)\n\
        dock.free()\nreturn lines";
    let lines = story.editor.gd(code).to_string();
    for part in [
        "OneTools",
        "1 tool",
        "OptTools",
        "both read-only and destructive",
        "BrokenTools",
        "res://broken.gd:4",
    ] {
        assert!(lines.contains(part), "{part} in {lines}");
    }
}

/// X4.
fn options(story: &mut Story) {
    let add = |name: &str, options: &str| {
        format!(
            "\tregistry.add(\"opt.{name}\", _run, MCPToolkitExtensionOptions.new(\"x\"){options})\n"
        )
    };
    let body = [
        add("both", ".mark_read_only().mark_destructive()"),
        add("schema", ".with_input_schema({\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"numbr\"}}})"),
        add("own", ".with_input_schema({\"properties\": {\"dry_run\": {\"type\": \"boolean\"}}})"),
        add("guarded", ".guard_project_path(\"nothing\")"),
        add("long", ".with_timeout_ms(900000)"),
        add("future", ".with_min_godot_version(\"9.0\")"),
        add("past", ".with_max_godot_version(\"4.2\")"),
        add("now", ".with_min_godot_version(\"4.5\").with_max_godot_version(\"4\")"),
        add("paths", ".mark_read_only().with_input_schema({\"properties\": {\"files\": {\"type\": \"array\", \"items\": {\"type\": \"object\"}}, \"n\": {\"type\": \"integer\"}, \"f\": {\"type\": \"number\"}}}).guard_project_path(\"files\")"),
        add("deep", ".mark_read_only().with_input_schema({\"properties\": {\"deep\": {\"type\": \"object\", \"additionalProperties\": false, \"properties\": {\"list\": {\"type\": \"array\", \"maxItems\": 2, \"items\": {\"type\": \"object\", \"properties\": {\"n\": {\"type\": \"integer\", \"maximum\": 9}}}}, \"name\": {\"type\": \"string\", \"pattern\": \"^[a-z]+$\"}}}}})"),
        add("titled", ".with_title(\"A title\").mark_open_world().mark_idempotent().with_output_schema({\"type\": \"object\"})"),
    ]
    .concat();
    let text = format!(
        "@tool\nclass_name OptTools\nextends MCPToolkitExtension\nfunc register(registry: MCPToolkitCommandRegistry, _server: Node) -> void:\n{body}\
         func _run(params: Dictionary) -> Dictionary:\n\treturn {{\"success\": true, \"types\": [typeof(params.get(\"n\")), typeof(params.get(\"f\"))]}}\n"
    );
    story.write("opt.gd", &text);
    story.refresh();
    let faults = story.faults("OptTools");
    for part in [
        // X4.3.
        "both read-only and destructive",
        // X4.4: with a pointer into the schema.
        "/properties/a/type",
        "/properties/dry_run",
        "\\\"nothing\\\"",
        "was made 300000 ms",
    ] {
        assert!(faults.contains(part), "{part} in {faults}");
    }
    for (name, count) in [
        ("both", 0),
        ("schema", 0),
        ("own", 0),
        ("guarded", 0),
        ("long", 1),
        ("future", 0),
        ("past", 0),
        ("now", 1),
    ] {
        assert_eq!(story.listed(&format!("opt_{name}")), count, "{name}: {faults}");
    }
    let client = &story.client;
    // X5.2.
    let types = client.ok("opt_paths", json!({"n": 3, "f": 1.5}));
    assert_eq!(types["types"], json!([2, 3]), "int and float");
    // X4.4: the whole schema, before the handler.
    for (args, part) in [
        (json!({"deep": {"list": [{"n": 12}]}}), "/deep/list/0/n"),
        (json!({"deep": {"list": [{"n": 1}, {"n": 1}, {"n": 1}]}}), "/deep/list"),
        (json!({"deep": {"name": "Bad Name"}}), "/deep/name"),
        (json!({"deep": {"other": 1}}), "other"),
        (json!({"deeb": {}}), "deep"),
    ] {
        let error = client.refused("opt_deep", args.clone());
        assert_eq!(error["error"], "VALIDATION_ERROR", "{args}: {error}");
        assert!(error.to_string().contains(part), "{args}: {error}");
    }
    client.ok("opt_deep", json!({"deep": {"list": [{"n": 3}], "name": "good"}}));
    let listed = client.tools().into_iter().find(|it| it.name == "opt_deep");
    assert_eq!(
        json!(listed)["inputSchema"]["properties"]["deep"]["properties"]["name"]["pattern"],
        "^[a-z]+$"
    );
    // X4.5: at any depth.
    let out = json!({"files": [{"a": ["res://x.gd", "res://../x"]}]});
    assert_eq!(client.refused("opt_paths", out)["error"], "PATH_DENIED");
    client.ok("opt_paths", json!({"files": [{"a": ["res://x.gd"]}]}));
    // X4.1.
    let plain = client.tools().into_iter().find(|it| it.name == "opt_long");
    let plain = json!(plain)["annotations"].clone();
    assert_eq!((&plain["readOnlyHint"], &plain["destructiveHint"]), (&json!(false), &json!(false)));
    assert_ne!(plain["idempotentHint"], true, "{plain}");
    // X4.2.
    assert_eq!(client.refused("opt_long", json!({"dry_run": true}))["error"], "UNSUPPORTED");
    let titled = client.tools().into_iter().find(|it| it.name == "opt_titled");
    let titled = json!(titled);
    assert_eq!(
        (&titled["title"], &titled["annotations"]["openWorldHint"]),
        (&json!("A title"), &json!(true))
    );
    assert_eq!(titled["annotations"]["idempotentHint"], true);
    assert_eq!(titled["outputSchema"]["type"], "object");
}

/// X5: what goes wrong answers, and the editor lives.
fn handlers(story: &mut Story) {
    let add = |name: &str, options: &str| {
        format!(
            "\tregistry.add(\"bad.{name}\", _{name}, MCPToolkitExtensionOptions.new(\"x\").mark_read_only(){options})\n"
        )
    };
    let body = [
        add("fault", ""),
        add("typed", ""),
        add("later", ""),
        add("forever", ".with_timeout_ms(1000)"),
        add("block", ""),
        add("count", ""),
        add("freed", ""),
        add("context", ".mark_cancellable()"),
        add("after", ".mark_cancellable()"),
        add("panic", ""),
        add("large", ""),
        add("number", ""),
        add("number_later", ""),
        add("late", ".mark_exclusive_execution().with_timeout_ms(1000)"),
        add("exclusive", ".mark_exclusive_execution()"),
        "\tregistry.add(\"bad.lambda\", func(_p): await Engine.get_main_loop().process_frame; await Engine.get_main_loop().process_frame; return MCPToolkitSuccess.ok(), MCPToolkitExtensionOptions.new(\"x\").mark_read_only())\n".to_owned(),
    ]
    .concat();
    let text = format!(
        "@tool\nclass_name BadTools\nextends MCPToolkitExtension\n\
         var runs := 0\nvar kept: MCPToolkitToolContext\n\
         class Waiter extends Node:\n\tsignal never\n\tfunc wait_for_ever(_p) -> Dictionary:\n\t\tawait never\n\t\treturn {{}}\n\
         func register(registry: MCPToolkitCommandRegistry, _server: Node) -> void:\n{body}\
         \tvar waiter := Waiter.new()\n\t(Engine.get_main_loop() as SceneTree).root.add_child(waiter)\n\
         \tregistry.add(\"bad.owner\", waiter.wait_for_ever, MCPToolkitExtensionOptions.new(\"x\").mark_read_only())\n\
         \tEngine.set_meta(&\"waiter\", waiter)\n\
         func _fault(_params):\n\tvar nothing: Variant = null\n\tnothing.shout()\n\treturn MCPToolkitSuccess.ok()\n\
         func _typed(_params) -> Dictionary:\n\tvar list := []\n\treturn list[3]\n\
         func _later(_params) -> Dictionary:\n\tawait Engine.get_main_loop().process_frame\n\tvar list := []\n\treturn list[3]\n\
         func _forever(_params) -> Dictionary:\n\truns += 1\n\twhile true:\n\t\tawait Engine.get_main_loop().process_frame\n\treturn {{}}\n\
         func _block(_params) -> Dictionary:\n\tOS.delay_msec(2000)\n\treturn MCPToolkitSuccess.ok()\n\
         func _count(_params) -> Dictionary:\n\treturn MCPToolkitSuccess.ok({{\"runs\": runs}})\n\
         func _after(_params, _ctx) -> Dictionary:\n\tkept.progress(1)\n\treturn MCPToolkitSuccess.ok({{\"answer\": await kept.call_tool(\"bad_count\")}})\n\
         func _panic(_params) -> Dictionary:\n\truns += 100\n\treturn MCPToolkitSuccess.ok()\n\
         func _large(_params) -> Dictionary:\n\treturn MCPToolkitSuccess.ok({{\"text\": \"x\".repeat(2000000)}})\n\
         func _number(_params):\n\treturn 7\n\
         func _number_later(_params):\n\tawait Engine.get_main_loop().process_frame\n\treturn {{\"answer\": 7}}\n\
         func _late(_params) -> Dictionary:\n\tawait Engine.get_main_loop().create_timer(1.4).timeout\n\tEngine.set_meta(&\"late\", true)\n\treturn MCPToolkitSuccess.ok()\n\
         func _exclusive(_params) -> Dictionary:\n\treturn MCPToolkitSuccess.ok()\n\
         func _freed(_params) -> Dictionary:\n\tvar node := Node.new()\n\tnode.free()\n\treturn {{\"success\": true, \"node\": node}}\n\
         func _context(_params, ctx: MCPToolkitToolContext) -> Dictionary:\n\tkept = ctx\n\tctx.progress(1, 2, \"half\")\n\
         \treturn MCPToolkitSuccess.ok({{\"client\": ctx.client_name(), \"left\": ctx.deadline_ms(), \"dry\": ctx.is_dry_run()}})\n"
    );
    story.write("bad.gd", &text);
    let changes = story.refresh();
    assert_eq!(story.faults("BadTools"), "[]", "{changes}");
    let client = &story.client;
    // X5.4.
    for (name, line) in [("bad_fault", "shout"), ("bad_typed", "index"), ("bad_later", "index")] {
        let error = client.refused(name, json!({}));
        assert_eq!(error["error"], "EXECUTE_FAILED", "{name}: {error}");
        assert_eq!(error["details"]["file"], "res://bad.gd", "{error}");
        assert!(error["details"]["line"].as_i64() > Some(0), "{error}");
        assert!(error["message"].to_string().to_lowercase().contains(line), "{error}");
    }
    // X5.5 and X5.6: the time is kept, once.
    let begun = Instant::now();
    let error = client.refused("bad_forever", json!({}));
    assert_eq!(error["error"], "TIMEOUT");
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert_eq!(client.ok("bad_count", json!({}))["runs"], 1);
    client.ok("bad_block", json!({}));
    let about = client.ok("bad_context", json!({}));
    assert_eq!((&about["client"], &about["dry"]), (&json!("tests 1"), &json!(false)), "{about}");
    assert!(about["left"].as_i64().is_some_and(|it| it > 1_000 && it <= 30_000), "{about}");
    // X6: over when the handler has returned.
    let after = client.ok("bad_after", json!({}));
    assert_eq!(after["answer"]["code"], "INVALID_STATE", "{after}");
    // X5.1 and X5.6: a lambda that waits twice.
    client.ok("bad_lambda", json!({}));
    // X5.3: named, at once and after a wait.
    for (name, handler) in [("bad_number", "_number"), ("bad_number_later", "_number_later")] {
        let error = client.refused(name, json!({}));
        assert_eq!(error["error"], "INTERNAL", "{error}");
        for part in [handler, "BadTools", "7"] {
            assert!(error["message"].to_string().contains(part), "{part}: {error}");
        }
    }
    // X9.
    assert_eq!(client.refused("bad_large", json!({}))["error"], "RESPONSE_TOO_LARGE");
    // S3.5: a panic in native code, before the handler.
    let error = client.refused("bad_panic", json!({}));
    assert_eq!(error["error"], "INTERNAL", "{error}");
    assert!(error["message"].to_string().contains("bad_panic"), "{error}");
    assert_eq!(client.ok("bad_count", json!({}))["runs"], 1);
    // X5.5: the lock is free at once, and what comes late is thrown away and told.
    assert_eq!(client.refused("bad_late", json!({}))["error"], "TIMEOUT");
    let begun = Instant::now();
    client.ok("bad_exclusive", json!({}));
    assert!(begun.elapsed() < Duration::from_millis(300), "{:?}", begun.elapsed());
    while story.editor.gd("return Engine.get_meta(&\"late\", false)") != true {
        assert!(begun.elapsed() < Duration::from_secs(10), "it does not end");
    }
    let late = "\"bad.late\" ended after its call was over";
    while !story.editor.log().iter().any(|it| it.contains(late)) {
        assert!(begun.elapsed() < Duration::from_secs(10), "not told");
    }
    // X5.7.
    let url = (story.editor.url.clone(), story.editor.token.clone());
    let waiting = std::thread::spawn(move || {
        Client::connect_to(&url.0, &url.1, Era::Modern).refused("bad_owner", json!({}))
    });
    std::thread::park_timeout(Duration::from_millis(500));
    story.editor.gd("Engine.get_meta(&\"waiter\").free()");
    let error = waiting.join().expect("a client");
    assert_eq!(error["error"], "INTERNAL", "{error}");
    client.ok("bad_count", json!({}));
    // X11.3: the script goes while a call runs.
    let error = std::thread::scope(|scope| {
        let call = scope.spawn(|| {
            let other = Client::connect(&story.editor, Era::Modern);
            other.refused("bad_forever", json!({}))
        });
        std::fs::remove_file(story.editor.project.join("bad.gd")).expect("removed");
        call.join().expect("a client")
    });
    assert_eq!(error["error"], "TIMEOUT", "{error}");
    story.refresh();
    assert_eq!(story.listed("bad_count"), 0);
}

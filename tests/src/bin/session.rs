//! `make run`: a short real session with a headless editor. `--serve` leaves the editor serving.
#![expect(clippy::print_stdout, reason = "a command line program")]

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use godot_mcp_core::text_diff;
use godot_mcp_tests::client::{Client, Era};
use godot_mcp_tests::editor::{Editor, Launch, repository};
use serde_json::{Value, json};

const SCENE: &str = "main.tscn";

fn main() -> ExitCode {
    if std::env::args().any(|it| it == "--serve") {
        return serve();
    }
    println!("Starting a headless editor on a copy of godot_project/ ...");
    let start = Instant::now();
    let mut editor = launch().start();
    println!("Serving at {} after {:.1} s.\n", editor.url, start.elapsed().as_secs_f32());
    let file = editor.project.join(SCENE);
    let client = Client::connect(&editor, Era::Modern);
    println!("{} tools are listed.\n", client.tools().len());

    let session = Session { client };
    session.call("get_server_info", json!({}));
    session.call("enable_toolset", json!({"category": "scene_edit"}));
    // A first start imports pictures and sounds; the editor opens the main scene only after that.
    session.call("open_scene", json!({"scene_path": format!("res://{SCENE}")}));
    session.call("get_scene_tree", json!({}));
    // The engine writes its own spelling once; what follows is compared with that.
    session.call("save_scene", json!({}));
    let before = std::fs::read_to_string(&file).expect("the scene");
    let set = json!({"node_path": "Player", "property": "position", "value": {"x": 64, "y": 128}});
    let mut preview = set.clone();
    preview["dry_run"] = json!(true);
    session.call("set_node_property", preview);
    session.call("set_node_property", set);
    session.call(
        "set_node_property",
        json!({"node_path": "Player", "property": "positon", "value": "banana"}),
    );
    session.call("delete_node", json!({"node_path": "Enemies"}));
    session.call("delete_node", json!({"node_path": "Enemies", "confirm": true}));
    session.call("get_scene_tree", json!({}));
    session.call("godot_undo", json!({}));
    session.call("save_scene", json!({}));

    let after = std::fs::read_to_string(&file).expect("the scene");
    let diff = text_diff::unified(&before, &after, 2);
    println!("What the session changed in {SCENE}:\n{diff}");
    session.call("godot_undo", json!({}));

    println!("Tools that the project itself adds, in addons/level_tools/:\n");
    session.call("enable_toolset", json!({"category": "extensions"}));
    session.call("extensions_refresh", json!({}));
    session.call("enable_toolset", json!({"category": "level_tools"}));
    session.call("level_list_bodies", json!({"kind": "character"}));
    let overlaps = session.call("level_find_overlaps", json!({}));
    let set = session.call("level_set_layers", json!({"node_path": "Player", "layers": ["world"]}));
    session.call("level_set_layers", json!({"node_path": "Player", "layers": ["sky"]}));
    session.call("godot_undo", json!({}));
    let extended = overlaps["success"] == true && set["undo_token"].is_string();
    session.call("save_scene", json!({}));
    let undone = std::fs::read_to_string(&file).expect("the scene");
    println!(
        "After undoing all and saving, {SCENE} is {}.",
        if undone == before { "the same, byte for byte" } else { "different" }
    );

    let taken_back = project_commands(&session, &editor);
    println!(
        "After the revert the project's files are {}.",
        if taken_back { "the same as before the command" } else { "different" }
    );

    let errors = editor.log_errors();
    let fine = undone == before
        && after != before
        && extended
        && taken_back
        && errors.is_empty()
        && editor.alive();
    if !errors.is_empty() {
        println!("The editor logged errors:\n{}", errors.join("\n"));
    }
    if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A command that the project declares: listed, called, replayed, reverted.
fn project_commands(session: &Session, editor: &Editor) -> bool {
    let level = editor.project.join("level/generated/level_7.tscn");
    session.call("editor_commands_list", json!({}));
    let call = json!({
        "provider": "level", "command": "rebuild", "arguments": {"seed": 7},
        "idempotency_key": "level 7"
    });
    session.call("editor_commands_call", call.clone());
    let made = level.is_file();
    session.call("editor_commands_call", call);
    session.call("editor_commands_revert", json!({"call_key": "level 7"}));
    made && !level.exists()
}

fn launch() -> Launch {
    Launch::folder(repository().join("godot_project")).env("GODOT_MCP_DEFAULT_TOOLSETS", "")
}

struct Session {
    client: Client,
}

impl Session {
    /// Calls and prints: what was asked, what came back, how long it took.
    fn call(&self, name: &str, args: Value) -> Value {
        let start = Instant::now();
        let answer = self.client.call(name, args.clone());
        let time = start.elapsed().as_secs_f64() * 1000.0;
        println!("> {name} {args}");
        let text = match &answer {
            Ok(Value::String(text)) => text.clone(),
            Ok(value) | Err(value) => value.to_string(),
        };
        let mark = if answer.is_ok() { "" } else { "refused: " };
        println!("  {mark}{}\n  ({time:.2} ms)\n", shorten(&text).replace('\n', "\n  "));
        answer.unwrap_or_else(|error| error)
    }
}

fn shorten(text: &str) -> String {
    const MOST: usize = 900;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{} ... ({} bytes in all)", &text[..end], text.len()),
        None => text.to_owned(),
    }
}

fn serve() -> ExitCode {
    let editor: Editor = launch().env("GODOT_MCP_PORT", "8137").start();
    let config = json!({"mcpServers": {"godot": {
        "type": "http",
        "url": editor.url,
        "headers": {"Authorization": format!("Bearer {}", editor.token)},
    }}});
    println!(
        "Address: {}\nToken:   {}\nProject: {}\n",
        editor.url,
        editor.token,
        editor.project.display()
    );
    println!("Client configuration:\n{config:#}\n\nCtrl+C ends the editor.");
    std::io::stdout().flush().expect("a terminal or a pipe");
    let (code, _) = editor.wait(std::time::Duration::MAX);
    println!("The editor has ended with {code:?}.");
    ExitCode::SUCCESS
}

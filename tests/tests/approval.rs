//! Approval by humans (S7) against a real editor: webhook, both protocol eras, the dock.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use godot_mcp_tests::client::{Client, Era};
use godot_mcp_tests::editor::{Editor, Launch};
use godot_mcp_tests::wire::Wire;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
    Implementation,
};
use rmcp::service::{RequestContext, RoleClient};
use rmcp::{ClientHandler, ErrorData};
use serde_json::{Value, json};

const YES: &str = r#"{"approved": true}"#;
const NODE: &str = "EditorInterface.get_base_control().get_tree().root.find_children(\"*\", \"GodotMcp\", true, false)[0]";

fn open_scene(editor: &Editor) {
    editor.gd(
        "var root := Node2D.new()\nroot.name = \"Main\"\nvar a := Node2D.new()\na.name = \"A\"\n\
         root.add_child(a)\na.owner = root\nvar packed := PackedScene.new()\npacked.pack(root)\n\
         root.free()\nResourceSaver.save(packed, \"res://approval.tscn\")\n\
         EditorInterface.open_scene_from_path(\"res://approval.tscn\")",
    );
}

/// Everything a refusal must leave alone (S2.2).
fn state(editor: &Editor) -> Value {
    editor.gd(
        "var root := EditorInterface.get_edited_scene_root()\nvar names := []\n\
         for node in root.find_children(\"*\", \"\", true, false): names.append(str(root.get_path_to(node), node.position))\n\
         var manager := EditorInterface.get_editor_undo_redo()\n\
         var history := manager.get_history_undo_redo(manager.get_object_history_id(root))\n\
         return [names, history.get_version(), history.get_history_count()]",
    )
}

fn create(name: &str) -> Value {
    json!({"parent_path": ".", "node_type": "Node2D", "node_name": name})
}

type Reply = Box<dyn FnMut(&Value) -> Option<String> + Send>;

/// A webhook whose answers can be changed, and which keeps what it was asked.
struct Webhook {
    url: String,
    reply: Arc<Mutex<Reply>>,
    asked: Arc<Mutex<Vec<Value>>>,
}

impl Webhook {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/approve", listener.local_addr().expect("an address"));
        let reply: Arc<Mutex<Reply>> = Arc::new(Mutex::new(Box::new(|_| http("200 OK", "", YES))));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (replies, bodies) = (Arc::clone(&reply), Arc::clone(&asked));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.expect("a connection");
                let Some(body) = body(&stream) else { continue };
                let answer = (replies.lock().expect("no panic"))(&body);
                bodies.lock().expect("no panic").push(body);
                match answer {
                    Some(answer) => drop(stream.write_all(answer.as_bytes())),
                    // Says nothing until the other side gives up.
                    None => drop(stream.read(&mut [0])),
                }
            }
        });
        Self { url, reply, asked }
    }

    fn answers(&self, reply: impl FnMut(&Value) -> Option<String> + Send + 'static) {
        *self.reply.lock().expect("no panic") = Box::new(reply);
    }

    fn asked(&self) -> Vec<Value> {
        std::mem::take(&mut self.asked.lock().expect("no panic"))
    }
}

fn body(stream: &TcpStream) -> Option<Value> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

fn http(status: &str, headers: &str, body: &str) -> Option<String> {
    let length = body.len();
    Some(format!(
        "HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    ))
}

/// S7.1, S7.3, and the table of ways round it: each is denied, and nothing changes.
#[test]
fn the_webhook_decides() {
    let webhook = Webhook::start();
    let editor = Launch::fixture("plain")
        .env("GODOT_MCP_APPROVAL_WEBHOOK", &webhook.url)
        .env("GODOT_MCP_APPROVAL_TIMEOUT", "2")
        .start();
    open_scene(&editor);
    let client = Client::connect(&editor, Era::Modern);

    client.ok("get_scene_tree", json!({}));
    let mut preview = create("N");
    preview["dry_run"] = json!(true);
    client.ok("create_node", preview);
    assert_eq!(webhook.asked(), Vec::<Value>::new(), "S7.3: reads and previews");

    client.ok("create_node", create("N"));
    let asked = webhook.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!((&asked[0]["action"], &asked[0]["params"]), (&json!("create_node"), &create("N")));
    assert!(asked[0]["plan"]["changes"][0].is_object(), "{}", asked[0]);
    assert!(asked[0]["client"].as_str().is_some_and(|it| !it.is_empty()));

    let before = state(&editor);
    let moved = format!("Location: {}\r\n", webhook.url);
    let answers: Vec<(&str, Option<String>)> = vec![
        ("no", http("200 OK", "", r#"{"approved": false, "reason": "not today"}"#)),
        ("malformed", http("200 OK", "", r#"{"approved": "#)),
        ("a string", http("200 OK", "", r#"{"approved": "true"}"#)),
        ("HTML", http("200 OK", "Content-Type: text/html\r\n", "<html>approved</html>")),
        ("redirecting", http("307 Temporary Redirect", &moved, YES)),
        ("an error with a yes", http("500 Internal Server Error", "", YES)),
        ("slow", None),
    ];
    for (what, answer) in answers {
        webhook.answers(move |_| answer.clone());
        let denied = client.refused("create_node", create("M"));
        assert_eq!(
            (&denied["error"], &denied["required"]),
            (&json!("APPROVAL_DENIED"), &json!("human_approval")),
            "{what}: {denied}"
        );
        assert!(denied["message"].as_str().is_some_and(|it| it.contains("webhook")), "{denied}");
        let confirmed = client.refused("delete_node", json!({"node_path": "A", "confirm": true}));
        assert_eq!(confirmed["error"], "APPROVAL_DENIED", "S7.4, {what}");
        assert_eq!(state(&editor), before, "{what}");
    }
    assert_eq!(webhook.asked().len(), 14, "a redirect is not followed");
    for wrong in [json!("true"), json!("false"), json!(1)] {
        let mut args = create("M");
        args["dry_run"] = wrong;
        assert_eq!(client.refused("create_node", args)["error"], "VALIDATION_ERROR");
    }
    assert_eq!(client.refused("delete_node", json!({"node_path": "A"}))["required"], "confirm");
    assert_eq!(
        webhook.asked(),
        Vec::<Value>::new(),
        "nobody is asked about what is refused anyway"
    );
    assert_eq!(state(&editor), before);

    // The scene changes while the webhook thinks: the approval was for another plan.
    let human = Mutex::new(editor.human());
    webhook.answers(move |_| {
        human.lock().expect("no panic").run(
            "EditorInterface.get_edited_scene_root().get_node(\"A\").position = Vector2(7, 7)",
        );
        http("200 OK", "", YES)
    });
    let move_a = json!({"node_path": "A", "property": "position", "value": [1, 2]});
    let changed = client.refused("set_node_property", move_a.clone());
    assert_eq!(changed["error"], "STATE_CHANGED", "S2 step 8: {changed}");
    assert_eq!(
        editor.gd("return EditorInterface.get_edited_scene_root().get_node(\"A\").position.x"),
        7.0
    );
    webhook.answers(|_| http("200 OK", "", YES));
    client.ok("set_node_property", move_a);

    // The main thread goes on while the webhook thinks, and another call is not held up.
    webhook.answers(|_| None);
    std::thread::scope(|scope| {
        let waiting = scope
            .spawn(|| Wire::connect(&editor.url, &editor.token).call("create_node", &create("M")));
        while webhook.asked().is_empty() {
            let begun = Instant::now();
            client.ok("get_scene_tree", json!({}));
            assert!(begun.elapsed() < Duration::from_millis(500));
        }
        let answer = waiting.join().expect("answered");
        assert_eq!(answer["result"]["structuredContent"]["error"], "APPROVAL_DENIED");
    });
    editor.quit();
}

/// S7.1: an unreachable webhook denies, or lets through when the operator said so.
#[test]
fn an_unreachable_webhook() {
    for (fail_open, expected) in [("false", "APPROVAL_DENIED"), ("true", "null")] {
        let editor = Launch::fixture("plain")
            .env("GODOT_MCP_APPROVAL_WEBHOOK", "http://127.0.0.1:9/")
            .env("GODOT_MCP_APPROVAL_FAIL_OPEN", fail_open)
            .start();
        open_scene(&editor);
        let client = Client::connect(&editor, Era::Modern);
        let answer = client.call("create_node", create("N")).unwrap_or_else(|it| it);
        assert_eq!(
            answer.get("error").and_then(Value::as_str).unwrap_or("null"),
            expected,
            "{answer}"
        );
        editor.quit();
    }
}

/// A human behind a client: what they were asked, and what they will say.
#[derive(Clone, Default)]
struct Human {
    asked: Arc<Mutex<Vec<String>>>,
    answers: Arc<Mutex<VecDeque<ElicitResult>>>,
}

impl Human {
    fn will(&self, action: ElicitationAction, approve: Option<bool>) {
        let mut result = ElicitResult::new(action);
        result.content = approve.map(|it| json!({"approve": it}));
        self.answers.lock().expect("no panic").push_back(result);
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().expect("no panic"))
    }
}

impl ClientHandler for Human {
    fn get_info(&self) -> ClientConfig {
        let capabilities = ClientCapabilities::builder().enable_elicitation().build();
        ClientConfig::new(capabilities, Implementation::new("human", "1"))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } = request
        else {
            return Err(ErrorData::invalid_params("a form", None));
        };
        assert!(requested_schema.properties.contains_key("approve"));
        self.asked.lock().expect("no panic").push(message);
        let answer = self.answers.lock().expect("no panic").pop_front();
        Ok(answer.unwrap_or_else(|| ElicitResult::new(ElicitationAction::Cancel)))
    }
}

/// S7.2: the human behind the client is asked, in both eras.
#[test]
fn elicitation() {
    let editor = Launch::fixture("plain").env("GODOT_MCP_APPROVAL_REQUIRE", "true").start();
    open_scene(&editor);
    for era in [Era::Sessions, Era::Modern] {
        let human = Human::default();
        let client = Client::connect_as(human.clone(), &editor.url, &editor.token, era);
        let name = format!("{era:?}");
        client.ok("get_scene_tree", json!({}));
        assert_eq!(human.asked(), Vec::<String>::new(), "{era:?}");
        human.will(ElicitationAction::Accept, Some(true));
        assert_eq!(client.ok("create_node", create(&name))["applied"], true, "{era:?}");
        let asked = human.asked();
        assert_eq!(asked.len(), 1, "{era:?}: {asked:?}");
        assert!(
            asked[0].contains("human 1 wants to run create_node (mutating)")
                && asked[0].contains(&name),
            "{asked:?}"
        );
        let before = state(&editor);
        for (action, approve) in [
            (ElicitationAction::Accept, Some(false)),
            (ElicitationAction::Accept, None),
            (ElicitationAction::Decline, Some(true)),
            (ElicitationAction::Cancel, Some(true)),
        ] {
            human.will(action.clone(), approve);
            let denied = client.refused("create_node", create("M"));
            assert_eq!(denied["error"], "APPROVAL_DENIED", "{era:?} {action:?} {approve:?}");
            assert_eq!(human.asked().len(), 1);
            assert_eq!(state(&editor), before, "{era:?}");
        }
    }
    editor.quit();
}

/// S7.2, 2026-07-28: what is brought back is good once, and only for what was asked.
#[test]
fn forged_and_replayed_answers() {
    let editor = Launch::fixture("plain").env("GODOT_MCP_APPROVAL_REQUIRE", "true").start();
    open_scene(&editor);
    let mut wire = Wire::connect(&editor.url, &editor.token);
    let capabilities = json!({"elicitation": {"form": {}}});
    let yes = json!({"approval": {"action": "accept", "content": {"approve": true}}});
    let mut call = |args: &Value, state: Option<&Value>| {
        let mut extra = json!({});
        if let Some(state) = state {
            extra = json!({"requestState": state, "inputResponses": yes});
        }
        wire.call_with("create_node", args, &extra, &capabilities)
    };
    let result = |it: Value| it["result"].clone();
    let before = state(&editor);
    let first = result(call(&create("N"), None));
    assert_eq!(first["resultType"], "input_required", "{first}");
    let token = first["requestState"].clone();
    assert_eq!(state(&editor), before, "asking changes nothing");
    // Other arguments than were approved.
    for (args, state) in
        [(create("Other"), token.clone()), (create("N"), json!("00000000000000000000000000000000"))]
    {
        let refused = call(&args, Some(&state));
        let message = refused["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("requestState is not valid"), "{refused}");
    }
    assert_eq!(state(&editor), before);
    // The scene changes between the question and the answer.
    let token = result(call(&create("N"), None))["requestState"].clone();
    editor.gd("var node := Node2D.new()\nnode.name = \"N\"\nvar root := EditorInterface.get_edited_scene_root()\nroot.add_child(node)\nnode.owner = root");
    let before = state(&editor);
    let late = result(call(&create("N"), Some(&token)));
    assert!(late["structuredContent"]["error"].is_string(), "{late}");
    assert_eq!(state(&editor), before);
    // And the straight way works, once.
    let token = result(call(&create("P"), None))["requestState"].clone();
    let done = result(call(&create("P"), Some(&token)));
    assert_eq!(done["structuredContent"]["applied"], true, "{done}");
    let again = result(call(&create("P"), Some(&token)));
    assert_eq!(again["structuredContent"]["error"], "APPROVAL_DENIED", "{again}");
    editor.quit();
}

/// S7.2: a client that cannot ask is asked for in the editor; where nobody is, it is denied at once.
#[test]
fn the_dock() {
    let editor = Launch::fixture("plain")
        .env("GODOT_MCP_APPROVAL_REQUIRE", "true")
        .env("GODOT_MCP_APPROVAL_TIMEOUT", "20")
        .start();
    open_scene(&editor);
    let client = Client::connect(&editor, Era::Modern);
    let begun = Instant::now();
    let denied = client.refused("create_node", create("N"));
    assert_eq!(denied["error"], "APPROVAL_DENIED");
    assert!(
        denied["message"].as_str().is_some_and(|it| it.contains("nobody can be asked")),
        "{denied}"
    );
    assert!(begun.elapsed() < Duration::from_secs(2));

    editor.gd(&format!("{NODE}.attend_approvals(true)"));
    let asked = |name: &str, decision: &str| -> Value {
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                let mut wire = Wire::connect(&editor.url, &editor.token);
                wire.call("create_node", &create(name))["result"]["structuredContent"].clone()
            });
            let mut human = editor.human();
            let entry = loop {
                let entries = human.run(&format!("return {NODE}.approvals()"));
                if let Some(entry) = entries.get(0) {
                    break entry.clone();
                }
                assert!(!waiting.is_finished(), "it was not asked about");
            };
            assert_eq!(
                (&entry["tool"], &entry["client"], &entry["safety_class"]),
                (&json!("create_node"), &json!("wire 1"), &json!("mutating")),
                "{entry}"
            );
            assert!(entry["changes"][0].as_str().is_some_and(|it| it.contains(name)), "{entry}");
            assert!(
                entry["expires_in_s"].as_f64().is_some_and(|it| it > 10.0 && it <= 20.0),
                "{entry}"
            );
            let id = entry["id"].as_str().expect("an id");
            assert_eq!(
                human.run(&format!("return {NODE}.answer_approval(\"{id}\", \"perhaps\")")),
                false
            );
            assert_eq!(
                human.run(&format!("return {NODE}.answer_approval(\"{id}\", \"{decision}\")")),
                true
            );
            assert_eq!(
                human.run(&format!("return {NODE}.answer_approval(\"{id}\", \"{decision}\")")),
                false
            );
            waiting.join().expect("answered")
        })
    };
    assert_eq!(asked("N", "deny")["error"], "APPROVAL_DENIED");
    assert_eq!(asked("N", "once")["applied"], true);
    assert_eq!(asked("M", "session")["applied"], true);
    let mut wire = Wire::connect(&editor.url, &editor.token);
    let free = wire.call("create_node", &create("P"));
    assert_eq!(
        free["result"]["structuredContent"]["applied"], true,
        "allowed for the session: {free}"
    );
    editor.quit();
}

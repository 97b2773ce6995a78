//! What a client is answered while no editor runs: enough to stay connected, and for each call a
//! clear error that says what to do (S3).

use godot_mcp_core::{Code, SafetyClass, ToolError};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::message::Message;

const LATEST_WITH_SESSIONS: &str = "2025-11-25";
const VERSIONS: [&str; 5] =
    ["2024-11-05", "2025-03-26", "2025-06-18", LATEST_WITH_SESSIONS, "2026-07-28"];
/// The toolsets that an editor starts with, as the generated reference has them.
const DEFAULT_TOOLSETS: [&str; 2] = [
    include_str!("../../../../docs/tools/core.json"),
    include_str!("../../../../docs/tools/inspection.json"),
];

/// Why a request did not reach an editor.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Unreached {
    /// There is no project, with the reason.
    NoProject(String),
    /// No editor runs; the folder of the project.
    NoEditor { project: String },
    /// It answers, but not as it should: the reason.
    Refused(String),
    /// The relay has started one that does not answer yet, or could not start one: the reason.
    Starting { project: String, problem: Option<String> },
}

impl Unreached {
    pub(super) fn error(&self) -> ToolError {
        match self {
            Self::NoProject(reason) => {
                ToolError::precondition("project", format!("no Godot project: {reason}"))
                    .hint("ask the user to correct --project in the configuration of this server")
            }
            Self::NoEditor { project } => {
                let message =
                    format!("the Godot editor of \"{project}\" does not run, so nothing was done");
                ToolError::precondition("editor", message).hint(format!(
                    "ask the user to open the project in Godot with the plugin Godot MCP enabled, \
                     or run `godot-mcp open --project \"{project}\"` (`--headless` without a \
                     display); then call again, this connection stays"
                ))
            }
            Self::Refused(reason) => ToolError::precondition(
                "editor",
                format!("the Godot editor cannot be used: {reason}"),
            )
            .hint("restart the editor; `godot-mcp doctor` says what is wrong"),
            Self::Starting { project, problem: None } => {
                ToolError::new(Code::Busy, format!("the Godot editor of \"{project}\" is starting"))
                    .hint("call again in some seconds")
            }
            Self::Starting { project, problem: Some(problem) } => {
                let message = format!("the Godot editor of \"{project}\" did not start: {problem}");
                ToolError::precondition("editor", message)
                    .hint(format!("`godot-mcp doctor --project \"{project}\"` says what is wrong"))
            }
        }
    }
}

/// The answer to a request that reached no editor. `tools` is the result of the last `tools/list`.
pub(super) fn answer(message: &Message, why: &Unreached, tools: Option<&Value>) -> Value {
    let modern = message.is_modern();
    match message.method() {
        "initialize" => result(message, false, initialize(message, why)),
        "server/discover" => result(message, true, discover(why)),
        "ping" | "resources/subscribe" | "resources/unsubscribe" => {
            result(message, modern, json!({}))
        }
        "tools/list" => {
            result(message, modern, list(modern, "tools", tools.map_or_else(listed, tool_entries)))
        }
        "resources/list" => result(message, modern, list(modern, "resources", json!([]))),
        "resources/templates/list" => {
            result(message, modern, list(modern, "resourceTemplates", json!([])))
        }
        "prompts/list" => result(message, modern, list(modern, "prompts", json!([]))),
        "tools/call" => tool_error(message, &why.error()),
        _ => {
            let error = why.error();
            let text = format!("{}; {}", error.message, error.hint);
            failure(message.id(), -32603, &text, Some(error.to_value()))
        }
    }
}

/// A call whose answer will never come: the editor went away after it was sent.
pub(super) fn lost(message: &Message, reason: &str) -> Value {
    let method = message.method();
    let text = format!("the editor went away before it answered ({reason})");
    let error = ToolError::new(Code::Cancelled, text)
        .hint("it may have been done: look at the state before you call again")
        .details(json!({"may_have_applied": true}));
    if method == "tools/call" {
        tool_error(message, &error)
    } else {
        failure(message.id(), -32603, &error.message, Some(error.to_value()))
    }
}

/// The one error shape (S3), as the editor would send it.
fn tool_error(message: &Message, error: &ToolError) -> Value {
    let value = error.to_value();
    let content = json!([{"type": "text", "text": value.to_string()}]);
    let answer = json!({"content": content, "structuredContent": value, "isError": true});
    result(message, message.is_modern(), answer)
}

fn result(message: &Message, modern: bool, mut result: Value) -> Value {
    if modern {
        result["resultType"] = json!("complete");
    }
    json!({"jsonrpc": "2.0", "id": message.id(), "result": result})
}

pub(super) fn failure(id: Option<&Value>, code: i64, text: &str, data: Option<Value>) -> Value {
    let mut error = json!({"code": code, "message": text});
    if let Some(data) = data {
        error["data"] = data;
    }
    json!({"jsonrpc": "2.0", "id": id, "error": error})
}

/// What the server declares; a live test compares.
fn capabilities() -> Value {
    json!({
        "tools": {"listChanged": true},
        "resources": {"subscribe": true, "listChanged": true},
    })
}

fn identity() -> Value {
    json!({"name": "godot-mcp", "version": env!("CARGO_PKG_VERSION")})
}

fn instructions(why: &Unreached) -> String {
    let error = why.error();
    format!("Tools for the Godot editor. At the moment {}: {}.", error.message, error.hint)
}

fn initialize(message: &Message, why: &Unreached) -> Value {
    let asked = message.params().get("protocolVersion").and_then(Value::as_str);
    let with_sessions = asked.filter(|it| VERSIONS[..4].contains(it));
    json!({
        "protocolVersion": with_sessions.unwrap_or(LATEST_WITH_SESSIONS),
        "capabilities": capabilities(),
        "serverInfo": identity(),
        "instructions": instructions(why),
    })
}

fn discover(why: &Unreached) -> Value {
    json!({
        "supportedVersions": VERSIONS,
        "capabilities": capabilities(),
        "instructions": instructions(why),
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": {"io.modelcontextprotocol/serverInfo": identity()},
    })
}

fn list(modern: bool, key: &str, entries: Value) -> Value {
    let mut list = json!({key: entries});
    if modern {
        list["ttlMs"] = json!(0);
        list["cacheScope"] = json!("private");
    }
    list
}

fn tool_entries(list: &Value) -> Value {
    list.get("tools").cloned().unwrap_or_else(|| json!([]))
}

#[derive(Deserialize)]
struct Reference {
    toolset: String,
    tools: Vec<ReferenceTool>,
}

#[derive(Deserialize)]
struct ReferenceTool {
    name: String,
    class: String,
    description: String,
    input_schema: Map<String, Value>,
}

/// The default tools, so that a client that asks only once has them (S11.1).
fn listed() -> Value {
    let sets = DEFAULT_TOOLSETS.iter().filter_map(|it| serde_json::from_str::<Reference>(it).ok());
    sets.flat_map(|set| {
        let toolset = set.toolset;
        set.tools.into_iter().map(move |tool| {
            json!({
                "name": tool.name,
                "description": tool.description,
                "inputSchema": tool.input_schema,
                "annotations": annotations(&tool.class),
                "_meta": {"safety_class": tool.class, "toolset": toolset},
            })
        })
    })
    .collect()
}

/// The table of S1.
fn annotations(class: &str) -> Value {
    let is = |other: SafetyClass| class == other.as_str();
    let mut hints = json!({"readOnlyHint": is(SafetyClass::ReadOnly)});
    if is(SafetyClass::Mutating) || is(SafetyClass::Destructive) {
        hints["destructiveHint"] = json!(is(SafetyClass::Destructive));
    }
    if is(SafetyClass::ReadOnly) {
        hints["idempotentHint"] = json!(true);
    }
    hints["openWorldHint"] = json!(false);
    hints
}

/// Whether a tool changes nothing, so that a call may be repeated.
pub(super) fn is_read_only(name: &str, tools: Option<&Value>) -> bool {
    let entries = tools.map_or_else(listed, tool_entries);
    let entries = entries.as_array().map(Vec::as_slice).unwrap_or_default();
    let tool = entries.iter().find(|it| it["name"] == name);
    tool.is_some_and(|it| it["annotations"]["readOnlyHint"] == true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(method: &str, params: Value) -> Message {
        let text = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        Message::parse(text.to_string().into()).unwrap()
    }

    fn no_editor() -> Unreached {
        Unreached::NoEditor { project: "/p".to_owned() }
    }

    #[test]
    fn a_call_gets_the_error_shape_of_all_tools() {
        let answer = answer(&message("tools/call", json!({"name": "x"})), &no_editor(), None);
        let result = &answer["result"];
        assert_eq!((&answer["id"], &result["isError"]), (&json!(7), &json!(true)));
        let error = &result["structuredContent"];
        assert_eq!(
            (&error["error"], &error["required"]),
            (&json!("PRECONDITION_FAILED"), &json!("editor"))
        );
        assert!(error["hint"].as_str().unwrap().contains("godot-mcp open"));
        let text = result["content"][0]["text"].as_str().unwrap();
        assert_eq!(&serde_json::from_str::<Value>(text).unwrap(), error);
        assert_eq!(result.get("resultType"), None, "a legacy answer");
    }

    #[test]
    fn initialize_agrees_on_a_version_that_both_know() {
        for (asked, given) in [
            ("2024-11-05", "2024-11-05"),
            ("2026-07-28", "2025-11-25"),
            ("2099-01-01", "2025-11-25"),
        ] {
            let asked = message("initialize", json!({"protocolVersion": asked}));
            let answer = answer(&asked, &no_editor(), None);
            assert_eq!(answer["result"]["protocolVersion"], given);
        }
    }

    #[test]
    fn modern_answers_carry_what_that_version_wants() {
        let meta = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}});
        let list = answer(&message("tools/list", meta.clone()), &no_editor(), None);
        let result = &list["result"];
        assert_eq!(
            (&result["resultType"], &result["ttlMs"], &result["cacheScope"]),
            (&json!("complete"), &json!(0), &json!("private"))
        );
        let discover = answer(&message("server/discover", meta), &no_editor(), None);
        assert_eq!(discover["result"]["supportedVersions"].as_array().unwrap().len(), 5);
    }

    #[test]
    fn the_default_tools_are_listed_and_their_class_is_known() {
        let list = answer(&message("tools/list", json!({})), &no_editor(), None);
        let tools = list["result"]["tools"].as_array().unwrap();
        assert!(tools.len() > 20);
        assert_eq!(tools[0]["name"], "health_check");
        assert!(is_read_only("health_check", None));
        assert!(!is_read_only("godot_undo", None) && !is_read_only("nothing", None));
        let last = json!({"tools": [{"name": "mine", "annotations": {"readOnlyHint": true}}]});
        assert!(is_read_only("mine", Some(&last)));
        let list = answer(&message("tools/list", json!({})), &no_editor(), Some(&last));
        assert_eq!(list["result"], last);
    }
}

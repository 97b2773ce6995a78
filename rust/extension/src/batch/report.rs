//! What a batch answers, and what audit log and dock are told of its entries.

use std::time::Instant;

use godot_mcp_core::{Answer, Reply, SafetyClass, ToolError, audit, digest};
use serde_json::{Map, Value, json};

use super::Command;
use super::look::Seen;
use crate::editor::Editor;

/// Bytes of all answers together that one answer carries; of later ones only the outcome.
const MAX_BYTES: usize = 256 << 10;
/// Fields that are never left out.
const OUTCOME: &[&str] = &[
    "applied",
    "dry_run",
    "no_change",
    "node_path",
    "persisted",
    "reason",
    "undoable",
    "undo_token",
];

/// The results of the entries so far.
#[derive(Default)]
pub(super) struct Report {
    results: Vec<Value>,
    bytes: usize,
    done: usize,
    failed: usize,
    skipped: usize,
    applied: bool,
    undoable: Option<bool>,
    /// The worst of all writes.
    persisted: Option<Value>,
}

impl Report {
    pub(super) fn done(&mut self, command: &Command, reply: Reply) {
        self.done += 1;
        let (answer, left_out) = match reply {
            Reply::Json(value) => (value, None),
            Reply::Text(text) => (json!(text), None),
            Reply::Image { about, .. } => (about, Some("the image; call the tool by itself")),
            Reply::Content(_) | Reply::Ask(_) => {
                (Value::Null, Some("what is no JSON; call the tool by itself"))
            }
        };
        if answer["applied"] == true {
            self.applied = true;
            let undoable = answer["undoable"] == true;
            self.undoable = Some(self.undoable.unwrap_or(true) && undoable);
        }
        if let Some(found) = answer.get("persisted").filter(|_| answer["dry_run"] != true) {
            let weight = |it: &Value| match it {
                Value::Bool(true) => 0,
                Value::Bool(false) => 2,
                _ => 1,
            };
            if self.persisted.as_ref().is_none_or(|it| weight(found) > weight(it)) {
                self.persisted = Some(found.clone());
            }
        }
        let mut entry = self.entry(command, "done");
        let size = answer.to_string().len();
        if self.bytes + size > MAX_BYTES {
            let fields = answer.as_object().into_iter().flatten();
            let kept: Map<_, _> = fields
                .filter(|it| OUTCOME.contains(&it.0.as_str()))
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect();
            entry["answer"] = Value::Object(kept);
            entry["left_out"] =
                json!(format!("{size} bytes; call the tool by itself for all of it"));
        } else {
            self.bytes += size;
            entry["answer"] = answer;
        }
        if let Some(what) = left_out {
            entry["left_out"] = json!(what);
        }
        self.results.push(entry);
    }

    pub(super) fn failed(&mut self, command: &Command, error: &ToolError) {
        self.failed += 1;
        let mut entry = self.entry(command, "failed");
        entry["error"] = error.to_value();
        self.results.push(entry);
    }

    pub(super) fn skipped(&mut self, command: &Command) {
        self.skipped += 1;
        let entry = self.entry(command, "skipped");
        self.results.push(entry);
    }

    fn entry(&self, command: &Command, status: &str) -> Value {
        json!({"index": self.results.len(), "tool": command.tool, "status": status})
    }

    pub(super) fn answer(self, extra: Map<String, Value>) -> Value {
        let mut fields = Map::new();
        fields.insert("applied".into(), json!(self.applied));
        fields.insert("done".into(), json!(self.done));
        fields.insert("failed".into(), json!(self.failed));
        fields.insert("skipped".into(), json!(self.skipped));
        if let Some(persisted) = self.persisted {
            fields.insert("persisted".into(), persisted);
        }
        fields.insert("undoable".into(), json!(self.undoable.unwrap_or(false)));
        fields.extend(extra);
        fields.insert("results".into(), Value::Array(self.results));
        Value::Object(fields)
    }
}

/// The answer of a dry run.
pub(super) fn preview(commands: &[Command], seen: Vec<Seen>) -> Value {
    let (mut previewed, mut refused, mut open) = (0, 0, 0);
    let mut changing = 0;
    let results: Vec<Value> = commands
        .iter()
        .zip(seen)
        .enumerate()
        .map(|(index, (command, seen))| {
            let mut entry = json!({"index": index, "tool": command.tool});
            let mut status = |status: &str| entry["status"] = json!(status);
            match seen {
                Seen::Planned(plan) => {
                    changing += 1;
                    match plan.preview {
                        Some(preview) => {
                            previewed += 1;
                            status("previewed");
                            entry["preview"] = preview;
                        }
                        None => {
                            open += 1;
                            status("not_previewed");
                            entry["reason"] = json!(super::look::RUNTIME);
                        }
                    }
                }
                Seen::Refused(error) => {
                    refused += 1;
                    status("refused");
                    entry["error"] = error.to_value();
                }
                Seen::Depends(_, error) => {
                    open += 1;
                    changing += 1;
                    status("not_previewed");
                    entry["reason"] = json!(
                        "it depends on commands before it, or will be refused; now it would be"
                    );
                    entry["error"] = error.to_value();
                }
                Seen::Unplanned(_, why) => {
                    open += 1;
                    status("not_previewed");
                    entry["reason"] = json!(why);
                }
            }
            entry
        })
        .collect();
    let mut answer = json!({
        "dry_run": true, "applied": false, "previewed": previewed, "refused": refused,
        "not_previewed": open, "results": results,
    });
    if changing > 1 {
        answer["note"] = json!(
            "each is previewed in the present state, not in the one that those before it leave"
        );
    }
    answer
}

/// How an entry ended, for the audit log.
pub(super) struct Ending<'a> {
    pub(super) begun: Instant,
    pub(super) outcome: Option<&'static str>,
    pub(super) transaction: Option<String>,
    pub(super) undo_token: Option<&'a str>,
    pub(super) approved_by: Option<String>,
}

/// Step 10: the entry's own line in the audit log, and in the dock.
pub(super) fn record(
    editor: &Editor,
    client: &str,
    command: &Command,
    answer: &Answer,
    ending: Ending,
) {
    let shared = editor.shared();
    let registry = shared.gate.registry();
    let class = registry.get(&command.tool).map(|it| it.spec.class);
    let (mut undo_token, mut preview) = (ending.undo_token, false);
    if let Ok(Reply::Json(value)) = answer {
        undo_token = undo_token.or_else(|| value["undo_token"].as_str());
        preview = value["dry_run"] == true;
    }
    let outcome = match answer {
        Ok(_) if preview => "preview",
        Ok(_) => "ok",
        Err(_) => "refused",
    };
    let entry = audit::Entry {
        client,
        tool: &command.tool,
        class: class.map_or("", SafetyClass::as_str),
        arguments_hash: &digest::call(&command.tool, &command.arguments),
        arguments: Some(&command.arguments),
        outcome: ending.outcome.unwrap_or(outcome),
        code: answer.as_ref().err().map(|it| it.code.as_str()),
        duration_ms: ending.begun.elapsed().as_secs_f64() * 1000.0,
        transaction: ending.transaction,
        undo_token,
        approved_by: ending.approved_by,
    };
    if let Err(error) = shared.audit.write(&entry) {
        tracing::error!("a call is missing in the audit log, which cannot be written: {error}");
    }
    if let Some(class) = class {
        let (tool, client) = (command.tool.clone(), client.to_owned());
        shared.activity.record(tool, class, client, ending.begun.elapsed(), answer);
    }
}

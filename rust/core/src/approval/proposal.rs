//! What a human is shown.

use serde_json::{Map, Value};

/// Changes that are shown; more are counted.
pub const MAX_LINES: usize = 20;
const MAX_LINE_CHARS: usize = 200;

/// A planned call, waiting for somebody's word.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    pub tool: String,
    pub class: &'static str,
    pub client: String,
    /// What it does, in a few words.
    pub title: String,
    /// The tool's own arguments.
    pub args: Map<String, Value>,
    /// The plan as a preview prints it.
    pub changes: Value,
    /// Hash of tool, arguments and whole plan.
    pub digest: String,
}

impl Proposal {
    /// The changes in a line each.
    pub fn lines(&self) -> Vec<String> {
        let Value::Array(changes) = &self.changes else { return vec![line(&self.changes)] };
        let mut lines: Vec<String> = changes.iter().take(MAX_LINES).map(line).collect();
        if changes.len() > MAX_LINES {
            lines.push(format!("and {} more", changes.len() - MAX_LINES));
        }
        lines
    }

    /// A question with all of it.
    pub fn question(&self) -> String {
        let who = if self.client.is_empty() { "An MCP client" } else { &self.client };
        let mut text =
            format!("{} wants to run {} ({}): {}", shown(who), self.tool, self.class, self.title);
        for line in self.lines() {
            text.push_str("\n- ");
            text.push_str(&line);
        }
        text
    }
}

/// `{"set": "A:position", "old": 1, "new": 2}` becomes `set A:position, old 1, new 2`.
fn line(change: &Value) -> String {
    let text = match change {
        Value::Object(map) => map
            .iter()
            .map(|(name, value)| format!("{name} {}", text(value)))
            .collect::<Vec<_>>()
            .join(", "),
        other => text(other),
    };
    shown(&text)
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// One line, whatever the project's own text has in it: nothing may look like a line of ours.
fn shown(text: &str) -> String {
    let mut shown: String = text
        .chars()
        .map(|it| if it.is_control() { ' ' } else { it })
        .take(MAX_LINE_CHARS)
        .collect();
    if text.chars().nth(MAX_LINE_CHARS).is_some() {
        shown.push_str(" ...");
    }
    shown
}

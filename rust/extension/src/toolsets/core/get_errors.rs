use godot_mcp_core::feed::{Entry, Severity};
use godot_mcp_core::untrusted;

use serde::Serialize;

use crate::tool_prelude::*;

/// What editor, scripts and imports logged, oldest first, one JSON line each with file, line and
/// stack. Give the answer's cursor as since to read only what is new.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct GetErrors {
    /// Cursor of an earlier answer.
    #[serde(default)]
    since: u64,
    /// The least severity.
    #[serde(default = "warning")]
    severity: Least,
    #[serde(default = "fifty")]
    #[schemars(range(min = 1, max = 500))]
    limit: u16,
}

#[derive(Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Least {
    Info,
    Warning,
    Error,
}

fn warning() -> Least {
    Least::Warning
}

fn fifty() -> u16 {
    50
}

/// Longer messages are cut, so that one dump does not fill the answer.
const MAX_MESSAGE: usize = 2_000;

impl Tool for GetErrors {
    const NAME: &'static str = "get_errors";
    const TOOLSET: &'static str = "core";

    fn adjust(spec: &mut ToolSpec) {
        spec.free_text = true;
    }

    fn examples() -> Vec<Example> {
        vec![
            Example::answer("Answers a cursor.", "", json!({"cursor": "*", "has_more": "*"}))
                .args(json!({"severity": "error"})),
            Example::refusal("Refuses an unknown severity.", "", Code::ValidationError)
                .args(json!({"severity": "fatal"})),
        ]
    }
}

impl OfflineTool for GetErrors {
    fn run(self, shared: &Shared) -> Answer {
        let severity = match self.severity {
            Least::Info => Severity::Info,
            Least::Warning => Severity::Warning,
            Least::Error => Severity::Error,
        };
        let page = shared.feed.page(self.since, severity, usize::from(self.limit));
        let lines: Vec<String> = page.entries.iter().map(line).collect();
        let mut answer = json!({
            "cursor": page.next,
            "returned": lines.len(),
            "has_more": page.has_more,
            "dropped": page.dropped,
        });
        if lines.is_empty() {
            answer["note"] = json!("nothing of this severity was logged since");
        } else {
            answer["entries"] = json!(untrusted::wrap("editor log", &lines.join("\n")));
        }
        Ok(answer.into())
    }
}

/// One line of JSON, since a message of several lines could pass for several entries.
fn line(entry: &Entry) -> String {
    let mut entry = entry.clone();
    if let Some((end, _)) = entry.message.char_indices().nth(MAX_MESSAGE) {
        entry.message.truncate(end);
        entry.message.push_str(" (cut)");
    }
    serde_json::to_string(&entry).unwrap_or_default()
}

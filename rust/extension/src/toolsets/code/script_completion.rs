use std::sync::Arc;

use godot_mcp_core::untrusted;

use crate::services::code_queries;
use crate::tool_prelude::*;

/// What can stand at a place in a GDScript, as the editor would complete it.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ScriptCompletion {
    script_path: ResPath,
    /// From 1.
    #[schemars(range(min = 1))]
    line: usize,
    /// In characters, from 1. What is typed before it filters.
    #[schemars(range(min = 1))]
    column: usize,
    /// Unsaved text of it.
    #[serde(default)]
    text: Option<String>,
    #[serde(default = "fifty")]
    #[schemars(range(min = 1, max = 1000))]
    limit: usize,
}

fn fifty() -> usize {
    50
}

impl Tool for ScriptCompletion {
    const NAME: &'static str = "script_completion";
    const TOOLSET: &'static str = "code";

    fn adjust(spec: &mut ToolSpec) {
        spec.free_text = true;
    }

    fn examples() -> Vec<Example> {
        let before = ";- res://a.gd\nextends Node2D\n\nfunc run() -> void:\n\tposition.leng";
        vec![
            Example::text("Completes a method.", before, &["length_squared("])
                .args(json!({"script_path": "res://a.gd", "line": 4, "column": 15})),
            Example::refusal("Refuses a missing file.", before, Code::ResourceNotFound)
                .args(json!({"script_path": "res://c.gd", "line": 1, "column": 1})),
        ]
    }
}

impl AsyncTool for ScriptCompletion {
    fn run(self, shared: Arc<Shared>) -> AnswerFuture {
        Box::pin(async move {
            let document = code_queries::document(&shared, self.script_path.as_str(), self.text)?;
            let position = code_queries::position(&document, self.line, self.column)?;
            let params = json!({"position": position, "context": {"triggerKind": 1}});
            let found =
                shared.language_server.ask(&document, "textDocument/completion", &params).await?;
            let items = found.as_array().or(found["items"].as_array()).cloned().unwrap_or_default();
            let typed = typed_before(&document.text, self.line, self.column).to_lowercase();
            let mut names: Vec<&str> = items
                .iter()
                .filter_map(|it| it["insertText"].as_str().or(it["label"].as_str()))
                .filter(|it| it.to_lowercase().trim_start_matches(['"', '\'']).starts_with(&typed))
                .collect();
            let total = names.len();
            names.truncate(self.limit);
            let text = untrusted::wrap(&document.path, &names.join("\n"));
            Ok(json!({"total": total, "shown": names.len(), "completions": text}).into())
        })
    }
}

/// The part of a name that stands before a place.
fn typed_before(text: &str, line: usize, column: usize) -> String {
    let line = text.split('\n').nth(line - 1).unwrap_or_default();
    let before: Vec<char> = line.chars().take(column - 1).collect();
    let is_part = |it: &&char| it.is_alphanumeric() || **it == '_';
    let length = before.iter().rev().take_while(is_part).count();
    before[before.len() - length..].iter().collect()
}

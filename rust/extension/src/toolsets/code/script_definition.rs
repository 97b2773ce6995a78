use std::sync::Arc;

use godot_mcp_core::untrusted;

use crate::services::code_queries::{self, Quotes};
use crate::tool_prelude::*;

/// Where the name at a place in a GDScript is declared, in the project's scripts. Null for what the
/// engine declares.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ScriptDefinition {
    script_path: ResPath,
    /// From 1.
    #[schemars(range(min = 1))]
    line: usize,
    /// In characters, from 1.
    #[schemars(range(min = 1))]
    column: usize,
    /// Unsaved text of it.
    #[serde(default)]
    text: Option<String>,
}

impl Tool for ScriptDefinition {
    const NAME: &'static str = "script_definition";
    const TOOLSET: &'static str = "code";

    fn adjust(spec: &mut ToolSpec) {
        spec.free_text = true;
    }

    fn examples() -> Vec<Example> {
        let before = ";- res://a.gd\nextends Node\n\nfunc run() -> void:\n\tpass\n;- res://b.gd\nextends \"a.gd\"\n\nfunc go() -> void:\n\trun()";
        vec![
            Example::answer(
                "Finds a function of the base script.",
                before,
                json!({"definition": {"script_path": "res://a.gd", "line": 3, "column": 6}}),
            )
            .args(json!({"script_path": "res://b.gd", "line": 4, "column": 3})),
            Example::answer(
                "Finds none for the engine's own.",
                before,
                json!({"definition": null}),
            )
            .args(json!({"script_path": "res://b.gd", "line": 3, "column": 1})),
            Example::refusal("Refuses a missing file.", before, Code::ResourceNotFound)
                .args(json!({"script_path": "res://c.gd", "line": 1, "column": 1})),
        ]
    }
}

impl AsyncTool for ScriptDefinition {
    fn run(self, shared: Arc<Shared>) -> AnswerFuture {
        Box::pin(async move {
            let document = code_queries::document(&shared, self.script_path.as_str(), self.text)?;
            let position = code_queries::position(&document, self.line, self.column)?;
            let params = json!({"position": position});
            let found =
                shared.language_server.ask(&document, "textDocument/definition", &params).await?;
            let mut quotes = Quotes::with(document);
            let definition = code_queries::places(&shared, &found).into_iter().next().map(|it| {
                let text = untrusted::wrap(&it.path, &quotes.quote(&shared, &it));
                json!({
                    "script_path": it.path, "line": it.line, "column": it.column, "text": text
                })
            });
            Ok(json!({"definition": definition}).into())
        })
    }
}

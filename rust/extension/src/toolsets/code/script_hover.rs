use std::sync::Arc;

use godot_mcp_core::untrusted;

use crate::services::code_queries;
use crate::tool_prelude::*;

/// Declaration and documentation of the name at a place in a GDScript; null when nothing is known.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ScriptHover {
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

impl Tool for ScriptHover {
    const NAME: &'static str = "script_hover";
    const TOOLSET: &'static str = "code";

    fn adjust(spec: &mut ToolSpec) {
        spec.free_text = true;
    }

    fn examples() -> Vec<Example> {
        let before =
            ";- res://a.gd\nextends Node\n\n## Runs.\nfunc run(by: int) -> int:\n\treturn by";
        vec![
            Example::text("Tells of a function.", before, &["func run(by: int) -> int", "Runs."])
                .args(json!({"script_path": "res://a.gd", "line": 4, "column": 6})),
            Example::answer("Knows nothing of an empty line.", before, json!({"hover": null}))
                .args(json!({"script_path": "res://a.gd", "line": 2, "column": 1})),
            Example::refusal("Refuses a line that is not there.", before, Code::ValidationError)
                .args(json!({"script_path": "res://a.gd", "line": 99, "column": 1})),
        ]
    }
}

impl AsyncTool for ScriptHover {
    fn run(self, shared: Arc<Shared>) -> AnswerFuture {
        Box::pin(async move {
            let document = code_queries::document(&shared, self.script_path.as_str(), self.text)?;
            let position = code_queries::position(&document, self.line, self.column)?;
            let params = json!({"position": position});
            let found =
                shared.language_server.ask(&document, "textDocument/hover", &params).await?;
            let text = found["contents"]["value"].as_str().map(str::trim).unwrap_or_default();
            let hover = (!text.is_empty()).then(|| untrusted::wrap(&document.path, text));
            Ok(json!({"script_path": document.path, "hover": hover}).into())
        })
    }
}

use std::sync::Arc;

use godot_mcp_core::untrusted;

use crate::services::code_queries::{self, Quotes};
use crate::tool_prelude::*;

/// Where the name at a place in a GDScript is used in all scripts, its declaration included, each as
/// `path:line:column: text`.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ScriptReferences {
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
    #[serde(default)]
    offset: usize,
    #[serde(default = "hundred")]
    #[schemars(range(min = 1, max = 1000))]
    limit: usize,
}

fn hundred() -> usize {
    100
}

impl Tool for ScriptReferences {
    const NAME: &'static str = "script_references";
    const TOOLSET: &'static str = "code";

    fn adjust(spec: &mut ToolSpec) {
        spec.free_text = true;
    }

    fn examples() -> Vec<Example> {
        let before = ";- res://a.gd\nextends Node\n\nfunc run() -> void:\n\trun()\n;- res://b.gd\nextends \"a.gd\"\n\nfunc go() -> void:\n\trun()";
        vec![
            Example::text(
                "Finds uses in other scripts.",
                before,
                &["res://a.gd:4:2: run()", "res://b.gd:4:2: run()"],
            )
            .args(json!({"script_path": "res://a.gd", "line": 3, "column": 6})),
            Example::answer("Finds none of an empty line.", before, json!({"total": 0}))
                .args(json!({"script_path": "res://a.gd", "line": 2, "column": 1})),
            Example::refusal("Refuses a column that is not there.", before, Code::ValidationError)
                .args(json!({"script_path": "res://a.gd", "line": 2, "column": 9})),
        ]
    }
}

impl AsyncTool for ScriptReferences {
    fn run(self, shared: Arc<Shared>) -> AnswerFuture {
        Box::pin(async move {
            let document = code_queries::document(&shared, self.script_path.as_str(), self.text)?;
            let position = code_queries::position(&document, self.line, self.column)?;
            let params = json!({"position": position, "context": {"includeDeclaration": true}});
            let found =
                shared.language_server.ask(&document, "textDocument/references", &params).await?;
            let places = code_queries::places(&shared, &found);
            let path = document.path.clone();
            let mut quotes = Quotes::with(document);
            let page = places.iter().skip(self.offset).take(self.limit);
            let lines: Vec<_> = page.map(|it| quotes.quote(&shared, it)).collect();
            let mut answer = json!({"total": places.len()});
            let end = self.offset + lines.len();
            if end < places.len() {
                answer["next_offset"] = json!(end);
            }
            answer["references"] = json!(untrusted::wrap(&path, &lines.join("\n")));
            Ok(answer.into())
        })
    }
}

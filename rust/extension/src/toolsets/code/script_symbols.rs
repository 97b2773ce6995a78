use std::fmt::Write as _;
use std::sync::Arc;

use godot_mcp_core::untrusted;

use crate::services::code_queries;
use crate::tool_prelude::*;

/// Outline of a GDScript: classes, functions, variables, signals and constants with their lines.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ScriptSymbols {
    script_path: ResPath,
    /// Unsaved text of it.
    #[serde(default)]
    text: Option<String>,
}

impl Tool for ScriptSymbols {
    const NAME: &'static str = "script_symbols";
    const TOOLSET: &'static str = "code";

    fn adjust(spec: &mut ToolSpec) {
        spec.free_text = true;
    }

    fn examples() -> Vec<Example> {
        let before = ";- res://a.gd\nextends Node\n\nsignal done(by: int)\n\nfunc run(by: int) -> int:\n\treturn by";
        vec![
            Example::text(
                "Lists functions and signals.",
                before,
                &["3: signal done(by)", "5-6: func run(by: int) -> int"],
            )
            .args(json!({"script_path": "res://a.gd"})),
            Example::text("Takes a text that is not saved.", before, &["var hp: int"])
                .args(json!({"script_path": "res://a.gd", "text": "var hp: int\n"})),
            Example::refusal("Refuses what is no GDScript.", before, Code::Unsupported)
                .args(json!({"script_path": "res://scene.tscn"})),
        ]
    }
}

impl AsyncTool for ScriptSymbols {
    fn run(self, shared: Arc<Shared>) -> AnswerFuture {
        Box::pin(async move {
            let document = code_queries::document(&shared, self.script_path.as_str(), self.text)?;
            let method = "textDocument/documentSymbol";
            let found = shared.language_server.ask(&document, method, &json!({})).await?;
            let (mut outline, mut count) = (String::new(), 0);
            write(&found, 0, &mut outline, &mut count);
            let text = untrusted::wrap(&document.path, outline.trim_end());
            Ok(json!({"script_path": document.path, "symbols": count, "outline": text}).into())
        })
    }
}

/// One line a symbol: lines, declaration, and the first line of its documentation.
fn write(symbols: &Value, depth: usize, outline: &mut String, count: &mut usize) {
    for symbol in symbols.as_array().into_iter().flatten() {
        let text = |name: &str| symbol[name].as_str().unwrap_or_default();
        // From the name on: annotations and comments above it belong to the range.
        let first = symbol["selectionRange"]["start"]["line"].as_u64().unwrap_or(0) + 1;
        let last = symbol["range"]["end"]["line"].as_u64().unwrap_or(0) + 1;
        let lines = if last > first { format!("{first}-{last}") } else { first.to_string() };
        let about = if text("detail").is_empty() { text("name") } else { text("detail") };
        let _ = write!(outline, "{}{lines}: {about}", "  ".repeat(depth));
        if let Some(doc) = text("documentation").lines().map(str::trim).find(|it| !it.is_empty()) {
            let _ = write!(outline, "  ## {doc}");
        }
        outline.push('\n');
        *count += 1;
        write(&symbol["children"], depth + 1, outline, count);
    }
}

use std::sync::Arc;
use std::time::Duration;

use godot_mcp_core::untrusted;
use tokio::time::timeout;

use crate::editor::script_files;
use crate::services::code_queries;
use crate::tool::{Prepare, Prepared};
use crate::tool_prelude::*;

/// Checks a GDScript file: parse and type errors, each as `line: message`.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct GetParseErrors {
    script_path: ResourcePath,
    /// Warnings too; slower.
    #[serde(default)]
    warnings: bool,
    /// What the language server said, set by `prepare`.
    #[serde(default)]
    #[schemars(skip)]
    prepared: Value,
}

/// The language server answers in some 20 ms, or is not there.
const PATIENCE: Duration = Duration::from_secs(5);

impl Tool for GetParseErrors {
    const NAME: &'static str = "get_parse_errors";
    const TOOLSET: &'static str = "scripts";

    fn adjust(spec: &mut ToolSpec) {
        spec.free_text = true;
    }

    fn examples() -> Vec<Example> {
        let before = ";- res://good.gd\nextends Node\n;- res://bad.gd\nextends Node\nvar a: int = \"x\"\nfunc b():\n\treturn c\n;- res://c.cs\n// C#";
        vec![
            Example::answer(
                "Finds nothing wrong.",
                before,
                json!({"script_path": "res://good.gd", "ok": true, "error_count": 0}),
            )
            .args(json!({"script_path": "res://good.gd"})),
            Example::answer(
                "Finds errors of syntax and types.",
                before,
                json!({"ok": false, "error_count": 3, "errors": "*"}),
            )
            .args(json!({"script_path": "res://bad.gd"})),
            Example::answer(
                "Tells warnings too.",
                ";- res://warn.gd\nextends Node\n\nfunc run() -> void:\n\tvar left := 1",
                json!({"ok": true, "error_count": 0, "warning_count": 1, "warnings": "*"}),
            )
            .args(json!({"script_path": "res://warn.gd", "warnings": true})),
            Example::refusal("Refuses C#.", before, Code::Unsupported)
                .args(json!({"script_path": "res://c.cs"})),
            Example::refusal("Refuses a missing file.", before, Code::ResourceNotFound)
                .args(json!({"script_path": "res://nowhere.gd"})),
        ]
    }
}

impl ReadTool for GetParseErrors {
    fn run(self, editor: &Editor) -> Result<Outcome, ToolError> {
        let path = editor.resource_path(&self.script_path)?;
        let file = script_files::read(editor, &path)?;
        if !path.ends_with(".gd") {
            let message = format!("\"{path}\" is C#, which this server does not check");
            return Err(ToolError::new(Code::Unsupported, message)
                .required("script_path")
                .hint("build the project to check C#"));
        }
        let fields = script_files::errors(editor, &path, &script_files::decode(&file.bytes));
        let mut answer = json!({"script_path": path, "ok": fields["error_count"] == 0});
        answer.as_object_mut().into_iter().for_each(|it| it.extend(fields.clone()));
        if let Some(fields) = self.prepared.as_object() {
            answer.as_object_mut().into_iter().for_each(|it| it.extend(fields.clone()));
        }
        Ok(answer.into())
    }
}

impl Prepare for GetParseErrors {
    fn prepare(self, shared: Arc<Shared>) -> Prepared<Value> {
        Box::pin(async move {
            let path = self.script_path.as_str();
            if !self.warnings || !path.starts_with("res://") || !path.ends_with(".gd") {
                return Ok(Value::Null);
            }
            // What is wrong with the path is said by the check.
            let Ok(document) = code_queries::document(&shared, path, None) else {
                return Ok(Value::Null);
            };
            let found = match timeout(PATIENCE, shared.language_server.diagnose(&document)).await {
                Ok(Ok(found)) => found,
                Ok(Err(error)) => return Ok(json!({"warnings_unavailable": error.message})),
                Err(_) => {
                    return Ok(
                        json!({"warnings_unavailable": "the language server does not answer"}),
                    );
                }
            };
            let warnings: Vec<String> = found
                .iter()
                .map(code_queries::diagnosis)
                .filter(|it| !it.is_error)
                .map(|it| format!("{}: {}", it.line, it.message))
                .collect();
            let mut fields = json!({"warning_count": warnings.len()});
            if !warnings.is_empty() {
                fields["warnings"] = json!(untrusted::wrap(&document.path, &warnings.join("\n")));
            }
            Ok(fields)
        })
    }
}

use std::sync::Arc;
use std::time::Duration;

use godot_mcp_core::paths::{Access, Roots};
use godot_mcp_core::untrusted;

use crate::editor::script_files;
use crate::services::code_queries;
use crate::tool_prelude::*;

/// Errors and warnings of GDScript files, each as `path:line: severity: message`. Takes some 20 ms a
/// file.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ProjectDiagnostics {
    /// Folder, with those below.
    #[serde(default = "root")]
    directory: ResPath,
    /// Only this file.
    #[serde(default)]
    script_path: Option<ResPath>,
    /// Unsaved text of it.
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    errors_only: bool,
    /// Files to skip.
    #[serde(default)]
    offset: usize,
    /// Files to check.
    #[serde(default = "hundred")]
    #[schemars(range(min = 1, max = 1000))]
    limit: usize,
}

fn root() -> ResPath {
    ResPath::new("res://").expect("a valid path")
}

fn hundred() -> usize {
    100
}

/// Messages that an answer carries; more are counted.
const MAX_MESSAGES: usize = 200;

impl Tool for ProjectDiagnostics {
    const NAME: &'static str = "project_diagnostics";
    const TOOLSET: &'static str = "code";

    fn adjust(spec: &mut ToolSpec) {
        spec.free_text = true;
        spec.timeout = Duration::from_secs(120);
    }

    fn examples() -> Vec<Example> {
        let before = ";- res://a.gd\nextends Node\n\nfunc run() -> void:\n\tvar left := 1\n;- res://b.gd\nextends Node\nvar a: int = \"x\"";
        vec![
            Example::answer(
                "Checks a folder.",
                before,
                json!({"files": 2, "files_total": 2, "warnings": 1, "messages": "*"}),
            )
            .args(json!({"directory": "res://"})),
            Example::text(
                "Checks one file.",
                before,
                &["res://a.gd:4: warning: (UNUSED_VARIABLE)"],
            )
            .args(json!({"script_path": "res://a.gd"})),
            Example::answer(
                "Checks a text that is not saved.",
                before,
                json!({"files": 1, "errors": 0, "warnings": 0}),
            )
            .args(json!({"script_path": "res://b.gd", "text": "extends Node\n"})),
            Example::refusal("Refuses a folder that is not there.", "", Code::ResourceNotFound)
                .args(json!({"directory": "res://nowhere"})),
        ]
    }
}

impl AsyncTool for ProjectDiagnostics {
    fn run(self, shared: Arc<Shared>) -> AnswerFuture {
        Box::pin(async move {
            let files = self.files(&shared)?;
            let mut text = self.text.filter(|_| self.script_path.is_some());
            let (mut errors, mut warnings, mut checked) = (0, 0, 0);
            let mut messages = Vec::new();
            for path in files.iter().skip(self.offset).take(self.limit) {
                let document = match code_queries::document(&shared, path, text.take()) {
                    // It went away meanwhile.
                    Err(_) if self.script_path.is_none() => continue,
                    document => document?,
                };
                for found in &shared.language_server.diagnose(&document).await? {
                    let found = code_queries::diagnosis(found);
                    let severity = match found.is_error {
                        true => {
                            errors += 1;
                            "error"
                        }
                        false => {
                            warnings += 1;
                            "warning"
                        }
                    };
                    if found.is_error || !self.errors_only {
                        let (line, text) = (found.line, found.message);
                        messages.push(format!("{path}:{line}: {severity}: {text}"));
                    }
                }
                checked += 1;
            }
            let mut answer = json!({
                "files": checked, "files_total": files.len(), "errors": errors, "warnings": warnings
            });
            let end = self.offset + self.limit;
            if end < files.len() {
                answer["next_offset"] = json!(end);
            }
            if messages.len() > MAX_MESSAGES {
                answer["messages_left_out"] = json!(messages.len() - MAX_MESSAGES);
                messages.truncate(MAX_MESSAGES);
            }
            if !messages.is_empty() {
                let source = self.script_path.as_ref().unwrap_or(&self.directory).as_str();
                answer["messages"] = json!(untrusted::wrap(source, &messages.join("\n")));
            }
            Ok(answer.into())
        })
    }
}

impl ProjectDiagnostics {
    fn files(&self, shared: &Shared) -> Result<Vec<String>, ToolError> {
        if let Some(path) = &self.script_path {
            return Ok(vec![Roots::tidy_res(path.as_str())?]);
        }
        if self.text.is_some() {
            return Err(ToolError::invalid("text", "a text is given without a script_path")
                .hint("name the script that the text is of"));
        }
        let roots = &shared.gate.settings().roots;
        let path = Roots::tidy_res(self.directory.as_str())?;
        let folder = roots.resolve_res(&path, Access::Read)?;
        if !folder.is_dir() {
            return Err(ToolError::not_found(format!("no folder \"{path}\""))
                .required("directory")
                .hint("give a folder such as \"res://\""));
        }
        let mut files = Vec::new();
        script_files::each(&folder, &path, &mut |it| {
            if it.ends_with(".gd") {
                files.push(it);
            }
        });
        Ok(files)
    }
}

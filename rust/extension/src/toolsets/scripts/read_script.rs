use godot_mcp_core::untrusted;

use crate::editor::{files, script_files, script_tabs};
use crate::tool_prelude::*;

/// Reads a script file as text.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ReadScript {
    /// `.gd` or `.cs` file.
    script_path: ResourcePath,
    /// First line to read, from 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    start_line: usize,
    /// Lines to read; all by default.
    #[serde(default)]
    #[schemars(range(min = 1))]
    max_lines: Option<usize>,
    /// Read the script editor's text instead, also when it is not saved.
    #[serde(default)]
    from_editor: bool,
}

fn one() -> usize {
    1
}

/// Longest text that one answer carries.
const MAX_TEXT: usize = 128 << 10;

impl Tool for ReadScript {
    const NAME: &'static str = "read_script";
    const TOOLSET: &'static str = "scripts";

    fn adjust(spec: &mut ToolSpec) {
        spec.free_text = true;
    }

    fn examples() -> Vec<Example> {
        let before = ";- res://player.gd\nextends Node2D\n\nvar hp := 3";
        vec![
            Example::answer(
                "Reads a script.",
                before,
                json!({"script_path": "res://player.gd", "lines": 3, "text": "*", "sha256": "*"}),
            )
            .args(json!({"script_path": "res://player.gd"})),
            Example::text("Reads a part.", before, &["var hp := 3"])
                .args(json!({"script_path": "res://player.gd", "start_line": 3})),
            Example::refusal("Names near files.", before, Code::ResourceNotFound)
                .args(json!({"script_path": "res://playr.gd"})),
            Example::refusal("Refuses what is no script.", before, Code::ValidationError)
                .args(json!({"script_path": "res://scene.tscn"})),
        ]
    }
}

impl ReadTool for ReadScript {
    fn run(self, editor: &Editor) -> Result<Outcome, ToolError> {
        let path = editor.resource_path(&self.script_path)?;
        let file = script_files::read(editor, &path)?;
        let unsaved = script_tabs::unsaved_text(&path);
        let mut answer = json!({
            "script_path": path,
            "bytes": file.bytes.len(),
            "sha256": files::sha256(&file.bytes),
        });
        if unsaved.is_some() {
            answer["unsaved_in_editor"] = json!(true);
        }
        if let Some(format) = file.about_format() {
            answer["format"] = json!(format);
        }
        let text = match unsaved {
            Some(unsaved) if self.from_editor => unsaved,
            _ => file.text,
        };
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        answer["lines"] = json!(lines.len());
        if self.start_line > lines.len().max(1) {
            let message = format!("line {} is beyond the last, {}", self.start_line, lines.len());
            return Err(ToolError::invalid("start_line", message).hint("lines count from 1"));
        }
        let mut part = String::new();
        let mut next = self.start_line;
        for line in
            lines.iter().skip(self.start_line - 1).take(self.max_lines.unwrap_or(usize::MAX))
        {
            if part.len() + line.len() > MAX_TEXT {
                break;
            }
            part.push_str(line);
            next += 1;
        }
        if next <= lines.len() && next > self.start_line {
            answer["next_line"] = json!(next);
        } else if next == self.start_line && !lines.is_empty() {
            return Err(ToolError::new(
                Code::ResponseTooLarge,
                format!("line {next} alone has more than {MAX_TEXT} bytes"),
            )
            .hint("read from another line"));
        }
        answer["text"] = json!(untrusted::wrap(&path, &part));
        Ok(answer.into())
    }
}

use base64::Engine as _;

use crate::editor::files;
use crate::tool_prelude::*;

/// Writes a file of `user://`; missing folders are made. Undo brings the old bytes back.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct WriteUserFile {
    path: UserPath,
    content: String,
    /// content is base64 of bytes.
    #[serde(default)]
    base64: bool,
    /// Add to the end.
    #[serde(default)]
    append: bool,
}

impl Tool for WriteUserFile {
    const NAME: &'static str = "write_user_file";
    const TOOLSET: &'static str = "user_data";

    fn adjust(spec: &mut ToolSpec) {
        spec.writes_disk = true;
    }

    fn examples() -> Vec<Example> {
        let path = "user://write/new/slot.json";
        vec![
            Example::answer("Writes a new file.", "", json!({"path": path, "bytes": 2}))
                .args(json!({"path": path, "content": "{}"})),
            Example::answer(
                "Adds bytes to a file.",
                "",
                json!({"bytes": 4, "changes": [{"write": "user://a.bin", "old_bytes": 2}]}),
            )
            .after(
                "write_user_file",
                json!({"path": "user://a.bin", "content": "ab", "confirm": true}),
            )
            .args(json!({
                "path": "user://a.bin", "content": "/wA=", "base64": true, "append": true
            })),
            Example::refusal("Refuses what leads out.", "", Code::PathDenied)
                .args(json!({"path": "user://../x", "content": ""})),
            Example::refusal("Refuses broken base64.", "", Code::ValidationError)
                .args(json!({"path": "user://x.bin", "content": "%", "base64": true})),
        ]
    }
}

impl EditTool for WriteUserFile {
    const CLASS: SafetyClass = SafetyClass::Destructive;

    fn plan(self, _editor: &Editor) -> Result<Edit, ToolError> {
        let path = super::tidy(&self.path)?;
        if path == "user://" || files::absolute(&path).is_dir() {
            return Err(ToolError::invalid("path", format!("\"{path}\" is a folder"))
                .hint("add a file name"));
        }
        super::check_size(&path)?;
        let content = match self.base64 {
            false => self.content.into_bytes(),
            true => {
                base64::engine::general_purpose::STANDARD.decode(&self.content).map_err(|it| {
                    ToolError::invalid("content", format!("it is not base64: {it}"))
                        .hint("leave base64 out for plain text")
                })?
            }
        };
        let mut bytes = match self.append {
            true => files::bytes(&path).unwrap_or_default(),
            false => Vec::new(),
        };
        bytes.extend(content);
        let mut edit = Edit::of_files(format!("Write {path}"));
        edit.fact("path", path.as_str());
        edit.fact("bytes", bytes.len());
        edit.fact("sha256", files::sha256(&bytes));
        edit.write_file(&path, Some(bytes));
        edit.verdict(Verdict::yes(path));
        Ok(edit)
    }
}

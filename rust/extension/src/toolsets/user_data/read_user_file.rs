use std::io::{Read as _, Seek as _, SeekFrom};

use base64::Engine as _;
use godot_mcp_core::untrusted;

use crate::editor::files;
use crate::tool_prelude::*;

/// Reads bytes of a file of `user://`: as text when they are UTF-8, else as base64.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ReadUserFile {
    path: UserPath,
    /// First byte.
    #[serde(default)]
    offset: u64,
    /// Most bytes.
    #[serde(default = "default_length")]
    #[schemars(range(min = 1, max = 262_144))]
    length: u64,
}

fn default_length() -> u64 {
    32_768
}

impl Tool for ReadUserFile {
    const NAME: &'static str = "read_user_file";
    const TOOLSET: &'static str = "user_data";

    fn adjust(spec: &mut ToolSpec) {
        spec.free_text = true;
    }

    fn examples() -> Vec<Example> {
        vec![
            Example::text("Reads a window of a file.", "", &["core: 4"])
                .after(
                    "write_user_file",
                    json!({"path": "user://r.txt", "content": "score: 42", "confirm": true}),
                )
                .args(json!({"path": "user://r.txt", "offset": 1, "length": 7})),
            Example::refusal("Refuses a missing file.", "", Code::ResourceNotFound)
                .args(json!({"path": "user://none.txt"})),
        ]
    }
}

impl ReadTool for ReadUserFile {
    fn run(self, _editor: &Editor) -> Result<Outcome, ToolError> {
        let path = super::tidy(&self.path)?;
        super::check_exists(&path)?;
        let (bytes, size) = window(&path, self.offset, self.length).map_err(|it| {
            ToolError::new(Code::PreconditionFailed, format!("cannot read \"{path}\": {it}"))
                .hint("check its permissions")
        })?;
        let (text, bytes_read) = as_text(&bytes, self.offset + bytes.len() as u64 == size);
        let next = self.offset + bytes_read as u64;
        let mut answer = json!({"path": path, "bytes": size, "offset": self.offset});
        match text {
            Some(text) => answer["text"] = json!(untrusted::wrap(&path, text)),
            None => {
                let encoded = base64::engine::general_purpose::STANDARD.encode(&bytes);
                answer["base64"] = json!(encoded);
            }
        }
        if next < size {
            answer["next_offset"] = json!(next);
        }
        Ok(answer.into())
    }
}

fn window(path: &str, offset: u64, length: u64) -> std::io::Result<(Vec<u8>, u64)> {
    let mut file = std::fs::File::open(files::absolute(path))?;
    let size = file.metadata()?.len();
    file.seek(SeekFrom::Start(offset.min(size)))?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes)?;
    Ok((bytes, size))
}

/// The bytes as text, and how many that takes: a character that the window cuts is left for the
/// next one.
fn as_text(bytes: &[u8], at_end: bool) -> (Option<&str>, usize) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (Some(text), bytes.len()),
        Err(error) if error.error_len().is_none() && !at_end && error.valid_up_to() > 0 => {
            let whole = error.valid_up_to();
            (std::str::from_utf8(&bytes[..whole]).ok(), whole)
        }
        Err(_) => (None, bytes.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_do_not_cut_characters() {
        let bytes = "aü".as_bytes();
        assert_eq!(as_text(bytes, true), (Some("aü"), 3));
        assert_eq!(as_text(&bytes[..2], false), (Some("a"), 1));
        assert_eq!(as_text(&bytes[..2], true), (None, 2));
        assert_eq!(as_text(&[0xff, b'a'], false), (None, 2));
    }
}

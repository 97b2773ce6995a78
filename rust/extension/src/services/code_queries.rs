//! What the tools of `code` share: documents, positions, and places in answers.
//!
//! Tools count lines and columns from 1, columns in characters; the server counts both from 0.

use std::collections::HashMap;

use godot_mcp_core::paths::{Access, Roots};
use godot_mcp_core::{Code, ToolError};
use serde_json::{Value, json};

use super::language_server::Document;
use crate::app::Shared;
use crate::editor::script_files;

/// A script with the text that it has on disk, or with the one given.
pub(crate) fn document(
    shared: &Shared,
    path: &str,
    text: Option<String>,
) -> Result<Document, ToolError> {
    let path = Roots::tidy_res(path)?;
    let wrong = |message: String| ToolError::new(Code::Unsupported, message);
    if !path.ends_with(".gd") {
        return Err(wrong(format!("\"{path}\" is not GDScript")).required("script_path"));
    }
    let file = shared.gate.settings().roots.resolve_res(&path, Access::Read)?;
    let text = match text {
        Some(text) => text,
        None => {
            let bytes = std::fs::read(&file).map_err(|error| match error.kind() {
                std::io::ErrorKind::NotFound => {
                    script_files::missing(shared.gate.settings().roots.project(), &path)
                }
                _ => ToolError::precondition(
                    "script_path",
                    format!("cannot read \"{path}\": {error}"),
                ),
            })?;
            script_files::decode(&bytes)
        }
    };
    Ok(Document { path, text })
}

/// The position for the server, or a refusal of one that the text does not have.
pub(crate) fn position(
    document: &Document,
    line: usize,
    column: usize,
) -> Result<Value, ToolError> {
    let lines: Vec<&str> = document.text.split('\n').collect();
    let Some(text) = line.checked_sub(1).and_then(|it| lines.get(it)) else {
        let message = format!("\"{}\" has {} lines, not line {line}", document.path, lines.len());
        return Err(ToolError::invalid("line", message).hint("lines count from 1"));
    };
    let length = text.trim_end_matches('\r').chars().count();
    if column == 0 || column > length + 1 {
        let message = format!("line {line} has {length} characters, not column {column}");
        return Err(ToolError::invalid("column", message)
            .hint("columns count characters from 1; a tab is one"));
    }
    Ok(json!({"line": line - 1, "character": column - 1}))
}

/// A place in a file of the project.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) path: String,
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// The places in an answer of the server: one location or several.
pub(crate) fn places(shared: &Shared, result: &Value) -> Vec<Place> {
    let list = match result {
        Value::Array(list) => list.clone(),
        Value::Object(_) => vec![result.clone()],
        _ => Vec::new(),
    };
    let mut places: Vec<Place> = list
        .iter()
        .filter_map(|it| {
            let path = shared.language_server.path_of(it["uri"].as_str()?)?;
            place(path, &it["range"]["start"])
        })
        .collect();
    places.sort();
    places.dedup();
    places
}

pub(crate) fn place(path: String, start: &Value) -> Option<Place> {
    let number = |name: &str| usize::try_from(start[name].as_u64()?).ok();
    Some(Place { path, line: number("line")? + 1, column: number("character")? + 1 })
}

/// One thing that the server finds wrong.
pub(crate) struct Diagnosis<'a> {
    pub(crate) is_error: bool,
    /// From 1.
    pub(crate) line: u64,
    pub(crate) message: &'a str,
}

pub(crate) fn diagnosis(found: &Value) -> Diagnosis<'_> {
    Diagnosis {
        is_error: matches!(found["severity"].as_u64(), Some(1) | None),
        line: found["range"]["start"]["line"].as_u64().unwrap_or(0) + 1,
        message: found["message"].as_str().unwrap_or_default(),
    }
}

/// Lines of files as they are quoted, each file read once.
#[derive(Default)]
pub(crate) struct Quotes(HashMap<String, String>);

impl Quotes {
    /// A text that is not on disk goes before the file.
    pub(crate) fn with(document: Document) -> Self {
        Self(HashMap::from([(document.path, document.text)]))
    }

    /// The whole text of a file of the project.
    pub(crate) fn text(&mut self, shared: &Shared, path: &str) -> &str {
        self.0.entry(path.to_owned()).or_insert_with(|| {
            let file = shared.gate.settings().roots.resolve_res(path, Access::Read).ok();
            let bytes = file.and_then(|it| std::fs::read(it).ok()).unwrap_or_default();
            script_files::decode(&bytes)
        })
    }

    /// `path:line:column: text of the line`.
    pub(crate) fn quote(&mut self, shared: &Shared, place: &Place) -> String {
        let Place { path, line, column } = place;
        let text = self.text(shared, path).split('\n').nth(line - 1).unwrap_or_default().trim();
        let text: String = text.chars().take(160).collect();
        format!("{path}:{line}:{column}: {text}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_checked() {
        let document = Document { path: "res://a.gd".into(), text: "ü😀 a\r\n\tb".into() };
        assert_eq!(position(&document, 1, 4).expect("there"), json!({"line": 0, "character": 3}));
        assert_eq!(position(&document, 2, 3).expect("the end"), json!({"line": 1, "character": 2}));
        for (line, column, wrong) in
            [(0, 1, "line"), (3, 1, "line"), (1, 0, "column"), (1, 6, "column")]
        {
            let error = position(&document, line, column).expect_err("refused");
            assert_eq!(error.required.as_deref(), Some(wrong));
        }
    }
}

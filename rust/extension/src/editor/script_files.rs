//! Script files as text: reading them, and planning to write them.

use std::path::Path;

use godot_mcp_core::{Code, ToolError, suggest, untrusted};
use serde_json::{Map, Value, json};

use super::edit::Edit;
use super::persistence::Verdict;
use super::{Editor, files, script_check, script_tabs};

/// Longest script that is written.
pub(crate) const MAX_BYTES: usize = 1 << 20;
/// Parse errors that an answer lists; more are counted.
const MAX_ERRORS: usize = 20;
const BOM: &str = "\u{feff}";

/// A script file that exists.
pub(crate) struct ScriptFile {
    /// With line feeds only, unless the file mixes them with carriage returns.
    pub(crate) text: String,
    pub(crate) bytes: Vec<u8>,
    format: Format,
}

/// How the text lies in its file.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Format {
    bom: bool,
    crlf: bool,
}

impl ScriptFile {
    /// What is special about the bytes: a write keeps it.
    pub(crate) fn about_format(&self) -> Option<&'static str> {
        match (self.format.bom, self.format.crlf) {
            (false, false) => None,
            (true, false) => Some("UTF-8 BOM"),
            (false, true) => Some("CRLF"),
            (true, true) => Some("UTF-8 BOM, CRLF"),
        }
    }
}

impl Format {
    fn read(bytes: &[u8]) -> Option<(String, Self)> {
        let text = std::str::from_utf8(bytes).ok()?;
        let (text, bom) = text.strip_prefix(BOM).map_or((text, false), |it| (it, true));
        let breaks = text.matches('\n').count();
        let crlf = breaks > 0 && text.matches("\r\n").count() == breaks;
        let text = if crlf { text.replace("\r\n", "\n") } else { text.to_owned() };
        Some((text, Self { bom, crlf }))
    }

    /// The bytes of a text, which may already have what the format adds.
    fn write(self, text: &str) -> Vec<u8> {
        let mut text = text.to_owned();
        if self.crlf && !text.contains('\r') {
            text = text.replace('\n', "\r\n");
        }
        if self.bom && !text.starts_with(BOM) {
            text.insert_str(0, BOM);
        }
        text.into_bytes()
    }
}

/// The text of a script as the engine reads it.
pub(crate) fn decode(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.strip_prefix(BOM).unwrap_or(&text).to_owned()
}

/// `gd` or `cs`, or a refusal.
pub(crate) fn language(path: &str) -> Result<&'static str, ToolError> {
    let name = path.rsplit('/').next().unwrap_or_default();
    match name.rsplit_once('.') {
        Some((stem, "gd")) if !stem.is_empty() => Ok("gd"),
        Some((stem, "cs")) if !stem.is_empty() => Ok("cs"),
        _ => Err(ToolError::invalid("script_path", format!("\"{path}\" is not a script file"))
            .hint("give a path that ends in .gd or .cs")),
    }
}

/// Reads a script, or says which exist.
pub(crate) fn read(editor: &Editor, path: &str) -> Result<ScriptFile, ToolError> {
    language(path)?;
    let bytes = std::fs::read(files::absolute(path)).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            missing(editor.shared().gate.settings().roots.project(), path)
        }
        _ => ToolError::precondition("script_path", format!("cannot read \"{path}\": {error}")),
    })?;
    let (text, format) = Format::read(&bytes).ok_or_else(|| {
        ToolError::new(Code::Unsupported, format!("\"{path}\" is not UTF-8 text"))
            .hint("the human has to save it as UTF-8 first")
    })?;
    Ok(ScriptFile { text, bytes, format })
}

/// The refusal of a script that is not there.
pub(crate) fn missing(project: &Path, path: &str) -> ToolError {
    let mut scripts = Vec::new();
    each(project, "res://", &mut |it| scripts.push(it));
    let mut near = suggest::near(path, scripts.iter().map(String::as_str), 5);
    if near.is_empty() {
        let name = |it: &str| it.rsplit('/').next().unwrap_or_default().to_owned();
        let names: Vec<String> = scripts.iter().map(|it| name(it)).collect();
        let names = suggest::near(&name(path), names.iter().map(String::as_str), 5);
        near = scripts.into_iter().filter(|it| names.contains(&name(it))).take(5).collect();
    }
    let error = ToolError::not_found(format!("no file \"{path}\"")).required("script_path");
    match near.is_empty() {
        true => error.hint("`list_scripts` names what there is; `write_script` makes a new one"),
        false => error.suggest(near),
    }
}

/// Every script below a folder of the project. See `each_file`.
pub(crate) fn each(folder: &Path, path: &str, visit: &mut dyn FnMut(String)) {
    each_file(folder, path, &mut |it| {
        if language(&it).is_ok() {
            visit(it);
        }
    });
}

/// Every file below a folder of the project, in order, but for hidden and ignored folders, links,
/// and this plugin's own. Needs no engine.
pub(crate) fn each_file(folder: &Path, path: &str, visit: &mut dyn FnMut(String)) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut entries: Vec<_> = entries.filter_map(Result::ok).collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let (name, Ok(kind)) = (entry.file_name(), entry.file_type()) else { continue };
        let name = name.to_string_lossy();
        if name.starts_with('.') {
            continue;
        }
        let slash = if path.ends_with('/') { "" } else { "/" };
        let below = format!("{path}{slash}{name}");
        if kind.is_dir() {
            if below != "res://addons/godot_mcp" && !entry.path().join(".gdignore").exists() {
                each_file(&entry.path(), &below, visit);
            }
        } else if kind.is_file() {
            visit(below);
        }
    }
}

/// What the caller allows and expects of a write.
#[derive(Default)]
pub(crate) struct Conditions {
    pub(crate) expected_sha256: Option<String>,
    pub(crate) overwrite_unsaved: bool,
}

/// Refuses to lose what the human, or somebody else, has put there.
pub(crate) fn check(
    path: &str,
    now: Option<&[u8]>,
    conditions: &Conditions,
) -> Result<(), ToolError> {
    if let Some(expected) = &conditions.expected_sha256 {
        let found = now.map(files::sha256).unwrap_or_default();
        if !expected.eq_ignore_ascii_case(&found) {
            let message = match now {
                Some(_) => format!("\"{path}\" has the sha256 {found}, not \"{expected}\""),
                None => {
                    format!("\"{path}\" does not exist, so it has not the sha256 \"{expected}\"")
                }
            };
            return Err(ToolError::new(Code::StateChanged, message)
                .required("expected_sha256")
                .hint("it was changed since; look at it with `read_script`, then call again"));
        }
    }
    if !conditions.overwrite_unsaved && script_tabs::unsaved_text(path).is_some() {
        return Err(ToolError::precondition(
            "overwrite_unsaved",
            format!("\"{path}\" has unsaved changes in the script editor"),
        )
        .hint("`read_script` with from_editor: true shows them; ask the human to save, or put them into your text and set overwrite_unsaved: true"));
    }
    Ok(())
}

/// The plan of giving a script a new text. `old` is what is there.
pub(crate) fn write(
    path: &str,
    old: Option<&ScriptFile>,
    text: &str,
    conditions: &Conditions,
) -> Result<Edit, ToolError> {
    let bytes = old.map(|it| it.format).unwrap_or_default().write(text);
    if bytes.len() > MAX_BYTES {
        let message = format!("the script would have {} bytes, more than {MAX_BYTES}", bytes.len());
        return Err(ToolError::invalid("content", message).hint("split it into several scripts"));
    }
    let name = path.rsplit('/').next().unwrap_or_default();
    let verb = if old.is_some() { "Change" } else { "Create" };
    let mut edit = Edit::of_files(format!("{verb} {name}"));
    edit.fact("script_path", path);
    edit.fact("created", old.is_none());
    edit.fact("bytes", bytes.len());
    edit.fact("sha256", files::sha256(&bytes));
    edit.fact("previous_sha256", old.map(|it| files::sha256(&it.bytes)));
    edit.verdict(Verdict::yes(path));
    let replaces = conditions.overwrite_unsaved && script_tabs::unsaved_text(path).is_some();
    if replaces {
        edit.gives_up_unsaved(path);
        edit.fact("unsaved_text", "replaced; the undo of the script's tab brings it back");
    }
    let source = decode(&bytes);
    edit.write_file(path, Some(bytes));
    let path = path.to_owned();
    edit.late(Box::new(move |editor, committed| {
        if committed && replaces {
            script_tabs::replace(&path, &source);
        }
        errors(editor, &path, &source)
    }));
    Ok(edit)
}

/// Parse and type errors as fields of an answer. C# is not checked.
pub(crate) fn errors(editor: &Editor, path: &str, source: &str) -> Map<String, Value> {
    let mut fields = Map::new();
    if !path.ends_with(".gd") {
        fields.insert("checked".into(), json!(false));
        return fields;
    }
    let found = script_check::check(editor, path, source);
    fields.insert("error_count".into(), json!(found.len()));
    if !found.is_empty() {
        let lines = found.iter().take(MAX_ERRORS).map(|it| format!("{}: {}", it.line, it.message));
        let mut text = lines.collect::<Vec<_>>().join("\n");
        if found.len() > MAX_ERRORS {
            text.push_str(&format!("\n... and {} more", found.len() - MAX_ERRORS));
        }
        fields.insert("errors".into(), json!(untrusted::wrap(path, &text)));
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_kept() {
        let same = |text: &str| {
            let (read, format) = Format::read(text.as_bytes()).expect("UTF-8");
            assert_eq!(format.write(&read), text.as_bytes(), "{text:?}");
            read
        };
        assert_eq!(same("a\nb\n"), "a\nb\n");
        assert_eq!(same("a\r\nb\r\n"), "a\nb\n");
        assert_eq!(same("\u{feff}a\r\n"), "a\n");
        assert_eq!(same("a\r\nb\n"), "a\r\nb\n", "mixed ones stay as they are");
        assert_eq!(same(""), "");
        let windows = Format { bom: true, crlf: true };
        assert_eq!(windows.write("a\n"), "\u{feff}a\r\n".as_bytes());
        assert_eq!(windows.write("\u{feff}a\r\n"), "\u{feff}a\r\n".as_bytes());
        assert!(Format::read(&[0xff, 0xfe]).is_none());
    }
}

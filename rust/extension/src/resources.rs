//! The `godot://` resources: what there is, and how it is read.

use std::path::{Path, PathBuf};

use godot_mcp_core::call::ResourceInfo;
use godot_mcp_core::paths::{Access, Roots};
use godot_mcp_core::{Code, ToolError, suggest};
use serde_json::Value;

use crate::editor::{Editor, resource_text};

pub(crate) const JSON: &str = "application/json";

/// URI templates are these and `{path}`.
pub(crate) const SCENE_PREFIX: &str = "godot://scene/";
pub(crate) const SCRIPT_PREFIX: &str = "godot://script/";

/// Larger files are refused: a model can do nothing with them as a whole.
const MAX_FILE: u64 = 1 << 20;

/// Resources and templates, in the order in which clients see them.
pub(crate) fn all() -> Vec<ResourceInfo> {
    let plain = |uri: &str, name: &str, description: &str| ResourceInfo {
        uri: uri.to_owned(),
        name: name.to_owned(),
        description: description.to_owned(),
        mime_type: JSON.to_owned(),
        template: false,
    };
    let file = |uri: &str, name: &str, description: &str, mime_type: &str| ResourceInfo {
        mime_type: mime_type.to_owned(),
        template: true,
        ..plain(uri, name, description)
    };
    vec![
        plain("godot://project/info", "project", "Name, version, main scene and autoloads."),
        plain(
            "godot://scene/current",
            "current scene",
            "File, root and dirty flag of the edited scene.",
        ),
        plain(
            "godot://scene/tree",
            "scene tree",
            "Nodes of the edited scene with types and scripts.",
        ),
        plain(
            "godot://node/selected",
            "selected nodes",
            "The nodes that are selected in the editor.",
        ),
        file(
            "godot://scene/{path}",
            "scene file",
            "Text of a scene, such as levels/one.tscn.",
            "text/plain",
        ),
        file(
            "godot://script/{path}",
            "script file",
            "Text of a script, such as player.gd.",
            "text/x-gdscript",
        ),
    ]
}

/// What a URI means.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Target {
    Project,
    Scene,
    Tree,
    Selected,
    File {
        /// The `res://` path, and the file behind it.
        path: String,
        file: PathBuf,
        mime_type: &'static str,
    },
}

/// Understands a URI. The file that it names need not exist.
pub(crate) fn target(roots: &Roots, uri: &str) -> Result<Target, ToolError> {
    match uri {
        "godot://project/info" => Ok(Target::Project),
        "godot://scene/current" => Ok(Target::Scene),
        "godot://scene/tree" => Ok(Target::Tree),
        "godot://node/selected" => Ok(Target::Selected),
        _ => file_target(roots, uri),
    }
}

/// Reads one resource: MIME type and text, which for other types than JSON is not trusted.
pub(crate) fn read(editor: &Editor, uri: &str) -> Result<(&'static str, String), ToolError> {
    match target(&editor.shared().gate.settings().roots, uri)? {
        Target::File { path, file, mime_type } => Ok((mime_type, read_file(&path, &file)?)),
        state => Ok((JSON, read_state(editor, &state)?.to_string())),
    }
}

/// What the editor has now, for targets that are no files.
pub(crate) fn read_state(editor: &Editor, target: &Target) -> Result<Value, ToolError> {
    match target {
        Target::Project => Ok(resource_text::project()),
        Target::Scene => Ok(resource_text::scene(editor)),
        Target::Tree => resource_text::tree(editor),
        Target::Selected => Ok(resource_text::selected(editor)),
        Target::File { .. } => Err(ToolError::internal("a file is not state of the editor")),
    }
}

fn file_target(roots: &Roots, uri: &str) -> Result<Target, ToolError> {
    let (kinds, path): (&[(&str, &'static str)], _) =
        if let Some(path) = uri.strip_prefix(SCENE_PREFIX) {
            (&[("tscn", "text/plain")], path)
        } else if let Some(path) = uri.strip_prefix(SCRIPT_PREFIX) {
            (&[("gd", "text/x-gdscript"), ("cs", "text/x-csharp")], path)
        } else {
            return Err(unknown(uri));
        };
    let path = percent_decoded(path)
        .ok_or_else(|| ToolError::invalid("uri", format!("\"{uri}\" has a broken % escape")))?;
    let path = format!("res://{}", path.strip_prefix("res://").unwrap_or(&path));
    let file = roots.resolve_res(&path, Access::Read).map_err(|it| it.required("uri"))?;
    let extension =
        file.extension().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    let Some((_, mime_type)) = kinds.iter().find(|it| it.0 == extension) else {
        let known: Vec<_> = kinds.iter().map(|it| format!("*.{}", it.0)).collect();
        return Err(ToolError::invalid(
            "uri",
            format!("\"{path}\" is not a text file of this kind"),
        )
        .hint(format!("it reads {}", known.join(" and "))));
    };
    Ok(Target::File { path, file, mime_type })
}

fn read_file(path: &str, file: &Path) -> Result<String, ToolError> {
    let missing = |it: std::io::Error| match it.kind() {
        std::io::ErrorKind::NotFound => ToolError::not_found(format!("no file \"{path}\""))
            .required("uri")
            .suggest(near_files(file)),
        _ => ToolError::precondition("uri", format!("cannot read \"{path}\": {it}")),
    };
    let size = std::fs::metadata(file).map_err(missing)?.len();
    if size > MAX_FILE {
        let message = format!("\"{path}\" has {size} bytes, more than {MAX_FILE}");
        return Err(ToolError::new(Code::ResponseTooLarge, message)
            .hint("read it in parts with the tools of the toolset \"scripts\" or \"project\""));
    }
    let bytes = std::fs::read(file).map_err(missing)?;
    String::from_utf8(bytes)
        .map_err(|_| ToolError::new(Code::Unsupported, format!("\"{path}\" is not UTF-8 text")))
}

/// Names in the same folder that are close.
fn near_files(file: &Path) -> Vec<String> {
    let wanted = file.file_name().unwrap_or_default().to_string_lossy();
    let entries = file.parent().and_then(|it| std::fs::read_dir(it).ok());
    let names: Vec<String> = entries
        .into_iter()
        .flatten()
        .filter_map(|it| Some(it.ok()?.file_name().to_string_lossy().into_owned()))
        .collect();
    suggest::near(&wanted, names.iter().map(String::as_str), 3)
}

fn unknown(uri: &str) -> ToolError {
    let known: Vec<_> = all().into_iter().map(|it| it.uri).collect();
    ToolError::not_found(format!("no resource \"{uri}\""))
        .required("uri")
        .hint(format!("resources are: {}", known.join(", ")))
        .suggest(known)
}

pub(crate) fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |it: u8| (it as char).to_digit(16);
        let (high, low) = (digit(rest.next()?)?, digit(rest.next()?)?);
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S8.1: the very path, percent-decoded once, and inside the project.
    #[test]
    fn uris_name_files_in_the_project() {
        let folder = std::env::temp_dir();
        let roots = Roots::new(&folder, &folder);
        let path = |uri: &str| match target(&roots, uri) {
            Ok(Target::File { path, .. }) => path,
            other => format!("{other:?}"),
        };
        assert_eq!(path("godot://scene/levels/one.tscn"), "res://levels/one.tscn");
        assert_eq!(path("godot://scene/levels%2Fa%20b.tscn"), "res://levels/a b.tscn");
        assert_eq!(path("godot://script/res://a.gd"), "res://a.gd");
        assert_eq!(path("godot://script/res%3A%2F%2Fa.gd"), "res://a.gd");
        assert_eq!(path("godot://script/a%2520b.gd"), "res://a%20b.gd");
        let code = |uri: &str| target(&roots, uri).err().map(|it| it.code);
        for outside in [
            "godot://script/../a.gd",
            "godot://script/%2e%2e/a.gd",
            "godot://script/%2Fetc/passwd.gd",
            "godot://script/.godot/a.gd",
            "godot://script/a%00.gd",
            "godot://script/a%5Cb.gd",
        ] {
            assert_eq!(code(outside), Some(Code::PathDenied), "{outside}");
        }
        for other in ["godot://scene/a.gd", "godot://script/a.tscn", "godot://script/a%2.gd"] {
            assert_eq!(code(other), Some(Code::ValidationError), "{other}");
        }
        assert_eq!(code("godot://node/other"), Some(Code::ResourceNotFound));
        assert_eq!(code("file:///etc/passwd"), Some(Code::ResourceNotFound));
    }

    #[test]
    fn decodes_escapes() {
        assert_eq!(percent_decoded("a%20b/%C3%BC.gd").as_deref(), Some("a b/ü.gd"));
        for broken in ["%", "%2", "%zz", "%ff"] {
            assert_eq!(percent_decoded(broken), None, "{broken}");
        }
    }
}

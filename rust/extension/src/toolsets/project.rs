//! Files and settings of the project.

mod create_folder;
mod delete_folder;
mod delete_resource_file;
mod get_filesystem_tree;
mod get_layer_names;
mod get_setting;
mod list_settings;
mod move_resource_file;
mod resolve_uid;
mod search_files;
mod set_layer_names;
mod set_setting;

use std::path::PathBuf;

use godot_mcp_core::args::ResPath;
use godot_mcp_core::{Code, ToolError, suggest};
use serde_json::Value;

use crate::editor::{Editor, file_search, files, scene_files};
use crate::tool::ToolDef;

pub(super) const TOOLS: &[ToolDef] = &[
    ToolDef::read::<get_filesystem_tree::GetFilesystemTree>(),
    ToolDef::read::<search_files::SearchFiles>(),
    ToolDef::read::<get_setting::GetSetting>(),
    ToolDef::edit::<set_setting::SetSetting>(),
    ToolDef::read::<resolve_uid::ResolveUid>(),
    ToolDef::edit::<delete_resource_file::DeleteResourceFile>(),
    ToolDef::edit::<move_resource_file::MoveResourceFile>(),
    ToolDef::read::<list_settings::ListSettings>(),
    ToolDef::read::<get_layer_names::GetLayerNames>(),
    ToolDef::edit::<set_layer_names::SetLayerNames>(),
    ToolDef::edit::<create_folder::CreateFolder>(),
    ToolDef::edit::<delete_folder::DeleteFolder>(),
];

fn res_root() -> ResPath {
    ResPath::new("res://").expect("the root is a path")
}

/// The folder of a call, as text and on disk, or a refusal with near ones.
fn folder(editor: &Editor, path: &ResPath) -> Result<(String, PathBuf), ToolError> {
    let path = editor.res_path(path)?;
    let folder = files::absolute(&path);
    if folder.is_dir() {
        return Ok((path, folder));
    }
    if folder.is_file() {
        return Err(ToolError::invalid("directory", format!("\"{path}\" is a file"))
            .hint("give the folder that it lies in"));
    }
    let project = files::absolute("res://");
    let all: Vec<String> = file_search::folders(&project)
        .iter()
        .filter_map(|it| file_search::shown(&project, it))
        .collect();
    let near = suggest::near(&path, all.iter().map(String::as_str), 5);
    let error = ToolError::not_found(format!("no folder \"{path}\"")).required("directory");
    Err(match near.is_empty() {
        true => error.hint("`get_filesystem_tree` shows the folders"),
        false => error.suggest(near),
    })
}

/// A file that may be moved or deleted, or a refusal.
fn movable_file(editor: &Editor, path: &ResPath) -> Result<String, ToolError> {
    let path = editor.res_path(path)?;
    if path == files::PROJECT_FILE {
        return Err(ToolError::invalid("path", "project.godot makes the folder a project")
            .hint("`set_setting` changes what is in it"));
    }
    if file_search::is_sidecar(&path) {
        return Err(ToolError::invalid("path", format!("\"{path}\" belongs to another file"))
            .hint("name the file without .uid or .import; it goes along"));
    }
    let file = files::absolute(&path);
    if file.is_dir() {
        return Err(ToolError::invalid("path", format!("\"{path}\" is a folder"))
            .hint("only files are taken here; `delete_folder` removes folders"));
    }
    if !file.is_file() {
        let mut all = Vec::new();
        scene_files::each_file(&mut |file, _| all.push(file.to_owned()));
        let near = suggest::near(&path, all.iter().map(String::as_str), 5);
        let error = ToolError::not_found(format!("no file \"{path}\"")).required("path");
        return Err(match near.is_empty() {
            true => error.hint("`search_files` finds files by name"),
            false => error.suggest(near),
        });
    }
    Ok(path)
}

/// Largest file whose bytes the undo history keeps.
const MAX_KEPT: u64 = 64 * 1024 * 1024;

/// Refuses to delete a file that is too large to be brought back.
fn check_size(path: &str) -> Result<(), ToolError> {
    let size = std::fs::metadata(files::absolute(path)).map_or(0, |it| it.len());
    if size <= MAX_KEPT {
        return Ok(());
    }
    let message = format!("\"{path}\" has {size} bytes, and undo keeps at most {MAX_KEPT}");
    Err(ToolError::new(Code::PreconditionFailed, message)
        .required("path")
        .hint("the human can delete it in the FileSystem dock"))
}

/// The context in which values of settings are read and written.
fn values_context<'a>(
    editor: &'a Editor,
    check: &'a dyn Fn(&str) -> Result<(), ToolError>,
) -> crate::editor::values::Context<'a> {
    editor.values(None, check)
}

/// The value of a setting as answers give it.
fn encoded(editor: &Editor, name: &str, value: &godot::builtin::Variant) -> Value {
    let check = |path: &str| editor.check_read(path);
    let slot = crate::editor::project_settings::slot(name);
    crate::editor::values::encode(value, Some(&slot), &values_context(editor, &check))
}

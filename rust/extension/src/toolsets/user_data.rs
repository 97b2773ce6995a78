//! Files of `user://`, where the game keeps what it saves.

mod delete_user_file;
mod list_user_files;
mod read_user_file;
mod write_user_file;

use godot_mcp_core::args::UserPath;
use godot_mcp_core::paths::Roots;
use godot_mcp_core::{Code, ToolError, suggest};

use crate::editor::files;
use crate::tool::ToolDef;

pub(super) const TOOLS: &[ToolDef] = &[
    ToolDef::read::<list_user_files::ListUserFiles>(),
    ToolDef::read::<read_user_file::ReadUserFile>(),
    ToolDef::edit::<write_user_file::WriteUserFile>(),
    ToolDef::edit::<delete_user_file::DeleteUserFile>(),
];

/// Largest file whose bytes the undo history keeps.
const MAX_KEPT: u64 = 16 * 1024 * 1024;

fn tidy(path: &UserPath) -> Result<String, ToolError> {
    Roots::tidy_user(path.as_str())
}

/// Refuses a file that is not there, with near ones of its folder.
fn check_exists(path: &str) -> Result<(), ToolError> {
    let file = files::absolute(path);
    if file.is_file() {
        return Ok(());
    }
    if file.is_dir() {
        return Err(ToolError::invalid("path", format!("\"{path}\" is a folder"))
            .hint("`list_user_files` names the files in it"));
    }
    let folder = path.rsplit_once('/').map_or("user:/", |it| it.0);
    let entries = file.parent().and_then(|it| std::fs::read_dir(it).ok()).into_iter().flatten();
    let names: Vec<String> = entries
        .flatten()
        .map(|it| format!("{folder}/{}", it.file_name().to_string_lossy()))
        .collect();
    let near = suggest::near(path, names.iter().map(String::as_str), 5);
    let error = ToolError::not_found(format!("no file \"{path}\"")).required("path");
    Err(match near.is_empty() {
        true => error.hint("`list_user_files` names the files"),
        false => error.suggest(near),
    })
}

/// Refuses to change a file that is too large to be brought back.
fn check_size(path: &str) -> Result<(), ToolError> {
    let size = std::fs::metadata(files::absolute(path)).map_or(0, |it| it.len());
    if size <= MAX_KEPT {
        return Ok(());
    }
    Err(ToolError::new(
        Code::PreconditionFailed,
        format!("\"{path}\" has {size} bytes, and undo keeps at most {MAX_KEPT}"),
    )
    .required("path")
    .hint("remove it by hand"))
}

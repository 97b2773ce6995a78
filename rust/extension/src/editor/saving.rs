//! Saving the edited scene right after an edit, for tools that offer it.

use godot::global::Error;
use godot_mcp_core::{Code, ToolError};
use serde_json::{Map, Value};

use super::Editor;
use super::edit::Edit;
use super::scene::Scene;
use super::{scene_files, scene_tabs};

/// Saves the scene once the edit is in the history, when `save` says so. `parameter` is the name by
/// which the caller asked.
pub(crate) fn afterwards(
    edit: &mut Edit,
    scene: &Scene,
    save: bool,
    parameter: &'static str,
) -> Result<(), ToolError> {
    edit.fact(parameter, save);
    if save {
        may_save(scene, parameter)?;
        edit.settle(Box::new(|editor: &Editor| Some(now(editor))));
    }
    Ok(())
}

fn may_save(scene: &Scene, parameter: &'static str) -> Result<(), ToolError> {
    let file = scene.file();
    if file.is_empty() {
        return Err(ToolError::precondition(parameter, "the edited scene was never saved")
            .hint(format!("save it with `save_scene` first, or leave {parameter} out")));
    }
    scene_files::check_savable(scene.root())?;
    if scene_files::changed_outside(&file) {
        return Err(ToolError::new(
            Code::StateChanged,
            format!("\"{file}\" was changed outside the editor"),
        )
        .hint(format!("`reload_scene` takes the file as it is; or leave {parameter} out")));
    }
    Ok(())
}

/// Runs in the safe lane. The edit stands when the save fails.
fn now(editor: &Editor) -> Map<String, Value> {
    let front = editor.interface().get_edited_scene_root();
    let saved = editor.interface().save_scene() == Error::OK
        && front.is_some_and(|it| !scene_tabs::is_dirty(&it));
    Map::from_iter([("saved".to_owned(), Value::from(saved))])
}

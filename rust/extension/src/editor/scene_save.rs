//! Saving the edited scene, for the tool and for extensions.

use godot::classes::EditorInterface;
use godot::global::Error;
use godot::obj::Singleton;
use godot_mcp_core::{Code, ToolError};
use serde_json::{Map, json};

use super::edit::Acted;
use super::{Editor, files, scene_files, scene_tabs};

/// A save that nothing speaks against.
pub(crate) struct SceneSave {
    pub(crate) path: String,
    own: String,
    pub(crate) was_dirty: bool,
    /// Open scripts that the editor saves along with it.
    pub(crate) unsaved_scripts: usize,
}

impl SceneSave {
    /// Changes nothing. Without `wanted`, the scene is saved to its own file.
    pub(crate) fn plan(
        editor: &Editor,
        wanted: Option<String>,
        overwrite_external: bool,
    ) -> Result<Self, ToolError> {
        let scene = editor.edited_scene()?;
        let own = scene.file();
        let path = wanted.unwrap_or_else(|| own.clone());
        if path.is_empty() {
            return Err(ToolError::precondition("scene_path", "the scene was never saved")
                .hint("give scene_path, such as \"res://level.tscn\""));
        }
        if path != own {
            scene_files::check_new(&path, "scene_path")?;
            let folder = files::absolute(&path);
            if !folder.parent().is_some_and(std::path::Path::is_dir) {
                return Err(ToolError::not_found(format!(
                    "the folder of \"{path}\" does not exist"
                ))
                .required("scene_path"));
            }
        }
        scene_files::check_savable(scene.root())?;
        let scripts = scene_files::unsaved_scripts();
        if !overwrite_external {
            check_outside(&path, &scripts)?;
        }
        let was_dirty = scene_tabs::is_dirty(scene.root());
        Ok(Self { path, own, was_dirty, unsaved_scripts: scripts.count })
    }

    /// Saves. Only where a progress dialog may open.
    pub(crate) fn run(self) -> Result<Acted, ToolError> {
        let path = self.path;
        let mut interface = EditorInterface::singleton();
        if path == self.own {
            let result = interface.save_scene();
            if result != Error::OK {
                return Err(ToolError::internal(format!(
                    "the editor did not save \"{path}\": {result:?}"
                )));
            }
        } else {
            interface.save_scene_as(&path);
        }
        Ok(scene_tabs::settled(format!("\"{path}\" was not saved"), move |editor| {
            let scene = editor.edited_scene().ok()?;
            if scene.file() != path || scene_tabs::is_dirty(scene.root()) {
                return None;
            }
            let bytes = std::fs::metadata(files::absolute(&path)).ok()?.len();
            let mut facts = Map::new();
            facts.insert("bytes".into(), json!(bytes));
            Some(facts)
        }))
    }
}

/// Refuses to lose what another program wrote.
fn check_outside(path: &str, scripts: &scene_files::UnsavedScripts) -> Result<(), ToolError> {
    let changed = |message: String| {
        Err(ToolError::new(Code::StateChanged, message)
            .hint("`reload_scene` takes the file as it is; overwrite_external: true replaces it")
            .required("overwrite_external"))
    };
    if scene_files::changed_outside(path) {
        return changed(format!(
            "\"{path}\" was changed outside the editor since it was opened or saved"
        ));
    }
    match scripts.outdated.first() {
        Some(script) => changed(format!(
            "the editor would save its unsaved scripts too, and \"{script}\" was changed outside"
        )),
        None => Ok(()),
    }
}

use godot::classes::EditorInterface;
use godot::global::Error;
use godot::obj::Singleton;

use crate::editor::{files, scene_files, scene_tabs};
use crate::tool_prelude::*;

/// Saves the edited scene. A file that another program changed since the editor read it is kept.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct SaveScene {
    /// New file, `.tscn` or `.scn`. Needed for a scene that was never saved.
    #[serde(default)]
    scene_path: Option<ResPath>,
    /// Write over outside changes.
    #[serde(default)]
    overwrite_external: bool,
}

impl Tool for SaveScene {
    const NAME: &'static str = "save_scene";
    const TOOLSET: &'static str = "scene_edit";

    fn adjust(spec: &mut ToolSpec) {
        spec.edits_scene = true;
        spec.writes_disk = true;
    }

    fn examples() -> Vec<Example> {
        let before = r#"
[node name="Main" type="Node2D"]
;- res://taken.tscn
[gd_scene format=3]
[node name="Taken" type="Node2D"]"#;
        vec![
            Example::answer("Saves the scene.", before, json!({"dirty": false, "bytes": "*"}))
                .args(json!({})),
            Example::refusal("Refuses to replace another file.", before, Code::AlreadyExists)
                .args(json!({"scene_path": "res://taken.tscn"})),
        ]
    }
}

impl EditTool for SaveScene {
    const CLASS: SafetyClass = SafetyClass::Mutating;
    const SITE: Site = Site::SafeLane;
    const UNDO: UndoKind = UndoKind::EditorState("undo the edits and save again");

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let scene = editor.edited_scene()?;
        let own = scene.file();
        let wanted = self.scene_path.as_ref().map(|it| editor.res_path(it)).transpose()?;
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
        let scripts = scene_files::unsaved_scripts();
        if !self.overwrite_external {
            check_outside(&path, &scripts)?;
        }
        let mut note = json!({"save": path});
        if scripts.count > 0 {
            note["unsaved_scripts_saved_too"] = json!(scripts.count);
        }
        let action = {
            let (path, own) = (path.clone(), own.clone());
            Box::new(move |_: &Editor| save(path, &own))
        };
        let mut edit = Edit::editor_state("Save the scene", note, action);
        edit.fact("scene_path", path);
        edit.fact("was_dirty", scene_tabs::is_dirty(scene.root()));
        edit.fact("dirty", false);
        Ok(edit)
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

fn save(path: String, own: &str) -> Result<Acted, ToolError> {
    let mut interface = EditorInterface::singleton();
    if path == *own {
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

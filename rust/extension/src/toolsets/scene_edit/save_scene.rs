use crate::editor::scene_save::SceneSave;
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
        let wanted = self.scene_path.as_ref().map(|it| editor.res_path(it)).transpose()?;
        let save = SceneSave::plan(editor, wanted, self.overwrite_external)?;
        let mut note = json!({"save": save.path});
        if save.unsaved_scripts > 0 {
            note["unsaved_scripts_saved_too"] = json!(save.unsaved_scripts);
        }
        let (path, was_dirty) = (save.path.clone(), save.was_dirty);
        let action = Box::new(move |_: &Editor| save.run());
        let mut edit = Edit::editor_state("Save the scene", note, action);
        edit.fact("scene_path", path);
        edit.fact("was_dirty", was_dirty);
        edit.fact("dirty", false);
        Ok(edit)
    }
}

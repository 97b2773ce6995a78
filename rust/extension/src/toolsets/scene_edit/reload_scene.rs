use godot::classes::EditorInterface;
use godot::obj::Singleton;

use crate::editor::{scene_files, scene_tabs};
use crate::tool_prelude::*;

/// Reads an open scene from its file again. Its unsaved changes and its undo history are lost.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ReloadScene {
    /// File of the open scene.
    scene_path: ResourcePath,
}

impl Tool for ReloadScene {
    const NAME: &'static str = "reload_scene";
    const TOOLSET: &'static str = "scene_edit";

    fn adjust(spec: &mut ToolSpec) {
        spec.free_text = true;
    }

    fn examples() -> Vec<Example> {
        let before = r#"
[node name="Main" type="Node2D"]
;- res://level.tscn
[gd_scene format=3]
[node name="Level" type="Node2D"]"#;
        vec![
            Example::answer("Reloads a scene.", before, json!({"scene_path": "res://level.tscn"}))
                .after("open_scene", json!({"scene_path": "res://level.tscn"}))
                .args(json!({"scene_path": "res://level.tscn"})),
            Example::refusal("Refuses a scene that is not open.", before, Code::ResourceNotFound)
                .args(json!({"scene_path": "res://level.tscn"})),
        ]
    }
}

impl EditTool for ReloadScene {
    const CLASS: SafetyClass = SafetyClass::Destructive;
    const SITE: Site = Site::SafeLane;
    const UNDO: UndoKind = UndoKind::EditorState("nothing: what was not saved is lost");

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let path = editor.resource_path(&self.scene_path)?;
        let root = scene_tabs::open_root(&path)?;
        scene_files::load(editor, &path, "scene_path")?;
        let loses = scene_tabs::unsaved_changes(&root);
        let changed = scene_files::changed_outside(&path);
        let note = json!({"reload": path, "unsaved_changes": loses});
        let old = root.instance_id();
        let action = {
            let path = path.clone();
            Box::new(move |editor: &Editor| {
                // A reloaded scene has a new root, so the tab in front is known by its file then.
                let front = editor.edited_scene().ok().map(|it| it.root().clone());
                let mut asked = false;
                let selection = scene_tabs::Selection::let_go(&root);
                Ok(scene_tabs::settled(format!("\"{path}\" was not reloaded"), move |_| {
                    if !asked {
                        // Reloading frees the scene, which may just have come to the front.
                        if selection.is_gone() && !scene_tabs::just_switched() {
                            EditorInterface::singleton().reload_scene_from_path(&path);
                            asked = true;
                        }
                        return None;
                    }
                    let new = scene_tabs::root_of(&path)?;
                    let back = match &front {
                        Some(front) if front.is_instance_valid() => front.clone(),
                        _ => new.clone(),
                    };
                    let done = new.instance_id() != old && !scene_tabs::is_dirty(&new);
                    let settled = done && scene_tabs::switch_to(&back);
                    settled.then(|| {
                        selection.give_back(&new);
                        Map::new()
                    })
                }))
            })
        };
        let mut edit = Edit::editor_state("Reload a scene", note, action);
        edit.fact("scene_path", path);
        edit.fact("file_changed_outside", changed);
        edit.fact("unsaved_changes", loses);
        Ok(edit)
    }
}

use godot::classes::{EditorInterface, Node};
use godot::global::Error;
use godot::obj::{Gd, Singleton};

use crate::editor::{scene_files, scene_tabs};
use crate::tool_prelude::*;

/// Saves every open scene that has unsaved changes. Names those that it cannot save: scenes without
/// a file, and files that another program changed.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct SaveAllScenes {}

impl Tool for SaveAllScenes {
    const NAME: &'static str = "save_all_scenes";
    const TOOLSET: &'static str = "scene_edit";

    fn adjust(spec: &mut ToolSpec) {
        spec.writes_disk = true;
    }

    fn examples() -> Vec<Example> {
        vec![
            Example::answer(
                "Saves what was changed.",
                "",
                json!({"saved_count": "*", "not_saved": "*"}),
            )
            .after(
                "set_node_property",
                json!({"node_path": ".", "property": "visible", "value": false}),
            )
            .args(json!({})),
        ]
    }
}

impl EditTool for SaveAllScenes {
    const CLASS: SafetyClass = SafetyClass::Mutating;
    const SITE: Site = Site::SafeLane;
    const UNDO: UndoKind = UndoKind::EditorState("undo the edits and save again");

    fn plan(self, _: &Editor) -> Result<Edit, ToolError> {
        let scripts = scene_files::unsaved_scripts();
        if let Some(script) = scripts.outdated.first() {
            let message = format!(
                "the editor would save its unsaved scripts too, and \"{script}\" was changed outside"
            );
            return Err(ToolError::new(Code::StateChanged, message)
                .hint("save or reload that script first; `save_scene` can overwrite it"));
        }
        let roots = scene_tabs::roots();
        let (mut saved, mut not_saved, mut targets) = (Vec::new(), Vec::new(), Vec::new());
        for (open, root) in scene_tabs::open_scenes().into_iter().zip(roots) {
            if open.path.is_empty() {
                not_saved.push(json!({"root_name": open.root, "why": "it has no file; use `save_scene` with scene_path"}));
            } else if open.dirty && scene_files::changed_outside(&open.path) {
                not_saved.push(json!({"scene_path": open.path, "why": "its file was changed outside the editor"}));
            } else if let Some(why) = open.dirty.then(|| scene_files::unsavable(&root)).flatten() {
                not_saved.push(json!({"scene_path": open.path, "why": why}));
            } else if open.dirty {
                saved.push(open.path);
                targets.push(root);
            }
        }
        let note = json!({"save": saved});
        let action = Box::new(move |editor: &Editor| save(editor, &targets));
        let mut edit = Edit::editor_state("Save all scenes", note, action);
        edit.fact("saved_count", saved.len());
        edit.fact("saved", saved);
        edit.fact("not_saved", not_saved);
        Ok(edit)
    }
}

/// One scene after the other in its tab: the editor's own call for all ends in a dialog when one of
/// them cannot be saved.
fn save(editor: &Editor, targets: &[Gd<Node>]) -> Result<Acted, ToolError> {
    let front = editor.edited_scene().ok().map(|it| it.root().clone());
    let mut failed = Vec::new();
    for root in targets {
        let done = root.is_instance_valid()
            && scene_tabs::switch_to(root)
            && EditorInterface::singleton().save_scene() == Error::OK
            && !scene_tabs::is_dirty(root);
        if !done && root.is_instance_valid() {
            failed.push(root.get_scene_file_path().to_string());
        }
    }
    if let Some(front) = front.filter(|it| it.is_instance_valid()) {
        scene_tabs::switch_to(&front);
    }
    if failed.is_empty() {
        return Ok(Acted::Done(Map::new()));
    }
    Err(ToolError::internal(format!("the editor did not save {}", failed.join(", ")))
        .details(json!({"may_have_applied": true, "failed": failed})))
}

use godot::builtin::GString;
use godot::meta::ToGodot;
use godot::obj::NewGd as _;

use crate::editor::file_uses::Uses;
use crate::editor::scene_keeper::SceneKeeper;
use crate::editor::scene_tabs;
use crate::tool_prelude::*;

/// Deletes a file with its `.uid` and `.import`, and closes its scene tab. Answers who still names
/// it. Undo brings the exact bytes back.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct DeleteResourceFile {
    path: ResPath,
}

impl Tool for DeleteResourceFile {
    const NAME: &'static str = "delete_resource_file";
    const TOOLSET: &'static str = "project";

    fn adjust(spec: &mut ToolSpec) {
        spec.writes_disk = true;
    }

    fn examples() -> Vec<Example> {
        let before = r#"
[node name="Main" type="Node2D"]
;- res://old.gd
extends Node
;- res://user.gd
extends "old.gd"
"#;
        vec![
            Example::answer(
                "Deletes a script.",
                before,
                json!({
                    "changes": [{"delete": "res://old.gd"}],
                    "still_referenced_by": [{"file": "res://user.gd", "lines": [1]}]
                }),
            )
            .args(json!({"path": "res://old.gd"})),
            Example::answer(
                "Deletes an open scene.",
                before,
                json!({"changes": [{"close": "res://scene.tscn"}, {"delete": "res://scene.tscn"}]}),
            )
            .args(json!({"path": "res://scene.tscn"})),
            Example::refusal("Refuses a missing file.", before, Code::ResourceNotFound)
                .args(json!({"path": "res://odl.gd"})),
        ]
    }
}

impl EditTool for DeleteResourceFile {
    const CLASS: SafetyClass = SafetyClass::Destructive;
    const SITE: Site = Site::SafeLane;

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let path = super::movable_file(editor, &self.path)?;
        super::check_size(&path)?;
        let uses = Uses::of(&path);
        let title = format!("Delete {path}");
        let open = scene_tabs::root_of(&path);
        // The history of a scene goes with its tab.
        let mut edit = if open.is_some() { Edit::of_project(title) } else { Edit::of_files(title) };
        edit.fact("path", path.as_str());
        edit.fact("still_referenced_by", uses.shown());
        edit.fact("references_total", uses.total());
        if let Some(root) = open {
            edit.fact("unsaved_changes", scene_tabs::unsaved_changes(&root));
            close_step(&mut edit, &path);
        }
        edit.write_file(&path, None);
        edit.verdict(Verdict::yes(path));
        Ok(edit)
    }
}

/// Closes the scene's tab; undo opens it again.
pub(super) fn close_step(edit: &mut Edit, path: &str) {
    let keeper = SceneKeeper::new_gd();
    let args = [GString::from(path).to_variant()];
    edit.step(
        Step::new(json!({"close": path}))
            .apply(Op::call(&keeper, "drop_tab", &args))
            .revert(Op::call(&keeper, "open", &args)),
    );
}

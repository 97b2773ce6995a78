use godot::classes::EditorInterface;
use godot::obj::Singleton;

use crate::editor::{scene_files, scene_tabs};
use crate::tool_prelude::*;

/// Opens a scene file in the editor, or switches to its tab when it is open.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct OpenScene {
    /// Scene file.
    scene_path: ResourcePath,
}

impl Tool for OpenScene {
    const NAME: &'static str = "open_scene";
    const TOOLSET: &'static str = "scene_edit";

    fn adjust(spec: &mut ToolSpec) {
        spec.tab = TabUse::Opens;
        spec.free_text = true;
    }

    fn examples() -> Vec<Example> {
        let before = r#"
[node name="Main" type="Node2D"]
;- res://level.tscn
[gd_scene format=3]
[node name="Level" type="Node2D"]"#;
        vec![
            Example::answer(
                "Opens a scene.",
                before,
                json!({"scene_path": "res://level.tscn", "already_open": false, "root_name": "Level"}),
            )
            .args(json!({"scene_path": "res://level.tscn"})),
            Example::refusal("Refuses a missing file.", before, Code::ResourceNotFound)
                .args(json!({"scene_path": "res://levl.tscn"})),
        ]
    }
}

impl EditTool for OpenScene {
    const CLASS: SafetyClass = SafetyClass::Mutating;
    const SITE: Site = Site::SafeLane;
    const UNDO: UndoKind =
        UndoKind::EditorState("`close_scene`, or `open_scene` with the scene before");

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let path = editor.resource_path(&self.scene_path)?;
        let open = scene_tabs::root_of(&path);
        let root_name = match &open {
            Some(root) => root.get_name().to_string(),
            None => {
                let packed = scene_files::load(editor, &path, "scene_path")?;
                if !scene_files::is_scene_file(&path) {
                    return Err(ToolError::new(
                        Code::Unsupported,
                        format!("\"{path}\" is imported, it cannot be edited"),
                    )
                    .hint("make an inherited scene of it with `create_inherited_scene`"));
                }
                scene_files::root_name(&packed).to_string()
            }
        };
        let before = editor.edited_scene().map(|it| it.file()).unwrap_or_default();
        let note = json!({"open": path, "already_open": open.is_some(), "instead_of": before});
        let action = {
            let path = path.clone();
            Box::new(move |_: &Editor| {
                match scene_tabs::root_of(&path) {
                    Some(root) => drop(scene_tabs::switch_to(&root)),
                    None => EditorInterface::singleton().open_scene_from_path(&path),
                }
                Ok(until_edited(path))
            })
        };
        let mut edit = Edit::editor_state("Open a scene", note, action);
        edit.fact("scene_path", path);
        edit.fact("already_open", open.is_some());
        edit.fact("root_name", root_name);
        Ok(edit)
    }
}

/// Waits until the scene is the edited one.
fn until_edited(path: String) -> Acted {
    scene_tabs::settled(format!("\"{path}\" did not become the edited scene"), move |editor| {
        editor.edited_scene().is_ok_and(|it| it.file() == path).then(Map::new)
    })
}

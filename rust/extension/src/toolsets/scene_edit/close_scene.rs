use crate::editor::scene_tabs;
use crate::tool_prelude::*;

/// Closes the tab of a scene and drops its unsaved changes. The tab in front stays in front.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct CloseScene {
    /// File of the open scene. Empty: the edited scene.
    #[serde(default)]
    #[schemars(extend("format" = "resource-path"))]
    scene_path: Option<String>,
}

impl Tool for CloseScene {
    const NAME: &'static str = "close_scene";
    const TOOLSET: &'static str = "scene_edit";

    fn adjust(spec: &mut ToolSpec) {
        spec.tab = TabUse::Closes;
    }

    fn examples() -> Vec<Example> {
        let before = r#"
[node name="Main" type="Node2D"]
;- res://level.tscn
[gd_scene format=3]
[node name="Level" type="Node2D"]"#;
        vec![
            Example::answer(
                "Closes a scene in another tab.",
                before,
                json!({"scene_path": "res://level.tscn"}),
            )
            .after("open_scene", json!({"scene_path": "res://level.tscn"}))
            .args(json!({"scene_path": "res://level.tscn"})),
            Example::refusal("Refuses a scene that is not open.", before, Code::ResourceNotFound)
                .args(json!({"scene_path": "res://level.tscn"})),
        ]
    }
}

impl EditTool for CloseScene {
    const CLASS: SafetyClass = SafetyClass::Destructive;
    const SITE: Site = Site::SafeLane;
    const UNDO: UndoKind =
        UndoKind::EditorState("`open_scene` opens the file again, without the unsaved changes");

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let root = match self.scene_path.as_deref().filter(|it| !it.is_empty()) {
            Some(path) => {
                let path =
                    ResourcePath::new(path).map_err(|it| ToolError::invalid("scene_path", it))?;
                scene_tabs::open_root(&editor.resource_path(&path)?)?
            }
            None => editor.edited_scene()?.root().clone(),
        };
        let path = root.get_scene_file_path().to_string();
        let loses = scene_tabs::unsaved_changes(&root);
        let active = editor.edited_scene().is_ok_and(|it| *it.root() == root);
        let note = json!({"close": path, "root_name": root.get_name().to_string(), "unsaved_changes": loses});
        let action = Box::new(move |_: &Editor| {
            if !root.is_instance_valid() {
                return Err(ToolError::new(Code::StateChanged, "the scene was closed meanwhile"));
            }
            let mut closing = scene_tabs::Closing::new(&root);
            if let Some(closed) = closing.poll() {
                return answer(closed).map(Acted::Done);
            }
            Ok(Acted::Wait(Box::new(move |_| closing.poll().map(answer))))
        });
        let mut edit = Edit::editor_state("Close a scene", note, action);
        edit.fact("scene_path", path);
        edit.fact("was_active", active);
        edit.fact("unsaved_changes", loses);
        Ok(edit)
    }
}

fn answer(closed: bool) -> Result<Map<String, Value>, ToolError> {
    if closed {
        return Ok(Map::new());
    }
    Err(ToolError::new(Code::Busy, "the editor did not close the scene").hint("call again"))
}

use crate::editor::scene_tabs;
use crate::tool_prelude::*;

/// The scene that is being edited: its file, its root and whether it has unsaved changes.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct GetActiveScene {}

impl Tool for GetActiveScene {
    const NAME: &'static str = "get_active_scene";
    const TOOLSET: &'static str = "inspection";

    fn examples() -> Vec<Example> {
        vec![Example::answer(
            "Names the edited scene.",
            "",
            json!({"root_name": "Main", "root_type": "Node2D", "dirty": false}),
        )]
    }
}

impl ReadTool for GetActiveScene {
    fn run(self, editor: &Editor) -> Result<Outcome, ToolError> {
        let Ok(scene) = editor.edited_scene() else {
            return Ok(json!({"scene_path": null, "open": false}).into());
        };
        let open = scene_tabs::open_scenes();
        Ok(json!({
            "scene_path": scene.file(),
            "root_name": scene.root().get_name().to_string(),
            "root_type": scene.root().get_class().to_string(),
            "dirty": open.iter().find(|it| it.active).map(|it| it.dirty),
        })
        .into())
    }
}

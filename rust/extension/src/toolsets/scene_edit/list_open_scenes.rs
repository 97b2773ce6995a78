use crate::editor::scene_tabs;
use crate::tool_prelude::*;

/// The open scenes in the order of their tabs, each with its unsaved-changes flag.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ListOpenScenes {}

impl Tool for ListOpenScenes {
    const NAME: &'static str = "list_open_scenes";
    const TOOLSET: &'static str = "scene_edit";

    fn examples() -> Vec<Example> {
        vec![Example::answer("Lists the tabs.", "", json!({"scenes": "*", "count": "*"}))]
    }
}

impl ReadTool for ListOpenScenes {
    fn run(self, _: &Editor) -> Result<Outcome, ToolError> {
        let scenes: Vec<Value> = scene_tabs::open_scenes()
            .into_iter()
            .map(|it| {
                // A scene without a file is told apart by null.
                let path = (!it.path.is_empty()).then_some(it.path);
                json!({"scene_path": path, "root_name": it.root, "dirty": it.dirty, "active": it.active})
            })
            .collect();
        Ok(json!({"count": scenes.len(), "scenes": scenes}).into())
    }
}

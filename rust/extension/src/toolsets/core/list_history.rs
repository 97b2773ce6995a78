use crate::editor::history::{self, Direction};
use crate::tool_prelude::*;

/// Undo history of the edited scene and of the project: version, depth, position and the last 20
/// action names, newest last. Those behind the position are undone and can be redone.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ListHistory {}

/// Names that are listed for one history.
const MAX_NAMES: i32 = 20;

impl Tool for ListHistory {
    const NAME: &'static str = "list_history";
    const TOOLSET: &'static str = "core";

    fn examples() -> Vec<Example> {
        let scene = r#"[node name="Main" type="Node2D"]"#;
        let hide = json!({"node_path": ".", "property": "visible", "value": false});
        vec![
            Example::answer("Lists the edits of the scene.", scene, json!({
                "scene": {"has_undo": true, "has_redo": false, "next_undo": "MCP: Set visible of Main"}
            }))
            .after("set_node_property", hide),
        ]
    }
}

impl ReadTool for ListHistory {
    fn run(self, _editor: &Editor) -> Result<Outcome, ToolError> {
        let mut answer = Map::new();
        answer.insert("scene".into(), Value::Null);
        for history in history::histories() {
            let undo_redo = &history.undo_redo;
            let depth = undo_redo.clone().get_history_count();
            let first = (depth - MAX_NAMES).max(0);
            let names: Vec<_> = (first..depth)
                .map(|it| undo_redo.clone().get_action_name(it).to_string())
                .collect();
            let mut facts = json!({
                "version": undo_redo.get_version(),
                "has_undo": undo_redo.has_undo(),
                "has_redo": undo_redo.has_redo(),
                "depth": depth,
                "position": undo_redo.clone().get_current_action() + 1,
                "next_undo": history::next_name(&history, Direction::Undo),
                "next_redo": history::next_name(&history, Direction::Redo),
                "names": names,
            });
            if first > 0 {
                facts["names_left_out"] = json!(first);
            }
            answer.insert(history.label.to_owned(), facts);
        }
        Ok(Value::Object(answer).into())
    }
}

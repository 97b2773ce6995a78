use crate::editor::history::{self, Direction};
use crate::tool_prelude::*;

/// Does the actions again that were undone last, as the human's Ctrl+Shift+Z does, theirs
/// included; the answer names each.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct GodotRedo {
    /// How many.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 100))]
    count: u32,
}

fn one() -> u32 {
    1
}

impl Tool for GodotRedo {
    const NAME: &'static str = "godot_redo";
    const TOOLSET: &'static str = "core";

    fn examples() -> Vec<Example> {
        let before = r#"
[node name="Main" type="Node2D"]
[node name="Player" type="Node2D" parent="."]"#;
        let after = r#"
[node name="Main" type="Node2D"]
[node name="Player" type="Node2D" parent="."]
position = Vector2(1, 2)"#;
        let move_player = json!({"node_path": "Player", "property": "position", "value": [1, 2]});
        vec![
            Example::edit("Does an undone edit again.", before, after)
                .after("set_node_property", move_player)
                .after("godot_undo", json!({})),
            Example::refusal("Refuses to redo nothing at all.", before, Code::ValidationError)
                .args(json!({"count": 0})),
        ]
    }
}

impl EditTool for GodotRedo {
    const CLASS: SafetyClass = SafetyClass::Mutating;
    const SITE: Site = Site::SafeLane;
    const UNDO: UndoKind = UndoKind::EditorState("`godot_undo`");

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let count = self.count;
        let next = history::next(editor, Direction::Redo);
        let note = if next.is_null() { next } else { json!({"redo": next}) };
        let act = move |editor: &Editor| history::walk(editor, Direction::Redo, count);
        let mut edit = Edit::editor_state("Redo", note, Box::new(act));
        history::outlook(editor, Direction::Redo, &mut |name, value| edit.fact(name, value));
        Ok(edit)
    }
}

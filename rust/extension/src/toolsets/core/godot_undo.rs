use crate::editor::history::{self, Direction};
use crate::editor::scene_keeper;
use crate::tool_prelude::*;

/// Takes back the newest actions of the edited scene's and the project's history, as the human's
/// Ctrl+Z does, theirs included; the answer names each.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct GodotUndo {
    /// How many.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 100))]
    count: u32,
    /// Undo only if the action with this token is the newest; excludes a count above 1.
    #[serde(default)]
    undo_token: Option<String>,
}

fn one() -> u32 {
    1
}

impl Tool for GodotUndo {
    const NAME: &'static str = "godot_undo";
    const TOOLSET: &'static str = "core";

    fn examples() -> Vec<Example> {
        let scene = r#"
[node name="Main" type="Node2D"]
[node name="Player" type="Node2D" parent="."]"#;
        let move_player = json!({"node_path": "Player", "property": "position", "value": [1, 2]});
        vec![
            Example::edit("Takes back the last edit.", scene, scene)
                .after("set_node_property", move_player),
            Example::refusal("Refuses an unknown token.", scene, Code::ResourceNotFound)
                .args(json!({"undo_token": "u999999"})),
        ]
    }
}

impl EditTool for GodotUndo {
    const CLASS: SafetyClass = SafetyClass::Mutating;
    const SITE: Site = Site::SafeLane;
    const UNDO: UndoKind = UndoKind::EditorState("`godot_redo`");

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let count = self.count;
        if self.undo_token.is_some() && count != 1 {
            return Err(ToolError::invalid(
                "count",
                format!("a token names one action, not {count}"),
            )
            .hint("leave out count, or the token"));
        }
        if let Some(token) = &self.undo_token {
            history::check_token(editor, token)?;
        }

        let next = history::next(editor, Direction::Undo);
        let note = if next.is_null() { next } else { json!({"undo": next}) };
        let token = self.undo_token;
        let act = move |editor: &Editor| match &token {
            Some(token) => history::undo_token(editor, token).map(scene_keeper::when_done),
            None => history::walk(editor, Direction::Undo, count),
        };
        let mut edit = Edit::editor_state("Undo", note, Box::new(act));
        history::outlook(editor, Direction::Undo, &mut |name, value| edit.fact(name, value));
        Ok(edit)
    }
}

use std::time::Duration;

use crate::batch::{self, Wanted};
use crate::tool::BatchTool;
use crate::tool_prelude::*;

/// Longest time for all commands together.
const TIMEOUT: Duration = Duration::from_secs(600);

/// Runs several tools in order, each as if called by itself. `atomic`: all or none, one undo step.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct RunCommands {
    #[schemars(length(max = 1000))]
    commands: Vec<Command>,
    #[serde(default = "yes")]
    stop_on_error: bool,
    #[serde(default)]
    atomic: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Command {
    tool: String,
    #[serde(default)]
    arguments: Map<String, Value>,
}

fn yes() -> bool {
    true
}

impl Tool for RunCommands {
    const NAME: &'static str = "run_commands";
    const TOOLSET: &'static str = "composite";

    fn adjust(spec: &mut ToolSpec) {
        spec.timeout = TIMEOUT;
        spec.edits_scene = true;
        spec.writes_disk = true;
        spec.executes_code = true;
        spec.free_text = true;
    }

    fn examples() -> Vec<Example> {
        let before = r#"
[node name="Main" type="Node2D"]
[node name="Old" type="Node2D" parent="."]"#;
        let after = r#"
[node name="Main" type="Node2D"]
[node name="New" type="Sprite2D" parent="."]
position = Vector2(1, 2)"#;
        let create = json!({"tool": "create_node", "arguments": {
            "parent_path": ".", "node_type": "Sprite2D", "node_name": "New"
        }});
        let set = json!({"tool": "set_node_property", "arguments": {
            "node_path": "New", "property": "position", "value": [1, 2]
        }});
        let delete = |confirm: Value| {
            let arguments = json!({"node_path": "Old", "confirm": confirm});
            json!({"tool": "delete_node", "arguments": arguments})
        };
        vec![
            Example::edit("Makes, sets and deletes as one step.", before, after).args(
                json!({"atomic": true, "commands": [create, set, delete(json!(true))]}),
            ),
            Example::answer(
                "Stops at the first fault, and says what ran.",
                before,
                json!({"done": 1, "failed": 1, "skipped": 1, "applied": false}),
            )
            .args(json!({"commands": [
                {"tool": "get_active_scene"},
                {"tool": "set_node_property", "arguments": {"node_path": "No", "property": "position", "value": [1, 2]}},
                create,
            ]})),
            Example::refusal(
                "Takes all back when one lacks its confirm.",
                before,
                Code::PreconditionFailed,
            )
            .args(json!({"atomic": true, "commands": [create, delete(json!(false))]})),
            Example::refusal("Refuses a batch in a batch.", before, Code::ValidationError)
                .args(json!({"commands": [create, {"tool": "run_commands", "arguments": {"commands": [create]}}]})),
        ]
    }
}

impl BatchTool for RunCommands {
    fn wanted(self) -> Wanted {
        let commands = self.commands.into_iter();
        Wanted {
            commands: commands
                .map(|it| batch::Command { tool: it.tool, arguments: it.arguments })
                .collect(),
            stop_on_error: self.stop_on_error,
            atomic: self.atomic,
        }
    }
}

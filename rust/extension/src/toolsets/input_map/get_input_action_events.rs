use super::{action, event_form, is_engines};
use crate::tool_prelude::*;

/// Deadzone and events of an action; each event as the arguments of `add_input_event`.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct GetInputActionEvents {
    action: ActionName,
}

impl Tool for GetInputActionEvents {
    const NAME: &'static str = "get_input_action_events";
    const TOOLSET: &'static str = "input_map";

    fn examples() -> Vec<Example> {
        vec![
            Example::answer(
                "Reads one of the engine's.",
                "",
                json!({
                    "action": "ui_accept", "engine_action": true,
                    "events": [{"keycode": "Enter"}, {"keycode": "Kp Enter"}, {"keycode": "Space"}]
                }),
            )
            .args(json!({"action": "ui_accept"})),
            Example::refusal("Refuses an unknown action.", "", Code::ResourceNotFound)
                .args(json!({"action": "nope"})),
        ]
    }
}

impl ReadTool for GetInputActionEvents {
    fn run(self, _editor: &Editor) -> Result<Outcome, ToolError> {
        let name = self.action.as_str();
        let stored = action(name, "action")?;
        Ok(json!({
            "action": name,
            "deadzone": stored.deadzone,
            "engine_action": is_engines(name),
            "events": stored.events.iter().map(event_form).collect::<Vec<_>>(),
        })
        .into())
    }
}

use super::{action_names, is_engines};
use crate::editor::project_settings::{self, Action};
use crate::tool_prelude::*;

/// The project's actions with their events as text, and the names of the engine's own.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ListInputActions {}

impl Tool for ListInputActions {
    const NAME: &'static str = "list_input_actions";
    const TOOLSET: &'static str = "input_map";

    fn examples() -> Vec<Example> {
        vec![
            Example::answer("Lists an action.", "", json!({"actions": "*", "engine_actions": "*"}))
                .after("add_input_action", json!({"name": "dash"}))
                .args(json!({})),
        ]
    }
}

impl ReadTool for ListInputActions {
    fn run(self, _editor: &Editor) -> Result<Outcome, ToolError> {
        let (mut own, mut engines) = (Vec::new(), Vec::new());
        for name in action_names() {
            if is_engines(&name) && !project_settings::is_changed(&super::setting(&name)) {
                engines.push(name);
            } else if let Some(action) = Action::of(&name) {
                let events: Vec<String> =
                    action.events.iter().map(|it| it.as_text().to_string()).collect();
                own.push(json!({
                    "name": name, "deadzone": action.deadzone, "events": events
                }));
            }
        }
        Ok(json!({"actions": own, "engine_actions": engines}).into())
    }
}

use super::{Action, action, event_form, setting};
use crate::tool_prelude::*;

/// Takes all events from an action, which stays.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ClearInputActionEvents {
    action: ActionName,
}

impl Tool for ClearInputActionEvents {
    const NAME: &'static str = "clear_input_action_events";
    const TOOLSET: &'static str = "input_map";

    fn adjust(spec: &mut ToolSpec) {
        spec.writes_disk = true;
    }

    fn examples() -> Vec<Example> {
        vec![
            Example::answer("Clears one of the engine's.", "", json!({"removed_total": 3}))
                .args(json!({"action": "ui_accept"})),
            Example::refusal("Refuses an unknown action.", "", Code::ResourceNotFound)
                .args(json!({"action": "nope"})),
        ]
    }
}

impl EditTool for ClearInputActionEvents {
    const CLASS: SafetyClass = SafetyClass::Destructive;

    fn plan(self, _editor: &Editor) -> Result<Edit, ToolError> {
        let name = self.action.as_str();
        let stored = action(name, "action")?;
        let mut edit = Edit::of_files(format!("Clear events of {name}"));
        edit.fact("action", name);
        edit.fact("removed", stored.events.iter().map(event_form).collect::<Vec<_>>());
        edit.fact("removed_total", stored.events.len());
        if !stored.events.is_empty() {
            let cleared = Action::to_variant(stored.deadzone, &[]);
            edit.set_settings(&[(setting(name), cleared)])?;
        }
        edit.verdict(Verdict::yes(setting(name)));
        Ok(edit)
    }
}

use godot::builtin::Variant;

use super::{action, event_form, is_engines, setting};
use crate::tool_prelude::*;

/// Removes an action of the project with all its events.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct RemoveInputAction {
    name: ActionName,
}

impl Tool for RemoveInputAction {
    const NAME: &'static str = "remove_input_action";
    const TOOLSET: &'static str = "input_map";

    fn adjust(spec: &mut ToolSpec) {
        spec.writes_disk = true;
    }

    fn examples() -> Vec<Example> {
        vec![
            Example::answer(
                "Removes an action.",
                "",
                json!({"name": "fire", "events": [{"event_type": "key", "keycode": "F"}]}),
            )
            .after("add_input_action", json!({"name": "fire"}))
            .after(
                "add_input_event",
                json!({"action": "fire", "event_type": "key", "keycode": "F"}),
            )
            .args(json!({"name": "fire"})),
            Example::refusal("Refuses one of the engine's.", "", Code::PreconditionFailed)
                .args(json!({"name": "ui_accept"})),
            Example::refusal("Refuses an unknown one.", "", Code::ResourceNotFound)
                .args(json!({"name": "ui_acept"})),
        ]
    }
}

impl EditTool for RemoveInputAction {
    const CLASS: SafetyClass = SafetyClass::Destructive;

    fn plan(self, _editor: &Editor) -> Result<Edit, ToolError> {
        let name = self.name.as_str();
        let stored = action(name, "name")?;
        if is_engines(name) {
            let message = format!("\"{name}\" is the engine's own action and cannot be removed");
            return Err(ToolError::new(Code::PreconditionFailed, message)
                .required("name")
                .hint("`clear_input_action_events` takes its events away"));
        }
        let mut edit = Edit::of_files(format!("Remove input action {name}"));
        edit.fact("name", name);
        edit.fact("events", stored.events.iter().map(event_form).collect::<Vec<_>>());
        edit.set_settings(&[(setting(name), Variant::nil())])?;
        edit.verdict(Verdict::yes(setting(name)));
        Ok(edit)
    }
}

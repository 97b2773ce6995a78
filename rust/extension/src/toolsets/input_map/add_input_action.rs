use super::{Action, is_engines, setting};
use crate::tool_prelude::*;

/// Adds an action to the project's input map, without events yet.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct AddInputAction {
    /// Such as `jump`.
    name: ActionName,
    #[serde(default = "default_deadzone")]
    #[schemars(range(min = 0.0, max = 1.0))]
    deadzone: f64,
}

fn default_deadzone() -> f64 {
    0.5
}

impl Tool for AddInputAction {
    const NAME: &'static str = "add_input_action";
    const TOOLSET: &'static str = "input_map";

    fn adjust(spec: &mut ToolSpec) {
        spec.writes_disk = true;
    }

    fn examples() -> Vec<Example> {
        vec![
            Example::answer("Adds an action.", "", json!({"name": "jump", "deadzone": 0.2}))
                .args(json!({"name": "jump", "deadzone": 0.2})),
            Example::refusal("Refuses an action that exists.", "", Code::AlreadyExists)
                .args(json!({"name": "ui_accept"})),
            Example::refusal("Refuses a line break.", "", Code::ValidationError)
                .args(json!({"name": "jump\n[autoload]"})),
        ]
    }
}

impl EditTool for AddInputAction {
    const CLASS: SafetyClass = SafetyClass::Mutating;

    fn plan(self, _editor: &Editor) -> Result<Edit, ToolError> {
        let name = self.name.as_str();
        if Action::of(name).is_some() {
            let whose = if is_engines(name) { "the engine's own" } else { "in the project" };
            return Err(ToolError::new(
                Code::AlreadyExists,
                format!("the action \"{name}\" exists already and is {whose}"),
            )
            .required("name")
            .hint("`add_input_event` gives it more events"));
        }
        let mut edit = Edit::of_files(format!("Add input action {name}"));
        edit.fact("name", name);
        edit.fact("deadzone", self.deadzone);
        edit.set_settings(&[(setting(name), Action::to_variant(self.deadzone, &[]))])?;
        edit.verdict(Verdict::yes(setting(name)));
        Ok(edit)
    }
}

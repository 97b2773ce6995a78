//! The project's input actions. Every change goes to `project.godot`, and to the editor's own input
//! map and its Project Settings dialog.

mod add_input_action;
mod add_input_event;
mod clear_input_action_events;
mod get_input_action_events;
mod list_input_actions;
mod remove_input_action;

use godot::classes::{InputEvent, ProjectSettings};
use godot::obj::{Gd, Singleton};
use godot_mcp_core::{ToolError, suggest};
use serde_json::{Value, json};

use crate::editor::project_settings::{self, Action};
use crate::tool::ToolDef;

pub(super) const TOOLS: &[ToolDef] = &[
    ToolDef::edit::<add_input_action::AddInputAction>(),
    ToolDef::edit::<remove_input_action::RemoveInputAction>(),
    ToolDef::edit::<add_input_event::AddInputEvent>(),
    ToolDef::edit::<clear_input_action_events::ClearInputActionEvents>(),
    ToolDef::read::<get_input_action_events::GetInputActionEvents>(),
    ToolDef::read::<list_input_actions::ListInputActions>(),
];

/// The action of a call, or a refusal with near names.
fn action(name: &str, parameter: &'static str) -> Result<Action, ToolError> {
    Action::of(name).ok_or_else(|| {
        let names = action_names();
        let near = suggest::near(name, names.iter().map(String::as_str), 5);
        let error = ToolError::not_found(format!("no action \"{name}\"")).required(parameter);
        match near.is_empty() {
            true => error.hint("`list_input_actions` names them; `add_input_action` makes one"),
            false => error.suggest(near),
        }
    })
}

fn action_names() -> Vec<String> {
    let names = project_settings::names();
    names.iter().filter_map(|it| it.strip_prefix("input/").map(str::to_owned)).collect()
}

fn setting(name: &str) -> String {
    format!("input/{name}")
}

/// Whether the engine has the action, which a project may change but not remove.
fn is_engines(name: &str) -> bool {
    project_settings::is_engines(&setting(name))
        && ProjectSettings::singleton().has_setting(&setting(name))
}

/// An event as the arguments of `add_input_event` that make it, with the engine's text.
fn event_form(event: &Gd<InputEvent>) -> Value {
    let object = event.clone().upcast::<godot::classes::Object>();
    let number = |name: &str| object.get(name).try_to::<i64>().unwrap_or(0);
    let float = |name: &str| object.get(name).try_to::<f64>().unwrap_or(0.0);
    let class = event.get_class().to_string();
    let mut form = match class.as_str() {
        "InputEventKey" => {
            let mut form = json!({"event_type": "key"});
            for name in ["keycode", "physical_keycode", "key_label"] {
                if number(name) != 0 {
                    form[name] = json!(add_input_event::key_name(number(name)));
                }
            }
            form
        }
        "InputEventMouseButton" => json!({
            "event_type": "mouse_button",
            "button": add_input_event::mouse_button_name(number("button_index")),
        }),
        "InputEventJoypadButton" => json!({
            "event_type": "joypad_button", "joy_button_index": number("button_index"),
        }),
        "InputEventJoypadMotion" => json!({
            "event_type": "joypad_motion", "axis": number("axis"), "axis_value": float("axis_value"),
        }),
        _ => json!({"event_type": class}),
    };
    for name in ["shift", "ctrl", "alt", "meta"] {
        if object.get(&format!("{name}_pressed")).try_to::<bool>().unwrap_or(false) {
            form[name] = json!(true);
        }
    }
    form["device"] = json!(number("device"));
    form["text"] = json!(event.as_text().to_string());
    form
}

use godot::builtin::GString;
use godot::classes::{
    InputEvent, InputEventJoypadButton, InputEventJoypadMotion, InputEventKey,
    InputEventMouseButton, Object, Os,
};
use godot::global::{JoyAxis, JoyButton, Key, MouseButton};
use godot::meta::ToGodot;
use godot::obj::{EngineEnum as _, Gd, Inherits, NewGd, Singleton};

use super::{Action, action, event_form, setting};
use crate::tool_prelude::*;

/// Adds a key, mouse button, joypad button or joypad axis to an action.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct AddInputEvent {
    action: ActionName,
    event_type: EventType,
    /// Key by its meaning, such as `Space`, `A`, `Kp Enter`.
    #[serde(default)]
    keycode: String,
    /// Key by its place on a US keyboard: best for movement.
    #[serde(default)]
    physical_keycode: String,
    #[serde(default)]
    shift: bool,
    #[serde(default)]
    ctrl: bool,
    #[serde(default)]
    alt: bool,
    #[serde(default)]
    meta: bool,
    /// Mouse: `left`, `right`, `middle`, `wheel_up`, ...
    #[serde(default)]
    button: String,
    /// Joypad; -1 for all. Keys and mouse are always of all.
    #[serde(default)]
    #[schemars(range(min = -1, max = 15))]
    device: i32,
    #[serde(default = "unset")]
    #[schemars(range(min = -1, max = 9))]
    axis: i32,
    /// -1.0 or 1.0: the direction.
    #[serde(default = "one")]
    #[schemars(range(min = -1.0, max = 1.0))]
    axis_value: f32,
    #[serde(default = "unset")]
    #[schemars(range(min = -1, max = 127))]
    joy_button_index: i32,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(rename_all = "snake_case")]
enum EventType {
    Key,
    MouseButton,
    JoypadButton,
    JoypadMotion,
}

fn unset() -> i32 {
    -1
}

fn one() -> f32 {
    1.0
}

/// The dialog's "All Devices".
const ALL_DEVICES: i32 = -1;

const MOUSE_BUTTONS: &[(&str, MouseButton)] = &[
    ("left", MouseButton::LEFT),
    ("right", MouseButton::RIGHT),
    ("middle", MouseButton::MIDDLE),
    ("wheel_up", MouseButton::WHEEL_UP),
    ("wheel_down", MouseButton::WHEEL_DOWN),
    ("wheel_left", MouseButton::WHEEL_LEFT),
    ("wheel_right", MouseButton::WHEEL_RIGHT),
    ("xbutton1", MouseButton::XBUTTON1),
    ("xbutton2", MouseButton::XBUTTON2),
];

impl Tool for AddInputEvent {
    const NAME: &'static str = "add_input_event";
    const TOOLSET: &'static str = "input_map";

    fn adjust(spec: &mut ToolSpec) {
        spec.writes_disk = true;
    }

    fn examples() -> Vec<Example> {
        let to = |args: Value| {
            let mut all = json!({"action": "ui_accept"});
            all.as_object_mut()
                .into_iter()
                .for_each(|it| it.extend(args.as_object().cloned().unwrap_or_default()));
            all
        };
        vec![
            Example::answer(
                "Adds a key with a modifier.",
                "",
                json!({"event": {"event_type": "key", "keycode": "F", "ctrl": true, "device": -1}}),
            )
            .args(to(json!({"event_type": "key", "keycode": "f", "ctrl": true}))),
            Example::answer(
                "Adds a key by its place.",
                "",
                json!({"event": {"event_type": "key", "physical_keycode": "W"}}),
            )
            .args(to(json!({"event_type": "key", "physical_keycode": "KEY_W"}))),
            Example::answer(
                "Adds a mouse button.",
                "",
                json!({"event": {"event_type": "mouse_button", "button": "wheel_up"}}),
            )
            .args(to(json!({"event_type": "mouse_button", "button": "wheel_up"}))),
            Example::answer(
                "Adds a button of all joypads.",
                "",
                json!({"event": {"event_type": "joypad_button", "joy_button_index": 3}}),
            )
            .args(to(json!({
                "event_type": "joypad_button", "joy_button_index": 3, "device": -1
            }))),
            Example::answer(
                "Adds a direction of a stick.",
                "",
                json!({"event": {
                    "event_type": "joypad_motion", "axis": 1, "axis_value": -1.0, "device": 0
                }}),
            )
            .args(to(json!({"event_type": "joypad_motion", "axis": 1, "axis_value": -1.0}))),
            Example::refusal("Refuses an unknown key.", "", Code::ValidationError)
                .args(to(json!({"event_type": "key", "keycode": "Spcae"}))),
            Example::refusal("Refuses what is not of the type.", "", Code::ValidationError)
                .args(to(json!({"event_type": "key", "keycode": "A", "axis": 1}))),
            Example::refusal("Refuses an unknown action.", "", Code::ResourceNotFound)
                .args(json!({"action": "nope", "event_type": "key", "keycode": "A"})),
        ]
    }
}

impl EditTool for AddInputEvent {
    const CLASS: SafetyClass = SafetyClass::Mutating;

    fn plan(self, _editor: &Editor) -> Result<Edit, ToolError> {
        let name = self.action.as_str();
        let stored = action(name, "action")?;
        self.refuse_foreign()?;
        let event = self.event()?;

        let mut edit = Edit::of_files(format!("Add event to {name}"));
        edit.fact("action", name);
        edit.fact("event", event_form(&event));
        let there = stored.events.iter().any(|it| same_event(it, &event));
        edit.fact("already_there", there);
        if !there {
            let mut events = stored.events;
            events.push(event);
            let value = Action::to_variant(stored.deadzone, &events);
            edit.set_settings(&[(setting(name), value)])?;
        }
        edit.verdict(Verdict::yes(setting(name)));
        Ok(edit)
    }
}

impl AddInputEvent {
    /// Refuses parameters that mean nothing for the type: the caller meant something else.
    fn refuse_foreign(&self) -> Result<(), ToolError> {
        let key = self.event_type == EventType::Key;
        let mouse = self.event_type == EventType::MouseButton;
        let modifiers = self.shift || self.ctrl || self.alt || self.meta;
        let foreign = [
            ("keycode", !self.keycode.is_empty() && !key),
            ("physical_keycode", !self.physical_keycode.is_empty() && !key),
            ("shift", modifiers && !key && !mouse),
            ("button", !self.button.is_empty() && !mouse),
            ("axis", self.axis >= 0 && self.event_type != EventType::JoypadMotion),
            (
                "joy_button_index",
                self.joy_button_index >= 0 && self.event_type != EventType::JoypadButton,
            ),
        ];
        match foreign.iter().find(|it| it.1) {
            Some((name, _)) => Err(ToolError::invalid(
                *name,
                format!("\"{name}\" does not go with this event_type"),
            )
            .hint("leave it out, or add an event of the other type with a second call")),
            None => Ok(()),
        }
    }

    /// The event as the Project Settings dialog would make it.
    fn event(&self) -> Result<Gd<InputEvent>, ToolError> {
        match self.event_type {
            EventType::Key => self.key(),
            EventType::MouseButton => {
                let names = MOUSE_BUTTONS.iter().map(|it| it.0);
                let Some((_, button)) = MOUSE_BUTTONS.iter().find(|it| it.0 == self.button) else {
                    let message = format!("no mouse button \"{}\"", self.button);
                    let all = names.collect::<Vec<_>>().join(", ");
                    return Err(ToolError::invalid("button", message)
                        .hint(format!("mouse buttons are: {all}")));
                };
                let mut event = InputEventMouseButton::new_gd();
                event.set_button_index(*button);
                self.modify(&event);
                Ok(of_device(event, ALL_DEVICES))
            }
            EventType::JoypadButton => {
                if self.joy_button_index < 0 {
                    return Err(missing("joy_button_index", "0 is A on most joypads"));
                }
                let mut event = InputEventJoypadButton::new_gd();
                event.set_button_index(JoyButton::from_ord(self.joy_button_index));
                Ok(of_device(event, self.device))
            }
            EventType::JoypadMotion => {
                if self.axis < 0 {
                    return Err(missing(
                        "axis",
                        "0 is left and right of the left stick, 1 up and down",
                    ));
                }
                if self.axis_value == 0.0 {
                    return Err(missing("axis_value", "give -1.0 or 1.0: the direction"));
                }
                let mut event = InputEventJoypadMotion::new_gd();
                event.set_axis(JoyAxis::from_ord(self.axis));
                event.set_axis_value(self.axis_value);
                Ok(of_device(event, self.device))
            }
        }
    }

    fn key(&self) -> Result<Gd<InputEvent>, ToolError> {
        if self.keycode.is_empty() == self.physical_keycode.is_empty() {
            return Err(ToolError::invalid(
                "keycode",
                "a key event needs either keycode or physical_keycode",
            )
            .hint("keycode is the key's meaning, physical_keycode its place on the keyboard"));
        }
        let mut event = InputEventKey::new_gd();
        if self.keycode.is_empty() {
            event.set_physical_keycode(key(&self.physical_keycode, "physical_keycode")?);
        } else {
            event.set_keycode(key(&self.keycode, "keycode")?);
        }
        self.modify(&event);
        Ok(of_device(event, ALL_DEVICES))
    }

    fn modify<T: Inherits<Object>>(&self, event: &Gd<T>) {
        let mut event = event.clone().upcast::<Object>();
        for (name, on) in
            [("shift", self.shift), ("ctrl", self.ctrl), ("alt", self.alt), ("meta", self.meta)]
        {
            if on {
                event.set(&format!("{name}_pressed"), &true.to_variant());
            }
        }
    }
}

fn of_device<T: Inherits<InputEvent>>(event: Gd<T>, device: i32) -> Gd<InputEvent> {
    let mut event = event.upcast::<InputEvent>();
    event.set_device(device);
    event
}

fn missing(parameter: &'static str, hint: &str) -> ToolError {
    ToolError::invalid(parameter, format!("this event_type needs \"{parameter}\"")).hint(hint)
}

/// A key by the engine's name, also as its constant is spelled: `Kp Enter` or `KEY_KP_ENTER`.
fn key(text: &str, parameter: &'static str) -> Result<Key, ToolError> {
    let spelled = match text.strip_prefix("KEY_") {
        Some(constant) => constant.replace('_', " "),
        None => text.to_owned(),
    };
    let find = |it: &str| Os::singleton().find_keycode_from_string(&GString::from(it));
    let found = find(&spelled);
    // A combination such as `Ctrl+A` is a code with modifiers, which are parameters of their own.
    if found != Key::NONE && !spelled.contains('+') {
        return Ok(found);
    }
    let names = key_names();
    let near = suggest::near(&spelled, names.iter().map(String::as_str), 5);
    let error = ToolError::invalid(parameter, format!("no key \"{text}\""));
    Err(match near.is_empty() {
        true => error.hint(
            "give the engine's name such as \"A\", \"Space\", \"Kp 1\"; modifiers are parameters",
        ),
        false => error.suggest(near),
    })
}

fn key_names() -> Vec<String> {
    // Printable keys and the engine's special ones.
    let codes = (0x20..0x100).chain(0x40_0001..0x40_0100);
    codes.map(key_name).filter(|it| !it.trim().is_empty()).collect()
}

pub(super) fn key_name(code: i64) -> String {
    let key = Key::try_from_ord(i32::try_from(code).unwrap_or(0)).unwrap_or(Key::NONE);
    Os::singleton().get_keycode_string(key).to_string()
}

pub(super) fn mouse_button_name(index: i64) -> Value {
    let found = MOUSE_BUTTONS.iter().find(|it| i64::from(it.1.ord()) == index);
    found.map_or(json!(index), |it| json!(it.0))
}

/// Whether both are of the same device and the engine takes them for the same.
fn same_event(a: &Gd<InputEvent>, b: &Gd<InputEvent>) -> bool {
    a.get_device() == b.get_device() && a.clone().is_match_ex(b).exact_match(true).done()
}

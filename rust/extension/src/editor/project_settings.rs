//! Project settings: which there are, whether `project.godot` changed behind the editor, and who
//! has to hear of a change.

use std::cell::Cell;
use std::collections::BTreeSet;

use godot::builtin::{AnyArray, StringName, VarDictionary, Variant, VariantType};
use godot::classes::{EditorInterface, InputEvent, InputMap, Object, ProjectSettings};
use godot::global::Error;
use godot::meta::ToGodot;
use godot::obj::{Gd, Singleton};
use godot_mcp_core::{Code, ToolError, suggest};

use super::files;
use super::values::{self, Slot};

/// Settings from this place on come from the project instead of the engine.
const FIRST_OWN_ORDER: i32 = 1 << 16;
/// Where the settings in memory are written to compare them with the file.
const COMPARED: &str = "res://.godot/godot_mcp/compared.godot";

thread_local! {
    /// Digest of `project.godot` as the editor read or wrote it last.
    static SEEN: Cell<Option<[u8; 32]>> = const { Cell::new(None) };
}

/// Takes the file as it is now for the one that the editor knows.
pub(crate) fn note() {
    SEEN.set(files::digest_of(files::PROJECT_FILE));
}

/// Refuses to go on when `project.godot` was changed outside the editor, since saving would lose
/// that change. The editor's own saves, which it tells nobody of, are recognized by their content.
pub(crate) fn check_unchanged() -> Result<(), ToolError> {
    let now = files::digest_of(files::PROJECT_FILE);
    if now == SEEN.get() {
        return Ok(());
    }
    let written = ProjectSettings::singleton().save_custom(COMPARED) == Error::OK;
    let own = written && files::digest_of(COMPARED) == now;
    // It is only there for the comparison.
    let _ = std::fs::remove_file(files::absolute(COMPARED));
    if own {
        SEEN.set(now);
        return Ok(());
    }
    Err(ToolError::new(
        Code::StateChanged,
        "project.godot was changed outside the editor, which still has the older settings",
    )
    .hint(
        "ask the human to reload the project (Project > Reload Current Project), then call again",
    ))
}

/// Tells the parts of the editor that keep copies of settings.
pub(crate) fn tell<'a>(names: impl Iterator<Item = &'a str>) {
    let (mut actions, mut autoloads) = (false, false);
    for name in names {
        autoloads |= name.starts_with("autoload/");
        if let Some(action) = name.strip_prefix("input/") {
            actions = true;
            sync_action(action);
        }
    }
    if actions {
        tell_part("ProjectSettingsEditor", "_update_action_map_editor", None);
    }
    if autoloads {
        tell_part("EditorAutoloadSettings", "update_autoload", Some("autoload_changed"));
    }
}

fn tell_part(class: &str, method: &str, signal: Option<&str>) {
    let base = EditorInterface::singleton().get_base_control();
    let found = base.map(|it| it.find_children_ex("*").type_(class).owned(false).done());
    let Some(mut part) = found.and_then(|it| it.get(0)) else { return };
    if part.has_method(method) {
        part.call(method, &[]);
    }
    if let Some(signal) = signal.filter(|it| part.has_signal(*it)) {
        part.emit_signal(signal, &[]);
    }
}

/// Makes the editor's input map know an action of the project, for tool scripts. The engine's own
/// actions are left alone: the editor itself is driven by them.
fn sync_action(action: &str) {
    if action.starts_with("ui_") || action.contains('/') {
        return;
    }
    let mut map = InputMap::singleton();
    if map.has_action(action) {
        map.erase_action(action);
    }
    let Some(stored) = Action::of(action) else { return };
    map.add_action_ex(action).deadzone(stored.deadzone as f32).done();
    for event in &stored.events {
        map.action_add_event(action, event);
    }
}

/// An action of the input map as the project settings have it.
pub(crate) struct Action {
    pub(crate) deadzone: f64,
    pub(crate) events: Vec<Gd<InputEvent>>,
}

impl Action {
    pub(crate) fn of(name: &str) -> Option<Self> {
        let settings = ProjectSettings::singleton();
        let setting = format!("input/{name}");
        if !settings.has_setting(&setting) {
            return None;
        }
        let stored = settings.get_setting(&setting).try_to::<VarDictionary>().ok()?;
        let deadzone = stored.get("deadzone").and_then(|it| match it.get_type() {
            VariantType::INT => it.try_to::<i64>().ok().map(|it| it as f64),
            _ => it.try_to::<f64>().ok(),
        });
        let events = stored.get("events").and_then(|it| it.try_to::<AnyArray>().ok());
        let events = events
            .map(|it| it.iter_shared().filter_map(|it| it.try_to().ok()).collect())
            .unwrap_or_default();
        Some(Self { deadzone: deadzone.unwrap_or(0.5), events })
    }

    /// As the Project Settings dialog stores it.
    pub(crate) fn to_variant(deadzone: f64, events: &[Gd<InputEvent>]) -> Variant {
        let events: godot::builtin::VarArray = events.iter().map(|it| it.to_variant()).collect();
        let mut stored = VarDictionary::new();
        stored.set("deadzone", deadzone);
        stored.set("events", &events);
        stored.to_variant()
    }
}

/// Names of all settings, in the engine's order.
pub(crate) fn names() -> Vec<String> {
    let list = ProjectSettings::singleton().get_property_list();
    let name = StringName::from("name").to_variant();
    list.iter_shared()
        .filter_map(|it| it.get(&name).map(|it| it.to_string()))
        .filter(|it| it.contains('/'))
        .collect()
}

pub(crate) fn object() -> Gd<Object> {
    ProjectSettings::singleton().upcast()
}

/// The declared type of a setting. A setting of the project's own takes any value.
pub(crate) fn slot(name: &str) -> Slot {
    let known = is_engines(name).then(|| Slot::of(&object(), name)).flatten();
    known.unwrap_or_else(|| Slot::any(name))
}

/// Whether the engine declares the setting, so that it has a default.
pub(crate) fn is_engines(name: &str) -> bool {
    let settings = ProjectSettings::singleton();
    settings.has_setting(name) && settings.get_order(name) < FIRST_OWN_ORDER
}

pub(crate) fn default_of(name: &str) -> Variant {
    ProjectSettings::singleton().upcast::<Object>().property_get_revert(name)
}

/// Whether the file has the setting: it is the project's own, or differs from the default.
pub(crate) fn is_changed(name: &str) -> bool {
    let value = ProjectSettings::singleton().get_setting(name);
    !is_engines(name) || !values::equal(&value, &default_of(name))
}

/// Sections in which every setting is the engine's.
pub(crate) fn engine_sections() -> BTreeSet<String> {
    names()
        .iter()
        .filter(|it| is_engines(it))
        .filter_map(|it| it.split_once('/').map(|it| it.0.to_owned()))
        .collect()
}

/// Names like the one asked for.
pub(crate) fn near(name: &str) -> Vec<String> {
    let names = names();
    let near = suggest::near(name, names.iter().map(String::as_str), 5);
    if !near.is_empty() {
        return near;
    }
    let last = |it: &str| it.rsplit('/').next().unwrap_or_default().to_owned();
    let lasts: BTreeSet<String> = names.iter().map(|it| last(it)).collect();
    let like = suggest::near(&last(name), lasts.iter().map(String::as_str), 5);
    names.into_iter().filter(|it| like.contains(&last(it))).take(5).collect()
}

/// Refuses text with characters that must not reach `project.godot` (S8.3), at any depth.
pub(crate) fn check_text(
    parameter: &'static str,
    value: &serde_json::Value,
) -> Result<(), ToolError> {
    use serde_json::Value;
    match value {
        Value::String(text) => match text.chars().find(|it| it.is_control()) {
            Some(bad) => Err(ToolError::invalid(
                parameter,
                format!("{text:?} contains the control character {bad:?}"),
            )
            .hint("project.godot takes text of one line only")),
            None => Ok(()),
        },
        Value::Array(items) => items.iter().try_for_each(|it| check_text(parameter, it)),
        Value::Object(fields) => fields.iter().try_for_each(|(name, it)| {
            check_text(parameter, &Value::String(name.clone()))?;
            check_text(parameter, it)
        }),
        _ => Ok(()),
    }
}

/// A setting as text; empty when there is none.
pub(crate) fn text(name: &str) -> String {
    let settings = ProjectSettings::singleton();
    if settings.has_setting(name) { settings.get_setting(name).to_string() } else { String::new() }
}

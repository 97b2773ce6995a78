//! Integers and texts that are restricted to a list: enums, flags, layers.
//!
//! Members are named by their value, by the name in the property's hint ("Right", any case, spaces
//! and underscores alike) or by the name of a constant (`HORIZONTAL_ALIGNMENT_RIGHT`).

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use godot::builtin::{Corner, Side, VariantType};
use godot::classes::{ClassDb, ProjectSettings};
use godot::global;
use godot::obj::{EngineEnum, Singleton as _};
use godot::prelude::*;
use godot::register::info::PropertyHint;
use godot_mcp_core::ToolError;
use godot_mcp_core::suggest::near;
use serde_json::Value;

use super::slot::Slot;
use super::{Context, kinds, numbers};

#[derive(Clone, Debug, PartialEq)]
struct Member {
    name: String,
    value: i64,
}

impl Member {
    fn new(name: impl Into<String>, value: i64) -> Self {
        Self { name: name.into(), value }
    }
}

/// An integer: plain, of an enum, or a set of flags.
pub(super) fn int(
    json: &Value,
    slot: &Slot,
    current: &Variant,
    context: &Context,
) -> Result<i64, ToolError> {
    match slot.hint {
        PropertyHint::ENUM => member(json, slot, current, context),
        PropertyHint::FLAGS => flags(json, slot, flag_members(&slot.hint_string), context),
        _ => match layer_setting(slot.hint) {
            Some(setting) => flags(json, slot, layer_members(setting), context),
            None => plain(json, slot, context),
        },
    }
}

fn plain(json: &Value, slot: &Slot, context: &Context) -> Result<i64, ToolError> {
    if let Some(int) = numbers::read_int(json) {
        return Ok(int);
    }
    // An integer without a hint may still be an enum, such as the keycode of an input event.
    if let Value::String(text) = json {
        let constants = constants_of_property(slot, context);
        if let Some(found) = constants.iter().find(|it| it.name == *text) {
            return Ok(found.value);
        }
        if !constants.is_empty() {
            let names = near(text, constants.iter().map(|it| &it.name), 5);
            let message = format!("{} is not a value of {}", kinds::shown(json), slot.name);
            return Err(ToolError::invalid(slot.name.clone(), message)
                .suggest(names)
                .hint(list_hint(&constants)));
        }
    }
    Err(super::decode::refusal(json, slot, ""))
}

fn member(
    json: &Value,
    slot: &Slot,
    current: &Variant,
    context: &Context,
) -> Result<i64, ToolError> {
    let members = enum_members(&slot.hint_string);
    if members.is_empty() {
        return plain(json, slot, context);
    }
    let listed = |value: i64| {
        members.iter().any(|it| it.value == value)
            // What is there now is right even where the list is not complete.
            || current.try_to::<i64>().is_ok_and(|it| it == value)
            || default_of(slot, context).try_to::<i64>().is_ok_and(|it| it == value)
    };
    let found = match json {
        Value::Number(_) => numbers::read_int(json).filter(|it| listed(*it)),
        Value::String(text) => by_name(text, &members, slot, context).filter(|it| listed(*it)),
        _ => None,
    };
    found.ok_or_else(|| not_listed(json, slot, &members))
}

fn flags(
    json: &Value,
    slot: &Slot,
    members: Vec<Member>,
    context: &Context,
) -> Result<i64, ToolError> {
    if let Some(int) = numbers::read_int(json) {
        let layers = slot.hint != PropertyHint::FLAGS;
        if layers && u32::try_from(int).is_err() {
            return Err(super::decode::refusal(json, slot, "layers are a number of 32 bits"));
        }
        return Ok(int);
    }
    let one = |name: &str| {
        let found = by_name(name, &members, slot, context);
        found.ok_or_else(|| not_listed(&Value::from(name), slot, &members))
    };
    let mut bits = 0;
    match json {
        Value::String(text) if !text.trim().is_empty() => {
            for name in text.split(',') {
                bits |= one(name.trim())?;
            }
        }
        Value::Array(items) => {
            for item in items {
                bits |= match item {
                    Value::String(name) => one(name)?,
                    _ => numbers::read_int(item).ok_or_else(|| not_listed(item, slot, &members))?,
                };
            }
        }
        _ => return Err(not_listed(json, slot, &members)),
    }
    Ok(bits)
}

/// A text that is restricted to a list, such as the bus of an audio player.
pub(super) fn check_text(
    text: &str,
    slot: &Slot,
    current: &Variant,
    context: &Context,
) -> Result<(), ToolError> {
    if slot.hint != PropertyHint::ENUM || slot.hint_string.is_empty() {
        return Ok(());
    }
    let options: Vec<&str> = slot.hint_string.split(',').collect();
    let is = |value: &Variant| {
        matches!(value.get_type(), VariantType::STRING | VariantType::STRING_NAME)
            && value.stringify() == text
    };
    if options.contains(&text) || is(current) || is(&default_of(slot, context)) {
        return Ok(());
    }
    let members: Vec<_> = options.iter().map(|it| Member::new(*it, 0)).collect();
    let mut error = not_listed(&Value::from(text), slot, &members);
    error.hint = format!("one of {}", quoted(&options));
    Err(error)
}

fn by_name(name: &str, members: &[Member], slot: &Slot, context: &Context) -> Option<i64> {
    let wanted = plain_name(name);
    if let Some(found) = members.iter().find(|it| plain_name(&it.name) == wanted) {
        return Some(found.value);
    }
    // `HORIZONTAL_ALIGNMENT_RIGHT` for "Right" of `horizontal_alignment`.
    let prefix = plain_name(&slot.name) + "_";
    if let Some(rest) = wanted.strip_prefix(&prefix)
        && let Some(found) = members.iter().find(|it| plain_name(&it.name) == rest)
    {
        return Some(found.value);
    }
    let name = name.trim().to_ascii_uppercase();
    if let Some(found) = constants_of_property(slot, context).iter().find(|it| it.name == name) {
        return Some(found.value);
    }
    let class = context.object.as_ref()?.get_class().to_string();
    let db = ClassDb::singleton();
    db.class_has_integer_constant(&class, &name)
        .then(|| db.class_get_integer_constant(&class, &name))
}

/// Lower case, with one underscore for every run of other characters: "Word (Smart)" is `word_smart`.
fn plain_name(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    for part in name.split(|it: char| !it.is_alphanumeric()).filter(|it| !it.is_empty()) {
        if !plain.is_empty() {
            plain.push('_');
        }
        plain.extend(part.chars().flat_map(char::to_lowercase));
    }
    plain
}

fn not_listed(json: &Value, slot: &Slot, members: &[Member]) -> ToolError {
    let message = format!("{} is not a value of {}", kinds::shown(json), slot.name);
    let names = members.iter().map(|it| &it.name);
    let suggestions = match json {
        Value::String(text) => near(text, names.clone(), 5),
        _ => Vec::new(),
    };
    let suggestions = if suggestions.is_empty() && members.len() <= 20 {
        names.cloned().collect()
    } else {
        suggestions
    };
    ToolError::invalid(slot.name.clone(), message).suggest(suggestions).hint(list_hint(members))
}

fn list_hint(members: &[Member]) -> String {
    let mut parts: Vec<_> =
        members.iter().take(40).map(|it| format!("\"{}\" ({})", it.name, it.value)).collect();
    if members.len() > parts.len() {
        parts.push(format!("and {} more", members.len() - parts.len()));
    }
    format!("one of {}", parts.join(", "))
}

fn quoted(options: &[&str]) -> String {
    let parts: Vec<_> = options.iter().take(40).map(|it| format!("\"{it}\"")).collect();
    let more = if options.len() > 40 {
        format!(" and {} more", options.len() - 40)
    } else {
        String::new()
    };
    parts.join(", ") + &more
}

/// `"A,B:5,C"`: values count up from 0 or from the last one that is given.
fn enum_members(hint_string: &str) -> Vec<Member> {
    let mut next = 0;
    entries(hint_string, |entry| {
        let (name, value) = split_value(entry);
        let value = value.unwrap_or(next);
        next = value + 1;
        Member::new(name, value)
    })
}

/// `"A,B:16"`: the bit of the position unless a value is given.
fn flag_members(hint_string: &str) -> Vec<Member> {
    let mut idx = 0;
    entries(hint_string, |entry| {
        let (name, value) = split_value(entry);
        let bit = 1_i64.checked_shl(idx).unwrap_or(0);
        idx += 1;
        Member::new(name, value.unwrap_or(bit))
    })
}

fn entries(hint_string: &str, member: impl FnMut(&str) -> Member) -> Vec<Member> {
    if hint_string.trim().is_empty() {
        return Vec::new();
    }
    hint_string.split(',').map(member).collect()
}

fn split_value(entry: &str) -> (&str, Option<i64>) {
    match entry.rsplit_once(':') {
        Some((name, value)) => match value.trim().parse() {
            Ok(value) => (name.trim(), Some(value)),
            Err(_) => (entry.trim(), None),
        },
        None => (entry.trim(), None),
    }
}

/// The project setting below which the names of the layers are, for hints about layers.
fn layer_setting(hint: PropertyHint) -> Option<&'static str> {
    Some(match hint {
        PropertyHint::LAYERS_2D_RENDER => "layer_names/2d_render",
        PropertyHint::LAYERS_2D_PHYSICS => "layer_names/2d_physics",
        PropertyHint::LAYERS_2D_NAVIGATION => "layer_names/2d_navigation",
        PropertyHint::LAYERS_3D_RENDER => "layer_names/3d_render",
        PropertyHint::LAYERS_3D_PHYSICS => "layer_names/3d_physics",
        PropertyHint::LAYERS_3D_NAVIGATION => "layer_names/3d_navigation",
        PropertyHint::LAYERS_AVOIDANCE => "layer_names/avoidance",
        _ => return None,
    })
}

/// Layers by the names that the project gives them, and all of them as "Layer 1" and so on.
fn layer_members(setting: &str) -> Vec<Member> {
    let settings = ProjectSettings::singleton();
    let bit = |layer: i32| 1_i64 << (layer - 1);
    let named = (1..=32).filter_map(|layer| {
        let key = format!("{setting}/layer_{layer}");
        let name = settings.has_setting(&key).then(|| settings.get_setting(&key).stringify())?;
        (!name.is_empty()).then(|| Member::new(name.to_string(), bit(layer)))
    });
    let mut members: Vec<_> = named.collect();
    members.extend((1..=32).map(|layer| Member::new(format!("Layer {layer}"), bit(layer))));
    members
}

/// The default that the class declares; null without an object.
fn default_of(slot: &Slot, context: &Context) -> Variant {
    let Some(object) = &context.object else { return Variant::nil() };
    ClassDb::singleton()
        .class_get_property_default_value(&object.get_class().to_string(), &slot.name)
}

thread_local! {
    /// Constants by class and property. The classes of the engine do not change.
    static CONSTANTS: RefCell<HashMap<(String, String), Rc<[Member]>>> = RefCell::default();
}

/// The constants of the enum that a property of the engine has, by the type that its getter returns.
fn constants_of_property(slot: &Slot, context: &Context) -> Rc<[Member]> {
    let Some(object) = &context.object else { return Rc::new([]) };
    let class = object.get_class().to_string();
    let getter = ClassDb::singleton().class_get_property_getter(&class, &slot.name);
    if getter.is_empty() {
        return Rc::new([]);
    }
    let key = (class, slot.name.clone());
    if let Some(found) = CONSTANTS.with_borrow(|it| it.get(&key).cloned()) {
        return found;
    }
    let constants: Rc<[Member]> = constants_of_getter(&key.0, &getter).into();
    CONSTANTS.with_borrow_mut(|it| it.insert(key, constants.clone()));
    constants
}

/// Slow, tens of milliseconds: there is no way to ask for one method, only for all of a class.
fn constants_of_getter(class: &str, getter: &StringName) -> Vec<Member> {
    let db = ClassDb::singleton();
    let getter = getter.to_variant();
    let methods = db.class_get_method_list(class);
    let returned = methods
        .iter_shared()
        .find(|it| it.get("name").is_some_and(|name| name.stringify() == getter.stringify()))
        .and_then(|it| it.get("return")?.try_to::<VarDictionary>().ok())
        .and_then(|it| it.get("class_name"))
        .map(|it| it.stringify().to_string())
        .unwrap_or_default();
    match returned.rsplit_once('.') {
        Some((class, name)) if db.class_exists(class) => {
            let names = db.class_get_enum_constants(class, name);
            let value = |it: &GString| db.class_get_integer_constant(class, &StringName::from(it));
            names.as_slice().iter().map(|it| Member::new(it.to_string(), value(it))).collect()
        }
        _ => global_constants(&returned),
    }
}

/// The constants of an enum of the global scope, which `ClassDB` does not know.
fn global_constants(name: &str) -> Vec<Member> {
    fn of<T: EngineEnum>() -> Vec<Member> {
        let constants = T::all_constants().iter();
        constants.map(|it| Member::new(it.godot_name(), i64::from(it.value().ord()))).collect()
    }
    match name {
        "Side" => of::<Side>(),
        "Corner" => of::<Corner>(),
        "Orientation" => of::<global::Orientation>(),
        "ClockDirection" => of::<global::ClockDirection>(),
        "HorizontalAlignment" => of::<global::HorizontalAlignment>(),
        "VerticalAlignment" => of::<global::VerticalAlignment>(),
        "InlineAlignment" => of::<global::InlineAlignment>(),
        "EulerOrder" => of::<EulerOrder>(),
        "Key" => of::<global::Key>(),
        "KeyLocation" => of::<global::KeyLocation>(),
        "MouseButton" => of::<global::MouseButton>(),
        "JoyButton" => of::<global::JoyButton>(),
        "JoyAxis" => of::<global::JoyAxis>(),
        "MIDIMessage" => of::<global::MidiMessage>(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(list: &[(&str, i64)]) -> Vec<Member> {
        list.iter().map(|(name, value)| Member::new(*name, *value)).collect()
    }

    #[test]
    fn enum_hints() {
        assert_eq!(
            enum_members("Left,Center,Right"),
            members(&[("Left", 0), ("Center", 1), ("Right", 2)])
        );
        assert_eq!(
            enum_members("A:4,B,C:-1, D"),
            members(&[("A", 4), ("B", 5), ("C", -1), ("D", 0)])
        );
        assert_eq!(enum_members(""), []);
    }

    #[test]
    fn flag_hints() {
        assert_eq!(flag_members("A,B,C"), members(&[("A", 1), ("B", 2), ("C", 4)]));
        assert_eq!(
            flag_members("Fill:1,Shrink Center:4"),
            members(&[("Fill", 1), ("Shrink Center", 4)])
        );
    }

    #[test]
    fn names_are_compared_without_case_and_separators() {
        assert_eq!(plain_name("Word (Smart)"), "word_smart");
        assert_eq!(plain_name(" SHRINK_CENTER "), "shrink_center");
        assert_eq!(plain_name("Shrink Center"), "shrink_center");
    }
}

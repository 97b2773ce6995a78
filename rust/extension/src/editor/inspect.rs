//! What the inspector shows of an object, read without side effects and without engine errors.

use godot::builtin::{NodePath, Variant};
use godot::classes::{Node, Object};
use godot::obj::EngineBitfield as _;
use godot::obj::Gd;
use godot::register::info::{PropertyHint, PropertyUsageFlags};
use serde_json::{Map, Value, json};

use super::values::{self, Context, Slot};

/// Bytes of JSON or text that one answer should not exceed; more is paged.
pub(crate) const MAX_ANSWER: usize = 25_000;

/// A longer value is summed up in a list; alone it is given in full.
const MAX_LISTED_VALUE: usize = 1_500;

/// Whether a property is a variable of the script.
pub(crate) fn is_script_variable(slot: &Slot) -> bool {
    slot.usage.is_set(PropertyUsageFlags::SCRIPT_VARIABLE)
}

/// Whether the inspector shows a property, or the script declares it.
pub(crate) fn is_shown(slot: &Slot) -> bool {
    slot.name != "script"
        && !slot.usage.is_set(PropertyUsageFlags::INTERNAL)
        && (slot.usage.is_set(PropertyUsageFlags::EDITOR) || is_script_variable(slot))
}

/// All that the inspector shows, variables of the script first.
pub(crate) fn shown(object: &Gd<Object>) -> Vec<Slot> {
    let mut slots: Vec<_> = Slot::all(object).into_iter().filter(is_shown).collect();
    slots.sort_by_key(|it| !is_script_variable(it));
    slots
}

/// The value of a property; none where the engine would log an error instead of answering.
pub(crate) fn read(object: &Gd<Object>, slot: &Slot) -> Option<Variant> {
    // A draw pass beyond the number of passes in use is declared, but not there.
    if let Some(pass) = slot.name.strip_prefix("draw_pass_")
        && let Ok(pass) = pass.parse::<i64>()
        && object.is_class("GPUParticles3D")
        && object.get("draw_passes").try_to::<i64>().is_ok_and(|it| pass > it)
    {
        return None;
    }
    Some(object.get(&slot.name))
}

/// A part of a property, such as `position:x`; none when there is no such part.
pub(crate) fn read_part(object: &Gd<Object>, path: &str) -> Option<Variant> {
    let value = object.get_indexed(&NodePath::from(path));
    (!value.is_nil()).then_some(value)
}

/// The value in its read form, or a line about it when it is long.
pub(crate) fn listed(value: &Variant, slot: &Slot, context: &Context) -> (Value, bool) {
    let json = values::encode(value, Some(slot), context);
    let size = match &json {
        Value::Object(_) | Value::Array(_) | Value::String(_) => json.to_string().len(),
        _ => 0,
    };
    if size <= MAX_LISTED_VALUE {
        return (json, false);
    }
    (json!(values::summary(value)), true)
}

/// `{"name","type","value"}`, with `truncated` for a value that is only summed up.
pub(crate) fn entry(object: &Gd<Object>, slot: &Slot, context: &Context) -> Value {
    let (value, truncated) = match read(object, slot) {
        Some(value) => listed(&value, slot, context),
        None => (Value::Null, false),
    };
    let mut entry = json!({"name": slot.name, "type": slot.type_name(), "value": value});
    if truncated {
        entry["truncated"] = json!(true);
    }
    entry
}

/// What the hint of a property says about its values: options, flags, a range.
pub(crate) fn hint(slot: &Slot) -> Option<(&'static str, Value)> {
    let text = slot.hint_string.as_str();
    if text.is_empty() {
        return None;
    }
    let options = || text.split(',').map(|it| json!(it.trim())).collect::<Vec<_>>();
    match slot.hint {
        PropertyHint::ENUM | PropertyHint::ENUM_SUGGESTION => Some(("options", json!(options()))),
        PropertyHint::FLAGS => Some(("flags", json!(options()))),
        PropertyHint::RANGE => Some(("range", json!(text))),
        PropertyHint::FILE => Some(("file", json!(text))),
        _ => None,
    }
}

/// `res://` path of the script; empty for one inside the scene.
pub(crate) fn script_of(node: &Gd<Node>) -> Option<String> {
    node.get_script().map(|it| it.get_path().to_string())
}

/// Groups of a node, without the engine's own.
pub(crate) fn groups(node: &Gd<Node>) -> Vec<String> {
    let groups = node.get_groups();
    let mut groups: Vec<_> = groups.iter_shared().map(|it| it.to_string()).collect();
    groups.retain(|it| !it.starts_with('_'));
    groups.sort();
    groups
}

/// Where a node is and how it is turned, and the variables of its script.
pub(crate) fn is_key(slot: &Slot) -> bool {
    is_script_variable(slot) || matches!(slot.name.as_str(), "position" | "rotation" | "scale")
}

/// Values of some properties, by name.
pub(crate) fn values_of<'a>(
    object: &Gd<Object>,
    slots: impl IntoIterator<Item = &'a Slot>,
    context: &Context,
) -> Map<String, Value> {
    let mut map = Map::new();
    for slot in slots {
        if let Some(value) = read(object, slot) {
            map.insert(slot.name.clone(), values::encode(&value, Some(slot), context));
        }
    }
    map
}

/// Takes items into a page until it is full. Answers how many it took; at least one.
pub(crate) fn fill<T>(
    items: impl IntoIterator<Item = T>,
    limit: usize,
    mut json: impl FnMut(T) -> Value,
) -> Vec<Value> {
    let mut page = Vec::new();
    let mut size = 0;
    for item in items.into_iter().take(limit) {
        let json = json(item);
        size += json.to_string().len() + 1;
        if size > MAX_ANSWER && !page.is_empty() {
            break;
        }
        page.push(json);
    }
    page
}

/// Says what was left out of a page, and how to get it.
pub(crate) fn page_fields(answer: &mut Value, offset: usize, taken: usize, total: usize) {
    answer["total"] = json!(total);
    answer["has_more"] = json!(offset + taken < total);
    if offset + taken < total {
        answer["next_offset"] = json!(offset + taken);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_end_at_limit_and_size() {
        assert_eq!(fill(0..10, 3, |it| json!(it)), [0, 1, 2]);
        let long = "x".repeat(MAX_ANSWER / 2);
        assert_eq!(fill(0..10, 10, |_| json!(long)).len(), 1);
        let huge = "x".repeat(MAX_ANSWER * 2);
        assert_eq!(fill(0..10, 10, |_| json!(huge)).len(), 1);
        let mut answer = json!({});
        page_fields(&mut answer, 2, 3, 6);
        assert_eq!(answer, json!({"total": 6, "has_more": true, "next_offset": 5}));
    }
}

//! Looking up the property that a call names.

use godot::builtin::{StringName, Variant};
use godot::classes::{ClassDb, Object};
use godot::obj::EngineBitfield as _;
use godot::obj::{Gd, Singleton};
use godot::register::info::PropertyUsageFlags;
use godot_mcp_core::{ToolError, suggest};

use super::values::Slot;

/// The declared type of a property that may be written.
pub(crate) fn writable(object: &Gd<Object>, property: &str) -> Result<Slot, ToolError> {
    let slot = readable(object, property)?;
    if is_read_only(object, &slot) {
        return Err(ToolError::invalid(
            "property",
            format!("\"{property}\" of {} is read-only", object.get_class()),
        )
        .hint("it is computed by the engine; set what it is computed from"));
    }
    Ok(slot)
}

/// The declared type of a property, or near names (S3.4).
pub(crate) fn readable(object: &Gd<Object>, property: &str) -> Result<Slot, ToolError> {
    if let Some(slot) = Slot::of(object, property) {
        return Ok(slot);
    }
    let slots = Slot::all(object);
    let names = slots.iter().map(|it| it.name.as_str()).filter(|it| !it.contains('/'));
    let near = suggest::near(property, names, 5);
    let class = object.get_class();
    let error = ToolError::invalid("property", format!("{class} has no property \"{property}\""));
    Err(if near.is_empty() {
        error.hint("`get_node_property_list` names the properties of a node")
    } else {
        error.suggest(near)
    })
}

pub(crate) fn is_read_only(object: &Gd<Object>, slot: &Slot) -> bool {
    if slot.usage.is_set(PropertyUsageFlags::READ_ONLY) {
        return true;
    }
    // Properties of scripts and of `_set` have no entry in ClassDB and are writable.
    let (mut db, class) = (ClassDb::singleton(), StringName::from(&object.get_class()));
    let getter = db.class_get_property_getter(&class, &slot.name).to_string();
    let setter = db.class_get_property_setter(&class, &slot.name).to_string();
    !getter.is_empty() && setter.is_empty()
}

/// Aliases of what is stored in other properties of the same node, and those properties.
const CARRIERS: &[(&str, &[&str], &[&str])] = &[
    (
        "Node2D",
        &[
            "rotation_degrees",
            "transform",
            "global_position",
            "global_rotation",
            "global_rotation_degrees",
            "global_scale",
            "global_skew",
            "global_transform",
        ],
        &["position", "rotation", "scale", "skew"],
    ),
    (
        "Node3D",
        &[
            "position",
            "rotation",
            "rotation_degrees",
            "quaternion",
            "basis",
            "scale",
            "global_position",
            "global_rotation",
            "global_rotation_degrees",
            "global_basis",
            "global_transform",
        ],
        &["transform"],
    ),
    (
        "Control",
        &[
            "position",
            "size",
            "global_position",
            "rotation_degrees",
            "anchors_preset",
            "layout_mode",
        ],
        &[
            "anchor_left",
            "anchor_top",
            "anchor_right",
            "anchor_bottom",
            "offset_left",
            "offset_top",
            "offset_right",
            "offset_bottom",
            "rotation",
        ],
    ),
    ("Range", &["ratio"], &["value"]),
    ("Sprite2D", &["frame_coords"], &["frame"]),
    ("Sprite3D", &["frame_coords"], &["frame"]),
];

/// The stored properties that an alias writes; none for a property that is stored itself.
pub(crate) fn carriers(object: &Gd<Object>, property: &str) -> &'static [&'static str] {
    let entry = CARRIERS.iter().find(|it| it.1.contains(&property) && object.is_class(it.0));
    entry.map_or(&[], |it| it.2)
}

/// Whether a value of this property is saved with its object, directly or through others.
pub(crate) fn is_stored(object: &Gd<Object>, slot: &Slot) -> bool {
    // Theme overrides are stored once they are set, which `CHECKABLE` announces.
    let stored = [PropertyUsageFlags::STORAGE, PropertyUsageFlags::CHECKABLE];
    stored.iter().any(|it| slot.usage.is_set(*it)) || !carriers(object, &slot.name).is_empty()
}

pub(crate) fn is_of_script(object: &Gd<Object>, property: &str) -> bool {
    of_script(object).iter().any(|it| it.name == property)
}

/// Values that an object's script stores.
pub(crate) fn script_values(object: &Gd<Object>) -> Vec<(String, Variant)> {
    let slots =
        of_script(object).into_iter().filter(|it| it.usage.is_set(PropertyUsageFlags::STORAGE));
    slots.map(|it| (it.name.clone(), object.get(&it.name))).collect()
}

/// Properties that an object's script declares. The object's own list does not tell: a placeholder,
/// which stands for a script that does not run in the editor, leaves the flag out.
fn of_script(object: &Gd<Object>) -> Vec<Slot> {
    let mut next = object.get_script();
    let mut slots = Vec::new();
    while let Some(script) = next {
        let list = script.get_script_property_list();
        slots.extend(list.iter_shared().map(|it| Slot::from_dict(&it)));
        next = script.get_base_script();
    }
    slots.retain(|it| !it.usage.is_set(PropertyUsageFlags::CATEGORY));
    slots
}

//! Looking up the property that a call names.

use godot::builtin::StringName;
use godot::classes::{ClassDb, Object};
use godot::obj::EngineBitfield as _;
use godot::register::info::PropertyUsageFlags;
use godot::obj::{Gd, Singleton};
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

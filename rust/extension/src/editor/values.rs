//! JSON to Variant and back, driven by the declared type of the target (S10).
//!
//! This is the only place where the two meet. A value is understood completely or refused before
//! anything changes (S10.1): nothing is guessed, nothing falls back to a default, and no engine
//! error is printed for bad input.
//!
//! # Written forms
//!
//! | Target | Forms |
//! |---|---|
//! | `bool` | `true`, `false` |
//! | `int` | a whole number (`5.0` counts); enums and flags also by name, see [`enums`] |
//! | `float` | a number; `{"type":"float","value":"nan"}`, `"inf"`, `"-inf"`, also inside vectors |
//! | `String` | the very text; a file property takes it as it is |
//! | `StringName`, `NodePath` | text |
//! | `Vector2` to `Projection`, `Color` | `{"x":1,"y":2}`, `[1,2]`, `"Vector2(1, 2)"`, see [`structs`] |
//! | `Array`, `Dictionary`, packed arrays | JSON arrays and objects, built typed, see [`containers`] |
//! | a resource | `"res://..."`, `"uid://..."`, `NewResource`, `null`, see [`resources`] |
//! | a node | its path from the scene root, `null`, see [`nodes`] |
//!
//! Every form may carry its tag, `{"type":"Vector2","x":1,"y":2}`, `{"type":"int","value":1}`.
//! Where no type is declared the tag is required for everything that JSON does not know.
//!
//! # Read forms
//!
//! The shortest of the written forms for the slot (S10.3). What cannot be written back (callables,
//! signals, RIDs, freed or foreign objects, what is too large or contains itself) reads as an
//! object with its type and no value, which [`decode`] refuses.

use godot::prelude::*;
use godot_mcp_core::ToolError;
use serde_json::Value;

pub(crate) mod classes;
mod compare;
mod containers;
mod decode;
mod encode;
mod enums;
mod kinds;
mod nodes;
mod numbers;
mod resources;
mod slot;
mod spelled;
mod structs;
mod summary;

pub(crate) use self::slot::Slot;

/// How node references and `res://` paths are resolved.
#[derive(Clone)]
pub(crate) struct Context<'a> {
    /// Root of the edited scene. Node references must lie below it.
    pub(crate) scene_root: Option<Gd<Node>>,
    /// Object whose property is written: the base of `./` and `../`, and the home of enum constants.
    pub(crate) object: Option<Gd<Object>>,
    /// Containment of a `res://` path (S8.1). Asked before anything is loaded.
    pub(crate) check_path: &'a dyn Fn(&str) -> Result<(), ToolError>,
}

/// The value that `json` means for `slot`.
///
/// `current` is the value that would be replaced. It contributes its element types when it is a
/// typed container, and it is always a valid member of an enum.
pub(crate) fn decode(
    json: &Value,
    slot: &Slot,
    current: &Variant,
    context: &Context,
) -> Result<Variant, ToolError> {
    decode::value(json, slot, current, context)
}

/// Sets properties of a resource that nothing else uses yet, each by its own slot and read back.
/// `parameter` names them in refusals.
pub(crate) fn fill(
    resource: &mut Gd<Resource>,
    properties: &serde_json::Map<String, Value>,
    parameter: &str,
    context: &Context,
) -> Result<(), ToolError> {
    resources::set_properties(resource, properties, &Slot::any(parameter), context)
}

/// A new resource of a class of engine or script. `parameter` names the class in refusals.
pub(crate) fn new_resource(class: &str, parameter: &str) -> Result<Gd<Resource>, ToolError> {
    resources::instantiate(class, &Slot::any(parameter))
}

/// The read form of `value`, which [`decode`] accepts for the same slot (S10.3).
pub(crate) fn encode(value: &Variant, slot: Option<&Slot>, context: &Context) -> Value {
    encode::Encoder::new(context).value(value, slot)
}

/// Whether `found` is `wanted` after the conversions of the engine: floats within the precision of
/// `f32`, text types alike, containers deep, resources by identity, path or equal properties.
pub(crate) fn same(wanted: &Variant, found: &Variant) -> bool {
    compare::same(wanted, found)
}

/// Whether both are of one type and exactly equal: then writing one over the other changes nothing.
pub(crate) fn equal(a: &Variant, b: &Variant) -> bool {
    compare::equal(a, b)
}

/// One short line for people, such as a preview, at most 80 characters.
pub(crate) fn summary(value: &Variant) -> String {
    summary::summary(value)
}

/// Whether `object` is of a class or derives from it: of the engine, of a script, or a script's path.
pub(crate) fn is_a(object: &Gd<Object>, class: &str) -> bool {
    classes::is_a(object, class)
}

/// Whether the engine or a script of the project declares a class.
pub(crate) fn class_exists(class: &str) -> bool {
    classes::is_native(class) || classes::script_class(class).is_some()
}

/// Whether a class of engine or script derives from another one, or is it.
pub(crate) fn derives(class: &str, wanted: &str) -> bool {
    classes::derives(class, wanted)
}

/// Names of the classes that scripts of the project declare.
pub(crate) fn script_class_names() -> Vec<String> {
    classes::script_class_names()
}

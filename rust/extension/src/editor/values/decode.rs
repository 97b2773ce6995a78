//! JSON to Variant: the rules for scalars, and the way to the others.

use godot::builtin::VariantType;
use godot::prelude::*;
use godot_mcp_core::ToolError;
use serde_json::{Map, Value};

use super::kinds::{self, Tag};
use super::slot::Slot;
use super::{Context, containers, enums, nodes, numbers, resources, spelled, structs};

pub(super) fn value(
    json: &Value,
    slot: &Slot,
    current: &Variant,
    context: &Context,
) -> Result<Variant, ToolError> {
    if slot.is_any() || holds_another_type(slot, current) {
        return any(json, &Slot::any(slot.name.clone()), context);
    }
    if slot.kind == VariantType::OBJECT {
        return object(json, slot, context);
    }
    if let Some((tag, map)) = Tag::of(json) {
        return match tag {
            Tag::Kind(kind) if kind == slot.kind => tagged(json, map, slot, current, context),
            _ => Err(refusal(json, slot, &format!("its type is {}", map["type"]))),
        };
    }
    plain(json, slot, current, context)
}

/// Some internal properties declare one type and hold another, such as `_data` of a curve, which
/// declares an integer and holds an array. What is there now is right.
fn holds_another_type(slot: &Slot, current: &Variant) -> bool {
    !current.is_nil() && !kinds::related(slot.kind, current.get_type())
}

/// A value without a tag, for a slot of one type.
fn plain(
    json: &Value,
    slot: &Slot,
    current: &Variant,
    context: &Context,
) -> Result<Variant, ToolError> {
    let kind = slot.kind;
    if structs::components(kind).is_some() {
        let numbers = structs::read(json, kind).map_err(|why| refusal(json, slot, &why))?;
        return Ok(structs::assemble(kind, &numbers));
    }
    match kind {
        VariantType::BOOL => match json {
            Value::Bool(it) => Ok(it.to_variant()),
            _ => Err(refusal(json, slot, "")),
        },
        VariantType::INT => enums::int(json, slot, current, context).map(|it| it.to_variant()),
        VariantType::FLOAT => match numbers::read_float(json) {
            Some(it) => Ok(it.to_variant()),
            None => Err(refusal(json, slot, "")),
        },
        VariantType::STRING | VariantType::STRING_NAME => {
            let text = text(json, slot)?;
            enums::check_text(text, slot, current, context)?;
            Ok(if kind == VariantType::STRING {
                GString::from(text).to_variant()
            } else {
                StringName::from(text).to_variant()
            })
        }
        VariantType::NODE_PATH => node_path(json, slot),
        VariantType::RID | VariantType::CALLABLE | VariantType::SIGNAL => {
            Err(refusal(json, slot, ""))
        }
        // The rest are containers.
        _ => match json {
            Value::String(text) => match spelled::container(text) {
                Some(read) => value(&read, slot, current, context),
                None => Err(refusal(json, slot, "")),
            },
            Value::Array(items) if kind == VariantType::ARRAY => {
                containers::array(items, slot, current, context)
            }
            Value::Object(map) if kind == VariantType::DICTIONARY => {
                containers::dictionary(map, slot, current, context)
            }
            Value::Array(items) => containers::packed(items, slot, context),
            _ => Err(refusal(json, slot, "")),
        },
    }
}

/// `{"type": ..., ...}` whose tag is the kind of the slot.
fn tagged(
    json: &Value,
    map: &Map<String, Value>,
    slot: &Slot,
    current: &Variant,
    context: &Context,
) -> Result<Variant, ToolError> {
    if structs::components(slot.kind).is_some() {
        return plain(json, slot, current, context);
    }
    match slot.kind {
        VariantType::FLOAT if numbers::read_float(json).is_some() => {
            plain(json, slot, current, context)
        }
        VariantType::BOOL
        | VariantType::INT
        | VariantType::FLOAT
        | VariantType::STRING
        | VariantType::STRING_NAME
        | VariantType::NODE_PATH => {
            check_keys(json, map, slot, &["value"], &[])?;
            let inner = &map["value"];
            if inner.is_object() {
                return Err(refusal(json, slot, "its value is an object"));
            }
            plain(inner, slot, current, context)
        }
        VariantType::RID | VariantType::CALLABLE | VariantType::SIGNAL => {
            Err(refusal(json, slot, ""))
        }
        _ => containers::tagged(json, map, slot, current, context),
    }
}

/// A value for a target that takes any: JSON as it is, and tags for what JSON does not know.
fn any(json: &Value, slot: &Slot, context: &Context) -> Result<Variant, ToolError> {
    let nil = Variant::nil();
    match json {
        Value::Null => Ok(nil),
        Value::Bool(it) => Ok(it.to_variant()),
        Value::Number(number) if number.is_f64() => {
            Ok(number.as_f64().unwrap_or(f64::NAN).to_variant())
        }
        Value::Number(_) => match numbers::read_int(json) {
            Some(it) => Ok(it.to_variant()),
            None => Err(refusal(json, slot, "it does not fit 64 bits")),
        },
        Value::String(_) => Ok(GString::from(text(json, slot)?).to_variant()),
        Value::Array(items) => {
            let slot = Slot::of_kind(slot.name.clone(), VariantType::ARRAY);
            containers::array(items, &slot, &nil, context)
        }
        Value::Object(map) => {
            let kind = match Tag::of(json) {
                Some((Tag::Kind(VariantType::OBJECT), _)) => {
                    return Err(refusal(
                        json,
                        slot,
                        "objects that are no resource cannot be written",
                    ));
                }
                Some((Tag::Kind(kind), _)) => kind,
                Some(_) => VariantType::OBJECT,
                None => VariantType::DICTIONARY,
            };
            let slot = Slot::of_kind(slot.name.clone(), kind);
            match kind {
                VariantType::DICTIONARY | VariantType::OBJECT => value(json, &slot, &nil, context),
                _ => tagged(json, map, &slot, &nil, context),
            }
        }
    }
}

/// A reference to a resource or a node.
fn object(json: &Value, slot: &Slot, context: &Context) -> Result<Variant, ToolError> {
    if json.is_null() {
        return Ok(Variant::nil());
    }
    if let Some((tag, map)) = Tag::of(json) {
        return match tag {
            Tag::Resource => resources::tagged(json, map, slot, context),
            Tag::NewResource => resources::new(json, map, slot, context),
            Tag::Node => {
                check_keys(json, map, slot, &["path"], &[])?;
                nodes::by_path(text(&map["path"], slot)?, slot, context)
            }
            Tag::Kind(_) => Err(refusal(json, slot, &format!("its type is {}", map["type"]))),
        };
    }
    match json {
        Value::String(path) if slot.is_node() => nodes::by_path(path, slot, context),
        Value::String(path) => resources::by_path(path, slot, context),
        _ => Err(refusal(json, slot, "")),
    }
}

fn node_path(json: &Value, slot: &Slot) -> Result<Variant, ToolError> {
    let text = text(json, slot)?;
    // A path never holds quotes, so this can only be the spelling.
    let spelled = spelled::constructor(text).filter(|(name, _)| name == "NodePath");
    let text = match spelled.as_ref().map(|(_, args)| &args[..]) {
        Some([Value::String(inner)]) => inner,
        _ => text,
    };
    // The engine prints an error and makes an empty path when a name between colons is empty.
    if let Some((_, names)) = text.split_once(':')
        && let Some((inner, _)) = names.rsplit_once(':')
        && inner.split(':').any(str::is_empty)
    {
        return Err(refusal(json, slot, "a property name between colons is empty"));
    }
    Ok(NodePath::from(text).to_variant())
}

/// A JSON string, as it is.
pub(super) fn text<'a>(json: &'a Value, slot: &Slot) -> Result<&'a str, ToolError> {
    match json {
        // The engine ends text at a NUL.
        Value::String(it) if it.contains('\0') => {
            Err(refusal(json, slot, "it contains a NUL character"))
        }
        Value::String(it) => Ok(it),
        _ => Err(refusal(json, slot, "")),
    }
}

/// Refuses a tagged value that lacks a key or has one that means nothing.
pub(super) fn check_keys(
    json: &Value,
    map: &Map<String, Value>,
    slot: &Slot,
    required: &[&str],
    optional: &[&str],
) -> Result<(), ToolError> {
    if map.contains_key("truncated") {
        let why = "it is the shortened read form of something too large or too deep to write";
        return Err(refusal(json, slot, why));
    }
    if let Some(missing) = required.iter().find(|it| !map.contains_key(**it)) {
        return Err(refusal(json, slot, &format!("\"{missing}\" is missing")));
    }
    let known = |key: &str| key == "type" || required.contains(&key) || optional.contains(&key);
    match map.keys().find(|it| !known(it)) {
        Some(extra) => Err(refusal(json, slot, &format!("\"{extra}\" means nothing here"))),
        None => Ok(()),
    }
}

/// `"banana" is not a Vector2`, with the forms that are.
pub(super) fn refusal(json: &Value, slot: &Slot, why: &str) -> ToolError {
    let shown = kinds::shown(json);
    let message = if slot.is_any() {
        format!("{shown} is not a value")
    } else {
        format!("{shown} is not {}", kinds::with_article(&slot.type_name()))
    };
    let message = if why.is_empty() { message } else { format!("{message}: {why}") };
    ToolError::invalid(slot.name.clone(), message).hint(kinds::forms(slot))
}

/// `error` about a part of `slot`, such as an element.
pub(super) fn within(error: ToolError, slot: &Slot, part: &str) -> ToolError {
    error.at(part).required(slot.name.clone())
}

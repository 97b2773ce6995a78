//! One line about a value, for previews and history entries.

use godot::builtin::VariantType;
use godot::prelude::*;

use super::{classes, compare, kinds, structs};

const MAX_LENGTH: usize = 80;

/// Elements of a container that are looked at.
const MAX_ELEMENTS: usize = 8;

pub(super) fn summary(value: &Variant) -> String {
    kinds::cut(line(value, 0), MAX_LENGTH)
}

fn line(value: &Variant, depth: usize) -> String {
    let kind = value.get_type();
    if let Some(numbers) = structs::flatten(value) {
        let numbers: Vec<_> = numbers.iter().map(|it| (*it as f32).to_string()).collect();
        return format!("{}({})", kinds::name(kind), numbers.join(", "));
    }
    match kind {
        VariantType::NIL => "null".into(),
        VariantType::FLOAT => {
            let float: f64 = value.to();
            let single = float as f32;
            if f64::from(single) == float { single.to_string() } else { float.to_string() }
        }
        VariantType::STRING => {
            let text = value.stringify().to_string();
            format!("{:?}", kinds::cut(text, MAX_LENGTH))
        }
        VariantType::STRING_NAME => format!("&{:?}", value.stringify().to_string()),
        VariantType::NODE_PATH => format!("NodePath({:?})", value.stringify().to_string()),
        VariantType::OBJECT => object(value),
        VariantType::DICTIONARY => {
            let dictionary: AnyDictionary = value.to();
            if depth > 1 {
                return format!("{{{} entries}}", dictionary.len());
            }
            let entries = dictionary.iter_shared().take(MAX_ELEMENTS).map(|(key, value)| {
                format!("{}: {}", line(&key, depth + 1), line(&value, depth + 1))
            });
            format!("{{{}}}", listed(entries.collect(), dictionary.len()))
        }
        VariantType::ARRAY => {
            let array: AnyArray = value.to();
            if depth > 1 {
                return format!("[{} elements]", array.len());
            }
            let items = array.iter_shared().take(MAX_ELEMENTS).map(|it| line(&it, depth + 1));
            format!("[{}]", listed(items.collect(), array.len()))
        }
        VariantType::BOOL
        | VariantType::INT
        | VariantType::RID
        | VariantType::CALLABLE
        | VariantType::SIGNAL => value.stringify().to_string(),
        _ => format!("{}({} elements)", kinds::name(kind), compare::elements(value).len()),
    }
}

fn listed(parts: Vec<String>, length: usize) -> String {
    let more = if length > parts.len() { ", …" } else { "" };
    parts.join(", ") + more
}

fn object(value: &Variant) -> String {
    let Ok(object) = value.try_to::<Gd<Object>>() else { return "null".into() };
    let class = classes::name_of(&object);
    let object = match object.try_cast::<Node>() {
        Ok(node) => return format!("{class} \"{}\"", node.get_name()),
        Err(object) => object,
    };
    match object.try_cast::<Resource>() {
        Ok(resource) if !resource.get_path().is_empty() => {
            format!("{class} {}", resource.get_path())
        }
        _ => format!("{class} (built-in)"),
    }
}

//! Arguments of a call: their bounds (R34 to R38), their schema (R39), and what a script receives
//! (R41).

use super::json::{Json, Object};
use super::limits::{
    ARGS_MAX_ABS_INT, ARGS_MAX_BYTES, ARGS_MAX_DEPTH, ARGS_MAX_ITEMS, ARGS_MAX_STRING_CHARS,
    CALL_PROBLEMS_MAX, QUOTED_MAX_CHARS,
};
use super::problem::{Pointer, Problems};
use super::subset::ArgumentSchema;

/// A value as a script receives it (R41): objects as `Dictionary`, arrays as `Array`, numbers
/// spelled with neither fraction nor exponent as `int`, others as `float`.
#[derive(Clone, Debug, PartialEq)]
pub enum Plain {
    Nil,
    Bool(bool),
    Int(i64),
    Float(f64),
    String(String),
    Array(Vec<Plain>),
    Dictionary(Vec<(String, Plain)>),
}

/// What a call sends when it leaves `arguments` out (R33).
pub fn none() -> Json {
    Json::Object(Object::default())
}

/// Checks arguments against the bounds, then against the schema.
///
/// # Errors
/// The problems, with pointers into the arguments. The library's fault, when it cannot read a schema
/// that the walk accepted, counts as one of the schema's.
pub fn check(arguments: &Json, schema: &ArgumentSchema) -> Result<(), Problems> {
    let mut problems = Problems::with_limit(CALL_PROBLEMS_MAX);
    let root = &Pointer::ROOT;
    if arguments.as_object().is_none() {
        problems.add("R39", root, format!("the arguments are an object, not {}", arguments.kind()));
        return Err(problems);
    }
    bounds(arguments, root, 1, &mut problems);
    arguments.irregular(root, &mut problems);
    let size = arguments.compact().len();
    if size > ARGS_MAX_BYTES {
        let message =
            format!("the arguments have {size} bytes as compact JSON; at most {ARGS_MAX_BYTES}");
        problems.add("R34", root, message);
    }
    if problems.is_empty() {
        matches(arguments, schema, &mut problems);
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// What a script receives. Integers are within 2^53 once `check` has passed.
pub fn plain(value: &Json) -> Plain {
    match value {
        Json::Null => Plain::Nil,
        Json::Bool(it) => Plain::Bool(*it),
        Json::Number(it) => it.to_i64().map_or_else(|| Plain::Float(it.to_f64()), Plain::Int),
        Json::String(it) => Plain::String(it.clone()),
        Json::Array(it) => Plain::Array(it.iter().map(plain).collect()),
        Json::Object(it) => Plain::Dictionary(
            it.entries.iter().map(|(key, value)| (key.clone(), plain(value))).collect(),
        ),
    }
}

/// `depth` counts the container that `value` would be.
fn bounds(value: &Json, here: &Pointer<'_>, depth: usize, problems: &mut Problems) {
    match value {
        Json::Array(_) | Json::Object(_) if depth > ARGS_MAX_DEPTH => {
            problems.add("R35", here, format!("more than {ARGS_MAX_DEPTH} levels"));
        }
        Json::Array(items) => {
            count(items.len(), "items", here, problems);
            for (index, item) in items.iter().enumerate() {
                bounds(item, &here.item(index), depth + 1, problems);
            }
        }
        Json::Object(object) => {
            count(object.entries.len(), "entries", here, problems);
            for (key, value) in &object.entries {
                let here = &here.key(key);
                length(key, "the key", here, problems);
                bounds(value, here, depth + 1, problems);
            }
        }
        Json::String(text) => length(text, "the text", here, problems),
        Json::Number(number) if number.is_integer() && !number.is_within(ARGS_MAX_ABS_INT) => {
            let message = format!("the integer is beyond {ARGS_MAX_ABS_INT} (2^53)");
            problems.add("R38", here, message);
        }
        _ => {}
    }
}

fn count(found: usize, what: &str, here: &Pointer<'_>, problems: &mut Problems) {
    if found > ARGS_MAX_ITEMS {
        problems.add("R36", here, format!("{found} {what}; at most {ARGS_MAX_ITEMS}"));
    }
}

fn length(text: &str, what: &str, here: &Pointer<'_>, problems: &mut Problems) {
    let found = text.chars().count();
    if found > ARGS_MAX_STRING_CHARS {
        let message = format!("{what} has {found} characters; at most {ARGS_MAX_STRING_CHARS}");
        problems.add("R37", here, message);
    }
}

fn matches(arguments: &Json, schema: &ArgumentSchema, problems: &mut Problems) {
    let root = &Pointer::ROOT;
    let validator = match schema.validator() {
        Ok(validator) => validator,
        Err(why) => {
            problems.add("R39", root, format!("the command's schema cannot be used: {why}"));
            return;
        }
    };
    for error in validator.iter_errors(&arguments.to_value()) {
        // The library's message quotes the value, which may be all of the arguments.
        let full = error.to_string();
        let shown: String = full.chars().take(4 * QUOTED_MAX_CHARS).collect();
        let more = if shown.len() < full.len() { "..." } else { "" };
        problems.add_at("R39", error.instance_path().as_str(), format!("{shown}{more}"));
    }
}

#[cfg(test)]
mod tests;

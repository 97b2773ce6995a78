//! JSON files, comments and layout kept.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use serde_json::{Map, Value};

use super::NAME;
use super::entry::OWN_KEYS;

const BOM: char = '\u{feff}';
const EMPTY: &str = "{\n}\n";

/// What clients' own parsers take: comments and trailing commas, nothing more.
fn options() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_loose_object_property_names: false,
        allow_trailing_commas: true,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

/// The whole file as a value; an empty file is an empty object.
pub(super) fn value(text: &str) -> Result<Value, String> {
    let text = text.trim_start_matches(BOM);
    if text.trim().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    let root = parse(text)?;
    let value = root.to_serde_value().unwrap_or_else(|| Value::Object(Map::new()));
    if value.is_object() { Ok(value) } else { Err("it is not a JSON object".to_owned()) }
}

/// The text with our entry in it. Other keys of an entry that is there are kept, unless it is to be
/// replaced as a whole.
pub(super) fn with_entry(
    text: &str,
    container: &[&str],
    entry: &Value,
    replace: bool,
) -> Result<String, String> {
    let bom = text.starts_with(BOM);
    let text = text.trim_start_matches(BOM);
    let root = parse(if text.trim().is_empty() { EMPTY } else { text })?;
    let mut object = root.object_value_or_create().ok_or("it is not a JSON object")?;
    for key in container {
        object = object
            .object_value_or_create(key)
            .ok_or_else(|| format!("\"{key}\" is not an object"))?;
    }
    match object.get(NAME) {
        Some(found) if replace => found.set_value(input(entry)),
        Some(found) => match found.object_value() {
            Some(found) => update(&found, entry),
            None => found.set_value(input(entry)),
        },
        None => drop(object.append(NAME, input(entry))),
    }
    let text = root.to_string();
    Ok(if bom { format!("{BOM}{text}") } else { text })
}

/// The text without our entry.
pub(super) fn without_entry(text: &str, container: &[&str]) -> Result<String, String> {
    let bom = text.starts_with(BOM);
    let root = parse(text.trim_start_matches(BOM))?;
    let mut object = root.object_value();
    for key in container {
        object = object.and_then(|it| it.object_value(key));
    }
    if let Some(found) = object.and_then(|it| it.get(NAME)) {
        found.remove();
    }
    let text = root.to_string();
    Ok(if bom { format!("{BOM}{text}") } else { text })
}

fn parse(text: &str) -> Result<CstRootNode, String> {
    CstRootNode::parse(text, &options()).map_err(|it| it.to_string())
}

fn update(found: &CstObject, entry: &Value) {
    for key in OWN_KEYS {
        match (found.get(key), entry.get(key)) {
            (Some(property), Some(value)) => {
                if property.to_serde_value().as_ref() != Some(value) {
                    property.set_value(input(value));
                }
            }
            (None, Some(value)) => drop(found.append(key, input(value))),
            (Some(property), None) => property.remove(),
            (None, None) => {}
        }
    }
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(it) => CstInputValue::Bool(*it),
        Value::Number(it) => CstInputValue::Number(it.to_string()),
        Value::String(it) => CstInputValue::String(it.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(map) => {
            CstInputValue::Object(map.iter().map(|(key, it)| (key.clone(), input(it))).collect())
        }
    }
}

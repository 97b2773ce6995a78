//! JSON Schemas of arguments: made from Rust types, trimmed to what every client accepts (S11.7),
//! and used to check arguments before anything looks at them (S2 step 1).

use std::borrow::Cow;

use jsonschema::error::ValidationErrorKind;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::error::ToolError;
use crate::suggest;

pub const DRY_RUN: &str = "dry_run";
pub const CONFIRM: &str = "confirm";
/// Taken by every call that may change something, and listed only where it is required: naming it in
/// each of a hundred schemas would cost more tokens than the limit leaves (S2.4, S11.5).
pub const IDEMPOTENCY_KEY: &str = "idempotency_key";
pub const EXPECTED_SCENE: &str = "expected_scene";

/// Keys that some clients add to every call. Dropped when a tool does not declare them.
const WRAPPER_KEYS: &[&str] = &["task_progress", "random_string", "_meta", "requires_approval"];

/// Any JSON value, for parameters whose type the target decides.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct AnyValue(pub Value);

impl JsonSchema for AnyValue {
    fn schema_name() -> Cow<'static, str> {
        "AnyValue".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        // Spelled out, since clients drop tools with an untyped property.
        schemars::json_schema!({
            "type": ["string", "number", "boolean", "object", "array", "null"], "items": {}
        })
    }
}

pub(crate) fn flag(description: &str) -> Value {
    json!({"type": "boolean", "description": description})
}

/// Description and schema of an arguments type: its doc comment, and the rest.
///
/// # Panics
/// When the type is not a struct with named fields, or has no doc comment: faults found at start-up.
pub fn of<T: JsonSchema>() -> (String, Map<String, Value>) {
    let settings = SchemaSettings::draft2020_12().with(|it| it.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    trim(&mut schema);
    let schema = schema.as_object_mut().expect("arguments are a struct");
    let description = schema.remove("description");
    let description = description.as_ref().and_then(Value::as_str).map(str::to_owned);
    schema.entry("properties").or_insert_with(|| json!({}));
    (description.expect("the doc comment is the description"), std::mem::take(schema))
}

/// Removes what costs tokens or confuses clients, and joins the lines of doc comments.
fn trim(schema: &mut Value) {
    let Value::Object(map) = schema else { return };
    for key in ["$schema", "title"] {
        map.remove(key);
    }
    if map.get("default").is_some_and(Value::is_null) {
        map.remove("default");
    }
    if let Some(Value::String(format)) = map.get("format")
        && !format.ends_with("-path")
    {
        map.remove("format");
    }
    if let Some(Value::String(text)) = map.get_mut("description") {
        *text = text
            .split("\n\n")
            .map(|it| it.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect::<Vec<_>>()
            .join("\n");
    }
    let required: Vec<String> = map
        .get("required")
        .and_then(Value::as_array)
        .map(|it| it.iter().filter_map(Value::as_str).map(str::to_owned).collect())
        .unwrap_or_default();
    if let Some(Value::Object(properties)) = map.get_mut("properties") {
        for (name, property) in properties {
            trim(property);
            if !required.contains(name) {
                drop_null(property);
            }
        }
    }
    if let Some(items) = map.get_mut("items") {
        trim(items);
    }
    if let Some(extra @ Value::Object(_)) = map.get_mut("additionalProperties") {
        trim(extra);
    }
    flatten_unit_enum(map);
}

/// An optional parameter may be left out, so its schema need not name `null`.
fn drop_null(property: &mut Value) {
    let Value::Object(map) = property else { return };
    if let Some(Value::Array(types)) = map.get_mut("type")
        && types.len() == 2
    {
        types.retain(|it| it != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            map.insert("type".into(), only);
        }
    }
    if let Some(Value::Array(values)) = map.get_mut("enum") {
        values.retain(|it| !it.is_null());
    }
    if let Some(Value::Array(options)) = map.get("anyOf") {
        let options: Vec<_> = options.iter().filter(|it| it["type"] != "null").cloned().collect();
        if let [Value::Object(only)] = options.as_slice() {
            map.remove("anyOf");
            for (key, value) in only {
                map.entry(key.clone()).or_insert_with(|| value.clone());
            }
        }
    }
}

/// `oneOf` of constants, which documented enum variants give, becomes a plain `enum`.
fn flatten_unit_enum(map: &mut Map<String, Value>) {
    let Some(Value::Array(options)) = map.get("oneOf") else { return };
    let names: Vec<Value> = options.iter().filter_map(|it| it.get("const").cloned()).collect();
    if names.len() == options.len() {
        map.remove("oneOf");
        map.insert("type".into(), json!("string"));
        map.insert("enum".into(), Value::Array(names));
    }
}

/// Checks the arguments of one tool.
pub struct Checker {
    schema: Map<String, Value>,
    validator: jsonschema::Validator,
}

impl Checker {
    pub fn new(schema: &Map<String, Value>) -> Result<Self, String> {
        let schema_value = Value::Object(schema.clone());
        let validator = jsonschema::options()
            .with_draft(jsonschema::Draft::Draft202012)
            .with_pattern_options(jsonschema::PatternOptions::regex())
            .build(&schema_value)
            .map_err(|it| it.to_string())?;
        Ok(Self { schema: schema.clone(), validator })
    }

    /// Arguments as the tool may read them, or the first problem (S2 step 1).
    ///
    /// Nothing is guessed: only `null` for "left out", a whole number written `2.0`, and JSON text
    /// where an object or array is declared are understood.
    pub fn check(&self, mut args: Map<String, Value>) -> Result<Map<String, Value>, ToolError> {
        let declared = self.schema["properties"].as_object().expect("made by `of`");
        let required = self.schema.get("required").and_then(Value::as_array);
        let is_required = |name: &str| required.is_some_and(|it| it.iter().any(|it| it == name));

        args.retain(|name, _| {
            declared.contains_key(name) || !WRAPPER_KEYS.contains(&name.as_str())
        });
        if let Some(unknown) = args.keys().find(|it| !declared.contains_key(*it)) {
            let names: Vec<_> = declared.keys().map(String::as_str).collect();
            let near = suggest::near(unknown, names.iter().copied(), 3);
            let error = ToolError::invalid(unknown.clone(), format!("no parameter \"{unknown}\""));
            return Err(if near.is_empty() {
                error.hint(match names.len() {
                    0 => "this tool takes no parameters".to_owned(),
                    _ => format!("parameters are: {}", names.join(", ")),
                })
            } else {
                error.suggest(near)
            });
        }
        args.retain(|name, value| {
            !value.is_null() || is_required(name) || allows(&declared[name], "null")
        });
        for (name, value) in &mut args {
            normalize(&declared[name], value);
        }

        let instance = Value::Object(args);
        if let Some(error) = self.validator.iter_errors(&instance).next() {
            return Err(explain(&error, &self.schema));
        }
        let Value::Object(args) = instance else { unreachable!("it was wrapped above") };
        Ok(args)
    }
}

/// Whether a schema names a JSON type.
pub fn allows(schema: &Value, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(it)) => it == kind,
        Some(Value::Array(types)) => types.iter().any(|it| it == kind),
        _ => false,
    }
}

fn normalize(schema: &Value, value: &mut Value) {
    let structured = allows(schema, "object") || allows(schema, "array");
    match value {
        Value::String(text) if structured && !allows(schema, "string") => {
            if let Ok(parsed @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text) {
                *value = parsed;
                normalize(schema, value);
            }
        }
        Value::Number(number) if allows(schema, "integer") && !allows(schema, "number") => {
            if let Some(float) = number.as_f64()
                && !number.is_i64()
                && !number.is_u64()
                && float.fract() == 0.0
                && float.abs() <= 9_007_199_254_740_992.0
            {
                *value = json!(float as i64);
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                items.iter_mut().for_each(|it| normalize(schema, it));
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                if let Some(schema) = schema.get("properties").and_then(|it| it.get(name)) {
                    normalize(schema, field);
                }
            }
        }
        _ => {}
    }
}

/// A schema violation in words: which parameter, what was found, what is declared.
fn explain(error: &jsonschema::ValidationError, schema: &Map<String, Value>) -> ToolError {
    let pointer = error.instance_path().to_string();
    if let ValidationErrorKind::Required { property } = error.kind()
        && pointer.is_empty()
    {
        let name = property.as_str().unwrap_or_default().to_owned();
        let text = schema["properties"][&name]["description"].as_str().unwrap_or_default();
        return ToolError::invalid(name.clone(), format!("parameter \"{name}\" is missing"))
            .hint(if text.is_empty() { String::new() } else { format!("{name}: {text}") });
    }
    let parameter =
        pointer.trim_start_matches('/').split('/').next().unwrap_or_default().to_owned();
    let mut error = ToolError::invalid(parameter.clone(), format!("at {pointer}: {error}"));
    if let Some(declared) = schema["properties"].get(&parameter) {
        let mut hint = format!("{parameter} is declared as {}", declared["type"]);
        for bound in ["minimum", "maximum", "enum", "minLength", "maxLength", "minItems"] {
            if let Some(value) = declared.get(bound) {
                hint.push_str(&format!(", {bound} {value}"));
            }
        }
        error = error.hint(hint);
    }
    error
}

/// Calls `visit` with each string value whose schema has a `format`, at any depth (S8.2).
pub fn each_formatted<'a>(
    schema: &Value,
    value: &'a Value,
    pointer: &mut String,
    visit: &mut dyn FnMut(&str, &str, &'a str) -> Result<(), ToolError>,
) -> Result<(), ToolError> {
    let length = pointer.len();
    match value {
        Value::String(text) => {
            if let Some(format) = schema.get("format").and_then(Value::as_str) {
                visit(pointer, format, text)?;
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                for (index, item) in items.iter().enumerate() {
                    pointer.push_str(&format!("/{index}"));
                    each_formatted(schema, item, pointer, visit)?;
                    pointer.truncate(length);
                }
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                let schema = schema
                    .get("properties")
                    .and_then(|it| it.get(name))
                    .or_else(|| schema.get("additionalProperties"));
                if let Some(schema) = schema {
                    pointer.push_str(&format!("/{name}"));
                    each_formatted(schema, field, pointer, visit)?;
                    pointer.truncate(length);
                }
            }
        }
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;

    /// Renames a thing.
    /// In two lines.
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only the schema is used")]
    struct Args {
        /// Which one.
        node_path: String,
        /// How deep.
        #[serde(default)]
        max_depth: Option<i64>,
        #[serde(default)]
        properties: Option<Map<String, Value>>,
        value: AnyValue,
    }

    fn check(args: Value) -> Result<Map<String, Value>, ToolError> {
        let Value::Object(args) = args else { panic!("an object") };
        Checker::new(&of::<Args>().1).expect("compiles").check(args)
    }

    #[test]
    fn schema_is_plain() {
        let (description, schema) = of::<Args>();
        assert_eq!(description, "Renames a thing. In two lines.");
        expect_test::expect![[r#"{"type":"object","properties":{"node_path":{"type":"string","description":"Which one."},"max_depth":{"type":"integer","description":"How deep."},"properties":{"type":"object","additionalProperties":true},"value":{"type":["string","number","boolean","object","array","null"],"items":{}}},"required":["node_path","value"]}"#]]
        .assert_eq(&serde_json::to_string(&schema).expect("serializes"));
    }

    #[test]
    fn understands_what_is_plain() {
        let args = check(json!({
            "node_path": "A", "value": null, "max_depth": 2.0, "properties": "{\"a\": 1}",
            "task_progress": "x"
        }))
        .expect("valid");
        assert_eq!(
            Value::Object(args),
            json!({
                "node_path": "A", "value": null, "max_depth": 2, "properties": {"a": 1}
            })
        );
        assert!(
            !check(json!({"node_path": "A", "value": 1, "max_depth": null}))
                .expect("valid")
                .contains_key("max_depth")
        );
    }

    #[test]
    fn refuses_the_rest_with_names() {
        let error = |args| check(args).expect_err("invalid");
        assert_eq!(error(json!({"node": "A", "value": 1})).suggestions, ["node_path"]);
        assert_eq!(error(json!({"value": 1})).required.as_deref(), Some("node_path"));
        let wrong = error(json!({"node_path": "A", "value": 1, "max_depth": "2"}));
        assert_eq!(wrong.code, Code::ValidationError);
        assert_eq!(wrong.required.as_deref(), Some("max_depth"));
        assert_eq!(error(json!({"node_path": 5, "value": 1})).code, Code::ValidationError);
    }
}

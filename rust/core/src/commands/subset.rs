//! The schema subset of commands' arguments (R25 to R32).
//!
//! The walk decides before any schema library sees the schema: those accept unknown keywords in
//! silence. What it accepts it writes anew, with the annotations left out and the patterns in a
//! spelling of its own, so that nothing but the fifteen keywords reaches the library.

use serde_json::{Map, Value};

use super::json::{Json, Number, Object, quoted};
use super::limits::{CALL_PROBLEMS_MAX, SCHEMA_PATTERN_COST_MAX};
use super::pattern;
use super::problem::{Pointer, Problem, Problems};

/// Keywords that check something (R25).
pub const ASSERTIONS: [&str; 15] = [
    "type",
    "const",
    "enum",
    "oneOf",
    "properties",
    "additionalProperties",
    "required",
    "items",
    "maxItems",
    "minItems",
    "pattern",
    "maxLength",
    "minLength",
    "maximum",
    "minimum",
];

/// Keywords that are accepted and ignored (R28).
pub const ANNOTATIONS: [&str; 6] =
    ["$schema", "$id", "title", "description", "examples", "default"];

/// R26.
pub const TYPES: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];

/// A schema inside the subset, without its annotations.
#[derive(Clone, Debug, PartialEq)]
pub struct ArgumentSchema {
    assertions: Value,
}

/// A schema outside the subset. It makes its command unavailable, not the file invalid (R32).
#[derive(Clone, Debug, PartialEq)]
pub struct OutsideSubset {
    /// With pointers from the top of the schema.
    pub problems: Vec<Problem>,
    pub total: usize,
}

impl OutsideSubset {
    /// One sentence that names the first construct and where it is.
    pub fn reason(&self) -> String {
        let first = self.problems.first().map_or_else(String::new, |it| {
            format!("the input schema leaves the subset at \"{}\": {}", it.pointer, it.message)
        });
        match self.total {
            0 | 1 => first,
            more => format!("{first}; and {} more", more - 1),
        }
    }
}

/// Walks one `input_schema`, which is an object (A1).
pub fn walk(schema: &Object) -> Result<ArgumentSchema, OutsideSubset> {
    let mut walk = Walk { problems: Problems::with_limit(CALL_PROBLEMS_MAX), pattern_cost: 0 };
    let top = &Pointer::ROOT;
    if schema.get("type").and_then(Json::as_str) != Some("object") {
        walk.outside(top, "the top is not \"type\": \"object\"");
    }
    let assertions = walk.schema(schema, top);
    if walk.pattern_cost > SCHEMA_PATTERN_COST_MAX {
        walk.outside(top, "its patterns are too large together");
    }
    if walk.problems.is_empty() {
        return Ok(ArgumentSchema { assertions });
    }
    Err(OutsideSubset { total: walk.problems.total, problems: walk.problems.listed().to_vec() })
}

impl ArgumentSchema {
    /// What the schema checks, as one of draft 2020-12.
    pub fn assertions(&self) -> &Value {
        &self.assertions
    }

    pub(crate) fn validator(&self) -> Result<jsonschema::Validator, String> {
        jsonschema::options()
            .with_draft(jsonschema::Draft::Draft202012)
            .with_pattern_options(jsonschema::PatternOptions::regex())
            .build(&self.assertions)
            .map_err(|it| it.to_string())
    }
}

struct Walk {
    problems: Problems,
    pattern_cost: u64,
}

impl Walk {
    fn outside(&mut self, at: &Pointer<'_>, message: impl Into<String>) {
        self.problems.add("R32", at, message);
    }

    fn schema(&mut self, schema: &Object, here: &Pointer<'_>) -> Value {
        let mut out = Map::new();
        for (keyword, value) in &schema.entries {
            let at = here.key(keyword);
            let written = match keyword.as_str() {
                "type" => self.types(value, &at),
                "const" => Some(value.to_value()),
                "enum" => self.choices(value, &at),
                "oneOf" => self.one_of(value, &at),
                "properties" => self.properties(value, &at),
                "additionalProperties" | "items" => self.schema_or_boolean(value, &at),
                "required" => self.names(value, &at),
                "maxItems" | "minItems" | "maxLength" | "minLength" => self.count(value, &at),
                "maximum" | "minimum" => self.bound(value, &at),
                "pattern" => self.pattern(value, &at),
                other if ANNOTATIONS.contains(&other) => None,
                other => {
                    let known = ASSERTIONS.join(", ");
                    let message = format!("{} is not one of {known}", quoted(other));
                    self.outside(&at, message);
                    None
                }
            };
            if let Some(written) = written {
                out.insert(keyword.clone(), written);
            }
        }
        for (least, most) in
            [("minItems", "maxItems"), ("minLength", "maxLength"), ("minimum", "maximum")]
        {
            let number = |it: &str| out.get(it).and_then(Value::as_f64);
            if let (Some(low), Some(high)) = (number(least), number(most))
                && low > high
            {
                self.outside(&here.key(least), format!("\"{least}\" is above \"{most}\""));
            }
        }
        Value::Object(out)
    }

    fn subschema(&mut self, value: &Json, at: &Pointer<'_>) -> Option<Value> {
        let Json::Object(schema) = value else {
            self.outside(at, format!("{} where a schema is due", value.kind()));
            return None;
        };
        Some(self.schema(schema, at))
    }

    /// R27.
    fn schema_or_boolean(&mut self, value: &Json, at: &Pointer<'_>) -> Option<Value> {
        match value {
            Json::Bool(it) => Some(Value::Bool(*it)),
            Json::Object(schema) => Some(self.schema(schema, at)),
            other => {
                self.outside(at, format!("{} where a schema or a boolean is due", other.kind()));
                None
            }
        }
    }

    fn types(&mut self, value: &Json, at: &Pointer<'_>) -> Option<Value> {
        let names = match value {
            Json::String(_) => std::slice::from_ref(value),
            Json::Array(names) if !names.is_empty() => names,
            _ => {
                self.outside(at, "neither the name of a type nor a list of names");
                return None;
            }
        };
        for (index, name) in names.iter().enumerate() {
            let item = at.item(index);
            let at = if matches!(value, Json::Array(_)) { &item } else { at };
            match name.as_str() {
                Some(name) if TYPES.contains(&name) => {}
                Some(name) => {
                    let known = TYPES.join(", ");
                    self.outside(at, format!("{} is not one of {known}", quoted(name)));
                }
                None => self.outside(at, format!("{} where a type's name is due", name.kind())),
            }
            if names[..index].contains(name) {
                self.outside(at, "the type is named twice");
            }
        }
        Some(value.to_value())
    }

    fn choices(&mut self, value: &Json, at: &Pointer<'_>) -> Option<Value> {
        if !matches!(value, Json::Array(items) if !items.is_empty()) {
            self.outside(at, "not a list of at least one value");
        }
        Some(value.to_value())
    }

    fn one_of(&mut self, value: &Json, at: &Pointer<'_>) -> Option<Value> {
        let Json::Array(branches) = value else {
            self.outside(at, format!("{} where a list of schemas is due", value.kind()));
            return None;
        };
        if branches.is_empty() {
            self.outside(at, "a list without a schema");
        }
        let branches = branches.iter().enumerate();
        let written = branches.filter_map(|(index, it)| self.subschema(it, &at.item(index)));
        Some(Value::Array(written.collect()))
    }

    fn properties(&mut self, value: &Json, at: &Pointer<'_>) -> Option<Value> {
        let Json::Object(properties) = value else {
            self.outside(at, format!("{} where an object of schemas is due", value.kind()));
            return None;
        };
        let mut out = Map::new();
        for (name, property) in &properties.entries {
            if let Some(written) = self.subschema(property, &at.key(name)) {
                out.insert(name.clone(), written);
            }
        }
        Some(Value::Object(out))
    }

    fn names(&mut self, value: &Json, at: &Pointer<'_>) -> Option<Value> {
        let Json::Array(names) = value else {
            self.outside(at, format!("{} where a list of names is due", value.kind()));
            return None;
        };
        let mut seen = std::collections::HashSet::new();
        for (index, name) in names.iter().enumerate() {
            match name.as_str() {
                None => self.outside(&at.item(index), format!("{} is no name", name.kind())),
                Some(name) if !seen.insert(name) => {
                    self.outside(&at.item(index), format!("{} is there twice", quoted(name)));
                }
                Some(_) => {}
            }
        }
        Some(value.to_value())
    }

    fn count(&mut self, value: &Json, at: &Pointer<'_>) -> Option<Value> {
        let count = number(value).map(Number::to_f64);
        let whole = count.filter(|it| *it >= 0.0 && it.fract() == 0.0 && *it <= 2f64.powi(53));
        if whole.is_none() {
            self.outside(at, "not a whole number from 0 on");
        }
        // The library takes counts spelled as integers only.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        whole.map(|it| Value::from(it as u64))
    }

    fn bound(&mut self, value: &Json, at: &Pointer<'_>) -> Option<Value> {
        if number(value).is_none() {
            self.outside(at, format!("{} where a number is due", value.kind()));
            return None;
        }
        Some(value.to_value())
    }

    fn pattern(&mut self, value: &Json, at: &Pointer<'_>) -> Option<Value> {
        let Json::String(text) = value else {
            self.outside(at, format!("{} where a pattern is due", value.kind()));
            return None;
        };
        match pattern::parse(text) {
            Ok(pattern) => {
                self.pattern_cost = self.pattern_cost.saturating_add(pattern.cost);
                Some(Value::String(pattern.regex))
            }
            Err(why) => {
                self.outside(at, why);
                None
            }
        }
    }
}

fn number(value: &Json) -> Option<&Number> {
    let Json::Number(number) = value else { return None };
    Some(number)
}

#[cfg(test)]
mod tests;

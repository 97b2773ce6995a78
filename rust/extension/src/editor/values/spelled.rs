//! Godot's own spelling of values, as scene files and `var_to_str` have it, turned into JSON.
//!
//! A parser of our own rather than `str_to_var`: that one prints errors for bad text, takes prefixes
//! (`"5 apples"` is 5) and loads resources and builds objects while reading.

use godot::builtin::VariantType;
use serde_json::{Map, Number, Value, json};

use super::{kinds, numbers, structs};

/// Nesting that is followed before the text is refused.
const MAX_DEPTH: usize = 32;

/// The name and arguments of a text that is exactly one constructor: `Vector2(1, 2)`.
pub(super) fn constructor(text: &str) -> Option<(String, Vec<Value>)> {
    let mut parser = Parser { rest: text.trim(), depth: 0 };
    let name = parser.identifier()?.to_owned();
    parser.expect('(')?;
    let args = parser.list(')')?;
    parser.rest.is_empty().then_some((name, args))
}

/// The tagged JSON form of a spelled container: `[1, 2]`, `{ "a": 1 }`, `Array[int]([1])`,
/// `PackedByteArray(1, 2)`. Plain scalars and text are not containers.
pub(super) fn container(text: &str) -> Option<Value> {
    let mut parser = Parser { rest: text.trim(), depth: 0 };
    let value = parser.value()?;
    (parser.rest.is_empty() && (value.is_array() || value.is_object())).then_some(value)
}

struct Parser<'a> {
    /// Invariant: does not start with white space, except in front of the very first token.
    rest: &'a str,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn value(&mut self) -> Option<Value> {
        self.depth += 1;
        let value = if self.depth > MAX_DEPTH { None } else { self.value_inner() };
        self.depth -= 1;
        value
    }

    fn value_inner(&mut self) -> Option<Value> {
        match self.rest.chars().next()? {
            '"' => self.string().map(Value::String),
            '&' => {
                self.expect('&')?;
                Some(json!({ "type": "StringName", "value": self.string()? }))
            }
            '^' => {
                self.expect('^')?;
                Some(json!({ "type": "NodePath", "value": self.string()? }))
            }
            '[' => {
                self.expect('[')?;
                self.list(']').map(Value::Array)
            }
            '{' => Some(json!({ "type": "Dictionary", "entries": self.entries()? })),
            '0'..='9' | '-' | '+' | '.' => self.number(),
            _ => self.word(),
        }
    }

    fn word(&mut self) -> Option<Value> {
        let word = self.identifier()?;
        match word {
            "null" | "nil" => return Some(Value::Null),
            "true" => return Some(json!(true)),
            "false" => return Some(json!(false)),
            "inf" => return Some(numbers::exact(f64::INFINITY)),
            "inf_neg" => return Some(numbers::exact(f64::NEG_INFINITY)),
            "nan" => return Some(numbers::exact(f64::NAN)),
            "Array" if self.peek('[') => {
                self.expect('[')?;
                let element = self.identifier()?;
                self.expect(']')?;
                self.expect('(')?;
                self.expect('[')?;
                let items = self.list(']')?;
                self.expect(')')?;
                return Some(json!({ "type": "Array", "element": element, "items": items }));
            }
            "Dictionary" if self.peek('[') => {
                self.expect('[')?;
                let key = self.identifier()?;
                self.expect(',')?;
                let value = self.identifier()?;
                self.expect(']')?;
                self.expect('(')?;
                let entries = self.entries()?;
                self.expect(')')?;
                return Some(
                    json!({ "type": "Dictionary", "key": key, "value": value, "entries": entries }),
                );
            }
            _ => {}
        }
        self.expect('(')?;
        let args = self.list(')')?;
        construct(kinds::by_name(word)?, args)
    }

    fn entries(&mut self) -> Option<Vec<Value>> {
        self.expect('{')?;
        let mut entries = Vec::new();
        while !self.peek('}') {
            let key = self.value()?;
            self.expect(':')?;
            let value = self.value()?;
            entries.push(json!([key, value]));
            if !self.peek('}') {
                self.expect(',')?;
            }
        }
        self.expect('}')?;
        Some(entries)
    }

    /// Values up to `end`, which is consumed. A comma after the last one is fine, as in Godot.
    fn list(&mut self, end: char) -> Option<Vec<Value>> {
        let mut items = Vec::new();
        while !self.peek(end) {
            items.push(self.value()?);
            if !self.peek(end) {
                self.expect(',')?;
            }
        }
        self.expect(end)?;
        Some(items)
    }

    fn number(&mut self) -> Option<Value> {
        if let Some(rest) = self.rest.strip_prefix("-inf") {
            self.rest = rest;
            self.skip_space();
            return Some(numbers::exact(f64::NEG_INFINITY));
        }
        let is_part = |it: char| it.is_ascii_digit() || matches!(it, '+' | '-' | '.' | 'e' | 'E');
        let end = self.rest.find(|it| !is_part(it)).unwrap_or(self.rest.len());
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        self.skip_space();
        if text.contains(['.', 'e', 'E']) {
            return text.parse().ok().and_then(Number::from_f64).map(Value::Number);
        }
        text.parse::<i64>().ok().map(Value::from)
    }

    fn string(&mut self) -> Option<String> {
        let mut chars = self.rest.strip_prefix('"')?.chars();
        let mut text = String::new();
        loop {
            match chars.next()? {
                '"' => break,
                '\\' => text.push(match chars.next()? {
                    'b' => '\u{8}',
                    't' => '\t',
                    'n' => '\n',
                    'f' => '\u{c}',
                    'r' => '\r',
                    'u' => hex(&mut chars, 4)?,
                    'U' => hex(&mut chars, 6)?,
                    other => other,
                }),
                other => text.push(other),
            }
        }
        self.rest = chars.as_str();
        self.skip_space();
        Some(text)
    }

    fn identifier(&mut self) -> Option<&'a str> {
        let end = self
            .rest
            .find(|it: char| !it.is_ascii_alphanumeric() && it != '_')
            .unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        if word.is_empty() || word.starts_with(|it: char| it.is_ascii_digit()) {
            return None;
        }
        self.rest = rest;
        self.skip_space();
        Some(word)
    }

    fn peek(&self, wanted: char) -> bool {
        self.rest.starts_with(wanted)
    }

    fn expect(&mut self, wanted: char) -> Option<()> {
        self.rest = self.rest.strip_prefix(wanted)?;
        self.skip_space();
        Some(())
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }
}

fn hex(chars: &mut std::str::Chars, digits: usize) -> Option<char> {
    let mut code = 0;
    for _ in 0..digits {
        code = code * 16 + chars.next()?.to_digit(16)?;
    }
    char::from_u32(code)
}

/// The tagged form of `Kind(args)`.
fn construct(kind: VariantType, args: Vec<Value>) -> Option<Value> {
    let name = kinds::name(kind);
    if structs::components(kind).is_some() {
        let numbers = structs::read(&Value::Array(args), kind).ok()?;
        let mut map = Map::new();
        map.insert("type".into(), json!(name));
        map.extend(structs::members(kind, &numbers));
        return Some(Value::Object(map));
    }
    let items = match kind {
        VariantType::NODE_PATH | VariantType::STRING_NAME => {
            let [Value::String(text)] = &args[..] else { return None };
            return Some(json!({ "type": name, "value": text }));
        }
        VariantType::PACKED_BYTE_ARRAY => match &args[..] {
            [Value::String(base64)] => return Some(json!({ "type": name, "base64": base64 })),
            _ => args,
        },
        VariantType::PACKED_INT32_ARRAY
        | VariantType::PACKED_INT64_ARRAY
        | VariantType::PACKED_FLOAT32_ARRAY
        | VariantType::PACKED_FLOAT64_ARRAY
        | VariantType::PACKED_STRING_ARRAY => args,
        VariantType::PACKED_VECTOR2_ARRAY => grouped(args, 2)?,
        VariantType::PACKED_VECTOR3_ARRAY => grouped(args, 3)?,
        VariantType::PACKED_COLOR_ARRAY | VariantType::PACKED_VECTOR4_ARRAY => grouped(args, 4)?,
        _ => return None,
    };
    Some(json!({ "type": name, "items": items }))
}

fn grouped(args: Vec<Value>, size: usize) -> Option<Vec<Value>> {
    let whole = args.len().is_multiple_of(size);
    whole.then(|| args.chunks(size).map(|it| Value::Array(it.to_vec())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, json: Value) {
        assert_eq!(container(text), Some(json), "{text}");
    }

    #[test]
    fn constructors() {
        assert_eq!(
            constructor("Vector2(1, -2.5)"),
            Some(("Vector2".into(), vec![json!(1), json!(-2.5)]))
        );
        assert_eq!(
            constructor("Vector2(inf, nan)"),
            Some((
                "Vector2".into(),
                vec![
                    json!({ "type": "float", "value": "inf" }),
                    json!({ "type": "float", "value": "nan" })
                ]
            ))
        );
        for bad in [
            "",
            "Vector2",
            "Vector2(",
            "Vector2(1,2",
            "Vector2(1 2)",
            "Vector2(1,,2)",
            "(1, 2)",
            "Vector2(1, 2) ",
            "Vector2(1, 2)x",
            "Vector2(1, x)",
            "Vector2(1, 1+1)",
            "Vector2(1, --2)",
        ] {
            let got = constructor(bad);
            assert!(got.is_none() || bad.ends_with(' '), "{bad}: {got:?}");
        }
    }

    #[test]
    fn containers() {
        check("[1, 2.0, \"a\\\"b\", true, null]", json!([1, 2.0, "a\"b", true, null]));
        check("{ \"a\": [1] }", json!({ "type": "Dictionary", "entries": [["a", [1]]] }));
        check("Array[int]([1, 2])", json!({ "type": "Array", "element": "int", "items": [1, 2] }));
        check(
            "Dictionary[String, int]({ \"a\": 1 })",
            json!({ "type": "Dictionary", "key": "String", "value": "int", "entries": [["a", 1]] }),
        );
        check(
            "PackedVector2Array(0, 0, 1, 1)",
            json!({ "type": "PackedVector2Array", "items": [[0, 0], [1, 1]] }),
        );
        check("PackedByteArray(\"AQI=\")", json!({ "type": "PackedByteArray", "base64": "AQI=" }));
        check(
            "PackedStringArray(\"a\", \"b\")",
            json!({ "type": "PackedStringArray", "items": ["a", "b"] }),
        );
        check("[Vector2(1, 2)]", json!([{ "type": "Vector2", "x": 1.0, "y": 2.0 }]));
        check(
            "[&\"a\", ^\"b/c\", NodePath(\"d\")]",
            json!([
                { "type": "StringName", "value": "a" },
                { "type": "NodePath", "value": "b/c" },
                { "type": "NodePath", "value": "d" },
            ]),
        );
    }

    #[test]
    fn what_is_not_a_value_is_refused() {
        for bad in [
            "banana",
            "5",
            "\"text\"",
            "[1",
            "[1]]",
            "[1, [2]",
            "{1}",
            "PackedVector2Array(0, 0, 1)",
            "Resource(\"res://a.tres\")",
            "ExtResource(\"1\")",
            "SubResource(\"1\")",
            "Object(Node,\"name\":\"x\")",
            "[Object(Node)]",
            "RID(1)",
            "Array[int](1)",
            "[load(\"x\")]",
            "[1e999]",
            "[99999999999999999999]",
            "[\"\\ud800\"]",
        ] {
            assert_eq!(container(bad), None, "{bad}");
        }
        assert_eq!(container(&"[".repeat(10_000)), None);
    }
}

//! Hashes that bind things together: calls to their arguments, approvals to their plans, audit
//! lines to the line before.

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::error::ToolError;
use crate::schema;

/// Lower-case hexadecimal SHA-256.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|it| [it >> 4, it & 15]);
    digits.map(|it| char::from(DIGITS[usize::from(it)])).collect()
}

/// A random hexadecimal text that nobody can guess, of two digits a byte.
///
/// # Errors
/// When the system has no randomness to give.
pub fn random<const BYTES: usize>() -> Result<String, ToolError> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes)
        .map_err(|it| ToolError::internal(format!("the system gives no random bytes: {it}")))?;
    Ok(hex(&bytes))
}

/// Hash of a call: the tool and its arguments, whatever their order, without what the framework
/// adds to say how to run it (S2.4).
pub fn call(tool: &str, args: &Map<String, Value>) -> String {
    let mut text = String::with_capacity(256);
    text.push_str(tool);
    text.push('\n');
    let own = |it: &&String| !FRAMEWORK.contains(&it.as_str());
    write_sorted(args, args.keys().filter(own), &mut text);
    sha256(text.as_bytes())
}

const FRAMEWORK: &[&str] = &[schema::DRY_RUN, schema::CONFIRM, schema::IDEMPOTENCY_KEY];

/// JSON with sorted keys, so that equal values have equal text.
pub fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Object(map) => write_sorted(map, map.keys(), text),
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write(item, text);
            }
            text.push(']');
        }
        plain => text.push_str(&plain.to_string()),
    }
}

fn write_sorted<'a>(
    map: &Map<String, Value>,
    keys: impl Iterator<Item = &'a String>,
    text: &mut String,
) {
    let mut keys: Vec<_> = keys.collect();
    keys.sort_unstable();
    text.push('{');
    for (index, key) in keys.into_iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        text.push_str(&Value::from(key.as_str()).to_string());
        text.push(':');
        write(&map[key], text);
    }
    text.push('}');
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(tool: &str, args: Value) -> String {
        let Value::Object(args) = args else { panic!("an object") };
        call(tool, &args)
    }

    /// S2.4: the order of keys is no difference, and neither is how the call is to be run.
    #[test]
    fn equal_calls_have_equal_hashes() {
        let plain = of("t", json!({"a": {"x": 1, "y": [2, 3]}, "b": "é"}));
        assert_eq!(plain, of("t", json!({"b": "é", "a": {"y": [2, 3], "x": 1}})));
        let flags = json!({
            "b": "é", "a": {"y": [2, 3], "x": 1}, "confirm": true, "dry_run": false,
            "idempotency_key": "k"
        });
        assert_eq!(plain, of("t", flags));
        assert_eq!(plain.len(), 64);
    }

    #[test]
    fn other_calls_have_other_hashes() {
        let base = of("t", json!({"a": [1, 2]}));
        for (tool, args) in [
            ("u", json!({"a": [1, 2]})),
            ("t", json!({"a": [2, 1]})),
            ("t", json!({"a": "[1,2]"})),
            ("t", json!({"a": [1, 2.0]})),
            ("t", json!({"b": [1, 2]})),
            ("t", json!({})),
            ("t", json!({"a": {"confirm": [1, 2]}})),
        ] {
            assert_ne!(base, of(tool, args.clone()), "{tool} {args}");
        }
    }
}

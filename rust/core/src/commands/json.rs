//! JSON as it was written: numbers keep their spelling and objects their repeated keys.
//!
//! `serde_json` keeps neither (its `arbitrary_precision` would change every crate of the workspace),
//! and both decide here: `7` and `7.0` are different types to a script (R41), a 30-digit integer is
//! refused by its digits (R38, A4), and a repeated key is an error with a place (A5).

mod number;
mod reader;

use std::fmt::Write as _;

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

pub use number::Number;
pub use reader::{SyntaxError, parse, text_of};

use super::problem::{Pointer, Problems};

#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Number(Number),
    String(String),
    Array(Vec<Json>),
    Object(Object),
}

/// Entries in the order of the text, repeated keys included.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Object {
    pub entries: Vec<(String, Json)>,
}

impl Object {
    /// The last entry of that key, as other readers have it.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.entries.iter().rev().find(|it| it.0 == key).map(|it| &it.1)
    }
}

impl Json {
    /// What the text was, for messages: `an object`, `a number`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        let Self::String(text) = self else { return None };
        Some(text)
    }

    pub fn as_object(&self) -> Option<&Object> {
        let Self::Object(object) = self else { return None };
        Some(object)
    }

    /// The value at a JSON Pointer.
    pub fn at(&self, pointer: &str) -> Option<&Json> {
        if pointer.is_empty() {
            return Some(self);
        }
        pointer.strip_prefix('/')?.split('/').try_fold(self, |here, token| {
            let token = token.replace("~1", "/").replace("~0", "~");
            match here {
                Self::Object(object) => object.get(&token),
                Self::Array(items) => items.get(token.parse::<usize>().ok()?),
                _ => None,
            }
        })
    }

    /// Without spaces, numbers as they were spelled.
    pub fn compact(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, false);
        out
    }

    /// One text for all spellings of the same value: keys sorted, no spaces, numbers in one form.
    /// `7` and `7.0` stay different, since a script receives different types (R41).
    pub fn canonical(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, true);
        out
    }

    /// SHA-256 of `canonical`, in hexadecimal.
    pub fn digest(&self) -> String {
        sha256_hex(self.canonical().as_bytes())
    }

    /// The value for code that knows only `serde_json`. Integers beyond 64 bits become floats;
    /// floats that a double cannot hold are refused by `irregular` before it comes to this.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(it) => Value::Bool(*it),
            Self::Number(it) => it.to_value(),
            Self::String(it) => Value::String(it.clone()),
            Self::Array(it) => Value::Array(it.iter().map(Self::to_value).collect()),
            Self::Object(it) => {
                let entries = it.entries.iter().map(|(key, value)| (key.clone(), value.to_value()));
                Value::Object(entries.collect::<Map<_, _>>())
            }
        }
    }

    /// A value whose text is lost. `-0`, and integers beyond 64 bits, were made floats by the reader
    /// before, and repeated keys dropped: use `parse` on the text wherever there is one.
    pub fn from_value(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(it) => Self::Bool(*it),
            Value::Number(it) => Self::Number(Number::from_serde(it)),
            Value::String(it) => Self::String(it.clone()),
            Value::Array(it) => Self::Array(it.iter().map(Self::from_value).collect()),
            Value::Object(it) => Self::Object(Object {
                entries: it.iter().map(|(key, it)| (key.clone(), Self::from_value(it))).collect(),
            }),
        }
    }

    /// Reports keys that repeat (A5) and numbers that no double holds (A4), at any depth.
    pub fn irregular(&self, here: &Pointer<'_>, problems: &mut Problems) {
        match self {
            Self::Number(number) if !number.is_finite() => {
                let found = quoted(&number.to_string());
                problems.add("A4", here, format!("the number {found} is too large"));
            }
            Self::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    item.irregular(&here.item(index), problems);
                }
            }
            Self::Object(object) => {
                object.repeated(here, problems);
                for (key, value) in &object.entries {
                    value.irregular(&here.key(key), problems);
                }
            }
            _ => {}
        }
    }

    fn write(&self, out: &mut String, canonical: bool) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(it) => write!(out, "{it}").expect("strings take all"),
            Self::Number(it) if canonical => out.push_str(&it.canonical()),
            Self::Number(it) => write!(out, "{it}").expect("strings take all"),
            Self::String(it) => write_string(out, it),
            Self::Array(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    item.write(out, canonical);
                }
                out.push(']');
            }
            Self::Object(object) => {
                let mut entries: Vec<_> = object.entries.iter().collect();
                if canonical {
                    entries.sort_by(|a, b| a.0.cmp(&b.0));
                }
                out.push('{');
                for (index, (key, value)) in entries.into_iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    write_string(out, key);
                    out.push(':');
                    value.write(out, canonical);
                }
                out.push('}');
            }
        }
    }
}

impl Object {
    /// Reports each key that was there before (A5).
    pub(crate) fn repeated(&self, here: &Pointer<'_>, problems: &mut Problems) {
        let mut seen = std::collections::HashSet::with_capacity(self.entries.len());
        for (key, _) in &self.entries {
            if !seen.insert(key.as_str()) {
                let message = format!("the key {} is there twice", quoted(key));
                problems.add("A5", &here.key(key), message);
            }
        }
    }
}

/// In quotes, cut when long.
pub(crate) fn quoted(text: &str) -> String {
    let shown: String = text.chars().take(super::limits::QUOTED_MAX_CHARS).collect();
    let more = if shown.len() < text.len() { "..." } else { "" };
    format!("{shown:?}{more}")
}

/// SHA-256 in lowercase hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, it| {
        write!(out, "{it:02x}").expect("strings take all");
        out
    })
}

fn write_string(out: &mut String, text: &str) {
    out.push_str(&serde_json::to_string(text).expect("text is always JSON"));
}

#[cfg(test)]
mod tests;

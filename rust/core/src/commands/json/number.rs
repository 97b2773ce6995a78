//! A number by its spelling.

use std::fmt;

use serde_json::Value;

/// A JSON number as it was spelled.
#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    // Invariant: the grammar of JSON, made by the reader or by `serde_json`.
    text: Box<str>,
}

impl Number {
    pub(super) fn new(text: &str) -> Self {
        Self { text: text.into() }
    }

    pub(super) fn from_serde(number: &serde_json::Number) -> Self {
        Self::new(&number.to_string())
    }

    /// Spelled with neither fraction nor exponent (R41).
    pub fn is_integer(&self) -> bool {
        !self.text.contains(['.', 'e', 'E'])
    }

    /// The integer, when it is one and fits. `-0` is 0.
    pub fn to_i64(&self) -> Option<i64> {
        self.is_integer().then(|| self.text.parse().ok()).flatten()
    }

    /// Nearest double; infinite when it is too large for one.
    pub fn to_f64(&self) -> f64 {
        self.text.parse().expect("the grammar of JSON is a part of Rust's")
    }

    pub fn is_finite(&self) -> bool {
        self.to_f64().is_finite()
    }

    /// Whether an integer is at most `limit` away from zero, by its digits (R38).
    pub fn is_within(&self, limit: u64) -> bool {
        self.text.trim_start_matches('-').parse::<u64>().is_ok_and(|it| it <= limit)
    }

    /// One spelling for each value and type: integers by their digits, floats always with a fraction
    /// or exponent.
    pub(super) fn canonical(&self) -> String {
        match &*self.text {
            "-0" => "0".to_owned(),
            text if self.is_integer() => text.to_owned(),
            _ => format!("{:?}", self.to_f64()),
        }
    }

    pub(super) fn to_value(&self) -> Value {
        if let Some(it) = self.to_i64() {
            return it.into();
        }
        if let (true, Ok(it)) = (self.is_integer(), self.text.parse::<u64>()) {
            return it.into();
        }
        let double = self.to_f64().clamp(f64::MIN, f64::MAX);
        serde_json::Number::from_f64(double).map_or(Value::Null, Value::Number)
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

//! Numbers in JSON: exact, and NaN and infinities by tag (S10.4).

use serde_json::{Number, Value, json};

/// `value` with all its digits.
pub(super) fn exact(value: f64) -> Value {
    Number::from_f64(value).map_or_else(|| not_finite(value), Value::Number)
}

/// The shortest decimal that gives the same `f32`: 0.1 rather than 0.10000000149011612.
pub(super) fn short(value: f32) -> Value {
    if !value.is_finite() {
        return not_finite(f64::from(value));
    }
    exact(value.to_string().parse().expect("a finite number reads back"))
}

/// `value` as [`short`] when it holds no more than an `f32`, as most engine properties do.
pub(super) fn short_if_single(value: f64) -> Value {
    let single = value as f32;
    if f64::from(single) == value { short(single) } else { exact(value) }
}

fn not_finite(value: f64) -> Value {
    let text = match value {
        _ if value.is_nan() => "nan",
        _ if value > 0.0 => "inf",
        _ => "-inf",
    };
    json!({ "type": "float", "value": text })
}

/// A JSON number, or the tagged form of any float.
pub(super) fn read_float(json: &Value) -> Option<f64> {
    match json {
        Value::Number(number) => number.as_f64(),
        Value::Object(map) if map.len() == 2 && map.get("type")? == "float" => {
            match map.get("value")? {
                Value::String(text) => named_float(text),
                Value::Number(number) => number.as_f64(),
                _ => None,
            }
        }
        _ => None,
    }
}

fn named_float(text: &str) -> Option<f64> {
    match text {
        "nan" => Some(f64::NAN),
        "inf" => Some(f64::INFINITY),
        "-inf" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

/// A whole number that fits `i64`. Integers keep all 64 bits; floats must have no fraction.
pub(super) fn read_int(json: &Value) -> Option<i64> {
    let number = json.as_number()?;
    if let Some(int) = number.as_i64() {
        return Some(int);
    }
    if number.is_u64() {
        return None;
    }
    let float = number.as_f64()?;
    // 2^63 itself does not fit, and every float below it does.
    let fits = float.fract() == 0.0
        && (-9.223_372_036_854_776e18..9.223_372_036_854_776e18).contains(&float);
    fits.then_some(float as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_short(value: f32, text: &str) {
        let json = short(value);
        assert_eq!(json.to_string(), text);
        let back = read_float(&serde_json::from_str(text).unwrap()).unwrap();
        assert_eq!((back as f32).to_bits(), value.to_bits());
    }

    #[test]
    fn singles_read_short_and_read_back() {
        check_short(0.1, "0.1");
        check_short(1.0, "1.0");
        check_short(-0.0, "-0.0");
        check_short(16777216.0, "16777216.0");
        check_short(f32::MAX, "3.4028235e+38");
        check_short(f32::MIN_POSITIVE, "1.1754944e-38");
        check_short(1e-45, "1e-45");
        check_short(f32::INFINITY, r#"{"type":"float","value":"inf"}"#);
        check_short(f32::NEG_INFINITY, r#"{"type":"float","value":"-inf"}"#);
        assert!(read_float(&short(f32::NAN)).unwrap().is_nan());
    }

    #[test]
    fn every_kind_of_single_reads_back() {
        // A walk over all exponents with a step that is coprime to them.
        for bits in (0..u32::MAX).step_by(104_729) {
            let value = f32::from_bits(bits);
            let back = read_float(&short(value)).unwrap() as f32;
            assert!(back.to_bits() == bits || (back.is_nan() && value.is_nan()), "{value:e}");
        }
    }

    #[test]
    fn doubles_keep_their_digits() {
        assert_eq!(short_if_single(0.1).to_string(), "0.1");
        assert_eq!(short_if_single(f64::from(0.1_f32)).to_string(), "0.1");
        assert_eq!(exact(f64::from(0.1_f32)).to_string(), "0.10000000149011612");
    }

    #[test]
    fn integers_are_exact_or_refused() {
        for value in [0, -1, i64::MAX, i64::MIN, (1 << 53) + 1] {
            assert_eq!(read_int(&json!(value)), Some(value));
        }
        assert_eq!(read_int(&json!(5.0)), Some(5));
        assert_eq!(read_int(&json!(-9.223_372_036_854_776e18)), Some(i64::MIN));
        for bad in
            [json!(5.5), json!(u64::MAX), json!(9.3e18), json!("5"), json!(true), json!(null)]
        {
            assert_eq!(read_int(&bad), None, "{bad}");
        }
    }

    #[test]
    fn tagged_floats_are_strict() {
        for bad in [
            json!({ "type": "float" }),
            json!({ "type": "float", "value": "NaN" }),
            json!({ "type": "float", "value": "nan", "x": 1 }),
            json!({ "type": "int", "value": 1 }),
            json!("nan"),
        ] {
            assert_eq!(read_float(&bad).map(|_| ()), None, "{bad}");
        }
    }
}

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::commands::limits::JSON_MAX_DEPTH;

fn number(text: &str) -> Number {
    match parse(text) {
        Ok(Json::Number(it)) => it,
        other => panic!("{text}: {other:?}"),
    }
}

fn irregular(text: &str) -> Vec<(&'static str, String)> {
    let mut problems = Problems::default();
    parse(text).expect("JSON").irregular(&Pointer::ROOT, &mut problems);
    problems.listed().iter().map(|it| (it.rule, it.pointer.clone())).collect()
}

/// R41 and A4: the spelling decides the type.
#[test]
fn spelling_decides_between_int_and_float() {
    for (text, int) in
        [("7", 7), ("-7", -7), ("0", 0), ("-0", 0), ("9007199254740993", 9007199254740993)]
    {
        assert_eq!(number(text).to_i64(), Some(int), "{text}");
    }
    for text in ["7.0", "7e0", "7E0", "-0.0", "1e300"] {
        assert_eq!(number(text).to_i64(), None, "{text}");
        assert!(!number(text).is_integer(), "{text}");
    }
    assert!(number("123456789012345678901234567890").is_integer());
    assert!(number("-0.0").to_f64().is_sign_negative());
}

/// R38 and A4: by the digits, so nothing is rounded into the bound.
#[test]
fn integers_are_bounded_by_their_digits() {
    let limit = 1 << 53;
    for text in ["9007199254740992", "-9007199254740992", "0", "-0"] {
        assert!(number(text).is_within(limit), "{text}");
    }
    for text in
        ["9007199254740993", "-9007199254740993", "18446744073709551616", "-9223372036854775809"]
    {
        assert!(!number(text).is_within(limit), "{text}");
    }
}

/// A4: what no double holds is told with its place.
#[test]
fn numbers_beyond_a_double_are_irregular() {
    assert_eq!(irregular(r#"{"a":[1,1e400]}"#), [("A4", "/a/1".to_owned())]);
    assert_eq!(irregular("1e308"), []);
    // Too small is zero, not a fault.
    assert_eq!(irregular("1e-400"), []);
}

/// A5.
#[test]
fn repeated_keys_are_irregular_at_any_depth() {
    assert_eq!(irregular(r#"{"a":{"b":1,"b":1}}"#), [("A5", "/a/b".to_owned())]);
    assert_eq!(irregular(r#"[{"a/~":1,"a\/~":2}]"#), [("A5", "/0/a~1~0".to_owned())]);
    assert_eq!(irregular(r#"{"a":1,"A":1}"#), []);
}

/// A7.
#[test]
fn bytes_that_are_no_plain_utf8() {
    assert!(text_of(b"\xef\xbb\xbf{}").expect_err("mark").contains("byte order mark"));
    assert!(text_of(b"\xff\xfe{\0}\0").expect_err("mark").contains("byte order mark"));
    assert!(text_of(b"{\"a\":\"\xe9\"}").expect_err("latin").contains("byte 6"));
    assert_eq!(text_of("{\"é\":1}".as_bytes()), Ok("{\"é\":1}"));
}

#[test]
fn text_that_is_no_json() {
    for (text, line, column) in [
        ("", 1, 1),
        ("{", 1, 2),
        ("[1,]", 1, 4),
        ("{\"a\":1,}", 1, 8),
        ("01", 1, 2),
        ("1.", 1, 3),
        ("+1", 1, 1),
        (".5", 1, 1),
        ("NaN", 1, 1),
        ("-", 1, 2),
        ("\n nul", 2, 2),
        ("\"a", 1, 3),
        ("\"\\u12\"", 1, 3),
        ("\"\\ud800\"", 1, 3),
        ("1 2", 1, 3),
        ("// a\n1", 1, 1),
    ] {
        let error = parse(text).expect_err(text);
        assert_eq!((error.line, error.column), (line, column), "{text:?}: {error}");
    }
}

/// Deep text is an error at its place, not a crash.
#[test]
fn depth_is_bounded() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(parse(&nested(JSON_MAX_DEPTH)).is_ok());
    assert!(parse(&nested(JSON_MAX_DEPTH + 1)).is_err());
    assert!(parse(&"[{\"a\":".repeat(500_000)).is_err());
}

#[test]
fn pointers_find_their_values() {
    let value = parse(r#"{"a/b":{"~":[10,20]}, "":1}"#).expect("JSON");
    assert_eq!(value.at("/a~1b/~0/1").map(Json::compact).as_deref(), Some("20"));
    assert_eq!(value.at("/").map(Json::compact).as_deref(), Some("1"));
    assert_eq!(value.at("").map(Json::kind), Some("an object"));
    assert_eq!(value.at("/a~1b/~0/2"), None);
    assert_eq!(value.at("a"), None);
}

/// A10: what is the same to a script is the same, and nothing else.
#[test]
fn canonical_text_is_one_for_each_value_and_type() {
    let canonical = |text| parse(text).expect("JSON").canonical();
    assert_eq!(canonical(r#"{"b":1, "a":[1e1, -0]}"#), canonical(r#"{"a":[10.0,0],"b":1}"#));
    assert_ne!(canonical("7"), canonical("7.0"));
    assert_eq!(canonical("0.1"), "0.1");
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_filter("finite", |it| it.is_finite()).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..8)
                .prop_map(|it| Value::Object(it.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// The reader agrees with the other one on everything that both can hold.
    #[test]
    fn reads_what_others_write(value in any_value()) {
        for text in [value.to_string(), format!("{value:#}")] {
            let read = parse(&text).expect("JSON");
            prop_assert_eq!(read.to_value(), value.clone());
            prop_assert_eq!(read.compact(), value.to_string());
        }
    }

    #[test]
    fn any_text_gives_an_answer(text in "[\\[\\]{}:,\"\\\\0-9eE+.u\\-ntfalsr é\u{1F600}\n]{0,60}") {
        let ours = parse(&text);
        let theirs: Result<Value, _> = serde_json::from_str(&text);
        // A number that no double holds is theirs to refuse and ours to keep.
        if theirs.is_ok() {
            prop_assert!(ours.is_ok(), "{:?}", ours);
        } else if let Ok(read) = ours {
            let mut problems = Problems::default();
            read.irregular(&Pointer::ROOT, &mut problems);
            prop_assert!(!problems.is_empty(), "{text:?}");
        }
    }
}

#[test]
fn values_keep_what_is_left_of_them() {
    let value = json!({"a": [1, 1.0, "x"], "b": null});
    assert_eq!(Json::from_value(&value).compact(), r#"{"a":[1,1.0,"x"],"b":null}"#);
}

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::commands::json::parse;
use crate::commands::limits::PATTERN_REPEAT_MAX;

fn walked(schema: &Value) -> Result<ArgumentSchema, OutsideSubset> {
    let schema = parse(&schema.to_string()).expect("JSON");
    walk(schema.as_object().expect("an object"))
}

/// A property's schema, inside an object's.
fn around(inner: &Value) -> Value {
    json!({"type": "object", "properties": {"a": inner}})
}

#[track_caller]
fn outside(schema: &Value, pointer: &str, named: &str) {
    let found = walked(schema).expect_err(&schema.to_string());
    let first = &found.problems[0];
    assert_eq!(first.pointer, pointer, "{schema}: {found:?}");
    assert!(first.message.contains(named), "{schema}: {}", first.message);
    assert!(found.reason().contains(pointer), "{}", found.reason());
}

/// R25: fifteen keywords, each with its effect.
#[test]
fn every_assertion_asserts() {
    let cases = [
        ("type", json!({"type": "integer"}), json!(1), json!("x")),
        ("const", json!({"const": [1]}), json!([1]), json!([2])),
        ("enum", json!({"enum": ["a", 2]}), json!(2), json!(3)),
        ("oneOf", json!({"oneOf": [{"type": "string"}, {"minimum": 5}]}), json!(6), json!(4)),
        (
            "properties",
            json!({"properties": {"b": {"type": "null"}}}),
            json!({"b": null}),
            json!({"b": 1}),
        ),
        (
            "additionalProperties",
            json!({"additionalProperties": false}),
            json!({}),
            json!({"b": 1}),
        ),
        ("required", json!({"required": ["b"]}), json!({"b": 1}), json!({})),
        ("items", json!({"items": {"type": "null"}}), json!([null]), json!([1])),
        ("maxItems", json!({"maxItems": 1}), json!([1]), json!([1, 2])),
        ("minItems", json!({"minItems": 2}), json!([1, 2]), json!([1])),
        ("pattern", json!({"pattern": "^a+$"}), json!("aa"), json!("b")),
        ("maxLength", json!({"maxLength": 1}), json!("é"), json!("ab")),
        ("minLength", json!({"minLength": 2}), json!("ab"), json!("é")),
        ("maximum", json!({"maximum": 1}), json!(1), json!(2)),
        ("minimum", json!({"minimum": 1}), json!(1), json!(0)),
    ];
    let names: Vec<_> = cases.iter().map(|it| it.0).collect();
    assert_eq!(names, ASSERTIONS);
    for (keyword, schema, good, bad) in cases {
        let schema = walked(&around(&schema)).unwrap_or_else(|it| panic!("{}", it.reason()));
        let validator = schema.validator().expect("compiles");
        assert!(validator.is_valid(&json!({"a": good})), "{keyword}");
        assert!(!validator.is_valid(&json!({"a": bad})), "{keyword}");
    }
}

/// R26.
#[test]
fn types_are_names_or_lists_of_names() {
    for name in TYPES {
        assert!(walked(&around(&json!({"type": name}))).is_ok(), "{name}");
    }
    assert!(walked(&around(&json!({"type": TYPES}))).is_ok());
    outside(&around(&json!({"type": "float"})), "/properties/a/type", "float");
    outside(&around(&json!({"type": ["null", "any"]})), "/properties/a/type/1", "any");
    outside(&around(&json!({"type": ["null", "null"]})), "/properties/a/type/1", "twice");
    outside(&around(&json!({"type": []})), "/properties/a/type", "neither");
    outside(&around(&json!({"type": [7]})), "/properties/a/type/0", "a number");
}

/// R27.
#[test]
fn schemas_or_booleans() {
    for keyword in ["additionalProperties", "items"] {
        for good in [json!(true), json!(false), json!({"type": "null"})] {
            assert!(walked(&around(&json!({keyword: good}))).is_ok(), "{keyword}");
        }
        for bad in [json!([]), json!("x"), json!(null)] {
            outside(&around(&json!({keyword: bad})), &format!("/properties/a/{keyword}"), "due");
        }
    }
    // Elsewhere a boolean is no schema.
    outside(&json!({"type": "object", "properties": {"a": true}}), "/properties/a", "a boolean");
}

/// R28: ignored, whatever they hold.
#[test]
fn annotations_are_left_out() {
    for annotation in ANNOTATIONS {
        for value in [json!("x"), json!(7), json!({"anyOf": []})] {
            let schema = walked(&json!({"type": "object", annotation: value})).expect("inside");
            assert_eq!(schema.assertions(), &json!({"type": "object"}), "{annotation}");
        }
    }
}

/// R31 and A1.
#[test]
fn the_top_is_an_object() {
    for bad in
        [json!({}), json!({"type": "array"}), json!({"type": ["object"]}), json!({"type": 1})]
    {
        outside(&bad, "", "the top is not");
    }
}

/// R32: each construct by name and place.
#[test]
fn what_is_outside_is_named() {
    for keyword in [
        "exclusiveMaximum",
        "anyOf",
        "allOf",
        "not",
        "$ref",
        "$defs",
        "format",
        "multipleOf",
        "uniqueItems",
        "patternProperties",
        "if",
        "prefixItems",
        "contains",
        "nullable",
        "TYPE",
    ] {
        outside(&around(&json!({keyword: 1})), &format!("/properties/a/{keyword}"), keyword);
    }
    outside(&around(&json!({"pattern": "a.b"})), "/properties/a/pattern", "^");
    outside(
        &json!({"type": "object", "properties": {"x/y": {"items": {"oneOf": [{"$ref": "#"}]}}}}),
        "/properties/x~1y/items/oneOf/0/$ref",
        "$ref",
    );
    let two = walked(&json!({"type": "object", "anyOf": 1, "allOf": 1})).expect_err("outside");
    assert_eq!(two.total, 2);
    assert!(two.reason().ends_with("and 1 more"));
}

/// A2.
#[test]
fn wrong_values_of_keywords() {
    for (keyword, bad) in [
        ("minimum", json!("x")),
        ("maximum", json!(null)),
        ("minLength", json!(-1)),
        ("maxLength", json!(1.5)),
        ("minItems", json!("1")),
        ("maxItems", json!(1e300)),
        ("enum", json!([])),
        ("enum", json!("a")),
        ("oneOf", json!([])),
        ("oneOf", json!({})),
        ("required", json!("a")),
        ("required", json!([1])),
        ("required", json!(["a", "a"])),
        ("properties", json!([])),
        ("pattern", json!(7)),
    ] {
        assert!(walked(&around(&json!({keyword: bad}))).is_err(), "{keyword}: {bad}");
    }
    for (low, high) in
        [("minItems", "maxItems"), ("minLength", "maxLength"), ("minimum", "maximum")]
    {
        assert!(walked(&around(&json!({low: 1, high: 1}))).is_ok());
        outside(&around(&json!({low: 2, high: 1})), &format!("/properties/a/{low}"), "above");
    }
    // A count that is whole is one, however it is spelled.
    assert!(walked(&around(&json!({"maxLength": 2.0}))).is_ok());
}

#[test]
fn patterns_are_bounded_together() {
    let pattern = format!("^{}$", format!("a{{{PATTERN_REPEAT_MAX}}}").repeat(8));
    let of = |count: usize| {
        let properties: Map<_, _> =
            (0..count).map(|it| (format!("p{it}"), json!({"pattern": pattern}))).collect();
        json!({"type": "object", "properties": properties})
    };
    assert!(walked(&of(8)).is_ok());
    outside(&of(9), "", "too large together");
}

fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<i8>().prop_map(Value::from),
        any::<f64>().prop_filter("finite", |it| it.is_finite()).prop_map(Value::from),
        prop::sample::select(TYPES.to_vec()).prop_map(Value::from),
        "\\^[a-c*+?{}0-9\\[\\]|()]{0,8}\\$".prop_map(Value::from),
        Just(json!({})),
    ];
    let keywords: Vec<_> =
        ASSERTIONS.into_iter().chain(ANNOTATIONS).chain(["anyOf", "$ref", "format"]).collect();
    leaf.prop_recursive(5, 48, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((prop::sample::select(keywords.clone()), inner), 0..6).prop_map(
                |it| Value::Object(it.into_iter().map(|(key, it)| (key.to_owned(), it)).collect())
            ),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, failure_persistence: None, ..ProptestConfig::default() })]

    /// What the walk accepts the library reads, and it holds nothing but the fifteen keywords.
    #[test]
    fn accepted_schemas_compile(inner in any_schema(), sample in any_schema()) {
        for schema in [around(&inner), json!({"type": "object", "oneOf": [inner.clone()]})] {
            match walked(&schema) {
                Ok(accepted) => {
                    let validator = accepted.validator();
                    prop_assert!(validator.is_ok(), "{}: {:?}", schema, validator.err());
                    let _ = validator.expect("checked").is_valid(&json!({"a": sample}));
                }
                Err(outside) => {
                    let document = parse(&schema.to_string()).expect("JSON");
                    prop_assert!(outside.total > 0);
                    for it in outside.problems {
                        prop_assert!(document.at(&it.pointer).is_some(), "{} in {schema}", it.pointer);
                    }
                }
            }
        }
    }
}

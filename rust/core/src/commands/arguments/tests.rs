use proptest::prelude::*;

use super::*;
use crate::commands::json::parse;
use crate::commands::subset;

fn schema(text: &str) -> ArgumentSchema {
    let schema = parse(text).expect("JSON");
    subset::walk(schema.as_object().expect("an object")).expect("in the subset")
}

fn open() -> ArgumentSchema {
    schema(r#"{"type":"object"}"#)
}

/// Rules that some arguments break.
#[track_caller]
fn broken(arguments: &str) -> Vec<&'static str> {
    let arguments = parse(arguments).expect("JSON");
    match check(&arguments, &open()) {
        Ok(()) => Vec::new(),
        Err(problems) => {
            for it in problems.listed() {
                assert!(arguments.at(&it.pointer).is_some(), "no value at {:?}", it.pointer);
            }
            problems.listed().iter().map(|it| it.rule).collect()
        }
    }
}

/// R33.
#[test]
fn left_out_arguments_are_an_empty_object() {
    assert_eq!(none().compact(), "{}");
    assert_eq!(check(&none(), &open()), Ok(()));
}

/// R34: compact bytes of all arguments, both sides.
#[test]
fn all_arguments_are_bounded_in_bytes() {
    // Many texts, so that the bound of one text (R37) is not met first.
    let of = |bytes: usize| {
        let part = 60_000;
        let count = 4;
        let frame = r#"{"a":[]}"#.len() + (count + 1) * 3 - 1;
        let last = bytes - frame - part * count;
        let mut items = vec![format!("\"{}\"", "x".repeat(part)); count];
        items.push(format!("\"{}\"", "x".repeat(last)));
        let text = format!(r#"{{"a":[{}]}}"#, items.join(","));
        assert_eq!(text.len(), bytes);
        text
    };
    assert_eq!(broken(&of(ARGS_MAX_BYTES)), [] as [&str; 0]);
    assert_eq!(broken(&of(ARGS_MAX_BYTES + 1)), ["R34"]);
    // Spaces do not count.
    assert_eq!(broken(&of(ARGS_MAX_BYTES).replace("\",\"", "\"   ,   \"")), [] as [&str; 0]);
}

/// R35: both sides, in arrays and objects.
#[test]
fn nesting_is_bounded() {
    let arrays =
        |levels: usize| format!(r#"{{"a":{}{}}}"#, "[".repeat(levels - 1), "]".repeat(levels - 1));
    assert_eq!(broken(&arrays(ARGS_MAX_DEPTH)), [] as [&str; 0]);
    assert_eq!(broken(&arrays(ARGS_MAX_DEPTH + 1)), ["R35"]);
    let objects = |levels: usize| "{\"a\":".repeat(levels - 1) + "{}" + &"}".repeat(levels - 1);
    assert_eq!(broken(&objects(ARGS_MAX_DEPTH)), [] as [&str; 0]);
    assert_eq!(broken(&objects(ARGS_MAX_DEPTH + 1)), ["R35"]);
    // A scalar adds no level.
    let with_scalar = arrays(ARGS_MAX_DEPTH).replace("[]", "[7]");
    assert_eq!(broken(&with_scalar), [] as [&str; 0]);
}

/// R36: both sides.
#[test]
fn items_and_entries_are_bounded() {
    let array = |count: usize| format!(r#"{{"a":[{}]}}"#, vec!["1"; count].join(","));
    assert_eq!(broken(&array(ARGS_MAX_ITEMS)), [] as [&str; 0]);
    assert_eq!(broken(&array(ARGS_MAX_ITEMS + 1)), ["R36"]);
    let object = |count: usize| {
        let entries: Vec<_> = (0..count).map(|it| format!("\"k{it}\":1")).collect();
        format!("{{{}}}", entries.join(","))
    };
    assert_eq!(broken(&object(ARGS_MAX_ITEMS)), [] as [&str; 0]);
    assert_eq!(broken(&object(ARGS_MAX_ITEMS + 1)), ["R36"]);
}

/// R37 and A6: code points, both sides, keys too.
#[test]
fn texts_are_bounded_in_code_points() {
    for letter in ["x", "é", "😀"] {
        // Four bytes each would meet R34 first, so those are bounded by it alone.
        if letter.len() * ARGS_MAX_STRING_CHARS + 8 > ARGS_MAX_BYTES {
            continue;
        }
        let value = |count: usize| format!(r#"{{"a":"{}"}}"#, letter.repeat(count));
        assert_eq!(broken(&value(ARGS_MAX_STRING_CHARS)), [] as [&str; 0], "{letter}");
        assert_eq!(broken(&value(ARGS_MAX_STRING_CHARS + 1)), ["R37"], "{letter}");
        let key = |count: usize| format!(r#"{{"{}":1}}"#, letter.repeat(count));
        assert_eq!(broken(&key(ARGS_MAX_STRING_CHARS)), [] as [&str; 0], "{letter}");
        assert_eq!(broken(&key(ARGS_MAX_STRING_CHARS + 1)), ["R37"], "{letter}");
    }
    // A6: a text of 65,536 characters is one also when they have four bytes.
    let wide = format!(r#"{{"a":"{}"}}"#, "😀".repeat(ARGS_MAX_STRING_CHARS));
    assert_eq!(broken(&wide), ["R34"]);
}

/// R38 and A4: both sides, by the spelling.
#[test]
fn integers_are_bounded() {
    let value = |text: &str| format!(r#"{{"a":{text}}}"#);
    for sign in ["", "-"] {
        let within = format!("{sign}{ARGS_MAX_ABS_INT}");
        let beyond = format!("{sign}{}", ARGS_MAX_ABS_INT + 1);
        assert_eq!(broken(&value(&within)), [] as [&str; 0]);
        assert_eq!(broken(&value(&beyond)), ["R38"]);
    }
    assert_eq!(broken(&value(&"9".repeat(30))), ["R38"]);
    assert_eq!(broken(&value("-0")), [] as [&str; 0]);
    // A4: a float is not bounded by it, only by what a double holds.
    assert_eq!(broken(&value("1e300")), [] as [&str; 0]);
    assert_eq!(broken(&value("1e400")), ["A4"]);
}

/// A5.
#[test]
fn repeated_keys_are_refused() {
    assert_eq!(broken(r#"{"a":{"b":1,"b":2}}"#), ["A5"]);
}

/// R39 and R40: the schema, with the place of what is wrong.
#[test]
fn arguments_satisfy_the_schema() {
    let schema = schema(
        r#"{"type":"object","properties":{"seed":{"type":"integer","minimum":0}},
            "required":["seed"],"additionalProperties":false}"#,
    );
    let problems = |text: &str| {
        let problems = check(&parse(text).expect("JSON"), &schema).err();
        problems.map(|it| (it.listed()[0].rule, it.listed()[0].pointer.clone()))
    };
    assert_eq!(problems(r#"{"seed":7}"#), None);
    assert_eq!(problems(r#"{"seed":-1}"#), Some(("R39", "/seed".to_owned())));
    assert_eq!(problems("{}"), Some(("R39", String::new())));
    assert_eq!(problems(r#"{"seed":7,"rooms":1}"#), Some(("R39", String::new())));
    assert_eq!(problems(r#"{"seed":"7"}"#), Some(("R39", "/seed".to_owned())));
    // A3: as JSON Schema has it.
    assert_eq!(problems(r#"{"seed":7.0}"#), None);
    assert_eq!(problems(r#"{"seed":7.5}"#), Some(("R39", "/seed".to_owned())));
    assert_eq!(problems("[]"), Some(("R39", String::new())));
}

/// R29: a default is not filled in.
#[test]
fn defaults_stay_out() {
    let schema =
        schema(r#"{"type":"object","properties":{"rooms":{"type":"integer","default":8}}}"#);
    let arguments = parse("{}").expect("JSON");
    assert_eq!(check(&arguments, &schema), Ok(()));
    assert_eq!(plain(&arguments), Plain::Dictionary(Vec::new()));
}

/// A6: the library counts as we do.
#[test]
fn lengths_of_a_schema_are_code_points() {
    let schema = schema(r#"{"type":"object","properties":{"a":{"type":"string","maxLength":1}}}"#);
    assert_eq!(check(&parse(r#"{"a":"😀"}"#).expect("JSON"), &schema), Ok(()));
    assert!(check(&parse(r#"{"a":"ab"}"#).expect("JSON"), &schema).is_err());
}

/// R41.
#[test]
fn scripts_receive_plain_values() {
    let arguments = parse(r#"{"a":[null,true,7,7.0,7e0,-0,"x"],"b":{"c":{}}}"#).expect("JSON");
    let expected = Plain::Dictionary(vec![
        (
            "a".to_owned(),
            Plain::Array(vec![
                Plain::Nil,
                Plain::Bool(true),
                Plain::Int(7),
                Plain::Float(7.0),
                Plain::Float(7.0),
                Plain::Int(0),
                Plain::String("x".to_owned()),
            ]),
        ),
        ("b".to_owned(), Plain::Dictionary(vec![("c".to_owned(), Plain::Dictionary(Vec::new()))])),
    ]);
    assert_eq!(plain(&arguments), expected);
}

/// Messages quote what was found, but not all of it.
#[test]
fn messages_are_short() {
    let schema = schema(r#"{"type":"object","properties":{"a":{"type":"integer"}}}"#);
    let arguments = parse(&format!(r#"{{"a":"{}"}}"#, "x".repeat(10_000))).expect("JSON");
    let problems = check(&arguments, &schema).expect_err("no integer");
    assert!(problems.listed()[0].message.len() < 400);
}

fn hostile_number() -> impl Strategy<Value = String> {
    prop_oneof![
        "-?(0|[1-9][0-9]{0,40})",
        "-?(0|[1-9][0-9]{0,10})\\.[0-9]{1,30}",
        "-?[1-9](\\.[0-9]{1,5})?[eE][+-]?[0-9]{1,4}",
        (-3_i128..4).prop_map(|it| (i128::from(ARGS_MAX_ABS_INT) + it).to_string()),
        (-3_i128..4).prop_map(|it| (-i128::from(ARGS_MAX_ABS_INT) + it).to_string()),
        (-3_i128..4).prop_map(|it| (i128::from(u64::MAX) + it).to_string()),
        (-3_i128..4).prop_map(|it| (i128::from(i64::MIN) + it).to_string()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    /// R38, R41 and A4 on any number: what passes arrives as the type and value that it spells.
    #[test]
    fn hostile_numbers(text in hostile_number()) {
        let arguments = parse(&format!(r#"{{"a":[{text}]}}"#)).expect("JSON");
        let spelled_int = !text.contains(['.', 'e', 'E']);
        let digits = text.trim_start_matches('-');
        let within = digits.len() < 20 && digits.parse::<u128>().is_ok_and(|it| it <= u128::from(ARGS_MAX_ABS_INT));
        let passes = if spelled_int { within } else { text.parse::<f64>().expect("a number").is_finite() };
        prop_assert_eq!(check(&arguments, &open()).is_ok(), passes, "{}", text);
        if passes {
            let Plain::Dictionary(entries) = plain(&arguments) else { panic!("an object") };
            let Plain::Array(items) = &entries[0].1 else { panic!("an array") };
            match &items[0] {
                Plain::Int(it) => prop_assert!(spelled_int && Ok(*it) == text.parse()),
                Plain::Float(it) => prop_assert!(!spelled_int && Ok(*it) == text.parse()),
                other => prop_assert!(false, "{other:?}"),
            }
        }
    }
}

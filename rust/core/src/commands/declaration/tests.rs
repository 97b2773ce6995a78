use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::commands::json::parse;

fn command(name: &str) -> Value {
    json!({"name": name, "title": "T", "description": "D",
           "input_schema": {"type": "object"}, "mutates": false})
}

fn provider(id: &str, commands: usize) -> Value {
    let commands: Vec<_> = (0..commands).map(|it| command(&format!("c{it}"))).collect();
    json!({"id": id, "script": "res://tools/a.gd", "commands": commands})
}

fn file(providers: &[Value]) -> Value {
    json!({"version": 1, "providers": providers})
}

/// A file with one command.
fn one() -> Value {
    file(&[provider("p", 1)])
}

/// The same, changed at a JSON Pointer; null removes.
fn with(pointer: &str, value: Value) -> Value {
    let mut file = one();
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
    let parent = file.pointer_mut(parent).expect("there");
    match (parent, value) {
        (Value::Object(map), Value::Null) => drop(map.remove(key)),
        (Value::Object(map), value) => drop(map.insert(key.to_owned(), value)),
        (other, _) => panic!("{other}"),
    }
    file
}

/// Rules that a text breaks, each with its place, which is there.
#[track_caller]
fn broken_text(text: &str) -> Vec<(&'static str, String)> {
    match check(text.as_bytes()).result {
        Ok(_) => Vec::new(),
        Err(problems) => {
            let root = parse(text).ok();
            for it in problems.listed() {
                let there = root.as_ref().is_none_or(|root| root.at(&it.pointer).is_some());
                assert!(there, "no value at {:?} in {text}", it.pointer);
                assert!(!it.message.is_empty());
            }
            problems.listed().iter().map(|it| (it.rule, it.pointer.clone())).collect()
        }
    }
}

#[track_caller]
fn expect(file: &Value, due: &[(&str, &str)]) {
    let found = broken_text(&file.to_string());
    let found: Vec<_> = found.iter().map(|it| (it.0, it.1.as_str())).collect();
    assert_eq!(found, due, "{file}");
}

const ID: &str = "/providers/0/id";
const SCRIPT: &str = "/providers/0/script";
const NAME: &str = "/providers/0/commands/0/name";
const TITLE: &str = "/providers/0/commands/0/title";
const DESCRIPTION: &str = "/providers/0/commands/0/description";
const SCHEMA: &str = "/providers/0/commands/0/input_schema";
const MUTATES: &str = "/providers/0/commands/0/mutates";

/// R6, both sides.
#[test]
fn the_file_is_bounded_in_bytes() {
    let pad = |bytes: usize| {
        let text = one().to_string();
        text.clone() + &" ".repeat(bytes - text.len())
    };
    assert_eq!(broken_text(&pad(FILE_MAX_BYTES)), []);
    assert_eq!(broken_text(&pad(FILE_MAX_BYTES + 1)), [("R6", String::new())]);
}

/// R7: unknown keys at every level; `$schema` only at the top.
#[test]
fn unknown_keys_are_errors() {
    expect(&with("/$schema", json!("x")), &[]);
    expect(&with("/extra", json!(1)), &[("R7", "/extra")]);
    expect(&with("/providers/0/$schema", json!("x")), &[("R7", "/providers/0/$schema")]);
    let place = "/providers/0/commands/0/titel";
    expect(&with(place, json!(1)), &[("R7", place)]);
    let found = check(with(place, json!(1)).to_string().as_bytes()).result.expect_err("unknown");
    assert!(found.listed()[0].message.contains("did you mean \"title\""));
    expect(&json!([]), &[("R7", "")]);
    expect(&json!({"version": 1, "providers": {}}), &[("R7", "/providers")]);
}

/// R8.
#[test]
fn the_version_is_one() {
    for version in [json!(FORMAT_VERSION + 1), json!(0), json!("1"), json!(true), json!(1.5)] {
        expect(&with("/version", version), &[("R8", "/version")]);
    }
    expect(&with("/version", Value::Null), &[("R8", "")]);
}

/// R9, both sides.
#[test]
fn providers_are_bounded() {
    let of = |count: usize| {
        let providers: Vec<_> = (0..count).map(|it| provider(&format!("p{it}"), 1)).collect();
        file(&providers)
    };
    expect(&of(0), &[]);
    expect(&of(PROVIDERS_MAX), &[]);
    expect(&of(PROVIDERS_MAX + 1), &[("R9", "/providers")]);
    expect(&with("/providers", Value::Null), &[("R9", "")]);
}

/// R10, both sides, over all providers.
#[test]
fn commands_are_bounded_over_all_providers() {
    let of = |total: usize| file(&[provider("a", 10), provider("b", total - 10)]);
    expect(&of(COMMANDS_TOTAL_MAX), &[]);
    expect(&of(COMMANDS_TOTAL_MAX + 1), &[("R10", "/providers")]);
    assert_eq!(
        check(of(COMMANDS_TOTAL_MAX + 1).to_string().as_bytes()).declared,
        COMMANDS_TOTAL_MAX + 1
    );
}

/// R11.
#[test]
fn a_provider_has_three_keys() {
    for key in ["id", "script", "commands"] {
        expect(&with(&format!("/providers/0/{key}"), Value::Null), &[("R11", "/providers/0")]);
    }
    expect(&file(&[json!(7)]), &[("R7", "/providers/0")]);
}

/// R12 and R16: the grammar, with both sides of the length.
#[test]
fn ids_and_names_have_a_grammar() {
    let longest = format!("a{}", "_".repeat(ID_MAX_CHARS - 1));
    for (place, rule) in [(ID, "R12"), (NAME, "R16")] {
        for good in ["a", "a.b-c_d9", longest.as_str()] {
            expect(&with(place, json!(good)), &[]);
        }
        let too_long = format!("{longest}x");
        for bad in ["", "A", "9a", "_a", "a b", "é", "aé", "a/b", "a\n", too_long.as_str()] {
            expect(&with(place, json!(bad)), &[(rule, place)]);
        }
        expect(&with(place, json!(7)), &[(rule, place)]);
    }
}

/// R12 and R16: unique, each where it must be.
#[test]
fn ids_and_names_are_unique() {
    expect(&file(&[provider("a", 1), provider("a", 1)]), &[("R12 twice", "/providers/1/id")]);
    let mut twice = provider("a", 2);
    twice["commands"][1]["name"] = json!("c0");
    expect(&file(&[twice]), &[("R16 twice", "/providers/0/commands/1/name")]);
    // Two providers may share a name.
    expect(&file(&[provider("a", 1), provider("b", 1)]), &[]);
}

/// R13, with both sides of the length.
#[test]
fn scripts_are_paths_in_the_project() {
    let long = |chars: usize| format!("res://{}.gd", "é".repeat(chars - "res://.gd".len()));
    for good in ["res://a.gd", "res://a/b.c/d e.gd", long(SCRIPT_MAX_CHARS).as_str()] {
        expect(&with(SCRIPT, json!(good)), &[]);
    }
    for bad in [
        "",
        "a.gd",
        "user://a.gd",
        "res://a.cs",
        "res://a\\b.gd",
        long(SCRIPT_MAX_CHARS + 1).as_str(),
    ] {
        let found = broken_text(&with(SCRIPT, json!(bad)).to_string());
        assert!(!found.is_empty() && found.iter().all(|it| it.0 == "R13"), "{bad}: {found:?}");
    }
    for bad in [
        "res:///a.gd",
        "res://a//b.gd",
        "res://../a.gd",
        "res://a/../b.gd",
        "res://.godot/a.gd",
        "res://a/.hidden/b.gd",
        "res://.gd",
    ] {
        expect(&with(SCRIPT, json!(bad)), &[("R13 segment", SCRIPT)]);
    }
}

/// R14.
#[test]
fn a_provider_has_a_command() {
    expect(&file(&[provider("a", COMMANDS_PER_PROVIDER_MIN)]), &[]);
    expect(
        &file(&[provider("a", COMMANDS_PER_PROVIDER_MIN - 1)]),
        &[("R14", "/providers/0/commands")],
    );
}

/// R15.
#[test]
fn a_command_has_five_keys() {
    for place in [NAME, TITLE, DESCRIPTION, SCHEMA, MUTATES] {
        expect(&with(place, Value::Null), &[("R15", "/providers/0/commands/0")]);
    }
}

/// R17, R18 and A6: code points, both sides.
#[test]
fn titles_and_descriptions_are_bounded() {
    for (place, rule, most) in
        [(TITLE, "R17", TITLE_MAX_CHARS), (DESCRIPTION, "R18", DESCRIPTION_MAX_CHARS)]
    {
        for good in [1, most] {
            expect(&with(place, json!("😀".repeat(good))), &[]);
        }
        for bad in [0, most + 1] {
            expect(&with(place, json!("x".repeat(bad))), &[(rule, place)]);
        }
    }
}

/// R19: compact bytes, both sides.
#[test]
fn input_schemas_are_bounded() {
    let of = |bytes: usize| {
        let frame = r#"{"type":"object","title":""}"#.len();
        json!({"type": "object", "title": "x".repeat(bytes - frame)})
    };
    expect(&with(SCHEMA, of(INPUT_SCHEMA_MAX_BYTES)), &[]);
    expect(&with(SCHEMA, of(INPUT_SCHEMA_MAX_BYTES + 1)), &[("R19", SCHEMA)]);
    // Spaces of the file do not count.
    let spaced = format!("{:#}", with(SCHEMA, of(INPUT_SCHEMA_MAX_BYTES)));
    assert_eq!(broken_text(&spaced), []);
}

/// R20.
#[test]
fn mutates_is_a_boolean() {
    expect(&with(MUTATES, json!(true)), &[]);
    for bad in [json!(1), json!("true"), json!([])] {
        expect(&with(MUTATES, bad), &[("R20", MUTATES)]);
    }
}

/// R22 and R23: every problem, and no half of a file.
#[test]
fn one_broken_rule_makes_all_invalid_and_all_are_told() {
    let mut bad = file(&[provider("a", 2), provider("B", 1)]);
    bad["version"] = json!(2);
    bad["providers"][0]["commands"][1]["title"] = json!("");
    expect(
        &bad,
        &[("R8", "/version"), ("R17", "/providers/0/commands/1/title"), ("R12", "/providers/1/id")],
    );
}

/// R31, R32, A1 and A2: what makes one command unavailable and what the file invalid.
#[test]
fn schemas_outside_the_subset_leave_the_file_valid() {
    for outside in [
        json!({"type": "array"}),
        json!({}),
        json!({"type": "object", "anyOf": []}),
        json!({"type": "object", "properties": {"a": {"minimum": "x"}}}),
        json!({"type": "object", "required": "a"}),
        json!({"type": "object", "properties": {"a": {"minItems": 2, "maxItems": 1}}}),
    ] {
        let file = with(SCHEMA, outside);
        let checked = check(file.to_string().as_bytes()).result.expect("valid");
        assert!(checked.providers[0].commands[0].arguments.is_err(), "{file}");
    }
    for invalid in [json!([]), json!("x"), json!(true)] {
        expect(&with(SCHEMA, invalid), &[("A1", SCHEMA)]);
    }
}

/// A5.
#[test]
fn repeated_keys_are_told() {
    let text = r#"{"version":1,"version":1,"providers":[]}"#;
    assert_eq!(broken_text(text), [("A5", "/version".to_owned())]);
    let text =
        one().to_string().replace(r#"{"type":"object"}"#, r#"{"type":"object","type":"object"}"#);
    assert_eq!(broken_text(&text), [("A5", format!("{SCHEMA}/type"))]);
}

/// A7.
#[test]
fn the_file_is_utf8_without_a_mark() {
    for bytes in [&b"\xef\xbb\xbf{}"[..], b"\xff", b"{\"a\":\"\xc3\"}"] {
        let problems = check(bytes).result.expect_err("no text");
        assert_eq!((problems.listed()[0].rule, problems.total), ("A7", 1));
    }
    assert_eq!(broken_text("{"), [("R7", String::new())]);
}

/// A hostile file cannot make an endless answer.
#[test]
fn problems_are_counted_beyond_those_that_are_listed() {
    let text = format!("[{}]", vec!["7"; 2_000].join(","));
    let file = format!(r#"{{"version":1,"providers":{text}}}"#);
    let problems = check(file.as_bytes()).result.expect_err("no providers");
    assert_eq!(problems.total, 2_001);
    assert_eq!(problems.listed().len(), crate::commands::limits::PROBLEMS_LISTED_MAX);
}

#[test]
fn what_is_declared_is_found() {
    let declaration =
        check(file(&[provider("a", 2)]).to_string().as_bytes()).result.expect("valid");
    let provider = declaration.provider("a").expect("there");
    assert!(provider.command("c1").is_some() && provider.command("c2").is_none());
    assert!(declaration.provider("b").is_none());
}

/// The schema that ships (R21).
fn shipped() -> jsonschema::Validator {
    let text = include_str!("../../../../../schemas/domain/project-commands-v1.schema.json");
    let schema = serde_json::from_str(text).expect("JSON");
    jsonschema::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .build(&schema)
        .expect("compiles")
}

/// What the shipped schema says alone, and what only code can say (R21).
#[test]
fn the_shipped_schema_says_the_same() {
    let beyond = [
        file(&[provider("a", 1), provider("a", 1)]),
        file(&[provider("a", 40), provider("b", 40)]),
        with(SCRIPT, json!("res://a//b.gd")),
        with(SCRIPT, json!("res://.a/b.gd")),
        with(SCHEMA, json!({"title": "x".repeat(INPUT_SCHEMA_MAX_BYTES)})),
    ];
    for file in beyond {
        assert!(shipped().is_valid(&file) && !broken_text(&file.to_string()).is_empty(), "{file}");
    }
    let over = |most: usize| json!("x".repeat(most + 1));
    let both = [
        with("/version", json!(2)),
        with("/extra", json!(1)),
        with(ID, json!("A")),
        with(NAME, over(ID_MAX_CHARS)),
        with(TITLE, over(TITLE_MAX_CHARS)),
        with(TITLE, json!("")),
        with(DESCRIPTION, over(DESCRIPTION_MAX_CHARS)),
        with(SCRIPT, json!(format!("res://{}.gd", "x".repeat(SCRIPT_MAX_CHARS)))),
        with(SCRIPT, json!("res://a\\b.gd")),
        with(MUTATES, json!(1)),
        with(SCHEMA, json!([])),
        file(&vec![provider("a", 1); PROVIDERS_MAX + 1]),
        file(&[provider("a", 0)]),
        file(&[provider("a", COMMANDS_TOTAL_MAX + 1)]),
    ];
    for file in both {
        assert!(!shipped().is_valid(&file), "{file}");
        assert!(!broken_text(&file.to_string()).is_empty(), "{file}");
    }
    assert!(shipped().is_valid(&with("/$schema", json!("x"))));
}

/// Documents near the format: right files with something replaced.
fn near_file() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z.]{0,5}".prop_map(Value::from),
        Just(json!("res://a.gd")),
        Just(json!({"type": "object"})),
    ];
    let keys = prop::sample::select(vec![
        "version",
        "providers",
        "id",
        "script",
        "commands",
        "name",
        "title",
        "description",
        "input_schema",
        "mutates",
        "$schema",
        "type",
        "x/y~",
    ]);
    leaf.prop_recursive(6, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((keys.clone(), inner), 0..9).prop_map(|it| {
                Value::Object(it.into_iter().map(|(key, it)| (key.to_owned(), it)).collect())
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    /// R22 and R23 on any document: an answer, and pointers that resolve.
    #[test]
    fn any_document_is_valid_or_has_problems(providers in prop::collection::vec(near_file(), 0..4), whole in near_file()) {
        for document in [file(&providers), whole] {
            let checked = check(document.to_string().as_bytes());
            if let Err(problems) = &checked.result {
                prop_assert!(problems.total > 0);
            } else {
                prop_assert!(shipped().is_valid(&document), "R21: {document}");
            }
            broken_text(&document.to_string());
        }
    }

    #[test]
    fn any_bytes_give_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(check(&bytes).result.is_err());
    }

    /// One value replaced anywhere in a right file.
    #[test]
    fn a_right_file_with_one_wrong_value(place in 0..9_usize, value in near_file()) {
        let places = [ID, SCRIPT, NAME, TITLE, DESCRIPTION, SCHEMA, MUTATES, "/version", "/providers"];
        if !value.is_null() {
            broken_text(&with(places[place], value).to_string());
        }
    }
}

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;
use crate::commands::limits::{PATTERN_COST_MAX, PATTERN_REPEAT_MAX};
use crate::commands::{arguments, json, subset};

/// Whether a text satisfies a pattern, the way a call is checked.
#[track_caller]
fn matches(pattern: &str, text: &str) -> bool {
    let schema = serde_json::json!({"type": "object", "properties": {"a": {"pattern": pattern}}});
    let schema = json::parse(&schema.to_string()).expect("JSON");
    let schema = subset::walk(schema.as_object().expect("an object"))
        .unwrap_or_else(|it| panic!("{pattern:?}: {}", it.reason()));
    let arguments = serde_json::json!({"a": text}).to_string();
    arguments::check(&json::parse(&arguments).expect("JSON"), &schema).is_ok()
}

/// R30: what is inside, and what it means.
#[test]
fn the_grammar_matches_as_written() {
    for (pattern, good, bad) in [
        ("^$", &[""][..], &["a"][..]),
        ("^abc$", &["abc"], &["abcd", "xabc", "abc\n", "ABC"]),
        ("^a*b+c?$", &["b", "aabbc"], &["a", "bcc"]),
        ("^a{2}$", &["aa"], &["a", "aaa"]),
        ("^a{0,2}$", &["", "aa"], &["aaa"]),
        ("^[a-cx]+$", &["abcx"], &["d", "-"]),
        ("^[^a-c]$", &["d", "é", "\n"], &["a", "dd"]),
        ("^[a-]$", &["a", "-"], &["b"]),
        ("^[-a]$", &["a", "-"], &["b"]),
        ("^[\\]\\\\]$", &["]", "\\"], &["a"]),
        ("^[a&&b~~c-]+$", &["a&b~c-"], &["d"]),
        ("^\\d+$", &["09"], &["٣", "a"]),
        ("^\\w+$", &["aZ_9"], &["é", "-"]),
        ("^\\s$", &[" ", "\t", "\n"], &["\u{a0}", "a"]),
        ("^\\D\\W\\S$", &["a-b"], &["1-b", "aab", "a- "]),
        ("^[\\d.]+$", &["1.5"], &["1,5"]),
        ("^[^\\d]$", &["a"], &["5"]),
        ("^\\.\\*\\$$", &[".*$"], &["a*$"]),
        ("^\\x41\\u00e9$", &["Aé"], &["A"]),
        ("^\\ud83d\\ude00$", &["😀"], &["x"]),
        ("^(a|bc|)$", &["a", "bc", ""], &["abc", "b"]),
        ("^(a+|b{2})$", &["aaa", "bb"], &["b", "ab"]),
        ("^(abc)$", &["abc"], &["ab"]),
        ("^res://[a-z/]+\\.tscn$", &["res://a/b.tscn"], &["res://a.gd"]),
        ("^😀?é$", &["😀é", "é"], &["😀"]),
    ] {
        for text in good {
            assert!(matches(pattern, text), "{pattern:?} must match {text:?}");
        }
        for text in bad {
            assert!(!matches(pattern, text), "{pattern:?} must not match {text:?}");
        }
    }
}

/// R30: what is outside, each named.
#[test]
fn the_rest_is_refused_by_name() {
    for (pattern, named) in [
        ("abc", "does not start with \"^\""),
        ("^abc", "no \"$\" at the end"),
        ("^a.c$", "wildcard"),
        ("^((a)|b)$", "nested group"),
        ("^a(b)$", "nested group"),
        ("^(a)(b)$", "a group that is not the whole pattern"),
        ("^(a|b)+$", "a repeated group"),
        ("^(a|b", "no \"$\" at the end"),
        ("^(?:a)$", "special group"),
        ("^(?=a)$", "special group"),
        ("^a|b$", "outside"),
        ("^a{2,}$", "open quantifier"),
        ("^a+?$", "lazy"),
        ("^a++$", "possessive"),
        ("^a**$", "behind a quantifier"),
        ("^*$", "nothing to repeat"),
        ("^a{2$", "no quantifier"),
        ("^a{3,2}$", "ends before it starts"),
        ("^(a)\\1$", "a group that is not the whole pattern"),
        ("^\\1$", "back-reference"),
        ("^\\k<a>$", "back-reference"),
        ("^\\ba$", "word boundary"),
        ("^\\p{L}$", "character property"),
        ("^\\q$", "the escape"),
        ("^[$", "not closed"),
        ("^[]$", "matches nothing"),
        ("^[z-a]$", "ends before it starts"),
        ("^[\\d-z]$", "range with a class"),
        ("^[^\\d\\D]$", "matches nothing"),
        ("^a$b$", "\"$\" inside"),
        ("^a^$", "\"^\" inside"),
        ("^\\ud83d$", "surrogate"),
        ("^a\\", "nothing behind"),
        ("^a]$", "\"]\" without"),
    ] {
        let why = parse(pattern).expect_err(pattern);
        assert!(why.contains(named), "{pattern:?}: {why}");
    }
}

/// Both sides of the counts.
#[test]
fn repetitions_are_bounded() {
    let of = |count: u32| format!("^a{{{count}}}$");
    assert!(parse(&of(PATTERN_REPEAT_MAX)).is_ok());
    assert!(parse(&of(PATTERN_REPEAT_MAX + 1)).is_err());
    assert!(parse("^a{99999999999999999999}$").is_err());
    let many =
        |times: u64| format!("^{}$", "a{1024}".repeat(usize::try_from(times).expect("small")));
    let fit = PATTERN_COST_MAX / u64::from(PATTERN_REPEAT_MAX);
    assert!(parse(&many(fit)).is_ok());
    assert!(parse(&many(fit + 1)).is_err());
}

/// R30: time linear in the text, on the kinds that make a backtracking matcher run for ever.
#[test]
fn hostile_text_takes_linear_time() {
    for (pattern, piece) in [
        ("^a*a*a*a*a*a*b$", "a"),
        ("^[ab]*a[ab]{20}c$", "ab"),
        ("^\\w*\\w*\\w*\\d$", "a"),
        ("^(a*b?a*|[ab]{0,64}c)$", "aab"),
        ("^[^x]{0,500}x$", "é"),
    ] {
        let regex = regex_of(pattern);
        let time = |bytes: usize| {
            let text = piece.repeat(bytes / piece.len());
            let start = Instant::now();
            assert!(!regex.is_valid(&serde_json::Value::String(text)), "{pattern}");
            start.elapsed()
        };
        time(1 << 10);
        let (small, large) = (time(1 << 17), time(1 << 20));
        // Eight times the text; the rest is room for a busy machine.
        let most = small.max(Duration::from_millis(2)) * 40;
        assert!(large < most, "{pattern}: {small:?} for 128 KiB, {large:?} for 1 MiB");
    }
}

/// The validator of a call, for one text.
fn regex_of(pattern: &str) -> jsonschema::Validator {
    let regex = parse(pattern).expect("in the grammar").regex;
    jsonschema::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .with_pattern_options(jsonschema::PatternOptions::regex())
        .build(&serde_json::json!({"pattern": regex}))
        .expect("compiles")
}

#[test]
fn classes_are_sets() {
    let mut class = Class::range('a', 'c');
    class.add(Class::range('d', 'f'));
    class.add(Class::range('b', 'e'));
    assert_eq!(class, Class::range('a', 'f'));
    for it in ['\0', '`', 'a', 'f', 'g', '\u{d7ff}', '\u{e000}', char::MAX] {
        assert_ne!(class.has(it), class.complement().has(it), "{it:?}");
    }
    assert_eq!(class.complement().complement(), class);
    assert!(Class::range('\0', char::MAX).complement().is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any text near a pattern is refused or compiles, and never panics.
    #[test]
    fn any_pattern_is_refused_or_compiles(inner in "[a-c0-9é^$.|()\\[\\]{},*+?\\\\\\-dDwWsSnxubp&~]{0,24}") {
        let pattern = format!("^{inner}$");
        for text in [pattern.as_str(), inner.as_str()] {
            if parse(text).is_ok() {
                let regex = regex_of(text);
                for sample in ["", "a", "ab0", "é", "a-b&&c"] {
                    let _ = regex.is_valid(&serde_json::Value::String(sample.to_owned()));
                }
            }
        }
    }

    /// A literal text, escaped, matches itself and nothing else.
    #[test]
    fn escaped_text_matches_itself(text in "[ -~é😀]{0,20}", other in "[ -~é😀]{0,20}") {
        let escaped: String = text
            .chars()
            .map(|it| if it.is_ascii_punctuation() { format!("\\{it}") } else { it.to_string() })
            .collect();
        let regex = regex_of(&format!("^{escaped}$"));
        prop_assert!(regex.is_valid(&serde_json::Value::String(text.clone())));
        prop_assert_eq!(regex.is_valid(&serde_json::Value::String(other.clone())), text == other);
    }
}

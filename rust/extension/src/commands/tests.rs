use super::*;

fn change(kind: Kind, name: usize) -> Change {
    Change { path: format!("res://{name}"), kind, before: None, after: None }
}

/// R95, both sides.
#[test]
fn listed_changes_are_bounded() {
    let of = |count| (0..count).map(|it| change(Kind::Added, it)).collect::<Vec<_>>();
    let all = tell(&of(limits::CHANGES_LISTED_MAX));
    assert_eq!(all["added"].as_array().map(Vec::len), Some(limits::CHANGES_LISTED_MAX));
    assert_eq!(all.get("truncated"), None);
    let mut more = of(limits::CHANGES_LISTED_MAX);
    more.push(change(Kind::Removed, 0));
    let more = tell(&more);
    assert_eq!(more["removed"], json!([]));
    assert_eq!(
        (&more["total"], &more["truncated"]),
        (&json!(limits::CHANGES_LISTED_MAX + 1), &json!(true))
    );
}

/// R61, both sides.
#[test]
fn deadlines_are_bounded() {
    assert_eq!(
        deadline(None).expect("the default").as_millis(),
        u128::from(limits::DEADLINE_DEFAULT_MS)
    );
    for good in [limits::DEADLINE_MIN_MS, limits::DEADLINE_MAX_MS] {
        assert!(deadline(Some(good)).is_ok());
    }
    for bad in [limits::DEADLINE_MIN_MS - 1, limits::DEADLINE_MAX_MS + 1] {
        let error = deadline(Some(bad)).expect_err("out of range");
        assert_eq!(error.code, Code::ValidationError);
        assert_eq!(error.required.as_deref(), Some("deadline_ms"));
    }
}

/// R41: what the server's JSON library would lose.
#[test]
fn arguments_keep_their_spelling() {
    let message = r#"{"params":{"name":"x","arguments":{"arguments":{"a":-0,"b":1e0,"c":1234567890123456789012}}}}"#;
    assert_eq!(
        text_of_arguments(message).as_deref(),
        Some(r#"{"a":-0,"b":1e0,"c":1234567890123456789012}"#)
    );
    assert_eq!(text_of_arguments(r#"{"params":{}}"#), None);
}

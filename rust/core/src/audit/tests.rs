use proptest::prelude::*;

use super::*;

fn options(max_bytes: u64, keep: u32) -> Options {
    Options { max_bytes, keep, arguments: false }
}

fn fill(folder: &Path, options: Options, lines: usize) {
    let (audit, notice) = Audit::open(folder, 1, "test", options).expect("opens");
    assert_eq!(notice, None);
    for index in 0..lines {
        let hash = index.to_string();
        let entry = Entry { client: "c", tool: "t", arguments_hash: &hash, ..Entry::default() };
        audit.write(&entry).expect("written");
    }
}

fn check(folder: &Path) -> Report {
    verify(&folder.join("audit.jsonl")).expect("readable")
}

/// S9.4: every call has a line, with no argument values unless the operator asks.
#[test]
fn a_line_says_what_happened() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = json!({"text": "secret"});
    let entry = Entry {
        client: "agent 1",
        tool: "delete_node",
        class: "destructive",
        arguments_hash: "abc",
        arguments: arguments.as_object(),
        outcome: "ok",
        duration_ms: 0.12345,
        undo_token: Some("u1"),
        ..Entry::default()
    };
    for with_arguments in [false, true] {
        let options = Options { arguments: with_arguments, ..Options::default() };
        let (audit, _) = Audit::open(folder.path(), 1, "test", options).expect("opens");
        audit.write(&entry).expect("written");
        let text = std::fs::read_to_string(audit.path()).expect("UTF-8");
        assert_eq!(text.contains("secret"), with_arguments);
        let line: Value = serde_json::from_str(text.lines().last().expect("lines")).expect("JSON");
        assert_eq!(line["ms"], 0.123);
        assert_eq!(line["undo_token"], "u1");
        assert_eq!(line["outcome"], "ok");
        assert!(line["time"].as_str().expect("a time").ends_with('Z'));
    }
    let chain = check(folder.path()).chain.expect("holds");
    assert_eq!((chain.lines, chain.first, chain.last), (4, 1, 4));
}

/// S9.4: the chain goes on over restarts and from file to file, also when the oldest are dropped.
#[test]
fn the_chain_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    for _ in 0..3 {
        fill(folder.path(), options(2_000, 4), 20);
    }
    let report = check(folder.path());
    assert_eq!(report.files.len(), 5, "four older files are kept");
    let chain = report.chain.expect("holds");
    assert_eq!(chain.last, 63);
    assert!(chain.first > 1 && chain.lines == 63 - chain.first + 1);
    assert!(!folder.path().join("audit.jsonl.5").exists());
}

/// S9.4: each change of a line, its removal, a swap or an insertion is found.
#[test]
fn tampering_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    fill(folder.path(), options(3_000, 9), 40);
    let file = folder.path().join("audit.jsonl.1");
    let good = std::fs::read_to_string(&file).expect("UTF-8");
    let lines: Vec<&str> = good.lines().collect();
    let last = lines.len() - 1;
    let changes: Vec<(&str, Vec<String>)> = vec![
        (
            "changed",
            lines
                .iter()
                .enumerate()
                .map(|(i, it)| if i == 3 { it.replace("\"c\"", "\"d\"") } else { (*it).to_owned() })
                .collect(),
        ),
        (
            "removed",
            lines
                .iter()
                .enumerate()
                .filter(|(i, _)| *i != 3)
                .map(|(_, it)| (*it).to_owned())
                .collect(),
        ),
        (
            "inserted",
            lines
                .iter()
                .enumerate()
                .flat_map(|(i, it)| vec![(*it).to_owned(); if i == 3 { 2 } else { 1 }])
                .collect(),
        ),
        (
            "swapped",
            lines
                .iter()
                .enumerate()
                .map(|(i, _)| {
                    lines[match i {
                        3 => 4,
                        4 => 3,
                        i => i,
                    }]
                    .to_owned()
                })
                .collect(),
        ),
        ("cut", lines[..last].iter().map(|it| (*it).to_owned()).collect()),
    ];
    assert!(check(folder.path()).chain.is_ok());
    for (what, changed) in changes {
        std::fs::write(&file, changed.join("\n") + "\n").expect("written");
        assert!(check(folder.path()).chain.is_err(), "{what}");
    }
    std::fs::write(&file, &good).expect("written");
    std::fs::remove_file(folder.path().join("audit.jsonl.2")).ok();
    let report = check(folder.path());
    assert!(report.chain.is_ok(), "dropping the oldest is what rotation does: {report}");
}

/// A killed process leaves half a line: said, and the chain goes on.
#[test]
fn a_torn_line_is_no_damage() {
    let folder = tempfile::tempdir().expect("a folder");
    fill(folder.path(), Options::default(), 3);
    let file = folder.path().join("audit.jsonl");
    let whole = std::fs::read(&file).expect("readable");
    std::fs::write(&file, [whole.as_slice(), b"{\"n\":5,\"ti"].concat()).expect("written");
    let chain = check(folder.path()).chain.expect("holds");
    assert!(chain.torn && chain.last == 4);
    fill(folder.path(), Options::default(), 1);
    let chain = check(folder.path()).chain.expect("holds");
    assert!(!chain.torn && chain.last == 6);
    assert!(std::fs::read_to_string(&file).expect("UTF-8").contains("\"torn_bytes\":10"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// S9.4: whichever byte of a chain is changed, it shows; but for the very last line, whose hash
    /// nothing carries yet.
    #[test]
    fn no_byte_can_be_changed(at in 0_usize..2_000, change in 1_u8..=255) {
        let folder = tempfile::tempdir().expect("a folder");
        fill(folder.path(), Options::default(), 12);
        let file = folder.path().join("audit.jsonl");
        let mut bytes = std::fs::read(&file).expect("readable");
        let last_line = bytes[..bytes.len() - 1].iter().rposition(|&it| it == b'\n').expect("lines");
        let at = at % last_line;
        bytes[at] ^= change;
        std::fs::write(&file, bytes).expect("written");
        prop_assert!(check(folder.path()).chain.is_err());
    }
}

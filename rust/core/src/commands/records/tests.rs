use std::fs;

use super::*;
use crate::commands::manifest::Kind;

/// B2: what a process left running is settled with the files that it changed.
#[test]
fn open_calls_are_settled_with_what_they_changed() {
    let folder = tempfile::tempdir().expect("a folder");
    let (root, state) = (folder.path().join("p"), folder.path().join("s"));
    fs::create_dir(&root).expect("made");
    fs::write(root.join("a"), "a").expect("written");
    let tracker = Tracker::open(&root, &state).expect("opened");
    let records = Records::open(&state).expect("opened");
    let before = tracker.look().expect("compared");
    tracker.keep(&before).expect("written");
    records.write(&Record::new("tx_1", "p", "c", true)).expect("written");
    let mut done = Record::new("tx_0", "p", "c", true);
    done.state = State::Finished;
    records.write(&done).expect("written");
    fs::write(root.join("a"), "b").expect("written");
    fs::write(root.join("n"), "n").expect("written");

    let (tracker, records) =
        (Tracker::open(&root, &state).expect("opened"), Records::open(&state).expect("opened"));
    let settled = records.settle(&tracker);
    assert_eq!(settled.len(), 1);
    assert_eq!(settled[0].state, State::Interrupted);
    let changes: Vec<_> = settled[0].changes.iter().map(|it| (it.kind, it.path.as_str())).collect();
    assert_eq!(changes, [(Kind::Modified, "res://a"), (Kind::Added, "res://n")]);
    assert_eq!(records.find("tx_1"), Some(settled[0].clone()));
    assert_eq!(records.find("tx_0"), Some(done));
    assert_eq!(records.settle(&tracker), []);
    assert_eq!(records.ids(), ["tx_1", "tx_0"]);
}

#[test]
fn ids_are_no_paths() {
    let folder = tempfile::tempdir().expect("a folder");
    let records = Records::open(folder.path()).expect("opened");
    for id in ["", "../x", "a/b", "a.b"] {
        assert!(records.write(&Record::new(id, "p", "c", true)).is_err(), "{id}");
        assert_eq!(records.find(id), None);
    }
    records.write(&Record::new("tx_1", "p", "c", true)).expect("written");
    records.forget("tx_1");
    assert_eq!(records.find("tx_1"), None);
}

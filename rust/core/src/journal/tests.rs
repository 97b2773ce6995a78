use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use proptest::prelude::*;

use super::*;
use crate::call::Reply;

fn options() -> Options {
    Options { fold_after: Duration::from_millis(5), ..Options::default() }
}

fn open(folder: &Path) -> Journal {
    open_with(folder, options()).0
}

#[track_caller]
fn open_with(folder: &Path, options: Options) -> (Journal, Vec<String>) {
    Journal::open(folder, options).expect("opens")
}

fn call(key: Option<&str>, arguments: &str) -> Call {
    Call {
        tool: "set_node_property".into(),
        class: "mutating",
        client: "c".into(),
        arguments: arguments.into(),
        key: key.map(str::to_owned),
    }
}

#[track_caller]
fn run(journal: &Journal, key: Option<&str>, arguments: &str) -> Ticket {
    match journal.begin(call(key, arguments)).expect("begins") {
        Begun::Run(ticket) => ticket,
        Begun::Replay(answer) => panic!("replayed: {answer:?}"),
        Begun::Running(id) => panic!("runs already: {id}"),
    }
}

#[track_caller]
fn replay(journal: &Journal, key: &str, arguments: &str) -> Answer {
    match journal.begin(call(Some(key), arguments)).expect("begins") {
        Begun::Replay(answer) => answer,
        _ => panic!("runs"),
    }
}

fn done(value: i64) -> Answer {
    Ok(json!({"applied": true, "value": value, "undo_token": "u1"}).into())
}

fn failed(code: Code) -> Answer {
    Err(ToolError::new(code, "no").hint("look").required("node_exists"))
}

/// A17: what cannot be entered does not begin, and what cannot be entered as begun does not run.
#[test]
fn an_unwritable_journal_refuses() {
    let folder = tempfile::tempdir().expect("a folder");
    let journal = open(folder.path());
    let ticket = run(&journal, None, "before");
    let read_only = std::fs::File::open(folder.path()).expect("opens");
    journal.shared.log.lock().segment.file = Arc::new(read_only);
    let refused = journal.begin(call(Some("k"), "a")).err().expect("refused");
    assert!(refused.message.contains("journal"), "{refused}");
    assert!(ticket.commit().is_err() && !ticket.has_committed());
}

/// S2.4: what runs, what replays, what conflicts.
#[test]
fn keys() {
    let folder = tempfile::tempdir().expect("a folder");
    let journal = open(folder.path());
    let ticket = run(&journal, Some("k"), "a");
    ticket.commit().expect("commits");
    ticket.settle(&done(1));
    let expected = json!({"applied": true, "value": 1, "undo_token": "u1", "replayed": true});
    assert_eq!(replay(&journal, "k", "a"), Ok(Reply::Json(expected)));
    let conflict = journal.begin(call(Some("k"), "b")).err().expect("other arguments");
    assert_eq!(conflict.code, Code::IdempotencyConflict);
    assert_eq!(conflict.into_fault().details.expect("details")["transaction_id"], ticket.id());

    // A call that did nothing leaves its key to the next one, whatever that is.
    for code in [Code::ResourceNotFound, Code::Cancelled, Code::ApprovalDenied] {
        run(&journal, Some("free"), "a").settle(&failed(code));
    }
    let ticket = run(&journal, Some("free"), "b");
    // A call that failed on the way does not.
    ticket.commit().expect("commits");
    ticket.settle(&failed(Code::Timeout));
    let error = replay(&journal, "free", "b").expect_err("a failure");
    assert_eq!((error.code, error.hint.as_str()), (Code::Timeout, "look"));
    assert_eq!(error.required.as_deref(), Some("node_exists"));
    assert_eq!(error.details, Some(json!({"replayed": true})));
}

/// S2.4: the key's answer outlives a restart, S2.3: and so does what can be asked.
#[test]
fn it_outlives_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let journal = open(folder.path());
    let ticket = run(&journal, Some("k"), "a");
    ticket.commit().expect("commits");
    ticket.settle(&done(7));
    let id = ticket.id();
    drop(journal);
    let (journal, notices) = open_with(folder.path(), options());
    assert_eq!(notices, Vec::<String>::new());
    assert!(matches!(replay(&journal, "k", "a"), Ok(Reply::Json(it)) if it["value"] == 7));
    let (transaction, answer) = journal.by_id(&id).expect("known");
    assert_eq!((transaction.state, transaction.undo_token.as_deref()), (State::Done, Some("u1")));
    assert_eq!(answer, Some(done(7)));
    assert!(transaction.ended_ms >= Some(transaction.began_ms));
    assert_eq!(journal.by_key("k").expect("known").0, transaction);
    for unknown in ["tx_1", "x", "", "tx_", "tx_zz", "tx_11111111111111111111"] {
        assert!(journal.by_id(unknown).is_none());
    }
}

/// S2.3: exactly one of "commits" and "was given up" comes true.
#[test]
fn giving_up_and_committing_exclude_each_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let journal = open(folder.path());
    let ticket = run(&journal, None, "a");
    assert!(ticket.abandon());
    assert_eq!(ticket.commit().expect_err("given up").code, Code::Cancelled);
    let ticket = run(&journal, None, "a");
    ticket.commit().expect("commits");
    assert!(!ticket.abandon());
    for _ in 0..200 {
        let ticket = run(&journal, None, "a");
        let other = ticket.clone();
        let (committed, abandoned) = std::thread::scope(|scope| {
            let committed = scope.spawn(|| ticket.commit().is_ok());
            (other.abandon(), committed.join().expect("no panic"))
        });
        assert_ne!(committed, abandoned);
    }
}

/// S2.4: 1,000 calls at once with 10 keys run 10 times, and all get the answer.
#[test]
fn concurrent_calls_run_once_a_key() {
    let folder = tempfile::tempdir().expect("a folder");
    let journal = open(folder.path());
    let (runs, replays) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for thread in 0..1_000 {
            let (journal, runs, replays) = (&journal, &runs, &replays);
            scope.spawn(move || {
                let key = (thread % 10).to_string();
                let answer = match journal.begin(call(Some(&key), "a")).expect("begins") {
                    Begun::Run(ticket) => {
                        runs.fetch_add(1, Ordering::Relaxed);
                        ticket.commit().expect("commits");
                        std::thread::yield_now();
                        ticket.settle(&done(thread % 10));
                        return;
                    }
                    Begun::Replay(answer) => answer,
                    Begun::Running(id) => {
                        let (sender, answer) = mpsc::channel();
                        journal.when_settled(id, move |it| sender.send(it).expect("listens"));
                        match answer.recv().expect("told") {
                            Settled::Answered(answer) => answer,
                            Settled::Free => panic!("it was not cancelled"),
                        }
                    }
                };
                let Ok(Reply::Json(answer)) = answer else { panic!("{answer:?}") };
                assert_eq!(
                    (&answer["value"], &answer["replayed"]),
                    (&json!(thread % 10), &json!(true))
                );
                replays.fetch_add(1, Ordering::Relaxed);
            });
        }
    });
    assert_eq!((runs.into_inner(), replays.into_inner()), (10, 990));
}

/// A call that was cancelled before it ran does not take those down that wait for it.
#[test]
fn waiters_of_a_cancelled_call_may_begin() {
    let folder = tempfile::tempdir().expect("a folder");
    let journal = open(folder.path());
    for forget in [false, true] {
        let ticket = run(&journal, Some("k"), "a");
        let Begun::Running(id) = journal.begin(call(Some("k"), "a")).expect("begins") else {
            panic!("it runs")
        };
        let (sender, told) = mpsc::channel();
        journal.when_settled(id, move |it| sender.send(it).expect("listens"));
        match forget {
            true => ticket.forget(),
            false => ticket.settle(&failed(Code::Cancelled)),
        }
        assert!(matches!(told.recv().expect("told"), Settled::Free));
        let ticket = run(&journal, Some("k"), "a");
        ticket.settle(&failed(Code::Busy));
    }
}

/// Answers are bounded; what was not kept is said.
#[test]
fn large_answers() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = Options { max_keyed_answer: 100, max_answer: 20, ..options() };
    let (journal, _) = open_with(folder.path(), options);
    let large: Answer = Ok(json!({"text": "x".repeat(200), "undo_token": "u9"}).into());
    let ticket = run(&journal, Some("k"), "a");
    ticket.commit().expect("commits");
    ticket.settle(&large);
    let Ok(Reply::Json(answer)) = replay(&journal, "k", "a") else { panic!("an answer") };
    assert_eq!((&answer["replayed"], &answer["undo_token"]), (&json!(true), &json!("u9")));
    assert!(answer["result_unavailable"].as_str().expect("why").contains("bytes"), "{answer}");
    let ticket = run(&journal, None, "a");
    ticket.commit().expect("commits");
    ticket.settle(&done(1));
    let (transaction, answer) = journal.by_id(&ticket.id()).expect("known");
    assert_eq!((transaction.state, answer), (State::Done, None));
}

/// Old transactions go by count, age and size of answers; open ones never.
#[test]
fn bounded() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = Options { max_transactions: 50, ..options() };
    let (journal, _) = open_with(folder.path(), options.clone());
    let open_call = run(&journal, Some("open"), "a");
    open_call.commit().expect("commits");
    for index in 0..500 {
        run(&journal, Some(&index.to_string()), "a").settle(&done(index));
    }
    drop(journal);
    let (journal, _) = open_with(folder.path(), Options { max_answers: 200, ..options });
    let kept = journal.newest(1_000);
    assert!((50..=52).contains(&kept.len()), "{}", kept.len());
    assert!(kept.last().expect("some").contains("interrupted"), "the open one is the oldest");
    assert!(journal.by_key("0").is_none() && journal.by_key("499").is_some());
    run(&journal, None, "a").settle(&done(1));
    drop(journal);
    let aged = Options { max_age: Duration::ZERO, ..self::options() };
    let (journal, _) = open_with(folder.path(), aged.clone());
    assert!(journal.newest(1_000).len() < 10, "answers are bounded together");
    run(&journal, None, "a").settle(&done(1));
    std::thread::park_timeout(Duration::from_millis(20));
    drop(journal);
    let (journal, _) = open_with(folder.path(), aged);
    assert!(journal.newest(1_000).len() <= 1);
}

/// Damage is set aside, said, and a new journal begun.
#[test]
fn damage_is_set_aside() {
    for damage in ["nonsense", "zeros", "cut", "middle"] {
        let folder = tempfile::tempdir().expect("a folder");
        let journal = open(folder.path());
        for index in 0..200 {
            run(&journal, Some(&index.to_string()), "a").settle(&done(index));
        }
        drop(journal);
        let path = folder.path().join("journal.redb");
        let mut bytes = std::fs::read(&path).expect("a file");
        let length = bytes.len();
        match damage {
            "nonsense" => bytes = b"this is no database at all".repeat(500),
            "zeros" => bytes.fill(0),
            "cut" => bytes.truncate(length / 3),
            _ => bytes[4_096..].iter_mut().for_each(|it| *it = it.wrapping_add(1)),
        }
        std::fs::write(&path, &bytes).expect("written");
        let (journal, notices) = open_with(folder.path(), options());
        assert_eq!(notices.len(), 1, "{damage}: {notices:?}");
        assert!(notices[0].contains("set aside"), "{damage}: {notices:?}");
        let aside = std::fs::read_dir(folder.path()).expect("a folder").flatten();
        let aside =
            aside.filter(|it| it.file_name().to_string_lossy().contains(".damaged-")).count();
        assert_eq!(aside, 1, "{damage}");
        run(&journal, Some("1"), "b").settle(&done(1));
        drop(journal);
        assert_eq!(open_with(folder.path(), options()).1, Vec::<String>::new(), "{damage}");
    }
}

/// A second editor on the project has a journal of its own.
#[test]
fn two_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let (first, second) = (open(folder.path()), open(folder.path()));
    assert_eq!((first.slot(), second.slot()), (1, 2));
    let ticket = run(&first, Some("k"), "a");
    ticket.commit().expect("commits");
    run(&second, Some("k"), "b").settle(&done(1));
    ticket.settle(&done(2));
    drop((first, second));
    assert!(open(folder.path()).by_key("k").is_some());
}

/// The forced write tells when it is done.
#[test]
fn forced_lines() {
    let folder = tempfile::tempdir().expect("a folder");
    let journal = open(folder.path());
    let (sender, ready) = mpsc::channel();
    for _ in 0..20 {
        let ticket = run(&journal, Some("k"), "a");
        let sender = sender.clone();
        journal.force(&ticket, move |it| sender.send(it).expect("listens"));
        assert_eq!(ready.recv().expect("told"), Ok(()));
        ticket.settle(&failed(Code::Busy));
    }
    journal.close();
    assert_eq!(journal.begin(call(None, "a")).err().expect("closed").code, Code::Busy);
}

/// After a power cut the entry of a forced call may be the only one left of it.
#[test]
fn another_boot_makes_no_promise() {
    let folder = tempfile::tempdir().expect("a folder");
    let quiet = Options { fold_after: Duration::from_secs(3_600), ..Options::default() };
    let journal = open_with(folder.path(), quiet).0;
    let (planned, committing) = (run(&journal, None, "a"), run(&journal, None, "b"));
    committing.commit().expect("commits");
    let ids = [planned.id(), committing.id()];
    let copy = copied(folder.path());
    let journal = open(copy.path());
    let may = |journal: &Journal, id: &str| {
        let (transaction, _) = journal.by_id(id).expect("known");
        assert_eq!(transaction.state, State::Interrupted);
        transaction.committed
    };
    assert!(!may(&journal, &ids[0]) && may(&journal, &ids[1]));
    drop(journal);
    let copy = copied(folder.path());
    let segment = copy.path().join("journal.wal.1");
    let (lines, _) = wal::decode(&std::fs::read(&segment).expect("lines"));
    std::fs::remove_file(&segment).expect("removed");
    let mut other = wal::Segment::create(copy.path(), 1, 1).expect("made");
    for line in lines {
        let wal::Line::Transaction(mut transaction, answer) = line else { panic!("a transaction") };
        transaction.instance = "1-abc-another".into();
        other.append(&wal::Line::Transaction(transaction, answer)).expect("written");
    }
    let journal = open(copy.path());
    assert!(may(&journal, &ids[0]) && may(&journal, &ids[1]));
}

/// The files as a process that is killed right now leaves them.
fn copied(folder: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().expect("a folder");
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        // A segment may be folded away between the listing and the copy.
        let _ = std::fs::copy(entry.path(), copy.path().join(entry.file_name()));
    }
    copy
}

/// Bytes of a segment before the zeros.
fn length(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|&it| it != 0).map_or(0, |it| it + 1)
}

#[derive(Clone, Debug)]
enum Step {
    Begin(u8),
    Commit(u8),
    Done(u8),
    Fail(u8),
    Forget(u8),
    Reopen,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0_u8..6).prop_map(Step::Begin),
        3 => (0_u8..6).prop_map(Step::Commit),
        3 => (0_u8..6).prop_map(Step::Done),
        1 => (0_u8..6).prop_map(Step::Fail),
        1 => (0_u8..6).prop_map(Step::Forget),
        1 => Just(Step::Reopen),
    ];
    prop::collection::vec(step, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Killed after any step, the journal says of every call what is true, and what was
    /// acknowledged stands.
    #[test]
    fn killed_at_any_step(steps in steps(), cut in 0_usize..64) {
        let folder = tempfile::tempdir().expect("a folder");
        let quiet = Options { fold_after: Duration::from_secs(3_600), ..Options::default() };
        let mut journal = open_with(folder.path(), quiet.clone()).0;
        let mut tickets: Vec<Option<Ticket>> = vec![None; 6];
        let mut expected: Vec<(String, State, bool)> = Vec::new();
        for step in steps {
            let set = |expected: &mut Vec<(String, State, bool)>, id: &str, state, committed| {
                expected.retain(|it| it.0 != id);
                expected.push((id.to_owned(), state, committed));
            };
            let committed = |expected: &[(String, State, bool)], id: &str| {
                expected.iter().any(|it| it.0 == id && it.2)
            };
            match step {
                Step::Begin(slot) => {
                    let slot = usize::from(slot);
                    if tickets[slot].is_none() {
                        let ticket = run(&journal, None, "a");
                        set(&mut expected, &ticket.id(), State::Planned, false);
                        tickets[slot] = Some(ticket);
                    }
                }
                Step::Commit(slot) => {
                    if let Some(ticket) = &tickets[usize::from(slot)] {
                        ticket.commit().expect("commits");
                        set(&mut expected, &ticket.id(), State::Committing, true);
                    }
                }
                Step::Done(slot) => {
                    if let Some(ticket) = tickets[usize::from(slot)].take() {
                        ticket.settle(&done(1));
                        let committed = committed(&expected, &ticket.id());
                        set(&mut expected, &ticket.id(), State::Done, committed);
                    }
                }
                Step::Fail(slot) => {
                    if let Some(ticket) = tickets[usize::from(slot)].take() {
                        ticket.settle(&failed(Code::Busy));
                        let committed = committed(&expected, &ticket.id());
                        set(&mut expected, &ticket.id(), State::Failed, committed);
                    }
                }
                Step::Forget(slot) => {
                    if let Some(ticket) = tickets[usize::from(slot)].take() {
                        ticket.forget();
                        expected.retain(|it| it.0 != ticket.id());
                    }
                }
                Step::Reopen => {
                    tickets.fill(None);
                    drop(journal);
                    journal = open_with(folder.path(), quiet.clone()).0;
                    for entry in &mut expected {
                        if entry.1.is_open() {
                            entry.1 = State::Interrupted;
                        }
                    }
                }
            }
        }
        let copy = copied(folder.path());
        // What a process that is killed while it writes leaves at the end of the newest segment.
        let (_, newest) = wal::segments(copy.path(), 1).expect("a folder").pop().expect("a segment");
        let torn = b"0123456789abcdef {\"t\":[{\"id\":1,\"state\":\"done\",\"tool\":\"xxxxxxxxxxxxxx";
        let mut bytes = std::fs::read(&newest).expect("lines");
        let end = length(&bytes);
        bytes[end..end + cut].copy_from_slice(&torn[..cut]);
        std::fs::write(newest, bytes).expect("written");
        let (killed, notices) = open_with(copy.path(), quiet);
        prop_assert!(notices.iter().all(|it| it.contains("the editor ended during")), "{notices:?}");
        prop_assert_eq!(killed.newest(1_000).len(), expected.len());
        for (id, state, committed) in expected {
            let found = killed.by_id(&id).expect("known").0;
            let state = if state.is_open() { State::Interrupted } else { state };
            prop_assert_eq!((found.state, found.committed), (state, committed));
        }
    }

    /// Whatever is done to the lines, the journal opens; what is whole is taken over.
    #[test]
    fn lines_that_are_damaged(at in 0_usize..6_000, change in 1_u8..=255) {
        let folder = tempfile::tempdir().expect("a folder");
        let quiet = Options { fold_after: Duration::from_secs(3_600), ..Options::default() };
        let (journal, _) = open_with(folder.path(), quiet.clone());
        for index in 0..8 {
            let ticket = run(&journal, Some(&index.to_string()), "a");
            ticket.commit().expect("commits");
            ticket.settle(&done(index));
        }
        let copy = copied(folder.path());
        let segment = copy.path().join("journal.wal.1");
        let mut bytes = std::fs::read(&segment).expect("lines");
        let at = at % length(&bytes);
        bytes[at] ^= change;
        std::fs::write(&segment, bytes).expect("written");
        let (journal, _) = open_with(copy.path(), quiet);
        let known = (0..8).filter(|it| journal.by_key(&it.to_string()).is_some()).count();
        prop_assert!(known >= 7, "{known}");
    }
}

const CHILD: &str = "GODOT_MCP_TEST_JOURNAL";

/// Not a test of its own: the process that `killed_for_real` kills.
#[test]
fn child() {
    let Some(folder) = std::env::var_os(CHILD) else { return };
    let journal = open(Path::new(&folder));
    let mut stdout = std::io::stdout().lock();
    for index in 0.. {
        let ticket = run(&journal, Some(&format!("{}-{index}", std::process::id())), "a");
        ticket.commit().expect("commits");
        writeln!(stdout, "began {}", ticket.id()).expect("a parent");
        ticket.settle(&done(index));
        writeln!(stdout, "done {} {index}", ticket.id()).expect("a parent");
        stdout.flush().expect("a parent");
    }
}

/// kill -9 at random moments, folds included: every acknowledged call is there with its answer, and
/// what was open is interrupted.
#[test]
fn killed_for_real() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut total = 0;
    for round in 0..20_u64 {
        let mut child = Command::new(std::env::current_exe().expect("this test"))
            .args(["journal::tests::child", "--exact", "--nocapture", "--test-threads=1"])
            .env(CHILD, folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("starts");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let mut told = Vec::new();
        // Some calls first, and then at a moment that no call decides.
        for line in lines.by_ref().take(40 + 13 * round as usize) {
            told.push(line.expect("a line"));
        }
        std::thread::park_timeout(Duration::from_micros(700 * round));
        child.kill().expect("killed");
        told.extend(lines.map_while(Result::ok));
        child.wait().expect("ended");

        let (journal, notices) = open_with(folder.path(), options());
        assert!(notices.iter().all(|it| it.contains("the editor ended during")), "{notices:?}");
        let mut began = std::collections::BTreeSet::new();
        for line in &told {
            let words: Vec<&str> = line.split(' ').collect();
            match *words.as_slice() {
                ["began", id] => drop(began.insert(id.to_owned())),
                ["done", id, value] => {
                    began.remove(id);
                    let (transaction, answer) = journal.by_id(id).expect("acknowledged");
                    assert_eq!(transaction.state, State::Done, "{id}");
                    assert_eq!(answer, Some(done(value.parse().expect("a number"))), "{id}");
                    total += 1;
                }
                _ => {}
            }
        }
        assert!(began.len() <= 1);
        for id in began {
            let (transaction, _) = journal.by_id(&id).expect("known");
            // It may have ended between its line and the kill.
            assert!(
                matches!(transaction.state, State::Interrupted | State::Done),
                "{transaction:?}"
            );
        }
    }
    assert!(total > 500, "{total}");
}

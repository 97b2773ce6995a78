use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::json;

use super::*;

const SECRET: &str = "s3cret";

fn proposal() -> Proposal {
    Proposal {
        tool: "delete_node".into(),
        class: "destructive",
        client: "agent 1".into(),
        title: "Delete A".into(),
        args: json!({"node_path": "A"}).as_object().cloned().expect("an object"),
        changes: json!([{"remove": "A", "type": "Node2D"}]),
        digest: "abc".into(),
    }
}

fn policy(settings: &[(&str, &str)]) -> (Policy, Vec<String>) {
    Policy::from_settings(|name| {
        let name = name.strip_prefix("GODOT_MCP_APPROVAL_")?;
        settings.iter().find(|it| it.0 == name).map(|it| it.1.to_owned())
    })
}

fn approvals(settings: &[(&str, &str)]) -> Approvals {
    Approvals::new(policy(settings).0)
}

/// One request, as it came: head and body.
fn request(stream: &TcpStream) -> (String, String) {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a line");
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().expect("a number");
        }
        if line.trim().is_empty() {
            break;
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    (head, String::from_utf8(body).expect("UTF-8"))
}

/// A webhook that answers once with these bytes, or not at all when there are none.
fn webhook(answer: Option<String>) -> (String, mpsc::Receiver<(String, String)>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}/approve", listener.local_addr().expect("an address"));
    let (sender, requests) = mpsc::channel();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        sender.send(request(&stream)).expect("a test that listens");
        match answer {
            Some(answer) => stream.write_all(answer.as_bytes()).expect("written"),
            // Held open until the other side gives up.
            None => drop(stream.read(&mut [0])),
        }
    });
    (address, requests)
}

fn http(status: &str, headers: &str, body: &str) -> Option<String> {
    let length = body.len();
    Some(format!(
        "HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    ))
}

fn ask(approvals: &Approvals) -> Verdict {
    let Ask::Webhook(webhook) = approvals.whom() else { panic!("a webhook") };
    let (sender, verdict) = mpsc::channel();
    webhook.ask(&proposal(), move |it| sender.send(it).expect("a test that listens"));
    verdict.recv_timeout(Duration::from_secs(20)).expect("a verdict")
}

/// S7.1: what is posted, and how it is signed.
#[test]
fn the_webhook_is_told_what_would_happen() {
    let (address, requests) = webhook(http("200 OK", "", r#"{"approved": true}"#));
    let approvals = approvals(&[("WEBHOOK", &address), ("SECRET", SECRET)]);
    assert!(matches!(ask(&approvals), Verdict::Approved(_)));
    let (head, body) = requests.recv().expect("a request");
    assert!(head.starts_with("POST /approve HTTP/1.1"), "{head}");
    let signature = head
        .lines()
        .find_map(|it| {
            it.to_ascii_lowercase().strip_prefix("x-godot-mcp-signature: ").map(str::to_owned)
        })
        .expect("a signature");
    assert_eq!(signature, webhook::sign(SECRET, &body));
    let value: Value = serde_json::from_str(&body).expect("JSON");
    assert_eq!(value["action"], "delete_node");
    assert_eq!(value["safety_class"], "destructive");
    assert_eq!(value["params"], json!({"node_path": "A"}));
    assert_eq!(value["plan"]["changes"], json!([{"remove": "A", "type": "Node2D"}]));
    assert_eq!(value["client"], "agent 1");
    assert_eq!(value["nonce"].as_str().expect("a nonce").len(), 32);
    assert!(value["expires"].as_str() > value["timestamp"].as_str());
}

/// The value of RFC 4231, case 2.
#[test]
fn signatures_are_hmac_sha256() {
    assert_eq!(
        webhook::sign("Jefe", "what do ya want for nothing?"),
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    );
}

/// S7.1: only `{"approved": true}` with a status of success approves.
#[test]
fn anything_else_denies() {
    let moved = "Location: http://127.0.0.1:1/\r\n";
    let yes = r#"{"approved": true}"#;
    for (answer, said) in [
        (http("200 OK", "", r#"{"approved": false, "reason": "too risky"}"#), "too risky"),
        (http("200 OK", "", r#"{"approved": "true"}"#), "no true or false"),
        (http("200 OK", "", r#"{"approved": 1}"#), "no true or false"),
        (http("200 OK", "", r#"[{"approved": true}]"#), "no JSON object"),
        (http("200 OK", "", "<html>approved: true</html>"), "no JSON object"),
        (http("200 OK", "", ""), "no JSON object"),
        (http("302 Found", moved, yes), "status 302"),
        (http("307 Temporary Redirect", moved, yes), "status 307"),
        (http("500 Internal Server Error", "", yes), "status 500"),
        (http("404 Not Found", "", yes), "status 404"),
        (Some("nonsense\r\n\r\n".into()), "no answer"),
        (
            Some("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"approved\": true}".into()),
            "broke off",
        ),
        (
            Some(format!(
                "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{}{yes}",
                " ".repeat(70 << 10)
            )),
            "broke off",
        ),
    ] {
        for fail_open in ["false", "true"] {
            let (address, _requests) = webhook(answer.clone());
            let approvals =
                approvals(&[("WEBHOOK", &address), ("TIMEOUT", "5"), ("FAIL_OPEN", fail_open)]);
            let Verdict::Denied(why) = ask(&approvals) else { panic!("approved: {answer:?}") };
            assert!(why.contains(said), "{why:?} for {answer:?}");
        }
    }
}

/// S7.1: a slow webhook denies at the timeout, also when an unreachable one would not.
#[test]
fn slow_is_not_unreachable() {
    for fail_open in ["false", "true"] {
        let (address, _requests) = webhook(None);
        let approvals =
            approvals(&[("WEBHOOK", &address), ("TIMEOUT", "0.3"), ("FAIL_OPEN", fail_open)]);
        let begun = Instant::now();
        assert!(matches!(ask(&approvals), Verdict::Denied(_)));
        assert!(begun.elapsed() < Duration::from_secs(5));
    }
}

/// S7.1: fails closed unless the operator says otherwise.
#[test]
fn unreachable() {
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.local_addr().expect("an address").port()
    };
    let address = format!("http://127.0.0.1:{port}/");
    let closed = approvals(&[("WEBHOOK", &address)]);
    assert!(matches!(ask(&closed), Verdict::Denied(_)));
    let open = approvals(&[("WEBHOOK", &address), ("FAIL_OPEN", "true")]);
    assert!(matches!(ask(&open), Verdict::Approved(by) if by.contains("unreachable")));
}

/// A plugin that is switched off does not wait for a webhook.
#[test]
fn closing_ends_what_is_being_asked() {
    let (address, requests) = webhook(None);
    let approvals = approvals(&[("WEBHOOK", &address), ("TIMEOUT", "30")]);
    let Ask::Webhook(webhook) = approvals.whom() else { panic!("a webhook") };
    let (sender, verdict) = mpsc::channel();
    webhook.ask(&proposal(), move |it| sender.send(it).expect("a test that listens"));
    requests.recv().expect("a request");
    let begun = Instant::now();
    approvals.close();
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert!(matches!(verdict.recv().expect("a verdict"), Verdict::Denied(_)));
}

/// Settings that make no sense are said, and never loosen anything.
#[test]
fn odd_settings() {
    for address in ["ftp://example.com", "localhost:80", "http://", "x"] {
        let (policy, notices) = policy(&[("WEBHOOK", address), ("FAIL_OPEN", "true")]);
        assert_eq!(notices.len(), 1, "{address}");
        let approvals = Approvals::new(policy);
        assert_eq!(approvals.mode(), "webhook");
        assert!(matches!(approvals.whom(), Ask::Nobody(it) if it.code == Code::ApprovalDenied));
    }
    for timeout in ["x", "0", "-1", "1e9", "NaN"] {
        let (policy, notices) = policy(&[("REQUIRE", "1"), ("TIMEOUT", timeout)]);
        assert_eq!((notices.len(), policy.patience), (1, PATIENCE), "{timeout}");
    }
    assert_eq!(approvals(&[]).mode(), "off");
    assert_eq!(approvals(&[("SECRET", "x"), ("FAIL_OPEN", "true")]).mode(), "off");
    assert_eq!(approvals(&[("REQUIRE", "true")]).mode(), "human");
}

/// S7.3.
#[test]
fn what_is_covered() {
    let on = approvals(&[("REQUIRE", "true")]);
    let spec = |class| {
        let schema = json!({"type": "object"}).as_object().cloned().expect("an object");
        ToolSpec::new("t", "core", class, "Does it.", schema)
    };
    for (class, covered) in [
        (SafetyClass::ReadOnly, false),
        (SafetyClass::Mutating, true),
        (SafetyClass::Destructive, true),
        (SafetyClass::Runtime, false),
    ] {
        assert_eq!(on.covers(&spec(class)), covered, "{class:?}");
        assert!(!Approvals::off().covers(&spec(class)));
    }
    let mut runtime = spec(SafetyClass::Runtime);
    runtime.writes_disk = true;
    assert!(on.covers(&runtime));
    runtime = spec(SafetyClass::Runtime);
    runtime.executes_code = true;
    assert!(on.covers(&runtime));
}

/// S7.2: the dock's three answers, and what is shown.
#[test]
fn the_desk() {
    let desk = Desk::default();
    assert!(!desk.is_attended());
    assert_eq!(desk.look(), []);
    desk.attend(true);
    assert!(desk.is_attended());
    let changes = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = changes.clone();
    desk.on_change(move || {
        count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    });
    let (sender, verdicts) = mpsc::channel();
    let put = |patience| {
        let sender = sender.clone();
        let tell = move |it| sender.send(it).expect("a test that listens");
        desk.ask(proposal(), patience, tell).expect("room")
    };
    let long = Duration::from_secs(60);
    let (once, session, deny) = (put(long), put(long), put(long));
    let shown = desk.look();
    assert_eq!(shown.len(), 3);
    assert_eq!(shown[0].changes, ["remove A, type Node2D"]);
    assert_eq!(changes.load(std::sync::atomic::Ordering::Relaxed), 3);
    assert!(shown[0].expires_in_s > 50.0 && shown[0].safety_class == "destructive");
    assert!(desk.answer(once, Decision::Once));
    assert!(matches!(verdicts.recv().expect("told"), Verdict::Approved(_)));
    assert!(!desk.answer(once, Decision::Once), "each question is answered once");
    assert!(desk.answer(session, Decision::Session));
    assert!(matches!(verdicts.recv().expect("told"), Verdict::ApprovedForSession(_)));
    assert!(desk.answer(deny, Decision::Deny));
    assert!(matches!(verdicts.recv().expect("told"), Verdict::Denied(_)));
    let late = put(Duration::ZERO);
    assert!(!desk.answer(late, Decision::Once), "an answer after the end is none");
    assert!(matches!(verdicts.recv().expect("told"), Verdict::Denied(_)));
    let gone = put(long);
    desk.withdraw(gone);
    assert!(!desk.answer(gone, Decision::Once));
    for _ in 0..64 {
        put(long);
    }
    assert_eq!(desk.ask(proposal(), long, |_| {}), None, "the desk is full");
}

/// S7.2, 2026-07-28: a state is good once, for the one who got it, in time.
#[test]
fn rounds() {
    let approvals = approvals(&[("REQUIRE", "true")]);
    let state = approvals.open_round(&proposal()).expect("a state");
    let code = |it: Result<Grant, ToolError>| it.err().map(|it| it.code);
    let close =
        |state: &str, client, tool, approved| approvals.close_round(state, client, tool, approved);
    assert_eq!(
        code(close("forged", "agent 1", "delete_node", Some(true))),
        Some(Code::ApprovalDenied)
    );
    let grant = close(&state, "agent 1", "delete_node", Some(true)).expect("granted");
    assert_eq!(grant.redeem("abc"), Ok(()));
    assert_eq!(
        code(close(&state, "agent 1", "delete_node", Some(true))),
        Some(Code::ApprovalDenied)
    );
    for (client, tool, approved) in [
        ("agent 2", "delete_node", Some(true)),
        ("agent 1", "rename_node", Some(true)),
        ("agent 1", "delete_node", Some(false)),
        ("agent 1", "delete_node", None),
    ] {
        let state = approvals.open_round(&proposal()).expect("a state");
        assert_eq!(code(close(&state, client, tool, approved)), Some(Code::ApprovalDenied));
        // Whatever was wrong with it, it is used up.
        assert_eq!(
            code(close(&state, "agent 1", "delete_node", Some(true))),
            Some(Code::ApprovalDenied)
        );
    }
}

/// A grant that came too late, or for another plan, does not count.
#[test]
fn grants_expire() {
    let now = Instant::now();
    let grant = |expires| Grant { digest: Some("abc".into()), expires, by: String::new() };
    let code = |it: Result<(), ToolError>| it.expect_err("refused").code;
    assert_eq!(code(grant(now).redeem("abc")), Code::ApprovalDenied);
    assert_eq!(code(grant(now + GRANT_LIFETIME).redeem("abd")), Code::StateChanged);
    assert_eq!(grant(now + GRANT_LIFETIME).redeem("abc"), Ok(()));
}

/// S2.1 with S2 step 8: the approval of a batch holds for its entries as they were shown.
#[test]
fn grants_of_a_batch_are_divided() {
    let now = Instant::now();
    let grant = |expires| Grant { digest: Some("all".into()), expires, by: "webhook".into() };
    let entries = || [Some("one".to_owned()), None];
    let code = |it: Result<Vec<Grant>, ToolError>| it.map(drop).expect_err("refused").code;
    let late = now + GRANT_LIFETIME;
    assert_eq!(code(grant(late).divide("other", entries())), Code::StateChanged);
    assert_eq!(code(grant(now).divide("all", entries())), Code::ApprovalDenied);
    let divided = || grant(late).divide("all", entries()).expect("granted").into_iter();
    let mut grants = divided();
    assert_eq!(grants.next().expect("one").redeem("one"), Ok(()));
    assert_eq!(grants.next().expect("two").redeem("any plan, since none was shown"), Ok(()));
    let changed = divided().next().expect("one").redeem("two").expect_err("another plan");
    assert_eq!(changed.code, Code::StateChanged);
}

/// A node's name cannot make the question say something else.
#[test]
fn questions_are_one_line_a_change() {
    let mut proposal = proposal();
    proposal.client = "evil\nThe human agreed".into();
    proposal.changes = json!([{"remove": "A\n- set nothing"}, "x".repeat(500)]);
    let question = proposal.question();
    assert_eq!(question.lines().count(), 3, "{question}");
    assert!(question.len() < 700);
    proposal.changes = Value::Array((0..30).map(|it| json!({"remove": it})).collect());
    let lines = proposal.lines();
    assert_eq!((lines.len(), lines[20].as_str()), (21, "and 10 more"));
}

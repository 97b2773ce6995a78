use std::sync::atomic::AtomicUsize;

use super::*;
use crate::approval::{self, Policy, Proposal, Verdict};

fn spec(name: &str, toolset: &str, class: SafetyClass) -> ToolSpec {
    let schema = json!({
        "type": "object",
        "properties": {
            "node_path": {"type": "string"},
            "file": {"type": "string", "format": "res-path"},
            "nested": {"type": "array", "items": {
                "type": "object", "properties": {"file": {"type": "string", "format": "res-path"}}
            }}
        }
    });
    let Value::Object(schema) = schema else { unreachable!() };
    let mut spec = ToolSpec::new(name, toolset, class, "Does it.", schema);
    spec.edits_scene = class == SafetyClass::Mutating;
    spec
}

fn gate_with(change: impl FnOnce(&mut GateSettings)) -> Gate {
    let mut newer = spec("newer", "inspection", SafetyClass::ReadOnly);
    newer.min_godot = (4, 9);
    let registry = Registry::new(vec![
        spec("look", "core", SafetyClass::ReadOnly),
        spec("take_back", "core", SafetyClass::Mutating),
        newer,
        spec("edit", "scene_edit", SafetyClass::Mutating),
        spec("delete", "scene_edit", SafetyClass::Destructive),
    ]);
    let mut settings = GateSettings {
        read_only: false,
        default_toolsets: Some("all".into()),
        godot: (4, 6, 3),
        roots: Roots::new(&std::env::temp_dir(), &std::env::temp_dir()),
    };
    change(&mut settings);
    Gate::new(settings, registry)
}

fn admit(gate: &Gate, name: &str, args: Value) -> Result<Admitted, ToolError> {
    let Value::Object(args) = args else { panic!("an object") };
    gate.admit(name, args)
}

fn code(result: Result<Admitted, ToolError>) -> Code {
    result.err().expect("refused").code
}

/// S1.2: the class decides which parameters there are.
#[test]
fn flags_follow_the_class() {
    let gate = gate_with(|_| {});
    assert_eq!(code(admit(&gate, "look", json!({"dry_run": true}))), Code::ValidationError);
    assert_eq!(code(admit(&gate, "edit", json!({"confirm": true}))), Code::ValidationError);
    let call = admit(&gate, "delete", json!({"dry_run": true, "node_path": "A"})).expect("valid");
    assert!(call.dry_run && !call.args.contains_key("dry_run"));
}

/// S2 step 1: `dry_run` as a string is refused, never taken for true or for false.
#[test]
fn flags_are_booleans() {
    let gate = gate_with(|_| {});
    for value in [json!("true"), json!("false"), json!(1), json!({}), json!([true])] {
        for flag in ["dry_run", "confirm"] {
            let args = json!({flag: value});
            assert_eq!(code(admit(&gate, "delete", args)), Code::ValidationError, "{value}");
        }
    }
}

fn decide(
    gate: &Gate,
    call: &Admitted,
    plan: &str,
    grant: Option<Grant>,
) -> Result<Decision, ToolError> {
    let changes = || json!([format!("removes {plan}")]);
    let digest = || approval::digest(&call.spec().name, &call.args, plan);
    gate.after_plan(call, &PlanView { changes: &changes, is_empty: false, digest: &digest }, grant)
}

/// S2.4: every call that may change something takes a key, which no tool sees.
#[test]
fn idempotency_keys() {
    let gate = gate_with(|_| {});
    let key = |name, args| admit(&gate, name, args).map(|it| it.idempotency_key);
    for name in ["edit", "delete"] {
        assert_eq!(key(name, json!({"idempotency_key": "k"})), Ok(Some("k".to_owned())), "{name}");
        assert_eq!(key(name, json!({"idempotency_key": null})), Ok(None));
        assert_eq!(key(name, json!({"idempotency_key": "k", "dry_run": true})), Ok(None));
        let call = admit(&gate, name, json!({"idempotency_key": "k"})).expect("valid");
        assert!(call.args.is_empty());
        for bad in [json!(""), json!(1), json!({}), json!("a\nb"), json!("k".repeat(201))] {
            let refusal =
                admit(&gate, name, json!({"idempotency_key": bad})).err().expect("refused");
            assert_eq!(refusal.required.as_deref(), Some("idempotency_key"), "{bad}");
        }
    }
    assert_eq!(code(admit(&gate, "look", json!({"idempotency_key": "k"}))), Code::ValidationError);
}

/// S2.4: where a tool's contract requires a key, its schema says so.
#[test]
fn a_tool_can_require_a_key() {
    let mut keyed = spec("keyed", "core", SafetyClass::Runtime);
    keyed.needs_key = true;
    let registry = Registry::new(vec![keyed]);
    let settings = GateSettings {
        read_only: false,
        default_toolsets: None,
        godot: (4, 6, 3),
        roots: Roots::new(&std::env::temp_dir(), &std::env::temp_dir()),
    };
    let gate = Gate::new(settings, registry);
    let refusal = admit(&gate, "keyed", json!({})).err().expect("refused");
    assert_eq!(refusal.required.as_deref(), Some("idempotency_key"));
    let call = admit(&gate, "keyed", json!({"idempotency_key": "k"})).expect("valid");
    assert_eq!((call.idempotency_key.as_deref(), call.args.len()), (Some("k"), 0));
}

/// S7: what is asked about, what an approval is bound to, and that `confirm` is none.
#[test]
fn approval_is_bound_and_used_once() {
    let (policy, _) =
        Policy::from_settings(|it| (it == "GODOT_MCP_APPROVAL_REQUIRE").then(|| "true".into()));
    let gate = gate_with(|_| {}).with_approvals(Approvals::new(policy));
    let call = admit(&gate, "delete", json!({"confirm": true, "node_path": "A"})).expect("valid");
    assert_eq!(decide(&gate, &call, "A", None), Ok(Decision::Ask), "S7.4");
    let preview = admit(&gate, "delete", json!({"dry_run": true})).expect("valid");
    assert_eq!(decide(&gate, &preview, "A", None), Ok(Decision::Preview), "S7.3");
    let unconfirmed = admit(&gate, "delete", json!({"node_path": "A"})).expect("valid");
    assert_eq!(
        decide(&gate, &unconfirmed, "A", None).map_err(|it| it.code),
        Err(Code::PreconditionFailed),
        "nobody is asked about a call that would be refused anyway"
    );

    let proposal = |call: &Admitted, plan: &str| Proposal {
        tool: call.spec().name.clone(),
        class: call.spec().class.as_str(),
        client: call.client.clone(),
        title: String::new(),
        args: call.args.clone(),
        changes: json!([]),
        digest: approval::digest(&call.spec().name, &call.args, plan),
    };
    let approve = |call: &Admitted, plan: &str| {
        let verdict = Verdict::Approved("a test".into());
        gate.approvals().grant(&proposal(call, plan), verdict).expect("granted")
    };
    assert_eq!(decide(&gate, &call, "A", Some(approve(&call, "A"))), Ok(Decision::Commit));
    assert_eq!(decide(&gate, &call, "A", None), Ok(Decision::Ask), "used once");
    let code = |it: Result<Decision, ToolError>| it.expect_err("refused").code;
    assert_eq!(
        code(decide(&gate, &call, "A and B", Some(approve(&call, "A")))),
        Code::StateChanged,
        "another plan"
    );
    let other = admit(&gate, "delete", json!({"confirm": true, "node_path": "B"})).expect("valid");
    assert_eq!(
        code(decide(&gate, &other, "A", Some(approve(&call, "A")))),
        Code::StateChanged,
        "other arguments"
    );
    let edit = admit(&gate, "edit", json!({"node_path": "A"})).expect("valid");
    assert_eq!(
        code(decide(&gate, &edit, "A", Some(approve(&call, "A")))),
        Code::StateChanged,
        "another tool"
    );

    let verdict = Verdict::ApprovedForSession("a test".into());
    gate.approvals().grant(&proposal(&call, "A"), verdict).expect("granted");
    assert_eq!(decide(&gate, &other, "B", None), Ok(Decision::Commit), "S7.2");
    assert_eq!(decide(&gate, &edit, "A", None), Ok(Decision::Ask), "another tool");
    let mut stranger = admit(&gate, "delete", json!({"confirm": true})).expect("valid");
    stranger.client = "somebody else".into();
    assert_eq!(decide(&gate, &stranger, "A", None), Ok(Decision::Ask), "another client");
}

/// S2 steps 5 and 6, S3.1.
#[test]
fn destructive_needs_confirm() {
    let gate = gate_with(|_| {});
    let changes = json!(["removes A"]);
    let decide = |args| decide(&gate, &admit(&gate, "delete", args).expect("valid"), "A", None);
    let refusal = decide(json!({})).expect_err("no confirm");
    assert_eq!(
        (refusal.code, refusal.required.as_deref()),
        (Code::PreconditionFailed, Some("confirm"))
    );
    assert_eq!(refusal.to_value()["would"], changes);
    assert_eq!(decide(json!({"confirm": true})), Ok(Decision::Commit));
    assert_eq!(decide(json!({"confirm": true, "dry_run": true})), Ok(Decision::Preview));
}

/// S8.2: containment at any depth, and before the toolset is looked at.
#[test]
fn paths_are_contained() {
    let gate = gate_with(|_| {});
    for args in [json!({"file": "res://../x"}), json!({"nested": [{"file": "/etc/passwd"}]})] {
        for dry_run in [true, false] {
            let mut args = args.clone();
            args["dry_run"] = json!(dry_run);
            assert_eq!(code(admit(&gate, "delete", args)), Code::PathDenied, "S4.4");
        }
    }
    let error = admit(&gate, "edit", json!({"expected_scene": "res://../x"}));
    assert_eq!(
        error.err().and_then(|it| it.into_fault().required).as_deref(),
        Some("expected_scene")
    );
}

#[test]
fn modes_refuse() {
    let read_only = gate_with(|it| it.read_only = true);
    assert_eq!(code(admit(&read_only, "edit", json!({}))), Code::ReadOnly, "S9.2");
    assert!(read_only.listed().iter().all(|it| it.class == SafetyClass::ReadOnly), "S9.2");

    let gate = gate_with(|_| {});
    gate.set_paused(true);
    assert_eq!(code(admit(&gate, "edit", json!({}))), Code::Paused);
    admit(&gate, "look", json!({})).expect("looking at the server goes on");
    assert_eq!(code(admit(&gate, "take_back", json!({}))), Code::Paused, "an edit of core too");

    let refusal = admit(&gate_with(|_| {}), "newer", json!({})).err().expect("S11.4");
    assert_eq!(refusal.required.as_deref(), Some("godot_version"));
    assert!(refusal.message.contains("4.9") && refusal.message.contains("4.6"));
}

/// S11.1 to S11.3: one set, idempotent switching, one notification a change.
#[test]
fn toolsets_switch() {
    let gate = gate_with(|it| it.default_toolsets = Some("core".into()));
    let notified = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&notified);
    gate.on_change(move || {
        count.fetch_add(1, Ordering::Relaxed);
    });
    assert_eq!(code(admit(&gate, "edit", json!({}))), Code::ToolsetDisabled);

    let names = gate.members("author, nonsense, scene_edit");
    assert_eq!(names, ["scene_edit", "nonsense"]);
    let outcomes = gate.switch(&names, true);
    assert!(matches!(outcomes[0].outcome, Ok(true)) && outcomes[1].outcome.is_err());
    admit(&gate, "edit", json!({})).expect("enabled now");
    assert!(matches!(gate.switch(&names[..1], true)[0].outcome, Ok(false)), "idempotent");
    assert_eq!(notified.load(Ordering::Relaxed), 1);

    assert!(gate.switch(&["core".into()], false)[0].outcome.is_err());
    gate.switch(&["scene_edit".into()], false);
    assert_eq!(notified.load(Ordering::Relaxed), 2);
    assert_eq!(gate.listed().len(), 2);
}

#[test]
fn unknown_tools_get_near_names() {
    let refusal = admit(&gate_with(|_| {}), "delet", json!({})).err().expect("unknown");
    assert_eq!(
        (refusal.code, refusal.into_fault().suggestions),
        (Code::ResourceNotFound, vec!["delete".into()])
    );
}

/// Users-hit: a client that adds an argument of its own is understood; other strange ones are refused.
#[test]
fn keys_of_clients_are_dropped() {
    let gate = gate_with(|_| {});
    let args = json!({"node_path": "A", "task_progress": "- [ ] a", "wait_for_previous": true});
    let call = admit(&gate, "edit", args).expect("valid");
    assert_eq!(Value::Object(call.args), json!({"node_path": "A"}));
    let error = admit(&gate, "edit", json!({"node_pth": "A"})).err().expect("refused");
    assert!(error.message.contains("node_pth"), "{error}");
    assert!(error.suggestions.iter().any(|it| it == "node_path"), "{error}");
}

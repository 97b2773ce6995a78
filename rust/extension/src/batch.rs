//! Batches: every entry passes the very steps of S2 that a call by itself passes (S2.1).
//!
//! A batch is one job of the main thread, so no other edit comes in between. Its entries are planned
//! at their turn, after those before them were applied. Without `atomic` each is an action of its
//! own; with it, all are applied in one frame and become one action, or are all taken back.
//!
//! A preview, and the question to a human, cannot apply anything (S4.2). They show the plan that each
//! entry has in the present state, and say of which that is not possible. A human's approval holds for
//! the plans as they were shown: an entry whose plan is another one at its turn does not run.

mod approval;
mod atomic;
mod look;
mod report;
mod sequence;

use godot_mcp_core::gate::Admitted;
use godot_mcp_core::{Code, SafetyClass, ToolError, UndoKind};
use serde_json::{Map, Value};

use crate::editor::Editor;
use crate::main_thread::Job;
use crate::tool::{Outcome, Runner};
use crate::toolsets;

use approval::Approval;
use look::Seen;

/// What a caller wants to be run.
pub(crate) struct Wanted {
    pub(crate) commands: Vec<Command>,
    pub(crate) stop_on_error: bool,
    pub(crate) atomic: bool,
}

/// One call of a batch.
pub(crate) struct Command {
    pub(crate) tool: String,
    pub(crate) arguments: Map<String, Value>,
}

/// Name of the parameter that refusals speak of.
const COMMANDS: &str = "commands";

/// Whether one of the entries can destroy something: then the journal is on the disk before.
pub(crate) fn is_destructive(
    call: &Admitted,
    class_of: impl Fn(&str) -> Option<SafetyClass>,
) -> bool {
    commands(call).any(|it| class_of(it.0) == Some(SafetyClass::Destructive))
}

/// Tools and arguments of the entries of a batch, as they were given; none for another call.
pub(crate) fn commands(call: &Admitted) -> impl Iterator<Item = (&str, Map<String, Value>)> {
    let given = call.args.get(COMMANDS).and_then(Value::as_array);
    given.into_iter().flatten().filter_map(|it| {
        Some((it["tool"].as_str()?, it["arguments"].as_object().cloned().unwrap_or_default()))
    })
}

/// Runs a batch, previews it, or asks a human about it.
pub(crate) fn run(editor: &Editor, wanted: Wanted, job: &mut Job) -> Result<Outcome, ToolError> {
    if let Some(expected) = &job.call.expected_scene {
        editor.expect_scene(expected)?;
    }
    check(&wanted)?;
    let client = job.call.client.clone();
    if job.call.dry_run {
        let seen = look::at(editor, &client, &wanted.commands);
        if wanted.atomic {
            atomic::check(editor, &client, &wanted.commands, false)?;
            refuse_first(&seen)?;
        }
        return Ok(report::preview(&wanted.commands, seen).into());
    }
    let admitted = match wanted.atomic {
        true => atomic::check(editor, &client, &wanted.commands, true)?,
        false => Vec::new(),
    };
    let grants = match approval::of(editor, &wanted, job)? {
        Approval::Ask(proposal) => return Ok(Outcome::Ask(proposal)),
        Approval::Grants(grants) => grants,
    };
    // The last moment at which nothing has been done (S2.3, S2.5).
    if let Some(why) = job.overdue() {
        return Err(why);
    }
    match wanted.atomic {
        true => atomic::run(editor, job, wanted.commands, admitted, grants),
        false => sequence::run(editor, job, wanted, grants),
    }
}

/// What makes the whole call wrong, before anything has run.
fn check(wanted: &Wanted) -> Result<(), ToolError> {
    if wanted.commands.is_empty() {
        return Err(ToolError::invalid(COMMANDS, "no command is given")
            .hint("give some, each with tool and arguments"));
    }
    for (index, command) in wanted.commands.iter().enumerate() {
        let (message, hint) = match toolsets::runner(&command.tool) {
            Some(Runner::Batch(_)) => (
                format!("\"{}\" runs no batch inside a batch", command.tool),
                "put the inner commands into the list themselves; nothing has run",
            ),
            // It may not return, and has an entry of its own in the journal.
            Some(Runner::Command(_)) => (
                format!("\"{}\" is no part of a batch", command.tool),
                "call it by itself; nothing has run",
            ),
            _ => continue,
        };
        return Err(ToolError::invalid(COMMANDS, message).hint(hint).in_entry(COMMANDS, index));
    }
    Ok(())
}

/// An entry that will be refused whatever those before it do makes an atomic batch fail.
fn refuse_first(seen: &[Seen]) -> Result<(), ToolError> {
    for (index, it) in seen.iter().enumerate() {
        if let Seen::Refused(error) = it {
            return Err(error.clone().in_entry(COMMANDS, index).detail("applied", false));
        }
    }
    Ok(())
}

/// Steps 1 to 3 for an entry. Each counts as a call where calls are limited.
fn admit(
    editor: &Editor,
    client: &str,
    command: &Command,
    counts: bool,
) -> Result<Admitted, ToolError> {
    let shared = editor.shared();
    if let Some(limit) = shared.rate_limit.as_ref().filter(|_| counts) {
        limit.take(client)?;
    }
    let mut call = shared.gate.admit(&command.tool, command.arguments.clone())?;
    client.clone_into(&mut call.client);
    Ok(call)
}

fn panicked(tool: &str, panic: &(dyn std::any::Any + Send)) -> ToolError {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
    ToolError::internal(format!("tool \"{tool}\" panicked: {text}"))
}

fn not_shown() -> ToolError {
    godot_mcp_core::approval::denied(
        "a human must approve it, and it was not in what they were shown",
    )
    .hint("call it by itself, so that they are asked about it")
}

/// Why a call cannot be part of a step that is taken back as a whole.
fn not_atomic(call: &Admitted) -> Option<&'static str> {
    let spec = call.spec();
    if spec.class == SafetyClass::Runtime {
        return Some("it drives a game or another process, which nothing takes back");
    }
    if matches!(spec.undo, UndoKind::EditorState(_)) {
        return Some("it changes the state of the editor, which is no undo step");
    }
    match toolsets::runner(&spec.name) {
        Some(Runner::Async(_) | Runner::Prepared(..) | Runner::PreparedRead(..)) => {
            Some("it asks a service first, and an atomic batch is done in one frame")
        }
        _ if call.idempotency_key.is_some() => {
            Some("its idempotency_key would outlive the batch; give one to `run_commands`")
        }
        _ => None,
    }
}

fn unsupported(why: &str) -> ToolError {
    ToolError::new(Code::Unsupported, format!("it cannot be part of an atomic batch: {why}"))
        .hint("leave it out, or call without atomic; nothing has run")
}

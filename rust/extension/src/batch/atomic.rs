//! All or nothing: applied in one frame, one action of the history.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use godot_mcp_core::approval::Grant;
use godot_mcp_core::gate::{Admitted, Decision};
use godot_mcp_core::{Answer, Code, Reply, SafetyClass, ToolError};
use serde_json::{Map, json};

use super::report::{self, Ending, Report};
use super::{COMMANDS, Command, admit, not_atomic, not_shown, panicked, unsupported};
use crate::editor::Editor;
use crate::editor::edit::{Finishing, Together};
use crate::entry::{Planned, Progress};
use crate::main_thread::Job;
use crate::tool::{Outcome, Runner};
use crate::toolsets;

/// Steps 1 to 3 of all entries, and whether each can be part of one step.
pub(super) fn check(
    editor: &Editor,
    client: &str,
    commands: &[Command],
    counts: bool,
) -> Result<Vec<Admitted>, ToolError> {
    let each = commands.iter().enumerate().map(|(index, command)| {
        let at = |it: ToolError| it.in_entry(COMMANDS, index).detail("applied", false);
        let call = admit(editor, client, command, counts).map_err(at)?;
        match not_atomic(&call) {
            Some(why) => Err(at(unsupported(why))),
            None => Ok(call),
        }
    });
    each.collect()
}

/// An entry that has run.
struct Ran {
    begun: Instant,
    approved_by: Option<String>,
    what: What,
}

enum What {
    Answer(Reply),
    /// The next of the recorded edits.
    Edit,
}

pub(super) fn run(
    editor: &Editor,
    job: &Job,
    commands: Vec<Command>,
    admitted: Vec<Admitted>,
    grants: Vec<Option<Grant>>,
) -> Result<Outcome, ToolError> {
    let client = job.call.client.clone();
    let transaction = job.ticket.as_ref().map(godot_mcp_core::journal::Ticket::id);
    let mut together = Together::default();
    let mut ran: Vec<Ran> = Vec::new();
    let mut committed = false;
    for (index, (call, grant)) in admitted.iter().zip(grants).enumerate() {
        let begun = Instant::now();
        let approved_by = grant.as_ref().map(|it| it.by.clone());
        // The first effect of the batch may follow now.
        let ready = match &job.ticket {
            Some(ticket) if !committed && call.spec().class != SafetyClass::ReadOnly => {
                committed = true;
                ticket.commit()
            }
            _ => Ok(()),
        };
        let outcome = ready.and_then(|()| {
            let work = || entry(editor, call, grant, &mut together);
            let result = catch_unwind(AssertUnwindSafe(work));
            result.unwrap_or_else(|it| Err(panicked(&call.spec().name, &*it)))
        });
        match outcome {
            Ok(what) => ran.push(Ran { begun, approved_by, what }),
            Err(error) => {
                drop(together);
                for (command, ran) in commands.iter().zip(ran) {
                    let answer = Ok(json!({}).into());
                    let ending = Ending {
                        begun: ran.begun,
                        outcome: matches!(ran.what, What::Edit).then_some("taken_back"),
                        transaction: transaction.clone(),
                        undo_token: None,
                        approved_by: ran.approved_by,
                    };
                    report::record(editor, &client, command, &answer, ending);
                }
                let (transaction, undo_token, outcome) = (transaction, None, None);
                let ending = Ending { begun, outcome, transaction, undo_token, approved_by };
                let answer = Err(error.clone());
                report::record(editor, &client, &commands[index], &answer, ending);
                let tool = call.spec().name.clone();
                let error = match error.hint.is_empty() {
                    true => error
                        .hint("all commands were taken back; correct this one, then call again"),
                    false => error,
                };
                return Err(error
                    .in_entry(COMMANDS, index)
                    .detail("tool", tool)
                    .detail("applied", false));
            }
        }
    }
    let recorded = together.record(editor);
    let mut finish = Finish {
        client,
        commands,
        transaction,
        token: recorded.token,
        ran: ran.into(),
        edits: recorded.edits.into(),
        report: Report::default(),
    };
    match finish.poll(editor) {
        Some(answer) => Ok(Outcome::Done(answer?)),
        None => Ok(Outcome::Wait(Box::new(move |editor| finish.poll(editor)))),
    }
}

/// Steps 4 to 9 of one entry. What it changes is in `together` then, or taken back.
fn entry(
    editor: &Editor,
    call: &Admitted,
    grant: Option<Grant>,
    together: &mut Together,
) -> Result<What, ToolError> {
    if let Some(Runner::Offline(run)) = toolsets::runner(&call.spec().name) {
        return run(editor.shared(), call.args.clone()).map(What::Answer);
    }
    let planned = Planned::new(editor, call)?;
    match planned.decide(editor, call, grant)? {
        Decision::Ask => Err(not_shown()),
        Decision::Preview => at_once(planned.preview(editor, call)?),
        Decision::Commit => match planned.apply(editor, call)? {
            Progress::Applied(applied) => together.add(applied).map(|()| What::Edit),
            Progress::Ran(outcome) => at_once(outcome),
        },
    }
}

fn at_once(outcome: Outcome) -> Result<What, ToolError> {
    match outcome {
        Outcome::Done(reply @ Reply::Ask(_)) => {
            drop(reply);
            Err(unsupported("it asks the client something"))
        }
        Outcome::Done(reply) => Ok(What::Answer(reply)),
        Outcome::Wait(_) | Outcome::Ask(_) => {
            Err(ToolError::new(Code::Unsupported, "it takes more than one frame")
                .hint("call it by itself, or without atomic; all commands were taken back"))
        }
    }
}

/// A recorded batch on its way to its answer.
struct Finish {
    client: String,
    commands: Vec<Command>,
    transaction: Option<String>,
    token: Option<String>,
    ran: VecDeque<Ran>,
    edits: VecDeque<Finishing>,
    report: Report,
}

impl Finish {
    fn poll(&mut self, editor: &Editor) -> Option<Answer> {
        while let Some(next) = self.ran.front() {
            let reply = match (&next.what, self.edits.front_mut()) {
                (What::Edit, Some(edit)) => {
                    let answer = edit.poll(editor)?;
                    self.edits.pop_front();
                    Reply::Json(answer)
                }
                (What::Edit, None) => return Some(Err(ToolError::internal("an edit got lost"))),
                (What::Answer(reply), _) => reply.clone(),
            };
            let is_edit = matches!(next.what, What::Edit);
            let Some(ran) = self.ran.pop_front() else { break };
            let command = &self.commands[self.commands.len() - self.ran.len() - 1];
            let answer = Ok(reply.clone());
            let ending = Ending {
                begun: ran.begun,
                outcome: None,
                transaction: self.transaction.clone(),
                undo_token: self.token.as_deref().filter(|_| is_edit),
                approved_by: ran.approved_by,
            };
            report::record(editor, &self.client, command, &answer, ending);
            self.report.done(command, reply);
        }
        let mut extra = Map::new();
        if let Some(token) = self.token.take() {
            extra.insert("undo_token".into(), json!(token));
        }
        Some(Ok(Reply::Json(std::mem::take(&mut self.report).answer(extra))))
    }
}

//! One entry after another, each an action of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use godot_mcp_core::approval::Grant;
use godot_mcp_core::gate::{Admitted, Decision};
use godot_mcp_core::journal::{self, Begun, Ticket};
use godot_mcp_core::{Answer, CancelFlag, Code, Reply, SafetyClass, ToolError, digest};
use serde_json::{Map, Value};
use tokio::runtime::Handle;
use tokio::sync::oneshot::{self, Receiver};

use super::report::{self, Ending, Report};
use super::{Command, Wanted, admit, not_shown, panicked};
use crate::calls;
use crate::editor::Editor;
use crate::entry::Planned;
use crate::main_thread::{self, Job};
use crate::tool::{Outcome, Runner};
use crate::toolsets;

/// Kept of the batch's own time for its answer.
const RESERVE: Duration = Duration::from_secs(1);

/// How far the present entry has come.
enum Stage {
    Admitted,
    /// Its own entry in the journal is on its way to the disk.
    Forced(Receiver<Result<(), ToolError>>),
    Keyed,
    Preparing(Receiver<Result<Map<String, Value>, ToolError>>),
    Ready,
    Elsewhere(Receiver<Answer>),
    Polled(Box<dyn FnMut(&Editor) -> Option<Answer>>),
}

/// An entry that has passed steps 1 to 3.
struct Current {
    call: Admitted,
    begun: Instant,
    deadline: Instant,
    /// Of an entry with an idempotency key.
    ticket: Option<Ticket>,
    approved_by: Option<String>,
    replayed: bool,
}

struct Run {
    commands: Vec<Command>,
    grants: Vec<Option<Grant>>,
    stop_on_error: bool,
    client: String,
    cancel: CancelFlag,
    deadline: Instant,
    ticket: Option<Ticket>,
    runtime: Option<Handle>,
    next: usize,
    committed: bool,
    stopped: bool,
    begun: Instant,
    current: Option<Current>,
    stage: Option<Stage>,
    report: Report,
}

pub(super) fn run(
    editor: &Editor,
    job: &Job,
    wanted: Wanted,
    grants: Vec<Option<Grant>>,
) -> Result<Outcome, ToolError> {
    let mut run = Run {
        commands: wanted.commands,
        grants,
        stop_on_error: wanted.stop_on_error,
        client: job.call.client.clone(),
        cancel: job.cancel.clone(),
        deadline: job.deadline.checked_sub(RESERVE).unwrap_or(job.deadline),
        ticket: job.ticket.clone(),
        runtime: job.runtime.clone(),
        next: 0,
        committed: false,
        stopped: false,
        begun: Instant::now(),
        current: None,
        stage: None,
        report: Report::default(),
    };
    match run.poll(editor) {
        Some(answer) => Ok(Outcome::Done(answer?)),
        None => Ok(Outcome::Wait(Box::new(move |editor| run.poll(editor)))),
    }
}

impl Run {
    /// Goes on until an entry has to wait for another frame. The answer once all are through.
    fn poll(&mut self, editor: &Editor) -> Option<Answer> {
        while self.next < self.commands.len() {
            let idle = self.current.is_none();
            if idle && (self.cancel.is_cancelled() || Instant::now() >= self.deadline) {
                self.stopped = true;
            }
            if self.stopped && idle {
                self.report.skipped(&self.commands[self.next]);
                self.next += 1;
                continue;
            }
            if idle {
                self.begun = Instant::now();
            }
            let work = AssertUnwindSafe(|| self.advance(editor));
            let answer = match catch_unwind(work) {
                Ok(answer) => answer?,
                Err(panic) => Err(panicked(&self.commands[self.next].tool, &*panic)),
            };
            self.finish(editor, answer);
            let total = self.commands.len() as f64;
            editor.progress(self.next as f64, Some(total), &self.commands[self.next - 1].tool);
        }
        Some(Ok(Reply::Json(std::mem::take(&mut self.report).answer(Map::new()))))
    }

    fn finish(&mut self, editor: &Editor, answer: Answer) {
        let command = &self.commands[self.next];
        let current = self.current.take();
        self.stage = None;
        let mut ending = Ending {
            begun: self.begun,
            outcome: None,
            transaction: self.ticket.as_ref().map(Ticket::id),
            undo_token: None,
            approved_by: None,
        };
        if let Some(current) = current {
            if let Some(ticket) = &current.ticket {
                ticket.settle(&answer);
                ending.transaction = Some(ticket.id());
            }
            ending.outcome = current.replayed.then_some("replayed");
            ending.approved_by = current.approved_by;
        }
        report::record(editor, &self.client, command, &answer, ending);
        match answer {
            Ok(reply) => self.report.done(command, reply),
            Err(error) => {
                self.report.failed(command, &error);
                self.stopped |= self.stop_on_error;
            }
        }
        self.next += 1;
    }

    /// The present entry's answer, none when it has to wait for another frame.
    fn advance(&mut self, editor: &Editor) -> Option<Answer> {
        loop {
            let stage = match self.stage.take() {
                Some(stage) => stage,
                None => match self.begin(editor) {
                    Ok(()) => Stage::Admitted,
                    Err(error) => return Some(Err(error)),
                },
            };
            if let Some(late) = self.overdue(&stage) {
                return Some(Err(late));
            }
            match self.step(editor, stage) {
                Ok(Next::Go(stage)) => self.stage = Some(stage),
                Ok(Next::Wait(stage)) => {
                    self.stage = Some(stage);
                    return None;
                }
                Ok(Next::Answer(answer)) => return Some(answer),
                Err(error) => return Some(Err(error)),
            }
        }
    }

    fn begin(&mut self, editor: &Editor) -> Result<(), ToolError> {
        let command = &self.commands[self.next];
        let call = admit(editor, &self.client, command, true)?;
        let deadline = self.begun + call.spec().timeout;
        let approved_by = self.grants[self.next].as_ref().map(|it| it.by.clone());
        let (begun, ticket, replayed) = (self.begun, None, false);
        self.current = Some(Current { call, begun, deadline, ticket, approved_by, replayed });
        Ok(())
    }

    fn overdue(&self, stage: &Stage) -> Option<ToolError> {
        let current = self.current.as_ref()?;
        let deadline = current.deadline.min(self.deadline + RESERVE / 2);
        if Instant::now() < deadline || current.begun == Instant::now() {
            return None;
        }
        let started = matches!(stage, Stage::Polled(_));
        Some(
            ToolError::new(Code::Timeout, "the deadline passed before the command could finish")
                .hint("`health_check` says what the editor is busy with")
                .detail("may_have_applied", started),
        )
    }

    fn step(&mut self, editor: &Editor, stage: Stage) -> Result<Next, ToolError> {
        let command = &self.commands[self.next];
        let Some(current) = self.current.as_mut() else {
            return Err(ToolError::internal("a batch lost its entry"));
        };
        let shared = &editor.app().shared;
        let class = current.call.spec().class;
        let runner = toolsets::runner(&current.call.spec().name);
        match stage {
            Stage::Admitted => {
                let args = || current.call.args.clone();
                match runner {
                    Some(Runner::Offline(run)) => {
                        let (host, args) = (Arc::clone(shared), args());
                        return self.elsewhere(async move { run(&host, args) });
                    }
                    Some(Runner::Async(run)) => {
                        let (host, deadline) = (Arc::clone(shared), current.deadline);
                        let work = run(Arc::clone(shared), args());
                        return self
                            .elsewhere(async move { calls::hurried(&host, deadline, work).await });
                    }
                    _ => {}
                }
                // As all edits do (`main_thread.rs`).
                if class != SafetyClass::ReadOnly && main_thread::is_scanning() {
                    return Ok(Next::Wait(Stage::Admitted));
                }
                let Some(key) = current.call.idempotency_key.clone() else {
                    return Ok(Next::Go(Stage::Keyed));
                };
                let entry = journal::Call {
                    tool: command.tool.clone(),
                    class: class.as_str(),
                    client: self.client.clone(),
                    arguments: digest::call(&command.tool, &command.arguments),
                    key: Some(key),
                };
                match shared.journal.begin(entry)? {
                    Begun::Replay(answer) => {
                        current.replayed = true;
                        Ok(Next::Answer(answer))
                    }
                    Begun::Running(_) => {
                        Err(ToolError::new(Code::Busy, "the call with this key still runs")
                            .hint("`get_transaction` (toolset `journal`) tells of its end"))
                    }
                    Begun::Run(ticket) => {
                        let (tell, told) = oneshot::channel();
                        shared.journal.force(&ticket, move |it| drop(tell.send(it)));
                        current.ticket = Some(ticket);
                        Ok(Next::Go(Stage::Forced(told)))
                    }
                }
            }
            Stage::Forced(mut told) => match received(&mut told) {
                None => Ok(Next::Wait(Stage::Forced(told))),
                Some(forced) => forced?.map(|()| Next::Go(Stage::Keyed)),
            },
            Stage::Keyed => {
                let prepare = match runner {
                    Some(Runner::Prepared(prepare, _) | Runner::PreparedRead(prepare, _)) => {
                        prepare
                    }
                    _ => return Ok(Next::Go(Stage::Ready)),
                };
                let args = std::mem::take(&mut current.call.args);
                let (host, deadline) = (Arc::clone(shared), current.deadline);
                let work = prepare(Arc::clone(shared), args);
                let told = spawn(self.runtime.as_ref(), async move {
                    calls::hurried(&host, deadline, work).await
                })?;
                Ok(Next::Go(Stage::Preparing(told)))
            }
            Stage::Preparing(mut told) => match received(&mut told) {
                None => Ok(Next::Wait(Stage::Preparing(told))),
                Some(args) => {
                    current.call.args = args??;
                    Ok(Next::Go(Stage::Ready))
                }
            },
            Stage::Ready => self.plan_and_run(editor),
            Stage::Elsewhere(mut told) => match received(&mut told) {
                None => Ok(Next::Wait(Stage::Elsewhere(told))),
                Some(answer) => Ok(Next::Answer(answer?)),
            },
            Stage::Polled(mut poll) => match poll(editor) {
                None => Ok(Next::Wait(Stage::Polled(poll))),
                Some(answer) => Ok(Next::Answer(answer)),
            },
        }
    }

    /// Steps 4 to 9.
    fn plan_and_run(&mut self, editor: &Editor) -> Result<Next, ToolError> {
        let Some(current) = self.current.as_ref() else {
            return Err(ToolError::internal("a batch lost its entry"));
        };
        let planned = Planned::new(editor, &current.call)?;
        let grant = self.grants[self.next].take();
        let outcome = match planned.decide(editor, &current.call, grant)? {
            Decision::Ask => return Err(not_shown()),
            Decision::Preview => planned.preview(editor, &current.call)?,
            Decision::Commit => {
                if current.call.spec().class != SafetyClass::ReadOnly {
                    if let Some(ticket) = self.ticket.as_ref().filter(|_| !self.committed) {
                        // Given up, or without a journal: nothing more may run.
                        ticket.commit().inspect_err(|_| self.stopped = true)?;
                    }
                    self.committed = true;
                    if let Some(ticket) = &current.ticket {
                        ticket.commit()?;
                    }
                }
                planned.commit(editor, &current.call)?
            }
        };
        match outcome {
            Outcome::Done(Reply::Ask(_)) => {
                Err(ToolError::new(Code::Unsupported, "it asks the client something")
                    .hint("call it by itself"))
            }
            Outcome::Done(reply) => Ok(Next::Answer(Ok(reply))),
            Outcome::Wait(poll) => Ok(Next::Wait(Stage::Polled(poll))),
            Outcome::Ask(_) => Err(not_shown()),
        }
    }

    fn elsewhere(
        &self,
        work: impl Future<Output = Answer> + Send + 'static,
    ) -> Result<Next, ToolError> {
        Ok(Next::Go(Stage::Elsewhere(spawn(self.runtime.as_ref(), work)?)))
    }
}

enum Next {
    Go(Stage),
    Wait(Stage),
    Answer(Answer),
}

/// Runs on the I/O thread; asked for once a frame.
fn spawn<T: Send + 'static>(
    runtime: Option<&Handle>,
    work: impl Future<Output = T> + Send + 'static,
) -> Result<Receiver<T>, ToolError> {
    let Some(runtime) = runtime else {
        return Err(ToolError::internal("a batch has no way to the I/O thread"));
    };
    let (tell, told) = oneshot::channel();
    runtime.spawn(async move { drop(tell.send(work.await)) });
    Ok(told)
}

/// None while nothing has come.
fn received<T>(told: &mut Receiver<T>) -> Option<Result<T, ToolError>> {
    match told.try_recv() {
        Ok(it) => Some(Ok(it)),
        Err(oneshot::error::TryRecvError::Empty) => None,
        Err(oneshot::error::TryRecvError::Closed) => {
            Some(Err(ToolError::internal("a command ended without an answer")))
        }
    }
}

//! One call on the I/O thread: rate limit, gate, journal, queue, approval, and at its end the journal
//! and the audit log. Nothing here touches the engine.

use std::sync::Arc;
use std::time::{Duration, Instant};

use godot_mcp_core::approval::{Ask, Grant, Proposal, Verdict, denied};
use godot_mcp_core::audit;
use godot_mcp_core::call::{LogSink, Peer, ProgressSink, WaitedSlot};
use godot_mcp_core::commands::limits;
use godot_mcp_core::gate::Admitted;
use godot_mcp_core::journal::{self, Begun, Settled, Ticket};
use godot_mcp_core::question::{Answers, FormAnswer, Question, Questions};
use godot_mcp_core::{
    Answer, CancelFlag, Code, Reply, SafetyClass, ToolCall, ToolError, digest, schema,
};
use serde_json::{Map, Value, json};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::{sleep, sleep_until, timeout, timeout_at};

use crate::app::Shared;
use crate::batch;
use crate::commands;
use crate::fault_point;
use crate::main_thread::{Finished, Job, TabMove, Turn, Within};
use crate::tool::Runner;
use crate::toolsets;

/// The main thread answers at the deadline by itself; after this it counts as blocked.
const GRACE: Duration = Duration::from_millis(500);
/// How long past its deadline a project command is waited for (R77).
const COMMAND_GRACE: Duration = Duration::from_millis(limits::DEADLINE_GRACE_MS);
/// How soon a question is taken back whose caller went away.
const CANCEL_PERIOD: Duration = Duration::from_millis(250);

/// What the audit log says of a call beside its answer.
#[derive(Default)]
struct Notes {
    preview: bool,
    replayed: bool,
    transaction: Option<String>,
    approved_by: Option<String>,
}

/// How a call runs, beside what it does.
struct Way {
    peer: Peer,
    waited: WaitedSlot,
    cancel: CancelFlag,
    progress: Option<ProgressSink>,
    log: Option<LogSink>,
    /// How the human behind the client can be asked, and what they said.
    answers: Answers,
    /// The calls that wait for this one.
    within: Within,
}

/// Name of the one question to the human behind the client, and of the one field of its form (S7.2).
const QUESTION: &str = "approval";
const FIELD: &str = "approve";

/// Takes one call through all steps of S2. The one end of every call: whatever has to know of calls
/// is told here.
pub(crate) async fn answer(shared: Arc<Shared>, call: ToolCall) -> Answer {
    shared.runtime.get_or_init(Handle::current);
    answer_within(shared, call, Within::default()).await
}

/// As [`answer`], for a call that the tools in `within` make.
pub(crate) async fn answer_within(
    shared: Arc<Shared>,
    mut call: ToolCall,
    within: Within,
) -> Answer {
    let begun = Instant::now();
    call.name = shared.gate.listed_name(&call.name).into_owned();
    // Before the hash is taken: what a client adds differs when it calls again.
    shared.gate.drop_client_keys(&call.name, &mut call.arguments);
    if call.name == commands::CALL {
        plain_key(&mut call.arguments);
    }
    let (tool, client) = (call.name.clone(), call.client.clone());
    let arguments_hash = match call.name == commands::CALL {
        // How long somebody waits is no part of what they want (A10).
        true => {
            let mut own = call.arguments.clone();
            own.remove("deadline_ms");
            digest::call(&call.name, &own)
        }
        false => digest::call(&call.name, &call.arguments),
    };
    let arguments = shared.audit.wants_arguments().then(|| call.arguments.clone());
    let mut notes = Notes::default();
    let answer = pass(&shared, call, within, &arguments_hash, &mut notes).await;

    let registered = shared.gate.registry();
    let class = registered.get(&tool).map_or("", |it| it.spec.class.as_str());
    let undo_token = match &answer {
        Ok(Reply::Json(value)) => value["undo_token"].as_str(),
        _ => None,
    };
    let entry = audit::Entry {
        client: &client,
        tool: &tool,
        class,
        arguments_hash: &arguments_hash,
        arguments: arguments.as_ref(),
        outcome: match &answer {
            _ if notes.replayed => "replayed",
            Ok(Reply::Ask(_)) => "asked",
            Ok(_) if notes.preview => "preview",
            Ok(_) => "ok",
            Err(_) => "refused",
        },
        code: answer.as_ref().err().map(|it| it.code.as_str()),
        duration_ms: begun.elapsed().as_secs_f64() * 1000.0,
        transaction: notes.transaction,
        undo_token,
        approved_by: notes.approved_by,
    };
    if let Err(error) = shared.audit.write(&entry) {
        tracing::error!("a call is missing in the audit log, which cannot be written: {error}");
    }
    if let Some(tool) = registered.get(&tool) {
        let class = tool.spec.class;
        shared.activity.record(tool.spec.name.clone(), class, client, begun.elapsed(), &answer);
    }
    answer
}

async fn pass(
    shared: &Arc<Shared>,
    call: ToolCall,
    within: Within,
    arguments_hash: &str,
    notes: &mut Notes,
) -> Answer {
    let ToolCall { name, arguments, text, client, peer, waited, cancel, progress, log, answers } =
        call;
    if let Some(limit) = &shared.rate_limit {
        limit.take(&client)?;
    }
    let admitted = shared.gate.admit(&name, arguments);
    let mut admitted = match name == commands::CALL {
        true => admitted.map_err(commands::refused_early)?,
        false => admitted?,
    };
    admitted.client = client;
    notes.preview = admitted.dry_run;
    match toolsets::runner(&admitted.spec().name) {
        Some(Runner::Offline(run)) => return run(shared, admitted.args),
        Some(Runner::Async(run)) => {
            if admitted.spec().class != SafetyClass::ReadOnly {
                shared.commands.check_writable()?;
            }
            let deadline = Instant::now() + admitted.spec().timeout;
            return hurried(shared, deadline, run(Arc::clone(shared), admitted.args)).await;
        }
        _ => {}
    }
    let way = Way { peer, waited, cancel, progress, log, answers, within };
    if admitted.spec().class == SafetyClass::ReadOnly || admitted.dry_run {
        return run_unrecorded(shared, admitted, &way).await;
    }
    match begin(shared, &admitted, arguments_hash).await? {
        Started::Replay(answer) => {
            notes.replayed = true;
            with_changes(shared, answer)
        }
        Started::Run(ticket) => {
            // After the look for a repeat, which is answered also now (A11).
            if let Err(error) = shared.commands.check_writable() {
                ticket.forget();
                return Err(error);
            }
            if admitted.spec().name == commands::CALL {
                let text = text.as_deref().and_then(commands::text_of_arguments);
                let added = [(commands::TRANSACTION, Some(ticket.id())), (commands::TEXT, text)];
                for (name, value) in added {
                    value.map(|it| admitted.args.insert(name.to_owned(), json!(it)));
                }
            }
            notes.transaction = Some(ticket.id());
            let answer = run_recorded(shared, admitted, &ticket, &way, notes).await;
            with_transaction(answer, &ticket)
        }
    }
}

/// The contract of project commands spells the key in its own way.
fn plain_key(arguments: &mut Map<String, Value>) {
    if !arguments.contains_key(schema::IDEMPOTENCY_KEY)
        && let Some(key) = arguments.remove("idempotencyId")
    {
        arguments.insert(schema::IDEMPOTENCY_KEY.to_owned(), key);
    }
}

/// Adds to the answer of a command that a crash cut off what it had changed (B2).
fn with_changes(shared: &Shared, answer: Answer) -> Answer {
    answer.map_err(|error| {
        let id = error.details.as_ref().and_then(|it| it["transaction_id"].as_str());
        let record = id.and_then(|id| shared.commands.store.as_ref().ok()?.records.find(id));
        match record {
            Some(record) if error.code == Code::Cancelled => {
                error.detail("changes", commands::tell(&record.changes))
            }
            _ => error,
        }
    })
}

/// What some tools have to find out on this thread before they can plan.
async fn prepare(shared: &Arc<Shared>, call: &mut Admitted, way: &Way) -> Result<(), ToolError> {
    if let Some(Runner::Command(command)) = toolsets::runner(&call.spec().name) {
        let asked = (command.asked)(call.args.clone())?;
        let (shared, cancel) = (Arc::clone(shared), way.cancel.clone());
        let progress = way.progress.clone();
        // It reads the disk, so it must not hold up other calls.
        let work = move || commands::prepare(&shared, asked, cancel, progress);
        let done = tokio::task::spawn_blocking(work).await;
        return done.unwrap_or_else(|it| Err(ToolError::internal(it.to_string())));
    }
    let prepare = match toolsets::runner(&call.spec().name) {
        Some(Runner::Prepared(prepare, _) | Runner::PreparedRead(prepare, _)) => Some(prepare),
        _ => None,
    };
    if let Some(prepare) = prepare {
        let deadline = Instant::now() + call.spec().timeout;
        let args = prepare(Arc::clone(shared), std::mem::take(&mut call.args));
        call.args = hurried(shared, deadline, args).await?;
    }
    Ok(())
}

/// Waits for a service that the main thread polls, and keeps that thread from sleeping meanwhile.
pub(crate) async fn hurried<T>(
    shared: &Shared,
    deadline: Instant,
    work: impl Future<Output = Result<T, ToolError>>,
) -> Result<T, ToolError> {
    let _hurry = shared.queue.hurry();
    timeout_at(deadline.into(), work).await.unwrap_or_else(|_| {
        Err(ToolError::new(Code::Timeout, "the deadline passed before the service answered")
            .hint("`health_check` says what the editor is busy with")
            .details(json!({"may_have_applied": false})))
    })
}

/// Reads and previews leave nothing to ask about later.
async fn run_unrecorded(shared: &Arc<Shared>, mut call: Admitted, way: &Way) -> Answer {
    prepare(shared, &mut call, way).await?;
    match queue(shared, call, None, None, way).await {
        Queued::Finished(Finished::Answer(answer)) => answer,
        Queued::Finished(Finished::Ask(..)) => {
            Err(ToolError::internal("nobody is asked about a read"))
        }
        Queued::Late(_) => {
            way.cancel.cancel();
            Err(stalled(shared, false))
        }
    }
}

enum Started {
    Run(Ticket),
    Replay(Answer),
}

/// Enters a call into the journal, or finds the one that it repeats (S2.4).
async fn begin(
    shared: &Arc<Shared>,
    call: &Admitted,
    arguments_hash: &str,
) -> Result<Started, ToolError> {
    let spec = call.spec();
    let entry = journal::Call {
        tool: spec.name.clone(),
        class: spec.class.as_str(),
        client: call.client.clone(),
        arguments: arguments_hash.to_owned(),
        key: call.idempotency_key.clone(),
    };
    loop {
        let id = match shared.journal.begin(entry.clone())? {
            Begun::Run(ticket) => return Ok(Started::Run(ticket)),
            Begun::Replay(answer) => return Ok(Started::Replay(answer)),
            Begun::Running(id) => id,
        };
        let (tell, told) = oneshot::channel();
        shared.journal.when_settled(id, move |it| drop(tell.send(it)));
        // As long as the call itself may take, with the human it may be waiting for.
        let patience = spec.timeout + shared.gate.approvals().patience() + GRACE;
        let told = async {
            tokio::pin!(told);
            loop {
                tokio::select! {
                    told = &mut told => return Ok(told),
                    () = sleep(CANCEL_PERIOD) => {
                        // Its end may never come (A11).
                        let id = journal::id_text(id);
                        if let Some(error) = uncertain(shared, &id).await {
                            return Err(error);
                        }
                    }
                }
            }
        };
        match timeout(patience, told).await {
            Ok(Err(error)) => return Err(error),
            Ok(Ok(Ok(Settled::Answered(answer)))) => return Ok(Started::Replay(answer)),
            Ok(Ok(Ok(Settled::Free))) => {}
            _ => {
                return Err(ToolError::new(Code::Timeout, "the call with this key still runs")
                    .hint("`get_transaction` (toolset `journal`) tells of its end")
                    .details(json!({"may_have_applied": true})));
            }
        }
    }
}

/// Runs a call that the journal knows, and enters how it ended.
async fn run_recorded(
    shared: &Arc<Shared>,
    mut call: Admitted,
    ticket: &Ticket,
    way: &Way,
    notes: &mut Notes,
) -> Answer {
    let name = call.spec().name.clone();
    let settle = |answer: Answer| {
        fault_point::reach("ran", &name);
        ticket.settle(&answer);
        fault_point::reach("settled", &name);
        answer
    };
    fault_point::reach("begun", &name);
    let is_command = call.spec().name == commands::CALL;
    if let Err(error) = prepare(shared, &mut call, way).await {
        if is_command {
            // Refused early, so nothing is left of it (R63).
            shared.commands.forget(&ticket.id());
            ticket.forget();
            notes.transaction = None;
            return Err(error);
        }
        return settle(Err(error));
    }
    // What must outlive a power cut is on the disk before anything changes.
    let registry = shared.gate.registry();
    let class_of = |tool: &str| registry.get(tool).map(|it| it.spec.class);
    let mut force = call.spec().class == SafetyClass::Destructive
        || call.idempotency_key.is_some()
        || batch::is_destructive(&call, class_of);
    let mut grant = match brought_back(shared, &call, way) {
        Ok(grant) => grant,
        Err(error) => return settle(Err(error)),
    };
    loop {
        notes.approved_by = grant.as_ref().map(|it| it.by.clone()).or(notes.approved_by.take());
        let entry = Some((ticket.clone(), std::mem::take(&mut force)));
        match queue(shared, call, entry, grant.take(), way).await {
            Queued::Finished(Finished::Answer(answer)) if is_command && !ticket.has_committed() => {
                shared.commands.forget(&ticket.id());
                return settle(answer);
            }
            Queued::Finished(Finished::Answer(answer)) => {
                if is_command {
                    shared.commands.end(&ticket.id());
                }
                return settle(answer);
            }
            Queued::Finished(Finished::Ask(returned, proposal)) => {
                match ask(shared, *proposal, way).await {
                    Ok(Word::Granted(given)) => {
                        grant = Some(given);
                        call = *returned;
                    }
                    Ok(Word::AskClient(reply)) => {
                        // The call that comes back with the answer is another one.
                        shared.commands.forget(&ticket.id());
                        ticket.forget();
                        notes.transaction = None;
                        return Ok(reply);
                    }
                    Err(error) => return settle(Err(error)),
                }
            }
            Queued::Late(answer) => {
                way.cancel.cancel();
                if ticket.abandon() {
                    shared.commands.forget(&ticket.id());
                    return settle(Err(stalled(shared, false)));
                }
                let id = ticket.id();
                shared.commands.change(&id, |it| it.uncertain = true);
                let (ticket, host) = (ticket.clone(), Arc::clone(shared));
                tokio::spawn(async move {
                    ticket.settle(&received(answer.await));
                    // Only now: whoever finds writes open finds the answer too (R81).
                    host.commands.end(&ticket.id());
                });
                return Err(uncertain(shared, &id).await.unwrap_or_else(|| stalled(shared, true)));
            }
        }
    }
}

/// S2.3: a call that may have applied says by which id to ask about it.
fn with_transaction(answer: Answer, ticket: &Ticket) -> Answer {
    answer.map_err(|error| {
        let uncertain = matches!(error.code, Code::Timeout | Code::Cancelled);
        if !uncertain || !ticket.has_committed() {
            return error;
        }
        let hint = error.hint.clone();
        let error = match hint.is_empty() || error.code == Code::Timeout {
            true => error.hint("`get_transaction` (toolset `journal`) tells what became of it; `health_check` tells what the editor is busy with"),
            false => error,
        };
        error.detail("may_have_applied", true).detail("transaction_id", ticket.id())
    })
}

enum Queued {
    Finished(Finished),
    /// The deadline has passed and the main thread has not answered.
    Late(oneshot::Receiver<Finished>),
}

/// Hands a call to the main thread. With a journal entry that is to be forced to the disk, the call is
/// queued by the thread that has done so.
async fn queue(
    shared: &Arc<Shared>,
    call: Admitted,
    entry: Option<(Ticket, bool)>,
    grant: Option<Grant>,
    way: &Way,
) -> Queued {
    let (reply, mut answer) = oneshot::channel();
    let (patience, grace) = match &entry {
        Some((ticket, _)) if call.spec().outlives_deadline => {
            (shared.commands.deadline(&ticket.id()), COMMAND_GRACE)
        }
        _ => (call.spec().timeout, GRACE),
    };
    let deadline = Instant::now() + patience;
    let (ticket, force) = entry.map_or((None, false), |(ticket, force)| (Some(ticket), force));
    let moves = moves(shared, &call);
    let job = Job {
        call,
        ticket: ticket.clone(),
        grant,
        peer: way.peer.clone(),
        turn: Turn::new(Arc::clone(&way.waited)),
        moves,
        cancel: way.cancel.clone(),
        deadline,
        progress: way.progress.clone(),
        log: way.log.clone(),
        runtime: Handle::try_current().ok(),
        id: Job::new_id(),
        within: Arc::clone(&way.within),
        reply,
    };
    match ticket.filter(|_| force) {
        None => shared.queue.submit(job),
        Some(ticket) => {
            let host = Arc::clone(shared);
            shared.journal.force(&ticket, move |forced| match forced {
                Ok(()) => host.queue.submit(job),
                Err(error) => job.answer(Err(error)),
            });
        }
    }
    tokio::select! {
        answer = &mut answer => Queued::Finished(
            answer.unwrap_or_else(|_| Finished::Answer(Err(switched_off())))
        ),
        () = sleep_until((deadline + grace).into()) => Queued::Late(answer),
    }
}

/// Tabs that a call, or the entries of a batch, bring to the front or close.
fn moves(shared: &Shared, call: &Admitted) -> Vec<TabMove> {
    let registry = shared.gate.registry();
    let entries = batch::commands(call).filter_map(|(tool, args)| {
        let name = shared.gate.listed_name(tool);
        TabMove::of(&registry.get(&name)?.spec, &args)
    });
    TabMove::of(call.spec(), &call.args).into_iter().chain(entries).collect()
}

/// The state of a command that did not return in time; none when it has.
async fn uncertain(shared: &Arc<Shared>, id: &str) -> Option<ToolError> {
    if !shared.commands.current().is_some_and(|it| it.uncertain && it.transaction == id) {
        return None;
    }
    let (shared, id) = (Arc::clone(shared), id.to_owned());
    tokio::task::spawn_blocking(move || shared.commands.uncertain(&shared, &id))
        .await
        .ok()
        .flatten()
}

fn received(answer: Result<Finished, oneshot::error::RecvError>) -> Answer {
    match answer {
        Ok(Finished::Answer(answer)) => answer,
        Ok(Finished::Ask(..)) => {
            Err(ToolError::internal("a call that has run asks whether it may"))
        }
        Err(_) => Err(switched_off()),
    }
}

fn switched_off() -> ToolError {
    ToolError::new(Code::Cancelled, "the plugin was switched off")
}

fn stalled(shared: &Shared, may_have_applied: bool) -> ToolError {
    let stalled = shared.heartbeat.stalled_ms();
    ToolError::new(
        Code::Timeout,
        format!("the editor's main thread has not moved for {stalled} ms"),
    )
    .hint("`health_check` says when it is back")
    .details(json!({
        "may_have_applied": may_have_applied,
        "main_thread_stalled_ms": stalled,
        "busy_with": shared.heartbeat.busy_with(),
    }))
}

/// What a human said about a plan.
enum Word {
    Granted(Grant),
    AskClient(Reply),
}

/// The grant that a call brings when it is made again with what the human at the client said.
fn brought_back(shared: &Shared, call: &Admitted, way: &Way) -> Result<Option<Grant>, ToolError> {
    let Value::String(state) = &way.answers.state else { return Ok(None) };
    let approvals = shared.gate.approvals();
    if !approvals.covers(call.spec()) {
        return Ok(None);
    }
    let approved = decision(&way.answers);
    approvals.close_round(state, &call.client, &call.spec().name, approved).map(Some)
}

/// Yes is a form that was accepted with the field set. Anything unclear is no (S7.2).
fn decision(answers: &Answers) -> Option<bool> {
    match answers.form(QUESTION)? {
        FormAnswer::Accepted(content) => Some(content.get(FIELD) == Some(&Value::Bool(true))),
        FormAnswer::Declined => Some(false),
        FormAnswer::Cancelled => None,
    }
}

/// Step 7 of S2, off the main thread: webhook, the human at the client, the human at the editor.
async fn ask(shared: &Arc<Shared>, proposal: Proposal, way: &Way) -> Result<Word, ToolError> {
    let approvals = shared.gate.approvals();
    let verdict = match approvals.whom() {
        Ask::Nobody(why) => return Err(why),
        Ask::Webhook(webhook) => {
            let (tell, told) = oneshot::channel();
            webhook.ask(&proposal, move |it| drop(tell.send(it)));
            told.await.unwrap_or_else(|_| {
                Verdict::Denied("the approval webhook was not asked".to_owned())
            })
        }
        Ask::Human if way.answers.abilities.form => {
            let schema = json!({
                "type": "object",
                "properties": {FIELD: {"type": "boolean"}},
                "required": [FIELD],
            });
            let form = Question::Form { message: proposal.question(), schema };
            let state = approvals.open_round(&proposal)?;
            let questions = Questions::one(QUESTION, form).with_state(json!(state));
            return Ok(Word::AskClient(Reply::Ask(questions)));
        }
        Ask::Human => at_the_desk(shared, &proposal, &way.cancel).await?,
    };
    approvals.grant(&proposal, verdict).map(Word::Granted)
}

async fn at_the_desk(
    shared: &Shared,
    proposal: &Proposal,
    cancel: &CancelFlag,
) -> Result<Verdict, ToolError> {
    let approvals = shared.gate.approvals();
    if !approvals.desk.is_attended() {
        return Err(denied(
            "a human must approve, and nobody can be asked: the client has no elicitation and this \
             editor no window",
        )
        .hint(
            "use a client with elicitation, or have the operator set GODOT_MCP_APPROVAL_WEBHOOK",
        ));
    }
    let patience = approvals.patience();
    let (tell, mut told) = oneshot::channel();
    let Some(id) = approvals.desk.ask(proposal.clone(), patience, move |it| drop(tell.send(it)))
    else {
        return Err(denied("too many calls wait for the human at the editor already"));
    };
    let late = sleep(patience);
    tokio::pin!(late);
    loop {
        tokio::select! {
            verdict = &mut told => {
                return Ok(verdict.unwrap_or_else(|_| Verdict::Denied("the question was taken back".to_owned())));
            }
            () = &mut late => {
                approvals.desk.withdraw(id);
                let seconds = patience.as_secs();
                return Ok(Verdict::Denied(format!("nobody at the editor answered within {seconds} s")));
            }
            () = sleep(CANCEL_PERIOD) => {
                if cancel.is_cancelled() {
                    approvals.desk.withdraw(id);
                    return Err(ToolError::new(Code::Cancelled, "the caller cancelled")
                        .details(json!({"may_have_applied": false})));
                }
            }
        }
    }
}

/// The answer that a transaction kept, as `get_transaction` tells it.
pub(crate) fn told(answer: Answer) -> (&'static str, Value) {
    match answer {
        Ok(Reply::Json(value)) => ("answer", value),
        Ok(Reply::Text(text)) => ("answer", json!(text)),
        Ok(Reply::Image { about, .. }) => ("answer", about),
        Ok(Reply::Content(_) | Reply::Ask(_)) => ("answer", Value::Null),
        Err(error) => ("error", error.to_value()),
    }
}

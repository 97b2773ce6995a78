//! The transactions in memory, and the tickets by which running calls change them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::folding::Folding;
use super::record::{self, State, Transaction};
use super::store::Store;
use super::wal::{Line, Segment};
use super::{Begun, Call, Options, interrupted, unwritable};
use crate::call::Answer;
use crate::clock;
use crate::error::{Code, ToolError};

/// How a call ended, for those that wait for it.
#[derive(Clone, Debug)]
pub enum Settled {
    /// The answer stands, and is theirs too.
    Answered(Answer),
    /// It was cancelled before it did anything, so whoever still wants it may begin it again.
    Free,
}

pub(super) type Waiter = Box<dyn FnOnce(Settled) + Send>;

/// What the threads and all tickets share.
pub(super) struct Shared {
    pub(super) options: Options,
    pub(super) instance: String,
    pub(super) log: Mutex<Log>,
    /// None once closed, so that a call that outlives the journal does not keep the file locked.
    pub(super) store: Mutex<Option<Arc<Store>>>,
    pub(super) folding: Folding,
}

pub(super) struct Log {
    pub(super) transactions: BTreeMap<u64, Transaction>,
    /// The newest transaction of each key.
    pub(super) keys: HashMap<String, u64>,
    pub(super) segment: Segment,
    /// Changed since the last fold.
    pub(super) dirty: HashSet<u64>,
    pub(super) removed: Vec<u64>,
    /// Answers that are not in the database yet, as JSON.
    pub(super) answers: HashMap<u64, Arc<str>>,
    pub(super) answer_bytes: u64,
    pub(super) waiters: HashMap<u64, Vec<Waiter>>,
    /// Calls that must not begin to commit any more.
    pub(super) abandoned: HashSet<u64>,
    pub(super) last_id: u64,
    pub(super) closed: bool,
}

impl Log {
    pub(super) fn next_id(&mut self) -> u64 {
        // By time, so the order of ids is the order of calls, over restarts too.
        self.last_id = (clock::now_ms() << 8).max(self.last_id + 1);
        self.last_id
    }

    pub(super) fn remove(&mut self, id: u64) {
        let Some(transaction) = self.transactions.remove(&id) else { return };
        if let Some(key) = &transaction.key
            && self.keys.get(key) == Some(&id)
        {
            self.keys.remove(key);
        }
        self.answers.remove(&id);
        self.dirty.remove(&id);
        self.removed.push(id);
        if transaction.answer_kept {
            self.answer_bytes -= transaction.answer_bytes;
        }
    }
}

pub(super) fn begin(shared: &Arc<Shared>, call: Call) -> Result<Begun, ToolError> {
    let mut log = shared.log.lock();
    if log.closed {
        return Err(ToolError::new(Code::Busy, "the plugin is being switched off"));
    }
    if let Some(key) = &call.key
        && let Some(found) = log.keys.get(key).and_then(|it| log.transactions.get(it))
        && found.holds_key()
    {
        return repeat(shared, &log, found, &call);
    }
    let transaction = Transaction {
        id: log.next_id(),
        state: State::Planned,
        tool: call.tool,
        class: call.class.to_owned(),
        client: call.client,
        arguments: call.arguments,
        instance: shared.instance.clone(),
        began_ms: clock::now_ms(),
        ended_ms: None,
        key: call.key,
        committed: false,
        code: None,
        undo_token: None,
        answer_bytes: 0,
        answer_kept: false,
    };
    let id = transaction.id;
    let line = Line::Transaction(transaction, None);
    log.segment.append(&line).map_err(|it| unwritable(&it))?;
    let Line::Transaction(transaction, _) = line else { unreachable!("made above") };
    if let Some(key) = &transaction.key {
        log.keys.insert(key.clone(), id);
    }
    log.transactions.insert(id, transaction);
    log.dirty.insert(id);
    let file = Arc::clone(&log.segment.file);
    shared.changed(&log);
    drop(log);
    Ok(Begun::Run(Ticket(Arc::new(Held { shared: Arc::clone(shared), id, file }))))
}

/// A call whose key is in use (S2.4).
fn repeat(
    shared: &Shared,
    log: &Log,
    found: &Transaction,
    call: &Call,
) -> Result<Begun, ToolError> {
    if found.arguments != call.arguments {
        let message = match found.tool == call.tool {
            true => {
                format!("the idempotency key was used for \"{}\" with other arguments", found.tool)
            }
            false => format!("the idempotency key was used for \"{}\"", found.tool),
        };
        return Err(ToolError::new(Code::IdempotencyConflict, message)
            .required("idempotency_key")
            .hint("use a new key for a new call; the first call stands")
            .details(json!({"transaction_id": found.id_text()})));
    }
    if found.state.is_open() {
        return Ok(Begun::Running(found.id));
    }
    Ok(Begun::Replay(record::replayed(shared.answer_of(log, found))))
}

impl Shared {
    /// What a settled transaction answered, or why that cannot be told.
    fn answer_of(&self, log: &Log, transaction: &Transaction) -> Answer {
        if transaction.state == State::Interrupted {
            return Err(interrupted(transaction));
        }
        self.kept_answer(log, transaction).unwrap_or_else(|| {
            let bytes = transaction.answer_bytes;
            match &transaction.code {
                None => Ok(json!({
                    "transaction_id": transaction.id_text(),
                    "undo_token": transaction.undo_token,
                    "result_unavailable": format!("the answer had {bytes} bytes and was not kept"),
                })
                .into()),
                Some(code) => Err(ToolError::new(
                    Code::parse(code).unwrap_or(Code::Internal),
                    "the call failed; what it said was too long to keep",
                )),
            }
        })
    }

    fn kept_answer(&self, log: &Log, transaction: &Transaction) -> Option<Answer> {
        if !transaction.answer_kept {
            return None;
        }
        let fresh = log.answers.get(&transaction.id);
        let value: Value = match fresh {
            Some(json) => serde_json::from_str(json).ok()?,
            None => self.store()?.answer(transaction.id)?,
        };
        record::from_json(value)
    }

    pub(super) fn store(&self) -> Option<Arc<Store>> {
        self.store.lock().clone()
    }

    pub(super) fn find(&self, id: u64) -> Option<(Transaction, Option<Answer>)> {
        let log = self.log.lock();
        let transaction = log.transactions.get(&id)?.clone();
        let answer = self.kept_answer(&log, &transaction);
        Some((transaction, answer))
    }

    pub(super) fn id_of_key(&self, key: &str) -> Option<u64> {
        self.log.lock().keys.get(key).copied()
    }

    pub(super) fn newest(&self, count: usize) -> Vec<String> {
        let log = self.log.lock();
        log.transactions
            .values()
            .rev()
            .take(count)
            .map(|it| format!("{} ({}, {})", it.id_text(), it.tool, it.state.as_str()))
            .collect()
    }

    pub(super) fn when_settled(&self, id: u64, tell: Waiter) {
        let mut log = self.log.lock();
        let settled = match log.transactions.get(&id) {
            None => Settled::Free,
            Some(it) if it.state.is_open() => {
                log.waiters.entry(id).or_default().push(tell);
                return;
            }
            Some(it) => settled(it, self.answer_of(&log, it)),
        };
        drop(log);
        tell(settled);
    }

    /// Wakes the folding thread when there is something new for it.
    pub(super) fn changed(&self, log: &Log) {
        self.folding.changed(log.segment.bytes, self.options.fold_bytes);
    }
}

fn settled(transaction: &Transaction, answer: Answer) -> Settled {
    let code = answer.as_ref().err().map(|it| it.code);
    let unfinished = matches!(code, Some(Code::Cancelled | Code::Timeout));
    if unfinished && !transaction.committed {
        return Settled::Free;
    }
    Settled::Answered(record::replayed(answer))
}

/// A running call's hold on its transaction.
#[derive(Clone)]
pub struct Ticket(Arc<Held>);

struct Held {
    shared: Arc<Shared>,
    id: u64,
    /// Where its first line is.
    file: Arc<File>,
}

impl Ticket {
    /// The id as it travels.
    pub fn id(&self) -> String {
        record::id_text(self.0.id)
    }

    pub(super) fn file(&self) -> Arc<File> {
        Arc::clone(&self.0.file)
    }

    /// Enters that the first effect follows now. The moment after which a call may have applied.
    ///
    /// # Errors
    /// When the call was given up meanwhile, or the journal cannot be written: nothing may be done.
    pub fn commit(&self) -> Result<(), ToolError> {
        let mut log = self.0.shared.log.lock();
        if log.abandoned.contains(&self.0.id) {
            return Err(ToolError::new(
                Code::Cancelled,
                "the call was given up before it could run",
            )
            .details(json!({"may_have_applied": false, "transaction_id": self.id()})));
        }
        self.update(&mut log, |it| {
            it.state = State::Committing;
            it.committed = true;
        })
        .map_err(|it| unwritable(&it))
    }

    /// Keeps the call from committing. False when it has begun to: then it may have applied.
    pub fn abandon(&self) -> bool {
        let mut log = self.0.shared.log.lock();
        let committed = log.transactions.get(&self.0.id).is_some_and(|it| it.committed);
        if !committed {
            log.abandoned.insert(self.0.id);
        }
        !committed
    }

    pub fn has_committed(&self) -> bool {
        self.0.shared.log.lock().transactions.get(&self.0.id).is_some_and(|it| it.committed)
    }

    /// Enters how the call ended, and tells those that wait for it.
    pub fn settle(&self, answer: &Answer) {
        let Held { shared, id, .. } = &*self.0;
        let kept = record::to_json(answer);
        let json: Arc<str> = kept.to_string().into();
        let mut log = shared.log.lock();
        let Some(transaction) = log.transactions.get_mut(id) else { return };
        let options = &shared.options;
        let limit = match transaction.key {
            Some(_) => options.max_keyed_answer,
            None => options.max_answer,
        };
        let keep = json.len() <= limit;
        transaction.state = if answer.is_ok() { State::Done } else { State::Failed };
        transaction.ended_ms = Some(clock::now_ms());
        transaction.code = answer.as_ref().err().map(|it| it.code.as_str().to_owned());
        transaction.undo_token = record::undo_token(answer);
        transaction.answer_bytes = json.len() as u64;
        transaction.answer_kept = keep;
        let transaction = transaction.clone();
        let told = settled(&transaction, answer.clone());
        let line = Line::Transaction(transaction, keep.then_some(kept));
        if let Err(error) = log.segment.append(&line) {
            // The call has run, so its answer must go out; after a crash it counts as interrupted.
            (options.report)(&format!("the journal cannot be written: {error}"));
        }
        if keep {
            log.answer_bytes += json.len() as u64;
            log.answers.insert(*id, json);
        }
        log.dirty.insert(*id);
        log.abandoned.remove(id);
        let waiters = log.waiters.remove(id).unwrap_or_default();
        shared.changed(&log);
        drop(log);
        for tell in waiters {
            tell(told.clone());
        }
    }

    /// Takes the transaction out: nothing ran under it and nothing will.
    pub fn forget(&self) {
        let Held { shared, id, .. } = &*self.0;
        let mut log = shared.log.lock();
        if let Err(error) = log.segment.append(&Line::Forgotten(*id)) {
            (shared.options.report)(&format!("the journal cannot be written: {error}"));
        }
        log.remove(*id);
        log.abandoned.remove(id);
        let waiters = log.waiters.remove(id).unwrap_or_default();
        shared.changed(&log);
        drop(log);
        for tell in waiters {
            tell(Settled::Free);
        }
    }

    fn update(&self, log: &mut Log, change: impl FnOnce(&mut Transaction)) -> std::io::Result<()> {
        let Held { shared, id, .. } = &*self.0;
        let Some(transaction) = log.transactions.get(id) else {
            return Err(std::io::Error::other("the transaction is not in it"));
        };
        let mut changed = transaction.clone();
        change(&mut changed);
        let line = Line::Transaction(changed, None);
        log.segment.append(&line)?;
        if let Line::Transaction(changed, _) = line {
            log.transactions.insert(*id, changed);
        }
        log.dirty.insert(*id);
        shared.changed(log);
        Ok(())
    }
}

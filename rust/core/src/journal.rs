//! What became of each call that may change something (S2.3, S2.4).
//!
//! A call is entered as `planned` before it is queued, as `committing` right before its first
//! effect, and as `done` or `failed` with its answer. Each entry is a checksummed line that is
//! handed to the kernel before the call goes on (`journal/wal.rs`), so it outlives a killed
//! process. A thread folds the lines into `journal.redb` once a second (`journal/store.rs`). Lines
//! of destructive calls and of calls with an idempotency key are forced to the disk before the
//! commit begins, so those outlive a power cut too; a power cut may lose the last second of others.
//!
//! The next start settles what was open as `interrupted`. A file that cannot be read is set aside,
//! and a new one begun. Old transactions are dropped by count, age and size.

mod folding;
mod log;
mod record;
mod store;
mod wal;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::call::Answer;
use crate::error::{Code, ToolError};

pub use folding::JournalError;
pub use log::{Settled, Ticket};
pub use record::{State, Transaction, id_text};

pub(crate) use wal::private;

use folding::Threads;
use log::Shared;

/// How much is kept, and how soon lines become part of the database.
#[derive(Clone)]
pub struct Options {
    pub max_transactions: usize,
    pub max_age: Duration,
    /// Answers that are kept, in bytes of JSON, over all transactions.
    pub max_answers: u64,
    /// One answer of a call with an idempotency key. Larger ones are said, not kept.
    pub max_keyed_answer: usize,
    /// One answer of another call.
    pub max_answer: usize,
    pub fold_after: Duration,
    pub fold_bytes: u64,
    /// Told of faults in the background, in a sentence each.
    pub report: Arc<dyn Fn(&str) + Send + Sync>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            max_transactions: 4_000,
            max_age: Duration::from_secs(7 * 24 * 3_600),
            max_answers: 16 << 20,
            max_keyed_answer: 256 << 10,
            max_answer: 16 << 10,
            fold_after: Duration::from_secs(1),
            fold_bytes: 1 << 20,
            report: Arc::new(|_| {}),
        }
    }
}

/// A call as the journal enters it.
#[derive(Clone, Debug)]
pub struct Call {
    pub tool: String,
    pub class: &'static str,
    pub client: String,
    /// `digest::call` of its arguments.
    pub arguments: String,
    pub key: Option<String>,
}

/// What happens to a call that wants to begin.
pub enum Begun {
    /// It runs.
    Run(Ticket),
    /// Its key was used with these arguments before: this is the recorded answer.
    Replay(Answer),
    /// Its key is in use by the same call, which still runs: `when_settled` tells of its end.
    Running(u64),
}

/// The journal of one project. All methods work from any thread.
pub struct Journal {
    shared: Arc<Shared>,
    threads: Threads,
    slot: u32,
}

impl Journal {
    /// Opens or begins the journal in a folder, and settles what an earlier process left open.
    ///
    /// A second editor on the same project gets a journal of its own. Answers also sentences about
    /// what was found: damage that was set aside, calls that were interrupted.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn open(folder: &Path, options: Options) -> Result<(Self, Vec<String>), JournalError> {
        let opened = folding::open(folder, options)?;
        let threads = Threads::start(&opened.shared)?;
        let journal = Self { shared: opened.shared, threads, slot: opened.slot };
        Ok((journal, opened.notices))
    }

    /// 1, or more when other editors have the project open. Names the files of this process.
    pub fn slot(&self) -> u32 {
        self.slot
    }

    /// Names this process in the journal and in the audit log.
    pub fn instance(&self) -> &str {
        &self.shared.instance
    }

    /// Enters a call, before it is queued.
    ///
    /// # Errors
    /// `IDEMPOTENCY_CONFLICT`, or `INTERNAL` when the journal cannot be written; then the call must
    /// not run.
    pub fn begin(&self, call: Call) -> Result<Begun, ToolError> {
        log::begin(&self.shared, call)
    }

    /// Calls `tell` once the transaction has ended, at once when it has.
    pub fn when_settled(&self, id: u64, tell: impl FnOnce(Settled) + Send + 'static) {
        self.shared.when_settled(id, Box::new(tell));
    }

    /// A transaction by its id, with its answer when that was kept.
    pub fn by_id(&self, id: &str) -> Option<(Transaction, Option<Answer>)> {
        self.shared.find(record::parse_id(id)?)
    }

    /// The newest transaction of an idempotency key.
    pub fn by_key(&self, key: &str) -> Option<(Transaction, Option<Answer>)> {
        self.shared.find(self.shared.id_of_key(key)?)
    }

    /// Ids and tools of the newest transactions, newest first; for suggestions.
    pub fn newest(&self, count: usize) -> Vec<String> {
        self.shared.newest(count)
    }

    /// Forces a call's entry to the disk; `ready` is called from a thread of the journal. For calls
    /// whose entry must outlive a power cut.
    pub fn force(
        &self,
        ticket: &Ticket,
        ready: impl FnOnce(Result<(), ToolError>) + Send + 'static,
    ) {
        self.threads.force(ticket.file(), Box::new(ready));
    }

    /// Folds what is left and ends the threads. What begins later is refused.
    pub fn close(&self) {
        self.threads.close(&self.shared);
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.close();
    }
}

/// The files of one slot.
fn database_path(folder: &Path, slot: u32) -> PathBuf {
    folder.join(format!("{}.redb", slot_name("journal", slot)))
}

/// `journal`, `journal-2`, ...: the first editor on a project has the plain name.
pub(crate) fn slot_name(base: &str, slot: u32) -> String {
    if slot == 1 { base.to_owned() } else { format!("{base}-{slot}") }
}

fn unwritable(error: &std::io::Error) -> ToolError {
    ToolError::new(Code::Internal, format!("the journal cannot be written: {error}"))
        .hint("nothing was changed; free space in the project's .godot folder, then call again")
}

/// The answer to a repeat of a call that a crash cut off.
fn interrupted(transaction: &Transaction) -> ToolError {
    ToolError::new(
        Code::Cancelled,
        format!("the editor ended while \"{}\" was running", transaction.tool),
    )
    .hint("look at what is there, then call with a new idempotency key if it is still wanted")
    .details(json!({
        "transaction_id": transaction.id_text(), "state": "interrupted", "may_have_applied": true
    }))
}

#[cfg(test)]
mod tests;

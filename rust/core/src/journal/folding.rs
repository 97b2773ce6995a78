//! Opening a journal, and the two threads behind it: one folds lines into the database, one forces
//! lines to the disk.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::log::{Log, Shared};
use super::record::{State, Transaction};
use super::store::{Batch, OpenError, Store};
use super::wal::{self, Line, Segment};
use super::{Options, database_path, unwritable};
use crate::error::{Code, ToolError};
use crate::{clock, digest};

/// Editors on one project that have journals of their own.
const MAX_SLOTS: u32 = 9;
/// Wait after a fold that failed, as on a full disk.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// Why there is no journal.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("the journal in {0} cannot be written: {1}")]
    Io(PathBuf, io::Error),
    #[error("the journal {0} is damaged and cannot be set aside: {1}")]
    Damaged(PathBuf, io::Error),
    #[error("{MAX_SLOTS} editors have this project open")]
    TooMany,
    #[error("the new journal {0} cannot be read back: {1}")]
    Unreadable(PathBuf, String),
}

pub(super) struct Opened {
    pub(super) shared: Arc<Shared>,
    pub(super) slot: u32,
    pub(super) notices: Vec<String>,
}

pub(super) fn open(folder: &Path, options: Options) -> Result<Opened, JournalError> {
    let io_error = |it: io::Error| JournalError::Io(folder.to_owned(), it);
    let mut notices = Vec::new();
    let (slot, store, stored) = open_store(folder, &mut notices)?;
    let mut transactions: BTreeMap<u64, Transaction> =
        stored.into_iter().map(|it| (it.id, it)).collect();

    let segments = wal::segments(folder, slot).map_err(io_error)?;
    let mut batch = Batch::default();
    let mut changed: BTreeMap<u64, Option<Arc<str>>> = BTreeMap::new();
    for (_, path) in &segments {
        let bytes = std::fs::read(path).map_err(io_error)?;
        let (lines, damaged) = wal::decode(&bytes);
        if damaged {
            let aside = set_aside(path).map_err(|it| JournalError::Damaged(path.clone(), it))?;
            notices.push(format!(
                "lines of the journal were damaged; what could be read was taken over, and {} keeps the rest",
                aside.display()
            ));
        }
        for line in lines {
            match line {
                Line::Transaction(transaction, answer) => {
                    let answer = answer.map(|it| Arc::from(it.to_string()));
                    changed.insert(transaction.id, answer);
                    transactions.insert(transaction.id, transaction);
                }
                Line::Forgotten(id) => {
                    changed.remove(&id);
                    transactions.remove(&id);
                    batch.removed.push(id);
                }
            }
        }
    }
    let mut interrupted = 0;
    let boot = boot();
    for transaction in transactions.values_mut().filter(|it| it.state.is_open()) {
        // After a power cut, the line that said so may be lost.
        let same_boot = !boot.is_empty() && transaction.instance.ends_with(&boot);
        transaction.committed |= !same_boot;
        transaction.state = State::Interrupted;
        transaction.ended_ms = Some(clock::now_ms());
        changed.entry(transaction.id).or_default();
        interrupted += 1;
    }
    if interrupted > 0 {
        notices.push(format!(
            "the editor ended during {interrupted} call(s); `get_transaction` tells of each"
        ));
    }
    batch.transactions = changed
        .into_iter()
        .filter_map(|(id, answer)| Some((transactions.get(&id)?.clone(), answer)))
        .collect();
    if !batch.is_empty() {
        store.write(&batch).map_err(|it| io_error(io::Error::other(it)))?;
    }
    for (_, path) in &segments {
        // One that was set aside is not there any more.
        let _ = std::fs::remove_file(path);
    }

    let number = segments.last().map_or(1, |it| it.0 + 1);
    let segment = Segment::create(folder, slot, number).map_err(io_error)?;
    let mut keys = HashMap::new();
    for transaction in transactions.values() {
        if let Some(key) = &transaction.key {
            keys.insert(key.clone(), transaction.id);
        }
    }
    let log = Log {
        last_id: transactions.keys().next_back().copied().unwrap_or(0),
        answer_bytes: transactions
            .values()
            .filter(|it| it.answer_kept)
            .map(|it| it.answer_bytes)
            .sum(),
        transactions,
        keys,
        segment,
        dirty: HashSet::new(),
        removed: Vec::new(),
        answers: HashMap::new(),
        waiters: HashMap::new(),
        abandoned: HashSet::new(),
        closed: false,
    };
    // A name, not a secret.
    let random = digest::random::<4>().unwrap_or_default();
    let shared = Shared {
        options,
        instance: format!("{}-{random}-{boot}", std::process::id()),
        log: Mutex::new(log),
        store: Mutex::new(Some(Arc::new(store))),
        folding: Folding { folder: folder.to_owned(), slot, ..Folding::default() },
    };
    Ok(Opened { shared: Arc::new(shared), slot, notices })
}

/// Names the time since the machine started; empty where the system does not tell.
fn boot() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().rsplit('-').next().unwrap_or_default().to_owned()
}

/// The first database that no other process has.
fn open_store(
    folder: &Path,
    notices: &mut Vec<String>,
) -> Result<(u32, Store, Vec<Transaction>), JournalError> {
    for slot in 1..=MAX_SLOTS {
        let path = database_path(folder, slot);
        match Store::open(&path) {
            Ok((store, transactions)) => return Ok((slot, store, transactions)),
            Err(OpenError::Taken) => {}
            Err(OpenError::Unreadable(why)) => {
                let aside =
                    set_aside(&path).map_err(|it| JournalError::Damaged(path.clone(), it))?;
                notices.push(format!(
                    "the journal could not be read ({why}); it was set aside as {} and a new one begun",
                    aside.display()
                ));
                return match Store::open(&path) {
                    Ok((store, transactions)) => Ok((slot, store, transactions)),
                    Err(OpenError::Taken) => continue,
                    Err(OpenError::Unreadable(why)) => Err(JournalError::Unreadable(path, why)),
                };
            }
        }
    }
    Err(JournalError::TooMany)
}

/// Gives a file another name, which it returns.
fn set_aside(path: &Path) -> io::Result<PathBuf> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".damaged-{}", clock::now_ms()));
    let aside = PathBuf::from(name);
    std::fs::rename(path, &aside)?;
    Ok(aside)
}

/// When to fold.
#[derive(Default)]
pub(super) struct Folding {
    folder: PathBuf,
    slot: u32,
    wish: Mutex<Wish>,
    wake: Condvar,
}

#[derive(Default)]
struct Wish {
    /// Since when there is something to fold.
    since: Option<Instant>,
    at_once: bool,
    closing: bool,
}

impl Folding {
    pub(super) fn changed(&self, bytes: u64, fold_bytes: u64) {
        let mut wish = self.wish.lock();
        let first = wish.since.is_none();
        let full = bytes >= fold_bytes && !wish.at_once;
        if first {
            wish.since = Some(Instant::now());
        }
        wish.at_once |= full;
        if first || full {
            self.wake.notify_one();
        }
    }

    /// Waits until there is something to fold. False at the end.
    fn wait(&self, after: Duration) -> bool {
        let mut wish = self.wish.lock();
        loop {
            if wish.closing {
                return false;
            }
            match wish.since {
                Some(_) if wish.at_once => break,
                Some(since) => {
                    if self.wake.wait_until(&mut wish, since + after).timed_out() {
                        break;
                    }
                }
                None => self.wake.wait(&mut wish),
            }
        }
        wish.since = None;
        wish.at_once = false;
        true
    }

    fn retry_later(&self) {
        let mut wish = self.wish.lock();
        wish.since = Some(Instant::now() + RETRY_AFTER);
    }
}

/// Moves everything from lines to the database. On an error, memory and lines still have it all.
fn fold(shared: &Shared) -> Result<(), String> {
    let folding = &shared.folding;
    let number = shared.log.lock().segment.number + 1;
    let next =
        Segment::create(&folding.folder, folding.slot, number).map_err(|it| it.to_string())?;
    let mut log = shared.log.lock();
    prune(&mut log, &shared.options);
    let old = std::mem::replace(&mut log.segment, next);
    let dirty = std::mem::take(&mut log.dirty);
    let mut batch = Batch { removed: std::mem::take(&mut log.removed), ..Batch::default() };
    for id in &dirty {
        if let Some(transaction) = log.transactions.get(id) {
            let answer = log.answers.get(id).map(Arc::clone);
            batch.transactions.push((transaction.clone(), answer));
        }
    }
    drop(log);

    let written = match shared.store() {
        Some(store) => store.write(&batch),
        None => Err("it is closed".to_owned()),
    };
    if let Err(error) = written {
        // The old segment stays on the disk, and what was in it is folded with the next.
        let mut log = shared.log.lock();
        log.dirty.extend(dirty);
        log.removed.extend(batch.removed);
        return Err(error);
    }
    let mut log = shared.log.lock();
    for (transaction, answer) in &batch.transactions {
        if answer.is_some() && !log.dirty.contains(&transaction.id) {
            log.answers.remove(&transaction.id);
        }
    }
    drop(log);
    // Also those that earlier folds had to leave.
    for (number, path) in
        wal::segments(&folding.folder, folding.slot).map_err(|it| it.to_string())?
    {
        if number <= old.number {
            std::fs::remove_file(path).map_err(|it| it.to_string())?;
        }
    }
    Ok(())
}

/// Drops the oldest settled transactions beyond the limits.
fn prune(log: &mut Log, options: &Options) {
    let max_age = u64::try_from(options.max_age.as_millis()).unwrap_or(u64::MAX);
    let oldest = clock::now_ms().saturating_sub(max_age);
    let mut over = log.transactions.len().saturating_sub(options.max_transactions);
    let mut bytes = log.answer_bytes.saturating_sub(options.max_answers);
    let mut drop = Vec::new();
    for transaction in log.transactions.values().filter(|it| !it.state.is_open()) {
        if over == 0 && bytes == 0 && transaction.began_ms >= oldest {
            break;
        }
        over = over.saturating_sub(1);
        if transaction.answer_kept {
            bytes = bytes.saturating_sub(transaction.answer_bytes);
        }
        drop.push(transaction.id);
    }
    for id in drop {
        log.remove(id);
    }
}

type Ready = Box<dyn FnOnce(Result<(), ToolError>) + Send>;

/// Files to force to the disk, and whom to tell.
#[derive(Default)]
struct Forcing {
    asked: Mutex<Asked>,
    wake: Condvar,
}

#[derive(Default)]
struct Asked {
    files: Vec<(Arc<File>, Ready)>,
    closing: bool,
}

pub(super) struct Threads {
    forcing: Arc<Forcing>,
    running: Mutex<Vec<JoinHandle<()>>>,
}

impl Threads {
    pub(super) fn start(shared: &Arc<Shared>) -> Result<Self, JournalError> {
        let forcing = Arc::new(Forcing::default());
        let failed = |it| JournalError::Io(shared.folding.folder.clone(), it);
        let folder = {
            let shared = Arc::clone(shared);
            spawn("godot-mcp-journal", move || run_folding(&shared)).map_err(failed)?
        };
        let forcer = {
            let forcing = Arc::clone(&forcing);
            spawn("godot-mcp-sync", move || run_forcing(&forcing)).map_err(failed)?
        };
        Ok(Self { forcing, running: Mutex::new(vec![folder, forcer]) })
    }

    pub(super) fn force(&self, file: Arc<File>, ready: Ready) {
        let mut asked = self.forcing.asked.lock();
        if asked.closing {
            drop(asked);
            return ready(Err(ToolError::new(Code::Busy, "the plugin is being switched off")));
        }
        asked.files.push((file, ready));
        self.forcing.wake.notify_one();
    }

    pub(super) fn close(&self, shared: &Shared) {
        shared.log.lock().closed = true;
        shared.folding.wish.lock().closing = true;
        shared.folding.wake.notify_one();
        self.forcing.asked.lock().closing = true;
        self.forcing.wake.notify_one();
        for thread in self.running.lock().drain(..) {
            // A thread that panicked has said so.
            let _ = thread.join();
        }
        *shared.store.lock() = None;
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.to_owned()).spawn(run)
}

fn run_folding(shared: &Shared) {
    while shared.folding.wait(shared.options.fold_after) {
        if let Err(error) = fold(shared) {
            (shared.options.report)(&format!("the journal cannot be folded: {error}"));
            shared.folding.retry_later();
        }
    }
    let dirty = {
        let log = shared.log.lock();
        !log.dirty.is_empty() || !log.removed.is_empty()
    };
    if dirty && let Err(error) = fold(shared) {
        (shared.options.report)(&format!("the journal cannot be folded: {error}"));
    }
}

fn run_forcing(forcing: &Forcing) {
    loop {
        let mut asked = forcing.asked.lock();
        while asked.files.is_empty() && !asked.closing {
            forcing.wake.wait(&mut asked);
        }
        let files = std::mem::take(&mut asked.files);
        let closing = asked.closing;
        drop(asked);
        // Many calls share one file, and one forced write.
        let mut done: Vec<(*const File, Result<(), ToolError>)> = Vec::new();
        for (file, ready) in files {
            let known = done.iter().find(|it| it.0 == Arc::as_ptr(&file));
            let result = match known {
                Some((_, result)) => result.clone(),
                None => {
                    let result = file.sync_data().map_err(|it| unwritable(&it));
                    done.push((Arc::as_ptr(&file), result.clone()));
                    result
                }
            };
            ready(result);
        }
        if closing {
            return;
        }
    }
}

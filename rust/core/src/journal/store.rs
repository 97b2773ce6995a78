//! `journal.redb`: transactions and answers, each by id.

use std::path::Path;
use std::sync::Arc;

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use serde_json::Value;

use super::record::Transaction;

const TRANSACTIONS: TableDefinition<u64, &[u8]> = TableDefinition::new("transactions");
const ANSWERS: TableDefinition<u64, &[u8]> = TableDefinition::new("answers");
/// The whole database is some megabytes, and is read once.
const CACHE: usize = 4 << 20;

pub(super) struct Store(Database);

/// Why a database cannot be opened.
#[derive(Debug)]
pub(super) enum OpenError {
    /// Another process has it.
    Taken,
    Unreadable(String),
}

/// What one fold writes.
#[derive(Default)]
pub(super) struct Batch {
    /// With the answer, when there is one to write.
    pub(super) transactions: Vec<(Transaction, Option<Arc<str>>)>,
    pub(super) removed: Vec<u64>,
}

impl Batch {
    pub(super) fn is_empty(&self) -> bool {
        self.transactions.is_empty() && self.removed.is_empty()
    }
}

impl Store {
    /// Opens a database, checked page by page, and reads its transactions.
    pub(super) fn open(path: &Path) -> Result<(Self, Vec<Transaction>), OpenError> {
        // The library promises errors for what a crash leaves, not for what else may lie there.
        let opened = std::panic::catch_unwind(|| open(path));
        opened.unwrap_or_else(|_| {
            Err(OpenError::Unreadable("its pages contradict each other".into()))
        })
    }

    pub(super) fn write(&self, batch: &Batch) -> Result<(), String> {
        self.try_write(batch).map_err(|it| it.to_string())
    }

    fn try_write(&self, batch: &Batch) -> Result<(), redb::Error> {
        // Durable when `commit` returns; that is the library's default.
        let txn = self.0.begin_write()?;
        {
            let mut transactions = txn.open_table(TRANSACTIONS)?;
            let mut answers = txn.open_table(ANSWERS)?;
            for (transaction, answer) in &batch.transactions {
                let json = serde_json::to_vec(transaction).unwrap_or_default();
                transactions.insert(transaction.id, json.as_slice())?;
                if let Some(answer) = answer {
                    answers.insert(transaction.id, answer.as_bytes())?;
                }
            }
            for &id in &batch.removed {
                transactions.remove(id)?;
                answers.remove(id)?;
            }
        }
        txn.commit()?;
        Ok(())
    }

    pub(super) fn answer(&self, id: u64) -> Option<Value> {
        let txn = self.0.begin_read().ok()?;
        let bytes = txn.open_table(ANSWERS).ok()?.get(id).ok()??;
        serde_json::from_slice(bytes.value()).ok()
    }
}

fn open(path: &Path) -> Result<(Store, Vec<Transaction>), OpenError> {
    let unreadable = |it: redb::Error| OpenError::Unreadable(it.to_string());
    let database = Database::builder()
        .set_cache_size(CACHE)
        .set_check_integrity_on_open(true)
        .create(path)
        .map_err(|it| match it {
            redb::DatabaseError::DatabaseAlreadyOpen => OpenError::Taken,
            other => OpenError::Unreadable(other.to_string()),
        })?;
    let read = || -> Result<Vec<Transaction>, redb::Error> {
        let txn = database.begin_write()?;
        txn.open_table(ANSWERS)?;
        let mut all = Vec::new();
        for entry in txn.open_table(TRANSACTIONS)?.iter()? {
            let (id, json) = entry?;
            match serde_json::from_slice::<Transaction>(json.value()) {
                Ok(transaction) if transaction.id == id.value() => all.push(transaction),
                _ => return Err(redb::Error::Corrupted("a transaction that is none".into())),
            }
        }
        txn.commit()?;
        Ok(all)
    };
    let transactions = read().map_err(unreadable)?;
    private(path);
    Ok((Store(database), transactions))
}

fn private(path: &Path) {
    // It lies in a folder that only this user can enter; this is a second lock.
    #[cfg(unix)]
    let _ = std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600));
    #[cfg(not(unix))]
    let _ = path;
}

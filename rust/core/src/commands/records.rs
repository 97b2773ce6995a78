//! What each call did to the files, kept beside the journal: for settling after a crash (B2) and for
//! taking a call back (B5).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::manifest::{Change, Tracker, write_whole};
use crate::clock;

/// Records that are kept; the oldest go first.
const RECORDS_MAX: usize = 200;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Was about to load the provider, or has.
    Running,
    Finished,
    /// The editor ended before the call did.
    Interrupted,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub transaction_id: String,
    pub provider: String,
    pub command: String,
    pub mutates: bool,
    pub began_ms: u64,
    pub state: State,
    /// Files that differ from before, complete.
    #[serde(default)]
    pub changes: Vec<Change>,
    #[serde(default)]
    pub changes_unavailable: Option<String>,
}

impl Record {
    pub fn new(transaction_id: &str, provider: &str, command: &str, mutates: bool) -> Self {
        Self {
            transaction_id: transaction_id.to_owned(),
            provider: provider.to_owned(),
            command: command.to_owned(),
            mutates,
            began_ms: clock::now_ms(),
            state: State::Running,
            changes: Vec::new(),
            changes_unavailable: None,
        }
    }
}

/// The records of one editor on a project.
pub struct Records {
    folder: PathBuf,
}

impl Records {
    /// # Errors
    /// When the folder cannot be made.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let folder = folder.join("calls");
        fs::create_dir_all(&folder)?;
        Ok(Self { folder })
    }

    /// Writes a record, on the disk before it returns.
    ///
    /// # Errors
    /// When it cannot be written; then the call must not begin (A17).
    pub fn write(&self, record: &Record) -> io::Result<()> {
        let path = self.path(&record.transaction_id).ok_or(io::ErrorKind::InvalidInput)?;
        write_whole(&path, &serde_json::to_vec(record)?)
    }

    pub fn find(&self, transaction_id: &str) -> Option<Record> {
        let bytes = fs::read(self.path(transaction_id)?).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Takes out the record of a call that did not begin.
    pub fn forget(&self, transaction_id: &str) {
        if let Some(path) = self.path(transaction_id) {
            // A record that is already gone is what was wanted.
            let _ = fs::remove_file(path);
        }
    }

    /// Ids of all records, the newest first.
    pub fn ids(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let names = entries.map(|it| it.file_name().to_string_lossy().into_owned());
        let mut ids: Vec<_> =
            names.filter_map(|it| it.strip_suffix(".json").map(str::to_owned)).collect();
        // By time, as the journal numbers them.
        ids.sort_unstable_by(|a, b| (b.len(), b).cmp(&(a.len(), a)));
        ids
    }

    /// Settles what an earlier process left running, with what it changed until it ended. Nobody
    /// else has these records: each editor on a project has its own (B2).
    pub fn settle(&self, tracker: &Tracker) -> Vec<Record> {
        let ids = self.ids();
        let mut settled = Vec::new();
        for id in &ids {
            let Some(mut record) = self.find(id).filter(|it| it.state == State::Running) else {
                continue;
            };
            record.state = State::Interrupted;
            match (tracker.kept(), tracker.look()) {
                (Some(before), Ok(after)) => record.changes = before.changes(&after),
                (None, _) => {
                    record.changes_unavailable =
                        Some("what was there before was not written down".to_owned());
                }
                (_, Err(why)) => record.changes_unavailable = Some(why),
            }
            if self.write(&record).is_ok() {
                settled.push(record);
            }
        }
        for id in ids.iter().skip(RECORDS_MAX) {
            self.forget(id);
        }
        settled
    }

    fn path(&self, id: &str) -> Option<PathBuf> {
        let plain = id.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_');
        (plain && !id.is_empty()).then(|| self.folder.join(format!("{id}.json")))
    }
}

#[cfg(test)]
mod tests;

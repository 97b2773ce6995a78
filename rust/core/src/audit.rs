//! The audit log (S9.4): one JSON line for each call, each with the hash of the line before.
//!
//! `audit.jsonl` is the newest file; when it is full it becomes `audit.jsonl.1`, and the chain goes
//! on from file to file. A line is the kernel's before the answer of its call leaves. Whoever
//! changes, removes or inserts a line breaks the chain from there on; whoever cuts lines off the
//! very end does not, so an outsider who must know keeps the hash that [`verify`] names.

mod verify;

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use crate::journal::slot_name;
use crate::{clock, digest};

pub use verify::{Broken, Chain, Report, verify};

/// `prev` of the very first line.
const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// A file that has reached this size is closed.
    pub max_bytes: u64,
    /// Closed files that are kept.
    pub keep: u32,
    /// Whether lines carry the arguments (`GODOT_MCP_AUDIT_ARGUMENTS`).
    pub arguments: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { max_bytes: 8 << 20, keep: 9, arguments: false }
    }
}

/// What one line says.
#[derive(Clone, Debug, Default)]
pub struct Entry<'a> {
    pub client: &'a str,
    pub tool: &'a str,
    /// Empty for a tool that does not exist.
    pub class: &'a str,
    /// `digest::call` of the arguments.
    pub arguments_hash: &'a str,
    pub arguments: Option<&'a Map<String, Value>>,
    /// `ok`, `preview`, `replayed`, `asked` or `refused`.
    pub outcome: &'a str,
    pub code: Option<&'a str>,
    pub duration_ms: f64,
    pub transaction: Option<String>,
    pub undo_token: Option<&'a str>,
    /// Who approved it, when somebody had to.
    pub approved_by: Option<String>,
}

/// Writes the log of this process. Works from any thread.
pub struct Audit {
    options: Options,
    path: PathBuf,
    state: Mutex<State>,
}

struct State {
    file: File,
    bytes: u64,
    number: u64,
    previous: String,
}

impl Audit {
    /// Opens the log of a slot of the journal, and enters that a process begins. Also answers what
    /// was found to be wrong, in a sentence.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn open(
        folder: &Path,
        slot: u32,
        instance: &str,
        options: Options,
    ) -> io::Result<(Self, Option<String>)> {
        let path = folder.join(format!("{}.jsonl", slot_name("audit", slot)));
        let (mut last, mut notice) = (None, None);
        let mut bytes = read_or_empty(&path)?;
        let whole = bytes.iter().rposition(|&it| it == b'\n').map_or(0, |it| it + 1);
        let torn = bytes.len() - whole;
        bytes.truncate(whole);
        for text in [bytes, read_or_empty(&numbered(&path, 1))?] {
            last = last.or_else(|| last_line(&text).map(|it| (digest::sha256(it), number(it))));
        }
        if let Some((_, None)) = last {
            notice = Some(format!("{} has a last line that is no audit line", path.display()));
        }
        let (previous, number) = last.unwrap_or_else(|| (GENESIS.to_owned(), Some(0)));
        let file = append(&path)?;
        // What a killed process left of a line is no line.
        file.set_len(whole as u64)?;
        let state = State { file, bytes: whole as u64, number: number.unwrap_or(0), previous };
        let audit = Self { options, path, state: Mutex::new(state) };
        let mut start = Map::new();
        start.insert("event".into(), json!("start"));
        start.insert("instance".into(), json!(instance));
        if torn > 0 {
            start.insert("torn_bytes".into(), json!(torn));
        }
        audit.append(start)?;
        Ok((audit, notice))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn wants_arguments(&self) -> bool {
        self.options.arguments
    }

    /// Enters one call.
    ///
    /// # Errors
    /// When the file cannot be written. The line is then missing, and the chain goes on without it.
    pub fn write(&self, entry: &Entry) -> io::Result<()> {
        let mut line = Map::new();
        line.insert("client".into(), json!(entry.client));
        line.insert("tool".into(), json!(entry.tool));
        line.insert("class".into(), json!(entry.class));
        line.insert("args".into(), json!(entry.arguments_hash));
        line.insert("outcome".into(), json!(entry.outcome));
        if let Some(code) = entry.code {
            line.insert("code".into(), json!(code));
        }
        let micros = (entry.duration_ms * 1000.0).round() / 1000.0;
        line.insert("ms".into(), json!(micros));
        if let Some(transaction) = &entry.transaction {
            line.insert("transaction_id".into(), json!(transaction));
        }
        if let Some(token) = entry.undo_token {
            line.insert("undo_token".into(), json!(token));
        }
        if let Some(by) = &entry.approved_by {
            line.insert("approved_by".into(), json!(by));
        }
        if let Some(arguments) = entry.arguments.filter(|_| self.options.arguments) {
            line.insert("arguments".into(), json!(arguments));
        }
        self.append(line)
    }

    fn append(&self, fields: Map<String, Value>) -> io::Result<()> {
        let mut state = self.state.lock();
        let mut line = Map::new();
        line.insert("n".into(), json!(state.number + 1));
        line.insert("time".into(), json!(clock::rfc3339(clock::now_ms())));
        line.extend(fields);
        line.insert("prev".into(), json!(state.previous));
        let mut text = Value::Object(line).to_string().into_bytes();
        let hash = digest::sha256(&text);
        text.push(b'\n');
        if let Err(error) = state.file.write_all(&text) {
            // Half a line must not run into the next one.
            let _ = state.file.set_len(state.bytes);
            return Err(error);
        }
        state.bytes += text.len() as u64;
        state.number += 1;
        state.previous = hash;
        if state.bytes >= self.options.max_bytes {
            self.rotate(&mut state)?;
        }
        Ok(())
    }

    fn rotate(&self, state: &mut State) -> io::Result<()> {
        for number in (1..=self.options.keep).rev() {
            let (from, to) = (numbered(&self.path, number), numbered(&self.path, number + 1));
            if number == self.options.keep {
                ignore_missing(std::fs::remove_file(from))?;
            } else {
                ignore_missing(std::fs::rename(from, to))?;
            }
        }
        std::fs::rename(&self.path, numbered(&self.path, 1))?;
        state.file = append(&self.path)?;
        state.bytes = 0;
        Ok(())
    }
}

/// Names of the logs in a folder, one for each slot.
///
/// # Errors
/// When the folder cannot be read.
pub fn logs(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|it| it.to_str()).unwrap_or_default();
        if name.starts_with("audit") && name.ends_with(".jsonl") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn numbered(path: &Path, number: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    PathBuf::from(name)
}

fn append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    crate::journal::private(&mut options);
    options.open(path)
}

fn read_or_empty(path: &Path) -> io::Result<Vec<u8>> {
    match std::fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        other => other,
    }
}

fn ignore_missing(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn last_line(text: &[u8]) -> Option<&[u8]> {
    text.split(|&it| it == b'\n').rfind(|it| !it.is_empty())
}

fn number(line: &[u8]) -> Option<u64> {
    serde_json::from_slice::<Value>(line).ok()?.get("n")?.as_u64()
}

#[cfg(test)]
mod tests;

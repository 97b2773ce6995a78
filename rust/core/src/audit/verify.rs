//! Checks a chain of audit files, without a running editor.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{GENESIS, numbered, read_or_empty};
use crate::digest;

/// What was found in one log and its older files.
#[derive(Debug, PartialEq)]
pub struct Report {
    /// Oldest first.
    pub files: Vec<PathBuf>,
    pub chain: Result<Chain, Broken>,
}

/// A chain that holds.
#[derive(Debug, PartialEq, Eq)]
pub struct Chain {
    pub lines: u64,
    /// Number of the first line that is still there; above 1 when older files were dropped.
    pub first: u64,
    pub last: u64,
    /// Hash of the last line. Kept elsewhere, it also shows whether lines were cut off the end.
    pub head: String,
    /// The last line is not complete: a call was being entered, or the editor was killed.
    pub torn: bool,
}

/// The first line that does not fit.
#[derive(Debug, PartialEq, Eq)]
pub struct Broken {
    pub file: PathBuf,
    /// From 1, in that file.
    pub line: u64,
    pub why: String,
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match &self.chain {
            Ok(chain) => {
                write!(
                    f,
                    "{} lines in {} file(s), numbers {} to {}, hash of the last: {}",
                    chain.lines,
                    self.files.len(),
                    chain.first,
                    chain.last,
                    chain.head
                )?;
                if chain.torn {
                    write!(f, "; followed by an incomplete line")?;
                }
                Ok(())
            }
            Err(it) => write!(f, "broken at {}:{}: {}", it.file.display(), it.line, it.why),
        }
    }
}

/// Checks a log, `audit.jsonl` or its like, together with its older files.
///
/// # Errors
/// When a file cannot be read.
pub fn verify(path: &Path) -> io::Result<Report> {
    let older = (1..).map(|it| numbered(path, it)).take_while(|it| it.exists());
    let mut files: Vec<PathBuf> = older.collect();
    files.reverse();
    files.push(path.to_owned());
    let chain = check(&files)?;
    Ok(Report { files, chain })
}

fn check(files: &[PathBuf]) -> io::Result<Result<Chain, Broken>> {
    let mut chain = Chain { lines: 0, first: 0, last: 0, head: GENESIS.to_owned(), torn: false };
    for (index, file) in files.iter().enumerate() {
        let text = read_or_empty(file)?;
        for (line_index, line) in text.split_inclusive(|&it| it == b'\n').enumerate() {
            let broken =
                |why: String| Broken { file: file.clone(), line: line_index as u64 + 1, why };
            let Some(line) = line.strip_suffix(b"\n") else {
                if index + 1 < files.len() {
                    return Ok(Err(broken("the line is cut off".to_owned())));
                }
                chain.torn = true;
                break;
            };
            if let Err(why) = chain.add(line) {
                return Ok(Err(broken(why)));
            }
        }
    }
    Ok(Ok(chain))
}

impl Chain {
    fn add(&mut self, line: &[u8]) -> Result<(), String> {
        let value: Value =
            serde_json::from_slice(line).map_err(|it| format!("it is no JSON: {it}"))?;
        let number = value["n"].as_u64().ok_or("it has no number")?;
        let previous = value["prev"].as_str().ok_or("it has no hash of the line before")?;
        let is_first = self.lines == 0;
        if is_first {
            self.first = number;
        } else if number != self.last + 1 {
            return Err(format!("it has number {number} after {}", self.last));
        }
        // The first line of what is left follows one that was dropped, unless it is the very first.
        if (!is_first || number == 1) && previous != self.head {
            return Err("the line before it is not the one it was written after".to_owned());
        }
        self.lines += 1;
        self.last = number;
        self.head = digest::sha256(line);
        Ok(())
    }
}

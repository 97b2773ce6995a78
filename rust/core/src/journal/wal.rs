//! The lines that calls write themselves: one `write` each, so a killed process leaves whole lines
//! and at most one torn one. Each line carries a checksum, and stands for the whole transaction, so
//! reading them in order gives the state.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::record::Transaction;
use super::slot_name;
use crate::digest;

const CHECKSUM: usize = 16;
/// Zeros that a new segment begins with and that lines overwrite. Forcing a line to the disk is then
/// one write of data; a file that grows would have to wait for the file system's own journal.
const ROOM: usize = 128 << 10;

/// One line.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Line {
    /// A transaction as it is from here on, with its answer once there is one to keep.
    #[serde(rename = "t")]
    Transaction(Transaction, #[serde(default)] Option<Value>),
    /// A transaction that is no more: nothing ran under it.
    #[serde(rename = "f")]
    Forgotten(u64),
}

/// A file of lines, named `journal.wal.N`; folding begins a new one and deletes the old.
pub(super) struct Segment {
    pub(super) file: Arc<File>,
    pub(super) number: u64,
    pub(super) bytes: u64,
}

impl Segment {
    /// A new segment whose name is on the disk.
    pub(super) fn create(folder: &Path, slot: u32, number: u64) -> io::Result<Self> {
        let path = folder.join(format!("{}{number}", prefix(slot)));
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        private(&mut options);
        let mut file = options.open(&path)?;
        file.write_all(&vec![0; ROOM])?;
        file.sync_all()?;
        file.rewind()?;
        let file = Arc::new(file);
        sync_folder(folder)?;
        Ok(Self { file, number, bytes: 0 })
    }

    /// Appends a line. On return it is the kernel's.
    pub(super) fn append(&mut self, line: &Line) -> io::Result<()> {
        let bytes = encode(line)?;
        let written = (&*self.file).write_all(&bytes);
        if written.is_err() {
            // The next line goes where half of this one may be.
            let _ = (&*self.file).seek(SeekFrom::Start(self.bytes));
        } else {
            self.bytes += bytes.len() as u64;
        }
        written
    }
}

fn encode(line: &Line) -> io::Result<Vec<u8>> {
    let json = serde_json::to_vec(line)?;
    let mut bytes = Vec::with_capacity(CHECKSUM + json.len() + 2);
    bytes.extend_from_slice(&digest::sha256(&json).as_bytes()[..CHECKSUM]);
    bytes.push(b' ');
    bytes.extend_from_slice(&json);
    bytes.push(b'\n');
    Ok(bytes)
}

/// What a segment says, and whether something in it could not be read. A torn last line is what a
/// killed process leaves, and no damage.
pub(super) fn decode(bytes: &[u8]) -> (Vec<Line>, bool) {
    let (mut lines, mut damaged) = (Vec::new(), false);
    let end = bytes.iter().rposition(|&it| it != 0).map_or(0, |it| it + 1);
    let bytes = &bytes[..end];
    for line in bytes.split_inclusive(|&it| it == b'\n') {
        let Some(line) = line.strip_suffix(b"\n") else { break };
        match decode_line(line) {
            Some(line) => lines.push(line),
            None => damaged = true,
        }
    }
    (lines, damaged)
}

fn decode_line(line: &[u8]) -> Option<Line> {
    let (checksum, json) = (line.get(..CHECKSUM)?, line.get(CHECKSUM + 1..)?);
    (digest::sha256(json).as_bytes()[..CHECKSUM] == *checksum)
        .then(|| serde_json::from_slice(json).ok())?
}

/// Segments of a slot that are on the disk, oldest first, with their numbers.
pub(super) fn segments(folder: &Path, slot: u32) -> io::Result<Vec<(u64, PathBuf)>> {
    let prefix = prefix(slot);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let number =
            name.to_str().and_then(|it| it.strip_prefix(&prefix)).and_then(|it| it.parse().ok());
        if let Some(number) = number {
            found.push((number, entry.path()));
        }
    }
    found.sort();
    Ok(found)
}

fn prefix(slot: u32) -> String {
    format!("{}.wal.", slot_name("journal", slot))
}

/// Makes new names in a folder last.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    File::open(folder)?.sync_all()?;
    #[cfg(not(unix))]
    let _ = folder;
    Ok(())
}

/// Readable by this user only.
pub(crate) fn private(options: &mut OpenOptions) {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    #[cfg(not(unix))]
    let _ = options;
}

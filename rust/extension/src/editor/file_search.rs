//! Looking through the project's files on disk, off the main thread.
//!
//! As the editor sees the project: hidden entries and folders with a `.gdignore` are skipped, links
//! are not followed.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};

use ignore::{WalkBuilder, WalkState};
use parking_lot::Mutex;
use regex::bytes::Regex;

/// Larger files are not searched for content.
pub(crate) const MAX_SEARCHED: u64 = 2 * 1024 * 1024;
/// Matches of one file beyond which the rest of it is skipped.
const MAX_IN_FILE: usize = 10_000;
/// Bytes of a line that a match shows.
const MAX_LINE: usize = 200;
/// Bytes in which a NUL marks a file as binary.
const SNIFFED: usize = 8_192;

/// Files that only belong to another file.
pub(crate) fn is_sidecar(name: &str) -> bool {
    name.ends_with(".import") || name.ends_with(".uid")
}

fn walker(folder: &Path) -> WalkBuilder {
    let mut builder = WalkBuilder::new(folder);
    // Only hidden entries: what git ignores is part of the project all the same.
    builder.standard_filters(false).hidden(true).follow_links(false);
    builder.filter_entry(|it| {
        let is_dir = it.file_type().is_some_and(|it| it.is_dir());
        !(is_dir && it.depth() > 0 && it.path().join(".gdignore").exists())
    });
    builder
}

/// Every file below a folder, sorted.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = walker(folder).build().flatten();
    let mut files: Vec<PathBuf> = entries
        .filter(|it| it.file_type().is_some_and(|it| it.is_file()))
        .map(ignore::DirEntry::into_path)
        .collect();
    files.sort();
    files
}

/// Every folder below a folder, and how deep it lies; sorted.
pub(crate) fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = walker(folder).build().flatten();
    let mut folders: Vec<PathBuf> = entries
        .filter(|it| it.depth() > 0 && it.file_type().is_some_and(|it| it.is_dir()))
        .map(ignore::DirEntry::into_path)
        .collect();
    folders.sort();
    folders
}

/// What to look for.
pub(crate) struct Search {
    /// Resolved folder of the project.
    pub(crate) project: PathBuf,
    pub(crate) folder: PathBuf,
    pub(crate) name: Option<ignore::overrides::Override>,
    pub(crate) content: Option<Regex>,
    /// Whether `.import` and `.uid` are looked at too.
    pub(crate) sidecars: bool,
}

/// One match: a file, or a place in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Hit {
    pub(crate) file: String,
    /// Counted from 1; 0 for a match by name only.
    pub(crate) line: usize,
    /// In characters, counted from 1.
    pub(crate) column: usize,
    pub(crate) text: String,
}

#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Sorted by file and place.
    pub(crate) hits: Vec<Hit>,
    pub(crate) files: usize,
    /// Files that were too large to search.
    pub(crate) too_large: Vec<String>,
    /// Files that are not text.
    pub(crate) binary: usize,
}

/// Runs a search on threads of its own. Stops early once nobody wants the answer.
pub(crate) fn run(search: &Search, wanted: &AtomicBool) -> Found {
    let found = Mutex::new(Found::default());
    let builder = {
        let mut builder = walker(&search.folder);
        builder.threads(std::thread::available_parallelism().map_or(2, Into::into).min(8));
        builder
    };
    builder.build_parallel().run(|| {
        Box::new(|entry| {
            if !wanted.load(Ordering::Relaxed) {
                return WalkState::Quit;
            }
            if let Ok(entry) = entry
                && entry.file_type().is_some_and(|it| it.is_file())
            {
                look(search, entry.path(), &found);
            }
            WalkState::Continue
        })
    });
    let mut found = found.into_inner();
    found.hits.sort();
    found.too_large.sort();
    found
}

fn look(search: &Search, file: &Path, found: &Mutex<Found>) {
    let name = file.file_name().map(|it| it.to_string_lossy()).unwrap_or_default();
    if !search.sidecars && is_sidecar(&name) {
        return;
    }
    if let Some(glob) = &search.name
        && !glob.matched(file, false).is_whitelist()
    {
        return;
    }
    let Some(shown) = shown(&search.project, file) else { return };
    let Some(pattern) = &search.content else {
        let mut found = found.lock();
        found.files += 1;
        found.hits.push(Hit { file: shown, line: 0, column: 0, text: String::new() });
        return;
    };
    if std::fs::metadata(file).is_ok_and(|it| it.len() > MAX_SEARCHED) {
        found.lock().too_large.push(shown);
        return;
    }
    let Ok(bytes) = std::fs::read(file) else { return };
    if bytes[..bytes.len().min(SNIFFED)].contains(&0) {
        found.lock().binary += 1;
        return;
    }
    let hits = hits(&shown, &bytes, pattern);
    let mut found = found.lock();
    found.files += 1;
    found.hits.extend(hits);
}

/// The `res://` path of a file.
pub(crate) fn shown(project: &Path, file: &Path) -> Option<String> {
    let relative = file.strip_prefix(project).ok()?;
    let parts: Vec<_> = relative.iter().map(|it| it.to_string_lossy()).collect();
    Some(format!("res://{}", parts.join("/")))
}

fn hits(file: &str, bytes: &[u8], pattern: &Regex) -> Vec<Hit> {
    let mut hits = Vec::new();
    let (mut line, mut line_start, mut counted) = (1, 0, 0);
    for found in pattern.find_iter(bytes).take(MAX_IN_FILE) {
        for (at, _) in bytes[counted..found.start()].iter().enumerate().filter(|it| *it.1 == b'\n')
        {
            line += 1;
            line_start = counted + at + 1;
        }
        counted = found.start();
        let before = &bytes[line_start..found.start()];
        hits.push(Hit {
            file: file.to_owned(),
            line,
            column: String::from_utf8_lossy(before).chars().count() + 1,
            text: line_of(bytes, line_start, found.start()),
        });
    }
    hits
}

/// The line of a match, cut to what fits around it.
fn line_of(bytes: &[u8], start: usize, at: usize) -> String {
    let end = bytes[at..].iter().position(|it| *it == b'\n').map_or(bytes.len(), |it| at + it);
    let from = start.max(at.saturating_sub(MAX_LINE / 2));
    let to = end.min(from + MAX_LINE);
    let text = String::from_utf8_lossy(&bytes[from..to]);
    let text = text.trim().replace(|it: char| it.is_control() && it != '\t', " ");
    let (left, right) = (if from > start { "..." } else { "" }, if to < end { "..." } else { "" });
    format!("{left}{text}{right}")
}

/// Work on a thread of its own, asked for its result once a frame.
pub(crate) struct Background<T> {
    result: mpsc::Receiver<T>,
    wanted: Arc<AtomicBool>,
}

impl<T: Send + 'static> Background<T> {
    /// `work` is told whether its result is still wanted.
    pub(crate) fn start(work: impl FnOnce(&AtomicBool) -> T + Send + 'static) -> Self {
        let (sender, result) = mpsc::sync_channel(1);
        let wanted = Arc::new(AtomicBool::new(true));
        let flag = Arc::clone(&wanted);
        std::thread::spawn(move || {
            // Nobody listens any more after a cancel.
            let _ = sender.send(work(&flag));
        });
        Self { result, wanted }
    }

    /// None while it works; an error when it panicked.
    pub(crate) fn poll(&self) -> Option<Result<T, godot_mcp_core::ToolError>> {
        match self.result.try_recv() {
            Ok(result) => Some(Ok(result)),
            Err(mpsc::TryRecvError::Empty) => None,
            Err(mpsc::TryRecvError::Disconnected) => {
                Some(Err(godot_mcp_core::ToolError::internal("a background thread panicked")))
            }
        }
    }
}

impl<T> Drop for Background<T> {
    fn drop(&mut self) {
        self.wanted.store(false, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pattern: &str, text: &str) -> Vec<(usize, usize, String)> {
        let pattern = Regex::new(pattern).expect("a pattern");
        let hits = hits("res://a", text.as_bytes(), &pattern);
        hits.into_iter().map(|it| (it.line, it.column, it.text)).collect()
    }

    #[test]
    fn places_count_from_one_in_characters() {
        let at = |line, column, text: &str| (line, column, text.to_owned());
        assert_eq!(found("b", "ab\n\n  übb"), [at(1, 2, "ab"), at(3, 4, "übb"), at(3, 5, "übb")]);
        assert_eq!(found("x", "none"), []);
    }

    #[test]
    fn long_lines_are_cut_around_the_match() {
        let text = format!("{}needle{}", "a".repeat(1000), "b".repeat(1000));
        let (_, column, shown) = found("needle", &text).remove(0);
        assert_eq!(column, 1001);
        assert!(shown.len() < 220 && shown.contains("needle"), "{shown}");
    }
}

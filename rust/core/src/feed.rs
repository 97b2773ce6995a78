//! The errors feed: a bounded list of what editor, scripts and imports logged, with a cursor.

use std::collections::VecDeque;

use parking_lot::Mutex;
use serde::Serialize;

/// Entries that are kept; older ones are dropped, and an answer says how many.
const CAPACITY: usize = 2_000;

/// How bad an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Info,
    Warning,
    Error,
}

/// One logged message.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    pub seq: u64,
    pub severity: Severity,
    /// `engine`, `script`, `shader`, `print` or `server`.
    pub source: &'static str,
    pub message: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub file: String,
    #[serde(skip_serializing_if = "is_zero")]
    pub line: i64,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub function: String,
    /// Script frames, innermost first, each `file:line function`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<String>,
}

fn is_zero(line: &i64) -> bool {
    *line == 0
}

/// A page of the feed.
#[derive(Debug, PartialEq)]
pub struct Page {
    pub entries: Vec<Entry>,
    /// Cursor for the next call.
    pub next: u64,
    pub has_more: bool,
    /// Entries after the cursor that were dropped before they could be read.
    pub dropped: u64,
}

/// Readable and writable from any thread.
#[derive(Debug, Default)]
pub struct Feed(Mutex<Ring>);

#[derive(Debug, Default)]
struct Ring {
    entries: VecDeque<Entry>,
    /// Number of the newest entry; the first one has number 1.
    last: u64,
}

impl Feed {
    /// Appends an entry. Its `seq` is set here.
    pub fn push(&self, mut entry: Entry) {
        let mut ring = self.0.lock();
        ring.last += 1;
        entry.seq = ring.last;
        if ring.entries.len() == CAPACITY {
            ring.entries.pop_front();
        }
        ring.entries.push_back(entry);
    }

    /// Cursor that stands behind everything logged so far.
    pub fn cursor(&self) -> u64 {
        self.0.lock().last
    }

    /// The newest entries of one source, newest first.
    pub fn newest_of(&self, source: &str, limit: usize) -> Vec<Entry> {
        let ring = self.0.lock();
        ring.entries.iter().rev().filter(|it| it.source == source).take(limit).cloned().collect()
    }

    /// Entries after `since` of at least `severity`, oldest first.
    pub fn page(&self, since: u64, severity: Severity, limit: usize) -> Page {
        let ring = self.0.lock();
        // A cursor from before an editor restart may lie ahead; start over then.
        let since = if since > ring.last { 0 } else { since };
        let oldest = ring.entries.front().map_or(ring.last + 1, |it| it.seq);
        let mut matching =
            ring.entries.iter().filter(|it| it.seq > since && it.severity >= severity);
        let entries: Vec<Entry> = matching.by_ref().take(limit).cloned().collect();
        let has_more = matching.next().is_some();
        let next = if has_more { entries.last().map_or(since, |it| it.seq) } else { ring.last };
        Page { entries, next, has_more, dropped: oldest.saturating_sub(since + 1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(severity: Severity) -> Entry {
        Entry {
            seq: 0,
            severity,
            source: "engine",
            message: "m".into(),
            file: String::new(),
            line: 0,
            function: String::new(),
            stack: Vec::new(),
        }
    }

    #[test]
    fn pages_without_gaps_or_repeats() {
        let feed = Feed::default();
        for index in 0..10 {
            let severity = if index % 2 == 0 { Severity::Error } else { Severity::Info };
            feed.push(entry(severity));
        }
        let first = feed.page(0, Severity::Error, 3);
        assert_eq!(first.entries.iter().map(|it| it.seq).collect::<Vec<_>>(), [1, 3, 5]);
        assert!(first.has_more);
        let rest = feed.page(first.next, Severity::Error, 3);
        assert_eq!(rest.entries.iter().map(|it| it.seq).collect::<Vec<_>>(), [7, 9]);
        assert_eq!((rest.has_more, rest.next), (false, 10));
    }

    #[test]
    fn says_what_was_dropped() {
        let feed = Feed::default();
        for _ in 0..CAPACITY + 5 {
            feed.push(entry(Severity::Error));
        }
        let page = feed.page(0, Severity::Error, CAPACITY);
        assert_eq!((page.dropped, page.entries.len()), (5, CAPACITY));
        assert_eq!(feed.page(page.next, Severity::Error, 1).dropped, 0);
    }
}

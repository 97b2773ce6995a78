//! What this library itself logs: warnings and faults, into the errors feed.

use std::io;

use godot_mcp_core::feed::{Entry, Feed, Severity};
use parking_lot::Mutex;

/// Lines that are kept until the main thread takes them over; more are dropped.
const CAPACITY: usize = 200;

static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Collects one line.
struct Line(Vec<u8>);

impl io::Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let text = String::from_utf8_lossy(&self.0).trim().to_owned();
        let mut lines = LINES.lock();
        if !text.is_empty() && lines.len() < CAPACITY {
            lines.push(text);
        }
    }
}

/// Starts collecting. The second start of a session finds it done.
pub(crate) fn install() {
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::WARN)
        .with_ansi(false)
        .without_time()
        .with_writer(|| Line(Vec::new()))
        .finish();
    // The library stays loaded when the plugin is switched off, and so does the subscriber.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

/// Moves what was collected into the feed. True when there was something.
pub(crate) fn drain(feed: &Feed) -> bool {
    let lines = std::mem::take(&mut *LINES.lock());
    let any = !lines.is_empty();
    for line in lines {
        feed.push(Entry {
            seq: 0,
            severity: if line.starts_with("ERROR") { Severity::Error } else { Severity::Warning },
            source: "server",
            message: line,
            file: String::new(),
            line: 0,
            function: String::new(),
            stack: Vec::new(),
        });
    }
    any
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_reach_the_feed() {
        install();
        tracing::info!("not this");
        tracing::error!("a fault of {}", 7);
        let feed = Feed::default();
        drain(&feed);
        let page = feed.page(0, Severity::Info, 10);
        assert_eq!(page.entries.len(), 1);
        assert!(page.entries[0].message.contains("a fault of 7"), "{page:?}");
        assert_eq!(page.entries[0].severity, Severity::Error);
    }
}

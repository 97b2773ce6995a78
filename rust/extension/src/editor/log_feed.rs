//! From the engine's log to the errors feed.
//!
//! `log.gd` collects on whatever thread logs; the main thread takes the entries over here, once a
//! frame and after each call, so an answer never runs ahead of what it caused.

use godot::builtin::{AnyArray, VarDictionary};
use godot::classes::RefCounted;
use godot::obj::Gd;
use godot_mcp_core::call::LogSink;
use godot_mcp_core::feed::{Entry, Feed, Severity};
use godot_mcp_core::{game_log, untrusted};
use serde_json::json;

use super::quirks;

/// Moves everything that `log.gd` has collected into the feed.
pub(crate) fn drain(logger: &mut Gd<RefCounted>, feed: &Feed) {
    take(logger).into_iter().for_each(|it| feed.push(it));
}

/// Takes everything that `log.gd` has collected, for a caller that knows better where it belongs.
pub(crate) fn take(logger: &mut Gd<RefCounted>) -> Vec<Entry> {
    // A typed array of the script's: `VarArray` would refuse it.
    let Ok(entries) = logger.call("drain", &[]).try_to::<AnyArray>() else { return Vec::new() };
    entries
        .iter_shared()
        .filter_map(|it| it.try_to::<VarDictionary>().ok())
        .map(|it| entry_of(&it))
        .filter(|it| !quirks::is_harmless(it) && !it.message.is_empty())
        .collect()
}

/// Lines of the log that one call passes on.
const MAX_FORWARDED: usize = 50;

/// Hands what was logged after `since` to the client behind a call. Other text than ours is marked
/// as untrusted (S9.3).
pub(crate) fn forward(feed: &Feed, since: u64, log: &LogSink) {
    for entry in feed.page(since, Severity::Info, MAX_FORWARDED).entries {
        let mut data = json!({"message": untrusted::wrap(entry.source, &entry.message)});
        if !entry.file.is_empty() {
            data["file"] = json!(entry.file);
            data["line"] = json!(entry.line);
        }
        log(entry.severity, data);
    }
}

fn entry_of(fields: &VarDictionary) -> Entry {
    let text = |key: &str| fields.get(key).map(|it| it.to_string()).unwrap_or_default();
    let number = |key: &str| fields.get(key).and_then(|it| it.try_to::<i64>().ok()).unwrap_or(0);
    let stack = fields.get("stack").and_then(|it| it.try_to::<AnyArray>().ok());
    // `Logger.ErrorType`: 0 error, 1 warning, 2 script, 3 shader; -1 and -2 are printed text.
    let (severity, source) = match number("type") {
        -2 => (Severity::Info, "print"),
        -1 => (Severity::Error, "print"),
        1 => (Severity::Warning, "engine"),
        2 => (Severity::Error, "script"),
        3 => (Severity::Error, "shader"),
        _ => (Severity::Error, "engine"),
    };
    Entry {
        seq: 0,
        severity,
        source,
        message: game_log::plain(&text("message")),
        file: text("file"),
        line: number("line"),
        function: text("function"),
        stack: stack
            .map(|it| it.iter_shared().map(|frame| frame.to_string()).collect())
            .unwrap_or_default(),
    }
}

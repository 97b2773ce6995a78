//! What a write changes in a text file, as previews show it (S4.3).

use godot_mcp_core::{text_diff, untrusted};
use serde_json::Value;

/// Lines that a diff shows; more are counted.
const MAX_LINES: usize = 60;
/// Longest line that a diff shows whole.
const MAX_LINE: usize = 200;
/// Larger files would take too long to compare.
const MAX_BYTES: usize = 256 << 10;

/// Unified, one line of context. None for what is no text or is too large.
pub(crate) fn unified(old: &[u8], new: &[u8]) -> Option<String> {
    if old.len().max(new.len()) > MAX_BYTES || old.contains(&0) || new.contains(&0) {
        return None;
    }
    let (old, new) = (std::str::from_utf8(old).ok()?, std::str::from_utf8(new).ok()?);
    let text = text_diff::unified(old, new, 1);
    let total = text.lines().count();
    let mut shown: Vec<String> = text.lines().take(MAX_LINES).map(shortened).collect();
    if total > MAX_LINES {
        shown.push(format!("... {} more lines", total - MAX_LINES));
    }
    Some(shown.join("\n"))
}

fn shortened(line: &str) -> String {
    match line.char_indices().nth(MAX_LINE) {
        Some((at, _)) => format!("{}...", &line[..at]),
        None => line.to_owned(),
    }
}

/// Puts the diff of a change, which quotes the file, into the envelope (S9.3). Only in answers: the
/// plan itself has to be the same each time.
pub(crate) fn mark_untrusted(change: &mut Value) {
    let path = change["write"].as_str().unwrap_or_default().to_owned();
    if let Some(Value::String(diff)) = change.get_mut("diff") {
        *diff = untrusted::wrap(&path, diff);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_what_differs() {
        let diff = unified(b"a\nb\nc\nd\n", b"a\nb\nx\nd\n").expect("text");
        assert_eq!(diff, "@@ -2,3 +2,3 @@\n b\n-c\n+x\n d");
        assert!(unified(b"a", &[0xff]).is_none());
        assert!(unified(b"a\0", b"b").is_none());
    }

    #[test]
    fn is_bounded() {
        let long = "x\n".repeat(500) + &"y".repeat(5_000);
        let diff = unified(b"", long.as_bytes()).expect("text");
        assert!(diff.lines().count() == MAX_LINES + 1 && diff.contains("more lines"), "{diff}");
    }
}

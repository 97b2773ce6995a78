//! Panics on demand: tests set `GODOT_MCP_TEST_PANIC=plan:TOOL` or `apply:TOOL` for an editor, and see
//! what becomes of a tool that panics there.

use std::sync::OnceLock;

/// Panics when the operator of a test asked for it.
pub(crate) fn reach(point: &str, tool: &str) {
    static WANTED: OnceLock<Option<String>> = OnceLock::new();
    let wanted = WANTED.get_or_init(|| std::env::var("GODOT_MCP_TEST_PANIC").ok()).as_deref();
    if wanted.and_then(|it| it.split_once(':')) == Some((point, tool)) {
        panic!("the test asked for it");
    }
}

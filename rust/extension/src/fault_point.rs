//! Faults on demand, of tests: `GODOT_MCP_TEST_PANIC=POINT:TOOL` has a tool panic at `plan` or `apply`,
//! `GODOT_MCP_TEST_KILL=POINT:TOOL` kills the editor at `begun`, `committed`, `ran` or `settled`, which are
//! the steps of a call in the journal.

use std::sync::OnceLock;

static PANIC: OnceLock<Option<String>> = OnceLock::new();
static KILL: OnceLock<Option<String>> = OnceLock::new();

/// Panics, or ends the process as `kill -9` does, when the operator of a test asked for it.
pub(crate) fn reach(point: &str, tool: &str) {
    let wanted = |cell: &'static OnceLock<Option<String>>, name: &str| {
        let asked = cell.get_or_init(|| std::env::var(name).ok()).as_deref();
        asked.and_then(|it| it.split_once(':')) == Some((point, tool))
    };
    if wanted(&PANIC, "GODOT_MCP_TEST_PANIC") {
        panic!("the test asked for it");
    }
    if wanted(&KILL, "GODOT_MCP_TEST_KILL") {
        let pid = std::process::id().to_string();
        let _ = std::process::Command::new("kill").args(["-9", &pid]).status();
        std::process::abort();
    }
}

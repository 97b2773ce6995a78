//! Checking GDScript source beside the loaded scripts, which stay as they are.

use godot::classes::{ClassDb, Script};
use godot::obj::{Gd, Singleton};
use godot_mcp_core::game_log::Finding;
use godot_mcp_core::script_source;

use super::{Editor, log_feed};
use crate::host_node::drain_log;

/// Parse and type errors of `source`, told of the file `path`. Empty when there are none.
///
/// A fresh script object compiles it in process. The engine tells errors only through the log, so
/// they are taken from there; the feed gets everything else that was logged.
pub(crate) fn check(editor: &Editor, path: &str, source: &str) -> Vec<Finding> {
    let app = editor.app();
    drain_log(app);
    let Ok(mut script) = ClassDb::singleton().instantiate("GDScript").try_to::<Gd<Script>>() else {
        return Vec::new();
    };
    let folder = script_source::folder_of(path);
    let stand_in = script_source::stand_in(&script_source::with_absolute_paths(source, folder));
    script.set_source_code(&stand_in.source);
    script.reload();

    let mut findings = Vec::new();
    let mut logger = app.logger.clone();
    if !logger.is_instance_valid() {
        return findings;
    }
    for entry in log_feed::take(&mut logger) {
        // A script without a path is named after its object.
        if entry.source != "script" || !entry.file.starts_with("gdscript://") {
            app.shared.feed.push(entry);
            continue;
        }
        let message = entry.message.trim_start_matches("Parse Error: ");
        let Some(message) = stand_in.translate(message) else { continue };
        findings.push(Finding {
            severity: entry.severity,
            source: "parse",
            message,
            file: path.to_owned(),
            line: entry.line,
            times: 1,
            stack: Vec::new(),
        });
    }
    findings
}

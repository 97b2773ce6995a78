use std::sync::mpsc::TryRecvError;
use std::time::{Duration, Instant};

use crate::extensions;
use crate::main_thread::is_scanning;
use crate::tool_prelude::*;

/// Looks for added, changed and removed extensions now, also after files were written outside.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ExtensionsRefresh {}

/// The editor takes over classes some frames after a scan.
const QUIET: Duration = Duration::from_millis(50);

impl Tool for ExtensionsRefresh {
    const NAME: &'static str = "extensions_refresh";
    const TOOLSET: &'static str = "extensions";

    fn adjust(spec: &mut ToolSpec) {
        spec.executes_code = true;
        spec.timeout = Duration::from_secs(120);
    }

    fn examples() -> Vec<Example> {
        vec![
            Example::answer(
                "Finds nothing new.",
                "",
                json!({"added": "*", "removed": "*", "changed": "*", "failed": "*"}),
            )
            .args(json!({})),
        ]
    }
}

impl RuntimeTool for ExtensionsRefresh {
    fn run(self, editor: &Editor) -> Result<Outcome, ToolError> {
        let Some(mut system) = editor.interface().get_resource_filesystem() else {
            return Err(ToolError::internal("the editor has no file system"));
        };
        let looked = editor.app().extensions.look_now();
        let (mut started, mut quiet) = (false, None);
        Ok(Outcome::Wait(Box::new(move |editor| -> Option<Answer> {
            if is_scanning() {
                quiet = None;
                return None;
            }
            if !started {
                if looked.try_recv() == Err(TryRecvError::Empty) {
                    return None;
                }
                started = true;
                editor.app().extensions.take_news();
                system.scan();
                return None;
            }
            let since: &mut Instant = quiet.get_or_insert_with(Instant::now);
            if since.elapsed() < QUIET {
                return None;
            }
            let changes = extensions::refresh(&editor.app_rc());
            let mut faults = Map::new();
            editor.app().extensions.each(&mut |class, it| {
                if !it.faults.is_empty() {
                    let list = super::extensions_status::faults(&it.faults);
                    faults.insert(class.to_owned(), json!({"file": it.path, "faults": list}));
                }
            });
            Some(Ok(Reply::Json(json!({
                "added": changes.added,
                "removed": changes.removed,
                "changed": changes.changed,
                "failed": changes.failed,
                "faults": faults,
            }))))
        })))
    }
}

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::editor::{files, scene_files};
use crate::main_thread::is_scanning;
use crate::tool_prelude::*;

/// Makes the editor look for files that were added, changed or removed outside it, imports them,
/// and waits until it is done. Answers what changed.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct RescanFilesystem {
    /// Longest wait.
    #[serde(default = "default_timeout")]
    #[schemars(range(min = 100, max = 600_000))]
    timeout_ms: u64,
}

fn default_timeout() -> u64 {
    30_000
}

/// Files that an answer names, of each kind.
const MAX_NAMED: usize = 50;
/// The editor starts importing some frames after a scan.
const QUIET: Duration = Duration::from_millis(100);

impl Tool for RescanFilesystem {
    const NAME: &'static str = "rescan_filesystem";
    const TOOLSET: &'static str = "scene_edit";

    fn adjust(spec: &mut ToolSpec) {
        spec.writes_disk = true;
        spec.timeout = Duration::from_millis(600_000);
    }

    fn examples() -> Vec<Example> {
        vec![Example::answer("Finds nothing new.", "", json!({"scanned": true})).args(json!({}))]
    }
}

impl RuntimeTool for RescanFilesystem {
    fn run(self, editor: &Editor) -> Result<Outcome, ToolError> {
        let Some(mut system) = editor.interface().get_resource_filesystem() else {
            return Err(ToolError::internal("the editor has no file system"));
        };
        let deadline = Instant::now() + Duration::from_millis(self.timeout_ms);
        let before = listing();
        // A scan that runs already may have passed what changed since; it is waited for first.
        let mut started = false;
        let mut quiet_since = None;
        Ok(Outcome::Wait(Box::new(move |_| -> Option<Answer> {
            if Instant::now() >= deadline {
                return Some(Err(ToolError::new(
                    Code::Timeout,
                    "the editor is still scanning or importing",
                )
                .hint("it goes on by itself; `health_check` says when it is done")
                .details(json!({"may_have_applied": true}))));
            }
            if is_scanning() {
                quiet_since = None;
                return None;
            }
            if !started {
                started = true;
                system.scan();
                return None;
            }
            let quiet: &mut Instant = quiet_since.get_or_insert_with(Instant::now);
            if quiet.elapsed() < QUIET {
                return None;
            }
            Some(Ok(answer(&before, &listing()).into()))
        })))
    }
}

/// Files that the editor knows, with type and time of the last change on disk.
fn listing() -> BTreeMap<String, (String, Option<std::time::SystemTime>)> {
    let mut all = BTreeMap::new();
    scene_files::each_file(&mut |path, kind| {
        let time = std::fs::metadata(files::absolute(path)).and_then(|it| it.modified()).ok();
        all.insert(path.to_owned(), (kind.to_owned(), time));
    });
    all
}

type Listing = BTreeMap<String, (String, Option<std::time::SystemTime>)>;

fn answer(before: &Listing, after: &Listing) -> Value {
    let mut answer = json!({"scanned": true, "files": after.len()});
    let mut add = |name: &str, list: Vec<&String>| {
        if list.len() > MAX_NAMED {
            answer[format!("{name}_total")] = json!(list.len());
        }
        answer[name] = json!(list.into_iter().take(MAX_NAMED).collect::<Vec<_>>());
    };
    add("added", after.keys().filter(|it| !before.contains_key(*it)).collect());
    add("removed", before.keys().filter(|it| !after.contains_key(*it)).collect());
    let retyped = |(path, new): &(&String, &(String, Option<_>))| {
        before.get(*path).is_some_and(|old| old.0 != new.0)
    };
    add("retyped", after.iter().filter(retyped).map(|it| it.0).collect());
    answer
}

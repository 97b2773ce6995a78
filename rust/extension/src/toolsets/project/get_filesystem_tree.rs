use std::path::{Path, PathBuf};

use crate::editor::file_search::{self, Background};
use crate::tool_prelude::*;

/// Files and folders of the project. Left out: hidden entries, folders with a `.gdignore`, `.uid`
/// and `.import` files.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct GetFilesystemTree {
    #[serde(default = "super::res_root")]
    directory: ResPath,
    /// Levels of folders below; -1 for all.
    #[serde(default = "all")]
    #[schemars(range(min = -1, max = 1000))]
    max_depth: i64,
}

fn all() -> i64 {
    -1
}

/// Entries of an answer. A larger tree is given to the depth at which it fits.
const MAX_ENTRIES: usize = 3_000;

impl Tool for GetFilesystemTree {
    const NAME: &'static str = "get_filesystem_tree";
    const TOOLSET: &'static str = "project";

    fn examples() -> Vec<Example> {
        let before = "\n;- res://art/a.txt\nx\n;- res://art/deep/b.txt\nx\n;- res://no/.gdignore\n\n;- res://no/c.txt\nx\n";
        vec![
            Example::answer(
                "Shows a folder.",
                before,
                json!({
                    "files": 2, "folders": 1,
                    "tree": {"files": ["a.txt"], "folders": {"deep": {"files": ["b.txt"]}}}
                }),
            )
            .args(json!({"directory": "res://art"})),
            Example::answer(
                "Counts what lies deeper.",
                before,
                json!({"tree": {"files": ["a.txt"], "folders": {"deep": {"files_below": 1}}}}),
            )
            .args(json!({"directory": "res://art", "max_depth": 0})),
            Example::refusal("Refuses a missing folder.", before, Code::ResourceNotFound)
                .args(json!({"directory": "res://arts"})),
        ]
    }
}

impl ReadTool for GetFilesystemTree {
    fn run(self, editor: &Editor) -> Result<Outcome, ToolError> {
        let (directory, folder) = super::folder(editor, &self.directory)?;
        let depth = usize::try_from(self.max_depth).unwrap_or(usize::MAX);
        let work = Background::start(move |_| answer(&directory, &folder, depth));
        Ok(Outcome::Wait(Box::new(move |_| Some(work.poll()?.map(Reply::Json)))))
    }
}

fn answer(directory: &str, folder: &Path, depth: usize) -> Value {
    let relative = |paths: Vec<PathBuf>| -> Vec<Vec<String>> {
        let parts = |it: &Path| it.iter().map(|it| it.to_string_lossy().into_owned()).collect();
        paths.iter().filter_map(|it| it.strip_prefix(folder).ok()).map(parts).collect()
    };
    let mut files = relative(file_search::files(folder));
    files.retain(|it| it.last().is_some_and(|it| !file_search::is_sidecar(it)));
    let folders = relative(file_search::folders(folder));

    // An entry with n parts lies at depth n - 1.
    let count = |depth: usize| {
        files.iter().chain(&folders).filter(|it| it.len() <= depth.saturating_add(1)).count()
    };
    let mut shown = depth;
    if count(shown) > MAX_ENTRIES {
        let deepest = files.iter().chain(&folders).map(Vec::len).max().unwrap_or(1);
        shown = shown.min(deepest);
        while shown > 0 && count(shown) > MAX_ENTRIES {
            shown -= 1;
        }
    }
    let mut answer = json!({
        "directory": directory, "files": files.len(), "folders": folders.len(),
        "tree": tree(&files, &folders, &[], shown),
    });
    if shown < depth && count(depth) > count(shown) {
        answer["truncated"] = json!(true);
        answer["max_depth"] = json!(shown);
        answer["hint"] = json!("give directory to see more of one folder");
    }
    answer
}

fn tree(files: &[Vec<String>], folders: &[Vec<String>], at: &[String], depth: usize) -> Value {
    let below = |it: &&Vec<String>| it.len() > at.len() && it.starts_with(at);
    let direct = |it: &&Vec<String>| it.len() == at.len() + 1 && it.starts_with(at);
    let mut node = Map::new();
    let mut names: Vec<&str> =
        files.iter().filter(direct).filter_map(|it| it.last()).map(String::as_str).collect();
    if names.len() > MAX_ENTRIES {
        node.insert("files_total".into(), json!(names.len()));
        names.truncate(MAX_ENTRIES);
    }
    if !names.is_empty() {
        node.insert("files".into(), json!(names));
    }
    let mut inner = Map::new();
    for folder in folders.iter().filter(direct) {
        let name = folder.last().cloned().unwrap_or_default();
        let value = match depth {
            0 => {
                let within = |it: &&Vec<String>| it.len() > folder.len() && it.starts_with(folder);
                json!({"files_below": files.iter().filter(within).count()})
            }
            _ => {
                // Only what lies below: a large project is gone through once a level.
                let below_files: Vec<_> = files
                    .iter()
                    .filter(below)
                    .filter(|it| it.starts_with(folder))
                    .cloned()
                    .collect();
                let below_folders: Vec<_> = folders
                    .iter()
                    .filter(below)
                    .filter(|it| it.starts_with(folder))
                    .cloned()
                    .collect();
                tree(&below_files, &below_folders, folder, depth - 1)
            }
        };
        inner.insert(name, value);
    }
    if !inner.is_empty() {
        node.insert("folders".into(), Value::Object(inner));
    }
    Value::Object(node)
}

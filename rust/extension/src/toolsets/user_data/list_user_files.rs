use std::path::Path;
use std::time::UNIX_EPOCH;

use crate::editor::files;
use crate::tool_prelude::*;

/// Files below a folder of `user://`, with size and time of the last change.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ListUserFiles {
    #[serde(default = "root")]
    directory: UserPath,
    #[serde(default)]
    offset: usize,
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 1000))]
    limit: usize,
}

fn root() -> UserPath {
    UserPath::new("user://").expect("the root is a path")
}

fn default_limit() -> usize {
    200
}

/// Entries that are looked at; the rest is said to be left out.
const MAX_FILES: usize = 20_000;

impl Tool for ListUserFiles {
    const NAME: &'static str = "list_user_files";
    const TOOLSET: &'static str = "user_data";

    fn examples() -> Vec<Example> {
        vec![
            Example::answer(
                "Lists what the game saved.",
                "",
                json!({"files": [{"path": "user://saves/one.txt", "bytes": 2}], "total": 1}),
            )
            .after(
                "write_user_file",
                json!({"path": "user://saves/one.txt", "content": "hi", "confirm": true}),
            )
            .args(json!({"directory": "user://saves"})),
            Example::refusal("Refuses the project.", "", Code::PathDenied)
                .args(json!({"directory": "res://"})),
        ]
    }
}

impl ReadTool for ListUserFiles {
    fn run(self, _editor: &Editor) -> Result<Outcome, ToolError> {
        let directory = super::tidy(&self.directory)?;
        let folder = files::absolute(&directory);
        if !folder.is_dir() {
            return Err(ToolError::not_found(format!("no folder \"{directory}\""))
                .required("directory")
                .hint("leave directory out for all of user://"));
        }
        let mut found = Vec::new();
        collect(&folder, directory.trim_end_matches('/'), &mut found);
        let cut = found.len() > MAX_FILES;
        found.truncate(MAX_FILES);
        found.sort_by(|a, b| a["path"].as_str().cmp(&b["path"].as_str()));
        let total = found.len();
        let page: Vec<Value> = found.into_iter().skip(self.offset).take(self.limit).collect();
        let next = self.offset + page.len();
        let mut answer = json!({"files": page, "total": total});
        if next < total {
            answer["next_offset"] = json!(next);
        }
        if cut {
            answer["truncated"] = json!(format!("only {MAX_FILES} files were looked at"));
        }
        Ok(answer.into())
    }
}

/// Links are neither followed nor listed: they may lead out.
fn collect(folder: &Path, shown: &str, found: &mut Vec<Value>) {
    // `user:/` plus a name has one slash too few.
    let shown = if shown == "user:" { "user:/" } else { shown };
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if found.len() > MAX_FILES {
            return;
        }
        let path = format!("{shown}/{}", entry.file_name().to_string_lossy());
        let Ok(about) = entry.metadata() else { continue };
        if about.is_dir() {
            collect(&entry.path(), &path, found);
        } else if about.is_file() {
            let time = about.modified().ok().and_then(|it| it.duration_since(UNIX_EPOCH).ok());
            found.push(json!({
                "path": path, "bytes": about.len(), "modified_unix": time.map(|it| it.as_secs()),
            }));
        }
    }
}

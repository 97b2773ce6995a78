use std::path::{Path, PathBuf};

use super::delete_resource_file::close_step;
use crate::editor::file_uses::Uses;
use crate::editor::{file_search, files, scene_tabs};
use crate::tool_prelude::*;

/// Deletes a folder. Undo brings it back with everything in it.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct DeleteFolder {
    path: ResPath,
    /// With all that is in it; without, only an empty folder goes.
    #[serde(default)]
    recursive: bool,
}

/// Most that the undo history keeps.
const MAX_FILES: usize = 2_000;
const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// Files whose users are looked for; beyond, the project would be read too often.
const MAX_USES: usize = 20;

impl Tool for DeleteFolder {
    const NAME: &'static str = "delete_folder";
    const TOOLSET: &'static str = "project";

    fn adjust(spec: &mut ToolSpec) {
        spec.writes_disk = true;
    }

    fn examples() -> Vec<Example> {
        let before = "\n;- res://old/a.txt\none\n;- res://old/in/b.gd\nextends Node\n";
        vec![
            Example::answer("Deletes a folder with files.", before, json!({"files_total": 2}))
                .args(json!({"path": "res://old", "recursive": true})),
            Example::refusal("Refuses one with files.", before, Code::PreconditionFailed)
                .args(json!({"path": "res://old"})),
            Example::refusal("Refuses a missing one.", before, Code::ResourceNotFound)
                .args(json!({"path": "res://odl"})),
        ]
    }
}

impl EditTool for DeleteFolder {
    const CLASS: SafetyClass = SafetyClass::Destructive;
    const SITE: Site = Site::SafeLane;

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let (path, folder) = super::folder(editor, &self.path).map_err(|it| it.required("path"))?;
        let addon = "res://addons/godot_mcp";
        if path == "res://" || addon == path || addon.starts_with(&format!("{path}/")) {
            let message = format!("\"{path}\" holds the project or this addon");
            return Err(ToolError::new(Code::PathDenied, message)
                .required("path")
                .hint("delete what is meant inside it"));
        }
        let contents = Contents::of(&folder).map_err(|it| refusal(&path, it))?;
        let is_empty = contents.files.is_empty() && contents.folders.is_empty();
        if !self.recursive && !is_empty {
            let message = format!("\"{path}\" has {} files in it", contents.files.len());
            return Err(ToolError::new(Code::PreconditionFailed, message)
                .required("recursive")
                .hint("recursive: true deletes them too"));
        }
        let project = files::absolute("res://");
        let shown = |it: &PathBuf| file_search::shown(&project, it).unwrap_or_default();
        let names: Vec<String> = contents.files.iter().map(shown).collect();
        let open: Vec<&String> =
            names.iter().filter(|it| scene_tabs::root_of(it).is_some()).collect();

        let title = format!("Delete folder {path}");
        let mut edit =
            if open.is_empty() { Edit::of_files(title) } else { Edit::of_project(title) };
        edit.fact("path", path.as_str());
        edit.fact("files_total", names.iter().filter(|it| !goes_along(it, &names)).count());
        edit.fact("still_referenced_by", users(&path, &names));
        for scene in open {
            close_step(&mut edit, scene);
        }
        for name in names.iter().filter(|it| !goes_along(it, &names)) {
            edit.write_file(name, None);
        }
        for folder in contents.folders.iter().rev().chain([&folder]) {
            edit.folder(&shown(folder), false);
        }
        edit.verdict(Verdict::yes(path));
        Ok(edit)
    }
}

fn refusal(path: &str, why: String) -> ToolError {
    ToolError::new(Code::PreconditionFailed, format!("\"{path}\" {why}"))
        .required("path")
        .hint("delete parts of it")
}

/// Whether a `.uid` or `.import` is deleted with its file.
fn goes_along(name: &str, names: &[String]) -> bool {
    let of = name.strip_suffix(".uid").or_else(|| name.strip_suffix(".import"));
    of.is_some_and(|of| names.iter().any(|it| it == of))
}

/// Users outside the folder of the files in it.
fn users(folder: &str, names: &[String]) -> Vec<Value> {
    let within = format!("{folder}/");
    let assets = names.iter().filter(|it| !file_search::is_sidecar(it)).take(MAX_USES);
    assets
        .filter_map(|name| {
            let mut uses = Uses::of(name);
            uses.files.retain(|it| !it.file.starts_with(&within));
            (uses.total() > 0).then(|| json!({"file": name, "by": uses.shown()}))
        })
        .collect()
}

/// Everything in a folder, hidden entries too. Folders come before what lies in them.
#[derive(Default)]
struct Contents {
    files: Vec<PathBuf>,
    folders: Vec<PathBuf>,
    bytes: u64,
}

impl Contents {
    fn of(folder: &Path) -> Result<Self, String> {
        let mut contents = Self::default();
        contents.collect(folder)?;
        Ok(contents)
    }

    fn collect(&mut self, folder: &Path) -> Result<(), String> {
        let entries = std::fs::read_dir(folder).map_err(|it| format!("cannot be read: {it}"))?;
        let mut entries: Vec<_> = entries.flatten().collect();
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let about = entry.metadata().map_err(|it| format!("cannot be read: {it}"))?;
            if about.is_dir() {
                self.folders.push(entry.path());
                self.collect(&entry.path())?;
            } else if about.is_file() {
                self.bytes += about.len();
                self.files.push(entry.path());
            } else {
                return Err(format!("has a link: {}", entry.file_name().to_string_lossy()));
            }
            if self.files.len() > MAX_FILES || self.bytes > MAX_BYTES {
                return Err(format!("has more than {MAX_FILES} files or {MAX_BYTES} bytes"));
            }
        }
        Ok(())
    }
}

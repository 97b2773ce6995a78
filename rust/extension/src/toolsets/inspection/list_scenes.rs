use godot::classes::{EditorFileSystemDirectory, ProjectSettings, ResourceUid};
use godot::obj::{Gd, Singleton};

use crate::editor::{inspect, scene_tabs};
use crate::main_thread;
use crate::tool_prelude::*;

/// All scene files of the project, and which are the main scene, open, active and unsaved.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ListScenes {
    #[serde(default)]
    offset: usize,
    #[serde(default = "page_size")]
    #[schemars(range(min = 1, max = 1000))]
    limit: usize,
}

fn page_size() -> usize {
    200
}

impl Tool for ListScenes {
    const NAME: &'static str = "list_scenes";
    const TOOLSET: &'static str = "inspection";

    fn examples() -> Vec<Example> {
        vec![Example::answer("Lists scenes.", "", json!({"scenes": "*", "total": "*"}))]
    }
}

impl ReadTool for ListScenes {
    fn run(self, editor: &Editor) -> Result<Outcome, ToolError> {
        let mut paths = Vec::new();
        let files = editor.interface().get_resource_filesystem();
        if let Some(root) = files.and_then(|it| it.clone().get_filesystem()) {
            collect(&root, &mut paths);
        }
        let open = scene_tabs::open_scenes();
        // A scene that was just saved for the first time may not be in the index yet.
        for scene in open.iter().filter(|it| !it.path.is_empty()) {
            if !paths.contains(&scene.path) {
                paths.push(scene.path.clone());
            }
        }
        paths.sort();
        let main = main_scene();
        let total = paths.len();
        let page = inspect::fill(paths.iter().skip(self.offset), self.limit, |path| {
            let tab = open.iter().find(|it| it.path == *path);
            json!({
                "path": path,
                "is_main": *path == main,
                "is_open": tab.is_some(),
                "is_active": tab.is_some_and(|it| it.active),
                "dirty": tab.is_some_and(|it| it.dirty),
            })
        });
        let taken = page.len();
        let mut answer = json!({"scenes": page});
        inspect::page_fields(&mut answer, self.offset, taken, total);
        let unsaved: Vec<_> = open
            .iter()
            .filter(|it| it.path.is_empty())
            .map(|it| json!({"root_name": it.root, "is_active": it.active, "dirty": it.dirty}))
            .collect();
        if !unsaved.is_empty() {
            answer["never_saved"] = Value::Array(unsaved);
        }
        if main_thread::is_scanning() {
            answer["scanning"] = json!(true);
        }
        Ok(answer.into())
    }
}

/// Scene files that the editor has indexed. Imported models are scenes too, but not these files.
fn collect(folder: &Gd<EditorFileSystemDirectory>, into: &mut Vec<String>) {
    let folder = folder.clone();
    for index in 0..folder.get_file_count() {
        if folder.get_file_type(index) == "PackedScene" {
            let path = folder.get_file_path(index).to_string();
            if path.ends_with(".tscn") || path.ends_with(".scn") {
                into.push(path);
            }
        }
    }
    for index in 0..folder.get_subdir_count() {
        if let Some(inner) = folder.get_subdir(index) {
            collect(&inner, into);
        }
    }
}

/// `res://` path of the main scene, which the setting may hold as a uid; empty without one.
pub(super) fn main_scene() -> String {
    let settings = ProjectSettings::singleton();
    let text = settings.get_setting("application/run/main_scene").to_string();
    if !text.starts_with("uid://") {
        return text;
    }
    let uids = ResourceUid::singleton();
    let id = uids.text_to_id(&text);
    if uids.has_id(id) { uids.get_id_path(id).to_string() } else { text }
}

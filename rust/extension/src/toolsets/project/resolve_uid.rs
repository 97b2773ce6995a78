use godot::classes::{ResourceLoader, ResourceUid};
use godot::obj::Singleton;

use crate::editor::files;
use crate::tool_prelude::*;

/// The `res://` path of a `uid://`, or the other way round.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ResolveUid {
    value: ResourcePath,
}

/// `ResourceUID.INVALID_ID`.
const NO_UID: i64 = -1;

impl Tool for ResolveUid {
    const NAME: &'static str = "resolve_uid";
    const TOOLSET: &'static str = "project";

    fn examples() -> Vec<Example> {
        let before = "\n;- res://part.tscn\n[gd_scene format=3 uid=\"uid://b8q1w2e3r4t5y\"]\n\n[node name=\"Part\" type=\"Node\"]\n";
        vec![
            Example::answer(
                "Answers the uid of a file.",
                before,
                json!({"path": "res://part.tscn", "uid": "uid://b8q1w2e3r4t5y"}),
            )
            .args(json!({"value": "res://part.tscn"})),
            Example::answer("Says that a file has none.", before, json!({"uid": null}))
                .args(json!({"value": "res://scene.tscn"})),
            Example::refusal("Refuses an unknown uid.", before, Code::ResourceNotFound)
                .args(json!({"value": "uid://nothing"})),
        ]
    }
}

impl ReadTool for ResolveUid {
    fn run(self, editor: &Editor) -> Result<Outcome, ToolError> {
        let text = self.value.as_str();
        let path = editor.resource_path(&self.value)?;
        if text.starts_with("uid://") {
            let exists = files::absolute(&path).is_file();
            return Ok(json!({"uid": text, "path": path, "exists": exists}).into());
        }
        if !files::absolute(&path).is_file() {
            return Err(ToolError::not_found(format!("no file \"{path}\""))
                .required("value")
                .hint("`search_files` finds files by name"));
        }
        let id = ResourceLoader::singleton().get_resource_uid(&path);
        let uid = (id != NO_UID).then(|| ResourceUid::singleton().id_to_text(id).to_string());
        Ok(json!({"uid": uid, "path": path, "exists": true}).into())
    }
}

use godot::classes::{Object, ResourceLoader, ResourceUid};
use godot::obj::{Gd, Singleton};

use crate::editor::{inspect, resource_edit};
use crate::tool_prelude::*;

/// Reads a resource file: type, script and properties.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ReadResourceFile {
    resource_path: ResourcePath,
}

impl Tool for ReadResourceFile {
    const NAME: &'static str = "read_resource_file";
    const TOOLSET: &'static str = "resources_edit";

    fn examples() -> Vec<Example> {
        let before = ";- res://box.tres\n[gd_resource type=\"BoxShape3D\" format=3]\n\n[resource]\nsize = Vector3(1, 2, 3)";
        vec![
            Example::answer(
                "Reads a shape.",
                before,
                json!({
                    "type": "BoxShape3D", "script": null, "properties": {"size": {"x": 1.0, "y": 2.0, "z": 3.0}},
                    "unsaved_changes": false
                }),
            )
            .args(json!({"resource_path": "res://box.tres"})),
            Example::refusal("Refuses an unknown file.", before, Code::ResourceNotFound)
                .args(json!({"resource_path": "res://bix.tres"})),
        ]
    }
}

impl ReadTool for ReadResourceFile {
    const SITE: Site = Site::SafeLane;

    fn run(self, editor: &Editor) -> Result<Outcome, ToolError> {
        let path = editor.resource_path(&self.resource_path)?;
        let (resource, unsaved) = resource_edit::read(&path, "resource_path")?;
        let object: Gd<Object> = resource.clone().upcast();
        let check = |path: &str| editor.check_read(path);
        let context = editor.values(Some(&object), &check);
        let (mut properties, mut left_out, mut size) = (Map::new(), Vec::new(), 0);
        for slot in inspect::shown(&object) {
            let Some(value) = inspect::read(&object, &slot) else { continue };
            let (value, _) = inspect::listed(&value, &slot, &context);
            size += slot.name.len() + value.to_string().len();
            if size > inspect::MAX_ANSWER {
                left_out.push(slot.name);
            } else {
                properties.insert(slot.name, value);
            }
        }
        let uid = ResourceLoader::singleton().get_resource_uid(&path);
        let script = object.get_script().map(|it| it.get_path().to_string());
        let mut answer = json!({
            "resource_path": path,
            "type": resource.get_class().to_string(),
            "script": script,
            "properties": properties,
            "unsaved_changes": unsaved,
        });
        if uid != -1 {
            answer["uid"] = json!(ResourceUid::singleton().id_to_text(uid).to_string());
        }
        if !left_out.is_empty() {
            answer["left_out"] = json!(left_out);
        }
        Ok(answer.into())
    }
}

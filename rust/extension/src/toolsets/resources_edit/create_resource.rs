use crate::editor::resource_edit::{self, Draft};
use crate::tool_prelude::*;

/// Writes a new resource file.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct CreateResource {
    /// Class of engine or script.
    #[serde(rename = "type")]
    class: Identifier,
    /// `.tres` or `.res`.
    resource_path: ResPath,
    #[serde(default)]
    properties: Option<Map<String, Value>>,
    #[serde(default)]
    overwrite: bool,
}

impl Tool for CreateResource {
    const NAME: &'static str = "create_resource";
    const TOOLSET: &'static str = "resources_edit";

    fn adjust(spec: &mut ToolSpec) {
        spec.writes_disk = true;
        spec.free_text = true;
    }

    fn examples() -> Vec<Example> {
        let before = ";- res://item.gd\nclass_name ExampleItem\nextends Resource\n\n@export var price := 1\n@export var shape: Shape2D";
        let shape = "\n;- res://new/box.tres\n[resource]\nsize = Vector3(1, 2, 3)";
        vec![
            Example::edit("Writes a shape.", before, shape).args(json!({
                "type": "BoxShape3D", "resource_path": "res://new/box.tres",
                "properties": {"size": [1, 2, 3]}
            })),
            Example::answer(
                "Writes a resource of a script, with another one inside.",
                before,
                json!({"created": true, "applied": true, "type": "ExampleItem"}),
            )
            .args(json!({
                "type": "ExampleItem", "resource_path": "res://sword.tres",
                "properties": {"price": 9, "shape": {
                    "type": "NewResource", "class": "CircleShape2D", "properties": {"radius": 4}
                }}
            })),
            Example::refusal("Refuses an unknown property.", before, Code::ValidationError).args(json!({
                "type": "BoxShape3D", "resource_path": "res://box.tres", "properties": {"siz": [1, 2, 3]}
            })),
            Example::refusal("Refuses an unknown class.", before, Code::ValidationError)
                .args(json!({"type": "BoxShap3D", "resource_path": "res://box.tres"})),
            Example::refusal("Refuses a file that exists.", before, Code::AlreadyExists)
                .args(json!({"type": "BoxShape3D", "resource_path": "res://item.gd"})),
            Example::refusal("Refuses to leave the project.", before, Code::PathDenied)
                .args(json!({"type": "BoxShape3D", "resource_path": "res://../box.tres"})),
        ]
    }
}

impl EditTool for CreateResource {
    const CLASS: SafetyClass = SafetyClass::Destructive;
    const SITE: Site = Site::SafeLane;

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let path = editor.res_path(&self.resource_path)?;
        resource_edit::check_free(&path, self.overwrite, "resource_path")?;
        let class = self.class.as_str();
        let mut resource = values::new_resource(class, "type")?;
        let check = |path: &str| editor.check_read(path);
        let context = values::Context { scene_root: None, object: None, check_path: &check };
        let properties = self.properties.unwrap_or_default();
        values::fill(&mut resource, &properties, "properties", &context)?;
        let draft = Draft::new(editor, &path, resource, self.overwrite, "resource_path")?;
        let verb = if draft.replaces() { "Replace" } else { "Create" };
        let name = path.rsplit('/').next().unwrap_or_default();
        let mut edit = Edit::of_files(format!("{verb} {name}"));
        edit.fact("type", class);
        draft.write(&mut edit)?;
        Ok(edit)
    }
}

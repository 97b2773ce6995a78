use godot::classes::Object;
use godot::obj::Gd;

use crate::editor::properties;
use crate::editor::resource_edit::Draft;
use crate::tool_prelude::*;

/// Sets one property of a resource file. What is loaded from it follows.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct SetResourceProperty {
    resource_path: ResourcePath,
    property: Identifier,
    value: AnyValue,
}

impl Tool for SetResourceProperty {
    const NAME: &'static str = "set_resource_property";
    const TOOLSET: &'static str = "resources_edit";

    fn adjust(spec: &mut ToolSpec) {
        spec.writes_disk = true;
        spec.free_text = true;
    }

    fn examples() -> Vec<Example> {
        let before = ";- res://box.tres\n[gd_resource type=\"BoxShape3D\" format=3]\n\n[resource]\nsize = Vector3(1, 2, 3)";
        let after = "\n;- res://box.tres\n[resource]\nsize = Vector3(4, 5, 6)";
        let args = |property: &str, value: Value| json!({"resource_path": "res://box.tres", "property": property, "value": value});
        vec![
            Example::edit("Sets the size of a shape.", before, after)
                .args(args("size", json!([4, 5, 6]))),
            Example::refusal("Refuses an unknown property.", before, Code::ValidationError)
                .args(args("siz", json!([4, 5, 6]))),
            Example::refusal("Refuses a value of another type.", before, Code::ValidationError)
                .args(args("size", json!("big"))),
        ]
    }
}

impl EditTool for SetResourceProperty {
    const CLASS: SafetyClass = SafetyClass::Mutating;
    const SITE: Site = Site::SafeLane;

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let path = editor.resource_path(&self.resource_path)?;
        let mut draft = Draft::open(editor, &path, "resource_path")?;
        let property = self.property.as_str();
        if matches!(property, "resource_path" | "resource_scene_unique_id" | "script") {
            let message = format!("\"{property}\" of a resource file is not set as a property");
            return Err(ToolError::invalid("property", message)
                .hint("write the file anew with `create_resource`"));
        }
        let object: Gd<Object> = draft.resource.clone().upcast();
        let slot = properties::writable(&object, property)?;
        let check = |path: &str| editor.check_read(path);
        let context =
            values::Context { scene_root: None, object: Some(object.clone()), check_path: &check };
        let old = object.get(property);
        let value = values::decode(&self.value.0, &slot, &old, &context);
        let value = value.map_err(|it| it.required("value"))?;
        let shown = values::encode(&old, Some(&slot), &context);
        draft.resource.set(property, &value);
        let found = object.get(property);
        if !values::same(&value, &found) && values::same(&old, &found) {
            let message = format!("\"{property}\" did not take {}", values::summary(&value));
            return Err(ToolError::invalid("value", message)
                .hint("a setter or another property may forbid it; nothing was changed"));
        }
        let mut edit = Edit::of_files(format!(
            "Set {property} of {}",
            path.rsplit('/').next().unwrap_or_default()
        ));
        edit.fact("old_value", shown);
        edit.fact("value", values::encode(&value, Some(&slot), &context));
        if !values::same(&value, &found) {
            edit.fact("clamped", true);
            edit.fact("applied_value", values::encode(&found, Some(&slot), &context));
        }
        if values::equal(&old, &found) {
            edit.fact("resource_path", path.as_str());
            edit.verdict(Verdict::yes(path));
            return Ok(edit);
        }
        draft.write(&mut edit)?;
        Ok(edit)
    }
}

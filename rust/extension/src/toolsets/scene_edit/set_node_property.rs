use godot::classes::Object;
use godot::obj::EngineBitfield as _;
use godot::register::info::PropertyUsageFlags;
use godot::obj::Gd;

use crate::editor::properties;
use crate::tool_prelude::*;

/// Sets one property of a node. The value is checked against the property's type, written and read
/// back. Resources take `res://` or `uid://`, exported nodes a node path, null clears them.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct SetNodeProperty {
    /// Node, as a path from the scene's root.
    node_path: NodeRef,
    /// Property as in the inspector, for example `position` or `text`.
    property: Identifier,
    /// New value: JSON, named components `{"x":1,"y":2}`, or Godot's spelling `"Vector2(1, 2)"`.
    value: AnyValue,
}

impl Tool for SetNodeProperty {
    const NAME: &'static str = "set_node_property";
    const TOOLSET: &'static str = "scene_edit";

    fn adjust(spec: &mut ToolSpec) {
        spec.edits_scene = true;
    }

    fn examples() -> Vec<Example> {
        let before = r#"
[node name="Main" type="Node2D"]
[node name="Player" type="Node2D" parent="."]"#;
        let after = r#"
[node name="Main" type="Node2D"]
[node name="Player" type="Node2D" parent="."]
position = Vector2(1, 2)"#;
        vec![
            Example::edit("Moves a node.", before, after).args(json!({
                "node_path": "Player", "property": "position", "value": {"x": 1, "y": 2}
            })),
            Example::refusal("Refuses a value of another type.", before, Code::ValidationError)
                .args(json!({"node_path": "Player", "property": "position", "value": "banana"})),
            Example::refusal("Refuses an unknown node.", before, Code::ResourceNotFound)
                .args(json!({"node_path": "Playr", "property": "position", "value": [1, 2]})),
        ]
    }
}

impl EditTool for SetNodeProperty {
    const CLASS: SafetyClass = SafetyClass::Mutating;

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let scene = editor.edited_scene()?;
        let node = scene.node(&self.node_path)?;
        let path = scene.path_of(&node);
        let property = self.property.as_str();
        match property {
            "name" => {
                return Err(ToolError::invalid("property", "the name is not set as a property")
                    .hint("use `rename_node`"));
            }
            "owner" => {
                return Err(ToolError::invalid("property", "the owner is the engine's own"));
            }
            _ => {}
        }
        let object: Gd<Object> = node.clone().upcast();
        let slot = properties::writable(&object, property)?;
        let check = |path: &str| editor.check_read(path);
        let context = editor.values(Some(&object), &check);
        let old = object.get(property);
        let value = values::decode(&self.value.0, &slot, &old, &context)?;

        let mut edit = Edit::in_scene(&scene, format!("Set {property} of {}", node.get_name()));
        edit.fact("old_value", values::encode(&old, Some(&slot), &context));
        edit.fact("value", values::encode(&value, Some(&slot), &context));
        let stored = slot.usage.is_set(PropertyUsageFlags::STORAGE);
        edit.verdict(match persistence::of_node(&scene, &node) {
            Verdict { persisted: Some(true), target, .. } if !stored => {
                Verdict::unknown(target, Reason::RuntimeOnly)
            }
            verdict => verdict,
        });
        if !values::same(&value, &old) {
            edit.set_property(&path, &node, property, &value);
        }
        Ok(edit)
    }
}

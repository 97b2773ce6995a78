use crate::editor::property_edit::{PropertyEdit, Slots};
use crate::tool_prelude::*;

/// Sets one property of a node. The value is checked against the property's type, written and read
/// back. Resources take `res://` or `uid://`, exported nodes a node path, null clears them.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct SetNodeProperty {
    /// Node, as a path from the scene's root.
    node_path: NodeRef,
    /// Property, for example `position`; `shape:size` is one of the resource in `shape`.
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
        let bar = r#"
[node name="Main" type="Node2D"]
[node name="Bar" type="ProgressBar" parent="."]"#;
        vec![
            Example::edit("Moves a node.", before, after).args(json!({
                "node_path": "Player", "property": "position", "value": {"x": 1, "y": 2}
            })),
            Example::answer(
                "Tells when the engine limits a value.",
                bar,
                json!({"applied_value": 100, "clamped": true}),
            )
            .args(json!({"node_path": "Bar", "property": "value", "value": 150})),
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
        let property = self.property.as_str();
        let setting = PropertyEdit::new(
            editor,
            &scene,
            &node,
            property,
            &self.value.0,
            &mut Slots::default(),
        )?;
        let mut edit = Edit::in_scene(&scene, format!("Set {property} of {}", node.get_name()));
        edit.fact("old_value", setting.old_value(editor));
        edit.fact("value", setting.new_value(editor));
        setting.add_to(&mut edit);
        Ok(edit)
    }
}

use std::collections::HashMap;

use crate::editor::property_edit::{PropertyEdit, Slots};
use crate::editor::saving;
use crate::tool_prelude::*;

/// Values that an answer lists; more are counted.
const MAX_LISTED: usize = 100;

/// Sets several properties of several nodes, all or none, as one step.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ApplyNodeEdits {
    edits: Vec<NodeEdit>,
    #[serde(default)]
    save: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NodeEdit {
    node_path: NodeRef,
    property: Identifier,
    value: AnyValue,
}

impl Tool for ApplyNodeEdits {
    const NAME: &'static str = "apply_node_edits";
    const TOOLSET: &'static str = "composite";

    fn adjust(spec: &mut ToolSpec) {
        spec.edits_scene = true;
    }

    fn examples() -> Vec<Example> {
        let before = r#"
[node name="Main" type="Node2D"]
[node name="A" type="Sprite2D" parent="."]
[node name="B" type="Label" parent="."]"#;
        let after = r#"
[node name="Main" type="Node2D"]
[node name="A" type="Sprite2D" parent="."]
position = Vector2(1, 2)
flip_h = true
[node name="B" type="Label" parent="."]
text = "hi""#;
        let edit = |node: &str, property: &str, value: Value| json!({"node_path": node, "property": property, "value": value});
        vec![
            Example::edit("Sets three properties.", before, after).args(json!({"edits": [
                edit("A", "position", json!([1, 2])), edit("A", "flip_h", json!(true)),
                edit("B", "text", json!("hi")),
            ]})),
            Example::refusal("Refuses all for one wrong property.", before, Code::ValidationError)
                .args(json!({"edits": [
                    edit("A", "position", json!([1, 2])), edit("B", "txt", json!("hi")),
                ]})),
            Example::refusal("Refuses two values for one property.", before, Code::ValidationError)
                .args(json!({"edits": [
                    edit("A", "position", json!([1, 2])), edit("A", "position", json!([3, 4])),
                ]})),
        ]
    }
}

impl EditTool for ApplyNodeEdits {
    const CLASS: SafetyClass = SafetyClass::Mutating;

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let scene = editor.edited_scene()?;
        let count = self.edits.len();
        if count == 0 {
            return Err(ToolError::invalid("edits", "no edit is given")
                .hint("give some, each with node_path, property and value"));
        }
        let mut edit = Edit::in_scene(&scene, format!("Set {count} properties"));
        saving::afterwards(&mut edit, &scene, self.save, "save")?;
        let mut slots = Slots::default();
        let mut places = HashMap::new();
        let mut listed = Vec::new();
        let mut settings = Vec::new();
        for (index, wanted) in self.edits.iter().enumerate() {
            let at = |it: ToolError| it.in_entry("edits", index);
            let node = scene.node(&wanted.node_path).map_err(at)?;
            let property = wanted.property.as_str();
            // The resource that the caller means is the one of an edit before.
            if let Some((holder, _)) = property.split_once(':')
                && let Some(first) = places.get(&(node.instance_id(), holder.to_owned()))
            {
                return Err(at(meets(*first, holder)
                    .hint("set the properties of the new resource in its `NewResource` value")));
            }
            let setting =
                PropertyEdit::new(editor, &scene, &node, property, &wanted.value.0, &mut slots)
                    .map_err(at)?;
            let (object, property) = setting.place();
            if let Some(first) = places.insert((object, property.to_owned()), index) {
                return Err(at(meets(first, property).hint("give one value for each property")));
            }
            if listed.len() < MAX_LISTED {
                listed.push(json!({
                    "node_path": setting.node_path(), "property": wanted.property.as_str(),
                    "old_value": setting.old_value(editor), "value": setting.new_value(editor),
                }));
            }
            settings.push(setting);
        }
        edit.fact("edits", listed);
        edit.fact("edits_total", count);
        settings.into_iter().for_each(|it| it.add_to(&mut edit));
        Ok(edit)
    }
}

fn meets(first: usize, property: &str) -> ToolError {
    ToolError::invalid("edits", format!("edits/{first} sets \"{property}\" too"))
}

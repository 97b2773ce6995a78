use std::collections::HashSet;

use super::find_nodes_by_type::{check_class, of_type};
use crate::editor::property_edit::{PropertyEdit, Slots};
use crate::tool_prelude::*;

/// Sets one property of many nodes, given by path or by class, as one step.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct BatchSetProperty {
    property: Identifier,
    value: AnyValue,
    #[serde(default)]
    node_paths: Option<Vec<NodeRef>>,
    /// All of the class, or those of node_paths.
    #[serde(default)]
    node_type: String,
}

impl Tool for BatchSetProperty {
    const NAME: &'static str = "batch_set_property";
    const TOOLSET: &'static str = "batch";

    fn adjust(spec: &mut ToolSpec) {
        spec.edits_scene = true;
    }

    fn examples() -> Vec<Example> {
        let before = r#"
[node name="Main" type="Node2D"]
[node name="A" type="Sprite2D" parent="."]
[node name="C" type="Sprite2D" parent="A"]
[node name="B" type="Timer" parent="."]"#;
        let after = r#"
[node name="Main" type="Node2D"]
[node name="A" type="Sprite2D" parent="."]
centered = false
[node name="C" type="Sprite2D" parent="A"]
centered = false
[node name="B" type="Timer" parent="."]"#;
        vec![
            Example::edit("Sets it for all nodes of a class.", before, after)
                .args(json!({"property": "centered", "value": false, "node_type": "Sprite2D"})),
            Example::refusal("Refuses when one node lacks it.", before, Code::ValidationError)
                .args(json!({"property": "centered", "value": false, "node_paths": ["A", "B"]})),
            Example::refusal("Refuses without nodes.", before, Code::ValidationError)
                .args(json!({"property": "centered", "value": false})),
        ]
    }
}

impl EditTool for BatchSetProperty {
    const CLASS: SafetyClass = SafetyClass::Mutating;

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let scene = editor.edited_scene()?;
        let (property, class) = (self.property.as_str(), self.node_type.as_str());
        if !class.is_empty() {
            check_class(class, "node_type")?;
        }
        let mut nodes = Vec::new();
        match &self.node_paths {
            Some(paths) => {
                let mut seen = HashSet::new();
                for (index, path) in paths.iter().enumerate() {
                    let node = scene
                        .node_at(path, "node_paths")
                        .map_err(|it| it.in_entry("node_paths", index))?;
                    let wanted = class.is_empty() || values::is_a(&node.clone().upcast(), class);
                    if wanted && seen.insert(node.instance_id()) {
                        nodes.push(node);
                    }
                }
            }
            None if class.is_empty() => {
                return Err(ToolError::invalid(
                    "node_paths",
                    "neither nodes nor a class are given",
                )
                .hint("give node_paths, or node_type for all nodes of a class"));
            }
            None => {
                let found = of_type(&scene, scene.root(), class, true);
                nodes.extend(found.into_iter().map(|it| it.1));
            }
        }
        if nodes.is_empty() {
            return Err(ToolError::not_found("no node is meant")
                .required(if self.node_paths.is_some() { "node_paths" } else { "node_type" })
                .hint("`find_nodes_by_type` shows what there is"));
        }

        let count = nodes.len();
        let mut edit = Edit::in_scene(&scene, format!("Set {property} of {count} nodes"));
        let mut slots = Slots::default();
        let mut settings = Vec::with_capacity(count);
        for node in &nodes {
            let setting =
                PropertyEdit::new(editor, &scene, node, property, &self.value.0, &mut slots);
            let at = |it: ToolError| it.at(format_args!("\"{}\"", scene.path_of(node)));
            settings.push(setting.map_err(at)?);
        }
        edit.fact("value", settings[0].new_value(editor));
        edit.fact("nodes", count);
        edit.fact("changed", settings.iter().filter(|it| !it.is_kept()).count());
        let mut places = HashSet::new();
        for setting in settings {
            // One resource that several nodes share is set once.
            let (object, property) = setting.place();
            if places.insert((object, property.to_owned())) {
                setting.add_to(&mut edit);
            } else {
                setting.add_verdict(&mut edit);
            }
        }
        Ok(edit)
    }
}

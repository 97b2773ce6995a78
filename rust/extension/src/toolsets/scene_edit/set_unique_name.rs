use godot::meta::ToGodot;

use crate::tool_prelude::*;

/// Makes a node reachable as `%Name` from everywhere in its scene, or takes that away.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct SetUniqueName {
    /// Node, as a path from the scene's root. Not the root.
    node_path: NodeRef,
    unique: bool,
}

impl Tool for SetUniqueName {
    const NAME: &'static str = "set_unique_name";
    const TOOLSET: &'static str = "scene_edit";

    fn adjust(spec: &mut ToolSpec) {
        spec.edits_scene = true;
    }

    fn examples() -> Vec<Example> {
        let before = r#"
[node name="Main" type="Node"]
[node name="A" type="Node" parent="."]
[node name="Hud" type="Node" parent="A"]
unique_name_in_owner = true
[node name="B" type="Node" parent="."]
[node name="Hud" type="Node" parent="B"]"#;
        let after = r#"
[node name="Main" type="Node"]
[node name="A" type="Node" parent="."]
[node name="Hud" type="Node" parent="A"]
[node name="B" type="Node" parent="."]
[node name="Hud" type="Node" parent="B"]"#;
        vec![
            Example::edit("Takes a unique name away.", before, after)
                .args(json!({"node_path": "A/Hud", "unique": false})),
            Example::refusal("Refuses a second node of that name.", before, Code::AlreadyExists)
                .args(json!({"node_path": "B/Hud", "unique": true})),
            Example::refusal("Refuses the root.", before, Code::ValidationError)
                .args(json!({"node_path": ".", "unique": true})),
        ]
    }
}

impl EditTool for SetUniqueName {
    const CLASS: SafetyClass = SafetyClass::Mutating;

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let scene = editor.edited_scene()?;
        let node = scene.node(&self.node_path)?;
        branch::may_be_unique(&scene, &node, self.unique, "node_path")?;
        let name = node.get_name().to_string();
        let title = if self.unique {
            format!("Make %{name} unique")
        } else {
            format!("Make {name} not unique")
        };
        let mut edit = Edit::in_scene(&scene, title);
        edit.verdict(persistence::of_node(&scene, &node));
        edit.fact("unique_path", if self.unique { json!(format!("%{name}")) } else { Value::Null });
        if node.is_unique_name_in_owner() != self.unique {
            let path = scene.path_of(&node);
            edit.set_property(&path, &node, "unique_name_in_owner", &self.unique.to_variant());
        }
        Ok(edit)
    }
}

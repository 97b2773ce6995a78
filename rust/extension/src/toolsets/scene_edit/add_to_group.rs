use godot::builtin::StringName;
use godot::meta::ToGodot;

use crate::editor::groups;
use crate::tool_prelude::*;

/// Adds a node to a group, saved with the scene.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct AddToGroup {
    /// Node, as a path from the scene's root.
    node_path: NodeRef,
    /// Name of the group. A new one is fine.
    group: GroupName,
}

impl Tool for AddToGroup {
    const NAME: &'static str = "add_to_group";
    const TOOLSET: &'static str = "scene_edit";

    fn adjust(spec: &mut ToolSpec) {
        spec.edits_scene = true;
    }

    fn examples() -> Vec<Example> {
        let before = r#"
[node name="Main" type="Node2D"]
[node name="Slime" type="Node2D" parent="."]"#;
        let after = r#"
[node name="Main" type="Node2D"]
[node name="Slime" type="Node2D" parent="." groups=["enemies"]]"#;
        vec![
            Example::edit("Adds a node to a group.", before, after)
                .args(json!({"node_path": "Slime", "group": "enemies"})),
            Example::refusal("Refuses an unknown node.", before, Code::ResourceNotFound)
                .args(json!({"node_path": "Slme", "group": "enemies"})),
        ]
    }
}

impl EditTool for AddToGroup {
    const CLASS: SafetyClass = SafetyClass::Mutating;

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let scene = editor.edited_scene()?;
        let node = scene.node(&self.node_path)?;
        let (path, group) = (scene.path_of(&node), self.group.as_str());
        let name = StringName::from(group).to_variant();
        let member = node.is_in_group(group);

        let mut edit = Edit::in_scene(&scene, format!("Add {} to group {group}", node.get_name()));
        edit.fact("node_path", path.as_str());
        edit.fact("group", group);
        edit.fact("already_in", member);
        edit.verdict(persistence::of_node(&scene, &node));
        if member && groups::is_persistent(&scene, &node, group) {
            return Ok(edit);
        }
        let mut step = Step::new(json!({"add_to_group": group, "node": path}));
        if member {
            // A script added it for the session only; the engine keeps the first kind.
            step = step.apply(Op::call(&node, "remove_from_group", std::slice::from_ref(&name)));
        }
        step = step
            .apply(Op::call(&node, "add_to_group", &[name.clone(), true.to_variant()]))
            .answers(&node, "is_in_group", std::slice::from_ref(&name), &true.to_variant())
            .revert(Op::call(&node, "remove_from_group", std::slice::from_ref(&name)));
        if member {
            step = step.revert(Op::call(&node, "add_to_group", &[name, false.to_variant()]));
        }
        edit.step(step);
        Ok(edit)
    }
}

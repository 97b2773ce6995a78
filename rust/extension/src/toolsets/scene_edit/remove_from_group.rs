use godot::builtin::StringName;
use godot::meta::ToGodot;

use crate::editor::groups;
use crate::tool_prelude::*;

/// Takes a node out of a group. A membership that comes from an instanced or base scene is back
/// when the scene is opened again.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct RemoveFromGroup {
    /// Node, as a path from the scene's root.
    node_path: NodeRef,
    /// Name of the group.
    group: GroupName,
}

impl Tool for RemoveFromGroup {
    const NAME: &'static str = "remove_from_group";
    const TOOLSET: &'static str = "scene_edit";

    fn adjust(spec: &mut ToolSpec) {
        spec.edits_scene = true;
    }

    fn examples() -> Vec<Example> {
        let before = r#"
[node name="Main" type="Node2D"]
[node name="Slime" type="Node2D" parent="." groups=["enemies", "slimes"]]"#;
        let after = r#"
[node name="Main" type="Node2D"]
[node name="Slime" type="Node2D" parent="." groups=["slimes"]]"#;
        vec![
            Example::edit("Takes a node out of a group.", before, after)
                .args(json!({"node_path": "Slime", "group": "enemies"})),
            Example::refusal("Refuses an unknown node.", before, Code::ResourceNotFound)
                .args(json!({"node_path": "Slme", "group": "enemies"})),
        ]
    }
}

impl EditTool for RemoveFromGroup {
    const CLASS: SafetyClass = SafetyClass::Mutating;

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let scene = editor.edited_scene()?;
        let node = scene.node(&self.node_path)?;
        let (path, group) = (scene.path_of(&node), self.group.as_str());
        let member = node.is_in_group(group);

        let mut edit =
            Edit::in_scene(&scene, format!("Remove {} from group {group}", node.get_name()));
        edit.fact("node_path", path.as_str());
        edit.fact("group", group);
        edit.fact("was_in", member);
        edit.verdict(match persistence::of_node(&scene, &node) {
            verdict if verdict.persisted == Some(false) => verdict,
            verdict if groups::is_from_base(&scene, &node, group) => {
                Verdict::no(verdict.target, Reason::GroupFromBaseScene)
            }
            verdict => verdict,
        });
        if !member {
            let names = groups::of(&node);
            edit.fact("groups", names);
            return Ok(edit);
        }
        let persistent = groups::is_persistent(&scene, &node, group);
        let name = StringName::from(group).to_variant();
        edit.step(
            Step::new(json!({"remove_from_group": group, "node": path}))
                .apply(Op::call(&node, "remove_from_group", std::slice::from_ref(&name)))
                .answers(&node, "is_in_group", std::slice::from_ref(&name), &false.to_variant())
                .revert(Op::call(&node, "add_to_group", &[name, persistent.to_variant()])),
        );
        Ok(edit)
    }
}

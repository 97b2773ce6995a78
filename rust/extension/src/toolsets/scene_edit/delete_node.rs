use godot::builtin::Variant;

use crate::editor::references::{Listed, References};
use crate::tool_prelude::*;

/// Removes a node with everything below it. The preview names what points at it from outside:
/// connections are cut, exported nodes cleared, node paths and animation tracks left dangling.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct DeleteNode {
    /// Node, as a path from the scene's root. Not the root.
    node_path: NodeRef,
}

impl Tool for DeleteNode {
    const NAME: &'static str = "delete_node";
    const TOOLSET: &'static str = "scene_edit";

    fn adjust(spec: &mut ToolSpec) {
        spec.edits_scene = true;
    }

    fn examples() -> Vec<Example> {
        let before = r#"
[node name="Main" type="Node2D"]
[node name="Button" type="Button" parent="."]
[node name="Player" type="Node2D" parent="." groups=["heroes"]]
[node name="Sprite" type="Sprite2D" parent="Player"]
[connection signal="pressed" from="Button" to="Player" method="set_z_index" binds= [1]]"#;
        let after = r#"
[node name="Main" type="Node2D"]
[node name="Button" type="Button" parent="."]"#;
        vec![
            Example::edit("Deletes a branch and cuts what was connected to it.", before, after)
                .args(json!({"node_path": "Player"})),
            Example::refusal("Refuses the root.", before, Code::ValidationError)
                .args(json!({"node_path": "."})),
            Example::refusal("Refuses an unknown node.", before, Code::ResourceNotFound)
                .args(json!({"node_path": "Playr"})),
        ]
    }
}

impl EditTool for DeleteNode {
    const CLASS: SafetyClass = SafetyClass::Destructive;

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let scene = editor.edited_scene()?;
        let node = scene.node(&self.node_path)?;
        scene.not_root(&node, "deleted")?;
        branch::belongs_to_scene(&scene, &node, "deleted")?;
        let parent =
            node.get_parent().ok_or_else(|| ToolError::internal("a node without a parent"))?;
        let path = scene.path_of(&node);

        let mut edit = Edit::in_scene(&scene, format!("Delete {}", node.get_name()));
        edit.verdict(persistence::of_node(&scene, &node));
        let references = References::of(&scene);
        let mut listed = Listed::default();
        for it in references.connections.iter().filter(|it| it.crosses(&node)) {
            let shown = it.shown(&scene);
            listed.add(json!({"connection": shown, "becomes": "disconnected"}));
            edit.step(
                Step::new(json!({"disconnect": shown})).apply(it.disconnect()).revert(it.connect()),
            );
        }
        for it in references.exports.iter().filter(|it| !branch::holds(&node, &it.holder)) {
            let cleared = it.with(&|target| branch::holds(&node, target).then(Variant::nil));
            let Some(cleared) = cleared else { continue };
            let holder = scene.path_of(&it.holder);
            listed.add(json!({"property": format!("{holder}:{}", it.property), "becomes": "null"}));
            edit.set_property(&holder, &it.holder, &it.property, &cleared);
        }
        for it in references.paths.iter().filter(|it| !branch::holds(&node, &it.holder)) {
            if it.leads_into(&node) {
                let shown = format!("{}:{}", scene.path_of(&it.holder), it.shown);
                listed.add(json!({"property": shown, "value": values::summary(&it.value), "becomes": "dangling"}));
            }
        }
        for it in references.tracks.iter().filter(|it| !branch::holds(&node, &it.player)) {
            if it.target().is_some_and(|it| branch::holds(&node, &it)) {
                let shown = format!("{}:{}:{}", scene.path_of(&it.player), it.name, it.index);
                listed.add(
                    json!({"track": shown, "value": it.path.to_string(), "becomes": "dangling"}),
                );
            }
        }

        let count = branch::nodes(&node).len();
        edit.fact("node_count", count);
        listed.into_facts(&mut edit);
        let change = json!({"remove": path, "type": node.get_class().to_string(), "nodes": count});
        let mut step = Step::new(change)
            .apply(branch::detach(&parent, &node))
            .keeps_undone(&node)
            .answers(&node, "get_parent", &[], &Variant::nil());
        let owners = branch::outer_owners(&node);
        for op in branch::attach(&parent, &node, Some(node.get_index()), &owners) {
            step = step.revert(op);
        }
        edit.step(step);
        Ok(edit)
    }
}

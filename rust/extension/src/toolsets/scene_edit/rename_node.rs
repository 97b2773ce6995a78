use godot::meta::ToGodot;

use crate::editor::references::Relocation;
use crate::tool_prelude::*;

/// Renames a node. Connections and exported nodes follow; node paths and animation tracks that
/// would break are listed, and rewritten with `update_references`.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct RenameNode {
    /// Node, as a path from the scene's root.
    node_path: NodeRef,
    /// Must be free among its siblings.
    new_name: NodeName,
    /// Rewrite node paths and animation tracks.
    #[serde(default)]
    update_references: bool,
}

impl Tool for RenameNode {
    const NAME: &'static str = "rename_node";
    const TOOLSET: &'static str = "scene_edit";

    fn adjust(spec: &mut ToolSpec) {
        spec.edits_scene = true;
    }

    fn examples() -> Vec<Example> {
        let before = r#"
[node name="Main" type="Node2D"]
[node name="Follow" type="RemoteTransform2D" parent="."]
remote_path = NodePath("../Icon")
[node name="Icon" type="Sprite2D" parent="."]"#;
        let after = r#"
[node name="Main" type="Node2D"]
[node name="Follow" type="RemoteTransform2D" parent="."]
remote_path = NodePath("../Body")
[node name="Body" type="Sprite2D" parent="."]"#;
        vec![
            Example::edit("Renames a sprite and the path that follows it.", before, after)
                .args(json!({"node_path": "Icon", "new_name": "Body", "update_references": true})),
            Example::refusal("Refuses a name that a sibling has.", before, Code::AlreadyExists)
                .args(json!({"node_path": "Icon", "new_name": "Follow"})),
        ]
    }
}

impl EditTool for RenameNode {
    const CLASS: SafetyClass = SafetyClass::Mutating;

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let scene = editor.edited_scene()?;
        let node = scene.node(&self.node_path)?;
        branch::belongs_to_scene(&scene, &node, "renamed")?;
        let (old, new) = (node.get_name().to_string(), self.new_name.as_str());
        let parent = node.get_parent().filter(|_| node != *scene.root());
        if let Some(parent) = &parent {
            let free = branch::free_name(parent, new, Some(&node));
            if free != new {
                let message = format!("\"{new}\" is the name of a sibling of \"{old}\"");
                return Err(ToolError::new(Code::AlreadyExists, message)
                    .required("new_name")
                    .hint(format!("\"{free}\" is free"))
                    .suggest([free]));
            }
        }
        if node.is_unique_name_in_owner() {
            branch::unique_name_is_free(&scene, &node, new, "new_name")?;
        }

        let mut edit = Edit::in_scene(&scene, format!("Rename {old} to {new}"));
        edit.verdict(persistence::of_node(&scene, &node));
        edit.fact("old_name", old.as_str());
        edit.fact("new_name", new);
        if old == new {
            return Ok(edit);
        }
        let relocation = Relocation {
            scene: &scene,
            node: &node,
            new_name: new.to_owned(),
            new_parent: parent.unwrap_or_else(|| node.clone()),
        };
        edit.step(
            Step::new(json!({"rename": scene.path_of(&node), "old": old, "new": new}))
                .apply(Op::call(&node, "set_name", &[new.to_variant()]))
                .revert(Op::call(&node, "set_name", &[old.to_variant()]))
                .answers(&node, "get_name", &[], &new.to_variant()),
        );
        relocation.follow(&mut edit, self.update_references);
        Ok(edit)
    }
}

use godot::builtin::Variant;
use godot::classes::Node;
use godot::meta::ToGodot;
use godot::obj::Gd;

use crate::editor::properties;
use crate::editor::references::Relocation;
use crate::tool_prelude::*;

/// Moves a node with its branch below another parent, or to another place among its siblings.
/// Connections and exported nodes follow; node paths and animation tracks that would break are
/// listed, and rewritten with `update_references`.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct MoveNode {
    /// Node, as a path from the scene's root.
    node_path: NodeRef,
    /// May be its present parent.
    new_parent_path: NodeRef,
    /// Place among its siblings; -1 is the end.
    #[serde(default = "last")]
    index: i32,
    /// Stay at the same place on screen.
    #[serde(default)]
    keep_global_transform: bool,
    /// Rewrite node paths and animation tracks.
    #[serde(default)]
    update_references: bool,
}

fn last() -> i32 {
    -1
}

impl Tool for MoveNode {
    const NAME: &'static str = "move_node";
    const TOOLSET: &'static str = "scene_edit";

    fn adjust(spec: &mut ToolSpec) {
        spec.edits_scene = true;
    }

    fn examples() -> Vec<Example> {
        let before = r#"
[node name="Main" type="Node2D"]
[node name="A" type="Node2D" parent="."]
position = Vector2(10, 0)
[node name="B" type="Node2D" parent="."]
[node name="C" type="Node2D" parent="B"]"#;
        let after = r#"
[node name="Main" type="Node2D"]
[node name="A" type="Node2D" parent="."]
position = Vector2(10, 0)
[node name="B" type="Node2D" parent="A"]
position = Vector2(-10, 0)
[node name="C" type="Node2D" parent="A/B"]"#;
        vec![
            Example::edit("Moves a branch and keeps its place on screen.", before, after).args(
                json!({"node_path": "B", "new_parent_path": "A", "keep_global_transform": true}),
            ),
            Example::refusal("Refuses to move a node below itself.", before, Code::ValidationError)
                .args(json!({"node_path": "B", "new_parent_path": "B/C"})),
            Example::refusal("Refuses the root.", before, Code::ValidationError)
                .args(json!({"node_path": ".", "new_parent_path": "A"})),
        ]
    }
}

impl EditTool for MoveNode {
    const CLASS: SafetyClass = SafetyClass::Mutating;

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let scene = editor.edited_scene()?;
        let node = scene.node(&self.node_path)?;
        let parent = scene.node_at(&self.new_parent_path, "new_parent_path")?;
        scene.not_root(&node, "moved")?;
        branch::belongs_to_scene(&scene, &node, "moved")?;
        if branch::holds(&node, &parent) {
            let message =
                format!("\"{}\" lies in the branch that would be moved", scene.path_of(&parent));
            return Err(
                ToolError::invalid("new_parent_path", message).hint("choose a parent outside it")
            );
        }
        let old_parent =
            node.get_parent().ok_or_else(|| ToolError::internal("a node without a parent"))?;
        if old_parent == parent {
            return self.reorder(&scene, &node, &parent);
        }

        let (old_name, name) = (node.get_name().to_string(), node.get_name().to_string());
        let name = branch::free_name(&parent, &name, None);
        let index = branch::index_below(&parent, self.index, parent.get_child_count())?;
        let mut edit = Edit::in_scene(&scene, format!("Move {old_name} to {}", parent.get_name()));
        let verdict = destination(&scene, &node, &parent, &name);
        edit.fact("node_path", verdict.target.as_str());
        if name != old_name {
            edit.fact("name", name.as_str());
            edit.fact("renamed_from", old_name.as_str());
        }
        let change = json!({"move": scene.path_of(&node), "to": verdict.target.as_str()});
        edit.verdict(verdict);

        let owners = branch::outer_owners(&node);
        let mut step = Step::new(change)
            .apply(branch::detach(&old_parent, &node))
            .revert(branch::detach(&parent, &node));
        if name != old_name {
            step = step.apply(Op::call(&node, "set_name", &[name.to_variant()])).revert(Op::call(
                &node,
                "set_name",
                &[old_name.to_variant()],
            ));
        }
        for op in branch::attach(&parent, &node, index, &owners) {
            step = step.apply(op);
        }
        for op in branch::attach(&old_parent, &node, Some(node.get_index()), &owners) {
            step = step.revert(op);
        }
        // A container lays its children out, which undo has to take back.
        if let Some(layout) = branch::layout_state(&node) {
            step = step.revert(layout);
        }
        if self.keep_global_transform
            && let Some(property) = global_property(&node)
        {
            step = step.apply(Op::set(&node, property, &node.get(property)));
            for carrier in properties::carriers(&node.clone().upcast(), property) {
                step = step.revert(Op::set(&node, carrier, &node.get(*carrier)));
            }
        }
        edit.step(
            step.answers(&node, "get_parent", &[], &parent.to_variant())
                .answers(&node, "get_name", &[], &name.to_variant())
                .answers(&node, "get_owner", &[], &branch::variant(node.get_owner().as_ref())),
        );
        let relocation =
            Relocation { scene: &scene, node: &node, new_name: name, new_parent: parent };
        relocation.follow(&mut edit, self.update_references);
        Ok(edit)
    }
}

impl MoveNode {
    fn reorder(
        &self,
        scene: &Scene,
        node: &Gd<Node>,
        parent: &Gd<Node>,
    ) -> Result<Edit, ToolError> {
        let last = parent.get_child_count() - 1;
        let (old, new) =
            (node.get_index(), branch::index_below(parent, self.index, last)?.unwrap_or(last));
        let mut edit = Edit::in_scene(scene, format!("Move {} to place {new}", node.get_name()));
        edit.verdict(persistence::of_node(scene, node));
        edit.fact("node_path", scene.path_of(node));
        edit.fact("index", new);
        if old == new {
            return Ok(edit);
        }
        let place = |index: i32| -> [Variant; 2] { [node.to_variant(), index.to_variant()] };
        edit.step(
            Step::new(json!({"reorder": scene.path_of(node), "old": old, "new": new}))
                .apply(Op::call(parent, "move_child", &place(new)))
                .revert(Op::call(parent, "move_child", &place(old)))
                .answers(node, "get_index", &[], &new.to_variant()),
        );
        Ok(edit)
    }
}

/// The destination rule: a node that is not saved itself is not saved anywhere.
fn destination(scene: &Scene, node: &Gd<Node>, parent: &Gd<Node>, name: &str) -> Verdict {
    let verdict = persistence::of_addition(scene, parent, name);
    match node.get_owner() {
        Some(_) => verdict,
        None => Verdict::no(verdict.target, Reason::NodeNotOwned),
    }
}

fn global_property(node: &Gd<Node>) -> Option<&'static str> {
    let of_class = [
        ("Node2D", "global_transform"),
        ("Node3D", "global_transform"),
        ("Control", "global_position"),
    ];
    of_class.iter().find(|it| node.is_class(it.0)).map(|it| it.1)
}

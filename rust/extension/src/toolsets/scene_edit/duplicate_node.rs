use godot::classes::Node;
use godot::classes::node::DuplicateFlags;
use godot::meta::ToGodot;
use godot::obj::Gd;

use crate::editor::references::{Connection, References};
use crate::editor::{quirks, scene_files};
use crate::tool_prelude::*;

/// Copies a node with its branch and puts the copy beside it, under a free name. Groups, scripts,
/// instances and outgoing connections come along, as with the editor's own duplicate.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct DuplicateNode {
    /// Node, as a path from the scene's root. Not the root.
    node_path: NodeRef,
}

impl Tool for DuplicateNode {
    const NAME: &'static str = "duplicate_node";
    const TOOLSET: &'static str = "scene_edit";

    fn adjust(spec: &mut ToolSpec) {
        spec.edits_scene = true;
    }

    fn examples() -> Vec<Example> {
        let before = r#"
[node name="Main" type="Node2D"]
[node name="Enemy" type="Node2D" parent="." groups=["foes"]]
position = Vector2(4, 0)
[node name="Sprite" type="Sprite2D" parent="Enemy"]
[node name="Last" type="Node2D" parent="."]"#;
        let after = r#"
[node name="Main" type="Node2D"]
[node name="Enemy" type="Node2D" parent="." groups=["foes"]]
position = Vector2(4, 0)
[node name="Sprite" type="Sprite2D" parent="Enemy"]
[node name="Enemy2" type="Node2D" parent="." groups=["foes"]]
position = Vector2(4, 0)
[node name="Sprite" type="Sprite2D" parent="Enemy2"]
[node name="Last" type="Node2D" parent="."]"#;
        vec![
            Example::edit("Copies a branch beside itself.", before, after)
                .args(json!({"node_path": "Enemy"})),
            Example::refusal("Refuses the root.", before, Code::ValidationError)
                .args(json!({"node_path": "."})),
        ]
    }
}

impl EditTool for DuplicateNode {
    const CLASS: SafetyClass = SafetyClass::Mutating;

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let scene = editor.edited_scene()?;
        let node = scene.node(&self.node_path)?;
        scene.not_root(&node, "duplicated")?;
        scene_files::check_copyable(&node)?;
        let parent =
            node.get_parent().ok_or_else(|| ToolError::internal("a node without a parent"))?;
        let name = node.get_name().to_string();
        let name = branch::free_name(&parent, branch::plain_name(&name), None);

        let mut edit = Edit::in_scene(&scene, format!("Duplicate {}", node.get_name()));
        // Signals are connected by the edit, so that a preview connects nothing.
        let flags = DuplicateFlags::GROUPS
            | DuplicateFlags::SCRIPTS
            | DuplicateFlags::USE_INSTANTIATION
            | quirks::duplicate_from_editor();
        let copy = node.duplicate_node_ex().flags(flags).done_or_null();
        let mut copy = copy.ok_or_else(|| {
            let message = format!("the engine could not copy \"{}\"", scene.path_of(&node));
            ToolError::new(Code::Unsupported, message)
                .hint("its script may need arguments to be made")
        })?;
        edit.made(&copy);
        copy.set_name(&name);

        let verdict = match node.get_owner() {
            Some(_) => persistence::of_addition(&scene, &parent, &name),
            None => Verdict::no(scene.path_of(&node), Reason::NodeNotOwned),
        };
        let path = match scene.path_of(&parent).as_str() {
            "." => name.clone(),
            parent => format!("{parent}/{name}"),
        };
        edit.verdict(verdict);
        let originals = branch::nodes(&node);
        edit.fact("node_path", path.as_str());
        edit.fact("name", name.as_str());
        edit.fact("node_count", originals.len());

        let twins = Twins { scene: &scene, node: &node, copy: &copy };
        let owners = twins.owners(&originals);
        let dropped = twins.drop_unique_names(&owners);
        if !dropped.is_empty() {
            edit.fact("unique_names_dropped", dropped);
        }
        twins.copy_groups(&originals);
        let references = References::of(&scene);
        for it in references.exports.iter().filter(|it| branch::holds(&node, &it.holder)) {
            let Some(mut holder) = twins.of(&it.holder) else { continue };
            let inward = it.with(&|target| twins.of(target).map(|it| it.to_variant()));
            holder.set(&it.property, &inward.unwrap_or_else(|| it.value.clone()));
        }
        let change =
            json!({"add": path, "type": node.get_class().to_string(), "nodes": originals.len()});
        let mut step = Step::new(change);
        for op in branch::attach(&parent, &copy, Some(node.get_index() + 1), &owners) {
            step = step.apply(op);
        }
        edit.step(
            step.revert(branch::detach(&parent, &copy))
                .keeps_done(&copy)
                .answers(&copy, "get_parent", &[], &parent.to_variant())
                .answers(&copy, "get_name", &[], &name.to_variant()),
        );
        for it in references.connections.iter().filter(|it| branch::holds(&node, &it.source)) {
            let Some(connection) = twins.connection(it) else { continue };
            edit.step(
                Step::new(json!({"connect": format!("{path}: {}", it.shown(&scene))}))
                    .apply(connection.connect())
                    .revert(connection.disconnect()),
            );
        }
        Ok(edit)
    }
}

/// A branch and its copy.
struct Twins<'a> {
    scene: &'a Scene,
    node: &'a Gd<Node>,
    copy: &'a Gd<Node>,
}

impl Twins<'_> {
    /// The node of the copy that stands for one of the branch.
    fn of(&self, original: &Gd<Node>) -> Option<Gd<Node>> {
        if !branch::holds(self.node, original) {
            return None;
        }
        self.copy.get_node_or_null(&self.node.get_path_to(original))
    }

    /// Owners as in the original: nodes of the scene belong to its root, and to no one what
    /// belonged to no one.
    fn owners(&self, originals: &[Gd<Node>]) -> Vec<(Gd<Node>, Gd<Node>)> {
        let outer =
            |it: &&Gd<Node>| it.get_owner().is_some_and(|owner| !branch::holds(self.node, &owner));
        let copies = originals.iter().filter(outer).filter_map(|it| self.of(it));
        copies.map(|it| (it, self.scene.root().clone())).collect()
    }

    /// Names that stay the originals'. The copy of the branch's top has a name of its own.
    fn drop_unique_names(&self, owners: &[(Gd<Node>, Gd<Node>)]) -> Vec<String> {
        let of_scene = self.node.get_owner().as_ref() == Some(self.scene.root());
        let mut dropped = Vec::new();
        for (node, _) in owners {
            let mut node = node.clone();
            if node.is_unique_name_in_owner() && !(node == *self.copy && of_scene) {
                node.set_unique_name_in_owner(false);
                dropped.push(format!("%{}", node.get_name()));
            }
        }
        dropped
    }

    /// The engine copies groups, but not those that nodes of an instance got here.
    fn copy_groups(&self, originals: &[Gd<Node>]) {
        for original in originals {
            let Some(mut copy) = self.of(original) else { continue };
            for group in original.get_groups().iter_shared() {
                if !group.to_string().starts_with('_') && !copy.is_in_group(&group) {
                    copy.add_to_group_ex(&group).persistent(true).done();
                }
            }
        }
    }

    fn connection(&self, original: &Connection) -> Option<Connection> {
        let source = self.of(&original.source)?;
        let target = self.of(&original.target).unwrap_or_else(|| original.target.clone());
        let callable = branch::aimed_at(&original.callable, &target.clone().upcast())?;
        // What an instance brings along is connected in its copy already.
        if source.is_connected(&original.signal, &callable) {
            return None;
        }
        Some(Connection { source, target, callable, ..original.clone() })
    }
}

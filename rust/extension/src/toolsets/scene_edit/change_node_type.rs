use godot::builtin::{StringName, Variant};
use godot::classes::{Node, Object, Script};
use godot::meta::ToGodot;
use godot::obj::{EngineBitfield as _, Gd};
use godot::register::info::PropertyUsageFlags;

use crate::editor::node_classes::NodeClass;
use crate::editor::properties;
use crate::editor::references::{Connection, Listed, References, without_nodes};
use crate::editor::values::{Slot, classes};
use crate::tool_prelude::*;

/// Gives a node another type. Children, name, groups, connections, metadata, a fitting script and
/// the properties that both types have stay; the preview lists what is lost.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ChangeNodeType {
    /// Node, as a path from the scene's root. Not the root, nor an instance.
    node_path: NodeRef,
    /// Class, for example `AnimatedSprite2D`.
    new_type: Identifier,
}

impl Tool for ChangeNodeType {
    const NAME: &'static str = "change_node_type";
    const TOOLSET: &'static str = "scene_edit";

    fn adjust(spec: &mut ToolSpec) {
        spec.edits_scene = true;
    }

    fn examples() -> Vec<Example> {
        let before = r#"
[node name="Main" type="Node2D"]
[node name="Enemy" type="Node2D" parent="." groups=["foes"]]
position = Vector2(4, 0)
[node name="Sprite" type="Sprite2D" parent="Enemy"]"#;
        let after = r#"
[node name="Main" type="Node2D"]
[node name="Enemy" type="Area2D" parent="." groups=["foes"]]
position = Vector2(4, 0)
[node name="Sprite" type="Sprite2D" parent="Enemy"]"#;
        vec![
            Example::edit("Makes an area of a plain node.", before, after)
                .args(json!({"node_path": "Enemy", "new_type": "Area2D"})),
            Example::refusal("Refuses the root.", before, Code::Unsupported)
                .args(json!({"node_path": ".", "new_type": "Node3D"})),
            Example::refusal("Refuses an unknown class.", before, Code::ValidationError)
                .args(json!({"node_path": "Enemy", "new_type": "Area2d"})),
        ]
    }
}

impl EditTool for ChangeNodeType {
    const CLASS: SafetyClass = SafetyClass::Mutating;

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let scene = editor.edited_scene()?;
        let old = scene.node(&self.node_path)?;
        refuse_special(&scene, &old)?;
        let class = NodeClass::named(self.new_type.as_str(), "new_type")?;
        let parent =
            old.get_parent().ok_or_else(|| ToolError::internal("a node without a parent"))?;
        let (path, name) = (scene.path_of(&old), old.get_name());
        let old_type = classes::name_of(&old.clone().upcast());

        let mut edit =
            Edit::in_scene(&scene, format!("Change type of {name} to {}", self.new_type));
        edit.verdict(persistence::of_node(&scene, &old));
        edit.fact("old_type", old_type.as_str());
        edit.fact("new_type", self.new_type.as_str());
        if old_type == self.new_type.as_str() {
            return Ok(edit);
        }
        // Only the engine can give such a name, so the new node could not have it.
        if name.to_string().contains('@') {
            let message = format!("\"{name}\" is a name that the engine made up");
            return Err(ToolError::precondition("node_path", message)
                .hint("give the node a name with `rename_node` first"));
        }
        let mut new = class.instantiate()?;
        edit.made(&new);
        new.set_name(&name);
        let swap =
            Swap { scene: &scene, script: kept_script(&class, &old), class: &class, old, new };
        let dropped = swap.dropped();
        swap.build(&mut edit, &path, &parent);
        if !dropped.is_empty() {
            edit.fact("dropped_properties", dropped);
        }
        Ok(edit)
    }
}

fn refuse_special(scene: &Scene, node: &Gd<Node>) -> Result<(), ToolError> {
    if node == scene.root() {
        let message = "the type of the scene's root cannot be changed within the undo history";
        return Err(ToolError::new(Code::Unsupported, message)
            .required("node_path")
            .hint("make a scene with another root by `create_scene`"));
    }
    branch::belongs_to_scene(scene, node, "changed in type")?;
    let file = node.get_scene_file_path().to_string();
    if file.is_empty() {
        return Ok(());
    }
    Err(ToolError::new(
        Code::PreconditionFailed,
        format!("\"{}\" is an instance of \"{file}\"", scene.path_of(node)),
    )
    .required("node_path")
    .hint("open that scene with `open_scene` to work on it"))
}

/// The old node's script, when it fits and the new type brings none.
fn kept_script(class: &NodeClass, old: &Gd<Node>) -> Option<Gd<Script>> {
    let script = old.get_script().filter(|_| class.script.is_none())?;
    let base = script.get_instance_base_type().to_string();
    (base.is_empty() || classes::derives(&class.native, &base)).then_some(script)
}

/// One node that takes the place of another.
struct Swap<'a> {
    scene: &'a Scene,
    class: &'a NodeClass,
    script: Option<Gd<Script>>,
    old: Gd<Node>,
    new: Gd<Node>,
}

impl Swap<'_> {
    fn build(&self, edit: &mut Edit, path: &str, parent: &Gd<Node>) {
        let references = References::of(self.scene);
        let mut listed = Listed::default();
        let mut connections = Vec::new();
        let (old, new) = (&self.old, &self.new);
        for it in references.connections.iter().filter(|it| it.source == *old || it.target == *old)
        {
            edit.step(Step::new(Value::Null).apply(it.disconnect()).revert(it.connect()));
            match self.connection(it) {
                Some(it) => connections.push(it),
                None => listed
                    .add(json!({"connection": it.shown(self.scene), "becomes": "disconnected"})),
            }
        }

        let change =
            json!({"retype": path, "old": old.get_class().to_string(), "new": self.class.native});
        let mut step = Step::new(change);
        if let Some(script) = self.class.script.as_ref().or(self.script.as_ref()) {
            step = step.apply(Op::set_apart(new, "script", &script.to_variant()));
        }
        for (property, value) in self.kept() {
            step = step.apply(Op::set_apart(new, &property, &value));
            if let Some(without) = without_nodes(&value) {
                step = step.revert(Op::set_apart(new, &property, &without));
            }
        }
        for group in old.get_groups().iter_shared().filter(|it| !it.to_string().starts_with('_')) {
            step =
                step.apply(Op::call(new, "add_to_group", &[group.to_variant(), true.to_variant()]));
        }

        let index = Some(old.get_index());
        let owners = branch::outer_owners(old);
        let (own, below): (Vec<_>, Vec<_>) = owners.into_iter().partition(|it| it.0 == *old);
        let new_own: Vec<_> = own.iter().map(|it| (new.clone(), it.1.clone())).collect();
        let children: Vec<_> = old.get_children().iter_shared().collect();
        // Children first, while both nodes are out of the tree they keep their order and nothing
        // else; then the node, then all owners, which the engine cleared.
        step = step.apply(branch::detach(parent, old)).revert(branch::detach(parent, new));
        for child in &children {
            step = step
                .apply(branch::detach(old, child))
                .apply(Op::call(new, "add_child", &[child.to_variant()]))
                .revert(branch::detach(new, child))
                .revert(Op::call(old, "add_child", &[child.to_variant()]));
        }
        for op in branch::attach(parent, new, index, &[new_own, below.clone()].concat()) {
            step = step.apply(op);
        }
        for op in branch::attach(parent, old, index, &[own, below].concat()) {
            step = step.revert(op);
        }
        // Not by the number of children: some types bring children of their own.
        for child in &children {
            step = step.answers(child, "get_parent", &[], &new.to_variant());
        }
        edit.step(
            step.keeps_done(new)
                .keeps_undone(old)
                .answers(new, "get_parent", &[], &parent.to_variant())
                .answers(new, "get_name", &[], &old.get_name().to_variant()),
        );

        // Now that the script with its signals and methods is there.
        for it in connections {
            edit.step(Step::new(Value::Null).apply(it.connect()).revert(it.disconnect()));
        }
        for it in references.exports.iter().filter(|it| it.holder != *old) {
            let holder: Gd<Object> = it.holder.clone().upcast();
            let fits = Slot::of(&holder, &it.property).is_none_or(|slot| self.fits(&slot));
            let swapped =
                it.with(&|node| (node == old).then(|| branch::variant(fits.then_some(new))));
            let Some(swapped) = swapped else { continue };
            let shown = self.scene.path_of(&it.holder);
            if !fits {
                listed.add(
                    json!({"property": format!("{shown}:{}", it.property), "becomes": "null"}),
                );
            }
            edit.set_property(&shown, &it.holder, &it.property, &swapped);
        }
        listed.into_facts(edit);
    }

    /// Values that the new node takes over: stored, changed, and of a property that it has too.
    fn kept(&self) -> Vec<(String, Variant)> {
        self.changed().into_iter().filter(|it| self.has(&it.0)).collect()
    }

    fn dropped(&self) -> Vec<String> {
        let object: Gd<Object> = self.old.clone().upcast();
        let changed = self.changed().into_iter().filter(|it| !self.has(&it.0));
        // The values of a script go with it.
        let own = changed.filter(|it| !properties::is_of_script(&object, &it.0));
        let mut names: Vec<String> = own.map(|it| it.0).collect();
        if self.old.get_script().is_some() && self.script.is_none() {
            names.push("script".to_owned());
        }
        names
    }

    fn changed(&self) -> Vec<(String, Variant)> {
        let object: Gd<Object> = self.old.clone().upcast();
        let class = StringName::from(&self.old.get_class());
        let db = <godot::classes::ClassDb as godot::obj::Singleton>::singleton();
        Slot::all(&object)
            .into_iter()
            .filter(|it| it.usage.is_set(PropertyUsageFlags::STORAGE) && it.name != "script")
            .map(|it| (object.get(&it.name), it))
            .filter(|(value, it)| {
                let default = db.class_get_property_default_value(&class, &it.name);
                !(values::same(&default, value) || default.is_nil() && value.is_nil())
            })
            .map(|(value, it)| (it.name, value))
            .collect()
    }

    fn has(&self, property: &str) -> bool {
        if property.starts_with("metadata/") {
            return true;
        }
        let new: Gd<Object> = self.new.clone().upcast();
        let old: Gd<Object> = self.old.clone().upcast();
        match (Slot::of(&old, property), Slot::of(&new, property)) {
            (Some(old), Some(new)) => old.kind == new.kind,
            (Some(old), None) => {
                self.script.is_some()
                    && properties::is_of_script(&self.old.clone().upcast(), &old.name)
            }
            _ => false,
        }
    }

    /// Whether an exported reference of this type can hold the new node.
    fn fits(&self, slot: &Slot) -> bool {
        let name = match (&self.class.script, &self.script) {
            (Some(script), _) | (None, Some(script)) => classes::global_name(script),
            _ => None,
        };
        let name = name.unwrap_or_else(|| self.class.native.clone());
        let wanted = slot.node_classes();
        wanted.is_empty()
            || wanted
                .iter()
                .any(|it| classes::derives(&name, it) || classes::derives(&self.class.native, it))
    }

    fn connection(&self, it: &Connection) -> Option<Connection> {
        let swap =
            |node: &Gd<Node>| if *node == self.old { self.new.clone() } else { node.clone() };
        let (source, target) = (swap(&it.source), swap(&it.target));
        let scripted = self.script.is_some();
        let emits = source.has_signal(&it.signal) || scripted && it.source == self.old;
        let takes = target.has_method(it.method().as_str()) || scripted || it.target != self.old;
        if !emits || !takes {
            return None;
        }
        let callable = branch::aimed_at(&it.callable, &target.clone().upcast())?;
        Some(Connection { source, target, callable, ..it.clone() })
    }
}

//! Setting properties of nodes: what is refused, what is shown, what becomes a step of an edit.

use std::collections::HashMap;

use godot::builtin::Variant;
use godot::classes::{Node, Object, Resource, Script};
use godot::obj::{Gd, InstanceId};
use godot::register::info::PropertyHint;
use godot_mcp_core::ToolError;
use serde_json::Value;

use super::edit::Edit;
use super::persistence::{self, Reason, Verdict};
use super::scene::Scene;
use super::values::{self, Slot};
use super::{Editor, branch, properties, references};

/// Declared types that were looked up, for edits of many nodes: each look-up of a property with a
/// hint takes the engine a millisecond.
#[derive(Default)]
pub(crate) struct Slots(HashMap<(String, Option<InstanceId>, String), Slot>);

impl Slots {
    fn writable(&mut self, object: &Gd<Object>, property: &str) -> Result<Slot, ToolError> {
        let script = object.get_script().map(|it| it.instance_id());
        let key = (object.get_class().to_string(), script, property.to_owned());
        if let Some(slot) = self.0.get(&key) {
            return Ok(slot.clone());
        }
        let slot = properties::writable(object, property)?;
        // Lists of names, and what a container sets, differ from node to node.
        let own = matches!(slot.hint, PropertyHint::ENUM | PropertyHint::ENUM_SUGGESTION)
            || object.is_class("Control");
        if !own {
            self.0.insert(key, slot.clone());
        }
        Ok(slot)
    }
}

/// A value that a property of a node is to get.
pub(crate) struct PropertyEdit {
    node: Gd<Node>,
    node_path: String,
    /// The node, or a resource in one of its properties.
    object: Gd<Object>,
    /// Of that object.
    property: String,
    shown: String,
    slot: Slot,
    old: Variant,
    value: Variant,
    verdict: Verdict,
}

impl PropertyEdit {
    /// Checks property and value. `property` may be `shape:size`, one of the resource in `shape`.
    pub(crate) fn new(
        editor: &Editor,
        scene: &Scene,
        node: &Gd<Node>,
        property: &str,
        json: &Value,
        slots: &mut Slots,
    ) -> Result<Self, ToolError> {
        let target = Target::of(scene, node, property)?;
        let (object, inner) = (&target.object, target.property);
        let slot = slots.writable(object, inner)?;
        let check = |path: &str| editor.check_read(path);
        let context = editor.values(Some(object), &check);
        let old = object.get(inner);
        let value = values::decode(json, &slot, &old, &context);
        let value = value.map_err(|it| it.required("value"))?;
        let verdict = persistence::of_value(target.verdict, object, &slot, &value);
        let node_path = scene.path_of(node);
        let edit = Self {
            node: node.clone(),
            shown: format!("{node_path}:{property}"),
            node_path,
            object: target.object,
            property: inner.to_owned(),
            slot,
            old,
            value,
            verdict,
        };
        if !edit.is_kept() {
            edit.check_special(scene)?;
        }
        Ok(edit)
    }

    /// Whether the property has the value already.
    pub(crate) fn is_kept(&self) -> bool {
        values::equal(&self.value, &self.old)
    }

    pub(crate) fn node_path(&self) -> &str {
        &self.node_path
    }

    /// What tells whether two edits meet: the object and its property.
    pub(crate) fn place(&self) -> (InstanceId, &str) {
        (self.object.instance_id(), &self.property)
    }

    /// The value before, in its read form.
    pub(crate) fn old_value(&self, editor: &Editor) -> Value {
        self.encoded(editor, &self.old)
    }

    pub(crate) fn new_value(&self, editor: &Editor) -> Value {
        self.encoded(editor, &self.value)
    }

    fn encoded(&self, editor: &Editor, value: &Variant) -> Value {
        let check = |path: &str| editor.check_read(path);
        let context = editor.values(Some(&self.object), &check);
        values::encode(value, Some(&self.slot), &context)
    }

    fn check_special(&self, scene: &Scene) -> Result<(), ToolError> {
        match self.property.as_str() {
            "script" => check_script(&self.object, &self.value),
            "unique_name_in_owner" => {
                branch::may_be_unique(scene, &self.node, self.value.booleanize(), "property")
            }
            _ => Ok(()),
        }
    }

    /// For an edit that another one makes as well.
    pub(crate) fn add_verdict(self, edit: &mut Edit) {
        edit.verdict(self.verdict);
    }

    /// Adds the verdict, and the step when there is something to change.
    pub(crate) fn add_to(self, edit: &mut Edit) {
        let kept = self.is_kept();
        edit.verdict(self.verdict);
        if kept {
            return;
        }
        if self.property == "script" {
            edit.set_script(&self.node_path, &self.object, &self.value);
        } else {
            edit.set_property_as(&self.shown, &self.object, &self.property, &self.value);
        }
    }
}

/// The object that holds the property: the node, or a resource in one of its properties.
struct Target<'a> {
    object: Gd<Object>,
    property: &'a str,
    verdict: Verdict,
}

impl<'a> Target<'a> {
    fn of(scene: &Scene, node: &Gd<Node>, property: &'a str) -> Result<Self, ToolError> {
        let object: Gd<Object> = node.clone().upcast();
        let verdict = persistence::of_node(scene, node);
        if let Some((holder, inner)) = property.split_once(':') {
            return Self::in_resource(scene, object, holder, inner, verdict);
        }
        let refusal =
            |message: &str, hint: &str| Err(ToolError::invalid("property", message).hint(hint));
        match property {
            "name" => refusal("the name is not set as a property", "use `rename_node`"),
            "owner" | "multiplayer" | "scene_file_path" => refusal(
                &format!("\"{property}\" is the engine's own"),
                "the editor keeps it right by itself",
            ),
            // The player would start at once and change what it animates, past any undo.
            "current_animation" if node.is_class("AnimationPlayer") => refusal(
                "\"current_animation\" plays in the editor",
                "set \"autoplay\" to start with an animation",
            ),
            _ => Ok(Self { object, property, verdict }),
        }
    }

    fn in_resource(
        scene: &Scene,
        node: Gd<Object>,
        holder: &str,
        inner: &'a str,
        verdict: Verdict,
    ) -> Result<Self, ToolError> {
        properties::readable(&node, holder)?;
        let Ok(resource) = node.get(holder).try_to::<Gd<Resource>>() else {
            let message = format!(
                "\"{holder}\" holds {}, not a resource",
                values::summary(&node.get(holder))
            );
            return Err(ToolError::invalid("property", message)
                .hint(format!("set \"{holder}\" as a whole")));
        };
        if inner.contains(':') {
            return Err(ToolError::invalid(
                "property",
                "only one level of resources can be reached",
            )
            .hint(format!(
                "set \"{holder}:{}\" as a whole",
                inner.split(':').next().unwrap_or_default()
            )));
        }
        let verdict = match references::in_scene_file(scene, &resource) {
            true => verdict,
            false => Verdict::no(verdict.target, Reason::EmbeddedInOtherResource),
        };
        Ok(Self { object: resource.upcast(), property: inner, verdict })
    }
}

fn check_script(object: &Gd<Object>, value: &Variant) -> Result<(), ToolError> {
    let Ok(script) = value.try_to::<Gd<Script>>() else { return Ok(()) };
    let base = script.get_instance_base_type();
    if base.is_empty() || object.is_class(&base.to_string()) {
        return Ok(());
    }
    let message = format!(
        "\"{}\" extends {base}, but the node is a {}",
        script.get_path(),
        object.get_class()
    );
    Err(ToolError::invalid("value", message)
        .hint("attach it to a node of that class, or change what it extends"))
}

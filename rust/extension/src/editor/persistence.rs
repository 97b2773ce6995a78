//! Whether a change would still be there after saving and reopening the scene (S5).

use godot::builtin::{StringName, Variant};
use godot::classes::{ClassDb, Node, Object};
use godot::obj::{Gd, Singleton as _};
use serde_json::{Map, Value, json};

use super::properties;
use super::scene::Scene;
use super::values::Slot;

/// Targets of a batch that have an entry each; more are grouped.
const MAX_EACH: usize = 100;

/// Why a change does not persist, or why that cannot be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    InstancedChildNotEditable,
    NodeNotOwned,
    EmbeddedInOtherResource,
    GroupFromBaseScene,
    SceneNeverSaved,
    RuntimeOnly,
    NearlyDefault,
}

impl Reason {
    fn as_str(self) -> &'static str {
        match self {
            Self::InstancedChildNotEditable => "instanced_child_not_editable",
            Self::NodeNotOwned => "node_not_owned",
            Self::EmbeddedInOtherResource => "embedded_in_other_resource",
            Self::GroupFromBaseScene => "group_from_base_scene",
            Self::SceneNeverSaved => "scene_never_saved",
            Self::RuntimeOnly => "runtime_only",
            Self::NearlyDefault => "nearly_default",
        }
    }

    fn hint(self) -> &'static str {
        match self {
            Self::InstancedChildNotEditable => {
                "turn on editable children of the instance with `set_editable_children`, or edit \
                 the instanced scene itself"
            }
            Self::NodeNotOwned => "the node was added by a script and is not saved with the scene",
            Self::EmbeddedInOtherResource => "the resource lies in another file; edit that file",
            Self::GroupFromBaseScene => "the group comes from the base scene; edit that scene",
            Self::SceneNeverSaved => "give the scene a file with `save_scene`",
            Self::RuntimeOnly => "it is state of the editor or of a script, not of the file",
            Self::NearlyDefault => "the engine saves no number this near to the default value",
        }
    }
}

/// The verdict on one target. One function makes it for preview and run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Verdict {
    pub(crate) target: String,
    pub(crate) persisted: Option<bool>,
    pub(crate) reason: Option<Reason>,
}

impl Verdict {
    pub(crate) fn yes(target: impl Into<String>) -> Self {
        Self { target: target.into(), persisted: Some(true), reason: None }
    }

    pub(crate) fn no(target: impl Into<String>, reason: Reason) -> Self {
        Self { target: target.into(), persisted: Some(false), reason: Some(reason) }
    }

    pub(crate) fn unknown(target: impl Into<String>, reason: Reason) -> Self {
        Self { target: target.into(), persisted: None, reason: Some(reason) }
    }

    fn fields(&self, into: &mut Map<String, Value>) {
        into.insert("persisted".into(), json!(self.persisted));
        if let Some(reason) = self.reason {
            into.insert("reason".into(), json!(reason.as_str()));
            into.insert("hint".into(), json!(reason.hint()));
        }
    }
}

/// The node rule: whether what is stored in this node is saved with the edited scene.
pub(crate) fn of_node(scene: &Scene, node: &Gd<Node>) -> Verdict {
    let target = scene.path_of(node);
    match first_unsaved(scene, node) {
        Some(reason) => Verdict::no(target, reason),
        None if scene.file().is_empty() => Verdict::unknown(target, Reason::SceneNeverSaved),
        None => Verdict::yes(target),
    }
}

/// The verdict on one property of what `verdict` is about.
pub(crate) fn of_value(
    verdict: Verdict,
    object: &Gd<Object>,
    slot: &Slot,
    value: &Variant,
) -> Verdict {
    if verdict.persisted == Some(false) {
        return verdict;
    }
    if !properties::is_stored(object, slot) {
        return Verdict::no(verdict.target, Reason::RuntimeOnly);
    }
    if is_nearly_default(object, slot, value) {
        return Verdict::no(verdict.target, Reason::NearlyDefault);
    }
    verdict
}

/// The engine compares single numbers with the default roughly, and leaves out what is equal. What an
/// instanced scene sets is a default too, and is not looked up here.
fn is_nearly_default(object: &Gd<Object>, slot: &Slot, value: &Variant) -> bool {
    let Ok(value) = value.try_to::<f64>() else { return false };
    let class = StringName::from(&object.get_class());
    let default = ClassDb::singleton().class_get_property_default_value(&class, slot.name.as_str());
    let Ok(default) = default.try_to::<f64>() else { return false };
    // As the engine compares: in single precision, within a part of the value.
    let (one, two) = (value as f32, default as f32);
    let tolerance = (1e-5 * one.abs()).max(1e-5);
    value.to_bits() != default.to_bits() && (one - two).abs() < tolerance
}

/// The parent rule: whether a node added under `parent`, owned by the root, is saved.
pub(crate) fn of_addition(scene: &Scene, parent: &Gd<Node>, name: &str) -> Verdict {
    let mut verdict = of_node(scene, parent);
    verdict.target = match verdict.target.as_str() {
        "." => name.to_owned(),
        parent => format!("{parent}/{name}"),
    };
    verdict
}

/// Whether the node is written when the scene is saved.
pub(crate) fn is_saved(scene: &Scene, node: &Gd<Node>) -> bool {
    first_unsaved(scene, node).is_none()
}

/// A node is saved when it and every node above it are owned by the root or by an instance with
/// editable children; the engine skips the whole branch below one that is not.
fn first_unsaved(scene: &Scene, node: &Gd<Node>) -> Option<Reason> {
    let root = scene.root();
    let mut at = node.clone();
    while at != *root {
        let owner = at.get_owner();
        match owner {
            None => return Some(Reason::NodeNotOwned),
            Some(owner) if owner == *root => {}
            Some(owner) if root.is_ancestor_of(&owner) && root.is_editable_instance(&owner) => {}
            Some(_) => return Some(Reason::InstancedChildNotEditable),
        }
        at = at.get_parent()?;
    }
    None
}

/// The verdict fields of an answer: flat for one target, and one entry a target for a batch.
pub(crate) fn fields(verdicts: &[Verdict], into: &mut Map<String, Value>) {
    let weight = |it: &&Verdict| match it.persisted {
        Some(false) => 2,
        None => 1,
        Some(true) => 0,
    };
    let Some(worst) = verdicts.iter().max_by_key(weight) else { return };
    worst.fields(into);
    match verdicts.len() {
        0 | 1 => {}
        2..=MAX_EACH => {
            let each = verdicts.iter().map(|it| {
                let mut fields = Map::new();
                fields.insert("target".into(), json!(it.target));
                it.fields(&mut fields);
                Value::Object(fields)
            });
            into.insert("persistence".into(), each.collect());
        }
        _ => drop(into.insert("persistence".into(), grouped(verdicts))),
    }
}

/// Verdicts that are alike as one entry. The largest group is counted: its targets are those that no
/// other entry names.
fn grouped(verdicts: &[Verdict]) -> Value {
    let mut groups: Vec<(&Verdict, Vec<&str>)> = Vec::new();
    for it in verdicts {
        let alike = |of: &Verdict| of.persisted == it.persisted && of.reason == it.reason;
        match groups.iter_mut().find(|group| alike(group.0)) {
            Some(group) => group.1.push(&it.target),
            None => groups.push((it, vec![&it.target])),
        }
    }
    let largest = groups.iter().map(|it| it.1.len()).max().unwrap_or(0);
    let entry = |(verdict, targets): &(&Verdict, Vec<&str>)| {
        let mut fields = Map::new();
        verdict.fields(&mut fields);
        fields.insert("count".into(), json!(targets.len()));
        if targets.len() < largest {
            fields.insert("targets".into(), json!(targets));
        }
        Value::Object(fields)
    };
    groups.iter().map(entry).collect()
}

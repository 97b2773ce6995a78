//! The tree of a scene as text and as JSON, with as few engine calls a node as possible.

use std::collections::HashMap;

use godot::classes::{ClassDb, Node};
use godot::obj::{Gd, Singleton};
use serde_json::{Map, Value, json};

use super::raw_node::{Hiding, RawNode};

/// What is shown of one node.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) class: String,
    /// Path of the script; empty for one inside the scene.
    pub(crate) script: Option<String>,
    /// The file that the node is an instance of.
    pub(crate) instance: Option<String>,
    pub(crate) editable: bool,
    pub(crate) owner: Owner,
    pub(crate) unique: bool,
    pub(crate) hidden: bool,
}

/// Who saves a node.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Owner {
    #[default]
    Scene,
    /// It comes with an instanced scene, whose root has this key.
    Instance(usize),
    Nobody,
}

impl Row {
    /// `Player CharacterBody2D script=player.gd %`.
    pub(crate) fn line(&self, depth: usize, hidden_children: usize, into: &mut String) {
        into.extend(std::iter::repeat_n(' ', depth));
        into.push_str(&self.name);
        into.push(' ');
        into.push_str(&self.class);
        if let Some(script) = &self.script {
            into.push_str(" script=");
            into.push_str(file_name(script));
        }
        if let Some(instance) = &self.instance {
            into.push_str(" instance=");
            into.push_str(file_name(instance));
        }
        let marks = [
            (self.editable, " editable"),
            (matches!(self.owner, Owner::Instance(_)), " inner"),
            (self.owner == Owner::Nobody, " unowned"),
            (self.hidden, " hidden"),
            (self.unique, " %"),
        ];
        into.extend(marks.iter().filter(|it| it.0).map(|it| it.1));
        if hidden_children > 0 {
            into.push_str(&format!(" +{hidden_children} children"));
        }
        into.push('\n');
    }

    pub(crate) fn fields(&self, path: &str, lightweight: bool) -> Map<String, Value> {
        let mut map = Map::new();
        map.insert("name".into(), json!(self.name));
        map.insert("type".into(), json!(self.class));
        map.insert("path".into(), json!(path));
        if lightweight {
            return map;
        }
        if let Some(script) = &self.script {
            map.insert("script".into(), json!(script));
        }
        if let Some(instance) = &self.instance {
            map.insert("instance".into(), json!(instance));
            map.insert("editable_children".into(), json!(self.editable));
        }
        if self.owner == Owner::Nobody {
            map.insert("owner".into(), Value::Null);
        }
        if self.unique {
            map.insert("unique_name".into(), json!(true));
        }
        if self.hidden {
            map.insert("hidden".into(), json!(true));
        }
        map
    }
}

fn file_name(path: &str) -> &str {
    if path.is_empty() || path.contains("::") {
        return "(built-in)";
    }
    path.rsplit('/').next().unwrap_or(path)
}

/// Reads nodes of one scene. Remembers what it learned about classes.
pub(crate) struct Reader<'a> {
    root: RawNode<'a>,
    lightweight: bool,
    classes: HashMap<String, Hiding>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(root: RawNode<'a>, lightweight: bool) -> Self {
        Self { root, lightweight, classes: HashMap::new() }
    }

    pub(crate) fn row(&mut self, node: RawNode, name: String) -> Row {
        let class = node.class();
        if self.lightweight {
            return Row { name, class, ..Row::default() };
        }
        let is_root = node.key() == self.root.key();
        let owner = match node.owner() {
            _ if is_root => Owner::Scene,
            None => Owner::Nobody,
            Some(owner) if owner.key() == self.root.key() => Owner::Scene,
            Some(owner) => Owner::Instance(owner.key()),
        };
        let file = if is_root { String::new() } else { node.file() };
        let instance = (!file.is_empty()).then_some(file);
        Row {
            script: node.script(),
            editable: instance.is_some() && self.root.is_editable(node),
            unique: node.is_unique(),
            hidden: node.is_hidden(self.hiding(&class)),
            name,
            class,
            instance,
            owner,
        }
    }

    fn hiding(&mut self, class: &str) -> Hiding {
        if let Some(known) = self.classes.get(class) {
            return *known;
        }
        let hiding = hiding_of(class);
        self.classes.insert(class.to_owned(), hiding);
        hiding
    }
}

fn hiding_of(class: &str) -> Hiding {
    let db = ClassDb::singleton();
    let is = |base: &str| db.is_parent_class(class, base);
    if is("CanvasItem") {
        Hiding::Canvas
    } else if is("Node3D") {
        Hiding::Spatial
    } else if is("CanvasLayer") {
        Hiding::Layer
    } else {
        Hiding::Never
    }
}

/// The children of a node, without those that the engine keeps for itself.
pub(crate) fn children(node: &Gd<Node>) -> impl Iterator<Item = Gd<Node>> {
    let count = node.get_child_count();
    let node = (count > 0).then(|| node.clone());
    (0..count).filter_map(move |index| node.as_ref().and_then(|it| it.get_child(index)))
}

/// Path of a child below a node with this path.
pub(crate) fn join(parent: &str, name: &str) -> String {
    if parent == "." { name.to_owned() } else { format!("{parent}/{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_what_is_special() {
        let mut text = String::new();
        let plain = Row { name: "Main".into(), class: "Node2D".into(), ..Row::default() };
        plain.line(0, 0, &mut text);
        let player = Row {
            name: "Player".into(),
            class: "CharacterBody2D".into(),
            script: Some("res://scripts/player.gd".into()),
            instance: Some("res://player.tscn".into()),
            unique: true,
            hidden: true,
            ..Row::default()
        };
        player.line(2, 3, &mut text);
        let added =
            Row { script: Some("res://a.tscn::GDScript_1".into()), owner: Owner::Nobody, ..plain };
        added.line(1, 0, &mut text);
        assert_eq!(
            text,
            "Main Node2D\n  Player CharacterBody2D script=player.gd instance=player.tscn hidden % \
             +3 children\n Main Node2D script=(built-in) unowned\n"
        );
    }
}

//! Snapshots of branches: taking, storing and comparing them.

use std::collections::{BTreeMap, HashMap, VecDeque};

use godot::classes::{Node, Object};
use godot::obj::Gd;
use serde_json::{Map, Value, json};

use super::scene::Scene;
use super::values::Slot;
use super::{Editor, inspect, scene_tree};

/// Snapshots that are kept; the least recently used one goes first.
const CAPACITY: usize = 32;

/// What one node looked like: type, groups and property values in their read form.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NodeState {
    pub(crate) class: String,
    pub(crate) groups: Vec<String>,
    pub(crate) properties: BTreeMap<String, Value>,
}

/// A branch at one moment, and how it was asked for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Snapshot {
    /// File of the scene; empty when it was never saved.
    pub(crate) scene: String,
    pub(crate) root: String,
    pub(crate) properties: Option<Vec<String>>,
    pub(crate) max_depth: i64,
    /// By path, in tree order.
    pub(crate) nodes: Vec<(String, NodeState)>,
}

#[derive(Debug, Default)]
pub(crate) struct Snapshots {
    kept: VecDeque<(String, Snapshot)>,
    count: u64,
}

impl Snapshots {
    /// Stores a snapshot and answers its id, `s1`, `s2` and so on.
    pub(crate) fn add(&mut self, snapshot: Snapshot) -> String {
        self.count += 1;
        let id = format!("s{}", self.count);
        if self.kept.len() == CAPACITY {
            self.kept.pop_front();
        }
        self.kept.push_back((id.clone(), snapshot));
        id
    }

    /// A stored snapshot, which thereby counts as used.
    pub(crate) fn get(&mut self, id: &str) -> Option<Snapshot> {
        let index = self.kept.iter().position(|it| it.0 == id)?;
        let entry = self.kept.remove(index)?;
        let snapshot = entry.1.clone();
        self.kept.push_back(entry);
        Some(snapshot)
    }

    /// Id of the one that was taken last.
    pub(crate) fn newest(&self) -> Option<String> {
        (self.count > 0).then(|| format!("s{}", self.count))
    }

    pub(crate) fn ids(&self) -> Vec<String> {
        self.kept.iter().map(|it| it.0.clone()).collect()
    }
}

/// Reads a branch as it is now.
pub(crate) fn take(
    editor: &Editor,
    scene: &Scene,
    top: &Gd<Node>,
    properties: Option<Vec<String>>,
    max_depth: i64,
) -> Snapshot {
    let root = scene.path_of(top);
    let mut nodes = Vec::new();
    let depth = usize::try_from(max_depth).unwrap_or(usize::MAX);
    read_branch(
        editor,
        top,
        root.clone(),
        depth,
        properties.as_deref().unwrap_or_default(),
        &mut nodes,
    );
    Snapshot { scene: scene.file(), root, properties, max_depth, nodes }
}

fn read_branch(
    editor: &Editor,
    node: &Gd<Node>,
    path: String,
    depth: usize,
    properties: &[String],
    into: &mut Vec<(String, NodeState)>,
) {
    let object: Gd<Object> = node.clone().upcast();
    let check = |path: &str| editor.check_read(path);
    let context = editor.values(Some(&object), &check);
    let slots = Slot::all(&object);
    let wanted = slots.iter().filter(|it| inspect::is_key(it) || properties.contains(&it.name));
    let values = inspect::values_of(&object, wanted, &context);
    into.push((
        path.clone(),
        NodeState {
            class: node.get_class().to_string(),
            groups: inspect::groups(node),
            properties: values.into_iter().collect(),
        },
    ));
    if depth == 0 {
        return;
    }
    for child in scene_tree::children(node) {
        let path = scene_tree::join(&path, &child.get_name().to_string());
        read_branch(editor, &child, path, depth - 1, properties, into);
    }
}

/// Whether `path` is `root` or lies below it.
pub(crate) fn is_within(path: &str, root: &str) -> bool {
    root == "." || path == root || path.strip_prefix(root).is_some_and(|it| it.starts_with('/'))
}

/// Levels of `path` below `root`.
fn depth_below(path: &str, root: &str) -> i64 {
    let levels = |it: &str| if it == "." { 0 } else { it.split('/').count() };
    i64::try_from(levels(path).saturating_sub(levels(root))).unwrap_or(i64::MAX)
}

/// What differs in the branch at `root`. Only what both snapshots hold is compared.
pub(crate) fn diff(before: &Snapshot, after: &Snapshot, root: &str) -> Value {
    let limit = match (before.max_depth, after.max_depth) {
        (-1, other) | (other, -1) => other,
        (one, other) => one.min(other),
    };
    let in_both = |path: &str| {
        is_within(path, root) && (limit < 0 || depth_below(path, &before.root) <= limit)
    };
    let same_properties = before.properties == after.properties;
    let old: HashMap<&str, &NodeState> =
        before.nodes.iter().map(|it| (it.0.as_str(), &it.1)).collect();
    let new: HashMap<&str, &NodeState> =
        after.nodes.iter().map(|it| (it.0.as_str(), &it.1)).collect();
    let only_in = |nodes: &[(String, NodeState)], others: &HashMap<&str, &NodeState>| {
        let nodes = nodes.iter().filter(|it| in_both(&it.0) && !others.contains_key(it.0.as_str()));
        nodes.map(|it| json!({"path": it.0, "type": it.1.class})).collect::<Vec<_>>()
    };
    let (added, removed) = (only_in(&after.nodes, &old), only_in(&before.nodes, &new));
    let (mut changed, mut groups) = (Map::new(), Map::new());
    for (path, before) in before.nodes.iter().filter(|it| in_both(&it.0)) {
        let Some(after) = new.get(path.as_str()) else { continue };
        let properties = changed_properties(before, after, same_properties);
        if !properties.is_empty() {
            changed.insert(path.clone(), Value::Object(properties));
        }
        if before.groups != after.groups {
            let without = |all: &[String], others: &[String]| {
                all.iter().filter(|it| !others.contains(it)).cloned().collect::<Vec<_>>()
            };
            let joined = without(&after.groups, &before.groups);
            let left = without(&before.groups, &after.groups);
            groups.insert(path.clone(), json!({"added": joined, "removed": left}));
        }
    }
    json!({
        "identical": added.is_empty() && removed.is_empty() && changed.is_empty() && groups.is_empty(),
        "added": added,
        "removed": removed,
        "changed": changed,
        "groups": groups,
    })
}

fn changed_properties(
    before: &NodeState,
    after: &NodeState,
    same_properties: bool,
) -> Map<String, Value> {
    let mut changed = Map::new();
    if before.class != after.class {
        changed.insert("type".into(), json!([before.class, after.class]));
    }
    let names = before.properties.keys().chain(after.properties.keys());
    for name in names {
        let (old, new) = (before.properties.get(name), after.properties.get(name));
        let comparable = same_properties || old.is_some() && new.is_some();
        if old != new && comparable {
            changed.insert(name.clone(), json!([old, new]));
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forgets_the_least_recently_used() {
        let snapshot = Snapshot {
            scene: String::new(),
            root: ".".into(),
            properties: None,
            max_depth: -1,
            nodes: Vec::new(),
        };
        let mut snapshots = Snapshots::default();
        for _ in 0..CAPACITY {
            snapshots.add(snapshot.clone());
        }
        snapshots.get("s1").expect("kept");
        snapshots.add(snapshot);
        assert!(snapshots.get("s1").is_some() && snapshots.get("s2").is_none());
    }

    fn state(class: &str, groups: &[&str], properties: Value) -> NodeState {
        let Value::Object(properties) = properties else { panic!("an object") };
        NodeState {
            class: class.into(),
            groups: groups.iter().map(|&it| it.into()).collect(),
            properties: properties.into_iter().collect(),
        }
    }

    fn snapshot(max_depth: i64, nodes: Vec<(&str, NodeState)>) -> Snapshot {
        let nodes = nodes.into_iter().map(|it| (it.0.to_owned(), it.1)).collect();
        Snapshot { scene: String::new(), root: ".".into(), properties: None, max_depth, nodes }
    }

    #[test]
    fn a_diff_tells_what_came_went_and_changed() {
        let before = snapshot(
            -1,
            vec![
                (".", state("Node", &[], json!({}))),
                ("A", state("Node2D", &["x"], json!({"position": 1, "scale": 1}))),
                ("B", state("Node", &[], json!({}))),
            ],
        );
        let after = snapshot(
            -1,
            vec![
                (".", state("Node", &[], json!({}))),
                ("A", state("Node2D", &["y"], json!({"position": 2, "scale": 1}))),
                ("A/C", state("Label", &[], json!({}))),
            ],
        );
        assert_eq!(
            diff(&before, &after, "."),
            json!({
                "identical": false,
                "added": [{"path": "A/C", "type": "Label"}],
                "removed": [{"path": "B", "type": "Node"}],
                "changed": {"A": {"position": [1, 2]}},
                "groups": {"A": {"added": ["y"], "removed": ["x"]}},
            })
        );
        assert_eq!(diff(&before, &after, "B")["added"], json!([]));
        assert_eq!(diff(&before, &before, ".")["identical"], true);
        let shallow =
            snapshot(1, after.nodes[..2].iter().map(|it| (it.0.as_str(), it.1.clone())).collect());
        assert_eq!(diff(&after, &shallow, ".")["identical"], true);
    }

    #[test]
    fn a_branch_is_not_a_name_that_begins_alike() {
        assert!(is_within("A/B", "A") && is_within("A", "A") && is_within("A", "."));
        assert!(!is_within("AB", "A"));
    }
}

use std::collections::BTreeMap;

use godot::classes::{PackedScene, SceneState};
use godot::global::Error;
use godot::obj::{Gd, NewGd};

use crate::editor::scene_files;
use crate::tool_prelude::*;

/// Compares two scenes: nodes added, removed and changed, their properties, groups and connections.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct DiffScenes {
    /// Scene file.
    before: ResourcePath,
    /// Scene file. Default: the edited scene, as it is in memory.
    #[serde(default)]
    after: Option<ResourcePath>,
}

/// Differences that one answer lists.
const MAX_LISTED: usize = 200;

impl Tool for DiffScenes {
    const NAME: &'static str = "diff_scenes";
    const TOOLSET: &'static str = "scene_edit";

    fn adjust(spec: &mut ToolSpec) {
        spec.free_text = true;
    }

    fn examples() -> Vec<Example> {
        let before = r#"
[node name="Main" type="Node2D"]
;- res://old.tscn
[gd_scene format=3]
[node name="Main" type="Node2D"]
[node name="Gone" type="Node2D" parent="."]
;- res://new.tscn
[gd_scene format=3]
[node name="Main" type="Node2D"]
[node name="Here" type="Node2D" parent="."]"#;
        vec![
            Example::answer(
                "Finds a renamed node.",
                before,
                json!({"added": [{"node": "Here", "type": "Node2D"}], "removed": [{"node": "Gone", "type": "Node2D"}]}),
            )
            .args(json!({"before": "res://old.tscn", "after": "res://new.tscn"})),
            Example::refusal("Refuses a missing file.", before, Code::ResourceNotFound)
                .args(json!({"before": "res://odd.tscn"})),
        ]
    }
}

impl ReadTool for DiffScenes {
    const SITE: Site = Site::SafeLane;

    fn run(self, editor: &Editor) -> Result<Outcome, ToolError> {
        let before_path = editor.resource_path(&self.before)?;
        let before = read(&scene_files::load(editor, &before_path, "before")?, editor)?;
        let (after_name, after) = match &self.after {
            Some(path) => {
                let path = editor.resource_path(path)?;
                let after = read(&scene_files::load(editor, &path, "after")?, editor)?;
                (path, after)
            }
            None => {
                let scene = editor.edited_scene()?;
                let mut packed = PackedScene::new_gd();
                if packed.pack(scene.root()) != Error::OK {
                    return Err(ToolError::internal("the engine did not pack the edited scene"));
                }
                ("the edited scene".to_owned(), read(&packed, editor)?)
            }
        };
        Ok(compare(&before_path, &before, &after_name, &after).into())
    }
}

/// What a scene file says of one node.
#[derive(PartialEq)]
struct NodeEntry {
    kind: String,
    groups: Vec<String>,
    properties: BTreeMap<String, Value>,
}

struct SceneEntry {
    nodes: BTreeMap<String, NodeEntry>,
    connections: Vec<String>,
}

fn read(packed: &Gd<PackedScene>, editor: &Editor) -> Result<SceneEntry, ToolError> {
    let Some(state) = packed.get_state() else {
        return Err(ToolError::internal("the engine has no state for a scene"));
    };
    let check = |path: &str| editor.check_read(path);
    let context = editor.values(None, &check);
    let mut nodes = BTreeMap::new();
    for index in 0..state.get_node_count() {
        let properties = (0..state.get_node_property_count(index))
            .map(|it| {
                let name = state.get_node_property_name(index, it).to_string();
                (name, values::encode(&state.get_node_property_value(index, it), None, &context))
            })
            .collect();
        let mut groups: Vec<String> =
            state.get_node_groups(index).as_slice().iter().map(ToString::to_string).collect();
        groups.sort();
        let path = state.get_node_path(index).to_string();
        nodes.insert(tidy(&path), NodeEntry { kind: kind(&state, index), groups, properties });
    }
    let mut connections: Vec<String> = (0..state.get_connection_count())
        .map(|it| {
            let mut text = format!(
                "{}:{} -> {}:{}",
                tidy(&state.get_connection_source(it).to_string()),
                state.get_connection_signal(it),
                tidy(&state.get_connection_target(it).to_string()),
                state.get_connection_method(it),
            );
            let (flags, unbinds) =
                (state.get_connection_flags(it), state.get_connection_unbinds(it));
            let binds = state.get_connection_binds(it);
            if flags != 2 {
                text.push_str(&format!(" flags={flags}"));
            }
            if unbinds != 0 {
                text.push_str(&format!(" unbinds={unbinds}"));
            }
            if !binds.is_empty() {
                text.push_str(&format!(" binds={binds}"));
            }
            text
        })
        .collect();
    connections.sort();
    Ok(SceneEntry { nodes, connections })
}

/// `SceneState` writes `./A/B` where paths of nodes are `A/B`.
fn tidy(path: &str) -> String {
    path.strip_prefix("./").unwrap_or(path).to_owned()
}

fn kind(state: &Gd<SceneState>, index: i32) -> String {
    let class = state.get_node_type(index).to_string();
    match state.get_node_instance(index) {
        Some(instance) => instance.get_path().to_string(),
        None if class.is_empty() => "override".to_owned(),
        None => class,
    }
}

fn compare(before_name: &str, before: &SceneEntry, after_name: &str, after: &SceneEntry) -> Value {
    let listed = |from: &SceneEntry, than: &SceneEntry| {
        let only = from.nodes.iter().filter(|it| !than.nodes.contains_key(it.0));
        only.map(|(path, node)| json!({"node": path, "type": node.kind})).collect::<Vec<_>>()
    };
    let mut changed = Vec::new();
    for (path, old) in &before.nodes {
        if let Some(new) = after.nodes.get(path).filter(|it| *it != old) {
            changed.push(change(path, old, new));
        }
    }
    let lines = |from: &SceneEntry, than: &SceneEntry| {
        let only = from.connections.iter().filter(|it| !than.connections.contains(it));
        only.map(|it| json!(it)).collect::<Vec<_>>()
    };
    let mut answer = json!({"before": before_name, "after": after_name});
    let parts = [
        ("added", listed(after, before)),
        ("removed", listed(before, after)),
        ("changed", changed),
        ("connections_added", lines(after, before)),
        ("connections_removed", lines(before, after)),
    ];
    answer["equal"] = json!(parts.iter().all(|it| it.1.is_empty()));
    for (name, mut list) in parts {
        if list.len() > MAX_LISTED {
            answer[format!("{name}_total")] = json!(list.len());
            list.truncate(MAX_LISTED);
        }
        answer[name] = json!(list);
    }
    answer
}

fn change(path: &str, old: &NodeEntry, new: &NodeEntry) -> Value {
    let mut entry = json!({"node": path});
    if old.kind != new.kind {
        entry["type"] = json!({"old": old.kind, "new": new.kind});
    }
    if old.groups != new.groups {
        entry["groups"] = json!({"old": old.groups, "new": new.groups});
    }
    let mut properties = Map::new();
    let names = old
        .properties
        .keys()
        .chain(new.properties.keys().filter(|it| !old.properties.contains_key(*it)));
    for name in names {
        let (before, after) = (old.properties.get(name), new.properties.get(name));
        if before != after {
            // A property that is left out has its default; `null` would be a value.
            let mut pair = Map::new();
            before.map(|it| pair.insert("old".into(), it.clone()));
            after.map(|it| pair.insert("new".into(), it.clone()));
            properties.insert(name.clone(), Value::Object(pair));
        }
    }
    if !properties.is_empty() {
        entry["properties"] = Value::Object(properties);
    }
    entry
}

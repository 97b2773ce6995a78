use crate::editor::{inspect, snapshots};
use crate::tool_prelude::*;

/// Keeps a snapshot of a branch for `diff_snapshots` and answers it: types, groups, transforms,
/// script variables. The last 32 are kept.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct SnapshotSubtree {
    #[serde(default = "root")]
    node_path: NodeRef,
    /// Further properties to capture.
    #[serde(default)]
    properties: Option<Vec<String>>,
    /// -1 for all.
    #[serde(default = "all_levels")]
    #[schemars(range(min = -1, max = 1000))]
    max_depth: i64,
}

pub(super) fn root() -> NodeRef {
    NodeRef::new(".").unwrap_or_else(|_| unreachable!("a valid path"))
}

fn all_levels() -> i64 {
    -1
}

impl Tool for SnapshotSubtree {
    const NAME: &'static str = "snapshot_subtree";
    const TOOLSET: &'static str = "inspection";

    fn examples() -> Vec<Example> {
        let before = r#"
[node name="Main" type="Node2D"]
[node name="Slime" type="Node2D" parent="." groups=["enemies"]]
position = Vector2(1, 2)"#;
        vec![
            Example::answer(
                "Captures a node.",
                before,
                json!({
                    "snapshot_id": "*",
                    "nodes": {"Slime": {
                        "type": "Node2D",
                        "groups": ["enemies"],
                        "properties": {"position": {"x": 1.0, "y": 2.0}, "z_index": 0},
                    }},
                }),
            )
            .args(json!({"node_path": "Slime", "properties": ["z_index"]})),
            Example::refusal("Refuses an unknown node.", before, Code::ResourceNotFound)
                .args(json!({"node_path": "Slim"})),
        ]
    }
}

impl ReadTool for SnapshotSubtree {
    fn run(self, editor: &Editor) -> Result<Outcome, ToolError> {
        let scene = editor.edited_scene()?;
        let top = scene.node(&self.node_path)?;
        let snapshot = snapshots::take(editor, &scene, &top, self.properties, self.max_depth);
        let nodes: Map<String, Value> = snapshot
            .nodes
            .iter()
            .map(|(path, state)| {
                let mut node = json!({"type": state.class, "properties": state.properties});
                if !state.groups.is_empty() {
                    node["groups"] = json!(state.groups);
                }
                (path.clone(), node)
            })
            .collect();
        let missing: Vec<_> = snapshot
            .properties
            .iter()
            .flatten()
            .filter(|it| !snapshot.nodes.iter().any(|node| node.1.properties.contains_key(*it)))
            .cloned()
            .collect();
        let mut answer = json!({
            "snapshot_id": null,
            "node_path": snapshot.root,
            "node_count": snapshot.nodes.len(),
        });
        if !missing.is_empty() {
            answer["unknown_properties"] = json!(missing);
        }
        answer["nodes"] = Value::Object(nodes);
        let size = answer.to_string().len();
        if size > inspect::MAX_ANSWER {
            let message = format!(
                "the snapshot of {} nodes has {size} bytes, more than {}; it was not kept",
                snapshot.nodes.len(),
                inspect::MAX_ANSWER
            );
            return Err(ToolError::new(Code::ResponseTooLarge, message)
                .required("node_path")
                .hint("take a smaller branch, or give max_depth"));
        }
        let id = editor.app().snapshots.borrow_mut().add(snapshot);
        answer["snapshot_id"] = json!(id);
        Ok(answer.into())
    }
}

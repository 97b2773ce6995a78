use crate::editor::connections;
use crate::tool_prelude::*;

/// The signal connections of a node within the scene: signal, target, method, flags, binds, unbinds.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ListSignalConnections {
    /// Node, as a path from the scene's root.
    node_path: NodeRef,
    /// Also those that call this node.
    #[serde(default)]
    incoming: bool,
}

/// Connections that one answer lists.
const MAX_LISTED: usize = 200;

impl Tool for ListSignalConnections {
    const NAME: &'static str = "list_signal_connections";
    const TOOLSET: &'static str = "scene_edit";

    fn examples() -> Vec<Example> {
        let before = r#"
[node name="Main" type="Node2D"]
[node name="Timer" type="Timer" parent="."]
[connection signal="timeout" from="Timer" to="." method="queue_redraw"]"#;
        vec![
            Example::answer(
                "Lists the connections of a timer.",
                before,
                json!({"outgoing": [{
                    "source_path": "Timer", "signal_name": "timeout", "target_path": ".",
                    "method_name": "queue_redraw", "persistent": true
                }]}),
            )
            .args(json!({"node_path": "Timer"})),
            Example::refusal("Refuses an unknown node.", before, Code::ResourceNotFound)
                .args(json!({"node_path": "Timr"})),
        ]
    }
}

impl ReadTool for ListSignalConnections {
    fn run(self, editor: &Editor) -> Result<Outcome, ToolError> {
        let scene = editor.edited_scene()?;
        let node = scene.node(&self.node_path)?;
        let check = |path: &str| editor.check_read(path);
        let context = editor.values(None, &check);
        // The editor itself listens to many nodes; its connections are no part of the scene.
        let list = |all: Vec<connections::Connection>| {
            let own = all
                .iter()
                .filter(|it| it.source_in(&scene).is_some() && it.target_in(&scene).is_some());
            own.map(|it| it.describe(&scene, &context)).collect::<Vec<_>>()
        };
        let mut answer = json!({"node_path": scene.path_of(&node)});
        let mut add = |name: &str, mut found: Vec<Value>| {
            let total = found.len();
            found.truncate(MAX_LISTED);
            answer[name] = json!(found);
            if total > MAX_LISTED {
                answer[format!("{name}_total")] = json!(total);
            }
        };
        add("outgoing", list(connections::outgoing(&node)));
        if self.incoming {
            add("incoming", list(connections::incoming(&node)));
        }
        Ok(answer.into())
    }
}

use godot::classes::Script;
use godot::obj::Gd;
use godot_mcp_core::untrusted;

use crate::tool_prelude::*;

/// Tells which script a node has; null when it has none.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct GetScriptForNode {
    /// Node; by default the selected one.
    #[serde(default)]
    node_path: String,
}

impl Tool for GetScriptForNode {
    const NAME: &'static str = "get_script_for_node";
    const TOOLSET: &'static str = "scripts";

    fn adjust(spec: &mut ToolSpec) {
        spec.free_text = true;
    }

    fn examples() -> Vec<Example> {
        let before = r#"
[ext_resource type="Script" path="res://main.gd" id="1"]
[node name="Main" type="Node2D"]
script = ExtResource("1")
[node name="Child" type="Node2D" parent="."]
;- res://main.gd
extends Node2D"#;
        vec![
            Example::answer(
                "Names the script of the root.",
                before,
                json!({"node_path": ".", "script_path": "res://main.gd", "base_type": "Node2D"}),
            )
            .args(json!({"node_path": "."})),
            Example::answer(
                "Says when there is none.",
                before,
                json!({"node_path": "Child", "script_path": null}),
            )
            .after("select_nodes", json!({"node_paths": ["Child"]})),
            Example::refusal("Names near nodes.", before, Code::ResourceNotFound)
                .args(json!({"node_path": "Chil"})),
            Example::refusal("Needs a node.", before, Code::PreconditionFailed)
                .after("select_nodes", json!({"node_paths": []})),
        ]
    }
}

impl ReadTool for GetScriptForNode {
    fn run(self, editor: &Editor) -> Result<Outcome, ToolError> {
        let scene = editor.edited_scene()?;
        let node = match self.node_path.is_empty() {
            false => scene.node(
                &NodeRef::new(self.node_path).map_err(|it| ToolError::invalid("node_path", it))?,
            )?,
            true => {
                let selected = editor.interface().get_selection().map(|it| it.get_selected_nodes());
                let first = selected.and_then(|it| it.iter_shared().next());
                let Some(node) = first.filter(|it| scene.contains(it)) else {
                    return Err(ToolError::precondition("node_path", "no node is selected")
                        .hint("give a node_path; \".\" is the root"));
                };
                node
            }
        };
        let mut answer = json!({"node_path": scene.path_of(&node), "script_path": null});
        if let Ok(script) = node.get("script").try_to::<Gd<Script>>() {
            let path = script.get_path().to_string();
            answer["base_type"] = json!(script.get_instance_base_type().to_string());
            let name = script.get_global_name().to_string();
            if !name.is_empty() {
                answer["class_name"] = json!(name);
            }
            // One inside a scene has no file of its own to read.
            if path.is_empty() || path.contains("::") {
                answer["built_in"] = json!(true);
                let source = script.get_source_code().to_string();
                answer["text"] = json!(untrusted::wrap(&path, &source));
            }
            answer["script_path"] = json!(path);
        }
        Ok(answer.into())
    }
}

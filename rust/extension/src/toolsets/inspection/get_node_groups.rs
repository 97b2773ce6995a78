use godot::classes::ProjectSettings;
use godot::obj::Singleton;

use crate::editor::inspect;
use crate::tool_prelude::*;

/// The groups of a node, without the engine's own; `global` names those that the project declares.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct GetNodeGroups {
    node_path: NodeRef,
}

impl Tool for GetNodeGroups {
    const NAME: &'static str = "get_node_groups";
    const TOOLSET: &'static str = "inspection";

    fn examples() -> Vec<Example> {
        let before = r#"
[node name="Main" type="Node2D"]
[node name="Slime" type="Node2D" parent="." groups=["enemies"]]"#;
        vec![
            Example::answer(
                "Lists groups.",
                before,
                json!({"node_path": "Slime", "groups": ["enemies"]}),
            )
            .args(json!({"node_path": "Slime"})),
            Example::refusal("Refuses an unknown node.", before, Code::ResourceNotFound)
                .args(json!({"node_path": "Slim"})),
        ]
    }
}

impl ReadTool for GetNodeGroups {
    fn run(self, editor: &Editor) -> Result<Outcome, ToolError> {
        let scene = editor.edited_scene()?;
        let node = scene.node(&self.node_path)?;
        let groups = inspect::groups(&node);
        let settings = ProjectSettings::singleton();
        let global: Vec<_> = groups
            .iter()
            .filter(|it| settings.has_setting(&format!("global_group/{it}")))
            .collect();
        let mut answer = json!({"node_path": scene.path_of(&node), "groups": groups});
        if !global.is_empty() {
            answer["global"] = json!(global);
        }
        Ok(answer.into())
    }
}

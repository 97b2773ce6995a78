use crate::editor::branch::Names;
use crate::editor::new_nodes::{self, Blueprint};
use crate::editor::node_classes::NodeClass;
use crate::editor::saving;
use crate::tool_prelude::*;

/// Paths that an answer lists; more are counted.
const MAX_LISTED: usize = 1_000;

/// Adds many nodes of one class. Taken names get numbers.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct BatchCreateNodes {
    parent_path: NodeRef,
    node_type: Identifier,
    names: Vec<NodeName>,
    #[serde(default)]
    properties: Option<Map<String, Value>>,
    #[serde(default)]
    save: bool,
}

impl Tool for BatchCreateNodes {
    const NAME: &'static str = "batch_create_nodes";
    const TOOLSET: &'static str = "composite";

    fn adjust(spec: &mut ToolSpec) {
        spec.edits_scene = true;
    }

    fn examples() -> Vec<Example> {
        let before = r#"
[node name="Main" type="Node2D"]
[node name="Spot" type="Node2D" parent="."]"#;
        let after = r#"
[node name="Main" type="Node2D"]
[node name="Spot" type="Node2D" parent="."]
[node name="Spot2" type="Marker2D" parent="."]
position = Vector2(3, 4)
[node name="Spot3" type="Marker2D" parent="."]
position = Vector2(3, 4)"#;
        let args =
            |names: Value| json!({"parent_path": ".", "node_type": "Marker2D", "names": names});
        vec![
            Example::edit("Adds two markers.", before, after).args(json!({
                "parent_path": ".", "node_type": "Marker2D", "names": ["Spot", "Spot"],
                "properties": {"position": [3, 4]}
            })),
            Example::refusal("Refuses a bad name, and adds none.", before, Code::ValidationError)
                .args(args(json!(["A", "B/C"]))),
            Example::refusal("Refuses an empty list.", before, Code::ValidationError)
                .args(args(json!([]))),
        ]
    }
}

impl EditTool for BatchCreateNodes {
    const CLASS: SafetyClass = SafetyClass::Mutating;

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let scene = editor.edited_scene()?;
        let parent = scene.node_at(&self.parent_path, "parent_path")?;
        let class = NodeClass::named(self.node_type.as_str(), "node_type")?;
        if self.names.is_empty() {
            return Err(ToolError::invalid("names", "no name is given").hint("give one a node"));
        }
        let count = self.names.len();
        let mut edit = Edit::in_scene(&scene, format!("Create {count} {}", class.name));
        saving::afterwards(&mut edit, &scene, self.save, "save")?;
        let properties = self.properties.unwrap_or_default();
        let mut names = Names::below(&parent, None);
        let (mut paths, mut renamed) = (Vec::new(), 0);
        for wanted in &self.names {
            let name = names.take(wanted.as_str());
            renamed += usize::from(name != wanted.as_str());
            let blueprint = Blueprint {
                class: &class,
                name,
                script: None,
                properties: &properties,
                children: Vec::new(),
            };
            paths.push(new_nodes::add(&mut edit, editor, &scene, &parent, None, &blueprint)?);
        }
        paths.truncate(MAX_LISTED);
        edit.fact("created", count);
        edit.fact("renamed", renamed);
        edit.fact("node_paths", paths);
        Ok(edit)
    }
}

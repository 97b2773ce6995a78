use crate::editor::new_nodes::{self, Blueprint};
use crate::editor::node_classes::NodeClass;
use crate::tool_prelude::*;

/// Adds a node of an engine class or of a script's `class_name`. A taken name gets a number; the
/// answer tells the name.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct CreateNode {
    /// Parent, as a path from the scene's root; `.` is the root.
    parent_path: NodeRef,
    /// Class, for example `Sprite2D`.
    node_type: Identifier,
    node_name: NodeName,
    /// Property values to start with, as for `set_node_property`.
    #[serde(default)]
    properties: Map<String, Value>,
    /// Place among its siblings; -1 is the end.
    #[serde(default = "last")]
    index: i32,
}

fn last() -> i32 {
    -1
}

impl Tool for CreateNode {
    const NAME: &'static str = "create_node";
    const TOOLSET: &'static str = "scene_edit";

    fn adjust(spec: &mut ToolSpec) {
        spec.edits_scene = true;
    }

    fn examples() -> Vec<Example> {
        let before = r#"
[node name="Main" type="Node2D"]
[node name="Enemy" type="Node2D" parent="."]"#;
        let after = r#"
[node name="Main" type="Node2D"]
[node name="Enemy" type="Node2D" parent="."]
[node name="Enemy2" type="Sprite2D" parent="."]
position = Vector2(8, 0)"#;
        let args =
            |class: &str| json!({"parent_path": ".", "node_type": class, "node_name": "Enemy"});
        vec![
            Example::edit("Adds a sprite; its name is taken, so it gets a number.", before, after)
                .args(json!({
                    "parent_path": ".", "node_type": "Sprite2D", "node_name": "Enemy",
                    "properties": {"position": [8, 0]}
                })),
            Example::refusal("Refuses an unknown class.", before, Code::ValidationError)
                .args(args("Sprite2d")),
            Example::refusal("Refuses an abstract class.", before, Code::ValidationError)
                .args(args("CollisionObject2D")),
            Example::refusal("Refuses what is no node.", before, Code::ValidationError)
                .args(args("Resource")),
        ]
    }
}

impl EditTool for CreateNode {
    const CLASS: SafetyClass = SafetyClass::Mutating;

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let scene = editor.edited_scene()?;
        let parent = scene.node_at(&self.parent_path, "parent_path")?;
        let class = NodeClass::named(self.node_type.as_str(), "node_type")?;
        let index = branch::index_below(&parent, self.index, parent.get_child_count())?;
        let name = branch::free_name(&parent, self.node_name.as_str(), None);

        let mut edit = Edit::in_scene(&scene, format!("Create {name}"));
        let blueprint = Blueprint {
            class: &class,
            name: name.clone(),
            script: None,
            properties: &self.properties,
            children: Vec::new(),
        };
        let path = new_nodes::add(&mut edit, editor, &scene, &parent, index, &blueprint)?;
        edit.fact("node_path", path);
        edit.fact("name", name.as_str());
        if name != self.node_name.as_str() {
            edit.fact("renamed_from", self.node_name.as_str());
        }
        Ok(edit)
    }
}

use godot::classes::Object;
use godot::obj::Gd;

use crate::editor::values::Slot;
use crate::editor::{inspect, properties};
use crate::tool_prelude::*;

/// Names of the properties of a node that can be set; with `details` also types, allowed values and
/// current values.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct GetNodePropertyList {
    node_path: NodeRef,
    #[serde(default)]
    details: bool,
    /// Only names that contain this.
    #[serde(default)]
    filter: Option<String>,
    #[serde(default)]
    offset: usize,
}

impl Tool for GetNodePropertyList {
    const NAME: &'static str = "get_node_property_list";
    const TOOLSET: &'static str = "inspection";

    fn examples() -> Vec<Example> {
        let before = r#"
[node name="Main" type="Node2D"]"#;
        vec![
            Example::answer(
                "Names properties.",
                before,
                json!({"type": "Node2D", "properties": ["position", "global_position"]}),
            )
            .args(json!({"node_path": ".", "filter": "position"})),
            Example::refusal("Refuses an unknown node.", before, Code::ResourceNotFound)
                .args(json!({"node_path": "Player"})),
        ]
    }
}

impl ReadTool for GetNodePropertyList {
    fn run(self, editor: &Editor) -> Result<Outcome, ToolError> {
        let scene = editor.edited_scene()?;
        let node = scene.node(&self.node_path)?;
        let object: Gd<Object> = node.clone().upcast();
        let check = |path: &str| editor.check_read(path);
        let context = editor.values(Some(&object), &check);

        let filter = self.filter.unwrap_or_default().to_lowercase();
        let mut slots: Vec<Slot> = Slot::all(&object)
            .into_iter()
            .filter(|it| {
                it.name.to_lowercase().contains(&filter)
                    && !matches!(it.name.as_str(), "name" | "owner" | "script" | "scene_file_path")
                    && !properties::is_read_only(&object, it)
            })
            .collect();
        slots.sort_by_key(|it| !inspect::is_script_variable(it));
        let total = slots.len();
        let page = inspect::fill(slots.iter().skip(self.offset), total, |slot| {
            if !self.details {
                return json!(slot.name);
            }
            let mut entry = inspect::entry(&object, slot, &context);
            if let Some((key, hint)) = inspect::hint(slot) {
                entry[key] = hint;
            }
            entry
        });
        let taken = page.len();
        let mut answer = json!({
            "node_path": scene.path_of(&node),
            "type": node.get_class().to_string(),
            "properties": page,
        });
        inspect::page_fields(&mut answer, self.offset, taken, total);
        Ok(answer.into())
    }
}

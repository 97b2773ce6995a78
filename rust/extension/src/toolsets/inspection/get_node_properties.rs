use godot::builtin::{StringName, Variant};
use godot::classes::{ClassDb, Object};
use godot::obj::{Gd, Singleton};

use crate::editor::values::Slot;
use crate::editor::{inspect, scene_tree};
use crate::tool_prelude::*;

/// All inspector properties of a node with types and values, variables of its script first; also
/// its script and children.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct GetNodeProperties {
    node_path: NodeRef,
    /// Only names that contain this.
    #[serde(default)]
    filter: Option<String>,
    /// Only values that differ from the default.
    #[serde(default)]
    only_changed: bool,
    #[serde(default)]
    offset: usize,
    #[serde(default = "page_size")]
    #[schemars(range(min = 1, max = 1000))]
    limit: usize,
}

fn page_size() -> usize {
    100
}

/// Names of children that are listed.
const MAX_CHILDREN: usize = 100;

impl Tool for GetNodeProperties {
    const NAME: &'static str = "get_node_properties";
    const TOOLSET: &'static str = "inspection";

    fn examples() -> Vec<Example> {
        let before = r#"
[node name="Main" type="Node2D"]
[node name="Player" type="Node2D" parent="."]
position = Vector2(1, 2)"#;
        vec![
            Example::answer(
                "Lists what was changed.",
                before,
                json!({
                    "type": "Node2D",
                    "properties": [{"name": "position", "type": "Vector2", "value": {"x": 1.0, "y": 2.0}}],
                }),
            )
            .args(json!({"node_path": "Player", "only_changed": true})),
            Example::refusal("Refuses an unknown node.", before, Code::ResourceNotFound)
                .args(json!({"node_path": "Playr"})),
        ]
    }
}

impl ReadTool for GetNodeProperties {
    fn run(self, editor: &Editor) -> Result<Outcome, ToolError> {
        let scene = editor.edited_scene()?;
        let node = scene.node(&self.node_path)?;
        let object: Gd<Object> = node.clone().upcast();
        let check = |path: &str| editor.check_read(path);
        let context = editor.values(Some(&object), &check);

        let mut slots = inspect::shown(&object);
        if let Some(filter) = &self.filter {
            let filter = filter.to_lowercase();
            slots.retain(|it| it.name.to_lowercase().contains(&filter));
        }
        if self.only_changed {
            let class = StringName::from(&object.get_class());
            slots.retain(|it| {
                inspect::read(&object, it)
                    .is_some_and(|value| !values::same(&default_of(&object, &class, it), &value))
            });
        }
        let total = slots.len();
        let page = slots.iter().skip(self.offset);
        let page = inspect::fill(page, self.limit, |it| inspect::entry(&object, it, &context));

        let child_count = node.get_child_count();
        let children: Vec<_> = scene_tree::children(&node)
            .take(MAX_CHILDREN)
            .map(|it| it.get_name().to_string())
            .collect();
        let mut answer = json!({
            "node_path": scene.path_of(&node),
            "type": node.get_class().to_string(),
            "script": inspect::script_of(&node),
            "children": children,
        });
        if usize::try_from(child_count).unwrap_or(0) > MAX_CHILDREN {
            answer["child_count"] = json!(child_count);
        }
        let taken = page.len();
        answer["properties"] = Value::Array(page);
        inspect::page_fields(&mut answer, self.offset, taken, total);
        Ok(answer.into())
    }
}

fn default_of(object: &Gd<Object>, class: &StringName, slot: &Slot) -> Variant {
    if inspect::is_script_variable(slot)
        && let Some(script) = object.get_script()
    {
        return script.clone().get_property_default_value(&slot.name);
    }
    ClassDb::singleton().class_get_property_default_value(class, &slot.name)
}

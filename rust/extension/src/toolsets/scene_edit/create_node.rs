use std::collections::BTreeMap;

use godot::classes::Object;
use godot::meta::ToGodot;
use godot::obj::Gd;

use crate::editor::node_classes::NodeClass;
use crate::editor::{properties, values::Slot};
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
    properties: BTreeMap<String, AnyValue>,
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
        let mut node = class.instantiate()?;
        edit.made(&node);
        node.set_name(&name);
        let values = self.values(editor, &class, &node)?;

        let verdict = persistence::of_addition(&scene, &parent, &name);
        let path = verdict.target.clone();
        edit.verdict(verdict);
        edit.fact("node_path", path.as_str());
        edit.fact("name", name.as_str());
        if name != self.node_name.as_str() {
            edit.fact("renamed_from", self.node_name.as_str());
        }

        let mut step = Step::new(json!({"add": path, "type": self.node_type.as_str()}));
        if let Some(script) = &class.script {
            // Before the node enters the tree, so that a tool script sees its `_ready`.
            step = step.apply(Op::set_apart(&node, "script", &script.to_variant()));
        }
        let owners = [(node.clone(), scene.root().clone())];
        for op in branch::attach(&parent, &node, index, &owners) {
            step = step.apply(op);
        }
        step = step
            .revert(branch::detach(&parent, &node))
            .keeps_done(&node)
            .answers(&node, "get_parent", &[], &parent.to_variant())
            .answers(&node, "get_owner", &[], &scene.root().to_variant())
            .answers(&node, "get_name", &[], &name.to_variant());
        edit.step(step);
        for (property, value) in values {
            edit.set_made(&path, &node, &property, &value);
        }
        Ok(edit)
    }
}

impl CreateNode {
    fn values(
        &self,
        editor: &Editor,
        class: &NodeClass,
        node: &Gd<godot::classes::Node>,
    ) -> Result<Vec<(String, godot::builtin::Variant)>, ToolError> {
        let object: Gd<Object> = node.clone().upcast();
        let check = |path: &str| editor.check_read(path);
        let context = editor.values(Some(&object), &check);
        let mut values = Vec::new();
        for (property, value) in &self.properties {
            if matches!(property.as_str(), "name" | "owner" | "script" | "scene_file_path") {
                let message = format!("\"{property}\" is not set as a property of a new node");
                return Err(ToolError::invalid("properties", message)
                    .hint("use `node_name` and `attach_script`"));
            }
            // The script is not attached yet, so its own properties are asked for.
            let of_script = class.script.as_ref().and_then(|script| {
                let list = script.clone().get_script_property_list();
                list.iter_shared().map(|it| Slot::from_dict(&it)).find(|it| it.name == *property)
            });
            let slot = match of_script {
                Some(slot) => slot,
                None => properties::writable(&object, property)
                    .map_err(|it| it.required("properties"))?,
            };
            let value = values::decode(&value.0, &slot, &object.get(property), &context);
            let value = value.map_err(|it| it.required("properties"))?;
            values.push((property.clone(), value));
        }
        Ok(values)
    }
}

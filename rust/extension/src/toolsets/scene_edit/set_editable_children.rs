use godot::meta::ToGodot;

use crate::tool_prelude::*;

/// Lets the nodes inside an instanced scene be edited here, or forbids it again.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct SetEditableChildren {
    /// Root of the instance.
    node_path: NodeRef,
    /// False drops the changes made inside the instance when the scene is saved.
    #[serde(default = "yes")]
    editable: bool,
}

fn yes() -> bool {
    true
}

impl Tool for SetEditableChildren {
    const NAME: &'static str = "set_editable_children";
    const TOOLSET: &'static str = "scene_edit";

    fn adjust(spec: &mut ToolSpec) {
        spec.edits_scene = true;
    }

    fn examples() -> Vec<Example> {
        let before = r#"
[ext_resource type="PackedScene" path="res://sub.tscn" id="1"]
[node name="Main" type="Node2D"]
[node name="Sub" parent="." instance=ExtResource("1")]
;- res://sub.tscn
[gd_scene format=3]
[node name="Sub" type="Node2D"]
[node name="Inner" type="Node2D" parent="."]"#;
        let after = r#"
[ext_resource type="PackedScene" path="res://sub.tscn" id="1"]
[node name="Main" type="Node2D"]
[node name="Sub" parent="." instance=ExtResource("1")]
[editable path="Sub"]"#;
        vec![
            Example::edit("Makes an instance editable.", before, after)
                .args(json!({"node_path": "Sub"})),
            Example::refusal("Refuses a node that is no instance.", before, Code::ValidationError)
                .args(json!({"node_path": "."})),
        ]
    }
}

impl EditTool for SetEditableChildren {
    const CLASS: SafetyClass = SafetyClass::Mutating;

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let scene = editor.edited_scene()?;
        let node = scene.node(&self.node_path)?;
        let path = scene.path_of(&node);
        if node == *scene.root() || node.get_scene_file_path().is_empty() {
            return Err(ToolError::invalid(
                "node_path",
                format!("\"{path}\" is not the root of an instanced scene"),
            )
            .hint("nodes of this scene itself are always editable"));
        }
        let root = scene.root().clone();
        let was = root.is_editable_instance(&node);
        let what = if self.editable { "Edit" } else { "Lock" };
        let mut edit = Edit::in_scene(&scene, format!("{what} children of {}", node.get_name()));
        edit.fact("node_path", path.as_str());
        edit.fact("editable", self.editable);
        edit.fact("was_editable", was);
        edit.verdict(persistence::of_node(&scene, &node));
        if was == self.editable {
            return Ok(edit);
        }
        if !self.editable {
            let lost = overrides(&scene, &node);
            edit.fact("lost_on_save", lost);
        }
        let args = |on: bool| [node.to_variant(), on.to_variant()];
        edit.step(
            Step::new(json!({"set": format!("{path}:editable_children"), "old": was, "new": self.editable}))
                .apply(Op::call(&root, "set_editable_instance", &args(self.editable)))
                .answers(&root, "is_editable_instance", &[node.to_variant()], &self.editable.to_variant())
                .revert(Op::call(&root, "set_editable_instance", &args(was))),
        );
        Ok(edit)
    }
}

/// What the scene holds about nodes inside the instance and would not save any more.
fn overrides(scene: &Scene, instance: &godot::obj::Gd<godot::classes::Node>) -> Vec<String> {
    let mut packed = <godot::classes::PackedScene as godot::obj::NewGd>::new_gd();
    if packed.pack(scene.root()) != godot::global::Error::OK {
        return Vec::new();
    }
    let Some(state) = packed.get_state() else { return Vec::new() };
    let inside = format!("{}/", scene.path_of(instance));
    let mut lost = Vec::new();
    for index in 0..state.get_node_count() {
        let path = state.get_node_path(index).to_string();
        let path = path.strip_prefix("./").unwrap_or(&path);
        if !path.starts_with(&inside) {
            continue;
        }
        let properties: Vec<String> = (0..state.get_node_property_count(index))
            .map(|it| state.get_node_property_name(index, it).to_string())
            .collect();
        let added =
            !state.get_node_type(index).is_empty() || state.get_node_instance(index).is_some();
        match (added, properties.is_empty()) {
            (true, _) => lost.push(format!("{path} (added node)")),
            (false, false) => lost.push(format!("{path}: {}", properties.join(", "))),
            (false, true) => {}
        }
    }
    lost
}

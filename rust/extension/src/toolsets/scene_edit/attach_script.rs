use godot::classes::Script;
use godot::meta::ToGodot;
use godot::obj::Gd;

use crate::editor::attachable;
use crate::tool_prelude::*;

/// Attaches an existing script to a node. It must compile and fit the node's type.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct AttachScript {
    /// Node, as a path from the scene's root.
    node_path: NodeRef,
    /// Script file.
    script_path: ResourcePath,
}

impl Tool for AttachScript {
    const NAME: &'static str = "attach_script";
    const TOOLSET: &'static str = "scene_edit";

    fn adjust(spec: &mut ToolSpec) {
        spec.edits_scene = true;
        spec.free_text = true;
    }

    fn examples() -> Vec<Example> {
        let before = r#"
[node name="Main" type="Node2D"]
;- res://main.gd
extends Node2D
;- res://clock.gd
extends Timer"#;
        let after = r#"
[ext_resource type="Script" path="res://main.gd" id="1"]
[node name="Main" type="Node2D"]
script = ExtResource("1")"#;
        vec![
            Example::edit("Attaches a script.", before, after)
                .args(json!({"node_path": ".", "script_path": "res://main.gd"})),
            Example::refusal("Refuses a script for another class.", before, Code::ValidationError)
                .args(json!({"node_path": ".", "script_path": "res://clock.gd"})),
        ]
    }
}

impl EditTool for AttachScript {
    const CLASS: SafetyClass = SafetyClass::Mutating;

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let scene = editor.edited_scene()?;
        let node = scene.node(&self.node_path)?;
        let path = editor.resource_path(&self.script_path)?;
        let script = attachable::script(editor, &path, &node.get_class(), "script_path")?;
        let old = node.get("script");
        let old_path = old.try_to::<Gd<Script>>().ok().map(|it| it.get_path().to_string());
        let node_path = scene.path_of(&node);
        let mut edit = Edit::in_scene(&scene, format!("Attach {path} to {}", node.get_name()));
        edit.fact("node_path", node_path.as_str());
        edit.fact("script_path", path.as_str());
        edit.fact("replaced", old_path);
        edit.verdict(persistence::of_node(&scene, &node));
        let new = script.to_variant();
        if !values::same(&new, &old) {
            edit.set_script(&node_path, &node, &new);
        }
        Ok(edit)
    }
}

use godot::classes::packed_scene::GenEditState;

use crate::editor::{branch, scene_files};
use crate::tool_prelude::*;

/// Adds an instance of a scene below a node.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct InstanceScene {
    /// Node that becomes the parent.
    parent_path: NodeRef,
    /// Scene, or an imported model.
    scene_path: ResourcePath,
    /// Name of the new node. Empty: the name of the scene's root.
    #[serde(default)]
    name: String,
}

impl Tool for InstanceScene {
    const NAME: &'static str = "instance_scene";
    const TOOLSET: &'static str = "scene_edit";

    fn adjust(spec: &mut ToolSpec) {
        spec.edits_scene = true;
        spec.free_text = true;
    }

    fn examples() -> Vec<Example> {
        let before = r#"
[node name="Main" type="Node2D"]
;- res://sub.tscn
[gd_scene format=3]
[node name="Sub" type="Node2D"]"#;
        let after = r#"
[ext_resource type="PackedScene" path="res://sub.tscn" id="1"]
[node name="Main" type="Node2D"]
[node name="Sub" parent="." instance=ExtResource("1")]"#;
        vec![
            Example::edit("Instances a scene.", before, after)
                .args(json!({"parent_path": ".", "scene_path": "res://sub.tscn"})),
            Example::refusal("Refuses a missing scene.", before, Code::ResourceNotFound)
                .args(json!({"parent_path": ".", "scene_path": "res://sob.tscn"})),
        ]
    }
}

impl EditTool for InstanceScene {
    const CLASS: SafetyClass = SafetyClass::Mutating;
    const SITE: Site = Site::SafeLane;

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let scene = editor.edited_scene()?;
        let parent = scene.node_at(&self.parent_path, "parent_path")?;
        let wanted = match self.name.as_str() {
            "" => None,
            name => Some(NodeName::new(name).map_err(|it| ToolError::invalid("name", it))?),
        };
        let path = editor.resource_path(&self.scene_path)?;
        let fresh = scene_files::load(editor, &path, "scene_path")?;
        refuse_cycle(&scene, &parent, &fresh, &path)?;
        // The cached one is what other instances share; it was just seen to load.
        let loaded = godot::tools::try_load::<godot::classes::PackedScene>(&path).unwrap_or(fresh);
        let Some(mut node) = loaded.instantiate_ex().edit_state(GenEditState::INSTANCE).done()
        else {
            return Err(ToolError::invalid(
                "scene_path",
                format!("\"{path}\" could not be instanced"),
            ));
        };
        let own_name = node.get_name().to_string();
        let wanted = wanted.map_or(own_name, |it| it.as_str().to_owned());
        let name = branch::free_name(&parent, &wanted, None);
        node.set_name(&name);

        let mut edit = Edit::in_scene(&scene, format!("Instance {name}"));
        edit.made(&node);
        let parent_path = scene.path_of(&parent);
        let node_path =
            if parent_path == "." { name.clone() } else { format!("{parent_path}/{name}") };
        edit.fact("node_path", node_path.as_str());
        edit.fact("name", name.as_str());
        if name != wanted {
            edit.fact("renamed_from", wanted);
        }
        edit.verdict(persistence::of_addition(&scene, &parent, &name));
        let owners = [(node.clone(), scene.root().clone())];
        let mut step = Step::new(json!({"add": node_path, "instance": path}));
        for op in branch::attach(&parent, &node, None, &owners) {
            step = step.apply(op);
        }
        edit.step(step.revert(branch::detach(&parent, &node)).keeps_done(&node));
        Ok(edit)
    }
}

/// A scene inside itself, at any depth, could never be loaded again.
fn refuse_cycle(
    scene: &Scene,
    parent: &godot::obj::Gd<godot::classes::Node>,
    packed: &godot::obj::Gd<godot::classes::PackedScene>,
    path: &str,
) -> Result<(), ToolError> {
    let mut files = vec![scene.file()];
    // An instance with editable children that holds the parent is a scene of its own as well.
    let mut at = Some(parent.clone());
    while let Some(node) = at.filter(|it| it != scene.root()) {
        files.push(node.get_scene_file_path().to_string());
        at = node.get_parent();
    }
    for file in files.iter().filter(|it| !it.is_empty()) {
        let itself = *file == path;
        if itself || scene_files::contains_scene(packed, file) {
            let how = if itself { "itself" } else { "a scene that contains it" };
            return Err(ToolError::invalid(
                "scene_path",
                format!("\"{file}\" cannot hold an instance of {how}"),
            )
            .hint("choose another scene, or another parent"));
        }
    }
    Ok(())
}

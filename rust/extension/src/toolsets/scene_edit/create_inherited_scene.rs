use godot::classes::{Node, PackedScene};
use godot::obj::{Gd, NewAlloc};

use crate::editor::{scene_files, scene_keeper};
use crate::tool_prelude::*;

/// Writes a new scene file that inherits another scene, and opens it. Undo removes the file again.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct CreateInheritedScene {
    /// New file, `.tscn` or `.scn`. Missing folders are made.
    scene_path: ResPath,
    /// Scene, or imported model, to inherit.
    base_scene: ResourcePath,
    /// Default: the name of the base's root.
    #[serde(default)]
    root_name: Option<NodeName>,
}

impl Tool for CreateInheritedScene {
    const NAME: &'static str = "create_inherited_scene";
    const TOOLSET: &'static str = "scene_edit";

    fn adjust(spec: &mut ToolSpec) {
        spec.tab = TabUse::Opens;
        spec.writes_disk = true;
        spec.free_text = true;
    }

    fn examples() -> Vec<Example> {
        let before = r#"
[node name="Main" type="Node2D"]
;- res://enemy.tscn
[gd_scene format=3]
[node name="Enemy" type="Node2D"]"#;
        vec![
            Example::answer("Inherits a scene.", before, json!({"scene_path": "res://slime.tscn", "root_name": "Slime"}))
                .args(json!({"scene_path": "res://slime.tscn", "base_scene": "res://enemy.tscn", "root_name": "Slime"})),
            Example::refusal("Refuses a missing base.", before, Code::ResourceNotFound)
                .args(json!({"scene_path": "res://slime.tscn", "base_scene": "res://enemi.tscn"})),
        ]
    }
}

impl EditTool for CreateInheritedScene {
    const CLASS: SafetyClass = SafetyClass::Mutating;
    const SITE: Site = Site::SafeLane;

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let path = editor.res_path(&self.scene_path)?;
        scene_files::check_new(&path, "scene_path")?;
        let base_path = editor.resource_path(&self.base_scene)?;
        let fresh = scene_files::load(editor, &base_path, "base_scene")?;
        // The shared one has a path, by which the new file names it.
        let base: Gd<PackedScene> = godot::tools::try_load(&base_path).unwrap_or(fresh);
        let name = match self.root_name {
            Some(name) => name.as_str().to_owned(),
            None => scene_files::root_name(&base).to_string(),
        };
        let mut root = Node::new_alloc();
        root.set_name(&name);
        let scene = scene_keeper::root_only(root, None, Some(&base))?;

        let mut edit = Edit::of_project(format!("Create {path}"));
        edit.fact("scene_path", path.as_str());
        edit.fact("base_scene", base_path);
        edit.fact("root_name", name);
        let keeper = scene_keeper::write_steps(&mut edit, &path, &scene);
        scene_keeper::open_steps(&mut edit, &path, &keeper);
        edit.verdict(Verdict::yes(path));
        Ok(edit)
    }
}

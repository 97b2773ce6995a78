use crate::editor::node_classes::NodeClass;
use crate::editor::{scene_files, scene_keeper};
use crate::tool_prelude::*;

/// Writes a new scene file with one root node and opens it. Undo removes the file again.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct CreateScene {
    /// Class of the root: an engine class or a script's `class_name`.
    root_type: Identifier,
    /// New file, `.tscn` or `.scn`. Missing folders are made.
    scene_path: ResPath,
    /// Default: the file's name.
    #[serde(default)]
    root_name: Option<NodeName>,
}

impl Tool for CreateScene {
    const NAME: &'static str = "create_scene";
    const TOOLSET: &'static str = "scene_edit";

    fn adjust(spec: &mut ToolSpec) {
        spec.tab = TabUse::Opens;
        spec.writes_disk = true;
    }

    fn examples() -> Vec<Example> {
        vec![
            Example::answer(
                "Makes a scene.",
                "",
                json!({"scene_path": "res://level.tscn", "root_name": "Level"}),
            )
            .args(json!({"root_type": "Node2D", "scene_path": "res://level.tscn"})),
            Example::refusal("Refuses an unknown class.", "", Code::ValidationError)
                .args(json!({"root_type": "Node2d", "scene_path": "res://level.tscn"})),
        ]
    }
}

impl EditTool for CreateScene {
    const CLASS: SafetyClass = SafetyClass::Mutating;
    const SITE: Site = Site::SafeLane;

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let path = editor.res_path(&self.scene_path)?;
        scene_files::check_new(&path, "scene_path")?;
        let class = NodeClass::named(self.root_type.as_str(), "root_type")?;
        let name = self
            .root_name
            .map_or_else(|| scene_files::default_name(&path), |it| it.as_str().to_owned());
        let mut root = class.instantiate()?;
        root.set_name(&name);
        let scene = scene_keeper::root_only(root, class.script.as_ref(), None)?;

        let mut edit = Edit::of_project(format!("Create {path}"));
        edit.fact("scene_path", path.as_str());
        edit.fact("root_name", name);
        edit.fact("root_type", class.native);
        let keeper = scene_keeper::write_steps(&mut edit, &path, &scene);
        scene_keeper::open_steps(&mut edit, &path, &keeper);
        edit.verdict(Verdict::yes(path));
        Ok(edit)
    }
}

use godot::classes::{InputEvent, InputEventKey, ProjectSettings};
use godot::meta::ToGodot;
use godot::obj::{Gd, NewGd as _, Singleton};

use crate::editor::project_settings::{self, Action};
use crate::editor::scaffold::{AUTOLOAD, Kind};
use crate::editor::{files, scene_files};
use crate::tool_prelude::*;

/// Starts a game that runs as it is: main scene, player or menu script, autoload `GameState`, input
/// actions, folders `scenes`, `scripts` and `assets`. Nothing is overwritten; all or nothing.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ScaffoldProject {
    r#type: Kind,
    /// Default: stays as it is.
    #[serde(default)]
    project_name: String,
    /// Default: `res://scenes/main.tscn`.
    #[serde(default)]
    #[schemars(extend("format" = "res-path"))]
    main_scene: Option<String>,
}

const MAIN_SCENE: &str = "res://scenes/main.tscn";
/// As the Project Settings dialog gives new actions.
const DEADZONE: f64 = 0.2;

impl Tool for ScaffoldProject {
    const NAME: &'static str = "scaffold_project";
    const TOOLSET: &'static str = "project_scaffold";

    fn adjust(spec: &mut ToolSpec) {
        spec.writes_disk = true;
    }

    fn examples() -> Vec<Example> {
        let scene = |args: Value| {
            Example::answer("Starts a game.", "", json!({"main_scene": "*", "applied": true}))
                .args(args)
        };
        vec![
            scene(json!({
                "type": "2d_platformer", "project_name": "Jumper", "main_scene": "res://main.tscn"
            })),
            scene(json!({"type": "2d_topdown", "main_scene": "res://world/main.tscn"})),
            scene(json!({"type": "3d", "main_scene": "res://main.tscn"})),
            scene(json!({"type": "ui", "main_scene": "res://main.tscn"})),
            Example::refusal("Refuses to overwrite.", "", Code::AlreadyExists)
                .args(json!({"type": "ui", "main_scene": "res://scene.tscn"})),
            Example::refusal("Refuses a line break.", "", Code::ValidationError)
                .args(json!({"type": "ui", "project_name": "a\nb"})),
        ]
    }
}

impl EditTool for ScaffoldProject {
    const CLASS: SafetyClass = SafetyClass::Destructive;
    const SITE: Site = Site::SafeLane;

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let kind = self.r#type;
        project_settings::check_text("project_name", &json!(self.project_name))?;
        let main_scene = match self.main_scene.as_deref().filter(|it| !it.is_empty()) {
            Some(path) => {
                let path = ResPath::new(path).map_err(|it| ToolError::invalid("main_scene", it))?;
                editor.res_path(&path)?
            }
            None => MAIN_SCENE.to_owned(),
        };
        if !main_scene.ends_with(".tscn") {
            let message = format!("\"{main_scene}\" does not end in .tscn");
            return Err(ToolError::invalid("main_scene", message)
                .hint("leave main_scene out for the usual place"));
        }
        scene_files::check_new(&main_scene, "main_scene")?;
        let wanted = kind.files(&main_scene);
        check_free(&wanted)?;

        let mut edit = Edit::of_files(format!("Scaffold {}", kind.name()));
        edit.fact("type", kind.name());
        edit.fact("main_scene", main_scene.as_str());
        edit.fact("files", wanted.iter().map(|it| it.0.as_str()).collect::<Vec<_>>());
        for folder in kind.folders() {
            for folder in files::missing_folders(folder) {
                edit.folder(&folder, true);
            }
        }
        for (path, text) in wanted {
            edit.write_file(&path, Some(text.into_bytes()));
        }
        // The editor loads an autoload at once. Scripts that name it are compiled after all steps.
        edit.set_settings(&self.settings(&main_scene))?;
        edit.verdict(Verdict::yes(main_scene));
        Ok(edit)
    }
}

impl ScaffoldProject {
    fn settings(&self, main_scene: &str) -> Vec<(String, godot::builtin::Variant)> {
        let mut settings = vec![("application/run/main_scene".to_owned(), main_scene.to_variant())];
        if !self.project_name.is_empty() {
            let name = self.project_name.to_variant();
            settings.push(("application/config/name".to_owned(), name));
        }
        let autoload = format!("*{}", AUTOLOAD.1).to_variant();
        settings.push((format!("autoload/{}", AUTOLOAD.0), autoload));
        for (name, keys) in self.r#type.actions() {
            // One that the project has already is the project's.
            if Action::of(name).is_some() {
                continue;
            }
            let events: Vec<Gd<InputEvent>> = keys
                .iter()
                .map(|it| {
                    let mut event = InputEventKey::new_gd();
                    event.set_physical_keycode(*it);
                    event.set_device(-1);
                    event.upcast()
                })
                .collect();
            settings.push((format!("input/{name}"), Action::to_variant(DEADZONE, &events)));
        }
        settings
    }
}

fn check_free(wanted: &[(String, String)]) -> Result<(), ToolError> {
    let taken: Vec<&str> =
        wanted.iter().map(|it| it.0.as_str()).filter(|it| files::absolute(it).exists()).collect();
    let autoload = format!("autoload/{}", AUTOLOAD.0);
    let error = |message: String| {
        ToolError::new(Code::AlreadyExists, message)
            .hint("this starts a new game; add to this one with the other tools")
    };
    if !taken.is_empty() {
        return Err(error(format!("these files exist already: {}", taken.join(", "))));
    }
    if ProjectSettings::singleton().has_setting(&autoload) {
        return Err(error(format!("the autoload \"{}\" exists already", AUTOLOAD.0)));
    }
    Ok(())
}

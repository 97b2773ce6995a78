use godot::builtin::{AnyArray, GString, VarDictionary};
use godot::classes::{InputEvent, ProjectSettings};
use godot::obj::{Gd, Singleton};

use super::list_scenes::main_scene;
use crate::tool_prelude::*;

/// The project: name, description, version, main scene, autoloads, its own input actions, renderer,
/// engine version.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct GetProjectInfo {}

impl Tool for GetProjectInfo {
    const NAME: &'static str = "get_project_info";
    const TOOLSET: &'static str = "inspection";

    fn examples() -> Vec<Example> {
        vec![Example::answer(
            "Describes the project.",
            "",
            json!({"name": "*", "godot_version": "*"}),
        )]
    }
}

/// Settings above this order were not registered by the engine.
const FIRST_OWN_ORDER: i32 = 1 << 16;

impl ReadTool for GetProjectInfo {
    fn run(self, editor: &Editor) -> Result<Outcome, ToolError> {
        let settings = ProjectSettings::singleton();
        let text = |name: &str| settings.get_setting(name).to_string();
        let (mut autoloads, mut actions) = (Vec::new(), Map::new());
        for info in settings.get_property_list().iter_shared() {
            let Some(setting) = info.get("name").map(|it| it.to_string()) else { continue };
            if let Some(name) = setting.strip_prefix("autoload/") {
                let value = text(&setting);
                let path = value.trim_start_matches('*');
                autoloads.push(json!({"name": name, "path": path, "singleton": path != value}));
            } else if let Some(name) = setting.strip_prefix("input/")
                && is_own(&settings, &setting)
            {
                actions.insert(name.to_owned(), events(&settings, &setting));
            }
        }
        let features = settings.get_setting("application/config/features");
        let features = features.try_to::<godot::builtin::PackedStringArray>().unwrap_or_default();
        let features: Vec<_> = features.as_slice().iter().map(ToString::to_string).collect();
        let main = main_scene();
        Ok(json!({
            "name": text("application/config/name"),
            "description": text("application/config/description"),
            "version": text("application/config/version"),
            "main_scene": (!main.is_empty()).then_some(main),
            "autoloads": autoloads,
            "input_actions": actions,
            "renderer": text("rendering/renderer/rendering_method"),
            "viewport": [
                settings.get_setting("display/window/size/viewport_width").try_to::<i64>().ok(),
                settings.get_setting("display/window/size/viewport_height").try_to::<i64>().ok(),
            ],
            "features": features,
            "godot_version": editor.shared().godot_version,
        })
        .into())
    }
}

/// Whether the project made an action, or changed one of the engine's.
fn is_own(settings: &Gd<ProjectSettings>, setting: &str) -> bool {
    if settings.get_order(setting) >= FIRST_OWN_ORDER {
        return true;
    }
    let default = settings.clone().property_get_revert(setting);
    !default.is_nil() && !values::same(&default, &settings.get_setting(setting))
}

fn events(settings: &Gd<ProjectSettings>, setting: &str) -> Value {
    let action = settings.get_setting(setting).try_to::<VarDictionary>().unwrap_or_default();
    let events = action.get("events").and_then(|it| it.try_to::<AnyArray>().ok());
    let Some(events) = events else { return json!([]) };
    let name = |it: Gd<InputEvent>| -> GString { it.as_text() };
    let names = events.iter_shared().filter_map(|it| it.try_to::<Gd<InputEvent>>().ok());
    names.map(|it| json!(name(it).to_string())).collect()
}

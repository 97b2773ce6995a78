use godot::builtin::Variant;

use super::autoload_names;
use crate::editor::project_settings;
use crate::tool_prelude::*;

/// Removes an autoload from the project. Its file stays.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct UnregisterAutoload {
    name: Identifier,
}

impl Tool for UnregisterAutoload {
    const NAME: &'static str = "unregister_autoload";
    const TOOLSET: &'static str = "resources_edit";

    fn adjust(spec: &mut ToolSpec) {
        spec.writes_disk = true;
    }

    fn examples() -> Vec<Example> {
        let before = "\n;- res://score.gd\nextends Node\n";
        vec![
            Example::answer("Removes an autoload.", before, json!({"name": "Score"}))
                .after(
                    "register_autoload",
                    json!({"name": "Score", "path": "res://score.gd", "confirm": true}),
                )
                .args(json!({"name": "Score"})),
            Example::refusal("Refuses an unknown one.", "", Code::ResourceNotFound)
                .args(json!({"name": "Scor"})),
        ]
    }
}

impl EditTool for UnregisterAutoload {
    const CLASS: SafetyClass = SafetyClass::Destructive;
    const SITE: Site = Site::SafeLane;

    fn plan(self, _editor: &Editor) -> Result<Edit, ToolError> {
        let name = self.name.as_str();
        let names = autoload_names();
        if !names.iter().any(|it| it == name) {
            let near = suggest::near(name, names.iter().map(String::as_str), 5);
            let error = ToolError::not_found(format!("no autoload \"{name}\"")).required("name");
            return Err(match near.is_empty() {
                true => error.hint("`get_project_info` names the autoloads"),
                false => error.suggest(near),
            });
        }
        let setting = format!("autoload/{name}");
        let mut edit = Edit::of_files(format!("Remove autoload {name}"));
        edit.fact("name", name);
        edit.fact("path", project_settings::text(&setting).trim_start_matches('*'));
        edit.set_settings(&[(setting.clone(), Variant::nil())])?;
        edit.verdict(Verdict::yes(setting));
        Ok(edit)
    }
}

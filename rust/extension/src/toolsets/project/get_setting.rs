use godot::classes::ProjectSettings;
use godot::obj::Singleton;

use crate::editor::project_settings;
use crate::tool_prelude::*;

/// Reads one project setting: value, type, default.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct GetSetting {
    /// Such as `display/window/size/viewport_width`.
    name: SettingName,
}

impl Tool for GetSetting {
    const NAME: &'static str = "get_setting";
    const TOOLSET: &'static str = "project";

    fn examples() -> Vec<Example> {
        vec![
            Example::answer(
                "Reads a setting.",
                "",
                json!({"exists": true, "value": 1152, "type": "int", "changed": false}),
            )
            .args(json!({"name": "display/window/size/viewport_width"})),
            Example::answer(
                "Answers near names for an unknown one.",
                "",
                json!({
                    "exists": false, "value": null,
                    "suggestions": "*"
                }),
            )
            .args(json!({"name": "application/config/nme"})),
            Example::refusal("Refuses a line break.", "", Code::ValidationError)
                .args(json!({"name": "application/config\n/name"})),
        ]
    }
}

impl ReadTool for GetSetting {
    fn run(self, editor: &Editor) -> Result<Outcome, ToolError> {
        let name = self.name.as_str();
        let settings = ProjectSettings::singleton();
        if !settings.has_setting(name) {
            let mut near = project_settings::near(name);
            near.retain(|it| !it.starts_with("input/"));
            return Ok(json!({
                "name": name, "exists": false, "value": null, "suggestions": near
            })
            .into());
        }
        let value = settings.get_setting(name);
        let changed = project_settings::is_changed(name);
        let mut answer = json!({
            "name": name,
            "exists": true,
            "value": super::encoded(editor, name, &value),
            "type": project_settings::slot(name).type_name(),
            "engine_setting": project_settings::is_engines(name),
            "changed": changed,
        });
        if changed && project_settings::is_engines(name) {
            let default = project_settings::default_of(name);
            answer["default"] = super::encoded(editor, name, &default);
        }
        Ok(answer.into())
    }
}

use godot::classes::ProjectSettings;
use godot::obj::Singleton;

use crate::editor::project_settings;
use crate::tool_prelude::*;

/// Names and values of project settings, input actions left out.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ListSettings {
    /// Such as `display/window/`.
    #[serde(default)]
    prefix: String,
    /// Only what project.godot has: set or changed.
    #[serde(default)]
    changed_only: bool,
    #[serde(default)]
    offset: usize,
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 1000))]
    limit: usize,
}

fn default_limit() -> usize {
    100
}

impl Tool for ListSettings {
    const NAME: &'static str = "list_settings";
    const TOOLSET: &'static str = "project";

    fn examples() -> Vec<Example> {
        vec![
            Example::answer(
                "Lists what the project changed.",
                "",
                json!({"settings": {"application/config/name": "Plain"}}),
            )
            .args(json!({"prefix": "application/", "changed_only": true})),
        ]
    }
}

impl ReadTool for ListSettings {
    fn run(self, editor: &Editor) -> Result<Outcome, ToolError> {
        let settings = ProjectSettings::singleton();
        let mut names = project_settings::names();
        names.retain(|it| {
            it.starts_with(&self.prefix)
                && !it.starts_with("input/")
                && (!self.changed_only || project_settings::is_changed(it))
        });
        let total = names.len();
        let mut values = Map::new();
        for name in names.iter().skip(self.offset).take(self.limit) {
            let value = settings.get_setting(name);
            values.insert(name.clone(), super::encoded(editor, name, &value));
        }
        let next = self.offset.min(total) + values.len();
        let mut answer = json!({"settings": values, "total": total});
        if next < total {
            answer["next_offset"] = json!(next);
        }
        if total == 0 {
            answer["suggestions"] = json!(project_settings::near(&self.prefix));
        }
        Ok(answer.into())
    }
}

use godot::builtin::{Variant, VariantType};
use godot::classes::ProjectSettings;
use godot::obj::{EngineBitfield as _, Singleton};
use godot::register::info::PropertyUsageFlags;

use crate::editor::project_settings;
use crate::tool_prelude::*;

/// Writes one project setting and saves project.godot. null brings the default back, or removes a
/// setting of the project's own.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct SetSetting {
    /// Such as `display/window/size/viewport_width`.
    name: SettingName,
    value: AnyValue,
}

impl Tool for SetSetting {
    const NAME: &'static str = "set_setting";
    const TOOLSET: &'static str = "project";

    fn adjust(spec: &mut ToolSpec) {
        spec.writes_disk = true;
    }

    fn examples() -> Vec<Example> {
        let name = "display/window/size/viewport_width";
        let refused = |title, name: &str, value: Value, code| {
            Example::refusal(title, "", code).args(json!({"name": name, "value": value}))
        };
        vec![
            Example::answer("Sets a size.", "", json!({"value": 640, "old_value": 1152}))
                .args(json!({"name": name, "value": 640})),
            Example::answer("Adds a setting of the project's own.", "", json!({"value": [1, 2]}))
                .args(json!({"name": "my_game/levels", "value": [1, 2]})),
            Example::answer("Brings the default back.", "", json!({"value": 1152}))
                .after("set_setting", json!({"name": name, "value": 320, "confirm": true}))
                .args(json!({"name": name, "value": null})),
            Example::answer("Sets a color.", "", json!({"persisted": true})).args(json!({
                "name": "rendering/environment/defaults/default_clear_color", "value": "#102030"
            })),
            refused(
                "Refuses an unknown key.",
                "display/window/size/viewport_widht",
                json!(640),
                Code::ValidationError,
            ),
            refused("Refuses another type.", name, json!("wide"), Code::ValidationError),
            refused(
                "Refuses what has a tool of its own.",
                "autoload/Evil",
                json!("*res://evil.gd"),
                Code::PreconditionFailed,
            ),
            refused(
                "Refuses what starts programs.",
                "editor/run/main_run_args",
                json!("sh -c x %command%"),
                Code::PreconditionFailed,
            ),
            refused(
                "Refuses a line break.",
                "application/config/name",
                json!("a\nb"),
                Code::ValidationError,
            ),
        ]
    }
}

/// Settings that run code, or that other tools keep right: a prefix, and where to go.
const GUARDED: &[(&str, &str)] = &[
    ("autoload/", "use `register_autoload` and `unregister_autoload`"),
    ("input/", "use `add_input_action`, `add_input_event` and the other input tools"),
    ("layer_names/", "use `set_layer_names`"),
    ("editor_plugins/", "plugins are switched on by the human, in Project Settings > Plugins"),
    ("application/run/main_loop_type", "it names code that runs first; only the human sets it"),
    (
        "application/config/project_settings_override",
        "it names a file whose settings go over all others; only the human sets it",
    ),
    ("debug/file_logging/log_path", "it names a file that is written; only the human sets it"),
    ("editor/movie_writer/movie_file", "it names a file that is written; only the human sets it"),
    ("editor/run/main_run_args", "it can start programs; only the human sets it"),
    ("godot_mcp/", "these are this server's own settings; only the human sets them"),
];

impl EditTool for SetSetting {
    const CLASS: SafetyClass = SafetyClass::Destructive;

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let name = self.name.as_str();
        check_name(name)?;
        project_settings::check_text("value", &self.value.0)?;
        let settings = ProjectSettings::singleton();
        let exists = settings.has_setting(name);
        let old = if exists { settings.get_setting(name) } else { Variant::nil() };
        let base = base_name(name);
        let mut slot = project_settings::slot(base);
        "value".clone_into(&mut slot.name);
        let new = match &self.value.0 {
            Value::Null => match project_settings::is_engines(name) {
                true => project_settings::default_of(name),
                false => Variant::nil(),
            },
            value => {
                let check = |path: &str| editor.check_read(path);
                values::decode(value, &slot, &old, &super::values_context(editor, &check))?
            }
        };
        if new.get_type() == VariantType::OBJECT {
            return Err(ToolError::invalid("value", "a setting holds no objects")
                .hint("give the path of the resource as text"));
        }
        let mut edit = Edit::of_files(format!("Set {name}"));
        edit.fact("name", name);
        edit.fact("existed", exists);
        edit.fact("old_value", super::encoded(editor, name, &old));
        edit.fact("value", super::encoded(editor, name, &new));
        if slot.usage.is_set(PropertyUsageFlags::RESTART_IF_CHANGED) {
            edit.fact("takes_effect", "after the editor was restarted");
        }
        if !(exists && values::equal(&old, &new)) {
            edit.set_settings(&[(name.to_owned(), new)])?;
        }
        edit.verdict(Verdict::yes(name));
        Ok(edit)
    }
}

/// The setting that an override such as `name.android` is of.
fn base_name(name: &str) -> &str {
    let last = name.rfind('/').map_or(0, |it| it + 1);
    name[last..].find('.').map_or(name, |it| &name[..last + it])
}

fn check_name(name: &str) -> Result<(), ToolError> {
    let lower = name.to_lowercase();
    if let Some((guarded, hint)) = GUARDED.iter().find(|it| lower.starts_with(it.0)) {
        let what = guarded.trim_end_matches('/');
        return Err(ToolError::new(
            Code::PreconditionFailed,
            format!("\"{name}\" is not set here: \"{what}\" is guarded"),
        )
        .required("name")
        .hint(*hint));
    }
    let Some((section, key)) = name.split_once('/') else {
        return Err(ToolError::invalid("name", format!("\"{name}\" has no section"))
            .hint("names are like \"section/key\""));
    };
    if section.is_empty() || key.is_empty() || name.contains("//") || name.ends_with('/') {
        return Err(ToolError::invalid("name", format!("\"{name}\" has an empty part"))
            .hint("names are like \"section/key\""));
    }
    if ProjectSettings::singleton().has_setting(base_name(name))
        || !project_settings::engine_sections().contains(section)
    {
        return Ok(());
    }
    let mut near = project_settings::near(name);
    near.retain(|it| !it.starts_with("input/"));
    let error = ToolError::invalid("name", format!("the engine has no setting \"{name}\""));
    Err(match near.is_empty() {
        true => error.hint(format!("`list_settings` with prefix \"{section}/\" names them")),
        false => error.suggest(near),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overrides_have_a_base() {
        assert_eq!(base_name("a/b/c.android"), "a/b/c");
        assert_eq!(base_name("a/b.c/d"), "a/b.c/d");
        assert_eq!(base_name("a/b.c.d"), "a/b");
    }
}

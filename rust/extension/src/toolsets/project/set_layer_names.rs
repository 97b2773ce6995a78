use godot::meta::ToGodot;

use super::get_layer_names::LayerKind;
use crate::editor::project_settings;
use crate::tool_prelude::*;

/// Names layers. Layers that are not given keep their names.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct SetLayerNames {
    kind: LayerKind,
    /// By number from 1, such as `{"1": "World"}`; an empty name removes it.
    names: Map<String, Value>,
}

impl Tool for SetLayerNames {
    const NAME: &'static str = "set_layer_names";
    const TOOLSET: &'static str = "project";

    fn adjust(spec: &mut ToolSpec) {
        spec.writes_disk = true;
    }

    fn examples() -> Vec<Example> {
        vec![
            Example::answer(
                "Names two layers.",
                "",
                json!({"names": {"1": "World", "2": "Player"}}),
            )
            .args(json!({"kind": "3d_physics", "names": {"1": "World", "2": "Player"}})),
            Example::refusal("Refuses a layer that is not there.", "", Code::ValidationError)
                .args(json!({"kind": "2d_render", "names": {"21": "x"}})),
            Example::refusal("Refuses a line break.", "", Code::ValidationError)
                .args(json!({"kind": "2d_render", "names": {"1": "a\nb"}})),
        ]
    }
}

impl EditTool for SetLayerNames {
    const CLASS: SafetyClass = SafetyClass::Mutating;

    fn plan(self, _editor: &Editor) -> Result<Edit, ToolError> {
        let kind = self.kind;
        let mut after = kind.names();
        let mut changes = Vec::new();
        for (number, name) in &self.names {
            let valid = number.parse::<u32>().ok().filter(|it| (1..=kind.count()).contains(it));
            let (Some(number), Some(name)) = (valid, name.as_str()) else {
                let message = format!("\"{number}\": {name} is no layer with a name");
                return Err(ToolError::invalid("names", message)
                    .hint(format!("numbers are 1 to {}, names are text", kind.count())));
            };
            project_settings::check_text("names", &json!(name))?;
            match name {
                "" => after.remove(&number.to_string()),
                _ => after.insert(number.to_string(), json!(name)),
            };
            changes.push((kind.setting(number), name.to_variant()));
        }
        let mut edit = Edit::of_files(format!("Name layers of {}", kind.name()));
        edit.fact("kind", kind.name());
        edit.fact("names", Value::Object(after));
        edit.set_settings(&changes)?;
        edit.verdict(Verdict::yes(format!("layer_names/{}", kind.name())));
        Ok(edit)
    }
}

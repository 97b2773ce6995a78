use godot::builtin::{Color, PackedColorArray, PackedFloat32Array};
use godot::classes::Gradient;
use godot::classes::gradient::InterpolationMode;
use godot::obj::NewGd;

use super::color;
use crate::editor::resource_edit::Draft;
use crate::tool_prelude::*;

/// Sets the points of a gradient in a file, or of a gradient texture's; makes a new file.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct EditGradient {
    resource_path: ResPath,
    points: Vec<Point>,
    #[serde(default)]
    interpolation: Option<Interpolation>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Point {
    offset: f32,
    /// `red`, `#rrggbb`.
    color: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Interpolation {
    Linear,
    Constant,
    Cubic,
}

impl Tool for EditGradient {
    const NAME: &'static str = "edit_gradient";
    const TOOLSET: &'static str = "resources_edit";

    fn adjust(spec: &mut ToolSpec) {
        spec.writes_disk = true;
        spec.free_text = true;
    }

    fn examples() -> Vec<Example> {
        let before = ";- res://sky.tres\n[gd_resource type=\"Gradient\" format=3]\n\n[resource]\ncolors = PackedColorArray(0, 0, 0, 1, 1, 1, 1, 1)";
        let after = "\n;- res://sky.tres\n[resource]\noffsets = PackedFloat32Array(0, 0.5, 1)\ncolors = PackedColorArray(1, 0, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1)\ninterpolation_mode = 1";
        let points = |offset: f64| json!([{"offset": offset, "color": "#00ff00"}, {"offset": 0, "color": "red"}, {"offset": 1, "color": "blue"}]);
        vec![
            Example::edit("Sets three points, in any order.", before, after).args(json!({
                "resource_path": "res://sky.tres", "points": points(0.5), "interpolation": "constant"
            })),
            Example::refusal("Refuses an offset beyond the end.", before, Code::ValidationError)
                .args(json!({"resource_path": "res://sky.tres", "points": points(1.5)})),
        ]
    }
}

impl EditTool for EditGradient {
    const CLASS: SafetyClass = SafetyClass::Mutating;
    const SITE: Site = Site::SafeLane;

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let path = editor.res_path(&self.resource_path)?;
        if self.points.is_empty() {
            return Err(ToolError::invalid("points", "a gradient has at least one point")
                .hint("give points with offset and color"));
        }
        let mut points: Vec<(f32, Color)> = Vec::new();
        for (index, point) in self.points.iter().enumerate() {
            let at = |it: ToolError| it.required("points").in_entry("points", index);
            if !(0.0..=1.0).contains(&point.offset) {
                let message = format!("offset {} is not from 0 to 1", point.offset);
                return Err(at(ToolError::invalid("points", message)));
            }
            points.push((
                point.offset,
                color(editor, &Value::from(point.color.as_str()), "points").map_err(at)?,
            ));
        }
        points.sort_by(|one, two| one.0.total_cmp(&two.0));
        let draft = Draft::open_or(editor, &path, "resource_path", || Gradient::new_gd().upcast())?;
        let mut gradient = draft.part::<Gradient>("Gradient", "gradient")?;
        let offsets: PackedFloat32Array = points.iter().map(|it| it.0).collect();
        let colors: PackedColorArray = points.iter().map(|it| it.1).collect();
        gradient.set_offsets(&offsets);
        gradient.set_colors(&colors);
        match self.interpolation {
            Some(Interpolation::Linear) => {
                gradient.set_interpolation_mode(InterpolationMode::LINEAR)
            }
            Some(Interpolation::Constant) => {
                gradient.set_interpolation_mode(InterpolationMode::CONSTANT);
            }
            Some(Interpolation::Cubic) => gradient.set_interpolation_mode(InterpolationMode::CUBIC),
            None => {}
        }
        let mut edit = Edit::of_files(format!(
            "Edit gradient {}",
            path.rsplit('/').next().unwrap_or_default()
        ));
        edit.fact("points", points.len());
        draft.write(&mut edit)?;
        Ok(edit)
    }
}

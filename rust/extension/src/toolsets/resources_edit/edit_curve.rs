use godot::builtin::Vector2;
use godot::classes::Curve;
use godot::obj::NewGd;

use crate::editor::resource_edit::Draft;
use crate::tool_prelude::*;

/// Sets the points of a curve in a file, or of a curve texture's; makes a new file.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct EditCurve {
    resource_path: ResPath,
    points: Vec<Point>,
    #[serde(default)]
    min_value: Option<f32>,
    #[serde(default)]
    max_value: Option<f32>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Point {
    x: f32,
    y: f32,
    #[serde(default)]
    left_tangent: f32,
    #[serde(default)]
    right_tangent: f32,
}

impl Tool for EditCurve {
    const NAME: &'static str = "edit_curve";
    const TOOLSET: &'static str = "resources_edit";

    fn adjust(spec: &mut ToolSpec) {
        spec.writes_disk = true;
        spec.free_text = true;
    }

    fn examples() -> Vec<Example> {
        let before = "[node name=\"Main\" type=\"Node2D\"]";
        let args = |x: f64, y: f64| json!({"resource_path": "res://jump.tres", "points": [{"x": 0, "y": 0}, {"x": x, "y": y}], "max_value": 2});
        vec![
            Example::answer(
                "Makes a curve.",
                before,
                json!({"created": true, "points": 2, "applied": true}),
            )
            .args(args(1.0, 2.0)),
            Example::refusal(
                "Refuses a point above the curve's range.",
                before,
                Code::ValidationError,
            )
            .args(args(1.0, 3.0)),
            Example::refusal(
                "Refuses a point outside of the domain.",
                before,
                Code::ValidationError,
            )
            .args(args(2.0, 1.0)),
        ]
    }
}

impl EditTool for EditCurve {
    const CLASS: SafetyClass = SafetyClass::Mutating;
    const SITE: Site = Site::SafeLane;

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let path = editor.res_path(&self.resource_path)?;
        if self.points.is_empty() {
            return Err(
                ToolError::invalid("points", "no point is given").hint("give points with x and y")
            );
        }
        let draft = Draft::open_or(editor, &path, "resource_path", || Curve::new_gd().upcast())?;
        let mut curve = draft.part::<Curve>("Curve", "curve")?;
        let min = self.min_value.unwrap_or_else(|| curve.get_min_value());
        let max = self.max_value.unwrap_or_else(|| curve.get_max_value());
        if min >= max {
            let message = format!("min_value {min} is not below max_value {max}");
            return Err(ToolError::invalid("min_value", message).hint("give both"));
        }
        let (first, last) = (curve.get_min_domain(), curve.get_max_domain());
        let mut points: Vec<&Point> = Vec::new();
        for (index, point) in self.points.iter().enumerate() {
            let wrong = |axis: &str, value: f32, from: f32, to: f32| {
                let message = format!("{axis} {value} is not from {from} to {to}");
                Err(ToolError::invalid("points", message).in_entry("points", index))
            };
            if !(first..=last).contains(&point.x) {
                return wrong("x", point.x, first, last);
            }
            if !(min..=max).contains(&point.y) {
                return wrong("y", point.y, min, max);
            }
            if points.iter().any(|it| it.x == point.x) {
                let message = format!("two points have x {}", point.x);
                return Err(ToolError::invalid("points", message).in_entry("points", index));
            }
            points.push(point);
        }
        points.sort_by(|one, two| one.x.total_cmp(&two.x));
        curve.clear_points();
        // The upper end first: a range that is empty for a moment would be widened.
        let above = curve.get_min_value() + 1.0;
        curve.set_max_value(max.max(above));
        curve.set_min_value(min);
        curve.set_max_value(max);
        for point in &points {
            curve
                .add_point_ex(Vector2::new(point.x, point.y))
                .left_tangent(point.left_tangent)
                .right_tangent(point.right_tangent)
                .done();
        }
        let mut edit =
            Edit::of_files(format!("Edit curve {}", path.rsplit('/').next().unwrap_or_default()));
        edit.fact("points", points.len());
        draft.write(&mut edit)?;
        Ok(edit)
    }
}

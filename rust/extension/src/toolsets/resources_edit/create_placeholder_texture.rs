use godot::builtin::{Color, Rect2i};
use godot::classes::Image;
use godot::classes::image::Format;

use super::color;
use crate::editor::assets;
use crate::tool_prelude::*;

/// Writes a plain PNG to work with until there is a picture, and imports it.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct CreatePlaceholderTexture {
    resource_path: ResPath,
    #[serde(default = "size")]
    #[schemars(range(min = 1, max = 4096))]
    width: i32,
    #[serde(default = "size")]
    #[schemars(range(min = 1, max = 4096))]
    height: i32,
    #[serde(default)]
    color: Option<String>,
    #[serde(default)]
    pattern: Pattern,
}

#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Pattern {
    #[default]
    Checker,
    Solid,
    Border,
}

/// Edge of a square of the checker pattern, at most.
const SQUARE: i32 = 16;

fn size() -> i32 {
    64
}

impl Tool for CreatePlaceholderTexture {
    const NAME: &'static str = "create_placeholder_texture";
    const TOOLSET: &'static str = "resources_edit";

    fn adjust(spec: &mut ToolSpec) {
        spec.writes_disk = true;
    }

    fn examples() -> Vec<Example> {
        let args = |path: &str, color: &str| json!({"resource_path": path, "width": 8, "height": 4, "color": color});
        vec![
            Example::answer(
                "Writes and imports a picture.",
                "",
                json!({"created": true, "size": [8, 4], "type": "CompressedTexture2D"}),
            )
            .args(args("res://new.png", "orange")),
            Example::refusal("Refuses an unknown color.", "", Code::ValidationError)
                .args(args("res://new.png", "orang")),
            Example::refusal("Refuses another kind of file.", "", Code::ValidationError)
                .args(args("res://new.jpg", "orange")),
        ]
    }
}

impl EditTool for CreatePlaceholderTexture {
    const CLASS: SafetyClass = SafetyClass::Mutating;
    const SITE: Site = Site::SafeLane;

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let path = editor.res_path(&self.resource_path)?;
        assets::check(&path, ".png")?;
        let color = match &self.color {
            Some(it) => color(editor, &Value::from(it.as_str()), "color")?,
            None => Color::from_rgb(1.0, 0.0, 1.0),
        };
        let mut edit =
            Edit::of_files(format!("Create {}", path.rsplit('/').next().unwrap_or_default()));
        edit.fact("size", json!([self.width, self.height]));
        assets::write(&mut edit, &path, self.png(color)?);
        Ok(edit)
    }
}

impl CreatePlaceholderTexture {
    fn png(&self, color: Color) -> Result<Vec<u8>, ToolError> {
        let (width, height) = (self.width, self.height);
        let made = Image::create_empty(width, height, false, Format::RGBA8);
        let mut image = made.ok_or_else(|| ToolError::internal("the engine made no image"))?;
        let dark = Color { r: color.r * 0.6, g: color.g * 0.6, b: color.b * 0.6, a: color.a };
        match self.pattern {
            Pattern::Solid => image.fill(color),
            Pattern::Border => {
                let line = (width.min(height) / 16).max(1);
                image.fill(dark);
                let (inner, tall) = (width - 2 * line, height - 2 * line);
                if inner > 0 && tall > 0 {
                    image.fill_rect(Rect2i::from_components(line, line, inner, tall), color);
                }
            }
            Pattern::Checker => {
                image.fill(color);
                let square = (width.min(height) / 4).clamp(1, SQUARE);
                for y in 0..(height + square - 1) / square {
                    for x in 0..(width + square - 1) / square {
                        if (x + y) % 2 == 1 {
                            let place =
                                Rect2i::from_components(x * square, y * square, square, square);
                            image.fill_rect(place, dark);
                        }
                    }
                }
            }
        }
        let bytes = image.save_png_to_buffer().to_vec();
        match bytes.is_empty() {
            true => Err(ToolError::internal("the engine made no PNG of the image")),
            false => Ok(bytes),
        }
    }
}

use std::collections::HashMap;

use godot::builtin::{Rect2, StringName, Vector2};
use godot::classes::{AtlasTexture, SpriteFrames};
use godot::obj::{Gd, NewGd};

use super::edit_sprite_frames::{animations, check_fps, check_name, texture};
use crate::editor::resource_edit::Draft;
use crate::tool_prelude::*;

/// Cuts a sheet of equal cells, counted row by row, into animations of a SpriteFrames file; without
/// any, one of all cells.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct SpriteFramesFromSheet {
    texture_path: ResourcePath,
    resource_path: ResPath,
    #[schemars(range(min = 1))]
    columns: i32,
    #[schemars(range(min = 1))]
    rows: i32,
    #[serde(default)]
    animations: Vec<Animation>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Animation {
    name: String,
    /// Cell, from 0.
    first: i32,
    count: i32,
    #[serde(default = "speed")]
    fps: f64,
    #[serde(default = "yes", rename = "loop")]
    looped: bool,
}

fn speed() -> f64 {
    5.0
}

fn yes() -> bool {
    true
}

impl Tool for SpriteFramesFromSheet {
    const NAME: &'static str = "sprite_frames_from_sheet";
    const TOOLSET: &'static str = "resources_edit";

    fn adjust(spec: &mut ToolSpec) {
        spec.writes_disk = true;
        spec.free_text = true;
    }

    fn examples() -> Vec<Example> {
        let before = ";- res://sheet.tres\n[gd_resource type=\"PlaceholderTexture2D\" format=3]\n\n[resource]\nsize = Vector2(64, 32)";
        let args = |columns: i32, count: i32| {
            json!({
                "texture_path": "res://sheet.tres", "resource_path": "res://hero.tres",
                "columns": columns, "rows": 2,
                "animations": [{"name": "run", "first": 0, "count": count, "fps": 12}, {"name": "fall", "first": 6, "count": 2}]
            })
        };
        vec![
            Example::answer(
                "Cuts two animations.",
                before,
                json!({"created": true, "animations": {"run": 4, "fall": 2}, "cell_size": [16, 16]}),
            )
            .args(args(4, 4)),
            Example::refusal("Refuses cells that the sheet has not.", before, Code::ValidationError)
                .args(args(4, 9)),
            Example::refusal("Refuses cells of broken pixels.", before, Code::ValidationError)
                .args(args(7, 4)),
        ]
    }
}

impl EditTool for SpriteFramesFromSheet {
    const CLASS: SafetyClass = SafetyClass::Mutating;
    const SITE: Site = Site::SafeLane;

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let path = editor.res_path(&self.resource_path)?;
        let sheet = texture(editor, &self.texture_path, "texture_path")?;
        let (width, height) = (sheet.get_width(), sheet.get_height());
        for (parameter, size, count) in
            [("columns", width, self.columns), ("rows", height, self.rows)]
        {
            if size % count != 0 || size < count {
                let message = format!(
                    "a sheet of {width} x {height} pixels has not {count} whole {parameter}"
                );
                return Err(ToolError::invalid(parameter, message)
                    .hint("count the cells, without a margin between them"));
            }
        }
        let made = || SpriteFrames::new_gd().upcast();
        let draft = Draft::open_or(editor, &path, "resource_path", made)?;
        let mut sprite = draft.part::<SpriteFrames>("SpriteFrames", "sprite_frames")?;
        let all = self.columns * self.rows;
        let mut wanted = self.animations;
        if wanted.is_empty() {
            let name = "default".to_owned();
            wanted.push(Animation { name, first: 0, count: all, fps: speed(), looped: true });
        } else if !draft.replaces() {
            // A new file starts with an empty one.
            sprite.remove_animation("default");
        }
        let cell = Vector2::new((width / self.columns) as f32, (height / self.rows) as f32);
        let mut cells: HashMap<i32, Gd<AtlasTexture>> = HashMap::new();
        for (index, it) in wanted.iter().enumerate() {
            let at = |error: ToolError| error.required("animations").in_entry("animations", index);
            check_name(&it.name, "animations").map_err(at)?;
            check_fps(it.fps).map_err(at)?;
            let end = it.first.checked_add(it.count);
            if it.first < 0 || it.count < 1 || end.is_none_or(|it| it > all) {
                let message =
                    format!("{} cells from {} on are not among {all}", it.count, it.first);
                return Err(at(ToolError::invalid("animations", message)
                    .hint("cells are counted from 0, row by row")));
            }
            let name = StringName::from(it.name.as_str());
            if sprite.has_animation(&name) {
                sprite.clear(&name);
            } else {
                sprite.add_animation(&name);
            }
            sprite.set_animation_speed(&name, it.fps);
            sprite.set_animation_loop(&name, it.looped);
            for number in it.first..it.first + it.count {
                let frame = cells.entry(number).or_insert_with(|| {
                    let (x, y) = (number % self.columns, number / self.columns);
                    let place = Vector2::new(x as f32 * cell.x, y as f32 * cell.y);
                    let mut frame = AtlasTexture::new_gd();
                    frame.set_atlas(&sheet);
                    frame.set_region(Rect2::new(place, cell));
                    frame
                });
                sprite.add_frame(&name, &*frame);
            }
        }
        let mut edit =
            Edit::of_files(format!("Cut {}", path.rsplit('/').next().unwrap_or_default()));
        edit.fact("animations", animations(&sprite));
        edit.fact("cell_size", json!([cell.x as i32, cell.y as i32]));
        draft.write(&mut edit)?;
        Ok(edit)
    }
}

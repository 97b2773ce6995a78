use godot::builtin::StringName;
use godot::classes::{ResourceLoader, SpriteFrames, Texture2D};
use godot::obj::{Gd, NewGd, Singleton};

use crate::editor::resource_edit::Draft;
use crate::tool_prelude::*;

/// Adds, changes or removes one animation of a SpriteFrames file; makes a new file.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct EditSpriteFrames {
    resource_path: ResPath,
    animation: String,
    /// Textures; replace those it has.
    #[serde(default)]
    frames: Option<Vec<ResourcePath>>,
    #[serde(default)]
    fps: Option<f64>,
    #[serde(default, rename = "loop")]
    looped: Option<bool>,
    #[serde(default)]
    new_name: Option<String>,
    #[serde(default)]
    remove: bool,
}

impl Tool for EditSpriteFrames {
    const NAME: &'static str = "edit_sprite_frames";
    const TOOLSET: &'static str = "resources_edit";

    fn adjust(spec: &mut ToolSpec) {
        spec.writes_disk = true;
        spec.free_text = true;
    }

    fn examples() -> Vec<Example> {
        let before = ";- res://icon.tres\n[gd_resource type=\"PlaceholderTexture2D\" format=3]\n\n[resource]\nsize = Vector2(4, 4)\n;- res://hero.tres\n[gd_resource type=\"SpriteFrames\" format=3]\n\n[resource]\nanimations = [{\n\"frames\": [],\n\"loop\": true,\n\"name\": &\"default\",\n\"speed\": 5.0\n}]";
        vec![
            Example::answer(
                "Adds an animation of two frames.",
                before,
                json!({"created": false, "animations": {"default": 0, "run": 2}}),
            )
            .args(json!({
                "resource_path": "res://hero.tres", "animation": "run", "fps": 12, "loop": false,
                "frames": ["res://icon.tres", "res://icon.tres"]
            })),
            Example::refusal("Refuses to remove what is not there.", before, Code::ResourceNotFound)
                .args(json!({"resource_path": "res://hero.tres", "animation": "defalt", "remove": true})),
            Example::refusal("Refuses what is no texture.", before, Code::ValidationError).args(json!({
                "resource_path": "res://hero.tres", "animation": "run", "frames": ["res://hero.tres"]
            })),
        ]
    }
}

impl EditTool for EditSpriteFrames {
    const CLASS: SafetyClass = SafetyClass::Mutating;
    const SITE: Site = Site::SafeLane;

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let path = editor.res_path(&self.resource_path)?;
        check_name(&self.animation, "animation")?;
        let made = || SpriteFrames::new_gd().upcast();
        let draft = Draft::open_or(editor, &path, "resource_path", made)?;
        let mut sprite = draft.part::<SpriteFrames>("SpriteFrames", "sprite_frames")?;
        let name = StringName::from(self.animation.as_str());
        let known = sprite.has_animation(&name);
        if self.remove {
            if !known {
                return Err(unknown(&sprite, &self.animation));
            }
            if self.frames.is_some() || self.fps.is_some() || self.new_name.is_some() {
                return Err(ToolError::invalid("remove", "it is removed and changed at once")
                    .hint("leave the other parameters out"));
            }
            sprite.remove_animation(&name);
        } else {
            if !known {
                sprite.add_animation(&name);
            }
            if let Some(fps) = self.fps {
                check_fps(fps)?;
                sprite.set_animation_speed(&name, fps);
            }
            if let Some(looped) = self.looped {
                sprite.set_animation_loop(&name, looped);
            }
            if let Some(frames) = &self.frames {
                sprite.clear(&name);
                for (index, frame) in frames.iter().enumerate() {
                    let texture = texture(editor, frame, "frames")
                        .map_err(|it| it.in_entry("frames", index))?;
                    sprite.add_frame(&name, &texture);
                }
            }
            if let Some(new) = &self.new_name {
                check_name(new, "new_name")?;
                let new = StringName::from(new.as_str());
                if sprite.has_animation(&new) {
                    return Err(ToolError::new(
                        Code::AlreadyExists,
                        format!("an animation \"{new}\" exists"),
                    )
                    .required("new_name")
                    .hint("choose a free name"));
                }
                sprite.rename_animation(&name, &new);
            }
        }
        let verb = if self.remove { "Remove" } else { "Edit" };
        let mut edit = Edit::of_files(format!("{verb} animation {}", self.animation));
        edit.fact("animations", animations(&sprite));
        draft.write(&mut edit)?;
        Ok(edit)
    }
}

/// Number of frames by animation.
pub(super) fn animations(sprite: &Gd<SpriteFrames>) -> Value {
    let names = sprite.get_animation_names();
    let count = |name: &str| sprite.get_frame_count(name);
    let names = names.as_slice().iter().map(ToString::to_string);
    Value::Object(names.map(|it| (it.clone(), json!(count(&it)))).collect())
}

pub(super) fn check_name(name: &str, parameter: &'static str) -> Result<(), ToolError> {
    let bad =
        name.is_empty() || name.contains(|it: char| it.is_control() || it == '/' || it == ',');
    match bad {
        true => Err(ToolError::invalid(parameter, format!("{name:?} is no name of an animation"))
            .hint("give a name without slashes and commas")),
        false => Ok(()),
    }
}

pub(super) fn check_fps(fps: f64) -> Result<(), ToolError> {
    match (0.0..=1_000.0).contains(&fps) {
        true => Ok(()),
        false => Err(ToolError::invalid("fps", format!("{fps} frames a second are not possible"))
            .hint("give 0 to 1000")),
    }
}

pub(super) fn texture(
    editor: &Editor,
    path: &ResourcePath,
    parameter: &'static str,
) -> Result<Gd<Texture2D>, ToolError> {
    let path = editor.resource_path(path)?;
    crate::editor::scene_files::check_file(&path, parameter)?;
    let loaded = ResourceLoader::singleton().load(&path);
    loaded.and_then(|it| it.try_cast::<Texture2D>().ok()).ok_or_else(|| {
        ToolError::invalid(parameter, format!("\"{path}\" is no texture"))
            .hint("give an image of the project, or a texture resource")
    })
}

fn unknown(sprite: &Gd<SpriteFrames>, name: &str) -> ToolError {
    let names = sprite.get_animation_names();
    let names: Vec<String> = names.as_slice().iter().map(ToString::to_string).collect();
    let near = suggest::near(name, names.iter().map(String::as_str), 3);
    let error = ToolError::not_found(format!("no animation \"{name}\"")).required("animation");
    match near.is_empty() {
        true => error.hint(format!("there are: {}", names.join(", "))),
        false => error.suggest(near),
    }
}

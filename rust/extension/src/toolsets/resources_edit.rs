//! Resource files and autoloads.

mod create_placeholder_sound;
mod create_placeholder_texture;
mod create_resource;
mod edit_curve;
mod edit_gradient;
mod edit_noise;
mod edit_sprite_frames;
mod read_resource_file;
mod register_autoload;
mod set_resource_property;
mod sprite_frames_from_sheet;
mod unregister_autoload;

use godot::builtin::{Color, Variant, VariantType};
use godot_mcp_core::ToolError;
use serde_json::Value;

use crate::editor::values::{self, Slot};
use crate::editor::{Editor, project_settings};
use crate::tool::ToolDef;

pub(super) const TOOLS: &[ToolDef] = &[
    ToolDef::read::<read_resource_file::ReadResourceFile>(),
    ToolDef::edit::<create_resource::CreateResource>(),
    ToolDef::edit::<set_resource_property::SetResourceProperty>(),
    ToolDef::edit::<register_autoload::RegisterAutoload>(),
    ToolDef::edit::<unregister_autoload::UnregisterAutoload>(),
    ToolDef::edit::<edit_sprite_frames::EditSpriteFrames>(),
    ToolDef::edit::<sprite_frames_from_sheet::SpriteFramesFromSheet>(),
    ToolDef::edit::<edit_gradient::EditGradient>(),
    ToolDef::edit::<edit_curve::EditCurve>(),
    ToolDef::edit::<edit_noise::EditNoise>(),
    ToolDef::edit::<create_placeholder_texture::CreatePlaceholderTexture>(),
    ToolDef::edit::<create_placeholder_sound::CreatePlaceholderSound>(),
];

/// A color in any of its written forms.
fn color(editor: &Editor, json: &Value, parameter: &'static str) -> Result<Color, ToolError> {
    let check = |path: &str| editor.check_read(path);
    let context = editor.values(None, &check);
    let slot = Slot::of_kind(parameter, VariantType::COLOR);
    let color = values::decode(json, &slot, &Variant::nil(), &context)?;
    color.try_to().map_err(|_| ToolError::internal("a color that is none"))
}

fn autoload_names() -> Vec<String> {
    let names = project_settings::names();
    names.iter().filter_map(|it| it.strip_prefix("autoload/").map(str::to_owned)).collect()
}

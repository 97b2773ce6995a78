//! Creating, changing, moving and deleting nodes, signals and scenes.

mod close_scene;
mod list_open_scenes;
mod open_scene;
mod save_scene;
mod set_node_property;

use crate::tool::ToolDef;

pub(super) const TOOLS: &[ToolDef] = &[
    ToolDef::edit::<set_node_property::SetNodeProperty>(),
    ToolDef::edit::<save_scene::SaveScene>(),
    ToolDef::edit::<open_scene::OpenScene>(),
    ToolDef::edit::<close_scene::CloseScene>(),
    ToolDef::read::<list_open_scenes::ListOpenScenes>(),
];

//! On by default: reading the project, the edited scene and its nodes.

mod get_active_scene;
mod get_scene_tree;

use crate::tool::ToolDef;

pub(super) const TOOLS: &[ToolDef] = &[
    ToolDef::read::<get_active_scene::GetActiveScene>(),
    ToolDef::read::<get_scene_tree::GetSceneTree>(),
];

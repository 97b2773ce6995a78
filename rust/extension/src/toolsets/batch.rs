mod batch_set_property;
mod cross_scene_set_property;
mod find_nodes_by_type;
mod get_dependencies;

use crate::tool::ToolDef;

pub(super) const TOOLS: &[ToolDef] = &[
    ToolDef::read::<find_nodes_by_type::FindNodesByType>(),
    ToolDef::edit::<batch_set_property::BatchSetProperty>(),
    ToolDef::edit::<cross_scene_set_property::CrossSceneSetProperty>(),
    ToolDef::read::<get_dependencies::GetDependencies>(),
];

//! On by default: reading the project, the edited scene and its nodes.

mod diff_snapshots;
mod find_nodes;
mod get_active_scene;
mod get_node_groups;
mod get_node_properties;
mod get_node_property;
mod get_node_property_list;
mod get_project_info;
mod get_scene_tree;
mod get_selected_node;
mod get_spatial_map;
mod list_scenes;
mod snapshot_subtree;

use crate::tool::ToolDef;

pub(super) const TOOLS: &[ToolDef] = &[
    ToolDef::read::<get_project_info::GetProjectInfo>(),
    ToolDef::read::<get_active_scene::GetActiveScene>(),
    ToolDef::read::<list_scenes::ListScenes>(),
    ToolDef::read::<get_scene_tree::GetSceneTree>(),
    ToolDef::read::<get_selected_node::GetSelectedNode>(),
    ToolDef::read::<get_node_properties::GetNodeProperties>(),
    ToolDef::read::<get_node_property::GetNodeProperty>(),
    ToolDef::read::<get_node_property_list::GetNodePropertyList>(),
    ToolDef::read::<get_node_groups::GetNodeGroups>(),
    ToolDef::read::<snapshot_subtree::SnapshotSubtree>(),
    ToolDef::read::<diff_snapshots::DiffSnapshots>(),
    ToolDef::read::<find_nodes::FindNodes>(),
    ToolDef::read::<get_spatial_map::GetSpatialMap>(),
];

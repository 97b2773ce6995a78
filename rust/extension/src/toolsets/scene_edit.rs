//! Creating, changing, moving and deleting nodes, signals and scenes.

mod add_to_group;
mod attach_script;
mod change_node_type;
mod close_scene;
mod connect_signal;
mod create_inherited_scene;
mod create_node;
mod create_scene;
mod delete_node;
mod diff_scenes;
mod disconnect_signal;
mod duplicate_node;
mod extract_scene;
mod instance_scene;
mod list_open_scenes;
mod list_signal_connections;
mod move_node;
mod open_scene;
mod reload_scene;
mod remove_from_group;
mod rename_node;
mod rescan_filesystem;
mod save_all_scenes;
mod save_scene;
mod select_nodes;
mod set_editable_children;
mod set_node_property;
mod set_unique_name;

use crate::tool::ToolDef;

pub(super) const TOOLS: &[ToolDef] = &[
    ToolDef::edit::<create_node::CreateNode>(),
    ToolDef::edit::<rename_node::RenameNode>(),
    ToolDef::edit::<set_node_property::SetNodeProperty>(),
    ToolDef::edit::<delete_node::DeleteNode>(),
    ToolDef::edit::<attach_script::AttachScript>(),
    ToolDef::edit::<connect_signal::ConnectSignal>(),
    ToolDef::edit::<save_scene::SaveScene>(),
    ToolDef::edit::<create_scene::CreateScene>(),
    ToolDef::edit::<instance_scene::InstanceScene>(),
    ToolDef::edit::<extract_scene::ExtractScene>(),
    ToolDef::edit::<set_editable_children::SetEditableChildren>(),
    ToolDef::edit::<open_scene::OpenScene>(),
    ToolDef::edit::<reload_scene::ReloadScene>(),
    ToolDef::runtime::<rescan_filesystem::RescanFilesystem>(),
    ToolDef::edit::<close_scene::CloseScene>(),
    ToolDef::edit::<save_all_scenes::SaveAllScenes>(),
    ToolDef::read::<list_open_scenes::ListOpenScenes>(),
    ToolDef::edit::<select_nodes::SelectNodes>(),
    ToolDef::edit::<duplicate_node::DuplicateNode>(),
    ToolDef::edit::<move_node::MoveNode>(),
    ToolDef::edit::<add_to_group::AddToGroup>(),
    ToolDef::edit::<remove_from_group::RemoveFromGroup>(),
    ToolDef::read::<list_signal_connections::ListSignalConnections>(),
    ToolDef::edit::<disconnect_signal::DisconnectSignal>(),
    ToolDef::edit::<create_inherited_scene::CreateInheritedScene>(),
    ToolDef::edit::<change_node_type::ChangeNodeType>(),
    ToolDef::edit::<set_unique_name::SetUniqueName>(),
    ToolDef::read::<diff_scenes::DiffScenes>(),
];

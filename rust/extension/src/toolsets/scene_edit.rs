//! Creating, changing, moving and deleting nodes, signals and scenes.

mod add_to_group;
mod attach_script;
mod close_scene;
mod connect_signal;
mod create_inherited_scene;
mod create_scene;
mod disconnect_signal;
mod instance_scene;
mod list_open_scenes;
mod list_signal_connections;
mod open_scene;
mod reload_scene;
mod remove_from_group;
mod rescan_filesystem;
mod save_all_scenes;
mod save_scene;
mod select_nodes;
mod set_editable_children;
mod set_node_property;

use crate::tool::ToolDef;

pub(super) const TOOLS: &[ToolDef] = &[
    ToolDef::edit::<set_node_property::SetNodeProperty>(),
    ToolDef::edit::<attach_script::AttachScript>(),
    ToolDef::edit::<connect_signal::ConnectSignal>(),
    ToolDef::edit::<save_scene::SaveScene>(),
    ToolDef::edit::<create_scene::CreateScene>(),
    ToolDef::edit::<instance_scene::InstanceScene>(),
    ToolDef::edit::<set_editable_children::SetEditableChildren>(),
    ToolDef::edit::<open_scene::OpenScene>(),
    ToolDef::edit::<reload_scene::ReloadScene>(),
    ToolDef::runtime::<rescan_filesystem::RescanFilesystem>(),
    ToolDef::edit::<close_scene::CloseScene>(),
    ToolDef::edit::<save_all_scenes::SaveAllScenes>(),
    ToolDef::read::<list_open_scenes::ListOpenScenes>(),
    ToolDef::edit::<select_nodes::SelectNodes>(),
    ToolDef::edit::<add_to_group::AddToGroup>(),
    ToolDef::edit::<remove_from_group::RemoveFromGroup>(),
    ToolDef::read::<list_signal_connections::ListSignalConnections>(),
    ToolDef::edit::<disconnect_signal::DisconnectSignal>(),
    ToolDef::edit::<create_inherited_scene::CreateInheritedScene>(),
];

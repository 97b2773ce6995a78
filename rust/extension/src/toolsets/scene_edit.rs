//! Creating, changing, moving and deleting nodes, signals and scenes.

mod change_node_type;
mod create_node;
mod delete_node;
mod duplicate_node;
mod move_node;
mod rename_node;
mod set_node_property;
mod set_unique_name;

use crate::tool::ToolDef;

pub(super) const TOOLS: &[ToolDef] = &[
    ToolDef::edit::<create_node::CreateNode>(),
    ToolDef::edit::<rename_node::RenameNode>(),
    ToolDef::edit::<set_node_property::SetNodeProperty>(),
    ToolDef::edit::<delete_node::DeleteNode>(),
    ToolDef::edit::<duplicate_node::DuplicateNode>(),
    ToolDef::edit::<move_node::MoveNode>(),
    ToolDef::edit::<change_node_type::ChangeNodeType>(),
    ToolDef::edit::<set_unique_name::SetUniqueName>(),
];

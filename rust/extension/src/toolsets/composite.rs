mod apply_node_edits;
mod batch_create_nodes;
mod compose_node;
mod run_commands;

use crate::tool::ToolDef;

pub(super) const TOOLS: &[ToolDef] = &[
    ToolDef::edit::<compose_node::ComposeNode>(),
    ToolDef::edit::<batch_create_nodes::BatchCreateNodes>(),
    ToolDef::edit::<apply_node_edits::ApplyNodeEdits>(),
    ToolDef::batch::<run_commands::RunCommands>(),
];

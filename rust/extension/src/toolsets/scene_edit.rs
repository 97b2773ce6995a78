//! Creating, changing, moving and deleting nodes, signals and scenes.

mod set_node_property;

use crate::tool::ToolDef;

pub(super) const TOOLS: &[ToolDef] = &[ToolDef::edit::<set_node_property::SetNodeProperty>()];

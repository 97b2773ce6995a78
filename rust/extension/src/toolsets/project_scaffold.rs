//! Starting a game.

mod scaffold_project;

use crate::tool::ToolDef;

pub(super) const TOOLS: &[ToolDef] = &[ToolDef::edit::<scaffold_project::ScaffoldProject>()];

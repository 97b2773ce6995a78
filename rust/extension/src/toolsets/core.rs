//! Always on: health, history, errors, reference, switching toolsets.

mod godot_redo;
mod godot_undo;
mod health_check;
mod list_history;

use crate::tool::ToolDef;

pub(super) const TOOLS: &[ToolDef] = &[
    ToolDef::offline::<health_check::HealthCheck>(),
    ToolDef::edit::<godot_undo::GodotUndo>(),
    ToolDef::edit::<godot_redo::GodotRedo>(),
    ToolDef::read::<list_history::ListHistory>(),
];

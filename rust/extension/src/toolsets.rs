//! The tables of built-in tools: one folder a toolset, one file a tool.

mod batch;
mod code;
mod commands;
mod composite;
mod core;
mod extensions;
mod input_map;
mod inspection;
mod journal;
mod project;
mod project_scaffold;
mod resources_edit;
mod scene_edit;
mod scripts;
mod user_data;

use std::collections::HashMap;

use godot_mcp_core::ToolSpec;

use crate::app::Shared;
use crate::tool::{Runner, ToolDef};

/// In the order in which clients see them.
const TABLES: &[&[ToolDef]] = &[
    core::TOOLS,
    inspection::TOOLS,
    scene_edit::TOOLS,
    composite::TOOLS,
    batch::TOOLS,
    scripts::TOOLS,
    code::TOOLS,
    extensions::TOOLS,
    resources_edit::TOOLS,
    project::TOOLS,
    project_scaffold::TOOLS,
    input_map::TOOLS,
    user_data::TOOLS,
    journal::TOOLS,
    commands::TOOLS,
];

/// Tools that were renamed or removed, with what to call now. Asking for one answers with it.
pub const REMOVED: &[(&str, &str)] = &[];

fn all() -> impl Iterator<Item = &'static ToolDef> {
    TABLES.iter().copied().flatten()
}

/// Specs of all built-in tools, before the framework adds its parameters.
pub fn builtin_specs() -> Vec<ToolSpec> {
    all().map(|it| (it.spec)()).collect()
}

pub(crate) fn runners() -> HashMap<&'static str, Runner> {
    all().map(|it| (it.name, it.runner)).collect()
}

/// One runner, for the I/O thread, which has no table of its own.
pub(crate) fn runner(name: &str) -> Option<Runner> {
    all().find(|it| it.name == name).map(|it| it.runner)
}

/// What a model reads when it connects.
pub(crate) fn instructions(shared: &Shared) -> String {
    let off: Vec<_> = shared
        .gate
        .registry()
        .toolsets()
        .filter(|it| !shared.gate.is_enabled(it.name))
        .map(|it| it.name)
        .collect();
    let more = match off.is_empty() {
        true => String::new(),
        false => format!(
            " More tools are off: {}. Find them with `discover_tools`, switch them on with `enable_toolset`.",
            off.join(", ")
        ),
    };
    format!(
        "You work inside the Godot editor of the project \"{}\". Edits go to the edited scene, are \
         verified, and are one step in the human's undo history; save with `save_scene`. `dry_run` \
         previews an edit; destructive tools need `confirm`; `expected_scene` refuses when another scene \
         is edited. \
         Every changing call also takes an `idempotency_key` of your own: repeated with it, it \
         answers the recorded result instead of running twice. Node paths are relative to the scene's \
         root, `.` is the root.{more}",
        shared.project_name
    )
}

//! Always on: health, history, errors, reference, switching toolsets.

mod check_for_updates;
mod describe_class;
mod disable_toolset;
mod discover_tools;
mod enable_toolset;
mod get_errors;
mod get_server_info;
mod get_transaction;
mod godot_debug_workflow;
mod godot_redo;
mod godot_undo;
mod health_check;
mod list_history;
mod list_tools_by_safety_class;
mod list_toolsets;
mod read_resource;

use godot_mcp_core::ToolError;
use serde_json::{Value, json};

use crate::app::Shared;
use crate::tool::ToolDef;

pub(super) const TOOLS: &[ToolDef] = &[
    ToolDef::offline::<health_check::HealthCheck>(),
    ToolDef::edit::<godot_undo::GodotUndo>(),
    ToolDef::edit::<godot_redo::GodotRedo>(),
    ToolDef::read::<list_history::ListHistory>(),
    ToolDef::offline::<get_transaction::GetTransaction>(),
    ToolDef::read::<describe_class::DescribeClass>(),
    ToolDef::read::<read_resource::ReadResource>(),
    ToolDef::runtime::<godot_debug_workflow::GodotDebugWorkflow>(),
    ToolDef::offline::<list_tools_by_safety_class::ListToolsBySafetyClass>(),
    ToolDef::offline::<list_toolsets::ListToolsets>(),
    ToolDef::offline::<enable_toolset::EnableToolset>(),
    ToolDef::offline::<disable_toolset::DisableToolset>(),
    ToolDef::read::<check_for_updates::CheckForUpdates>(),
    ToolDef::offline::<get_server_info::GetServerInfo>(),
    ToolDef::offline::<discover_tools::DiscoverTools>(),
    ToolDef::offline::<get_errors::GetErrors>(),
];

/// Toolsets with whether they changed, and the errors of the others.
type Switched = (Vec<(String, bool)>, Vec<Value>);

/// Switches what `category` names. Fails only when no member could be switched (S11.2).
fn switch(shared: &Shared, category: &str, on: bool) -> Result<Switched, ToolError> {
    let members = shared.gate.members(category);
    if members.is_empty() {
        return Err(ToolError::invalid("category", format!("\"{category}\" names no toolset"))
            .hint("`list_toolsets` names them all"));
    }
    let (mut switched, mut failed, mut first) = (Vec::new(), Vec::new(), None);
    for member in shared.gate.switch(&members, on) {
        match member.outcome {
            Ok(changed) => switched.push((member.name, changed)),
            Err(error) => {
                let mut entry = json!({"name": member.name});
                if let (Value::Object(entry), Value::Object(fields)) =
                    (&mut entry, error.to_value())
                {
                    entry.extend(fields);
                }
                failed.push(entry);
                first.get_or_insert(error);
            }
        }
    }
    match first {
        Some(error) if switched.is_empty() => {
            Err(if failed.len() > 1 { error.details(json!({"failed": failed})) } else { error })
        }
        _ => Ok((switched, failed)),
    }
}

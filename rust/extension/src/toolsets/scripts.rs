mod get_parse_errors;
mod get_script_for_node;
mod list_scripts;
mod patch_script;
mod read_script;
mod write_script;

use crate::tool::ToolDef;

pub(super) const TOOLS: &[ToolDef] = &[
    ToolDef::read::<read_script::ReadScript>(),
    ToolDef::offline::<list_scripts::ListScripts>(),
    ToolDef::read::<get_script_for_node::GetScriptForNode>(),
    ToolDef::edit::<write_script::WriteScript>(),
    ToolDef::edit::<patch_script::PatchScript>(),
    ToolDef::prepared_read::<get_parse_errors::GetParseErrors>(),
];

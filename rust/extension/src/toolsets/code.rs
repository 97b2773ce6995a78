mod project_diagnostics;
mod rename_symbol;
mod script_completion;
mod script_definition;
mod script_hover;
mod script_references;
mod script_symbols;

use crate::tool::ToolDef;

pub(super) const TOOLS: &[ToolDef] = &[
    ToolDef::asynchronous::<script_symbols::ScriptSymbols>(),
    ToolDef::asynchronous::<script_hover::ScriptHover>(),
    ToolDef::asynchronous::<script_definition::ScriptDefinition>(),
    ToolDef::asynchronous::<script_references::ScriptReferences>(),
    ToolDef::asynchronous::<script_completion::ScriptCompletion>(),
    ToolDef::asynchronous::<project_diagnostics::ProjectDiagnostics>(),
    ToolDef::prepared_edit::<rename_symbol::RenameSymbol>(),
];

//! Project commands: what a project declares in `godot_mcp_commands.json`, and all that can be said
//! of it without an editor.
//!
//! The contract's numbers (R, A, B) stand beside the rules that they name. Nothing here runs or
//! loads project code, so the command line checks a project with it too.

pub mod arguments;
pub mod declaration;
pub mod json;
pub mod limits;
pub mod listing;
pub mod manifest;
pub mod pattern;
pub mod problem;
pub mod records;
pub mod report;
pub mod script;
pub mod subset;
pub mod switch;
pub mod tool_line;

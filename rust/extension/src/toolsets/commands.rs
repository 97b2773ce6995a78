//! Commands that the project declares; the rules are in `core::commands`, the run in `crate::commands`.

mod editor_commands_call;
mod editor_commands_list;
mod editor_commands_revert;
mod editor_commands_status;

use crate::tool::ToolDef;

/// A project with two commands, for examples.
const EXAMPLE: &str = r#"
[node name="Main" type="Node2D"]
;- res://godot_mcp_commands.json
{"version": 1, "providers": [{"id": "sums", "script": "res://sums.gd", "commands": [{"name": "add", "title": "Add", "description": "Adds two numbers.", "input_schema": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]}, "mutates": false}, {"name": "note", "title": "Note", "description": "Writes a file.", "input_schema": {"type": "object"}, "mutates": true}]}]}
;- res://sums.gd
@tool
extends RefCounted


func mcp_call(command: String, args: Dictionary) -> Dictionary:
	if command == "note":
		var file := FileAccess.open("res://note.txt", FileAccess.WRITE)
		file.store_string("noted")
		return {"ok": true}
	return {"ok": true, "value": args.a + args.b}"#;

pub(super) const TOOLS: &[ToolDef] = &[
    ToolDef::offline::<editor_commands_list::EditorCommandsList>(),
    ToolDef::command::<editor_commands_call::EditorCommandsCall>(),
    ToolDef::offline::<editor_commands_status::EditorCommandsStatus>(),
    ToolDef::edit::<editor_commands_revert::EditorCommandsRevert>(),
];

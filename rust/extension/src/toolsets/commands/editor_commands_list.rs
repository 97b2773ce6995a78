use godot_mcp_core::commands::listing;

use super::EXAMPLE;
use crate::tool_prelude::*;

/// Lists the commands that the project declares in godot_mcp_commands.json, with input schemas, and
/// what is wrong with the file. Runs nothing.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct EditorCommandsList {}

impl Tool for EditorCommandsList {
    const NAME: &'static str = "editor_commands_list";
    const TOOLSET: &'static str = "commands";

    fn examples() -> Vec<Example> {
        vec![Example::answer(
            "Lists two commands.",
            EXAMPLE,
            json!({"status": "valid", "commands": 2, "problems": []}),
        )]
    }
}

impl OfflineTool for EditorCommandsList {
    fn run(self, shared: &Shared) -> Answer {
        let listing = listing::list(&shared.gate.settings().roots, &shared.commands.switch);
        let mut answer = serde_json::to_value(listing)
            .map_err(|it| ToolError::internal(format!("the listing is no JSON: {it}")))?;
        let enabled = answer["enabled"] == true;
        let serves = enabled && !shared.gate.is_paused();
        answer["editor"] = json!({"connected": true, "serves_commands": serves});
        answer["workspace"] =
            json!(shared.journal.newest(1).first().and_then(|it| it.split(' ').next()));
        Ok(answer.into())
    }
}

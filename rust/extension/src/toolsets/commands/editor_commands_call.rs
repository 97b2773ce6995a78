use std::time::Duration;

use godot_mcp_core::commands::limits;

use super::EXAMPLE;
use crate::commands::{Asked, run};
use crate::tool::CommandTool;
use crate::tool_prelude::*;

/// Runs a command of the project, which may change any file. Answers its value, the log and every
/// changed file.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct EditorCommandsCall {
    provider: String,
    command: String,
    #[serde(default)]
    arguments: Option<Map<String, Value>>,
    /// Default 60000.
    #[serde(default)]
    deadline_ms: Option<u64>,
    #[serde(default)]
    expected_file_sha256: Option<String>,
    #[serde(default)]
    expected_script_sha256: Option<String>,
    /// The arguments as they were written, and the journal's id. Set by the server.
    #[serde(default)]
    #[schemars(skip)]
    arguments_text: Option<String>,
    #[serde(default)]
    #[schemars(skip)]
    transaction: String,
}

impl Tool for EditorCommandsCall {
    const NAME: &'static str = "editor_commands_call";
    const TOOLSET: &'static str = "commands";

    fn adjust(spec: &mut ToolSpec) {
        spec.needs_key = true;
        spec.executes_code = true;
        spec.writes_disk = true;
        spec.free_text = true;
        spec.outlives_deadline = true;
        spec.wants_text = true;
        spec.timeout = Duration::from_millis(limits::DEADLINE_MAX_MS);
    }

    fn examples() -> Vec<Example> {
        vec![
            Example::answer(
                "Calls a command that answers a value.",
                EXAMPLE,
                json!({"classification": "passed", "result": 7, "changes": {"total": 0}}),
            )
            .args(json!({"provider": "sums", "command": "add", "arguments": {"a": 3, "b": 4},
                         "idempotency_key": "example of editor_commands_call"})),
            Example::refusal(
                "Refuses arguments that the command's schema does not allow.",
                EXAMPLE,
                Code::ValidationError,
            )
            .args(json!({"provider": "sums", "command": "add", "arguments": {"a": 3},
                         "idempotency_key": "refused example of editor_commands_call"})),
        ]
    }
}

impl CommandTool for EditorCommandsCall {
    fn asked(self) -> Asked {
        Asked {
            transaction: self.transaction,
            provider: self.provider,
            command: self.command,
            arguments: self.arguments,
            text: self.arguments_text,
            deadline_ms: self.deadline_ms,
            expected_file: self.expected_file_sha256,
            expected_script: self.expected_script_sha256,
        }
    }

    fn check(self, editor: &Editor) -> Result<(), ToolError> {
        run::check(editor, &self.transaction)
    }

    fn run(self, editor: &Editor) -> Result<Outcome, ToolError> {
        run::start(editor, &self.transaction)
    }
}

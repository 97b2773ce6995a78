use godot_mcp_core::commands::records::State;

use crate::commands;
use crate::tool_prelude::*;

/// The command that runs now: how long, how far, whether changes are blocked until it returns. Or
/// what a past call changed.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct EditorCommandsStatus {
    #[serde(default)]
    transaction_id: Option<String>,
}

impl Tool for EditorCommandsStatus {
    const NAME: &'static str = "editor_commands_status";
    const TOOLSET: &'static str = "commands";

    fn examples() -> Vec<Example> {
        vec![
            Example::answer("Tells that no command runs.", "", json!({"writes_blocked": false})),
            Example::refusal("Refuses an unknown call.", "", Code::ResourceNotFound)
                .args(json!({"transaction_id": "tx_0"})),
        ]
    }
}

impl OfflineTool for EditorCommandsStatus {
    fn run(self, shared: &Shared) -> Answer {
        let current = shared.commands.current();
        if let Some(id) = &self.transaction_id
            && current.as_ref().is_none_or(|it| it.transaction != *id)
        {
            return past(shared, id);
        }
        let mut answer = json!({
            "running": Value::Null,
            "writes_blocked": current.as_ref().is_some_and(|it| it.uncertain),
            "main_thread_blocked_ms": shared.heartbeat.stalled_ms(),
        });
        if let Some(current) = current {
            answer["running"] = json!({
                "transaction_id": current.transaction,
                "provider": current.provider,
                "command": current.command,
                "phase": current.phase,
                "uncertain": current.uncertain,
                "elapsed_ms": u64::try_from(current.begun.elapsed().as_millis()).unwrap_or(u64::MAX),
            });
            if let Some((done, total, text)) = current.progress {
                answer["running"]["progress"] = json!({"done": done, "total": total, "text": text});
            }
        }
        Ok(answer.into())
    }
}

fn past(shared: &Shared, id: &str) -> Answer {
    let store = shared.commands.store.as_ref();
    let store = store.map_err(|it| ToolError::new(Code::Busy, it.clone()))?;
    let Some(record) = store.records.find(id) else {
        let known: Vec<_> = store.records.ids().into_iter().take(3).collect();
        return Err(
            ToolError::not_found(format!("no command was called as \"{id}\"")).suggest(known)
        );
    };
    let mut answer = json!({
        "transaction_id": record.transaction_id,
        "provider": record.provider,
        "command": record.command,
        "state": record.state,
        "can_be_reverted": record.state != State::Running && !record.changes.is_empty(),
    });
    match record.changes_unavailable {
        Some(why) => answer["changes_unavailable"] = json!(why),
        None => answer["changes"] = commands::tell(&record.changes),
    }
    Ok(answer.into())
}

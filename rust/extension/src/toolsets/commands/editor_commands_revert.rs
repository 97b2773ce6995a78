use godot_mcp_core::commands::limits;
use godot_mcp_core::commands::manifest::Change;
use godot_mcp_core::commands::records::State;
use godot_mcp_core::digest;

use super::EXAMPLE;
use crate::commands;
use crate::editor::files;
use crate::tool_prelude::*;

/// Puts back every file that a call of a command changed, as one undo step. Refuses when one changed
/// since.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct EditorCommandsRevert {
    #[serde(default)]
    transaction_id: Option<String>,
    /// Or the call's idempotency key.
    #[serde(default)]
    call_key: Option<String>,
}

impl Tool for EditorCommandsRevert {
    const NAME: &'static str = "editor_commands_revert";
    const TOOLSET: &'static str = "commands";

    fn adjust(spec: &mut ToolSpec) {
        spec.writes_disk = true;
    }

    fn examples() -> Vec<Example> {
        vec![
            Example::answer("Takes back what a command wrote.", EXAMPLE, json!({"files": 1}))
                .after(
                    "editor_commands_call",
                    json!({"provider": "sums", "command": "note",
                           "idempotency_key": "example of editor_commands_revert"}),
                )
                .args(json!({"call_key": "example of editor_commands_revert"})),
            Example::refusal("Refuses an unknown call.", "", Code::ResourceNotFound)
                .args(json!({"transaction_id": "tx_0"})),
        ]
    }
}

/// Files that a refusal names.
const MAX_NAMED: usize = 10;

impl EditTool for EditorCommandsRevert {
    const CLASS: SafetyClass = SafetyClass::Mutating;
    const SITE: Site = Site::SafeLane;

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let id = &self.id(editor)?;
        let store = editor.shared().commands.store.as_ref();
        let store = store.map_err(|it| ToolError::new(Code::Busy, it.clone()))?;
        let Some(record) = store.records.find(id) else {
            let known: Vec<_> = store.records.ids().into_iter().take(3).collect();
            let error = ToolError::not_found(format!("no command was called as \"{id}\""));
            return Err(error.suggest(known));
        };
        if record.state == State::Running {
            return Err(ToolError::new(Code::Busy, format!("\"{id}\" still runs")));
        }
        if let Some(why) = record.changes_unavailable {
            return Err(ToolError::new(
                Code::Unsupported,
                format!("what it changed is not known: {why}"),
            ));
        }
        let changed: Vec<&Change> = record.changes.iter().filter(|it| !is_after(it)).collect();
        if !changed.is_empty() {
            return Err(refused(
                Code::StateChanged,
                &changed,
                format!("{} of its files changed since", changed.len()),
                "nothing was put back; look at these files, and put back by hand what is still wanted",
            ));
        }
        let image = |it: &Change| match &it.before {
            None => Some(None),
            Some(sha256) => store.tracker.image(sha256).map(Some),
        };
        let lost: Vec<&Change> = record.changes.iter().filter(|it| image(it).is_none()).collect();
        if !lost.is_empty() {
            let most = limits::IMAGE_MAX_BYTES;
            return Err(refused(
                Code::Unsupported,
                &lost,
                format!(
                    "{} of its files were not kept; files above {most} bytes are not",
                    lost.len()
                ),
                "nothing was put back",
            ));
        }
        let title = format!("Revert {} of {}", record.command, record.provider);
        let mut edit = Edit::of_files(title);
        for change in &record.changes {
            editor.check_write(&change.path)?;
            if let Some(bytes) = image(change) {
                edit.write_file(&change.path, bytes);
            }
        }
        edit.fact("reverted_transaction_id", id.clone());
        edit.verdict(Verdict::yes(id.clone()));
        edit.fact("files", record.changes.len());
        Ok(edit)
    }
}

impl EditorCommandsRevert {
    fn id(&self, editor: &Editor) -> Result<String, ToolError> {
        let (id, key) = (&self.transaction_id, &self.call_key);
        match (id, key) {
            (Some(id), None) => Ok(id.clone()),
            (None, Some(key)) => {
                let found = editor.shared().journal.by_key(key);
                let found = found.filter(|it| it.0.tool == commands::CALL);
                found.map(|it| it.0.id_text()).ok_or_else(|| {
                    ToolError::not_found(format!("no command was called with the key \"{key}\""))
                })
            }
            _ => {
                Err(ToolError::invalid("transaction_id", "give either transaction_id or call_key"))
            }
        }
    }
}

/// Whether a file is as the call left it.
fn is_after(change: &Change) -> bool {
    files::bytes(&change.path).map(|it| digest::sha256(&it)) == change.after
}

fn refused(code: Code, files: &[&Change], message: String, hint: &str) -> ToolError {
    let named: Vec<_> = files.iter().take(MAX_NAMED).map(|it| &it.path).collect();
    ToolError::new(code, message).hint(hint).details(json!({"files": named, "total": files.len()}))
}

use crate::calls;
use crate::tool_prelude::*;

/// What became of a changing call, also after a timeout or crash: state (planned, committing, done,
/// failed, interrupted), undo token, answer. Give the id or the key.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct GetTransaction {
    #[serde(default)]
    transaction_id: Option<String>,
    #[serde(default)]
    idempotency_key: Option<String>,
}

impl Tool for GetTransaction {
    const NAME: &'static str = "get_transaction";
    const TOOLSET: &'static str = "journal";

    fn examples() -> Vec<Example> {
        let select = json!({"node_paths": ["."], "idempotency_key": "example of get_transaction"});
        vec![
            Example::answer(
                "Finds a call by its key.",
                "",
                json!({"state": "done", "tool": "select_nodes", "answer": {"undoable": false}}),
            )
            .after("select_nodes", select)
            .args(json!({"idempotency_key": "example of get_transaction"})),
            Example::refusal("Refuses an unknown id.", "", Code::ResourceNotFound)
                .args(json!({"transaction_id": "tx_0"})),
        ]
    }
}

impl OfflineTool for GetTransaction {
    fn run(self, shared: &Shared) -> Answer {
        let found = match (&self.transaction_id, &self.idempotency_key) {
            (Some(id), None) => {
                shared.journal.by_id(id).ok_or_else(|| format!("no transaction \"{id}\""))
            }
            (None, Some(key)) => shared
                .journal
                .by_key(key)
                .ok_or_else(|| format!("no transaction with the idempotency key \"{key}\"")),
            _ => {
                return Err(ToolError::invalid(
                    "transaction_id",
                    "give either transaction_id or idempotency_key",
                ));
            }
        };
        let (transaction, answer) = found.map_err(|message| {
            let newest = shared.journal.newest(3);
            let hint = match newest.is_empty() {
                true => "no call has changed anything yet".to_owned(),
                false => format!("the newest are: {}", newest.join(", ")),
            };
            ToolError::not_found(message).hint(hint)
        })?;
        let mut value = transaction.to_value();
        if let Some((name, answer)) = answer.map(calls::told) {
            value[name] = answer;
        }
        Ok(value.into())
    }
}

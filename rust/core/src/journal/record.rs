//! One transaction, as it is kept and as it is told.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::call::{Answer, Reply};
use crate::clock;
use crate::error::ToolError;

/// How far a call has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Waits, is being planned, or is put to a human. Nothing has changed.
    Planned,
    /// Has begun to change something.
    Committing,
    Done,
    /// Refused, or taken back. `committed` tells whether it had begun to change something.
    Failed,
    /// The editor ended before the call did.
    Interrupted,
}

impl State {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Committing => "committing",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
        }
    }

    pub(super) fn is_open(self) -> bool {
        matches!(self, Self::Planned | Self::Committing)
    }
}

/// One call in the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Transaction {
    pub id: u64,
    pub state: State,
    pub tool: String,
    pub class: String,
    pub client: String,
    /// Hash of the arguments; the arguments themselves are not kept.
    pub arguments: String,
    /// Names the process that ran it.
    pub instance: String,
    pub began_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ended_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub key: Option<String>,
    /// Whether it had begun to change something. From then on its key is used up.
    #[serde(default)]
    pub committed: bool,
    /// Code of a failure.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub undo_token: Option<String>,
    /// Size of the answer as JSON.
    #[serde(default)]
    pub answer_bytes: u64,
    /// Whether the answer itself was kept.
    #[serde(default)]
    pub answer_kept: bool,
}

impl Transaction {
    /// The id as it travels, for example `tx_19ad0c3f1e200`.
    pub fn id_text(&self) -> String {
        id_text(self.id)
    }

    /// Whether a call with its key would not run again.
    pub(super) fn holds_key(&self) -> bool {
        self.state.is_open() || self.committed
    }

    /// What `get_transaction` tells, without the answer.
    pub fn to_value(&self) -> Value {
        let mut map = Map::new();
        map.insert("transaction_id".into(), json!(self.id_text()));
        map.insert("state".into(), json!(self.state.as_str()));
        map.insert("tool".into(), json!(self.tool));
        map.insert("client".into(), json!(self.client));
        map.insert("began".into(), json!(clock::rfc3339(self.began_ms)));
        if let Some(ended) = self.ended_ms {
            map.insert("ended".into(), json!(clock::rfc3339(ended)));
        }
        map.insert("may_have_applied".into(), json!(self.committed));
        let optional = [
            ("idempotency_key", &self.key),
            ("code", &self.code),
            ("undo_token", &self.undo_token),
        ];
        for (name, value) in optional {
            if let Some(value) = value {
                map.insert(name.into(), json!(value));
            }
        }
        Value::Object(map)
    }
}

/// An id as it travels.
pub fn id_text(id: u64) -> String {
    format!("tx_{id:x}")
}

pub(super) fn parse_id(text: &str) -> Option<u64> {
    u64::from_str_radix(text.trim().strip_prefix("tx_")?, 16).ok()
}

/// An answer as JSON, from which `from_json` makes it again.
pub(super) fn to_json(answer: &Answer) -> Value {
    match answer {
        Ok(Reply::Json(value)) => json!({"json": value}),
        Ok(Reply::Text(text)) => json!({"text": text}),
        // Pictures are of the moment, and large.
        Ok(Reply::Image { about, .. }) => json!({"image": about}),
        // Parts of any kind, and questions, are of the moment too.
        Ok(Reply::Content(_) | Reply::Ask(_)) => json!({"json": {}}),
        Err(error) => json!({"error": error.to_value()}),
    }
}

/// The answer of a repeat: what was recorded, marked as such (S2.4).
pub(super) fn from_json(mut kept: Value) -> Option<Answer> {
    let kept = kept.as_object_mut()?;
    if let Some(error) = kept.remove("error") {
        return Some(Err(ToolError::from_value(&error)?));
    }
    if let Some(value) = kept.remove("json") {
        return Some(Ok(Reply::Json(value)));
    }
    if let Some(Value::String(text)) = kept.remove("text") {
        return Some(Ok(Reply::Text(text)));
    }
    let about = kept.remove("image")?;
    Some(Ok(Reply::Json(json!({"about": about, "image_not_kept": true}))))
}

/// Adds `replayed: true` (S2.4).
pub(super) fn replayed(answer: Answer) -> Answer {
    match answer {
        Ok(Reply::Json(Value::Object(mut map))) => {
            map.insert("replayed".into(), json!(true));
            Ok(Reply::Json(Value::Object(map)))
        }
        Ok(Reply::Text(text)) => Ok(Reply::Json(json!({"result": text, "replayed": true}))),
        Ok(other) => Ok(other),
        Err(error) => Err(error.detail("replayed", true)),
    }
}

/// The `undo_token` of an answer.
pub(super) fn undo_token(answer: &Answer) -> Option<String> {
    match answer {
        Ok(Reply::Json(value)) => value["undo_token"].as_str().map(str::to_owned),
        _ => None,
    }
}

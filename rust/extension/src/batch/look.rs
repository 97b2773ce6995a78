//! What the entries of a batch would do in the present state. Changes nothing.

use godot_mcp_core::gate::{Admitted, Decision};
use godot_mcp_core::{Reply, SafetyClass, ToolError};
use serde_json::Value;

use super::{Command, admit};
use crate::editor::Editor;
use crate::entry::Planned;
use crate::tool::{Outcome, Runner};
use crate::toolsets;

/// What can be said of an entry before any of the batch has run.
pub(super) enum Seen {
    Planned(Box<Plan>),
    /// It will be refused, whatever those before it do.
    Refused(ToolError),
    /// It is refused now, and may not be once those before it have run.
    Depends(Admitted, ToolError),
    /// Nothing is planned for such a call.
    Unplanned(Admitted, &'static str),
}

pub(super) struct Plan {
    pub(super) call: Admitted,
    pub(super) title: String,
    pub(super) changes: Value,
    pub(super) digest: String,
    /// Of an edit.
    pub(super) preview: Option<Value>,
}

pub(super) const READ: &str = "a read, which runs at its turn";
pub(super) const SERVICE: &str = "it asks a service first; preview it by itself";
pub(super) const RUNTIME: &str =
    "it drives a game or another process, for which nothing is planned";

pub(super) fn at(editor: &Editor, client: &str, commands: &[Command]) -> Vec<Seen> {
    let mut changed = false;
    commands
        .iter()
        .map(|command| {
            let call = match admit(editor, client, command, false) {
                Ok(call) => call,
                Err(error) => return Seen::Refused(error),
            };
            let before = changed;
            changed |= call.spec().class != SafetyClass::ReadOnly;
            one(editor, call, before)
        })
        .collect()
}

fn one(editor: &Editor, call: Admitted, changed_before: bool) -> Seen {
    if call.spec().class == SafetyClass::ReadOnly {
        return Seen::Unplanned(call, READ);
    }
    if let Some(Runner::Prepared(..) | Runner::Async(_) | Runner::Offline(_)) =
        toolsets::runner(&call.spec().name)
    {
        return Seen::Unplanned(call, SERVICE);
    }
    match plan(editor, &call) {
        Ok((title, changes, digest, preview)) => {
            Seen::Planned(Box::new(Plan { call, title, changes, digest, preview }))
        }
        // A missing confirmation stays missing.
        Err(error) if changed_before && error.required.as_deref() != Some("confirm") => {
            Seen::Depends(call, error)
        }
        Err(error) => Seen::Refused(error),
    }
}

type Told = (String, Value, String, Option<Value>);

fn plan(editor: &Editor, call: &Admitted) -> Result<Told, ToolError> {
    let planned = Planned::new(editor, call)?;
    match planned.decide(editor, call, None)? {
        Decision::Preview | Decision::Ask | Decision::Commit => {}
    }
    let (title, changes) = (planned.title(call), planned.changes(call));
    let digest = planned.digest(call);
    let preview = match planned {
        Planned::Direct(_) | Planned::Script(_) => None,
        edit @ Planned::Edit(_) => match edit.preview(editor, call)? {
            Outcome::Done(Reply::Json(value)) => Some(value),
            _ => None,
        },
    };
    Ok((title, changes, digest, preview))
}

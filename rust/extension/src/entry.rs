//! One call on the main thread, or one entry of a batch: plan, decision, commit (S2 steps 4 to 10).
//!
//! There is one way through, whoever drives it: an [`Admitted`] comes from the gate, [`Planned`]
//! from that, and only [`Planned::decide`] says whether [`Planned::commit`] may follow.

use std::rc::Rc;

use godot_mcp_core::approval::{self, Grant, Proposal};
use godot_mcp_core::gate::{Admitted, Decision, PlanView};
use godot_mcp_core::{Code, SafetyClass, ToolError};
use serde_json::{Map, Value, json};

use crate::commands;
use crate::editor::edit::{self, Applied, Edit};
use crate::editor::{Editor, file_diff};
use crate::extensions::{ScriptTool, run};
use crate::tool::{Outcome, Runner};

/// A call whose preconditions hold. Nothing has changed.
pub(crate) enum Planned {
    /// A read or a runtime call: the function is all there is to plan.
    Direct(fn(&Editor, Map<String, Value>) -> Result<Outcome, ToolError>),
    Edit(Box<Edit>),
    /// A tool of the project.
    Script(Rc<ScriptTool>),
}

/// An entry of a batch that is one step as a whole.
pub(crate) enum Progress {
    Applied(Applied),
    Ran(Outcome),
}

impl Planned {
    /// Step 4: builds the plan. Changes nothing.
    pub(crate) fn new(editor: &Editor, call: &Admitted) -> Result<Self, ToolError> {
        if let Some(expected) = &call.expected_scene {
            editor.expect_scene(expected)?;
        }
        match editor.app().tools.get(call.spec().name.as_str()) {
            Some(Runner::Direct(run) | Runner::PreparedRead(_, run)) => Ok(Self::Direct(*run)),
            Some(Runner::Command(command)) => {
                (command.check)(editor, call.args.clone())?;
                Ok(Self::Direct(command.run))
            }
            Some(Runner::Edit(plan) | Runner::Prepared(_, plan)) => {
                let edit = plan(editor, call.args.clone())?;
                edit.refuse_unsaved()?;
                Ok(Self::Edit(Box::new(edit)))
            }
            None if editor.app().extensions.tool(&call.spec().name).is_some() => {
                let tool = editor.app().extensions.tool(&call.spec().name);
                let tool = tool.ok_or_else(|| ToolError::internal("the tool has gone"))?;
                tool.guard(editor, &call.args)?;
                Ok(Self::Script(tool))
            }
            Some(Runner::Offline(_) | Runner::Async(_) | Runner::Batch(_)) | None => {
                Err(ToolError::internal(format!("\"{}\" has no function", call.spec().name)))
            }
        }
    }

    /// Steps 5 to 7. With a grant, the plan must be the one that it was given for.
    pub(crate) fn decide(
        &self,
        editor: &Editor,
        call: &Admitted,
        grant: Option<Grant>,
    ) -> Result<Decision, ToolError> {
        if call.spec().class == SafetyClass::ReadOnly {
            return Ok(Decision::Commit);
        }
        let plan = PlanView {
            changes: &|| self.changes(call),
            is_empty: matches!(self, Self::Edit(edit) if edit.is_empty()),
            digest: &|| self.digest(call),
        };
        let decided = editor.shared().gate.after_plan(call, &plan, grant);
        decided.map_err(|mut error| {
            if call.spec().free_text {
                let would = error.would.as_mut().and_then(Value::as_array_mut);
                would.into_iter().flatten().for_each(file_diff::mark_untrusted);
            }
            error
        })
    }

    /// Step 5: the answer of a dry run.
    pub(crate) fn preview(self, editor: &Editor, call: &Admitted) -> Result<Outcome, ToolError> {
        match self {
            Self::Edit(edit) => Ok(edit.preview(editor, call.spec()).into()),
            Self::Script(tool) => run::preview(editor, &tool, call),
            Self::Direct(_) => Err(ToolError::internal("a call without a plan has no preview")),
        }
    }

    /// Step 7: what a human is shown.
    pub(crate) fn proposal(&self, call: &Admitted) -> Proposal {
        Proposal {
            tool: call.spec().name.clone(),
            class: call.spec().class.as_str(),
            client: call.client.clone(),
            title: self.title(call),
            args: told(call),
            changes: self.changes(call),
            digest: self.digest(call),
        }
    }

    /// Steps 8 and 9 for an entry of a batch that is one step as a whole. The caller records it, or
    /// drops it, which takes it back. Reads have run then.
    pub(crate) fn apply(self, editor: &Editor, call: &Admitted) -> Result<Progress, ToolError> {
        match self {
            Self::Edit(edit) => Applied::new(*edit, call.spec()).map(Progress::Applied),
            Self::Direct(run) => run(editor, call.args.clone()).map(Progress::Ran),
            Self::Script(tool) if call.spec().class == SafetyClass::ReadOnly => {
                run::start(editor, &tool, &call.args).map(Progress::Ran)
            }
            // What a script does cannot be taken back before it is recorded.
            Self::Script(_) => Err(ToolError::new(
                Code::Unsupported,
                format!("\"{}\" cannot be one step with others", call.spec().name),
            )
            .hint("call it by itself, or in a sequence that is not atomic")),
        }
    }

    /// Steps 8 to 10. The caller has entered the commit into the journal.
    pub(crate) fn commit(self, editor: &Editor, call: &Admitted) -> Result<Outcome, ToolError> {
        match self {
            Self::Direct(run) => run(editor, call.args.clone()),
            Self::Script(tool) => run::start(editor, &tool, &call.args),
            Self::Edit(edit) => edit::commit(*edit, editor, call.spec()),
        }
    }

    /// What it does, in a few words.
    pub(crate) fn title(&self, call: &Admitted) -> String {
        match self {
            Self::Edit(edit) => edit.title().to_owned(),
            Self::Direct(_) | Self::Script(_) => call.spec().name.replace('_', " "),
        }
    }

    pub(crate) fn changes(&self, call: &Admitted) -> Value {
        match self {
            Self::Edit(edit) => edit.changes(),
            Self::Direct(_) | Self::Script(_) => {
                json!([{"run": call.spec().name, "arguments": told(call)}])
            }
        }
    }

    /// Of tool, arguments and whole plan.
    pub(crate) fn digest(&self, call: &Admitted) -> String {
        let plan = match self {
            Self::Edit(edit) => edit.fingerprint(),
            Self::Direct(_) | Self::Script(_) => String::new(),
        };
        approval::digest(&call.spec().name, &told(call), &plan)
    }
}

/// The arguments as the caller gave them: an approval is for the call, not for its number.
fn told(call: &Admitted) -> Map<String, Value> {
    let mut args = call.args.clone();
    args.remove(commands::TRANSACTION);
    args
}

//! One call on the main thread, or one entry of a batch: plan, decision, commit (S2 steps 4 to 10).
//!
//! There is one way through, whoever drives it: an [`Admitted`] comes from the gate, [`Planned`]
//! from that, and only [`Planned::decide`] says whether [`Planned::commit`] may follow.

use std::rc::Rc;

use godot_mcp_core::approval::{self, Grant, Proposal};
use godot_mcp_core::gate::{Admitted, Decision, PlanView};
use godot_mcp_core::{SafetyClass, ToolError};
use serde_json::{Map, Value, json};

use crate::editor::Editor;
use crate::editor::edit::{self, Edit};
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

impl Planned {
    /// Step 4: builds the plan. Changes nothing.
    pub(crate) fn new(editor: &Editor, call: &Admitted) -> Result<Self, ToolError> {
        if let Some(expected) = &call.expected_scene {
            editor.expect_scene(expected)?;
        }
        match editor.app().tools.get(call.spec().name.as_str()) {
            Some(Runner::Direct(run) | Runner::PreparedRead(_, run)) => Ok(Self::Direct(*run)),
            Some(Runner::Edit(plan) | Runner::Prepared(_, plan)) => {
                plan(editor, call.args.clone()).map(|it| Self::Edit(Box::new(it)))
            }
            None if editor.app().extensions.tool(&call.spec().name).is_some() => {
                let tool = editor.app().extensions.tool(&call.spec().name);
                let tool = tool.ok_or_else(|| ToolError::internal("the tool has gone"))?;
                tool.guard(editor, &call.args)?;
                Ok(Self::Script(tool))
            }
            Some(Runner::Offline(_) | Runner::Async(_)) | None => {
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
            changes: &self.changes(call),
            is_empty: matches!(self, Self::Edit(edit) if edit.is_empty()),
            digest: &|| self.digest(call),
        };
        editor.shared().gate.after_plan(call, &plan, grant)
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
            title: match self {
                Self::Edit(edit) => edit.title().to_owned(),
                Self::Direct(_) | Self::Script(_) => call.spec().name.replace('_', " "),
            },
            args: call.args.clone(),
            changes: self.changes(call),
            digest: self.digest(call),
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

    fn changes(&self, call: &Admitted) -> Value {
        match self {
            Self::Edit(edit) => edit.changes(),
            Self::Direct(_) | Self::Script(_) => {
                json!([{"run": call.spec().name, "arguments": call.args}])
            }
        }
    }

    fn digest(&self, call: &Admitted) -> String {
        let plan = match self {
            Self::Edit(edit) => edit.fingerprint(),
            Self::Direct(_) | Self::Script(_) => String::new(),
        };
        approval::digest(&call.spec().name, &call.args, &plan)
    }
}

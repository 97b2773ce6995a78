//! One question to a human about all entries of a batch, and what their word is worth (S7).

use godot_mcp_core::approval::{Ask, Grant, MAX_LINES, Proposal};
use godot_mcp_core::{Code, SafetyClass, ToolError, digest};
use serde_json::{Value, json};

use super::look::{self, Plan, SERVICE, Seen};
use super::{COMMANDS, Wanted, refuse_first};
use crate::editor::Editor;
use crate::main_thread::Job;

pub(super) enum Approval {
    Ask(Box<Proposal>),
    /// One for each entry that needs one; those of others are none.
    Grants(Vec<Option<Grant>>),
}

/// What a grant of an entry is bound to.
enum Bound {
    Nothing,
    Plan(String),
    /// Its arguments alone, since nothing more could be shown.
    Arguments,
}

/// Whether a human has to be asked, or what they have said.
pub(super) fn of(editor: &Editor, wanted: &Wanted, job: &mut Job) -> Result<Approval, ToolError> {
    let gate = &editor.shared().gate;
    let none = || wanted.commands.iter().map(|_| None).collect();
    // Planning all entries takes time, and without a policy nobody is asked.
    if gate.approvals().mode() == "off" {
        return Ok(Approval::Grants(none()));
    }
    let seen = look::at(editor, &job.call.client, &wanted.commands);
    if wanted.atomic {
        refuse_first(&seen)?;
    }
    let mut bounds = Vec::new();
    for (index, it) in seen.iter().enumerate() {
        bounds.push(match it {
            Seen::Planned(plan) if gate.must_ask(&plan.call) && !is_empty(plan) => {
                Bound::Plan(plan.digest.clone())
            }
            Seen::Depends(call, _) if gate.must_ask(call) => Bound::Arguments,
            Seen::Unplanned(call, why) if *why == SERVICE && gate.must_ask(call) => {
                let message = "a human must approve it, and its plan cannot be shown in a batch";
                return Err(ToolError::new(Code::Unsupported, message)
                    .required("human_approval")
                    .hint("call it by itself; nothing has run")
                    .in_entry(COMMANDS, index));
            }
            _ => Bound::Nothing,
        });
    }
    let asked = bounds.iter().filter(|it| !matches!(it, Bound::Nothing)).count();
    if asked == 0 {
        return Ok(Approval::Grants(none()));
    }
    if asked > MAX_LINES && matches!(gate.approvals().whom(), Ask::Human) {
        let message =
            format!("a human must approve {asked} commands, more than {MAX_LINES} at once");
        return Err(ToolError::invalid(COMMANDS, message).hint("split the batch; nothing has run"));
    }
    let proposal = proposal(wanted, job, &seen, &bounds);
    let Some(grant) = job.grant.take() else { return Ok(Approval::Ask(Box::new(proposal))) };
    let bound: Vec<_> = bounds
        .iter()
        .filter_map(|it| match it {
            Bound::Nothing => None,
            Bound::Plan(digest) => Some(Some(digest.clone())),
            Bound::Arguments => Some(None),
        })
        .collect();
    let mut grants = grant.divide(&proposal.digest, bound)?.into_iter();
    let grants = bounds.iter().map(|it| match it {
        Bound::Nothing => None,
        _ => grants.next(),
    });
    Ok(Approval::Grants(grants.collect()))
}

fn is_empty(plan: &Plan) -> bool {
    plan.preview.as_ref().is_some_and(|it| it["no_change"] == true)
}

fn proposal(wanted: &Wanted, job: &Job, seen: &[Seen], bounds: &[Bound]) -> Proposal {
    let mut each = Vec::new();
    let mut commands = Vec::new();
    let mut bound = digest::call(&job.call.spec().name, &job.call.args);
    let mut class = SafetyClass::Mutating;
    for (index, (it, bound_to)) in seen.iter().zip(bounds).enumerate() {
        let tool = &wanted.commands[index].tool;
        let entry = match (it, bound_to) {
            (Seen::Planned(plan), Bound::Plan(digest)) => {
                bound.push_str(&format!("\n{index} {digest}"));
                if plan.call.spec().class == SafetyClass::Destructive {
                    class = SafetyClass::Destructive;
                }
                for change in plan.changes.as_array().into_iter().flatten() {
                    let mut change = change.clone();
                    change["command"] = json!(index);
                    each.push(change);
                }
                json!({"command": index, "tool": tool, "title": plan.title, "changes": plan.changes})
            }
            (Seen::Depends(call, error), _) => {
                bound.push_str(&format!("\n{index} {}", digest::call(tool, &call.args)));
                if call.spec().class == SafetyClass::Destructive {
                    class = SafetyClass::Destructive;
                }
                let entry = json!({
                    "command": index, "run": tool,
                    "not_previewed": "depends on commands before it", "arguments": call.args,
                    "now": error.message,
                });
                each.push(entry.clone());
                entry
            }
            _ => {
                bound.push_str(&format!("\n{index}"));
                continue;
            }
        };
        commands.push(entry);
    }
    // Each change in a line, when a human is shown that many.
    let changes = if each.len() <= MAX_LINES { each } else { commands };
    let count = wanted.commands.len();
    let how = if wanted.atomic { ", all or none" } else { "" };
    Proposal {
        tool: job.call.spec().name.clone(),
        class: class.as_str(),
        client: job.call.client.clone(),
        title: format!("{count} commands{how}"),
        args: job.call.args.clone(),
        changes: Value::Array(changes),
        digest: digest::sha256(bound.as_bytes()),
    }
}

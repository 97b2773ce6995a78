//! Project commands in the editor: what is prepared on the I/O thread, what is known while one runs,
//! and what is left when it did not return. The main thread's part is in `run`.

pub(crate) mod context;
pub(crate) mod run;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use godot_mcp_core::call::ProgressSink;
use godot_mcp_core::commands::declaration::Command;
use godot_mcp_core::commands::json::{self, Json};
use godot_mcp_core::commands::listing;
use godot_mcp_core::commands::manifest::{Change, Kind, Manifest, Tracker};
use godot_mcp_core::commands::problem::Problems;
use godot_mcp_core::commands::records::{Record, Records};
use godot_mcp_core::commands::switch::Switch;
use godot_mcp_core::commands::{arguments, limits, script};
use godot_mcp_core::paths::Roots;
use godot_mcp_core::{CancelFlag, Code, ToolError, suggest};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use crate::app::Shared;

/// The tool whose calls run project code.
pub(crate) const CALL: &str = "editor_commands_call";
/// Hidden fields of its arguments.
pub(crate) const TRANSACTION: &str = "transaction";
pub(crate) const TEXT: &str = "arguments_text";

/// What is known of commands, from any thread.
pub(crate) struct Commands {
    pub(crate) switch: Switch,
    pub(crate) store: Result<Store, String>,
    current: Mutex<Option<Current>>,
    /// Calls that passed all checks and wait for the main thread, by transaction.
    prepared: Mutex<HashMap<String, Arc<Prepared>>>,
}

pub(crate) struct Store {
    pub(crate) tracker: Tracker,
    pub(crate) records: Records,
}

/// The call that runs now.
#[derive(Clone)]
pub(crate) struct Current {
    pub(crate) transaction: String,
    pub(crate) provider: String,
    pub(crate) command: String,
    pub(crate) begun: Instant,
    /// `queued`, `running`, `awaiting` or `comparing`.
    pub(crate) phase: &'static str,
    /// Its deadline has passed without an answer (R78).
    pub(crate) uncertain: bool,
    pub(crate) progress: Option<(f64, Option<f64>, String)>,
}

/// A call that may run.
pub(crate) struct Prepared {
    pub(crate) transaction: String,
    pub(crate) provider: String,
    pub(crate) script: String,
    pub(crate) command: Command,
    pub(crate) arguments: Json,
    pub(crate) deadline: Duration,
    /// Files before the call, or why they are not compared.
    pub(crate) before: Result<Arc<Manifest>, String>,
    /// The provider's script and those that it names, with their digests (A15).
    pub(crate) scripts: BTreeMap<String, Option<String>>,
    pub(crate) cancel: CancelFlag,
    pub(crate) progress: Option<ProgressSink>,
}

/// What a call asks for.
pub(crate) struct Asked {
    pub(crate) transaction: String,
    pub(crate) provider: String,
    pub(crate) command: String,
    pub(crate) arguments: Option<Map<String, Value>>,
    /// The arguments as they were spelled.
    pub(crate) text: Option<String>,
    pub(crate) deadline_ms: Option<u64>,
    pub(crate) expected_file: Option<String>,
    pub(crate) expected_script: Option<String>,
}

impl Commands {
    /// Opens the state in `folder`, and settles what an earlier process left running (B2). Answers
    /// also a sentence for each of those.
    pub(crate) fn open(project: &Path, folder: &Path, switch: Switch) -> (Self, Vec<String>) {
        let store = Tracker::open(project, folder)
            .and_then(|tracker| Ok(Store { tracker, records: Records::open(folder)? }))
            .map_err(|it| format!("{} cannot be written: {it}", folder.display()));
        let settled = store.as_ref().map(|it| it.records.settle(&it.tracker)).unwrap_or_default();
        let notices = settled.iter().map(|it| {
            let changed = it.changes.len();
            format!(
                "the editor ended during the project command \"{}\" of \"{}\", which had changed {changed} files",
                it.command, it.provider
            )
        });
        let notices = notices.collect();
        let commands =
            Self { switch, store, current: Mutex::default(), prepared: Mutex::default() };
        (commands, notices)
    }

    pub(crate) fn current(&self) -> Option<Current> {
        self.current.lock().clone()
    }

    pub(crate) fn prepared(&self, transaction: &str) -> Option<Arc<Prepared>> {
        self.prepared.lock().get(transaction).cloned()
    }

    /// How long a prepared call is waited for.
    pub(crate) fn deadline(&self, transaction: &str) -> Duration {
        let default = Duration::from_millis(limits::DEADLINE_DEFAULT_MS);
        self.prepared(transaction).map_or(default, |it| it.deadline)
    }

    pub(crate) fn change(&self, transaction: &str, change: impl FnOnce(&mut Current)) {
        if let Some(current) = self.current.lock().as_mut()
            && current.transaction == transaction
        {
            change(current);
        }
    }

    fn begin(&self, prepared: &Prepared) {
        *self.current.lock() = Some(Current {
            transaction: prepared.transaction.clone(),
            provider: prepared.provider.clone(),
            command: prepared.command.name.clone(),
            begun: Instant::now(),
            phase: "running",
            uncertain: false,
            progress: None,
        });
    }

    /// Forgets a call that has ended, or that never began.
    pub(crate) fn end(&self, transaction: &str) {
        self.prepared.lock().remove(transaction);
        let mut current = self.current.lock();
        if current.as_ref().is_some_and(|it| it.transaction == transaction) {
            *current = None;
        }
    }

    /// Takes a call out that did not begin: nothing is left of it (R65).
    pub(crate) fn forget(&self, transaction: &str) {
        self.end(transaction);
        if let Ok(store) = &self.store {
            store.records.forget(transaction);
        }
    }

    /// Refuses while a command may still change files (R80).
    pub(crate) fn check_writable(&self) -> Result<(), ToolError> {
        let Some(current) = self.current().filter(|it| it.uncertain) else { return Ok(()) };
        let message = format!(
            "the project command \"{}\" of \"{}\" has not returned and may still change files",
            current.command, current.provider
        );
        Err(ToolError::new(Code::Busy, message)
            .hint("nothing can be changed until it returns or the editor is restarted; reads work, `editor_commands_status` (toolset `commands`) tells of it")
            .details(json!({
                "mutation_status": "not_started", "may_have_applied": false,
                "blocked_by": current.transaction
            })))
    }

    /// The answer to a call that did not return in time (R78), and to its repeat (A11).
    pub(crate) fn uncertain(&self, shared: &Shared, transaction: &str) -> Option<ToolError> {
        let current = self.current().filter(|it| it.uncertain && it.transaction == transaction)?;
        let elapsed = current.begun.elapsed().as_millis();
        let message = format!(
            "the command \"{}\" of \"{}\" has not returned after {elapsed} ms",
            current.command, current.provider
        );
        let mut error = ToolError::new(Code::Timeout, message)
            .hint("it goes on in the editor and every change is refused until it returns; `editor_commands_status` tells of it, and the same idempotency key collects its answer")
            .detail("mutation_status", "uncertain")
            .detail("may_have_applied", true)
            .detail("transaction_id", transaction)
            .detail("main_thread_blocked_ms", shared.heartbeat.stalled_ms());
        error = match self.changed_since(transaction) {
            Ok(changes) => {
                let paths: Vec<_> =
                    changes.iter().take(limits::CHANGES_LISTED_MAX).map(|it| &it.path).collect();
                error.detail("changed_paths", json!(paths)).detail("changed_total", changes.len())
            }
            Err(why) => error.detail("changes_unavailable", why),
        };
        Some(error)
    }

    /// Files that a running call has changed until now. Reads the disk.
    fn changed_since(&self, transaction: &str) -> Result<Vec<Change>, String> {
        let store = self.store.as_ref()?;
        let prepared = self.prepared(transaction).ok_or("the call is over")?;
        let before = prepared.before.clone()?;
        Ok(before.changes(&*store.tracker.look()?))
    }
}

/// Checks a call against what is on the disk now (R62, R63), and looks at the files before it. Runs
/// on a thread that may block.
pub(crate) fn prepare(
    shared: &Shared,
    asked: Asked,
    cancel: CancelFlag,
    progress: Option<ProgressSink>,
) -> Result<(), ToolError> {
    let commands = &shared.commands;
    let roots = &shared.gate.settings().roots;
    if let Some(why) = &commands.switch.disabled_reason {
        return Err(not_started(Code::ApprovalDenied, "permission_denied", why.clone())
            .hint("only the operator can turn project commands on"));
    }
    let deadline = deadline(asked.deadline_ms)?;
    let (provider, command) = declared(roots, &asked)?;
    let found = script::read(roots, &provider.1);
    if let Err(why) = found.source {
        return Err(
            invalid("provider", why).hint("`editor_commands_list` tells what can be called")
        );
    }
    let bundle = script::bundle(roots, &provider.1);
    if let Some(expected) = &asked.expected_script
        && *expected != bundle.sha256
        && Some(expected) != found.sha256.as_ref()
    {
        return Err(changed("expected_script_sha256", "the provider's scripts", &bundle.sha256));
    }
    let arguments = spelled(&asked)?;
    let schema = command.arguments.as_ref().map_err(|outside| {
        not_started(Code::Unsupported, "unsupported", outside.reason())
            .hint("the project's author has to change the input schema")
    })?;
    arguments::check(&arguments, schema).map_err(|it| problems("arguments", &it))?;

    let unavailable = |why: String| {
        not_started(Code::Busy, "unavailable", why)
            .hint("free space in the project's .godot folder, then call again")
    };
    let store = commands.store.as_ref().map_err(|it| unavailable(it.clone()))?;
    let before = store.tracker.look();
    if let Ok(before) = &before {
        store.tracker.keep(before).map_err(|it| unavailable(it.to_string()))?;
    }
    let record = Record::new(&asked.transaction, &provider.0, &command.name, command.mutates);
    store.records.write(&record).map_err(|it| unavailable(it.to_string()))?;
    let prepared = Prepared {
        transaction: asked.transaction.clone(),
        provider: provider.0,
        script: provider.1,
        command,
        arguments,
        deadline,
        before,
        scripts: bundle.scripts,
        cancel,
        progress,
    };
    commands.prepared.lock().insert(asked.transaction, Arc::new(prepared));
    Ok(())
}

/// R61.
fn deadline(asked: Option<u64>) -> Result<Duration, ToolError> {
    let (least, most) = (limits::DEADLINE_MIN_MS, limits::DEADLINE_MAX_MS);
    let ms = asked.unwrap_or(limits::DEADLINE_DEFAULT_MS);
    if (least..=most).contains(&ms) {
        return Ok(Duration::from_millis(ms));
    }
    Err(invalid("deadline_ms", format!("the deadline is {ms} ms; {least} to {most}")))
}

/// Id and script of the provider, and the command.
fn declared(roots: &Roots, asked: &Asked) -> Result<((String, String), Command), ToolError> {
    let file = listing::read(roots);
    if let (Some(expected), found) = (&asked.expected_file, &file.sha256)
        && Some(expected) != found.as_ref()
    {
        let found = found.as_deref().unwrap_or("absent");
        return Err(changed("expected_file_sha256", limits::FILE, found));
    }
    let declaration = match file.result {
        None => {
            let message = format!("the project has no {}", limits::FILE);
            return Err(invalid("provider", message).hint("this project declares no commands"));
        }
        Some(Err(problems)) => {
            let total = problems.total;
            let message = format!("{} is invalid: {total} problems", limits::FILE);
            return Err(invalid("provider", message)
                .hint("`editor_commands_list` tells all of them; only the project's author can mend it")
                .detail("problems", json!(problems.listed().iter().take(5).collect::<Vec<_>>())));
        }
        Some(Ok(declaration)) => declaration,
    };
    let Some(provider) = declaration.provider(&asked.provider) else {
        let ids = declaration.providers.iter().map(|it| it.id.as_str());
        let near = suggest::near(&asked.provider, ids, 3);
        let message = format!("no provider \"{}\"", asked.provider);
        return Err(invalid("provider", message).suggest(near));
    };
    let Some(command) = provider.command(&asked.command) else {
        let names = provider.commands.iter().map(|it| it.name.as_str());
        let near = suggest::near(&asked.command, names, 3);
        let message = format!("\"{}\" has no command \"{}\"", provider.id, asked.command);
        return Err(invalid("command", message).suggest(near));
    };
    Ok(((provider.id.clone(), provider.script.clone()), command.clone()))
}

/// The arguments with the spelling of their numbers, wherever the text is known (R38, R41).
fn spelled(asked: &Asked) -> Result<Json, ToolError> {
    if let Some(text) = &asked.text {
        return json::parse(text).map_err(|it| invalid("arguments", it.to_string()));
    }
    Ok(asked
        .arguments
        .as_ref()
        .map_or_else(arguments::none, |it| Json::from_value(&Value::Object(it.clone()))))
}

/// `params.arguments.arguments` of a message, as it was written.
pub(crate) fn text_of_arguments(message: &str) -> Option<String> {
    let message = json::parse(message).ok()?;
    message.at("/params/arguments/arguments").map(Json::compact)
}

fn problems(parameter: &'static str, problems: &Problems) -> ToolError {
    let first = &problems.listed()[0];
    let place =
        if first.pointer.is_empty() { String::new() } else { format!(" at {}", first.pointer) };
    invalid(parameter, format!("{}{place}", first.message))
        .hint("see `input_schema` of the command in `editor_commands_list`")
        .detail("problems", json!(problems.listed()))
}

pub(crate) fn invalid(parameter: &'static str, message: impl Into<String>) -> ToolError {
    not_started(Code::ValidationError, "invalid_input", message).required(parameter)
}

/// B9.
fn changed(parameter: &'static str, what: &str, found: &str) -> ToolError {
    not_started(Code::StateChanged, "invalid_input", format!("{what} changed since it was listed"))
        .required(parameter)
        .hint("look at `editor_commands_list` again before calling")
        .detail("found_sha256", found)
}

/// R65. `class` is the word of the contract for it.
/// What the gate refuses is not started either (R64, R65).
pub(crate) fn refused_early(error: ToolError) -> ToolError {
    let class = match error.code {
        Code::Paused | Code::Busy => "unavailable",
        Code::ToolsetDisabled | Code::ReadOnly => "permission_denied",
        _ => "invalid_input",
    };
    error.detail("refusal", class).detail("mutation_status", "not_started")
}

pub(crate) fn not_started(code: Code, class: &str, message: impl Into<String>) -> ToolError {
    ToolError::new(code, message)
        .detail("refusal", class)
        .detail("mutation_status", "not_started")
        .detail("may_have_applied", false)
}

/// Changed files as an answer tells them (R73, R95).
pub(crate) fn tell(changes: &[Change]) -> Value {
    let mut left = limits::CHANGES_LISTED_MAX;
    let mut of = |kind: Kind| {
        let paths: Vec<_> =
            changes.iter().filter(|it| it.kind == kind).take(left).map(|it| &it.path).collect();
        left -= paths.len();
        json!(paths)
    };
    let mut told = json!({
        "added": of(Kind::Added), "modified": of(Kind::Modified), "removed": of(Kind::Removed),
        "total": changes.len(),
    });
    if changes.len() > limits::CHANGES_LISTED_MAX {
        told["truncated"] = json!(true);
    }
    told
}

#[cfg(test)]
mod tests;

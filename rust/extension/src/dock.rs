//! The native side of the dock: what `dock.gd` shows, as plain dictionaries, and what it may do.
//!
//! All state is here or behind it; the dock asks again after `state_changed`.

use std::rc::Rc;
use std::time::{SystemTime, UNIX_EPOCH};

use godot::builtin::{Array, GString, PackedStringArray, VarDictionary, Variant};
use godot::classes::ProjectSettings;
use godot::meta::ToGodot;
use godot::obj::{Gd, Singleton};
use godot::register::godot_api;
use godot_mcp_core::conflict;
use godot_mcp_core::feed::Severity;
use godot_mcp_core::toolset;
use godot_mcp_core::{Code, ToolError};

use crate::activity::{Call, Outcome};
use crate::app::{self, App};
use crate::client_config::{self, Route};
use crate::editor::history::{self, History, Standing, UndoTokens};
use crate::extensions;
use crate::host_node::GodotMcp;

/// Log lines of the server that are shown.
const MAX_MESSAGES: usize = 20;

#[godot_api(secondary)]
impl GodotMcp {
    /// `state` is `running`, `failed` or `stopped`. Running: `url`, `paused`, `read_only`, `token`
    /// (whether one is needed), `conflict` (a sentence, empty without one), `clients`, `messages`,
    /// `tools_listed`, `tools`. Failed: `code` and `message` of the start that failed.
    #[func(gd_self)]
    fn status(this: Gd<Self>) -> VarDictionary {
        if let Some(app) = app::current() {
            return running(&app);
        }
        match &this.bind().fault {
            Some(fault) => dictionary(&[
                ("state", "failed".to_variant()),
                ("code", fault.code.to_variant()),
                ("message", fault.message.to_variant()),
            ]),
            None => dictionary(&[("state", "stopped".to_variant())]),
        }
    }

    /// Each with `name`, `description`, `tools` (how many), `enabled` and `locked`.
    #[func(gd_self)]
    fn toolsets(_this: Gd<Self>) -> Array<VarDictionary> {
        let Some(app) = app::current() else { return Array::new() };
        let gate = &app.shared.gate;
        let registry = gate.registry();
        let entry = |set: &toolset::Toolset| {
            dictionary(&[
                ("name", set.name.to_variant()),
                ("description", set.description.to_variant()),
                ("tools", number(registry.tools_of(set.name).count())),
                ("enabled", gate.is_enabled(set.name).to_variant()),
                ("locked", (set.name == toolset::CORE).to_variant()),
            ])
        };
        registry.toolsets().map(entry).collect()
    }

    /// Switches a toolset for all clients (S11). Answers why not; empty when done.
    #[func(gd_self)]
    fn set_toolset(_this: Gd<Self>, name: GString, on: bool) -> GString {
        let Some(app) = app::current() else { return not_running() };
        let outcome = app.shared.gate.switch(&[name.to_string()], on).into_iter().next();
        outcome.map_or_else(GString::new, |it| sentence(&it.outcome.map(drop)))
    }

    /// Calls after number `after_seq`, oldest first.
    #[func(gd_self)]
    fn calls(_this: Gd<Self>, after_seq: i64) -> Array<VarDictionary> {
        let Some(app) = app::current() else { return Array::new() };
        let calls = app.shared.activity.after(u64::try_from(after_seq).unwrap_or(0));
        let histories = history::histories();
        // Borrowed by a job that runs at this moment: then the next look tells.
        let tokens = app.undo_tokens.try_borrow().ok();
        calls.iter().map(|it| call_entry(it, tokens.as_deref(), &histories)).collect()
    }

    /// While paused, calls that could change something are answered `PAUSED`.
    #[func(gd_self)]
    fn set_paused(_this: Gd<Self>, paused: bool) {
        if let Some(app) = app::current() {
            app.shared.gate.set_paused(paused);
            app.shared.activity.touch();
        }
    }

    /// Undoes the edit with this token, if it is the newest action (S6.6). Answers why not; empty
    /// when done.
    #[func(gd_self)]
    fn undo(_this: Gd<Self>, token: GString) -> GString {
        let Some(app) = app::current() else { return not_running() };
        let token = token.to_string();
        let done = app.pump.by_hand(&app, "undo", |editor| {
            history::check_token(editor, &token)?;
            history::undo_token(editor, &token).map(drop)
        });
        app.shared.activity.touch();
        sentence(&done)
    }

    /// Clients whose form of configuration is known, each with `id`, `name` (empty for any other)
    /// and `file`.
    #[func(gd_self)]
    fn configurable_clients(_this: Gd<Self>) -> Array<VarDictionary> {
        let entry = |it: &client_config::KnownClient| {
            dictionary(&[
                ("id", it.id.to_variant()),
                ("name", it.name.to_variant()),
                ("file", it.file.to_variant()),
            ])
        };
        client_config::CLIENTS.iter().map(entry).collect()
    }

    /// What to paste into the configuration of a client, with address and token, or with the command
    /// of the relay. Empty when the server does not run.
    #[func(gd_self)]
    fn client_configuration(_this: Gd<Self>, client: GString, relay: bool) -> GString {
        let Some(app) = app::current() else { return GString::new() };
        let project = ProjectSettings::singleton().globalize_path("res://").to_string();
        let (url, token) = (app.url(), app.token());
        let route = match relay {
            true => Route::Relay { project: project.trim_end_matches('/') },
            false => Route::Http { url: &url, token: token.as_deref() },
        };
        let text = client_config::text(&client.to_string(), &route).unwrap_or_default();
        GString::from(text.as_str())
    }

    /// Extensions of the project, each with `name`, `file`, `tools` (how many) and `error`: what is
    /// wrong with it, a line each.
    #[func(gd_self)]
    fn extensions(_this: Gd<Self>) -> Array<VarDictionary> {
        let Some(app) = app::current() else { return Array::new() };
        let mut list = Array::new();
        app.extensions.each(&mut |class, it| {
            let line = |fault: &extensions::Fault| match fault.line {
                0 => fault.message.clone(),
                line => format!("{}:{line}: {}", it.path, fault.message),
            };
            let error: Vec<String> = it.faults.iter().map(line).collect();
            list.push(&dictionary(&[
                ("name", class.to_variant()),
                ("file", it.path.to_variant()),
                ("tools", number(it.tools.len())),
                ("error", error.join("\n").to_variant()),
            ]));
        });
        list
    }
}

/// Tells the dock, at most once a frame, that a look is worth it.
pub(crate) fn tell(mut host: Gd<GodotMcp>) {
    let Some(app) = app::current() else { return };
    if app.pump.is_running() {
        // A nested iteration of a job: the dock must not look into the middle of an edit.
        return;
    }
    let changes = app.shared.activity.changes();
    if app.told.replace(changes) != changes {
        host.emit_signal("state_changed", &[]);
    }
}

fn running(app: &Rc<App>) -> VarDictionary {
    let gate = &app.shared.gate;
    let clients: PackedStringArray =
        app.shared.clients.lock().iter().map(|it| GString::from(it.as_str())).collect();
    let conflict = conflict::sentence(gate.settings().roots.project()).unwrap_or_default();
    let messages: Array<VarDictionary> = app
        .shared
        .feed
        .newest_of("server", MAX_MESSAGES)
        .into_iter()
        .map(|it| {
            dictionary(&[
                ("seq", whole(it.seq)),
                ("error", (it.severity == Severity::Error).to_variant()),
                ("text", it.message.to_variant()),
            ])
        })
        .collect();
    dictionary(&[
        ("state", "running".to_variant()),
        ("url", app.url().to_variant()),
        ("paused", gate.is_paused().to_variant()),
        ("read_only", gate.settings().read_only.to_variant()),
        ("token", app.token().is_some().to_variant()),
        ("conflict", conflict.to_variant()),
        ("clients", clients.to_variant()),
        ("messages", messages.to_variant()),
        ("tools_listed", number(gate.listed().len())),
        ("tools", number(gate.registry().tools().count())),
    ])
}

fn call_entry(call: &Call, tokens: Option<&UndoTokens>, histories: &[History]) -> VarDictionary {
    let since_epoch = |it: SystemTime| it.duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut entry = dictionary(&[
        ("seq", whole(call.seq)),
        ("tool", call.tool.to_variant()),
        ("safety_class", call.class.as_str().to_variant()),
        ("client", call.client.to_variant()),
        ("unix_time", since_epoch(call.ended).as_secs_f64().to_variant()),
        ("msec", (call.duration.as_secs_f64() * 1e3).to_variant()),
    ]);
    match &call.outcome {
        Outcome::Refused { code, message, hint } => {
            entry.set("code", code.as_str());
            entry.set("message", message.as_str());
            entry.set("hint", hint.as_str());
        }
        Outcome::Done { undo_token, preview } => {
            entry.set("preview", *preview);
            let recorded = undo_token.as_ref().zip(tokens);
            let known = recorded.and_then(|(token, tokens)| tokens.standing(token, histories));
            if let Some((title, standing)) = known {
                entry.set("undo_token", undo_token.as_deref().unwrap_or_default());
                entry.set("title", title.strip_prefix("MCP: ").unwrap_or(title));
                entry.set("standing", standing.as_str());
            }
        }
    }
    entry
}

impl Standing {
    fn as_str(self) -> &'static str {
        match self {
            Self::Newest => "newest",
            Self::Done => "done",
            Self::Undone => "undone",
            Self::Gone => "gone",
        }
    }
}

fn sentence(done: &Result<(), ToolError>) -> GString {
    match done {
        Ok(()) => GString::new(),
        Err(error) => GString::from(error.message.as_str()),
    }
}

fn not_running() -> GString {
    sentence(&Err(ToolError::new(Code::Unsupported, "the server does not run")))
}

fn dictionary(fields: &[(&str, Variant)]) -> VarDictionary {
    let mut dictionary = VarDictionary::new();
    for (name, value) in fields {
        dictionary.set(*name, value);
    }
    dictionary
}

fn number(count: usize) -> Variant {
    whole(u64::try_from(count).unwrap_or(u64::MAX))
}

fn whole(number: u64) -> Variant {
    i64::try_from(number).unwrap_or(i64::MAX).to_variant()
}

//! The native node behind `plugin.gd`: starts the server, carries the safe lane, stops the server.

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use godot::builtin::{Array, Callable, GString, PackedStringArray, VarDictionary};
use godot::classes::{
    DisplayServer, EditorInterface, EditorPlugin, Engine, INode, Node, ProjectSettings, RefCounted,
};
use godot::global::{godot_error, godot_print, godot_warn};
use godot::obj::{Base, Gd, Singleton};
use godot::register::{GodotClass, godot_api};
use godot_mcp_core::approval::{Approvals, Decision, Policy, Waiting};
use godot_mcp_core::audit::{self, Audit};
use godot_mcp_core::commands::{limits, switch};
use godot_mcp_core::conflict;
use godot_mcp_core::feed::Feed;
use godot_mcp_core::gate::{Gate, GateSettings};
use godot_mcp_core::heartbeat::Heartbeat;
use godot_mcp_core::journal::{self, Journal};
use godot_mcp_core::paths::Roots;
use godot_mcp_core::rate::RateLimit;
use godot_mcp_core::registry::Registry;
use godot_mcp_core::toolset;
use godot_mcp_server::{PortChoice, Server, ServerOptions, StartError, load_or_create_token};
use serde_json::json;

use crate::activity::Activity;
use crate::app::{self, App, Glance, Shared};
use crate::commands::Commands;
use crate::completion;
use crate::dispatch::EditorHost;
use crate::dock;
use crate::editor::resource_watch::{self, WatchList};
use crate::editor::{log_feed, project_settings, quirks, scene_files};
use crate::main_thread::{self, Queue};
use crate::server_log;
use crate::services::language_server::LanguageServer;
use crate::toolsets;

/// First port that is tried; the next nine follow when it is taken.
const DEFAULT_PORT: u16 = 8137;
/// The engine's own default.
const DEFAULT_LANGUAGE_SERVER_PORT: u16 = 6005;
const PORT_SETTING: &str = "godot_mcp/network/port";
/// Command line modes that end by themselves and must not open a port.
const BATCH_MODES: &[&str] =
    &["--import", "--export-", "--doctool", "--build-solutions", "--install-android"];

/// Hosts the MCP server while it is in the tree of the editor.
#[derive(GodotClass)]
#[class(tool, internal, init, base = Node)]
pub(crate) struct GodotMcp {
    base: Base<Node>,
    /// Why the last start failed, for the dock.
    pub(crate) fault: Option<StartFault>,
}

/// A start that failed.
pub(crate) struct StartFault {
    /// What kind of fault, from which the dock says what to do.
    pub(crate) code: &'static str,
    /// What was wrong, without a final period.
    pub(crate) message: String,
}

impl StartFault {
    fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    fn state(what: &str, path: &Path, error: &std::io::Error) -> Self {
        Self::new("state_folder", format!("cannot {what} {}: {error}", path.display()))
    }
}

impl From<StartError> for StartFault {
    fn from(error: StartError) -> Self {
        let code = match &error {
            StartError::TokenRequired(_) | StartError::TokenEmpty => "token_required",
            StartError::PortsBusy { .. } => "ports_busy",
            StartError::Bind { .. } => "bind",
            StartError::Thread(_) => "other",
        };
        let source = std::error::Error::source(&error).map(|it| format!(": {it}"));
        Self::new(code, format!("{error}{}", source.unwrap_or_default()))
    }
}

#[godot_api]
impl INode for GodotMcp {
    // Bound by nothing, since jobs may run the main loop again.
    #[func(gd_self)]
    fn process(this: Gd<Self>, _delta: f64) {
        main_thread::on_process();
        dock::tell(this);
    }

    #[func(gd_self)]
    fn exit_tree(_this: Gd<Self>) {
        app::stop();
    }
}

#[godot_api]
impl GodotMcp {
    /// Something that the dock shows has changed. At most once a frame.
    #[signal]
    fn state_changed();

    /// The game was started, for extensions.
    #[signal]
    fn play_started();

    #[signal]
    fn play_stopped();

    /// Starts the server. Errors go to the Output panel, in one sentence each.
    #[func(gd_self)]
    fn start(mut this: Gd<Self>, plugin: Gd<EditorPlugin>, logger: Gd<RefCounted>) {
        if app::current().is_some() || !wants_server() {
            return;
        }
        this.set_process(true);
        let fault = start(&this.clone().upcast(), &plugin, logger).err();
        if let Some(fault) = &fault {
            godot_error!("Godot MCP did not start: {}.", fault.message);
        }
        this.bind_mut().fault = fault;
    }

    #[func(gd_self)]
    fn stop(_this: Gd<Self>) {
        app::stop();
    }

    /// Something that a resource tells may have changed. For signals.
    #[func(gd_self)]
    fn suspect(_this: Gd<Self>) {
        resource_watch::suspect();
    }

    /// The classes of the project's scripts have changed. For a signal.
    #[func(gd_self)]
    fn read_classes(_this: Gd<Self>) {
        if let Some(app) = app::current() {
            app.shared.node_classes.store(Arc::new(completion::node_classes()));
        }
    }

    /// Scripts of the project have changed. For signals.
    #[func(gd_self)]
    fn stir_extensions(_this: Gd<Self>) {
        if let Some(app) = app::current() {
            app.extensions.stir();
        }
    }

    /// Calls that wait for the human: `id`, `tool`, `client`, `safety_class`, `title`, `changes` (a
    /// line each) and `expires_in_s`.
    #[func(gd_self)]
    fn approvals(_this: Gd<Self>) -> Array<VarDictionary> {
        let Some(app) = app::current() else { return Array::new() };
        let waiting = app.shared.gate.approvals().desk.look();
        waiting.into_iter().map(approval_entry).collect()
    }

    /// The human's word: `once`, `session` (this tool of this client until the editor closes) or
    /// `deny`. False when the question is not there any more, or the word is another.
    #[func(gd_self)]
    fn answer_approval(_this: Gd<Self>, id: GString, decision: GString) -> bool {
        let Some(app) = app::current() else { return false };
        let id = id.to_string().parse().ok();
        let decision = Decision::parse(&decision.to_string());
        id.zip(decision).is_some_and(|(id, it)| app.shared.gate.approvals().desk.answer(id, it))
    }

    /// Says whether somebody answers `approvals`. An editor with a window has the dock, so this is
    /// for scripts that decide in a headless one.
    #[func(gd_self)]
    fn attend_approvals(_this: Gd<Self>, attended: bool) {
        if let Some(app) = app::current() {
            app.shared.gate.approvals().desk.attend(attended);
        }
    }

    /// Address of the server; empty when it does not run.
    #[func(gd_self)]
    fn url(_this: Gd<Self>) -> GString {
        app::current().map(|it| GString::from(it.url().as_str())).unwrap_or_default()
    }
}

fn approval_entry(waiting: Waiting) -> VarDictionary {
    let changes: PackedStringArray = waiting.changes.iter().map(GString::from).collect();
    let mut entry = VarDictionary::new();
    entry.set("id", waiting.id.to_string());
    entry.set("tool", waiting.tool);
    entry.set("client", waiting.client);
    entry.set("safety_class", waiting.safety_class);
    entry.set("title", waiting.title);
    entry.set("changes", &changes);
    entry.set("expires_in_s", waiting.expires_in_s);
    entry
}

fn wants_server() -> bool {
    // The engine's own list leaves out what it has understood, such as `--import`.
    let mut args = std::env::args_os().map(|it| it.to_string_lossy().into_owned());
    Engine::singleton().is_editor_hint()
        && !args.any(|arg| BATCH_MODES.iter().any(|it| arg.starts_with(it)))
}

fn start(
    host: &Gd<Node>,
    plugin: &Gd<EditorPlugin>,
    logger: Gd<RefCounted>,
) -> Result<(), StartFault> {
    quirks::name_classes();
    server_log::install();
    let settings = ProjectSettings::singleton();
    let folder = |path: &str| PathBuf::from(settings.globalize_path(path).to_string());
    let (project, user) = (folder("res://"), folder("user://"));
    if let Some(sentence) = conflict::sentence(&project) {
        godot_error!("Godot MCP: {sentence}.");
    }
    let state = project.join(".godot").join("godot_mcp");
    make_private_folder(&state).map_err(|it| StartFault::state("make", &state, &it))?;

    let project_name = settings.get_setting("application/config/name").to_string();
    let version = Engine::singleton().get_version_info();
    let number = |key: &str| version.get(key).and_then(|it| it.try_to::<u32>().ok()).unwrap_or(0);
    let variable = |name: &str| std::env::var(name).ok();
    let (policy, notices) = Policy::from_settings(variable);
    for notice in notices {
        godot_warn!("Godot MCP: {notice}.");
    }
    let gate = Gate::new(
        GateSettings {
            read_only: env_flag("GODOT_MCP_READ_ONLY"),
            default_toolsets: std::env::var("GODOT_MCP_DEFAULT_TOOLSETS").ok(),
            godot: (number("major"), number("minor"), number("patch")),
            roots: Roots::new(&project, &user),
        },
        Registry::new(toolsets::builtin_specs()),
    )
    .with_approvals(Approvals::new(policy));
    for name in &gate.unknown_toolsets {
        godot_warn!(
            "Godot MCP: GODOT_MCP_DEFAULT_TOOLSETS names \"{name}\", which does not exist."
        );
    }
    let (journal, audit) =
        records(&state).map_err(|message| StartFault::new("state_folder", message))?;
    let rate_limit = RateLimit::parse(&variable("GODOT_MCP_RATE_LIMIT").unwrap_or_default())
        .map_err(|it| setting(format!("GODOT_MCP_RATE_LIMIT {it}")))?;
    let headless = DisplayServer::singleton().get_name() == "headless";
    gate.approvals().desk.attend(!headless);
    let address = match std::env::var("GODOT_MCP_HOST") {
        Ok(text) => text
            .parse()
            .map_err(|_| setting(format!("GODOT_MCP_HOST \"{text}\" is no IP address")))?,
        Err(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
    };
    let commands = commands(&project, &state, &journal, &settings, address);
    if variable("GODOT_MCP_DEFAULT_TOOLSETS").is_none_or(|it| it.trim().is_empty())
        && project.join(limits::FILE).exists()
    {
        gate.switch(&[toolset::COMMANDS.to_owned()], true);
    }
    let shared = Arc::new(Shared {
        gate,
        journal,
        commands,
        audit,
        rate_limit,
        feed: Feed::default(),
        heartbeat: Heartbeat::default(),
        queue: Queue::default(),
        language_server: LanguageServer::new(language_server_port(), &project.to_string_lossy()),
        activity: Arc::new(Activity::default()),
        runtime: OnceLock::new(),
        glance: ArcSwap::from_pointee(Glance::default()),
        watch_list: WatchList::default(),
        offered: ArcSwap::default(),
        node_classes: ArcSwap::from_pointee(completion::node_classes()),
        clients: parking_lot::Mutex::default(),
        godot_version: version.get("string").map(|it| it.to_string()).unwrap_or_default(),
        project_name: project_name.clone(),
        headless,
    });

    let token_file = state.join("token");
    let token = match env_flag("GODOT_MCP_NO_TOKEN") {
        true => None,
        false => Some(load_or_create_token(&token_file).map_err(|it| {
            let file = token_file.display();
            StartFault::new("token_file", format!("cannot make the token file {file}: {it}"))
        })?),
    };
    let mut options = ServerOptions::new(token.clone());
    options.address = address;
    options.port = port(&settings).map_err(setting)?;
    options.session_file = Some(state.join("sessions.json"));
    let server = Server::start(Arc::new(EditorHost(Arc::clone(&shared))), options)?;

    let discovery = state.join("server.json");
    let about = json!({
        "url": server.url(),
        "pid": std::process::id(),
        "project": project,
        "project_name": project_name,
        "version": env!("CARGO_PKG_VERSION"),
        "godot_version": shared.godot_version,
        "token_file": (!env_flag("GODOT_MCP_NO_TOKEN")).then_some(&token_file),
    });
    write_private(&discovery, format!("{about:#}\n").as_bytes())
        .map_err(|it| StartFault::state("write", &discovery, &it))?;

    let activity = Arc::clone(&shared.activity);
    shared.gate.approvals().desk.on_change(move || activity.touch());
    let url = server.url().to_owned();
    let announcer = server.announcer();
    let activity = Arc::clone(&shared.activity);
    shared.gate.on_change(move || {
        announcer.tools_changed();
        activity.touch();
    });
    scene_files::watch(plugin);
    project_settings::note();
    let plugin_id = plugin.instance_id();
    let app = App::new(shared, toolsets::runners(), logger, plugin_id, token, host.clone());
    app.set_server(server, discovery);
    resource_watch::connect(&app, host, plugin);
    if let Some(mut files) = EditorInterface::singleton().get_resource_filesystem() {
        let read = Callable::from_object_method(host, "read_classes");
        if !files.is_connected("script_classes_updated", &read) {
            files.connect("script_classes_updated", &read);
        }
        let stir = Callable::from_object_method(host, "stir_extensions");
        for signal in ["script_classes_updated", "filesystem_changed"] {
            if !files.is_connected(signal, &stir) {
                files.connect(signal, &stir);
            }
        }
    }
    app::install(app);
    godot_print!("Godot MCP serves {project_name} at {url}");
    Ok(())
}

fn setting(message: String) -> StartFault {
    StartFault::new("setting", message)
}

/// Opens the journal and the audit log, and says what an earlier end left behind.
fn records(state: &Path) -> Result<(Journal, Audit), String> {
    let options = journal::Options {
        report: Arc::new(|it| tracing::warn!("{it}")),
        ..journal::Options::default()
    };
    let (journal, notices) = Journal::open(state, options).map_err(|it| it.to_string())?;
    let options = audit::Options {
        arguments: env_flag("GODOT_MCP_AUDIT_ARGUMENTS"),
        ..audit::Options::default()
    };
    let (audit, notice) = Audit::open(state, journal.slot(), journal.instance(), options)
        .map_err(|it| format!("cannot write the audit log in {}: {it}", state.display()))?;
    for notice in notices.into_iter().chain(notice) {
        godot_warn!("Godot MCP: {notice}.");
    }
    Ok((journal, audit))
}

/// What the operator allows, and what an earlier process left running (R87 to R90, B2).
fn commands(
    project: &Path,
    state: &Path,
    journal: &Journal,
    settings: &Gd<ProjectSettings>,
    address: IpAddr,
) -> Commands {
    let variable = std::env::var(switch::VARIABLE).ok();
    let switch = switch::decide(switch::Wishes {
        variable: variable.as_deref(),
        setting: settings.get_setting_ex(switch::SETTING).done().try_to::<bool>().ok(),
        loopback: address.is_loopback(),
    });
    if let Some(warning) = &switch.warning {
        godot_warn!("Godot MCP: {warning}.");
    }
    // Each editor on a project has its own, as with the journal.
    let folder = match journal.slot() {
        1 => state.join("commands"),
        slot => state.join(format!("commands-{slot}")),
    };
    let (commands, notices) = Commands::open(project, &folder, switch);
    for notice in notices {
        godot_warn!("Godot MCP: {notice}.");
    }
    commands
}

fn port(settings: &Gd<ProjectSettings>) -> Result<PortChoice, String> {
    if let Ok(text) = std::env::var("GODOT_MCP_PORT") {
        let port =
            text.parse().map_err(|_| format!("GODOT_MCP_PORT \"{text}\" is no port number"))?;
        return Ok(PortChoice::FirstFreeFrom(port));
    }
    let set = settings.get_setting_ex(PORT_SETTING).done().try_to::<i64>().ok();
    let port =
        set.and_then(|it| u16::try_from(it).ok()).filter(|&it| it > 0).unwrap_or(DEFAULT_PORT);
    Ok(PortChoice::FirstFreeFrom(port))
}

/// Port of the editor's own language server: the command line goes before the editor's setting.
fn language_server_port() -> u16 {
    let args: Vec<String> =
        std::env::args_os().map(|it| it.to_string_lossy().into_owned()).collect();
    // The last one counts, as for the engine.
    let given = args.windows(2).rfind(|it| it[0] == "--lsp-port");
    let given = given.and_then(|it| it[1].parse().ok());
    let set = || {
        let settings = EditorInterface::singleton().get_editor_settings()?;
        let port = settings.get_setting("network/language_server/remote_port");
        u16::try_from(port.try_to::<i64>().ok()?).ok()
    };
    given.or_else(set).unwrap_or(DEFAULT_LANGUAGE_SERVER_PORT)
}

fn env_flag(name: &str) -> bool {
    std::env::var(name).is_ok_and(|it| matches!(it.as_str(), "1" | "true" | "yes" | "on"))
}

fn make_private_folder(path: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(path)?;
    #[cfg(unix)]
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    Ok(())
}

/// Writes a file that only this user can read, replacing an old one whole.
fn write_private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let part = path.with_extension("part");
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    std::io::Write::write_all(&mut options.open(&part)?, bytes)?;
    std::fs::rename(part, path)
}

/// Takes over what the engine logged since the last frame.
pub(crate) fn drain_log(app: &App) {
    if server_log::drain(&app.shared.feed) {
        app.shared.activity.touch();
    }
    let mut logger = app.logger.clone();
    if logger.is_instance_valid() {
        log_feed::drain(&mut logger, &app.shared.feed);
    }
}

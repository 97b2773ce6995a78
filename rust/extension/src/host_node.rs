//! The native node behind `plugin.gd`: starts the server, carries the safe lane, stops the server.

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use godot::builtin::GString;
use godot::classes::{
    DisplayServer, EditorPlugin, Engine, INode, Node, ProjectSettings, RefCounted,
};
use godot::global::{godot_error, godot_print, godot_warn};
use godot::obj::{Base, Gd, Singleton};
use godot::register::{GodotClass, godot_api};
use godot_mcp_core::feed::Feed;
use godot_mcp_core::gate::{Gate, GateSettings};
use godot_mcp_core::heartbeat::Heartbeat;
use godot_mcp_core::paths::Roots;
use godot_mcp_core::registry::Registry;
use godot_mcp_server::{PortChoice, Server, ServerOptions, load_or_create_token};
use serde_json::json;

use crate::app::{self, App, Glance, Shared};
use crate::dispatch::EditorHost;
use crate::editor::{log_feed, project_settings, quirks, scene_files};
use crate::main_thread::{self, Queue};
use crate::server_log;
use crate::toolsets;

/// First port that is tried; the next nine follow when it is taken.
const DEFAULT_PORT: u16 = 8137;
const PORT_SETTING: &str = "godot_mcp/network/port";
/// Command line modes that end by themselves and must not open a port.
const BATCH_MODES: &[&str] =
    &["--import", "--export-", "--doctool", "--build-solutions", "--install-android"];

/// Hosts the MCP server while it is in the tree of the editor.
#[derive(GodotClass)]
#[class(tool, internal, init, base = Node)]
pub(crate) struct GodotMcp {
    base: Base<Node>,
}

#[godot_api]
impl INode for GodotMcp {
    // Bound by nothing, since jobs may run the main loop again.
    #[func(gd_self)]
    fn process(_this: Gd<Self>, _delta: f64) {
        main_thread::on_process();
    }

    #[func(gd_self)]
    fn exit_tree(_this: Gd<Self>) {
        app::stop();
    }
}

#[godot_api]
impl GodotMcp {
    /// Starts the server. Errors go to the Output panel, in one sentence each.
    #[func(gd_self)]
    fn start(mut this: Gd<Self>, plugin: Gd<EditorPlugin>, logger: Gd<RefCounted>) {
        if app::current().is_some() || !wants_server() {
            return;
        }
        this.set_process(true);
        if let Err(message) = start(&plugin, logger) {
            godot_error!("Godot MCP did not start: {message}.");
        }
    }

    #[func(gd_self)]
    fn stop(_this: Gd<Self>) {
        app::stop();
    }

    /// Address of the server; empty when it does not run.
    #[func(gd_self)]
    fn url(_this: Gd<Self>) -> GString {
        app::current().map(|it| GString::from(it.url().as_str())).unwrap_or_default()
    }
}

fn wants_server() -> bool {
    // The engine's own list leaves out what it has understood, such as `--import`.
    let mut args = std::env::args_os().map(|it| it.to_string_lossy().into_owned());
    Engine::singleton().is_editor_hint()
        && !args.any(|arg| BATCH_MODES.iter().any(|it| arg.starts_with(it)))
}

fn start(plugin: &Gd<EditorPlugin>, logger: Gd<RefCounted>) -> Result<(), String> {
    quirks::name_classes();
    server_log::install();
    let settings = ProjectSettings::singleton();
    let folder = |path: &str| PathBuf::from(settings.globalize_path(path).to_string());
    let (project, user) = (folder("res://"), folder("user://"));
    let state = project.join(".godot").join("godot_mcp");
    make_private_folder(&state).map_err(|it| format!("cannot make {}: {it}", state.display()))?;

    let project_name = settings.get_setting("application/config/name").to_string();
    let version = Engine::singleton().get_version_info();
    let number = |key: &str| version.get(key).and_then(|it| it.try_to::<u32>().ok()).unwrap_or(0);
    let gate = Gate::new(
        GateSettings {
            read_only: env_flag("GODOT_MCP_READ_ONLY"),
            default_toolsets: std::env::var("GODOT_MCP_DEFAULT_TOOLSETS").ok(),
            godot: (number("major"), number("minor"), number("patch")),
            roots: Roots::new(&project, &user),
        },
        Registry::new(toolsets::builtin_specs()),
    );
    for name in &gate.unknown_toolsets {
        godot_warn!(
            "Godot MCP: GODOT_MCP_DEFAULT_TOOLSETS names \"{name}\", which does not exist."
        );
    }
    let shared = Arc::new(Shared {
        gate,
        feed: Feed::default(),
        heartbeat: Heartbeat::default(),
        queue: Queue::default(),
        glance: ArcSwap::from_pointee(Glance::default()),
        clients: parking_lot::Mutex::default(),
        godot_version: version.get("string").map(|it| it.to_string()).unwrap_or_default(),
        project_name: project_name.clone(),
        headless: DisplayServer::singleton().get_name() == "headless",
    });

    let token_file = state.join("token");
    let token =
        match env_flag("GODOT_MCP_NO_TOKEN") {
            true => None,
            false => Some(load_or_create_token(&token_file).map_err(|it| {
                format!("cannot make the token file {}: {it}", token_file.display())
            })?),
        };
    let mut options = ServerOptions::new(token);
    options.address = match std::env::var("GODOT_MCP_HOST") {
        Ok(text) => {
            text.parse().map_err(|_| format!("GODOT_MCP_HOST \"{text}\" is no IP address"))?
        }
        Err(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
    };
    options.port = port(&settings)?;
    options.session_file = Some(state.join("sessions.json"));
    let server = Server::start(Arc::new(EditorHost(Arc::clone(&shared))), options)
        .map_err(|it| it.to_string())?;

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
        .map_err(|it| format!("cannot write {}: {it}", discovery.display()))?;

    let url = server.url().to_owned();
    let announcer = server.announcer();
    shared.gate.on_change(move || announcer.tools_changed());
    scene_files::watch(plugin);
    project_settings::note();
    let app = App::new(shared, toolsets::runners(), logger);
    app.set_server(server, discovery);
    app::install(app);
    godot_print!("Godot MCP serves {project_name} at {url}");
    Ok(())
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
    server_log::drain(&app.shared.feed);
    let mut logger = app.logger.clone();
    if logger.is_instance_valid() {
        log_feed::drain(&mut logger, &app.shared.feed);
    }
}

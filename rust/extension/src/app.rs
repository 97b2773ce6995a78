//! The running instance: what is shared between threads, and what belongs to the main thread.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use godot::classes::{Node, RefCounted};
use godot::obj::{Gd, InstanceId};
use godot_mcp_core::audit::Audit;
use godot_mcp_core::feed::Feed;
use godot_mcp_core::gate::Gate;
use godot_mcp_core::heartbeat::Heartbeat;
use godot_mcp_core::journal::Journal;
use godot_mcp_core::rate::RateLimit;
use godot_mcp_server::Server;
use parking_lot::Mutex;
use tokio::runtime::Handle;

use crate::activity::Activity;
use crate::api::saves::Saves;
use crate::commands::Commands;
use crate::editor::history::UndoTokens;
use crate::editor::resource_watch::{ResourceWatch, WatchList};
use crate::editor::snapshots::Snapshots;
use crate::extensions::offers::Offered;
use crate::extensions::{self, Extensions};
use crate::main_thread::{Pump, Queue};
use crate::services::language_server::LanguageServer;
use crate::tool::Tools;

/// Readable from any thread.
pub(crate) struct Shared {
    pub(crate) gate: Gate,
    pub(crate) feed: Feed,
    pub(crate) heartbeat: Heartbeat,
    pub(crate) queue: Queue,
    pub(crate) language_server: LanguageServer,
    pub(crate) activity: Arc<Activity>,
    pub(crate) journal: Journal,
    pub(crate) commands: Commands,
    pub(crate) audit: Audit,
    /// None when the operator set no limit.
    pub(crate) rate_limit: Option<RateLimit>,
    /// What calls that a tool makes are spawned on; there once a call has come in.
    pub(crate) runtime: OnceLock<Handle>,
    /// What the main thread last saw, for tools that answer without it.
    pub(crate) glance: ArcSwap<Glance>,
    /// Resources that somebody wants to hear of.
    pub(crate) watch_list: WatchList,
    /// Prompts and resources that the project adds.
    pub(crate) offered: ArcSwap<Offered>,
    /// Names for completion.
    pub(crate) node_classes: ArcSwap<Vec<String>>,
    /// Names of connected clients, told by the server.
    pub(crate) clients: Mutex<Vec<String>>,
    pub(crate) godot_version: String,
    pub(crate) project_name: String,
    pub(crate) headless: bool,
}

/// A look at the editor, refreshed by the pump.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Glance {
    /// `res://` path of the edited scene; empty when it was never saved, none when there is none.
    pub(crate) active_scene: Option<String>,
    pub(crate) scanning: bool,
    pub(crate) playing: bool,
}

/// Owned by the main thread.
pub(crate) struct App {
    pub(crate) shared: Arc<Shared>,
    pub(crate) tools: Tools,
    pub(crate) pump: Pump,
    pub(crate) snapshots: RefCell<Snapshots>,
    pub(crate) undo_tokens: RefCell<UndoTokens>,
    pub(crate) resource_watch: ResourceWatch,
    /// Tools that the project adds.
    pub(crate) extensions: Extensions,
    /// The plugin's node, which extensions are handed.
    host: Gd<Node>,
    /// Saves that extensions asked for.
    pub(crate) saves: Saves,
    /// `log.gd`, which collects from all threads.
    pub(crate) logger: Gd<RefCounted>,
    /// State of `activity` that the dock was told of.
    pub(crate) told: Cell<u64>,
    /// The plugin's node.
    plugin: InstanceId,
    server: RefCell<Option<Server>>,
    /// The bearer token that clients need, when they need one.
    token: Option<String>,
    discovery_file: Cell<Option<PathBuf>>,
}

thread_local! {
    /// Invariant: borrowed only to clone or replace the `Rc`, never across an engine call.
    static APP: RefCell<Option<Rc<App>>> = const { RefCell::new(None) };
}

/// The running instance, when the plugin is on. Main thread.
pub(crate) fn current() -> Option<Rc<App>> {
    APP.with(|it| it.try_borrow().ok().and_then(|it| it.clone()))
}

pub(crate) fn install(app: App) -> Rc<App> {
    let app = Rc::new(app);
    APP.with(|it| *it.borrow_mut() = Some(Rc::clone(&app)));
    app
}

/// Stops the server and forgets the instance. Does nothing when none runs.
pub(crate) fn stop() {
    let app = APP.with(|it| it.borrow_mut().take());
    if let Some(app) = app {
        app.shut_down();
    }
}

impl App {
    pub(crate) fn new(
        shared: Arc<Shared>,
        tools: HashMap<&'static str, crate::tool::Runner>,
        logger: Gd<RefCounted>,
        plugin: InstanceId,
        token: Option<String>,
        host: Gd<Node>,
    ) -> Self {
        let extensions =
            Extensions::new(shared.gate.registry(), shared.gate.settings().roots.project());
        Self {
            shared,
            tools: Rc::new(tools),
            pump: Pump::default(),
            snapshots: RefCell::default(),
            undo_tokens: RefCell::default(),
            resource_watch: ResourceWatch::default(),
            extensions,
            host,
            saves: Saves::default(),
            logger,
            told: Cell::new(0),
            plugin,
            server: RefCell::new(None),
            token,
            discovery_file: Cell::new(None),
        }
    }

    pub(crate) fn set_server(&self, server: Server, discovery_file: PathBuf) {
        *self.server.borrow_mut() = Some(server);
        self.discovery_file.set(Some(discovery_file));
    }

    pub(crate) fn host(&self) -> Gd<Node> {
        self.host.clone()
    }

    pub(crate) fn plugin(&self) -> Option<Gd<Node>> {
        Gd::try_from_instance_id(self.plugin).ok()
    }

    pub(crate) fn url(&self) -> String {
        self.server.borrow().as_ref().map(|it| it.url().to_owned()).unwrap_or_default()
    }

    /// Tells clients that a resource has changed.
    pub(crate) fn announce_resource(&self, uri: &str) {
        if let Some(server) = &*self.server.borrow() {
            server.announce_resource_updated(uri);
        }
    }

    /// Tells clients that the project adds others than before.
    pub(crate) fn announce_offered(&self, prompts: bool, resources: bool) {
        let server = self.server.borrow();
        let Some(server) = &*server else { return };
        if prompts {
            server.announce_prompts_changed();
        }
        if resources {
            server.announce_resources_list_changed();
        }
    }

    pub(crate) fn token(&self) -> Option<String> {
        self.token.clone()
    }

    /// In this order: no new calls, waiting calls answered, the thread joined, the engine's sleep
    /// restored, the discovery file gone.
    fn shut_down(&self) {
        self.shared.queue.close();
        self.pump.shut_down(&self.shared.queue);
        extensions::shut_down(self);
        self.shared.gate.approvals().close();
        let server = self.server.borrow_mut().take();
        if let Some(server) = server {
            server.stop();
        }
        self.shared.journal.close();
        if let Some(file) = self.discovery_file.take() {
            // A file that is already gone is what was wanted.
            let _ = std::fs::remove_file(file);
        }
    }
}

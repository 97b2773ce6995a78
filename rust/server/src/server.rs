//! The server as the embedding program sees it, and the thread that it runs on.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use godot_mcp_core::Host;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;

use crate::access::Access;
use crate::bind::bind;
use crate::changes::Change;
use crate::clients::ClientInfo;
use crate::connections::Connections;
use crate::endpoint::{Endpoint, Shared};
use crate::http::{MCP_PATH, Routes};
use crate::options::ServerOptions;
use crate::sessions::Sessions;

/// What a stop leaves calls to come to an end, and then connections to send what they have.
const CALLS_GRACE: Duration = Duration::from_millis(300);
const CONNECTIONS_GRACE: Duration = Duration::from_millis(200);
/// Far beyond the graces. Only a host that blocks our thread makes a stop take longer.
const JOIN_TIMEOUT: Duration = Duration::from_secs(5);
const SWEEP_INTERVAL: Duration = Duration::from_secs(60);

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// S9.1: without a token anybody on the network could drive the editor.
    #[error("a token is required to listen on {0}")]
    TokenRequired(IpAddr),
    #[error("the token is empty")]
    TokenEmpty,
    #[error("no port from {first} to {last} is free")]
    PortsBusy { first: u16, last: u16, source: io::Error },
    #[error("cannot listen on {address}")]
    Bind { address: SocketAddr, source: io::Error },
    #[error("cannot start the thread of the server")]
    Thread(#[source] io::Error),
}

/// See [`Server::announcer`]. Does nothing once the server has stopped.
#[derive(Clone)]
pub struct Announcer(Arc<Shared>);

impl Announcer {
    /// Tells every client that `tools/list` has changed. From any thread; never waits.
    pub fn tools_changed(&self) {
        self.0.changes.announce(Change::Tools);
    }

    /// Tells every client that `prompts/list` has changed. From any thread; never waits.
    pub fn prompts_changed(&self) {
        self.0.changes.announce(Change::Prompts);
    }

    /// Tells those who have subscribed that a resource has changed. From any thread; never waits.
    pub fn resource_updated(&self, uri: &str) {
        self.0.changes.announce(Change::Resource(uri.into()));
    }
}

/// A running server. Stopped when dropped.
pub struct Server {
    url: String,
    port: u16,
    shared: Arc<Shared>,
    stopping: CancellationToken,
    thread: Option<(JoinHandle<()>, mpsc::Receiver<()>)>,
}

impl Server {
    /// Listens, and returns once clients can connect.
    ///
    /// # Errors
    /// When there is nothing to listen on, or when the options would leave the editor open.
    pub fn start(host: Arc<dyn Host>, options: ServerOptions) -> Result<Self, StartError> {
        match &options.token {
            None if !options.address.is_loopback() => {
                return Err(StartError::TokenRequired(options.address));
            }
            Some(token) if token.is_empty() => return Err(StartError::TokenEmpty),
            _ => {}
        }
        // One thread: for answers of microseconds, handing them between threads costs more.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(StartError::Thread)?;
        let bound = {
            let _inside = runtime.enter();
            bind(options.address, options.port)
        };
        let listeners = match bound {
            Ok(listeners) => listeners,
            Err(error) => {
                // A plain drop would panic if the caller is inside a runtime of its own.
                runtime.shutdown_background();
                return Err(error);
            }
        };
        let address = listeners[0].local_addr().map_err(StartError::Thread)?;

        let stopping = CancellationToken::new();
        let shared = Arc::new(Shared::new(host, &options, stopping.clone()));
        let (ended, wait_for_end) = mpsc::channel();
        let thread = {
            let (shared, stopping) = (shared.clone(), stopping.clone());
            thread::Builder::new().name("mcp-io".to_owned()).spawn(move || {
                block_sigpipe();
                runtime.block_on(run(shared, options, listeners, stopping));
                // Whatever is left, such as calls that ignore their cancellation, ends here.
                runtime.shutdown_timeout(CONNECTIONS_GRACE);
                drop(ended);
            })
        };
        let thread = thread.map_err(StartError::Thread)?;
        Ok(Self {
            url: format!("http://{address}{MCP_PATH}"),
            port: address.port(),
            shared,
            stopping,
            thread: Some((thread, wait_for_end)),
        })
    }

    /// Where clients connect, for example `http://127.0.0.1:8137/mcp`.
    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Tells every client that `tools/list` has changed. From any thread; never waits.
    pub fn announce_tools_changed(&self) {
        self.shared.changes.announce(Change::Tools);
    }

    /// Tells every client that `prompts/list` has changed. From any thread; never waits.
    pub fn announce_prompts_changed(&self) {
        self.shared.changes.announce(Change::Prompts);
    }

    /// Tells every client that `resources/list` has changed. From any thread; never waits.
    pub fn announce_resources_list_changed(&self) {
        self.shared.changes.announce(Change::Resources);
    }

    /// Tells those who have subscribed that a resource has changed. From any thread; never waits.
    pub fn announce_resource_updated(&self, uri: &str) {
        self.shared.changes.announce(Change::Resource(uri.into()));
    }

    /// Tells clients of changes from wherever they happen, without holding the server.
    pub fn announcer(&self) -> Announcer {
        Announcer(self.shared.clone())
    }

    /// Who has talked to the server lately.
    pub fn clients(&self) -> Vec<ClientInfo> {
        self.shared.clients.list()
    }

    /// Cancels calls, ends connections and joins the thread, in well under a second. Nothing of
    /// the server runs afterwards, so the library may be unloaded.
    pub fn stop(mut self) {
        self.shut_down();
    }

    fn shut_down(&mut self) {
        let Some((thread, ended)) = self.thread.take() else { return };
        self.stopping.cancel();
        if let Err(mpsc::RecvTimeoutError::Timeout) = ended.recv_timeout(JOIN_TIMEOUT) {
            tracing::error!("the server's thread does not end: a call of the host blocks it");
            return;
        }
        if thread.join().is_err() {
            tracing::error!("the server's thread had panicked");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shut_down();
    }
}

/// The life of the server.
async fn run(
    shared: Arc<Shared>,
    options: ServerOptions,
    listeners: Vec<TcpListener>,
    stopping: CancellationToken,
) {
    let ended = CancellationToken::new();
    let sessions = Arc::new(Sessions::new());
    let routes = Routes {
        access: Access::new(&options),
        mcp: protocol(&shared, &options, sessions.clone(), ended.clone()),
        max_request_bytes: options.max_request_bytes,
        identity: json!({"name": options.name, "version": options.version}),
    };
    let connections = Connections::new(Arc::new(routes), stopping.clone());
    for listener in listeners {
        tokio::spawn(connections.clone().accept(listener));
    }

    tokio::select! {
        () = stopping.cancelled() => {}
        () = shared.changes.publish() => {}
        () = sweep(&shared, &sessions) => {}
    }

    let calls = &shared.calls.running;
    calls.close();
    drop(timeout(CALLS_GRACE, calls.wait()).await);
    ended.cancel();
    connections.running.close();
    drop(timeout(CONNECTIONS_GRACE, connections.running.wait()).await);
}

fn protocol(
    shared: &Arc<Shared>,
    options: &ServerOptions,
    sessions: Arc<Sessions>,
    ended: CancellationToken,
) -> StreamableHttpService<Endpoint, Sessions> {
    // Host and Origin are checked in front of every route, in `access.rs`.
    let mut config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_json_response(true)
        .with_sse_retry(None)
        .with_max_request_body_bytes(options.max_request_bytes)
        .with_cancellation_token(ended);
    if let Some(file) = &shared.session_file {
        config.session_store = Some(file.clone());
    }
    let shared = shared.clone();
    StreamableHttpService::new(move || Ok(Endpoint::new(shared.clone())), sessions, config)
}

/// Forgets, once a minute, whom nobody has heard of for long.
async fn sweep(shared: &Shared, sessions: &Sessions) {
    let mut ticks = interval(SWEEP_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        sessions.sweep().await;
        shared.clients.sweep(SystemTime::now());
    }
}

/// Godot does not ignore SIGPIPE and hyper writes with `writev`: a client that hangs up in the
/// middle of an answer would end the editor. Blocked on this thread only.
#[cfg(unix)]
fn block_sigpipe() {
    // SAFETY: plain calls on a signal set that lives on this stack.
    unsafe {
        let mut signals = std::mem::zeroed();
        libc::sigemptyset(&raw mut signals);
        libc::sigaddset(&raw mut signals, libc::SIGPIPE);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const signals, std::ptr::null_mut());
    }
}

#[cfg(not(unix))]
fn block_sigpipe() {}

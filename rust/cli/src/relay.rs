//! `relay`: a client that speaks MCP over standard input and output, and the editor that serves it
//! over HTTP.
//!
//! The editor may come, go, restart and move to another port while the client stays: for each
//! request the discovery file says where the editor is. A client of 2026-07-28 has no session, and
//! its requests are passed on as they are. For one of an older version the relay keeps a session
//! with the editor, and opens a new one with the client's own greeting when the editor is another.
//!
//! | file | what |
//! |---|---|
//! | `stdio.rs`, `message.rs`, `sse.rs` | lines, messages, events |
//! | `exchange.rs` | one request and its answer |
//! | `session.rs` | sessions of older versions, and what the editor sends on its own |
//! | `listen.rs` | the same for 2026-07-28 |
//! | `offline.rs` | answers without an editor |

mod exchange;
mod listen;
mod message;
mod offline;
mod session;
mod sse;
mod stdio;

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper::body::Bytes;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use self::message::{Kind, Message};
use self::offline::{Unreached, failure};
use self::session::Session;
use self::stdio::Output;
use crate::http::Http;
use crate::open::Starter;
use crate::project::{Endpoint, Project};

/// How often the discovery file is looked at while there is no editor.
const POLL: Duration = Duration::from_millis(100);
/// What calls that run when the client leaves get to finish. Programs that pipe requests in and
/// close want their answers.
const LAST_ANSWERS: Duration = Duration::from_millis(300);
/// What the editor gets to hear that the client has left.
const FAREWELL: Duration = Duration::from_millis(300);

pub(crate) struct Options {
    pub(crate) project: Option<PathBuf>,
    /// Start a headless editor when none runs.
    pub(crate) start: bool,
    pub(crate) godot: Option<PathBuf>,
}

struct Relay {
    project: Result<Project, String>,
    starter: Option<Starter>,
    http: Http,
    out: Output,
    session: tokio::sync::Mutex<Option<Session>>,
    client: Mutex<Client>,
    running: Mutex<HashMap<String, Running>>,
    initialized: Notify,
}

/// What is known of the client, beyond editors.
#[derive(Default)]
struct Client {
    /// The parameters of its `initialize`.
    greeting: Option<Value>,
    initialized: bool,
    subscribed: BTreeSet<String>,
    /// Result of the last `tools/list` of an editor.
    tools: Option<Arc<Value>>,
    /// Ids of requests of the editor's that the client has not answered.
    asked: Vec<Value>,
    /// Whether an editor has ever answered.
    linked: bool,
}

/// A request whose answer is outstanding.
struct Running {
    id: Value,
    modern: bool,
    task: AbortHandle,
}

/// Relays until the client closes its end.
pub(crate) fn run(options: Options) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|it| format!("cannot start: {it}"))?;
    let (out, writer) = Output::start();
    runtime.block_on(async {
        let relay = Arc::new(Relay::new(&options, out));
        relay.serve(stdio::lines()).await;
    });
    // Aborts what is left; the output ends with its last owner.
    runtime.shutdown_background();
    writer.finish();
    Ok(())
}

impl Relay {
    fn new(options: &Options, out: Output) -> Self {
        let project = Project::find(options.project.as_deref());
        match &project {
            Ok(project) => crate::log(&format!("relay for {}", project.folder.display())),
            Err(reason) => crate::log(reason),
        }
        let starter = options.start.then(|| Starter::new(options.godot.clone()));
        Self {
            project,
            starter,
            http: Http::new(),
            out,
            session: tokio::sync::Mutex::default(),
            client: Mutex::default(),
            running: Mutex::default(),
            initialized: Notify::new(),
        }
    }

    async fn serve(self: &Arc<Self>, mut lines: tokio::sync::mpsc::Receiver<Bytes>) {
        if let (Some(starter), Ok(project)) = (&self.starter, &self.project) {
            starter.ensure(project);
        }
        let pushes = tokio::spawn(self.clone().keep_linked());
        loop {
            tokio::select! {
                line = lines.recv() => match line {
                    Some(line) => self.take(line).await,
                    None => break,
                },
                () = self.out.closed() => break,
            }
        }
        pushes.abort();
        self.end().await;
    }

    /// Nothing here waits for the editor, so that the client's next message is seen at once.
    async fn take(self: &Arc<Self>, line: Bytes) {
        let message = match Message::parse(line) {
            Ok(message) => message,
            Err((code, text)) => {
                self.out.send(&failure(None, code, &text, None)).await;
                return;
            }
        };
        let relay = self.clone();
        match message.kind() {
            Kind::Request => self.start(message),
            Kind::Response => drop(tokio::spawn(async move { relay.response(&message).await })),
            Kind::Notification if message.method() == "notifications/cancelled" => {
                self.cancel(message);
            }
            Kind::Notification => {
                drop(tokio::spawn(async move { relay.notification(&message).await }));
            }
        }
    }

    fn start(self: &Arc<Self>, message: Message) {
        let id = message.id().cloned().unwrap_or_default();
        let key = id.to_string();
        let modern = message.is_modern();
        let relay = self.clone();
        // The lock is held until the entry is there, so that the task cannot end before.
        let mut running = lock(&self.running);
        let task = {
            let key = key.clone();
            tokio::spawn(async move {
                relay.request(&message).await;
                lock(&relay.running).remove(&key);
            })
        };
        running.insert(key, Running { id, modern, task: task.abort_handle() });
    }

    async fn request(&self, message: &Message) {
        match message.method() {
            "initialize" => self.initialize(message).await,
            // Asks whether this end is alive.
            "ping" if !message.is_modern() => {
                let pong = json!({"jsonrpc": "2.0", "id": message.id(), "result": {}});
                self.out.send(&pong).await;
            }
            "subscriptions/listen" => self.listen(message).await,
            _ => {
                self.note_subscription(message);
                self.exchange(message).await;
            }
        }
    }

    /// The client does not want an answer any more. Closing the connection tells the editor of a
    /// request of 2026-07-28; one of a session needs the notification.
    fn cancel(self: &Arc<Self>, message: Message) {
        let key = message.params().get("requestId").unwrap_or(&Value::Null).to_string();
        let Some(running) = lock(&self.running).remove(&key) else { return };
        if running.modern {
            running.task.abort();
            return;
        }
        let relay = self.clone();
        tokio::spawn(async move {
            relay.notification(&message).await;
            running.task.abort();
        });
    }

    /// Where the editor is.
    fn endpoint(&self) -> Result<Endpoint, Unreached> {
        let project = self.project.as_ref().map_err(|it| Unreached::NoProject(it.clone()))?;
        project.endpoint().ok_or_else(|| self.unreached(project))
    }

    fn unreached(&self, project: &Project) -> Unreached {
        let folder = project.folder.display().to_string();
        match &self.starter {
            None => Unreached::NoEditor { project: folder },
            Some(starter) => {
                Unreached::Starting { project: folder, problem: starter.ensure(project) }
            }
        }
    }

    /// Ends calls and session, in well under a second.
    async fn end(&self) {
        let wait = async {
            while lock(&self.running).values().any(|it| !it.task.is_finished()) {
                sleep(Duration::from_millis(5)).await;
            }
        };
        let _ = timeout(LAST_ANSWERS, wait).await;
        let running = std::mem::take(&mut *lock(&self.running));
        let legacy = running.values().filter(|it| !it.modern).map(|it| it.id.clone()).collect();
        let _ = timeout(FAREWELL, self.leave(legacy)).await;
        running.values().for_each(|it| it.task.abort());
    }
}

/// No code panics while it holds one of these locks.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! What travels between the server and the editor: calls, answers and the host that runs them.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use serde_json::{Map, Value};

use crate::completion::{Completing, CompletionFuture, Completions};
use crate::content::{Content, Document};
use crate::error::ToolError;
use crate::feed::Severity;
use crate::prompt::{PromptCall, PromptFuture, PromptInfo};
use crate::question::{Answers, Questions};
use crate::spec::ToolSpec;

/// Set when the caller cancels or goes away. Cheap to clone, readable from any thread.
#[derive(Clone, Debug, Default)]
pub struct CancelFlag(Arc<AtomicBool>);

impl CancelFlag {
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }

    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// A client that is there: its session, or its open connections. It has left when the last clone is
/// dropped.
#[derive(Clone, Debug, Default)]
pub struct Visit(Arc<()>);

impl Visit {
    pub fn peer(&self) -> Peer {
        Peer(Arc::downgrade(&self.0))
    }
}

/// Who calls. The default is nobody.
#[derive(Clone, Debug, Default)]
pub struct Peer(Weak<()>);

impl Peer {
    /// False for nobody.
    pub fn is_there(&self) -> bool {
        self.0.strong_count() > 0
    }

    /// The visit, while it lasts.
    pub fn visit(&self) -> Option<Visit> {
        self.0.upgrade().map(Visit)
    }
}

impl PartialEq for Peer {
    fn eq(&self, other: &Self) -> bool {
        self.0.ptr_eq(&other.0)
    }
}

/// How long a call waited for its turn, and why (X10.3). The host fills it in, the server sends it.
#[derive(Clone, Debug, PartialEq)]
pub struct Waited {
    pub queued_ms: u64,
    pub reason: &'static str,
    /// Scene whose tab another client held.
    pub holder_scene: Option<String>,
}

pub type WaitedSlot = Arc<OnceLock<Waited>>;

/// Receives progress of a long call: done, total when known, and a sentence. Never blocks.
pub type ProgressSink = Arc<dyn Fn(f64, Option<f64>, &str) + Send + Sync>;

/// Receives what a call logs, for clients that asked for it. Never blocks.
pub type LogSink = Arc<dyn Fn(Severity, Value) + Send + Sync>;

/// One call as the server received it, not yet validated.
#[derive(Clone)]
pub struct ToolCall {
    pub name: String,
    pub arguments: Map<String, Value>,
    /// The whole message as it was written, for tools that ask for it.
    pub text: Option<Arc<str>>,
    /// Name that the client gave itself, for audit and the dock.
    pub client: String,
    pub peer: Peer,
    pub waited: WaitedSlot,
    pub cancel: CancelFlag,
    pub progress: Option<ProgressSink>,
    pub log: Option<LogSink>,
    /// What the client answered when this call asked something before.
    pub answers: Answers,
}

impl ToolCall {
    /// A call without a client behind it, for tests and internal use.
    pub fn new(name: impl Into<String>, arguments: Map<String, Value>) -> Self {
        Self {
            name: name.into(),
            arguments,
            text: None,
            client: String::new(),
            peer: Peer::default(),
            waited: WaitedSlot::default(),
            cancel: CancelFlag::default(),
            progress: None,
            log: None,
            answers: Answers::default(),
        }
    }
}

/// A successful answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// An object: sent as `structuredContent` and as compact JSON text.
    Json(Value),
    /// Plain text, sent as text only: for outlines, where a structured copy would double the size.
    Text(String),
    /// A PNG image with a JSON description.
    Image { png: Vec<u8>, about: Value },
    /// Several parts of any kind.
    Content(Vec<Content>),
    /// The call needs to know something first. It has done nothing yet, and is made again with the
    /// answers.
    Ask(Questions),
}

impl From<Value> for Reply {
    fn from(value: Value) -> Self {
        Self::Json(value)
    }
}

pub type Answer = Result<Reply, ToolError>;

pub type ReadFuture = Pin<Box<dyn Future<Output = Result<Document, ToolError>> + Send>>;

pub type AnswerFuture = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// A `godot://` resource as it is listed.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceInfo {
    /// The URI, or the URI template when `template` is true.
    pub uri: String,
    pub name: String,
    pub description: String,
    pub mime_type: String,
    pub template: bool,
}

/// What the server asks of the process that it is hosted in. Called on the I/O thread.
pub trait Host: Send + Sync + 'static {
    /// Tools that are listed now, in a stable order.
    fn tools(&self) -> Arc<Vec<Arc<ToolSpec>>>;

    /// One tool by name, also when it is not listed.
    fn tool(&self, name: &str) -> Option<Arc<ToolSpec>>;

    /// Runs one call through the gate. Resolves also when the call was cancelled.
    fn call(&self, call: ToolCall) -> AnswerFuture;

    /// Sentences for the model about how to use this server, at most 2 KB.
    fn instructions(&self) -> String;

    fn resources(&self) -> Vec<ResourceInfo>;

    fn read_resource(&self, uri: String) -> ReadFuture;

    /// Refuses a URI whose changes nobody will ever be told of.
    ///
    /// # Errors
    /// Says what is wrong with it.
    fn check_watchable(&self, _uri: &str) -> Result<(), ToolError> {
        Ok(())
    }

    /// The resources that somebody wants to hear of from now on. Others need not be looked at.
    fn watched(&self, _uris: BTreeSet<Arc<str>>) {}

    fn prompts(&self) -> Vec<PromptInfo> {
        Vec::new()
    }

    /// One prompt. The server has checked the arguments against [`Self::prompts`].
    fn prompt(&self, call: PromptCall) -> PromptFuture {
        let error = ToolError::not_found(format!("no prompt \"{}\"", call.name));
        Box::pin(std::future::ready(Err(error)))
    }

    /// Values for an argument of a prompt or a template; none for arguments that are free text.
    fn complete(&self, _wanted: Completing) -> CompletionFuture {
        Box::pin(std::future::ready(Ok(Completions::default())))
    }

    /// A client said hello or went away; for the dock.
    fn clients_changed(&self, _clients: Vec<String>) {}
}

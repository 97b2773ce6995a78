//! What travels between the server and the editor: calls, answers and the host that runs them.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Map, Value};

use crate::error::ToolError;
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

/// Receives progress of a long call: done, total when known, and a sentence. Never blocks.
pub type ProgressSink = Arc<dyn Fn(f64, Option<f64>, &str) + Send + Sync>;

/// One call as the server received it, not yet validated.
#[derive(Clone)]
pub struct ToolCall {
    pub name: String,
    pub arguments: Map<String, Value>,
    /// Name that the client gave itself, for audit and the dock.
    pub client: String,
    pub cancel: CancelFlag,
    pub progress: Option<ProgressSink>,
    pub elicitation: Elicitation,
}

/// How the human behind the client can be asked something (S7.2).
#[derive(Clone, Default)]
pub enum Elicitation {
    /// The client cannot ask.
    #[default]
    None,
    /// A request to the client, in its session (up to 2025-11-25).
    Request(AskClient),
    /// An answer that asks, after which the client calls again (2026-07-28). `state` is what it
    /// brought back from the answer before, with what the human said, if they said something.
    Answer { state: Option<String>, approved: Option<bool> },
}

/// Puts a yes-or-no question to the human behind the client, for so long at most.
pub type AskClient =
    Arc<dyn Fn(String, Duration) -> Pin<Box<dyn Future<Output = Asked> + Send>> + Send + Sync>;

/// What came of asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    Yes,
    No,
    /// Dismissed without an answer.
    Dismissed,
    /// Nobody answered in time.
    TimedOut,
    /// The client could not be asked.
    Failed(String),
}

impl ToolCall {
    /// A call without a client behind it, for tests and internal use.
    pub fn new(name: impl Into<String>, arguments: Map<String, Value>) -> Self {
        Self {
            name: name.into(),
            arguments,
            client: String::new(),
            cancel: CancelFlag::default(),
            progress: None,
            elicitation: Elicitation::None,
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
    /// Nothing was done: the client is to ask its human, and to call again with what they said and
    /// with `state`. Only to calls with [`Elicitation::Answer`].
    AskClient { question: String, state: String },
}

impl From<Value> for Reply {
    fn from(value: Value) -> Self {
        Self::Json(value)
    }
}

pub type Answer = Result<Reply, ToolError>;

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

    /// Reads one resource: MIME type and text.
    fn read_resource(
        &self,
        uri: String,
    ) -> Pin<Box<dyn Future<Output = Result<(String, String), ToolError>> + Send>>;

    /// A client said hello or went away; for the dock.
    fn clients_changed(&self, _clients: Vec<String>) {}
}

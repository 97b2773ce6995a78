//! A host whose tools do what tests need.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use godot_mcp_core::call::{AnswerFuture, ReadFuture, ResourceInfo};
use godot_mcp_core::feed::Severity;
use godot_mcp_core::question::{FormAnswer, Question, Questions};
use godot_mcp_core::{Code, Document, Host, Reply, SafetyClass, ToolCall, ToolError, ToolSpec};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::PATIENCE;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Event {
    Started { tool: String, client: String },
    Cancelled { tool: String },
    Clients(Vec<String>),
    Watched(Vec<String>),
}

pub(crate) struct FakeHost {
    tools: Mutex<Arc<Vec<Arc<ToolSpec>>>>,
    hidden: Arc<ToolSpec>,
    events: mpsc::UnboundedSender<Event>,
    received: tokio::sync::Mutex<mpsc::UnboundedReceiver<Event>>,
    pub(crate) panics: AtomicBool,
}

fn spec(name: &str, class: SafetyClass) -> Arc<ToolSpec> {
    let schema = json!({"type": "object", "properties": {"bytes": {"type": "integer"}}});
    let Value::Object(schema) = schema else { unreachable!() };
    Arc::new(ToolSpec::new(name, "core", class, format!("The tool {name}."), schema))
}

impl FakeHost {
    pub(crate) fn new() -> Arc<Self> {
        let tools = [
            ("echo", SafetyClass::ReadOnly),
            ("text", SafetyClass::ReadOnly),
            ("image", SafetyClass::ReadOnly),
            ("bytes", SafetyClass::ReadOnly),
            ("sigpipe", SafetyClass::ReadOnly),
            ("wait", SafetyClass::Runtime),
            ("stubborn", SafetyClass::Runtime),
            ("progress", SafetyClass::Mutating),
            ("refuse", SafetyClass::Destructive),
            ("panic", SafetyClass::Mutating),
            ("ask", SafetyClass::Mutating),
            ("log", SafetyClass::ReadOnly),
        ];
        let tools = tools.into_iter().map(|(name, class)| spec(name, class)).collect();
        let (events, received) = mpsc::unbounded_channel();
        Arc::new(Self {
            tools: Mutex::new(Arc::new(tools)),
            hidden: spec("hidden", SafetyClass::ReadOnly),
            events,
            received: tokio::sync::Mutex::new(received),
            panics: AtomicBool::new(false),
        })
    }

    /// Lists `hidden` too.
    pub(crate) fn reveal(&self) {
        let mut tools = self.tools.lock();
        let mut more = Vec::clone(&tools);
        more.push(self.hidden.clone());
        *tools = Arc::new(more);
    }

    /// The next event that is `wanted`; others before it are skipped.
    pub(crate) async fn event(&self, wanted: impl Fn(&Event) -> bool) -> Event {
        let mut received = self.received.lock().await;
        let next = async {
            loop {
                let event = received.recv().await.expect("this host holds a sender");
                if wanted(&event) {
                    return event;
                }
            }
        };
        tokio::time::timeout(PATIENCE, next).await.expect("the event should come")
    }

    pub(crate) async fn started(&self, tool: &str) -> String {
        let started = |it: &Event| matches!(it, Event::Started { tool: name, .. } if name == tool);
        match self.event(started).await {
            Event::Started { client, .. } => client,
            _ => unreachable!(),
        }
    }

    pub(crate) async fn cancelled(&self, tool: &str) {
        self.event(|it| *it == Event::Cancelled { tool: tool.to_owned() }).await;
    }
}

impl Host for FakeHost {
    fn tools(&self) -> Arc<Vec<Arc<ToolSpec>>> {
        assert!(!self.panics.load(Ordering::Relaxed), "a host that panics");
        self.tools.lock().clone()
    }

    fn tool(&self, name: &str) -> Option<Arc<ToolSpec>> {
        if name == "hidden" {
            return Some(self.hidden.clone());
        }
        self.tools.lock().iter().find(|it| it.name == name).cloned()
    }

    fn call(&self, call: ToolCall) -> AnswerFuture {
        let ToolCall { name, arguments, client, cancel, progress, log, answers, .. } = call;
        drop(self.events.send(Event::Started { tool: name.clone(), client }));
        let events = self.events.clone();
        let cancelled_waits = async move |tool: String| {
            // As the editor does between frames: the flag wakes nobody.
            while !cancel.is_cancelled() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            drop(events.send(Event::Cancelled { tool }));
        };
        Box::pin(async move {
            let bytes = || arguments.get("bytes").and_then(Value::as_u64).unwrap_or(0) as usize;
            match &*name {
                "echo" => Ok(Reply::Json(Value::Object(arguments))),
                "text" => Ok(Reply::Text("Root\n  Child".to_owned())),
                "image" => Ok(Reply::Image { png: vec![1, 2, 3], about: json!({"width": 1}) }),
                "bytes" => Ok(Reply::Text("x".repeat(bytes()))),
                "sigpipe" => Ok(Reply::Json(json!({"blocked": sigpipe_is_blocked()}))),
                "wait" => {
                    cancelled_waits(name).await;
                    Err(ToolError::new(Code::Cancelled, "cancelled"))
                }
                "stubborn" => {
                    cancelled_waits(name).await;
                    std::future::pending().await
                }
                "progress" => {
                    let progress = progress.expect("the client asked for progress");
                    for step in 1..=bytes() {
                        progress(step as f64, Some(bytes() as f64), &format!("step {step}"));
                    }
                    Ok(Reply::Json(json!({"steps": bytes()})))
                }
                "refuse" => Err(ToolError::precondition("confirm", "needs confirmation")
                    .hint("call again with `confirm`")),
                "ask" => match answers.form("color") {
                    Some(FormAnswer::Accepted(fields)) if answers.state == "asked" => {
                        Ok(Reply::Text(format!("painted {}", fields["color"])))
                    }
                    Some(answer) => Ok(Reply::Text(format!("{answer:?}"))),
                    None => {
                        let schema = json!({
                            "type": "object",
                            "properties": {"color": {"type": "string"}},
                            "required": ["color"],
                        });
                        let message = "Which color?".to_owned();
                        let form = Question::Form { message, schema };
                        let questions = Questions::one("color", form).with_state(json!("asked"));
                        Ok(Reply::Ask(questions))
                    }
                },
                "log" => {
                    if let Some(log) = log {
                        log(Severity::Info, json!("an info"));
                        log(Severity::Error, json!("an error"));
                    }
                    Ok(Reply::Text("logged".to_owned()))
                }
                "panic" => panic!("as asked"),
                "hidden" => Err(ToolError::new(Code::ToolsetDisabled, "`hidden` is off")),
                _ => unreachable!("the server asks for known tools only"),
            }
        })
    }

    fn instructions(&self) -> String {
        "Look before you change.".to_owned()
    }

    fn resources(&self) -> Vec<ResourceInfo> {
        let resource = |uri: &str, template| ResourceInfo {
            uri: uri.to_owned(),
            name: "a resource".to_owned(),
            description: "Something to read.".to_owned(),
            mime_type: "text/plain".to_owned(),
            template,
        };
        vec![resource("godot://scene", false), resource("godot://class/{name}", true)]
    }

    fn read_resource(&self, uri: String) -> ReadFuture {
        Box::pin(async move {
            match &*uri {
                "godot://scene" => Ok(Document::text("text/plain", "Root")),
                "godot://large" => Ok(Document::text("text/plain", "x".repeat(2 << 20))),
                "godot://panic" => panic!("as asked"),
                _ => Err(ToolError::not_found(format!("no resource \"{uri}\""))),
            }
        })
    }

    fn check_watchable(&self, uri: &str) -> Result<(), ToolError> {
        match uri {
            "godot://unwatchable" => Err(ToolError::not_found("nobody will tell")),
            _ => Ok(()),
        }
    }

    fn watched(&self, uris: BTreeSet<Arc<str>>) {
        let uris = uris.iter().map(|it| it.to_string()).collect();
        drop(self.events.send(Event::Watched(uris)));
    }

    fn clients_changed(&self, clients: Vec<String>) {
        drop(self.events.send(Event::Clients(clients)));
    }
}

/// On the thread that this is called on.
#[cfg(unix)]
fn sigpipe_is_blocked() -> bool {
    // SAFETY: plain calls; a null set means that the mask is only read.
    unsafe {
        let mut blocked = std::mem::zeroed();
        libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &raw mut blocked);
        libc::sigismember(&raw const blocked, libc::SIGPIPE) == 1
    }
}

#[cfg(not(unix))]
fn sigpipe_is_blocked() -> bool {
    true
}

/// Arguments of a tool call.
pub(crate) fn arguments(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("not an object: {other}"),
    }
}

//! One request of the client and its answer.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::{Method, Response, StatusCode};
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout};

use super::message::{Head, Message};
use super::offline::{self, Unreached, failure};
use super::sse::Events;
use super::{POLL, Relay, lock};
use crate::http::{Failure, collect};
use crate::project::Endpoint;

/// What a call waits for an editor that was there before: restarts take longer, but then the client
/// had better know. An error must come within 2 s.
const PATIENCE: Duration = Duration::from_millis(1500);
/// What a call waits for an editor that the relay starts; clients give up after 60 s.
const START_PATIENCE: Duration = Duration::from_secs(45);
/// What is left of a stream after the answer is read, so that the connection can be kept.
const DRAIN: Duration = Duration::from_secs(1);

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Trouble {
    /// Nothing was sent.
    Unreached(Unreached),
    /// It was sent, and may have had its effect.
    BrokeOff(String),
    /// Nothing was done: the editor does not know the session any more.
    SessionGone,
    /// The client has not said `initialize`.
    NotGreeted,
}

impl Relay {
    pub(super) async fn exchange(&self, message: &Message) {
        if let Some(answer) = self.answer(message).await {
            self.out.send_bytes(answer).await;
        }
    }

    async fn answer(&self, message: &Message) -> Option<Bytes> {
        let mut deadline = Instant::now() + self.patience(message);
        let mut again = false;
        loop {
            let trouble = match self.attempt(message).await {
                Ok(answer) => return Some(answer),
                Err(trouble) => trouble,
            };
            match trouble {
                Trouble::Unreached(why) => {
                    if Instant::now() < deadline && !why.is_final() {
                        sleep(POLL).await;
                        continue;
                    }
                    let tools = lock(&self.client).tools.clone();
                    return Some(line(&offline::answer(message, &why, tools.as_deref())));
                }
                Trouble::SessionGone if !again => again = true,
                Trouble::BrokeOff(_) if !again && self.may_repeat(message) => {
                    again = true;
                    deadline = Instant::now() + PATIENCE;
                }
                Trouble::BrokeOff(reason) => return Some(line(&offline::lost(message, &reason))),
                Trouble::SessionGone => {
                    let text = "the editor does not accept this session";
                    return Some(line(&failure(message.id(), -32603, text, None)));
                }
                Trouble::NotGreeted => {
                    let text = "send \"initialize\" first";
                    return Some(line(&failure(message.id(), -32600, text, None)));
                }
            }
        }
    }

    /// What can be answered without an editor is answered at once.
    fn patience(&self, message: &Message) -> Duration {
        let needs_editor = ["tools/call", "resources/read", "prompts/get", "completion/complete"];
        if !needs_editor.contains(&message.method()) {
            Duration::ZERO
        } else if self.starter.is_some() {
            START_PATIENCE
        } else if lock(&self.client).linked {
            PATIENCE
        } else {
            Duration::ZERO
        }
    }

    /// A call that may have changed something must not be sent twice.
    fn may_repeat(&self, message: &Message) -> bool {
        if message.method() != "tools/call" {
            return true;
        }
        let name = message.params().get("name").and_then(Value::as_str).unwrap_or_default();
        let tools = lock(&self.client).tools.clone();
        offline::is_read_only(name, tools.as_deref())
    }

    async fn attempt(&self, message: &Message) -> Result<Bytes, Trouble> {
        let endpoint = self.endpoint().map_err(Trouble::Unreached)?;
        let response = if message.is_modern() {
            let headers = message.modern_headers();
            self.post(&endpoint, &headers, message.raw.clone()).await?
        } else {
            let session = self.session(&endpoint).await?;
            self.post_in(&session, message.raw.clone()).await?
        };
        let answer = self.receive(response, message.id().unwrap_or(&Value::Null)).await?;
        self.remember(message, &answer);
        Ok(answer)
    }

    /// Sends a message; a refusal of the token is an answer that no client should see as one.
    pub(super) async fn post(
        &self,
        endpoint: &Endpoint,
        headers: &[(&str, String)],
        body: Bytes,
    ) -> Result<Response<Incoming>, Trouble> {
        self.send(endpoint, Method::POST, headers, body).await
    }

    pub(super) async fn send(
        &self,
        endpoint: &Endpoint,
        method: Method,
        headers: &[(&str, String)],
        body: Bytes,
    ) -> Result<Response<Incoming>, Trouble> {
        let mut all = vec![
            ("Content-Type", "application/json".to_owned()),
            ("Accept", "application/json, text/event-stream".to_owned()),
        ];
        all.extend_from_slice(headers);
        let response = self.http.send(endpoint, method, &all, body).await;
        let response = response.map_err(|failure| self.trouble(endpoint, failure))?;
        if response.status() == StatusCode::UNAUTHORIZED {
            let text = format!("{} does not accept the token of this project", endpoint.url);
            return Err(Trouble::Unreached(Unreached::Refused(text)));
        }
        lock(&self.client).linked = true;
        Ok(response)
    }

    pub(super) fn trouble(&self, endpoint: &Endpoint, failure: Failure) -> Trouble {
        match failure {
            Failure::BrokeOff(reason) => Trouble::BrokeOff(reason),
            Failure::NotSent(reason) => {
                crate::log(&format!("cannot connect to {}: {reason}", endpoint.url));
                let unreached = match &self.project {
                    Ok(project) => self.unreached(project),
                    Err(reason) => Unreached::NoProject(reason.clone()),
                };
                Trouble::Unreached(unreached)
            }
        }
    }

    /// The answer with this id. What else comes on the same stream, such as progress and questions,
    /// is passed on.
    pub(super) async fn receive(
        &self,
        response: Response<Incoming>,
        id: &Value,
    ) -> Result<Bytes, Trouble> {
        let status = response.status();
        if !is_stream(&response) {
            let body = collect(response.into_body()).await.map_err(broke_off)?;
            return Ok(answer_of(status, body, id));
        }
        let mut body = response.into_body();
        let mut events = Events::default();
        loop {
            let frame = match body.frame().await {
                Some(Ok(frame)) => frame,
                Some(Err(error)) => return Err(Trouble::BrokeOff(error.to_string())),
                None => return Err(Trouble::BrokeOff("its answer ended early".to_owned())),
            };
            let Some(data) = frame.data_ref() else { continue };
            let mut answer = None;
            for event in events.push(data) {
                let Some(head) = Head::parse(&event) else { continue };
                if head.is_response() && head.id == *id {
                    answer = Some(Bytes::from(event));
                } else {
                    self.downstream(&head, event.into()).await;
                }
            }
            if let Some(answer) = answer {
                tokio::spawn(timeout(DRAIN, collect(body)));
                return Ok(answer);
            }
        }
    }

    /// Passes on what the editor says on its own.
    pub(super) async fn downstream(&self, head: &Head, message: Bytes) {
        if head.is_request() {
            lock(&self.client).asked.push(head.id.clone());
        }
        self.out.send_bytes(message).await;
    }

    /// Keeps what is needed when the editor is not there.
    fn remember(&self, message: &Message, answer: &Bytes) {
        if message.method() != "tools/list" {
            return;
        }
        let Ok(mut answer) = serde_json::from_slice::<Value>(answer) else { return };
        let result = answer["result"].take();
        if result["tools"].is_array() && result.get("nextCursor").is_none() {
            lock(&self.client).tools = Some(Arc::new(result));
        }
    }
}

impl Unreached {
    /// Waiting does not help.
    fn is_final(&self) -> bool {
        matches!(self, Self::NoProject(_) | Self::Starting { problem: Some(_), .. })
    }
}

pub(super) fn is_stream(response: &Response<Incoming>) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
    kind.is_some_and(|it| it.starts_with("text/event-stream"))
}

/// The server's refusals of whole requests name no id; the client waits for one.
fn answer_of(status: StatusCode, body: Bytes, id: &Value) -> Bytes {
    let head = Head::parse(&body).filter(Head::is_response);
    if head.as_ref().is_some_and(|it| it.id == *id) {
        return body;
    }
    if head.is_some_and(|it| it.is_error())
        && let Ok(mut value) = serde_json::from_slice::<Value>(&body)
    {
        value["id"] = id.clone();
        return line(&value);
    }
    let text = String::from_utf8_lossy(&body[..body.len().min(300)]).into_owned();
    let text = format!("the editor answered with status {}: {text}", status.as_u16());
    line(&failure(Some(id), -32603, &text, None))
}

fn line(value: &Value) -> Bytes {
    value.to_string().into()
}

pub(super) fn broke_off(failure: Failure) -> Trouble {
    Trouble::BrokeOff(failure.to_string())
}

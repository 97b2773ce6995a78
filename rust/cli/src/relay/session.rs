//! The session of a client of 2025-11-25 or older, kept across editors.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Bytes, Incoming};
use hyper::{Method, Response, StatusCode};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::exchange::{Trouble, is_stream};
use super::message::{Head, Message};
use super::offline::{self, Unreached};
use super::sse::Events;
use super::{Relay, lock};
use crate::http::collect;
use crate::project::Endpoint;

const SESSION_HEADER: &str = "Mcp-Session-Id";
const VERSION_HEADER: &str = "MCP-Protocol-Version";
/// An editor answers a greeting from its I/O thread, at once.
const GREETING_TIMEOUT: Duration = Duration::from_secs(5);
/// How often an editor is looked for while there is none.
const LINK_POLL: Duration = Duration::from_millis(250);

#[derive(Clone, Debug)]
pub(super) struct Session {
    endpoint: Endpoint,
    id: Option<String>,
    version: String,
    /// The editor has been told that the greeting is complete.
    initialized: bool,
}

impl Session {
    fn headers(&self) -> Vec<(&'static str, String)> {
        let mut headers = vec![(VERSION_HEADER, self.version.clone())];
        headers.extend(self.id.clone().map(|id| (SESSION_HEADER, id)));
        headers
    }
}

impl Relay {
    /// The client's own greeting: answered by the editor when there is one.
    pub(super) async fn initialize(&self, message: &Message) {
        {
            let mut client = lock(&self.client);
            client.greeting = Some(message.params().clone());
            client.initialized = false;
            client.subscribed.clear();
        }
        // Held, so that what the client sends next finds the session.
        let mut held = self.session.lock().await;
        *held = None;
        let id = message.id().unwrap_or(&Value::Null);
        let greeted = match self.endpoint() {
            Ok(endpoint) => self.greet(&endpoint, message.raw.clone(), id).await,
            Err(why) => Err(Trouble::Unreached(why)),
        };
        let why = match greeted {
            Ok((session, answer)) => {
                *held = session;
                drop(held);
                self.out.send_bytes(answer).await;
                return;
            }
            Err(Trouble::Unreached(why)) => why,
            Err(Trouble::BrokeOff(reason)) => Unreached::Refused(reason),
            Err(trouble) => Unreached::Refused(format!("{trouble:?}")),
        };
        drop(held);
        self.out.send(&offline::answer(message, &why, None)).await;
    }

    /// The session with this editor; opened with the client's greeting when there is none.
    pub(super) async fn session(&self, endpoint: &Endpoint) -> Result<Session, Trouble> {
        let mut held = self.session.lock().await;
        if let Some(session) = held.as_ref().filter(|it| it.endpoint == *endpoint) {
            return Ok(session.clone());
        }
        *held = None;
        let greeting = lock(&self.client).greeting.clone().ok_or(Trouble::NotGreeted)?;
        let id = json!("godot-mcp-relay-initialize");
        let body = json!({"jsonrpc": "2.0", "id": id, "method": "initialize", "params": greeting});
        let (session, answer) = self.greet(endpoint, body.to_string().into(), &id).await?;
        let Some(mut session) = session else {
            let text =
                format!("it does not take the greeting: {}", String::from_utf8_lossy(&answer));
            return Err(Trouble::Unreached(Unreached::Refused(text)));
        };
        self.complete(&mut session).await?;
        *held = Some(session.clone());
        drop(held);
        crate::log(&format!("new session at {}", endpoint.url));
        self.renewed(&session).await;
        Ok(session)
    }

    /// Sends in a session. Without the session nothing was done.
    pub(super) async fn post_in(
        &self,
        session: &Session,
        body: Bytes,
    ) -> Result<Response<Incoming>, Trouble> {
        let response = self.post(&session.endpoint, &session.headers(), body).await?;
        if response.status() == StatusCode::NOT_FOUND {
            self.forget(session).await;
            return Err(Trouble::SessionGone);
        }
        Ok(response)
    }

    /// Says `initialize` to an editor. No session when it answers with an error.
    async fn greet(
        &self,
        endpoint: &Endpoint,
        body: Bytes,
        id: &Value,
    ) -> Result<(Option<Session>, Bytes), Trouble> {
        let exchange = async {
            let response = self.post(endpoint, &[], body).await?;
            let session = response.headers().get(SESSION_HEADER).and_then(|it| it.to_str().ok());
            let session = session.map(str::to_owned);
            Ok((session, self.receive(response, id).await?))
        };
        let Ok(exchanged) = timeout(GREETING_TIMEOUT, exchange).await else {
            let text = format!("{} does not answer", endpoint.url);
            return Err(Trouble::Unreached(Unreached::Refused(text)));
        };
        let (session, answer) = exchanged?;
        let value: Value = serde_json::from_slice(&answer).unwrap_or_default();
        let version = value["result"]["protocolVersion"].as_str();
        let session = version.map(|version| Session {
            endpoint: endpoint.clone(),
            id: session,
            version: version.to_owned(),
            initialized: false,
        });
        Ok((session, answer))
    }

    async fn complete(&self, session: &mut Session) -> Result<(), Trouble> {
        if !std::mem::replace(&mut session.initialized, true) {
            let done = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            let response =
                self.post(&session.endpoint, &session.headers(), done.to_string().into()).await?;
            let _ = collect(response.into_body()).await;
        }
        Ok(())
    }

    /// Another editor, or the same one anew: whatever was learned from the last may have changed.
    async fn renewed(&self, session: &Session) {
        let (asked, subscribed, initialized) = {
            let mut client = lock(&self.client);
            let asked = std::mem::take(&mut client.asked);
            (asked, client.subscribed.clone(), client.initialized)
        };
        for id in asked {
            let params = json!({"requestId": id, "reason": "the editor has gone"});
            self.notify("notifications/cancelled", Some(params)).await;
        }
        for uri in subscribed {
            let id = json!(format!("godot-mcp-relay-subscribe-{uri}"));
            let body = json!({"jsonrpc": "2.0", "id": id, "method": "resources/subscribe", "params": {"uri": uri}});
            let body = body.to_string().into();
            if let Ok(response) = self.post(&session.endpoint, &session.headers(), body).await {
                let _ = self.receive(response, &id).await;
            }
        }
        if initialized {
            self.notify("notifications/tools/list_changed", None).await;
            self.notify("notifications/resources/list_changed", None).await;
        }
    }

    async fn notify(&self, method: &str, params: Option<Value>) {
        let mut message = json!({"jsonrpc": "2.0", "method": method});
        if let Some(params) = params {
            message["params"] = params;
        }
        self.out.send(&message).await;
    }

    async fn forget(&self, session: &Session) {
        let mut held = self.session.lock().await;
        if held.as_ref().is_some_and(|it| it.id == session.id) {
            *held = None;
        }
    }

    /// A notification of the client's. Without an editor there is nobody to tell.
    pub(super) async fn notification(&self, message: &Message) {
        let ready = message.method() == "notifications/initialized";
        if ready {
            lock(&self.client).initialized = true;
            self.initialized.notify_one();
        }
        let mut held = self.session.lock().await;
        let Some(session) = held.as_mut() else { return };
        if ready {
            let _ = self.complete(session).await;
            return;
        }
        let session = session.clone();
        drop(held);
        if let Ok(response) = self.post_in(&session, message.raw.clone()).await {
            let _ = collect(response.into_body()).await;
        }
    }

    /// The client's answer to a question of the editor's.
    pub(super) async fn response(&self, message: &Message) {
        lock(&self.client).asked.retain(|it| Some(it) != message.id());
        self.notification(message).await;
    }

    /// Notes what a session is subscribed to, for the next one.
    pub(super) fn note_subscription(&self, message: &Message) {
        let Some(uri) = message.params().get("uri").and_then(Value::as_str) else { return };
        let mut client = lock(&self.client);
        match message.method() {
            "resources/subscribe" => drop(client.subscribed.insert(uri.to_owned())),
            "resources/unsubscribe" => drop(client.subscribed.remove(uri)),
            _ => {}
        }
    }

    /// Holds the stream on which the editor speaks on its own, and notices by it when the editor
    /// goes; then waits for the next.
    pub(super) async fn keep_linked(self: Arc<Self>) {
        self.initialized.notified().await;
        loop {
            if let Some(session) = self.pushes().await {
                self.forget(&session).await;
            }
            sleep(LINK_POLL).await;
        }
    }

    /// The session whose stream has ended, when there was one.
    async fn pushes(&self) -> Option<Session> {
        let endpoint = self.endpoint().ok()?;
        let session = self.session(&endpoint).await.ok()?;
        let response =
            self.send(&endpoint, Method::GET, &session.headers(), Bytes::new()).await.ok()?;
        if response.status() == StatusCode::METHOD_NOT_ALLOWED {
            // No such stream; whether the editor is another is still worth knowing.
            while self.endpoint().is_ok_and(|it| it == endpoint) {
                sleep(LINK_POLL).await;
            }
            return Some(session);
        }
        if !is_stream(&response) {
            return Some(session);
        }
        let mut body = response.into_body();
        let mut events = Events::default();
        while let Some(Ok(frame)) = body.frame().await {
            let Some(data) = frame.data_ref() else { continue };
            for event in events.push(data) {
                if let Some(head) = Head::parse(&event) {
                    self.downstream(&head, event.into()).await;
                }
            }
        }
        crate::log(&format!("the editor at {} has gone", endpoint.url));
        Some(session)
    }

    /// Takes back what runs and closes the session.
    pub(super) async fn leave(&self, running: Vec<Value>) {
        let Some(session) = self.session.lock().await.take() else { return };
        for id in running {
            let params = json!({"requestId": id, "reason": "the client has left"});
            let cancel =
                json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
            let body = cancel.to_string().into();
            let _ = self.post(&session.endpoint, &session.headers(), body).await;
        }
        let _ =
            self.send(&session.endpoint, Method::DELETE, &session.headers(), Bytes::new()).await;
    }
}

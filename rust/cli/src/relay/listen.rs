//! `subscriptions/listen` of 2026-07-28, kept across editors: the client asks once, the relay asks
//! each editor.

use std::time::Duration;

use http_body_util::BodyExt;
use hyper::Response;
use hyper::body::Incoming;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::Relay;
use super::exchange::{Trouble, is_stream};
use super::message::{Head, Message};
use super::sse::Events;

const POLL: Duration = Duration::from_millis(250);
const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

impl Relay {
    /// Ends when the client cancels it, or when an editor refuses it.
    pub(super) async fn listen(&self, message: &Message) {
        let mut acknowledged = false;
        loop {
            let opened = match self.endpoint() {
                Ok(endpoint) => {
                    let headers = message.modern_headers();
                    self.post(&endpoint, &headers, message.raw.clone()).await
                }
                Err(why) => Err(Trouble::Unreached(why)),
            };
            match opened {
                Ok(response) if is_stream(&response) => {
                    if self.follow(message, response, &mut acknowledged).await {
                        return;
                    }
                }
                Ok(response) => {
                    let id = message.id().unwrap_or(&Value::Null);
                    if let Ok(answer) = self.receive(response, id).await {
                        self.out.send_bytes(answer).await;
                        return;
                    }
                }
                // The subscription holds as soon as there is an editor.
                Err(_) if !acknowledged => {
                    acknowledged = true;
                    let wanted = message.params().get("notifications").cloned();
                    let wanted = wanted.unwrap_or_else(|| json!({}));
                    self.tell(message, ACKNOWLEDGED, json!({"notifications": wanted})).await;
                }
                Err(_) => {}
            }
            sleep(POLL).await;
        }
    }

    /// Passes on what comes; true when that was all the client will get.
    async fn follow(
        &self,
        message: &Message,
        response: Response<Incoming>,
        acknowledged: &mut bool,
    ) -> bool {
        let mut body = response.into_body();
        let mut events = Events::default();
        while let Some(Ok(frame)) = body.frame().await {
            let Some(data) = frame.data_ref() else { continue };
            for event in events.push(data) {
                let Some(head) = Head::parse(&event) else { continue };
                if head.method.as_deref() == Some(ACKNOWLEDGED) && *acknowledged {
                    // Another editor: whatever was listed may have changed.
                    self.tell_lists_changed(message).await;
                } else if head.is_response() && !head.is_error() {
                    // The editor stops; the subscription goes on with the next.
                } else {
                    *acknowledged |= head.method.as_deref() == Some(ACKNOWLEDGED);
                    let refused = head.is_response();
                    self.downstream(&head, event.into()).await;
                    if refused {
                        return true;
                    }
                }
            }
        }
        false
    }

    async fn tell_lists_changed(&self, message: &Message) {
        let wanted = message.params().get("notifications").unwrap_or(&Value::Null);
        for (key, method) in [
            ("toolsListChanged", "notifications/tools/list_changed"),
            ("resourcesListChanged", "notifications/resources/list_changed"),
            ("promptsListChanged", "notifications/prompts/list_changed"),
        ] {
            if wanted.get(key) == Some(&Value::Bool(true)) {
                self.tell(message, method, json!({})).await;
            }
        }
    }

    /// A notification of this subscription.
    async fn tell(&self, message: &Message, method: &str, mut params: Value) {
        params["_meta"] = json!({"io.modelcontextprotocol/subscriptionId": message.id()});
        self.out.send(&json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
    }
}

//! An MCP client for tests: rmcp's own, in either era, behind plain functions.

#![expect(deprecated, reason = "methods of versions before 2026-07-28 are tested too")]

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use rmcp::ClientHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientConfig, CompleteRequestParams,
    GetPromptRequestParams, Implementation, LoggingMessageNotificationParam, ProtocolVersion,
    ReadResourceRequestParams, ResourceUpdatedNotificationParam, ServerNotification,
    SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{
    ClientLifecycleMode, NotificationContext, RoleClient, RunningService,
    serve_client_with_lifecycle,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::FixedInterval;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use crate::editor::Editor;

/// Which protocol a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// `initialize` and a session, up to 2025-11-25.
    Sessions,
    /// 2026-07-28, stateless.
    Modern,
}

/// What the server says on its own.
#[derive(Clone, Debug, PartialEq)]
pub enum Heard {
    Updated(String),
    ToolsChanged,
    /// Level and data of a log message.
    Logged(String, Value),
}

/// Collects what the server says on its own.
pub struct Listener(mpsc::UnboundedSender<Heard>);

impl ClientHandler for Listener {
    fn get_info(&self) -> ClientConfig {
        let mut info = ClientConfig::default();
        info.client_info = Implementation::new("tests", "1");
        info
    }

    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _cx: NotificationContext<RoleClient>,
    ) {
        drop(self.0.send(Heard::Updated(params.uri)));
    }

    async fn on_tool_list_changed(&self, _cx: NotificationContext<RoleClient>) {
        drop(self.0.send(Heard::ToolsChanged));
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _cx: NotificationContext<RoleClient>,
    ) {
        let level = json!(params.level).as_str().unwrap_or_default().to_owned();
        drop(self.0.send(Heard::Logged(level, params.data)));
    }
}

/// A connected client, with a runtime of its own.
pub struct Client<H: ClientHandler = Listener> {
    runtime: tokio::runtime::Runtime,
    service: RunningService<RoleClient, H>,
    heard: mpsc::UnboundedReceiver<Heard>,
}

impl Client {
    pub fn connect(editor: &Editor, era: Era) -> Self {
        Self::connect_to(&editor.url, &editor.token, era)
    }

    pub fn connect_to(url: &str, token: &str, era: Era) -> Self {
        let (sender, heard) = mpsc::unbounded_channel();
        let mut client = Self::connect_as(Listener(sender), url, token, era);
        client.heard = heard;
        client
    }
}

impl<H: ClientHandler> Client<H> {
    /// With a handler of its own for what the server asks.
    pub fn connect_as(handler: H, url: &str, token: &str, era: Era) -> Self {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let mut config = StreamableHttpClientTransportConfig::with_uri(url.to_owned());
        if !token.is_empty() {
            config.auth_header = Some(token.to_owned());
        }
        config.custom_headers = HashMap::new();
        // Once a second. By default the waits double, up to minutes after a slow restart.
        config.retry_config = std::sync::Arc::new(FixedInterval::default());
        let lifecycle = match era {
            Era::Sessions => ClientLifecycleMode::Initialize,
            Era::Modern => ClientLifecycleMode::Discover {
                preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            },
        };
        let service = runtime
            .block_on(async {
                let transport = StreamableHttpClientTransport::from_config(config);
                serve_client_with_lifecycle(handler, transport, lifecycle).await
            })
            .expect("the client connects");
        // Only the default handler tells what it hears.
        Self { runtime, service, heard: mpsc::unbounded_channel().1 }
    }

    /// Says goodbye: the server ends the session.
    pub fn leave(self) {
        drop(self.runtime.block_on(self.service.cancel()));
    }

    /// What the server said on its own, until it has been silent for `silence`.
    pub fn heard_until_silent(&mut self, silence: Duration) -> Vec<Heard> {
        let mut all = Vec::new();
        let next = |heard: &mut mpsc::UnboundedReceiver<Heard>| {
            self.runtime.block_on(async {
                tokio::time::timeout(silence, heard.recv()).await.ok().flatten()
            })
        };
        while let Some(it) = next(&mut self.heard) {
            all.push(it);
        }
        all
    }

    /// Waits until the server has told of changes of all `uris`; other news are skipped.
    #[track_caller]
    pub fn hears_of(&mut self, uris: &[&str], patience: Duration) {
        let mut missing: BTreeSet<_> = uris.iter().map(|it| (*it).to_owned()).collect();
        let deadline = Instant::now() + patience;
        while !missing.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            let heard = &mut self.heard;
            let next =
                self.runtime.block_on(async { tokio::time::timeout(left, heard.recv()).await });
            match next {
                Ok(Some(Heard::Updated(uri))) => drop(missing.take(&uri)),
                Ok(Some(_)) => {}
                _ => panic!("not told of {missing:?}"),
            }
        }
    }

    pub fn subscribe(&self, uri: &str) -> Result<(), rmcp::ServiceError> {
        self.runtime.block_on(self.service.subscribe(SubscribeRequestParams::new(uri)))
    }

    pub fn unsubscribe(&self, uri: &str) {
        self.runtime
            .block_on(self.service.unsubscribe(UnsubscribeRequestParams::new(uri)))
            .expect("resources/unsubscribe");
    }

    pub fn set_log_level(&self, level: &str) {
        let params = serde_json::from_value(json!({"level": level})).expect("a level");
        self.runtime.block_on(self.service.set_level(params)).expect("logging/setLevel");
    }

    /// Opens a `subscriptions/listen` stream, acts, and collects URIs until all of `wanted` came.
    #[track_caller]
    pub fn listens(&self, uris: &[&str], act: impl FnOnce(&Self), wanted: &[&str]) -> Vec<String> {
        let mut filter = SubscriptionFilter::builder();
        for uri in uris {
            filter = filter.resource_subscription(*uri);
        }
        let listening = self.runtime.block_on(self.service.listen(filter.build()));
        let mut listening = listening.expect("subscriptions/listen");
        act(self);
        let mut heard = Vec::new();
        while wanted.iter().any(|it| !heard.iter().any(|heard| heard == it)) {
            let next = self.runtime.block_on(async {
                tokio::time::timeout(Duration::from_secs(10), listening.next()).await
            });
            match next {
                Ok(Ok(Some(ServerNotification::ResourceUpdatedNotification(it)))) => {
                    heard.push(it.params.uri);
                }
                Ok(Ok(Some(_))) => {}
                other => panic!("heard {heard:?} of {wanted:?}, then {other:?}"),
            }
        }
        heard
    }

    /// The result of `resources/read`, or the error's message.
    pub fn read(&self, uri: &str) -> Result<Value, String> {
        let read = self.service.read_resource(ReadResourceRequestParams::new(uri));
        self.runtime.block_on(read).map(|it| json!(it)).map_err(|it| it.to_string())
    }

    /// The text of a prompt, or the error's message.
    pub fn prompt(&self, name: &str, args: &Value) -> Result<String, String> {
        let mut params = GetPromptRequestParams::new(name);
        params.arguments = args.as_object().cloned();
        let prompt = self.runtime.block_on(self.service.get_prompt(params));
        let prompt = json!(prompt.map_err(|it| it.to_string())?);
        Ok(prompt["messages"][0]["content"]["text"].as_str().unwrap_or_default().to_owned())
    }

    pub fn prompts(&self) -> Value {
        json!(self.runtime.block_on(self.service.list_all_prompts()).expect("prompts/list"))
    }

    /// Values for an argument, or the error's message. `reference` is that of the protocol.
    pub fn complete(
        &self,
        reference: &Value,
        argument: &str,
        text: &str,
    ) -> Result<Vec<String>, String> {
        let argument = json!({"name": argument, "value": text});
        let params = json!({"ref": reference, "argument": argument});
        let params: CompleteRequestParams = serde_json::from_value(params).expect("a request");
        let completed = self.runtime.block_on(self.service.complete(params));
        completed.map(|it| it.completion.values).map_err(|it| it.to_string())
    }

    /// Names of the listed tools.
    pub fn tools(&self) -> Vec<rmcp::model::Tool> {
        self.runtime.block_on(self.service.list_all_tools()).expect("tools/list")
    }

    /// The result as it came.
    pub fn call_raw(&self, name: &str, args: &Value) -> CallToolResult {
        let mut params = CallToolRequestParams::new(name.to_owned());
        params.arguments = args.as_object().cloned();
        self.runtime.block_on(self.service.call_tool(params)).expect("tools/call")
    }

    /// The answer: structured content, or text as a string. `Err` is a tool error.
    pub fn call(&self, name: &str, args: Value) -> Result<Value, Value> {
        answer(self.call_raw(name, &args))
    }

    /// A call that must succeed.
    #[track_caller]
    pub fn ok(&self, name: &str, args: Value) -> Value {
        match self.call(name, args.clone()) {
            Ok(value) => value,
            Err(error) => panic!("{name} {args}: {error}"),
        }
    }

    /// A call that must be refused; its error code.
    #[track_caller]
    pub fn refused(&self, name: &str, args: Value) -> Value {
        match self.call(name, args.clone()) {
            Ok(value) => panic!("{name} {args} was not refused: {value}"),
            Err(error) => error,
        }
    }
}

fn answer(result: CallToolResult) -> Result<Value, Value> {
    let text = result.content.iter().find_map(|it| it.as_text().map(|it| it.text.clone()));
    let value =
        result.structured_content.unwrap_or_else(|| Value::String(text.unwrap_or_default()));
    if result.is_error == Some(true) { Err(value) } else { Ok(value) }
}

/// Arguments as a map.
pub fn object(args: Value) -> Map<String, Value> {
    match args {
        Value::Object(map) => map,
        other => panic!("not an object: {other}"),
    }
}

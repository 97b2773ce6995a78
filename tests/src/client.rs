//! An MCP client for tests: rmcp's own, in either era, behind plain functions.

use std::collections::HashMap;

use rmcp::ClientHandler;
use rmcp::model::{CallToolRequestParams, CallToolResult, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, RoleClient, RunningService, serve_client_with_lifecycle};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::{Map, Value};

use crate::editor::Editor;

/// Which protocol a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// `initialize` and a session, up to 2025-11-25.
    Sessions,
    /// 2026-07-28, stateless.
    Modern,
}

/// A connected client, with a runtime of its own.
pub struct Client<H: ClientHandler = ()> {
    runtime: tokio::runtime::Runtime,
    service: RunningService<RoleClient, H>,
}

impl Client {
    pub fn connect(editor: &Editor, era: Era) -> Self {
        Self::connect_to(&editor.url, &editor.token, era)
    }

    pub fn connect_to(url: &str, token: &str, era: Era) -> Self {
        Self::connect_as((), url, token, era)
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
        Self { runtime, service }
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

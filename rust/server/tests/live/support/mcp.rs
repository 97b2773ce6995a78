//! rmcp's own client, in either era.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, ElicitRequestParams,
    ElicitResult, Implementation, ProgressNotificationParam, ProtocolVersion,
    ResourceUpdatedNotificationParam,
};
use rmcp::service::{
    ClientLifecycleMode, NotificationContext, RequestContext, RunningService,
    serve_client_with_lifecycle,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, ErrorData, RoleClient, ServiceError};
use serde_json::Value;
use tokio::sync::mpsc;

use super::host::arguments;
use super::{PATIENCE, TOKEN};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// 2025-11-25, with a session.
    Legacy,
    /// 2026-07-28, without.
    Modern,
}

pub(crate) const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Heard {
    ToolsChanged,
    ResourcesChanged,
    ResourceUpdated(String),
    Progress(f64, Option<String>),
    Logged(Value),
}

pub(crate) struct Listener {
    /// What the human answers to a form; without one, the client has no forms.
    color: Option<ElicitResult>,
    heard: mpsc::UnboundedSender<Heard>,
}

impl ClientHandler for Listener {
    fn get_info(&self) -> ClientConfig {
        let mut info = ClientConfig::default();
        info.client_info = Implementation::new("tester", "7");
        if self.color.is_some() {
            info.capabilities = ClientCapabilities::builder().enable_elicitation().build();
        }
        info
    }

    async fn create_elicitation(
        &self,
        _request: ElicitRequestParams,
        _cx: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        self.color.clone().ok_or_else(|| ErrorData::internal_error("no forms", None))
    }

    async fn on_tool_list_changed(&self, _cx: NotificationContext<RoleClient>) {
        drop(self.heard.send(Heard::ToolsChanged));
    }

    async fn on_resource_list_changed(&self, _cx: NotificationContext<RoleClient>) {
        drop(self.heard.send(Heard::ResourcesChanged));
    }

    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _cx: NotificationContext<RoleClient>,
    ) {
        drop(self.heard.send(Heard::ResourceUpdated(params.uri)));
    }

    #[expect(deprecated, reason = "logging is deprecated and still asked for")]
    async fn on_logging_message(
        &self,
        params: rmcp::model::LoggingMessageNotificationParam,
        _cx: NotificationContext<RoleClient>,
    ) {
        drop(self.heard.send(Heard::Logged(params.data)));
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _cx: NotificationContext<RoleClient>,
    ) {
        drop(self.heard.send(Heard::Progress(params.progress, params.message)));
    }
}

pub(crate) struct Client {
    pub(crate) service: RunningService<RoleClient, Arc<Listener>>,
    heard: mpsc::UnboundedReceiver<Heard>,
}

impl Client {
    pub(crate) async fn connect(url: &str, era: Era) -> Self {
        Self::connect_with(url, era, None).await
    }

    /// With a human who answers forms.
    pub(crate) async fn connect_with(url: &str, era: Era, color: Option<ElicitResult>) -> Self {
        let mut config = StreamableHttpClientTransportConfig::with_uri(url);
        config.auth_header = Some(TOKEN.to_owned());
        let transport = StreamableHttpClientTransport::from_config(config);
        let lifecycle = match era {
            Era::Legacy => ClientLifecycleMode::Initialize,
            Era::Modern => ClientLifecycleMode::Discover {
                preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            },
        };
        let (sender, heard) = mpsc::unbounded_channel();
        let listener = Arc::new(Listener { color, heard: sender });
        let service = serve_client_with_lifecycle(listener, transport, lifecycle).await.unwrap();
        Self { service, heard }
    }

    pub(crate) async fn call(
        &self,
        tool: &'static str,
        args: Value,
    ) -> Result<CallToolResult, ServiceError> {
        let params = CallToolRequestParams::new(tool).with_arguments(arguments(args));
        tokio::time::timeout(PATIENCE, self.service.call_tool(params)).await.expect("an answer")
    }

    pub(crate) async fn hear(&mut self) -> Heard {
        let heard = tokio::time::timeout(PATIENCE, self.heard.recv()).await;
        heard.expect("a notification").expect("the handler holds a sender")
    }

    pub(crate) fn try_hear(&mut self) -> Option<Heard> {
        self.heard.try_recv().ok()
    }
}

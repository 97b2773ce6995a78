//! The MCP methods, for both eras of the protocol.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use futures_util::FutureExt;
use godot_mcp_core::{CancelFlag, Host, ToolCall, suggest};
use parking_lot::Mutex;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, DiscoverResult, Implementation,
    InitializeRequestParams, InitializeResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ReadResourceRequestParams,
    ReadResourceResponse, ServerCapabilities, ServerConfig, SubscribeRequestParams,
    SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::calls::{Calls, guarded, panicked};
use crate::changes::{Changes, LegacyClient, Listener, Subscribed, forward};
use crate::clients::{Clients, Presence};
use crate::options::ServerOptions;
use crate::tools::ToolList;
use crate::{answer, elicitation, resources};

/// Capabilities change only with an update of the addon, instructions rarely.
const DISCOVER_TTL_MS: u64 = 60_000;
const MAX_SUBSCRIPTIONS: usize = 256;

/// What all requests share.
pub(crate) struct Shared {
    pub(crate) host: Arc<dyn Host>,
    pub(crate) calls: Calls,
    pub(crate) changes: Changes,
    pub(crate) clients: Arc<Clients>,
    tools: ToolList,
    config: ServerConfig,
    max_answer_bytes: usize,
}

impl Shared {
    pub(crate) fn new(
        host: Arc<dyn Host>,
        options: &ServerOptions,
        stopping: CancellationToken,
    ) -> Self {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .build();
        let identity = Implementation::new(options.name.clone(), options.version.clone());
        Self {
            calls: Calls::new(host.clone(), stopping),
            changes: Changes::new(),
            clients: Arc::new(Clients::new(host.clone())),
            host,
            tools: ToolList::default(),
            config: ServerConfig::new(capabilities).with_server_info(identity),
            max_answer_bytes: options.max_answer_bytes,
        }
    }
}

/// One legacy session, or one request of 2026-07-28. rmcp makes one for each, so it is cheap.
pub(crate) struct Endpoint {
    shared: Arc<Shared>,
    session: OnceLock<LegacySession>,
}

/// What a legacy session holds; dropped with it.
struct LegacySession {
    subscribed: Subscribed,
    _forwarding: DropGuard,
    _presence: Presence,
}

impl Endpoint {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, session: OnceLock::new() }
    }

    /// Notes the client behind a request and returns its label.
    fn seen(&self, cx: &RequestContext<RoleServer>) -> String {
        let Some(client) = cx.client_info() else { return String::new() };
        let version = cx.protocol_version();
        let version = version.as_ref().map_or("", |it| it.as_str());
        self.shared.clients.seen(&client.name, &client.version, version)
    }

    fn config(&self) -> Result<ServerConfig, ErrorData> {
        let mut config = self.get_info();
        let instructions = guarded("instructions", || self.shared.host.instructions())?;
        config.instructions = Some(instructions).filter(|it| !it.is_empty());
        Ok(config)
    }

    /// The session's own state; on first use it starts to receive changes.
    fn session(&self, peer: &Peer<RoleServer>) -> &LegacySession {
        self.session.get_or_init(|| {
            let presence = peer.peer_info().map_or_else(
                || self.shared.clients.enter("", "", ""),
                |it| {
                    let (client, version) = (&it.client_info, it.protocol_version.as_str());
                    self.shared.clients.enter(&client.name, &client.version, version)
                },
            );
            let subscribed = Subscribed::new(Mutex::new(BTreeSet::new()));
            let client = LegacyClient { peer: peer.clone(), subscribed: subscribed.clone() };
            let feed = self.shared.changes.subscribe();
            let ended = CancellationToken::new();
            let forwarding = ended.clone().drop_guard();
            tokio::spawn(async move {
                ended.run_until_cancelled(forward(feed, &client)).await;
            });
            LegacySession { subscribed, _forwarding: forwarding, _presence: presence }
        })
    }

    fn unknown_tool(&self, name: &str) -> ErrorData {
        let listing = guarded("tools", || self.shared.tools.current(&*self.shared.host));
        let near = listing.map(|it| suggest::near(name, it.names(), 3)).unwrap_or_default();
        let mut message = format!("unknown tool \"{name}\"");
        if !near.is_empty() {
            let quoted: Vec<_> = near.iter().map(|it| format!("\"{it}\"")).collect();
            message += &format!("; close matches: {}", quoted.join(", "));
        }
        ErrorData::invalid_params(message, None)
    }
}

impl ServerHandler for Endpoint {
    /// Called for every request, so without the instructions, which only the greetings carry.
    fn get_info(&self) -> ServerConfig {
        self.shared.config.clone()
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        cx.peer.set_peer_info(request.clone());
        let mut result = self.negotiate_initialize(&request)?;
        result.instructions = self.config()?.instructions;
        Ok(result)
    }

    async fn on_initialized(&self, cx: NotificationContext<RoleServer>) {
        self.session(&cx.peer);
    }

    async fn discover(&self, cx: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        self.seen(&cx);
        let versions = self.supported_protocol_versions().into_owned();
        let result = DiscoverResult::from_server_info(versions, self.config()?);
        Ok(result.with_ttl_ms(DISCOVER_TTL_MS))
    }

    /// One page: some clients do not ask for the next. No time to live: toolsets can be switched.
    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        cx: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.seen(&cx);
        let listing = guarded("tools", || self.shared.tools.current(&*self.shared.host))?;
        Ok(ListToolsResult::with_all_items(listing.tools.clone()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let listing = guarded("tools", || self.shared.tools.current(&*self.shared.host)).ok()?;
        listing.get(name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let client = self.seen(&cx);
        let Shared { host, calls, max_answer_bytes, .. } = &*self.shared;
        // A tool that is switched off is known too; the host says what to enable.
        if guarded("tool", || host.tool(&request.name))?.is_none() {
            return Err(self.unknown_tool(&request.name));
        }
        let elicitation = elicitation::of(&request, &cx);
        let call = ToolCall {
            name: request.name.into_owned(),
            arguments: request.arguments.unwrap_or_default(),
            client,
            cancel: CancelFlag::default(),
            progress: None,
            elicitation,
        };
        let answer = match cx.meta.get_progress_token() {
            None => calls.run(call, &cx.ct).await,
            Some(token) => {
                let send = |update: crate::progress::Update| {
                    let mut sent = ProgressNotificationParam::new(token.clone(), update.done);
                    sent.total = update.total;
                    sent.message = Some(update.message).filter(|it| !it.is_empty());
                    // A client that does not hear of progress still gets its answer.
                    cx.peer.notify_progress(sent).map(drop)
                };
                calls.run_with_progress(call, &cx.ct, send).await
            }
        };
        Ok(answer::response(answer, *max_answer_bytes))
    }

    async fn list_resources(
        &self,
        _page: Option<PaginatedRequestParams>,
        cx: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.seen(&cx);
        let all = guarded("resources", || self.shared.host.resources())?;
        Ok(ListResourcesResult::with_all_items(resources::listed(all)))
    }

    async fn list_resource_templates(
        &self,
        _page: Option<PaginatedRequestParams>,
        cx: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        self.seen(&cx);
        let all = guarded("resources", || self.shared.host.resources())?;
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates(all)))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.seen(&cx);
        let Shared { host, calls, max_answer_bytes, .. } = &*self.shared;
        let uri = request.uri;
        let read = guarded("read_resource", || host.read_resource(uri.clone()))?;
        let read = std::panic::AssertUnwindSafe(read).catch_unwind();
        // Reading leaves nothing to record, so unlike a call it is simply dropped.
        let read = tokio::select! {
            read = calls.running.track_future(read) => read,
            () = cx.ct.cancelled() => return Err(ErrorData::internal_error("cancelled", None)),
            () = calls.stopping.cancelled() => {
                return Err(ErrorData::internal_error("the server is stopping", None));
            }
        };
        let read = read.unwrap_or_else(|panic| Err(panicked("read_resource", &*panic)));
        resources::contents(uri, read, *max_answer_bytes).map(Into::into)
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let mut subscribed = self.session(&cx.peer).subscribed.lock();
        if subscribed.len() == MAX_SUBSCRIPTIONS && !subscribed.contains(&*request.uri) {
            let message = format!("more than {MAX_SUBSCRIPTIONS} subscriptions in one session");
            return Err(ErrorData::invalid_params(message, None));
        }
        subscribed.insert(request.uri.into());
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.session(&cx.peer).subscribed.lock().remove(&*request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let mut accepted = requested.clone();
        if let Some(uris) = &mut accepted.resource_subscriptions {
            uris.truncate(MAX_SUBSCRIPTIONS);
        }
        Some(accepted)
    }

    async fn listen(&self, cx: SubscriptionContext) -> Result<(), ErrorData> {
        self.seen(cx.request_context());
        let calls = &self.shared.calls;
        let feed = self.shared.changes.subscribe();
        let listener = Listener { accepted: cx.accepted(), sink: cx.sink() };
        // Tracked, so that a stop leaves time for the final result.
        let _running = calls.running.token();
        tokio::select! {
            () = forward(feed, &listener) => {}
            () = cx.cancelled() => {}
            () = calls.stopping.cancelled() => {}
        }
        Ok(())
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [rmcp::model::ProtocolVersion]> {
        Cow::Borrowed(rmcp::model::ProtocolVersion::KNOWN_VERSIONS)
    }
}

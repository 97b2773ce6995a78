//! The MCP methods, for both eras of the protocol.

#![expect(deprecated, reason = "logging and subscriptions of versions before 2026-07-28")]

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use futures_util::FutureExt;
use godot_mcp_core::call::{self, WaitedSlot};
use godot_mcp_core::prompt::{PromptCall, PromptInfo, PromptReply};
use godot_mcp_core::{CancelFlag, Code, Host, Reply, ToolCall, ToolError, suggest};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, DiscoverResult,
    GetPromptRequestParams, GetPromptResponse, Implementation, InitializeRequestParams,
    InitializeResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, LoggingMessageNotificationParam, PaginatedRequestParams,
    ProgressNotificationParam, ProgressToken, ReadResourceRequestParams, ReadResourceResponse,
    ServerCapabilities, ServerConfig, SetLevelRequestMethod, SetLevelRequestParams,
    SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::calls::{Calls, Interest, Note, guarded, panicked};
use crate::changes::{Changes, Listener, forward};
use crate::clients::{Clients, Visits};
use crate::http::Sent;
use crate::legacy_session::LegacySession;
use crate::options::ServerOptions;
use crate::questions::{Asking, Failure, Next, is_modern};
use crate::session_store::SessionFile;
use crate::tools::ToolList;
use crate::watches::Watches;
use crate::{answer, prompts, resources};

/// Capabilities change only with an update of the addon, instructions rarely.
const DISCOVER_TTL_MS: u64 = 60_000;
pub(crate) const MAX_SUBSCRIPTIONS: usize = 256;

/// What all requests share.
pub(crate) struct Shared {
    pub(crate) host: Arc<dyn Host>,
    pub(crate) calls: Calls,
    pub(crate) changes: Changes,
    pub(crate) clients: Arc<Clients>,
    pub(crate) watches: Arc<Watches>,
    pub(crate) session_file: Option<Arc<SessionFile>>,
    asking: Asking,
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
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_completions()
            .enable_logging()
            .build();
        let identity = Implementation::new(options.name.clone(), options.version.clone());
        Self {
            calls: Calls::new(host.clone(), stopping),
            changes: Changes::new(),
            clients: Arc::new(Clients::new(host.clone())),
            watches: Arc::new(Watches::new(host.clone())),
            session_file: options
                .session_file
                .as_ref()
                .map(|it| Arc::new(SessionFile::open(it.clone()))),
            asking: Asking::new(),
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

    /// Who is behind a request: a session, or a client of the stateless protocol.
    fn caller(&self, cx: &RequestContext<RoleServer>, label: &str) -> call::Peer {
        if !is_modern(cx) {
            return self.session(&cx.peer).visit.peer();
        }
        let request = cx.extensions.get::<hyper::http::request::Parts>();
        let visits = request.and_then(|it| it.extensions.get::<Visits>());
        visits.map(|it| self.shared.clients.visitor(label, it)).unwrap_or_default()
    }

    fn config(&self) -> Result<ServerConfig, ErrorData> {
        let mut config = self.get_info();
        let instructions = guarded("instructions", || self.shared.host.instructions())?;
        config.instructions = Some(instructions).filter(|it| !it.is_empty());
        Ok(config)
    }

    /// The session's own state; on first use it starts to receive changes.
    fn session(&self, peer: &Peer<RoleServer>) -> &LegacySession {
        self.session.get_or_init(|| LegacySession::start(&self.shared, peer))
    }

    /// What the client behind a request wants to hear while its call runs.
    fn interest(&self, cx: &RequestContext<RoleServer>) -> Interest {
        let log = cx.meta.log_level().or_else(|| self.session.get()?.log_level());
        Interest { progress: cx.meta.get_progress_token().is_some(), log }
    }

    fn prompt_info(&self, name: &str) -> Result<PromptInfo, ErrorData> {
        let all = guarded("prompts", || self.shared.host.prompts())?;
        let near = suggest::near(name, all.iter().map(|it| it.name.as_str()), 3);
        all.into_iter().find(|it| it.name == name).ok_or_else(|| {
            // The code that the specification names for this.
            let error = ToolError::new(Code::ValidationError, format!("no prompt \"{name}\""));
            resources::protocol_error(&error.suggest(near))
        })
    }

    /// Reading leaves nothing to record, so unlike a call it is simply dropped when it is cancelled.
    async fn run_read<T>(
        &self,
        what: &str,
        read: impl Future<Output = Result<T, ToolError>>,
        cx: &RequestContext<RoleServer>,
    ) -> Result<Result<T, ToolError>, ErrorData> {
        let calls = &self.shared.calls;
        let read = std::panic::AssertUnwindSafe(read).catch_unwind();
        tokio::select! {
            read = calls.running.track_future(read) => {
                Ok(read.unwrap_or_else(|panic| Err(panicked(what, &*panic))))
            }
            () = cx.ct.cancelled() => Err(ErrorData::internal_error("cancelled", None)),
            () = calls.stopping.cancelled() => {
                Err(ErrorData::internal_error("the server is stopping", None))
            }
        }
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
        self.session(&cx.peer).restore(&self.shared, &cx.extensions);
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
        let Some(spec) = guarded("tool", || host.tool(&request.name))? else {
            return Err(self.unknown_tool(&request.name));
        };
        let text = spec.wants_text.then(|| sent(&cx)).flatten();
        let arguments = request.arguments.unwrap_or_default();
        let about = Value::Object(arguments.clone());
        let mut conversation = self.shared.asking.about(&cx, "tools/call", &request.name, &about);
        let state = request.request_state.as_deref();
        let mut answers = conversation.given(request.input_responses, state)?;
        let interest = self.interest(&cx);
        let (peer, waited) = (self.caller(&cx, &client), WaitedSlot::default());
        loop {
            let call = ToolCall {
                name: request.name.to_string(),
                arguments: arguments.clone(),
                text: text.clone(),
                client: client.clone(),
                peer: peer.clone(),
                waited: Arc::clone(&waited),
                cancel: CancelFlag::default(),
                progress: None,
                log: None,
                answers,
            };
            let answer = if interest.is_none() {
                calls.run(call, &cx.ct).await
            } else {
                let token = cx.meta.get_progress_token();
                let send = |note| tell(&cx.peer, token.clone(), note);
                calls.run_with_notes(call, &cx.ct, interest, send).await
            };
            answers = match answer {
                Ok(Reply::Ask(questions)) => match conversation.ask(questions).await {
                    Ok(Next::Again(answers)) => answers,
                    Ok(Next::Return(questions)) => return Ok(questions.into()),
                    Err(Failure::Protocol(error)) => return Err(error),
                    Err(Failure::Call(error)) => {
                        return Ok(answer::result(Err(error), *max_answer_bytes).into());
                    }
                },
                answer => {
                    let result = answer::result(answer, *max_answer_bytes);
                    return Ok(answer::with_wait(result, waited.get()).into());
                }
            };
        }
    }

    async fn list_prompts(
        &self,
        _page: Option<PaginatedRequestParams>,
        cx: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.seen(&cx);
        let all = guarded("prompts", || self.shared.host.prompts())?;
        Ok(ListPromptsResult::with_all_items(prompts::listed(all)))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        self.seen(&cx);
        let info = self.prompt_info(&request.name)?;
        let refused = |error: ToolError| resources::protocol_error(&error);
        let arguments = prompts::arguments(request.arguments).map_err(refused)?;
        info.check(&arguments).map_err(refused)?;
        let Shared { host, asking, .. } = &*self.shared;
        let mut conversation = asking.about(&cx, "prompts/get", &info.name, &json!(arguments));
        let state = request.request_state.as_deref();
        let mut answers = conversation.given(request.input_responses, state)?;
        loop {
            let (name, arguments) = (info.name.clone(), arguments.clone());
            let call = PromptCall { name, arguments, answers };
            let reply = guarded("prompt", || host.prompt(call))?;
            answers = match self.run_read("prompt", reply, &cx).await?.map_err(refused)? {
                PromptReply::Messages(messages) => {
                    return Ok(prompts::result(info.description, messages).into());
                }
                PromptReply::Ask(questions) => match conversation.ask(questions).await {
                    Ok(Next::Again(answers)) => answers,
                    Ok(Next::Return(questions)) => return Ok(questions.into()),
                    Err(Failure::Protocol(error)) => return Err(error),
                    Err(Failure::Call(error)) => return Err(refused(error)),
                },
            };
        }
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        self.seen(&cx);
        let wanted = prompts::completing(request)?;
        let found = guarded("complete", || self.shared.host.complete(wanted))?;
        let found = self.run_read("complete", found, &cx).await?;
        prompts::completed(found.map_err(|it| resources::protocol_error(&it))?)
    }

    /// Of the session. A request of 2026-07-28 says itself what it wants to hear.
    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if is_modern(&cx) {
            return Err(ErrorData::method_not_found::<SetLevelRequestMethod>());
        }
        self.session(&cx.peer).set_log_level(&self.shared, request.level, &cx.extensions);
        Ok(())
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
        let Shared { host, max_answer_bytes, .. } = &*self.shared;
        let uri = request.uri;
        let read = guarded("read_resource", || host.read_resource(uri.clone()))?;
        let read = self.run_read("read_resource", read, &cx).await?;
        resources::contents(uri, read, *max_answer_bytes).map(Into::into)
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let host = &self.shared.host;
        guarded("check_watchable", || host.check_watchable(&request.uri))?
            .map_err(|error| resources::about(&request.uri, &error))?;
        self.session(&cx.peer).subscribe(&self.shared, request.uri, &cx.extensions)
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.session(&cx.peer).unsubscribe(&self.shared, &request.uri, &cx.extensions);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let mut accepted = requested.clone();
        if let Some(uris) = &mut accepted.resource_subscriptions {
            // The acknowledgement names what is accepted, so the client sees what is not.
            let host = &self.shared.host;
            uris.retain(|it| matches!(guarded("watch", || host.check_watchable(it)), Ok(Ok(()))));
            uris.truncate(MAX_SUBSCRIPTIONS);
        }
        Some(accepted)
    }

    async fn listen(&self, cx: SubscriptionContext) -> Result<(), ErrorData> {
        self.seen(cx.request_context());
        let calls = &self.shared.calls;
        let feed = self.shared.changes.subscribe();
        let listener = Listener { accepted: cx.accepted(), sink: cx.sink() };
        let uris = listener.accepted.resource_subscriptions.iter().flatten();
        let _watches: Vec<_> = uris.map(|it| self.shared.watches.add(it)).collect();
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

/// A client that does not hear of it still gets its answer.
async fn tell(peer: &Peer<RoleServer>, token: Option<ProgressToken>, note: Note) {
    match (note, token) {
        (Note::Progress(update), Some(token)) => {
            let mut sent = ProgressNotificationParam::new(token, update.done);
            sent.total = update.total;
            sent.message = Some(update.message).filter(|it| !it.is_empty());
            drop(peer.notify_progress(sent).await);
        }
        (Note::Progress(_), None) => {}
        (Note::Log(log), _) => {
            let sent = LoggingMessageNotificationParam::new(log.level, log.data);
            drop(peer.notify_logging_message(sent.with_logger("godot")).await);
        }
    }
}

/// The message behind a request, as it was written.
fn sent(cx: &RequestContext<RoleServer>) -> Option<Arc<str>> {
    let parts = cx.extensions.get::<hyper::http::request::Parts>()?;
    let Sent(body) = parts.extensions.get::<Sent>()?;
    std::str::from_utf8(body).ok().map(Arc::from)
}

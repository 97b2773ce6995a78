//! What a session of a version before 2026-07-28 holds, and what of it outlives the editor.

use std::sync::Arc;

use godot_mcp_core::call::Visit;
use parking_lot::Mutex;
use rmcp::model::Extensions;
use rmcp::service::Peer;
use rmcp::transport::streamable_http_server::SessionRestoreMarker;
use rmcp::{ErrorData, RoleServer};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::changes::{LegacyClient, Subscribed, forward};
use crate::clients::Presence;
use crate::endpoint::{MAX_SUBSCRIPTIONS, Shared};
use crate::logs::Level;
use crate::session_store::Wishes;

/// Dropped with the session, and everything of it then ends.
pub(crate) struct LegacySession {
    subscribed: Subscribed,
    log_level: Mutex<Option<Level>>,
    pub(crate) visit: Visit,
    _forwarding: DropGuard,
    _presence: Presence,
}

impl LegacySession {
    /// Starts to receive changes.
    pub(crate) fn start(shared: &Arc<Shared>, peer: &Peer<RoleServer>) -> Self {
        let presence = peer.peer_info().map_or_else(
            || shared.clients.enter("", "", ""),
            |it| {
                let (client, version) = (&it.client_info, it.protocol_version.as_str());
                shared.clients.enter(&client.name, &client.version, version)
            },
        );
        let subscribed = Subscribed::default();
        let client = LegacyClient { peer: peer.clone(), subscribed: subscribed.clone() };
        let feed = shared.changes.subscribe();
        let ended = CancellationToken::new();
        let forwarding = ended.clone().drop_guard();
        tokio::spawn(async move {
            ended.run_until_cancelled(forward(feed, &client)).await;
        });
        Self {
            subscribed,
            log_level: Mutex::new(None),
            visit: Visit::default(),
            _forwarding: forwarding,
            _presence: presence,
        }
    }

    /// After a restart of the editor: goes on with what the client had asked for. It does not know
    /// of the restart, so it would not ask again.
    pub(crate) fn restore(&self, shared: &Shared, extensions: &Extensions) {
        let Some(marker) = extensions.get::<SessionRestoreMarker>() else { return };
        let Some(file) = &shared.session_file else { return };
        let Wishes { subscribed, log_level } = file.wishes(&marker.id);
        *self.log_level.lock() = log_level;
        let mut watches = self.subscribed.lock();
        for uri in subscribed.iter().filter(|it| shared.host.check_watchable(it).is_ok()) {
            watches.insert(uri.as_str().into(), shared.watches.add(uri));
        }
    }

    pub(crate) fn subscribe(
        &self,
        shared: &Shared,
        uri: String,
        extensions: &Extensions,
    ) -> Result<(), ErrorData> {
        let mut subscribed = self.subscribed.lock();
        if subscribed.contains_key(&*uri) {
            return Ok(());
        }
        if subscribed.len() == MAX_SUBSCRIPTIONS {
            let message = format!("more than {MAX_SUBSCRIPTIONS} subscriptions in one session");
            return Err(ErrorData::invalid_params(message, None));
        }
        subscribed.insert(uri.as_str().into(), shared.watches.add(&uri));
        drop(subscribed);
        keep(shared, extensions, |it| it.subscribed.extend([uri]));
        Ok(())
    }

    pub(crate) fn unsubscribe(&self, shared: &Shared, uri: &str, extensions: &Extensions) {
        if self.subscribed.lock().remove(uri).is_some() {
            keep(shared, extensions, |it| it.subscribed.retain(|it| it != uri));
        }
    }

    pub(crate) fn set_log_level(&self, shared: &Shared, level: Level, extensions: &Extensions) {
        *self.log_level.lock() = Some(level);
        keep(shared, extensions, |it| it.log_level = Some(level));
    }

    pub(crate) fn log_level(&self) -> Option<Level> {
        *self.log_level.lock()
    }
}

/// Changes what is kept of the session that a request came in.
fn keep(shared: &Shared, extensions: &Extensions, change: impl FnOnce(&mut Wishes)) {
    let request = extensions.get::<hyper::http::request::Parts>();
    let id = request.and_then(|it| it.headers.get("mcp-session-id")?.to_str().ok());
    if let (Some(file), Some(id)) = (&shared.session_file, id) {
        file.wish(id, change);
    }
}

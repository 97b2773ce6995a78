//! Legacy sessions, and a bound on how many are kept.
//!
//! Nobody is thrown out for being silent for a while. But clients come and go without closing
//! their sessions, so those that have been idle for a day go, and beyond a number the one that has
//! been idle for longest. A session in the session file comes back when its client does.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::{Stream, StreamExt};
use parking_lot::Mutex;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{RestoreOutcome, SessionId, SessionManager};

const MAX_SESSIONS: usize = 256;
const MAX_IDLE: Duration = Duration::from_secs(24 * 60 * 60);

type Inner = LocalSessionManager;
type Error = <Inner as SessionManager>::Error;

pub(crate) struct Sessions {
    inner: Inner,
    usage: Arc<Mutex<HashMap<SessionId, Usage>>>,
}

struct Usage {
    last_used: Instant,
    /// Streams that the client has open: requests under way and the one for notifications.
    open_streams: usize,
}

/// An open stream of a session, until dropped.
struct OpenStream {
    usage: Arc<Mutex<HashMap<SessionId, Usage>>>,
    id: SessionId,
}

impl Sessions {
    pub(crate) fn new() -> Self {
        let mut inner = LocalSessionManager::default();
        inner.session_config.keep_alive = None;
        // Else an empty event precedes every answer.
        inner.session_config.sse_retry = None;
        Self { inner, usage: Arc::default() }
    }

    /// Closes sessions that nobody has used for long.
    pub(crate) async fn sweep(&self) {
        for id in self.expired() {
            self.evict(&id).await;
        }
    }

    /// Makes room for one more. Sessions with an open stream stay; connections are limited anyway.
    async fn make_room(&self) {
        if let Some(id) = self.superfluous() {
            self.evict(&id).await;
        }
    }

    fn expired(&self) -> Vec<SessionId> {
        let usage = self.usage.lock();
        let idle = usage.iter().filter(|(_, it)| it.open_streams == 0);
        let expired = idle.filter(|(_, it)| it.last_used.elapsed() > MAX_IDLE);
        expired.map(|(id, _)| id.clone()).collect()
    }

    fn superfluous(&self) -> Option<SessionId> {
        let usage = self.usage.lock();
        if usage.len() < MAX_SESSIONS {
            return None;
        }
        let idle = usage.iter().filter(|(_, it)| it.open_streams == 0);
        idle.min_by_key(|(_, it)| it.last_used).map(|(id, _)| id.clone())
    }

    async fn evict(&self, id: &SessionId) {
        tracing::info!(%id, "closing an idle session");
        if let Err(error) = self.close_session(id).await {
            tracing::debug!(%error, "could not close a session");
        }
    }

    fn touch(&self, id: &SessionId) {
        if let Some(usage) = self.usage.lock().get_mut(id) {
            usage.last_used = Instant::now();
        }
    }

    fn add(&self, id: SessionId) {
        self.usage.lock().insert(id, Usage { last_used: Instant::now(), open_streams: 0 });
    }

    fn open(&self, id: &SessionId) -> OpenStream {
        if let Some(usage) = self.usage.lock().get_mut(id) {
            usage.last_used = Instant::now();
            usage.open_streams += 1;
        }
        OpenStream { usage: self.usage.clone(), id: id.clone() }
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        if let Some(usage) = self.usage.lock().get_mut(&self.id) {
            usage.last_used = Instant::now();
            usage.open_streams = usage.open_streams.saturating_sub(1);
        }
    }
}

/// The same stream, which counts as open until it is dropped.
fn counted(
    stream: impl Stream<Item = ServerSseMessage> + Send + Sync + 'static,
    open: OpenStream,
) -> impl Stream<Item = ServerSseMessage> + Send + Sync + 'static {
    stream.map(move |message| {
        let _ = &open;
        message
    })
}

impl SessionManager for Sessions {
    type Error = Error;
    type Transport = <Inner as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Error> {
        self.make_room().await;
        let (id, transport) = self.inner.create_session().await?;
        self.add(id.clone());
        Ok((id, transport))
    }

    async fn restore_session(
        &self,
        id: SessionId,
    ) -> Result<RestoreOutcome<Self::Transport>, Error> {
        self.make_room().await;
        let outcome = self.inner.restore_session(id.clone()).await?;
        if matches!(outcome, RestoreOutcome::Restored(_)) {
            self.add(id);
        }
        Ok(outcome)
    }

    fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<ServerJsonRpcMessage, Error>> + Send {
        self.inner.initialize_session(id, message)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Error> {
        self.touch(id);
        self.inner.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Error> {
        self.usage.lock().remove(id);
        self.inner.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Error> {
        let open = self.open(id);
        Ok(counted(self.inner.create_stream(id, message).await?, open))
    }

    fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.accept_message(id, message)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Error> {
        let open = self.open(id);
        Ok(counted(self.inner.create_standalone_stream(id).await?, open))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Error> {
        let open = self.open(id);
        Ok(counted(self.inner.resume(id, last_event_id).await?, open))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block_on<F: Future>(future: F) -> F::Output {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(future)
    }

    #[test]
    fn beyond_the_limit_the_longest_idle_session_without_a_stream_goes() {
        block_on(async {
            let sessions = Sessions::new();
            let mut ids = Vec::new();
            // The transports keep the sessions' workers alive.
            let mut transports = Vec::new();
            for _ in 0..MAX_SESSIONS {
                let (id, transport) = sessions.create_session().await.unwrap();
                ids.push(id);
                transports.push(transport);
            }
            let _open = sessions.open(&ids[0]);
            sessions.touch(&ids[1]);
            transports.push(sessions.create_session().await.unwrap().1);
            assert!(sessions.has_session(&ids[0]).await.unwrap(), "has an open stream");
            assert!(sessions.has_session(&ids[1]).await.unwrap(), "was just used");
            assert!(!sessions.has_session(&ids[2]).await.unwrap(), "idle for longest");
            assert_eq!(sessions.usage.lock().len(), MAX_SESSIONS);
        });
    }
}

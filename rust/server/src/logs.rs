//! What one call logs, on its way to a client that asked for it.

#![expect(deprecated, reason = "logging is for clients of versions before 2026-07-28")]

use std::future::Future;
use std::sync::Arc;

use godot_mcp_core::call::LogSink;
use godot_mcp_core::feed::Severity;
use serde_json::Value;
use tokio::sync::{Notify, mpsc};

/// How severe a message is, in the protocol's terms.
pub(crate) type Level = rmcp::model::LoggingLevel;

/// Messages that wait for a slow client; more are dropped.
const CAPACITY: usize = 100;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Log {
    pub(crate) level: Level,
    pub(crate) data: Value,
}

/// The log of one call.
pub(crate) struct Logs {
    received: mpsc::Receiver<Log>,
    closed: Arc<Notify>,
}

/// Ends the forwarding of [`Logs`] once what waits is sent.
pub(crate) struct Closer(Arc<Notify>);

impl Closer {
    pub(crate) fn close(&self) {
        self.0.notify_one();
    }
}

impl Logs {
    /// Passes on what is at least as severe as `threshold`.
    pub(crate) fn new(threshold: Level) -> (Self, LogSink, Closer) {
        let (sender, received) = mpsc::channel(CAPACITY);
        let closed = Arc::new(Notify::new());
        let sink: LogSink = Arc::new(move |severity, data| {
            let level = level(severity);
            if rank(level) >= rank(threshold) {
                // Full: the client does not take them.
                let _ = sender.try_send(Log { level, data });
            }
        });
        (Self { received, closed: closed.clone() }, sink, Closer(closed))
    }

    /// Hands messages to `send` until closed. The host may keep the sink for longer than the call.
    pub(crate) async fn forward<F: Future<Output = ()>>(mut self, send: impl Fn(Log) -> F) {
        loop {
            tokio::select! {
                biased;
                log = self.received.recv() => match log {
                    Some(log) => send(log).await,
                    None => return,
                },
                () = self.closed.notified() => self.received.close(),
            }
        }
    }
}

fn level(severity: Severity) -> Level {
    match severity {
        Severity::Info => Level::Info,
        Severity::Warning => Level::Warning,
        Severity::Error => Level::Error,
    }
}

fn rank(level: Level) -> u8 {
    match level {
        Level::Debug => 0,
        Level::Info => 1,
        Level::Notice => 2,
        Level::Warning => 3,
        Level::Error => 4,
        Level::Critical => 5,
        Level::Alert => 6,
        Level::Emergency => 7,
    }
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_severe_enough_arrives_in_order() {
        let (logs, sink, closer) = Logs::new(Level::Notice);
        for (severity, data) in [
            (Severity::Error, 1),
            (Severity::Info, 2),
            (Severity::Warning, 3),
            (Severity::Error, 4),
        ] {
            sink(severity, json!(data));
        }
        closer.close();
        let sent = Mutex::new(Vec::new());
        let forward = logs.forward(|it| {
            sent.lock().push(it.data);
            std::future::ready(())
        });
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(forward);
        assert_eq!(sent.into_inner(), [json!(1), json!(3), json!(4)]);
        // Nobody listens any more, and the tool still holds its sink.
        sink(Severity::Error, json!(5));
    }
}

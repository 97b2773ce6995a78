//! Runs one call of the host: cancellation, progress, panics, shutdown.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{OptionFuture, join};
use godot_mcp_core::{Answer, CancelFlag, Code, Host, ToolCall, ToolError};
use rmcp::ErrorData;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::logs::{Level, Log, Logs};
use crate::progress::{Progress, Update};

/// A client that does not take its progress does not hold up the answer for longer.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

pub(crate) struct Calls {
    host: Arc<dyn Host>,
    /// Everything that should come to an end before the server does.
    pub(crate) running: TaskTracker,
    pub(crate) stopping: CancellationToken,
}

/// What a client wants to hear while its call runs.
#[derive(Clone, Copy, Default)]
pub(crate) struct Interest {
    pub(crate) progress: bool,
    pub(crate) log: Option<Level>,
}

impl Interest {
    pub(crate) fn is_none(&self) -> bool {
        !self.progress && self.log.is_none()
    }
}

/// Something that happened while a call ran.
pub(crate) enum Note {
    Progress(Update),
    Log(Log),
}

/// Sets the flag when a call is dropped unfinished, as happens at the very end of the server.
struct CancelOnDrop(Option<CancelFlag>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(flag) = &self.0 {
            flag.cancel();
        }
    }
}

impl Calls {
    pub(crate) fn new(host: Arc<dyn Host>, stopping: CancellationToken) -> Self {
        Self { host, running: TaskTracker::new(), stopping }
    }

    /// Resolves with the host's answer, or early when the client cancels or the server stops.
    pub(crate) async fn run(&self, call: ToolCall, cancelled: &CancellationToken) -> Answer {
        let cancel = call.cancel.clone();
        let host = self.host.clone();
        let name = call.name.clone();
        let call = AssertUnwindSafe(async move { host.call(call).await }).catch_unwind();
        let unfinished = CancelOnDrop(Some(cancel.clone()));
        let mut running = Box::pin(self.running.track_future(async move {
            let mut unfinished = unfinished;
            let answer = call.await.unwrap_or_else(|panic| Err(panicked(&name, &*panic)));
            unfinished.0 = None;
            answer
        }));
        let message = tokio::select! {
            biased;
            answer = &mut running => return answer,
            () = cancelled.cancelled() => "the call was cancelled",
            () = self.stopping.cancelled() => "the server is stopping",
        };
        cancel.cancel();
        // The host may be past the point of no return: journal and audit still have to be written.
        tokio::spawn(running);
        Err(ToolError::new(Code::Cancelled, message))
    }

    /// As [`Self::run`], and hands notes to `send`, all of them before the answer.
    pub(crate) async fn run_with_notes<F: Future<Output = ()>>(
        &self,
        mut call: ToolCall,
        cancelled: &CancellationToken,
        interest: Interest,
        send: impl Fn(Note) -> F,
    ) -> Answer {
        let progress = Progress::default();
        if interest.progress {
            call.progress = Some(progress.sink());
        }
        let (mut logs, mut log_closer) = (None, None);
        if let Some(threshold) = interest.log {
            let (received, sink, closer) = Logs::new(threshold);
            call.log = Some(sink);
            (logs, log_closer) = (Some(received), Some(closer));
        }
        let logs = logs.map(|it| it.forward(|it| send(Note::Log(it))));
        let progressed = progress.forward(|it| send(Note::Progress(it)));
        let mut forward = pin!(join(progressed, OptionFuture::from(logs)));
        let answer = tokio::select! {
            biased;
            answer = self.run(call, cancelled) => answer,
            _ = &mut forward => unreachable!("progress is forwarded until it is closed"),
        };
        progress.close();
        if let Some(closer) = log_closer {
            closer.close();
        }
        if timeout(FLUSH_TIMEOUT, forward).await.is_err() {
            tracing::warn!("a client does not take its progress notifications");
        }
        answer
    }
}

/// Asks the host something at once. A panic must not leave a client without an answer (S3.5).
pub(crate) fn guarded<T>(what: &str, ask: impl FnOnce() -> T) -> Result<T, ErrorData> {
    catch_unwind(AssertUnwindSafe(ask)).map_err(|panic| {
        ErrorData::internal_error(panicked(what, &*panic).into_fault().message, None)
    })
}

pub(crate) fn panicked(what: &str, panic: &(dyn Any + Send)) -> ToolError {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    tracing::error!(what, panic = text.unwrap_or_default(), "panic");
    ToolError::internal(format!("`{what}` failed unexpectedly"))
}

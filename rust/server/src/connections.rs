//! Accepts connections, within limits that keep one bad client from harming the editor.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{Sleep, sleep};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::clients::Visits;
use crate::http::Routes;

/// The editor shares its file handles with us, and 1,024 is a common limit for a process.
const MAX_CONNECTIONS: usize = 512;
/// A stranger has this long to send a request that is let in.
const HELLO_TIMEOUT: Duration = Duration::from_secs(10);
/// Hyper's timeout for request heads also covers the wait between requests, so it has to be long:
/// a connection that closes just when its client sends looks like a failed call.
const IDLE_TIMEOUT: Duration = Duration::from_secs(600);
/// A reader that takes nothing for this long is gone; its buffers must not be kept.
const STALL_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_HEAD_BYTES: usize = 64 << 10;
/// Wait after a failed accept, which mostly means that no file handle is left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What all connections share.
#[derive(Clone)]
pub(crate) struct Connections {
    pub(crate) routes: Arc<Routes>,
    pub(crate) running: TaskTracker,
    pub(crate) stopping: CancellationToken,
    permits: Arc<Semaphore>,
}

impl Connections {
    pub(crate) fn new(routes: Arc<Routes>, stopping: CancellationToken) -> Self {
        let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        Self { routes, running: TaskTracker::new(), stopping, permits }
    }

    /// Accepts until the server stops.
    pub(crate) async fn accept(self, listener: TcpListener) {
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = self.stopping.cancelled() => return,
            };
            match accepted {
                Ok((stream, _)) => self.admit(stream),
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) => {
                    tracing::warn!(%error, "cannot accept connections");
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    fn admit(&self, stream: TcpStream) {
        let Ok(permit) = self.permits.clone().try_acquire_owned() else {
            tracing::warn!("more than {MAX_CONNECTIONS} connections; one was closed");
            return;
        };
        // Answers are small and must not wait for one another.
        drop(stream.set_nodelay(true));
        let (routes, stopping) = (self.routes.clone(), self.stopping.clone());
        self.running.spawn(async move {
            let _permit = permit;
            serve(stream, routes, stopping).await;
        });
    }
}

async fn serve(stream: TcpStream, routes: Arc<Routes>, stopping: CancellationToken) {
    let admitted = Arc::new(AtomicBool::new(false));
    let service = {
        let (admitted, visits) = (admitted.clone(), Visits::default());
        service_fn(move |mut request: Request<Incoming>| {
            let (routes, admitted) = (routes.clone(), admitted.clone());
            request.extensions_mut().insert(visits.clone());
            async move {
                // Before the answer, which may take long.
                let let_in = || admitted.store(true, Ordering::Relaxed);
                Ok::<_, Infallible>(routes.respond(request, let_in).await)
            }
        })
    };
    let mut connection = std::pin::pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(IDLE_TIMEOUT)
            .max_buf_size(MAX_HEAD_BYTES)
            .serve_connection(TokioIo::new(Patient { stream, stalled: None }), service)
    );
    let mut hello = std::pin::pin!(sleep(HELLO_TIMEOUT));
    let (mut greeted, mut leaving) = (false, false);
    loop {
        tokio::select! {
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "connection ended");
                }
                return;
            }
            () = hello.as_mut(), if !greeted => {
                if !admitted.load(Ordering::Relaxed) {
                    return;
                }
                greeted = true;
            }
            () = stopping.cancelled(), if !leaving => {
                leaving = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}

/// A stream whose writes fail when the other side takes nothing for [`STALL_TIMEOUT`].
struct Patient {
    stream: TcpStream,
    stalled: Option<Pin<Box<Sleep>>>,
}

impl Patient {
    fn watch<T>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(STALL_TIMEOUT)));
        stalled.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Patient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, data);
        self.watch(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, data);
        self.watch(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

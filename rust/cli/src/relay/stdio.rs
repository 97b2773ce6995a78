//! Lines in, lines out. Both on threads of their own: a read that waits cannot be taken back, and
//! must not keep the program from ending.

use std::io::{self, BufRead, Write};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use hyper::body::Bytes;
use serde_json::Value;
use tokio::sync::mpsc;

const WAITING_LINES: usize = 256;
/// A client that does not read any more must not hold up the end.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(200);

/// The client's messages, one a line, until it closes the pipe.
pub(super) fn lines() -> mpsc::Receiver<Bytes> {
    let (sender, receiver) = mpsc::channel(WAITING_LINES);
    thread::spawn(move || {
        let mut input = io::stdin().lock();
        loop {
            let mut line = Vec::new();
            match input.read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            let line = line.trim_ascii();
            if !line.is_empty() && sender.blocking_send(Bytes::copy_from_slice(line)).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Sends messages to the client.
#[derive(Clone)]
pub(super) struct Output(mpsc::Sender<Bytes>);

/// Waits for what is still to be written.
pub(super) struct Writer(JoinHandle<()>);

impl Output {
    pub(super) fn start() -> (Self, Writer) {
        let (sender, receiver) = mpsc::channel(WAITING_LINES);
        (Self(sender), Writer(thread::spawn(move || write(receiver))))
    }

    pub(super) async fn send(&self, message: &Value) {
        self.send_bytes(message.to_string().into()).await;
    }

    /// A message as the editor sent it. It must be one line; JSON allows more.
    pub(super) async fn send_bytes(&self, message: Bytes) {
        let message = if message.iter().any(|it| matches!(it, b'\n' | b'\r')) {
            let Ok(value) = serde_json::from_slice::<Value>(&message) else { return };
            value.to_string().into()
        } else {
            message
        };
        // Fails when the client is gone, and then the relay ends.
        let _ = self.0.send(message).await;
    }

    /// The client does not read any more.
    pub(super) async fn closed(&self) {
        self.0.closed().await;
    }
}

impl Writer {
    pub(super) fn finish(self) {
        let start = Instant::now();
        while !self.0.is_finished() && start.elapsed() < DRAIN_TIMEOUT {
            thread::sleep(Duration::from_millis(2));
        }
    }
}

fn write(mut messages: mpsc::Receiver<Bytes>) {
    let mut output = io::stdout().lock();
    while let Some(message) = messages.blocking_recv() {
        let mut written = output.write_all(&message).and_then(|()| output.write_all(b"\n"));
        if messages.is_empty() {
            written = written.and_then(|()| output.flush());
        }
        if written.is_err() {
            return;
        }
    }
}

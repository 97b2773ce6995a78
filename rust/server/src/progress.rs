//! Progress of one call on its way to the client.
//!
//! The tool reports from any thread and never waits. What it reports is sent in order, a few at
//! once and then ten a second; of what comes faster, the newest is kept.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use godot_mcp_core::call::ProgressSink;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

const BURST: usize = 8;
const INTERVAL: Duration = Duration::from_millis(100);
const MAX_MESSAGE_CHARS: usize = 500;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Update {
    pub(crate) done: f64,
    pub(crate) total: Option<f64>,
    pub(crate) message: String,
}

#[derive(Clone, Default)]
pub(crate) struct Progress(Arc<Shared>);

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Notify,
}

#[derive(Default)]
struct Queue {
    /// Invariant: at most [`BURST`] entries, `done` strictly increasing (the protocol demands it).
    waiting: VecDeque<Update>,
    last_done: Option<f64>,
    closed: bool,
}

enum Step {
    Send(Update),
    WaitForUpdate,
    WaitUntil(Instant),
    End,
}

impl Progress {
    /// What the tool reports to.
    pub(crate) fn sink(&self) -> ProgressSink {
        let shared = self.0.clone();
        Arc::new(move |done, total, message| shared.report(done, total, message))
    }

    /// Nothing more is coming: [`Self::forward`] sends what waits and ends.
    pub(crate) fn close(&self) {
        self.0.queue.lock().closed = true;
        self.0.changed.notify_one();
    }

    /// Hands updates to `send` until closed.
    pub(crate) async fn forward<F: Future<Output = ()>>(&self, mut send: impl FnMut(Update) -> F) {
        let mut allowance = Allowance { left: BURST, refilled: Instant::now() };
        loop {
            let step = self.0.queue.lock().next(&mut allowance);
            match step {
                Step::Send(update) => send(update).await,
                Step::WaitForUpdate => self.0.changed.notified().await,
                Step::WaitUntil(deadline) => tokio::select! {
                    () = sleep_until(deadline) => {}
                    () = self.0.changed.notified() => {}
                },
                Step::End => return,
            }
        }
    }
}

impl Shared {
    fn report(&self, done: f64, total: Option<f64>, message: &str) {
        let mut queue = self.queue.lock();
        // Also false for NaN.
        let increases = queue.last_done.is_none_or(|last| done > last) && done.is_finite();
        if queue.closed || !increases {
            return;
        }
        queue.last_done = Some(done);
        if queue.waiting.len() == BURST {
            queue.waiting.pop_back();
        }
        let message = message.chars().take(MAX_MESSAGE_CHARS).collect();
        let total = total.filter(|it| it.is_finite());
        queue.waiting.push_back(Update { done, total, message });
        drop(queue);
        self.changed.notify_one();
    }
}

impl Queue {
    fn next(&mut self, allowance: &mut Allowance) -> Step {
        if self.waiting.is_empty() {
            return if self.closed { Step::End } else { Step::WaitForUpdate };
        }
        match allowance.take() {
            Ok(()) => self.waiting.pop_front().map_or(Step::End, Step::Send),
            // The answer must not wait, so only the newest is told.
            Err(_) if self.closed => {
                self.waiting.drain(..self.waiting.len() - 1);
                self.waiting.pop_front().map_or(Step::End, Step::Send)
            }
            Err(deadline) => Step::WaitUntil(deadline),
        }
    }
}

struct Allowance {
    left: usize,
    refilled: Instant,
}

impl Allowance {
    /// Fails with the time of the next refill.
    fn take(&mut self) -> Result<(), Instant> {
        while self.left < BURST && self.refilled.elapsed() >= INTERVAL {
            self.left += 1;
            self.refilled += INTERVAL;
        }
        if self.left == BURST {
            self.refilled = Instant::now();
        }
        if self.left == 0 {
            return Err(self.refilled + INTERVAL);
        }
        self.left -= 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collected(report: impl FnOnce(&ProgressSink)) -> Vec<f64> {
        let progress = Progress::default();
        report(&progress.sink());
        progress.close();
        let sent = Mutex::new(Vec::new());
        let forward = progress.forward(|it| {
            sent.lock().push(it.done);
            std::future::ready(())
        });
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap()
            .block_on(forward);
        sent.into_inner()
    }

    #[test]
    fn a_few_updates_all_arrive_in_order() {
        let sent = collected(|sink| (0..5).for_each(|it| sink(f64::from(it), Some(5.0), "")));
        assert_eq!(sent, [0.0, 1.0, 2.0, 3.0, 4.0]);
    }

    #[test]
    fn of_a_flood_the_newest_arrives() {
        let sent = collected(|sink| (0..1000).for_each(|it| sink(f64::from(it), None, "")));
        assert_eq!(sent, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 999.0]);
    }

    #[test]
    fn progress_only_increases() {
        let sent = collected(|sink| {
            for done in [1.0, 1.0, 0.5, f64::NAN, f64::INFINITY, 2.0] {
                sink(done, None, "");
            }
        });
        assert_eq!(sent, [1.0, 2.0]);
    }
}

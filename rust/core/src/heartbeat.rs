//! Whether the editor's main thread is alive, readable while it is not.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::Mutex;

/// Beaten once a frame by the main thread.
#[derive(Debug)]
pub struct Heartbeat {
    start: Instant,
    last_ms: AtomicU64,
    busy_with: Mutex<String>,
}

impl Default for Heartbeat {
    fn default() -> Self {
        Self { start: Instant::now(), last_ms: AtomicU64::new(0), busy_with: Mutex::default() }
    }
}

impl Heartbeat {
    pub fn beat(&self) {
        self.last_ms.store(self.now_ms(), Ordering::Relaxed);
    }

    /// Time since the last beat. A frame of an idle editor takes up to 100 ms.
    pub fn stalled_ms(&self) -> u64 {
        self.now_ms().saturating_sub(self.last_ms.load(Ordering::Relaxed))
    }

    pub fn uptime_ms(&self) -> u64 {
        self.now_ms()
    }

    /// What the main thread is doing now, for example `tool create_node` or `scanning files`.
    pub fn set_busy(&self, what: impl Into<String>) {
        *self.busy_with.lock() = what.into();
    }

    pub fn busy_with(&self) -> String {
        self.busy_with.lock().clone()
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

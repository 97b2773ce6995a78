//! A rate limit for each client (S9.6). Off unless the operator sets one.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::json;

use crate::error::{Code, ToolError};

/// Clients that are remembered. A full bucket is as good as a forgotten one.
const MAX_CLIENTS: usize = 256;

/// `GODOT_MCP_RATE_LIMIT` calls a second and client, in bursts of one second's worth.
pub struct RateLimit {
    a_second: f64,
    buckets: Mutex<HashMap<String, Bucket>>,
}

struct Bucket {
    left: f64,
    filled: Instant,
}

impl RateLimit {
    /// None when the text asks for no limit.
    ///
    /// # Errors
    /// When it is no positive number.
    pub fn parse(text: &str) -> Result<Option<Self>, String> {
        let text = text.trim();
        if text.is_empty() || text == "0" {
            return Ok(None);
        }
        match text.parse::<f64>() {
            Ok(it) if it.is_finite() && it > 0.0 => Ok(Some(Self::new(it))),
            _ => Err(format!("\"{text}\" is no number of calls a second")),
        }
    }

    pub fn new(a_second: f64) -> Self {
        Self { a_second, buckets: Mutex::default() }
    }

    /// Counts one call of a client, or refuses it with the time after which to call again.
    pub fn take(&self, client: &str) -> Result<(), ToolError> {
        self.take_at(client, Instant::now())
    }

    fn take_at(&self, client: &str, now: Instant) -> Result<(), ToolError> {
        let size = self.a_second.max(1.0);
        let mut buckets = self.buckets.lock();
        if buckets.len() >= MAX_CLIENTS && !buckets.contains_key(client) {
            buckets.retain(|_, it| it.level(now, self.a_second, size) < size);
            if buckets.len() >= MAX_CLIENTS {
                return Err(self.refusal(client, Duration::from_secs(1)));
            }
        }
        let bucket =
            buckets.entry(client.to_owned()).or_insert_with(|| Bucket { left: size, filled: now });
        bucket.left = bucket.level(now, self.a_second, size);
        bucket.filled = now;
        if bucket.left >= 1.0 {
            bucket.left -= 1.0;
            return Ok(());
        }
        let wait = Duration::from_secs_f64((1.0 - bucket.left) / self.a_second);
        drop(buckets);
        Err(self.refusal(client, wait))
    }

    fn refusal(&self, client: &str, wait: Duration) -> ToolError {
        let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).saturating_add(1);
        ToolError::new(
            Code::Busy,
            format!("\"{client}\" makes more than the {} calls a second it may", self.a_second),
        )
        .hint(format!("call again after {wait_ms} ms; the operator set GODOT_MCP_RATE_LIMIT"))
        .details(json!({"retry_after_ms": wait_ms}))
    }
}

impl Bucket {
    fn level(&self, now: Instant, a_second: f64, size: f64) -> f64 {
        let passed = now.saturating_duration_since(self.filled).as_secs_f64();
        (self.left + passed * a_second).min(size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S9.6: each client has its own allowance, and is told when to come again.
    #[test]
    fn clients_are_limited_one_by_one() {
        let (limit, start) = (RateLimit::new(4.0), Instant::now());
        for _ in 0..4 {
            limit.take_at("a", start).expect("within the burst");
        }
        let refusal = limit.take_at("a", start).expect_err("one too many");
        assert!(refusal.code == Code::Busy && refusal.code.retryable());
        let details = refusal.into_fault().details.expect("details");
        assert_eq!(details["retry_after_ms"], 251);
        limit.take_at("b", start).expect("another client");
        limit.take_at("a", start + Duration::from_millis(251)).expect("after the wait");
        limit.take_at("a", start + Duration::from_millis(252)).expect_err("used up again");
    }

    #[test]
    fn strangers_do_not_fill_the_memory() {
        let (limit, start) = (RateLimit::new(1.0), Instant::now());
        for index in 0..1_000 {
            // Refused from some number on, but never remembered beyond it.
            let _ = limit.take_at(&index.to_string(), start);
        }
        assert_eq!(limit.buckets.lock().len(), MAX_CLIENTS);
        limit.take_at("new", start + Duration::from_secs(2)).expect("others are forgotten");
    }

    #[test]
    fn settings() {
        assert!(RateLimit::parse("").expect("off").is_none());
        assert!(RateLimit::parse("0").expect("off").is_none());
        assert!(RateLimit::parse("2.5").expect("on").is_some());
        for bad in ["-1", "x", "inf", "NaN", "1/s"] {
            assert!(RateLimit::parse(bad).is_err(), "{bad}");
        }
    }
}

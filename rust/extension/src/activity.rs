//! The last calls, for the dock: a bounded list that any thread writes, and a count of changes that
//! tells the main thread whether a look is worth it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use godot_mcp_core::call::Reply;
use godot_mcp_core::{Answer, Code, SafetyClass};
use parking_lot::Mutex;

/// Calls that are kept; older ones are dropped.
const CAPACITY: usize = 100;
/// Longest error message that is kept. Messages quote arguments, and those can be large.
const MAX_MESSAGE_CHARS: usize = 500;

/// One answered call.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// 1 for the first call of this session.
    pub(crate) seq: u64,
    pub(crate) ended: SystemTime,
    pub(crate) duration: Duration,
    pub(crate) tool: String,
    pub(crate) class: SafetyClass,
    /// Name that the client gave itself; empty when the server asked for itself.
    pub(crate) client: String,
    pub(crate) outcome: Outcome,
}

/// What a call came to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    Done {
        /// Of an edit that the history knows.
        undo_token: Option<String>,
        /// A dry run.
        preview: bool,
    },
    Refused {
        code: Code,
        message: String,
        hint: String,
    },
}

/// Writable and readable from any thread.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    ring: Mutex<Ring>,
    changes: AtomicU64,
}

#[derive(Debug, Default)]
struct Ring {
    calls: VecDeque<Call>,
    last: u64,
}

impl Activity {
    pub(crate) fn record(
        &self,
        tool: String,
        class: SafetyClass,
        client: String,
        duration: Duration,
        answer: &Answer,
    ) {
        let outcome = Outcome::of(answer);
        let mut ring = self.ring.lock();
        ring.last += 1;
        let seq = ring.last;
        if ring.calls.len() == CAPACITY {
            ring.calls.pop_front();
        }
        let ended = SystemTime::now();
        ring.calls.push_back(Call { seq, ended, duration, tool, class, client, outcome });
        drop(ring);
        self.touch();
    }

    /// Calls after number `seq`, oldest first.
    pub(crate) fn after(&self, seq: u64) -> Vec<Call> {
        self.ring.lock().calls.iter().filter(|it| it.seq > seq).cloned().collect()
    }

    /// Something that the dock shows has changed: calls, clients, toolsets, modes or faults.
    pub(crate) fn touch(&self) {
        self.changes.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }
}

impl Outcome {
    fn of(answer: &Answer) -> Self {
        match answer {
            Ok(Reply::Json(value)) => Self::Done {
                undo_token: value["undo_token"].as_str().map(str::to_owned),
                preview: value["dry_run"] == true,
            },
            Ok(_) => Self::Done { undo_token: None, preview: false },
            Err(error) => Self::Refused {
                code: error.code,
                message: error.message.chars().take(MAX_MESSAGE_CHARS).collect(),
                hint: error.hint.chars().take(MAX_MESSAGE_CHARS).collect(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use godot_mcp_core::ToolError;
    use serde_json::json;

    use super::*;

    fn record(activity: &Activity, answer: &Answer) {
        let took = Duration::from_millis(1);
        activity.record("tool".into(), SafetyClass::Mutating, "client".into(), took, answer);
    }

    #[test]
    fn keeps_a_bounded_number_and_pages_by_number() {
        let activity = Activity::default();
        for _ in 0..CAPACITY + 5 {
            record(&activity, &Ok(json!({}).into()));
        }
        let all = activity.after(0);
        assert_eq!((all.len(), all[0].seq), (CAPACITY, 6));
        let newest: Vec<_> = activity.after(103).iter().map(|it| it.seq).collect();
        assert_eq!(newest, [104, 105]);
        assert_eq!(activity.changes(), CAPACITY as u64 + 5);
    }

    #[test]
    fn tells_what_a_call_came_to() {
        let activity = Activity::default();
        record(&activity, &Ok(json!({"applied": true, "undo_token": "u1"}).into()));
        record(&activity, &Ok(json!({"applied": false, "dry_run": true}).into()));
        let long = ToolError::new(Code::Busy, "ä".repeat(10_000)).hint("wait");
        record(&activity, &Err(long));
        let calls = activity.after(0);
        let done = |undo_token: Option<&str>, preview| Outcome::Done {
            undo_token: undo_token.map(str::to_owned),
            preview,
        };
        assert_eq!(calls[0].outcome, done(Some("u1"), false));
        assert_eq!(calls[1].outcome, done(None, true));
        let Outcome::Refused { code, message, hint } = &calls[2].outcome else { panic!() };
        assert_eq!((*code, hint.as_str()), (Code::Busy, "wait"));
        assert_eq!(message.chars().count(), MAX_MESSAGE_CHARS);
    }
}

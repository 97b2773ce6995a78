//! What waits for a human: at the editor's dock, or at a client that comes back with an answer.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::{Proposal, Verdict};
use crate::digest;
use crate::error::ToolError;

/// Questions that may wait at once. More are refused: nobody would read them.
const MAX_WAITING: usize = 64;
const AT_THE_DOCK: &str = "the human at the editor";

/// What the human chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Once,
    Session,
    Deny,
}

impl Decision {
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "once" => Some(Self::Once),
            "session" => Some(Self::Session),
            "deny" => Some(Self::Deny),
            _ => None,
        }
    }
}

/// One question as the dock shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    pub id: u64,
    pub tool: String,
    pub client: String,
    pub safety_class: &'static str,
    pub title: String,
    pub changes: Vec<String>,
    pub expires_in_s: f64,
}

type Tell = Box<dyn FnOnce(Verdict) + Send>;

struct Question {
    id: u64,
    proposal: Proposal,
    expires: Instant,
    tell: Tell,
}

/// The dock's questions. Works from any thread.
#[derive(Default)]
pub struct Desk {
    waiting: Mutex<Vec<Question>>,
    attended: AtomicBool,
    last_id: AtomicU64,
    on_change: Mutex<Option<Arc<dyn Fn() + Send + Sync>>>,
}

impl Desk {
    /// Whether somebody is there to answer: an editor with a window has its dock.
    pub fn is_attended(&self) -> bool {
        self.attended.load(Ordering::Acquire)
    }

    pub fn attend(&self, attended: bool) {
        self.attended.store(attended, Ordering::Release);
    }

    /// Calls `notify`, from any thread, whenever a question comes or goes.
    pub fn on_change(&self, notify: impl Fn() + Send + Sync + 'static) {
        *self.on_change.lock() = Some(Arc::new(notify));
    }

    fn changed(&self) {
        let notify = self.on_change.lock().clone();
        if let Some(notify) = notify {
            notify();
        }
    }

    /// Lays a question on the desk; `tell` is called once with the verdict. Its id, or none when
    /// the desk is full.
    pub fn ask(
        &self,
        proposal: Proposal,
        patience: Duration,
        tell: impl FnOnce(Verdict) + Send + 'static,
    ) -> Option<u64> {
        let mut waiting = self.waiting.lock();
        if waiting.len() >= MAX_WAITING {
            return None;
        }
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let expires = Instant::now() + patience;
        waiting.push(Question { id, proposal, expires, tell: Box::new(tell) });
        drop(waiting);
        self.changed();
        Some(id)
    }

    /// Takes a question back: its caller went away or waited long enough.
    pub fn withdraw(&self, id: u64) {
        self.waiting.lock().retain(|it| it.id != id);
        self.changed();
    }

    /// What the dock shows.
    pub fn look(&self) -> Vec<Waiting> {
        self.expire();
        let now = Instant::now();
        let waiting = self.waiting.lock();
        waiting
            .iter()
            .map(|it| Waiting {
                id: it.id,
                tool: it.proposal.tool.clone(),
                client: it.proposal.client.clone(),
                safety_class: it.proposal.class,
                title: it.proposal.title.clone(),
                changes: it.proposal.lines(),
                expires_in_s: it.expires.saturating_duration_since(now).as_secs_f64(),
            })
            .collect()
    }

    /// The human's word. False when the question is not there any more.
    pub fn answer(&self, id: u64, decision: Decision) -> bool {
        self.expire();
        let mut waiting = self.waiting.lock();
        let Some(index) = waiting.iter().position(|it| it.id == id) else { return false };
        let question = waiting.remove(index);
        drop(waiting);
        (question.tell)(match decision {
            Decision::Once => Verdict::Approved(AT_THE_DOCK.to_owned()),
            Decision::Session => Verdict::ApprovedForSession(AT_THE_DOCK.to_owned()),
            Decision::Deny => Verdict::Denied(format!("{AT_THE_DOCK} said no")),
        });
        self.changed();
        true
    }

    pub(super) fn close(&self) {
        for question in std::mem::take(&mut *self.waiting.lock()) {
            (question.tell)(Verdict::Denied("the plugin was switched off".to_owned()));
        }
    }

    fn expire(&self) {
        let now = Instant::now();
        let mut waiting = self.waiting.lock();
        let (late, rest) =
            std::mem::take(&mut *waiting).into_iter().partition(|it| it.expires <= now);
        *waiting = rest;
        drop(waiting);
        let late: Vec<Question> = late;
        for question in late {
            (question.tell)(Verdict::Denied("nobody at the editor answered in time".to_owned()));
        }
    }
}

/// What a client that comes back was asked.
pub(super) struct Round {
    pub(super) client: String,
    pub(super) tool: String,
    pub(super) digest: String,
    expires: Instant,
}

/// Questions that travel in answers, by the state that has to come back with the next call.
#[derive(Default)]
pub(super) struct Rounds(Mutex<HashMap<String, Round>>);

impl Rounds {
    pub(super) fn open(&self, proposal: &Proposal, expires: Instant) -> Result<String, ToolError> {
        let state = digest::random::<16>()?;
        let mut rounds = self.0.lock();
        let now = Instant::now();
        rounds.retain(|_, it| it.expires > now);
        if rounds.len() >= MAX_WAITING {
            return Err(super::denied("too many calls wait for an approval already"));
        }
        let Proposal { client, tool, digest, .. } = proposal.clone();
        rounds.insert(state.clone(), Round { client, tool, digest, expires });
        Ok(state)
    }

    pub(super) fn take(&self, state: &str) -> Option<Round> {
        self.0.lock().remove(state).filter(|it| it.expires > Instant::now())
    }
}

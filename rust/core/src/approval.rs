//! Approval by a human before a call changes anything (S7).
//!
//! The main thread plans a call, the plan leaves the main thread, somebody is asked, and a second
//! job plans again. A [`Grant`] is bound to the hash of tool, arguments and plan, is used up by that
//! second job, and expires. Nothing here waits: those who ask are told by a callback.

mod desk;
mod proposal;
mod webhook;

use std::collections::HashSet;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Map, Value};

use crate::digest;
use crate::error::{Code, ToolError};
use crate::safety::SafetyClass;
use crate::spec::ToolSpec;

pub use desk::{Decision, Desk, Waiting};
pub use proposal::{MAX_LINES, Proposal};
pub use webhook::Webhook;

use desk::Rounds;

/// How long the second plan may take to come.
const GRANT_LIFETIME: Duration = Duration::from_secs(60);
/// How long a human is waited for when the operator says nothing.
const PATIENCE: Duration = Duration::from_secs(60);

/// What somebody said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Who allowed it, for the audit log.
    Approved(String),
    /// As above, and the same tool for the same client until the editor closes.
    ApprovedForSession(String),
    /// Why not, in words for the caller.
    Denied(String),
}

/// An approval of one plan. Not `Clone`: it is used once.
#[derive(Debug)]
pub struct Grant {
    /// None for an entry of a batch whose plan could not be shown, which was said.
    digest: Option<String>,
    expires: Instant,
    pub by: String,
}

impl Grant {
    /// Uses the approval for a plan.
    ///
    /// # Errors
    /// `STATE_CHANGED` when the plan is another one, `APPROVAL_DENIED` when it came too late.
    pub fn redeem(self, digest: &str) -> Result<(), ToolError> {
        if Instant::now() >= self.expires {
            return Err(denied("the approval expired before the call could run"));
        }
        if self.digest.is_some_and(|it| it != digest) {
            return Err(ToolError::new(
                Code::StateChanged,
                "what the human approved is not what the call would do now",
            )
            .hint("nothing was changed; look at the scene, then call again to ask again"));
        }
        Ok(())
    }

    /// Uses the approval of a batch: a grant for each of its entries, bound to the plan that was
    /// shown of it. `digest` is of the whole batch as it is planned now.
    ///
    /// # Errors
    /// As `redeem`.
    pub fn divide(
        self,
        digest: &str,
        entries: impl IntoIterator<Item = Option<String>>,
    ) -> Result<Vec<Self>, ToolError> {
        let (expires, by) = (self.expires, self.by.clone());
        self.redeem(digest)?;
        let grant = |digest| Self { digest, expires, by: by.clone() };
        Ok(entries.into_iter().map(grant).collect())
    }
}

/// Whom to ask, as the operator decided at start.
pub struct Policy {
    /// Or why the configured one cannot be used: then everything is denied.
    webhook: Option<Result<Webhook, String>>,
    require: bool,
    patience: Duration,
}

impl Policy {
    /// Nobody is asked.
    pub fn off() -> Self {
        Self { webhook: None, require: false, patience: PATIENCE }
    }

    /// From `GODOT_MCP_APPROVAL_*`, and sentences about settings that make no sense. What makes no
    /// sense never loosens the policy.
    pub fn from_settings(get: impl Fn(&str) -> Option<String>) -> (Self, Vec<String>) {
        let mut notices = Vec::new();
        let is_on = |name: &str| get(name).is_some_and(|it| is_true(&it));
        let given = get("GODOT_MCP_APPROVAL_TIMEOUT");
        let seconds = given.as_ref().and_then(|it| it.trim().parse::<f64>().ok());
        let timeout = seconds
            .filter(|it| *it > 0.0 && *it <= 3_600.0)
            .and_then(|it| Duration::try_from_secs_f64(it).ok());
        if let (Some(text), None) = (&given, timeout) {
            notices.push(format!(
                "GODOT_MCP_APPROVAL_TIMEOUT \"{text}\" is no number of seconds up to 3600; the default is used"
            ));
        }
        let address = get("GODOT_MCP_APPROVAL_WEBHOOK").filter(|it| !it.trim().is_empty());
        let webhook = address.map(|address| {
            let secret = get("GODOT_MCP_APPROVAL_SECRET").filter(|it| !it.is_empty());
            let fail_open = is_on("GODOT_MCP_APPROVAL_FAIL_OPEN");
            Webhook::new(address.trim(), secret, timeout, fail_open)
        });
        if let Some(Err(why)) = &webhook {
            notices.push(format!("{why}, so every call that needs an approval is denied"));
        }
        let require = is_on("GODOT_MCP_APPROVAL_REQUIRE");
        (Self { webhook, require, patience: timeout.unwrap_or(PATIENCE) }, notices)
    }
}

/// Whom to ask about one call.
pub enum Ask<'a> {
    Webhook(&'a Webhook),
    /// The human behind the client, or else the one at the editor.
    Human,
    Nobody(ToolError),
}

/// Policy, and what is being asked. Works from any thread.
pub struct Approvals {
    policy: Policy,
    /// Client and tool that a human allowed until the editor closes.
    sessions: Mutex<HashSet<(String, String)>>,
    pub desk: Desk,
    rounds: Rounds,
}

impl Approvals {
    pub fn new(policy: Policy) -> Self {
        Self {
            policy,
            sessions: Mutex::default(),
            desk: Desk::default(),
            rounds: Rounds::default(),
        }
    }

    pub fn off() -> Self {
        Self::new(Policy::off())
    }

    /// `off`, `webhook` or `human`.
    pub fn mode(&self) -> &'static str {
        match (&self.policy.webhook, self.policy.require) {
            (Some(_), _) => "webhook",
            (None, true) => "human",
            (None, false) => "off",
        }
    }

    /// How long a human is waited for.
    pub fn patience(&self) -> Duration {
        self.policy.patience
    }

    /// S7.3: whether a tool's calls need an approval.
    pub fn covers(&self, spec: &ToolSpec) -> bool {
        if self.policy.webhook.is_none() && !self.policy.require {
            return false;
        }
        match spec.class {
            SafetyClass::ReadOnly => false,
            SafetyClass::Mutating | SafetyClass::Destructive => true,
            SafetyClass::Runtime => spec.writes_disk || spec.executes_code,
        }
    }

    /// Whether a human allowed the tool for this session. A webhook decides each call by itself.
    pub fn allowed_for_session(&self, client: &str, tool: &str) -> bool {
        self.policy.webhook.is_none()
            && self.sessions.lock().contains(&(client.to_owned(), tool.to_owned()))
    }

    pub fn whom(&self) -> Ask<'_> {
        match &self.policy.webhook {
            Some(Ok(webhook)) => Ask::Webhook(webhook),
            Some(Err(why)) => Ask::Nobody(denied(why.clone())),
            None => Ask::Human,
        }
    }

    /// What a verdict comes to for the call it was about.
    ///
    /// # Errors
    /// `APPROVAL_DENIED`, with who said no and why.
    pub fn grant(&self, proposal: &Proposal, verdict: Verdict) -> Result<Grant, ToolError> {
        let by = match verdict {
            Verdict::Approved(by) => by,
            Verdict::ApprovedForSession(by) => {
                let entry = (proposal.client.clone(), proposal.tool.clone());
                self.sessions.lock().insert(entry);
                by
            }
            Verdict::Denied(why) => return Err(denied(why)),
        };
        let expires = Instant::now() + GRANT_LIFETIME;
        Ok(Grant { digest: Some(proposal.digest.clone()), expires, by })
    }

    /// Keeps a proposal for the client that is asked by an answer (2026-07-28): the state that it
    /// has to bring back.
    ///
    /// # Errors
    /// When the system gives no random bytes.
    pub fn open_round(&self, proposal: &Proposal) -> Result<String, ToolError> {
        self.rounds.open(proposal, Instant::now() + self.policy.patience)
    }

    /// Takes what such a client brought back. Each state is good once.
    ///
    /// # Errors
    /// `APPROVAL_DENIED` when the state is unknown, used, expired or another client's, or when the
    /// human said no.
    pub fn close_round(
        &self,
        state: &str,
        client: &str,
        tool: &str,
        approved: Option<bool>,
    ) -> Result<Grant, ToolError> {
        let round = self.rounds.take(state).filter(|it| it.client == client && it.tool == tool);
        let Some(round) = round else {
            return Err(denied("the approval is unknown, was used before, or has expired")
                .hint("call again without a request state to ask again"));
        };
        match approved {
            Some(true) => {}
            Some(false) => return Err(denied("the human at the client said no")),
            None => return Err(denied("the human at the client gave no answer")),
        }
        let expires = Instant::now() + GRANT_LIFETIME;
        Ok(Grant { digest: Some(round.digest), expires, by: "the human at the client".to_owned() })
    }

    /// Ends what waits, with a denial: the plugin is switched off.
    pub fn close(&self) {
        self.desk.close();
        if let Some(Ok(webhook)) = &self.policy.webhook {
            webhook.close();
        }
    }
}

/// Hash of what is approved: tool, arguments and plan.
pub fn digest(tool: &str, args: &Map<String, Value>, plan: &str) -> String {
    digest::sha256(format!("{}\n{plan}", digest::call(tool, args)).as_bytes())
}

pub fn denied(why: impl Into<String>) -> ToolError {
    ToolError::new(Code::ApprovalDenied, why).required("human_approval")
}

fn is_true(text: &str) -> bool {
    matches!(text.trim(), "1" | "true" | "yes" | "on")
}

#[cfg(test)]
mod tests;

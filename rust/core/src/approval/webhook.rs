//! The operator's webhook (S7.1): one POST for each call, on a thread of its own.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use parking_lot::Mutex;
use serde_json::{Value, json};
use sha2::Sha256;
use ureq::Agent;

use super::{Proposal, Verdict};
use crate::{clock, digest};

const TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes of an answer that are read.
const MAX_ANSWER: u64 = 64 << 10;
const MAX_REASON_CHARS: usize = 300;
/// Calls that may be asked about at once.
const MAX_THREADS: usize = 16;
const BY: &str = "the approval webhook";

/// Where to ask, and what to make of what comes back.
pub struct Webhook {
    agent: Agent,
    address: String,
    secret: Option<String>,
    timeout: Duration,
    fail_open: bool,
    running: Arc<Mutex<Running>>,
}

#[derive(Default)]
struct Running {
    threads: Vec<JoinHandle<()>>,
    closed: bool,
}

impl Webhook {
    /// # Errors
    /// When the address is none of http or https.
    pub(super) fn new(
        address: &str,
        secret: Option<String>,
        timeout: Option<Duration>,
        fail_open: bool,
    ) -> Result<Self, String> {
        let uri: Result<ureq::http::Uri, _> = address.parse();
        let usable = uri.is_ok_and(|it| {
            matches!(it.scheme_str(), Some("http" | "https"))
                && it.host().is_some_and(|it| !it.is_empty())
        });
        if !usable {
            return Err("GODOT_MCP_APPROVAL_WEBHOOK is no http or https address".to_owned());
        }
        let timeout = timeout.unwrap_or(TIMEOUT);
        let config = Agent::config_builder()
            .timeout_global(Some(timeout))
            // A redirect is no approval, and the plan must not go where the operator did not say.
            .max_redirects(0)
            .http_status_as_error(false)
            .proxy(None)
            .user_agent("godot-mcp")
            .max_idle_connections(0)
            .build();
        let agent = Agent::new_with_config(config);
        let address = address.to_owned();
        Ok(Self { agent, address, secret, timeout, fail_open, running: Arc::default() })
    }

    /// Asks on a thread; `tell` is called there once.
    pub fn ask(&self, proposal: &Proposal, tell: impl FnOnce(Verdict) + Send + 'static) {
        let body = match self.body(proposal) {
            Ok(body) => body,
            Err(why) => return tell(Verdict::Denied(why)),
        };
        let mut running = self.running.lock();
        running.threads.retain(|it| !it.is_finished());
        if running.closed || running.threads.len() >= MAX_THREADS {
            drop(running);
            return tell(Verdict::Denied(format!(
                "{MAX_THREADS} approvals are being asked for already"
            )));
        }
        let request = Request {
            agent: self.agent.clone(),
            address: self.address.clone(),
            signature: self.secret.as_deref().map(|it| sign(it, &body)),
            body,
            fail_open: self.fail_open,
        };
        let told = Arc::new(Mutex::new(Some(tell)));
        let tell_once = {
            let told = Arc::clone(&told);
            move |verdict| {
                let tell = told.lock().take();
                if let Some(tell) = tell {
                    tell(verdict);
                }
            }
        };
        let thread = std::thread::Builder::new().name("godot-mcp-approval".to_owned());
        match thread.spawn(move || tell_once(request.send())) {
            Ok(thread) => running.threads.push(thread),
            Err(error) => {
                drop(running);
                if let Some(tell) = told.lock().take() {
                    tell(Verdict::Denied(format!("{BY} could not be asked: {error}")));
                }
            }
        }
    }

    fn body(&self, proposal: &Proposal) -> Result<String, String> {
        let now = clock::now_ms();
        let lifetime = u64::try_from(self.timeout.as_millis()).unwrap_or(u64::MAX);
        let nonce = digest::random::<16>().map_err(|it| it.into_fault().message)?;
        let body = json!({
            "action": proposal.tool,
            "safety_class": proposal.class,
            "params": proposal.args,
            "plan": {"title": proposal.title, "changes": proposal.changes},
            "client": proposal.client,
            "expires": clock::rfc3339(now.saturating_add(lifetime)),
            "nonce": nonce,
            "timestamp": clock::rfc3339(now),
        });
        Ok(body.to_string())
    }

    /// Ends the connections, which ends the threads.
    pub(super) fn close(&self) {
        let threads = {
            let mut running = self.running.lock();
            running.closed = true;
            std::mem::take(&mut running.threads)
        };
        self.agent.clone().shutdown();
        for thread in threads {
            // A thread that panicked has said so.
            let _ = thread.join();
        }
    }
}

struct Request {
    agent: Agent,
    address: String,
    body: String,
    signature: Option<String>,
    fail_open: bool,
}

impl Request {
    fn send(self) -> Verdict {
        let mut request = self.agent.post(&self.address).header("Content-Type", "application/json");
        if let Some(signature) = &self.signature {
            request = request.header("X-Godot-MCP-Signature", signature);
        }
        let mut response = match request.send(&self.body) {
            Ok(response) => response,
            Err(error) if self.fail_open && is_unreachable(&error) => {
                return Verdict::Approved(format!(
                    "nobody: {BY} is unreachable and may be ({error})"
                ));
            }
            Err(error) => {
                return Verdict::Denied(format!(
                    "{BY} gave no answer: {}",
                    short(&error.to_string())
                ));
            }
        };
        let status = response.status();
        if !status.is_success() {
            return Verdict::Denied(format!("{BY} answered with HTTP status {}", status.as_u16()));
        }
        let text = response.body_mut().with_config().limit(MAX_ANSWER).read_to_string();
        match text {
            Ok(text) => verdict(&text),
            Err(error) => Verdict::Denied(format!(
                "the answer of {BY} broke off: {}",
                short(&error.to_string())
            )),
        }
    }
}

/// Whether nobody heard the question. One who heard it and does not answer has not said yes.
fn is_unreachable(error: &ureq::Error) -> bool {
    match error {
        ureq::Error::HostNotFound | ureq::Error::ConnectionFailed => true,
        ureq::Error::Timeout(it) => matches!(it, ureq::Timeout::Connect | ureq::Timeout::Resolve),
        ureq::Error::Io(error) => matches!(
            error.kind(),
            std::io::ErrorKind::ConnectionRefused
                | std::io::ErrorKind::HostUnreachable
                | std::io::ErrorKind::NetworkUnreachable
                | std::io::ErrorKind::NetworkDown
                | std::io::ErrorKind::AddrNotAvailable
        ),
        _ => false,
    }
}

/// Only the JSON value `true` approves.
pub(super) fn verdict(text: &str) -> Verdict {
    let Ok(Value::Object(answer)) = serde_json::from_str::<Value>(text) else {
        return Verdict::Denied(format!("the answer of {BY} is no JSON object"));
    };
    let reason = answer.get("reason").and_then(Value::as_str).map(short).unwrap_or_default();
    match answer.get("approved") {
        Some(Value::Bool(true)) => Verdict::Approved(BY.to_owned()),
        Some(Value::Bool(false)) if reason.is_empty() => Verdict::Denied(format!("{BY} said no")),
        Some(Value::Bool(false)) => Verdict::Denied(format!("{BY} said no: \"{reason}\"")),
        _ => Verdict::Denied(format!("the answer of {BY} has no true or false in \"approved\"")),
    }
}

fn short(text: &str) -> String {
    text.chars().filter(|it| !it.is_control()).take(MAX_REASON_CHARS).collect()
}

/// Lower-case hexadecimal HMAC-SHA-256 of the body.
pub(super) fn sign(secret: &str, body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes())
        .unwrap_or_else(|_| unreachable!("a key of any length will do"));
    mac.update(body.as_bytes());
    digest::hex(&mac.finalize().into_bytes())
}

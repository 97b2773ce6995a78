//! Who talks to the server, for `health_check` and the dock.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use std::collections::HashMap;

use godot_mcp_core::Host;
use godot_mcp_core::call::{Peer, Visit};
use parking_lot::Mutex;

use crate::calls::guarded;

/// A client of the stateless protocol never says goodbye. After this long it counts as gone.
const FORGET_AFTER: Duration = Duration::from_secs(30 * 60);
const MAX_CLIENTS: usize = 64;
const MAX_NAME_CHARS: usize = 64;

/// A client as it introduced itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientInfo {
    pub name: String,
    pub version: String,
    pub protocol_version: String,
    pub last_seen: SystemTime,
}

pub(crate) struct Clients {
    host: Arc<dyn Host>,
    known: Mutex<Vec<Known>>,
    /// Clients of the stateless protocol, by label.
    visiting: Mutex<HashMap<String, Peer>>,
}

/// Clients that one connection has brought. They leave with their last connection.
#[derive(Clone, Default)]
pub(crate) struct Visits(Arc<Mutex<Vec<Visit>>>);

struct Known {
    info: ClientInfo,
    label: String,
    /// Open legacy sessions. A client with one is there, however long it has been silent.
    sessions: usize,
}

/// A legacy session of a client, until dropped.
pub(crate) struct Presence {
    clients: Arc<Clients>,
    label: String,
}

impl Clients {
    pub(crate) fn new(host: Arc<dyn Host>) -> Self {
        Self { host, known: Mutex::default(), visiting: Mutex::default() }
    }

    pub(crate) fn list(&self) -> Vec<ClientInfo> {
        self.known.lock().iter().map(|it| it.info.clone()).collect()
    }

    /// Notes a request and returns the client's label: name and version.
    pub(crate) fn seen(&self, name: &str, version: &str, protocol_version: &str) -> String {
        self.note(name, version, protocol_version, 0)
    }

    /// The caller of a stateless request. All connections of one name and version are one client: the
    /// protocol tells no more, and nobody should have to wait for their own other connection.
    pub(crate) fn visitor(&self, label: &str, visits: &Visits) -> Peer {
        let mut visiting = self.visiting.lock();
        let mut visits = visits.0.lock();
        if let Some(peer) = visiting.get(label)
            && let Some(visit) = peer.visit()
        {
            if !visits.iter().any(|it| it.peer() == *peer) {
                visits.push(visit);
            }
            return peer.clone();
        }
        visiting.retain(|_, it| it.is_there());
        let visit = Visit::default();
        let peer = visit.peer();
        visits.push(visit);
        visiting.insert(label.to_owned(), peer.clone());
        peer
    }

    pub(crate) fn enter(
        self: &Arc<Self>,
        name: &str,
        version: &str,
        protocol_version: &str,
    ) -> Presence {
        let label = self.note(name, version, protocol_version, 1);
        Presence { clients: self.clone(), label }
    }

    /// Forgets who has not been here for long.
    pub(crate) fn sweep(&self, now: SystemTime) {
        self.retain(|it| {
            let silent = now.duration_since(it.info.last_seen).unwrap_or_default();
            it.sessions > 0 || silent < FORGET_AFTER
        });
    }

    fn note(&self, name: &str, version: &str, protocol: &str, new_sessions: usize) -> String {
        let (name, version) = (printable(name), printable(version));
        let mut known = self.known.lock();
        let old = known.iter_mut().find(|it| it.info.name == name && it.info.version == version);
        if let Some(it) = old {
            it.info.last_seen = SystemTime::now();
            if it.info.protocol_version != protocol {
                it.info.protocol_version = printable(protocol);
            }
            it.sessions += new_sessions;
            return it.label.clone();
        }
        if known.len() == MAX_CLIENTS {
            known.remove(0);
        }
        let label = format!("{name} {version}").trim_end().to_owned();
        let protocol_version = printable(protocol);
        let info = ClientInfo { name, version, protocol_version, last_seen: SystemTime::now() };
        known.push(Known { info, label: label.clone(), sessions: new_sessions });
        drop(known);
        self.tell_host();
        label
    }

    fn leave(&self, label: &str) {
        self.retain(|it| {
            if it.label == label {
                it.sessions = it.sessions.saturating_sub(1);
                return it.sessions > 0;
            }
            true
        });
    }

    fn retain(&self, keep: impl FnMut(&mut Known) -> bool) {
        let mut known = self.known.lock();
        let before = known.len();
        known.retain_mut(keep);
        let changed = known.len() != before;
        drop(known);
        if changed {
            self.tell_host();
        }
    }

    /// Called without the lock: the host may ask for the list.
    fn tell_host(&self) {
        let labels = self.known.lock().iter().map(|it| it.label.clone()).collect();
        drop(guarded("clients_changed", || self.host.clients_changed(labels)));
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.clients.leave(&self.label);
    }
}

/// Names end up in logs and labels; nothing in them may break a line or fill the dock.
fn printable(text: &str) -> String {
    text.chars().filter(|it| !it.is_control()).take(MAX_NAME_CHARS).collect()
}

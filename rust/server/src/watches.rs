//! Which resources somebody has subscribed to, counted, so that the host looks at no others.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use godot_mcp_core::Host;
use parking_lot::Mutex;

use crate::calls::guarded;

pub(crate) struct Watches {
    host: Arc<dyn Host>,
    counts: Mutex<BTreeMap<Arc<str>, usize>>,
}

/// One subscription to one resource, until dropped.
pub(crate) struct Watch {
    watches: Arc<Watches>,
    uri: Arc<str>,
}

impl Watches {
    pub(crate) fn new(host: Arc<dyn Host>) -> Self {
        Self { host, counts: Mutex::default() }
    }

    pub(crate) fn add(self: &Arc<Self>, uri: &str) -> Watch {
        let uri: Arc<str> = uri.into();
        let mut counts = self.counts.lock();
        let count = counts.entry(uri.clone()).or_default();
        *count += 1;
        if *count == 1 {
            self.tell_host(&counts);
        }
        drop(counts);
        Watch { watches: self.clone(), uri }
    }

    /// Called with the lock, so that the host hears of sets in the order in which they were true.
    fn tell_host(&self, counts: &BTreeMap<Arc<str>, usize>) {
        let uris: BTreeSet<_> = counts.keys().cloned().collect();
        drop(guarded("watched", || self.host.watched(uris)));
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut counts = self.watches.counts.lock();
        let Some(count) = counts.get_mut(&self.uri) else { return };
        *count -= 1;
        if *count == 0 {
            counts.remove(&self.uri);
            self.watches.tell_host(&counts);
        }
    }
}

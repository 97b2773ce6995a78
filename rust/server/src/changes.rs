//! What the server tells clients on its own (S11.3): changed lists and resources.
//!
//! One feed, two kinds of readers: each legacy session and each `subscriptions/listen` stream
//! forwards it in a task of its own, so one that stalls holds up nobody else.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rmcp::RoleServer;
use rmcp::model::{ResourceUpdatedNotificationParam, SubscriptionFilter};
use rmcp::service::{Peer, SubscriptionSink};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{Notify, broadcast};
use tokio::time::{sleep, timeout};

use crate::watches::Watch;

/// Changes that come in one go, such as a bundle of toolsets, are told once. The delay also lets a
/// stream that was just acknowledged subscribe before anything is sent.
const DEBOUNCE: Duration = Duration::from_millis(20);
const DELIVERY_TIMEOUT: Duration = Duration::from_secs(2);
const FEED_LENGTH: usize = 64;
const MAX_WAITING_URIS: usize = 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Tools,
    Prompts,
    Resources,
    Resource(Arc<str>),
}

pub(crate) struct Changes {
    waiting: Mutex<Waiting>,
    announced: Notify,
    feed: broadcast::Sender<Change>,
}

#[derive(Default)]
struct Waiting {
    tools: bool,
    prompts: bool,
    resources: bool,
    uris: BTreeSet<Arc<str>>,
}

impl Changes {
    pub(crate) fn new() -> Self {
        let (feed, _) = broadcast::channel(FEED_LENGTH);
        Self { waiting: Mutex::default(), announced: Notify::new(), feed }
    }

    /// From any thread; never waits.
    pub(crate) fn announce(&self, change: Change) {
        let mut waiting = self.waiting.lock();
        match change {
            Change::Tools => waiting.tools = true,
            Change::Prompts => waiting.prompts = true,
            Change::Resource(uri) if waiting.uris.len() < MAX_WAITING_URIS => {
                waiting.uris.insert(uri);
            }
            // So many changed that clients had better look at all of them.
            Change::Resources | Change::Resource(_) => waiting.resources = true,
        }
        drop(waiting);
        self.announced.notify_one();
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Change> {
        self.feed.subscribe()
    }

    /// Publishes what is announced, forever.
    pub(crate) async fn publish(&self) {
        loop {
            self.announced.notified().await;
            sleep(DEBOUNCE).await;
            let waiting = std::mem::take(&mut *self.waiting.lock());
            let tools = waiting.tools.then_some(Change::Tools);
            let prompts = waiting.prompts.then_some(Change::Prompts);
            let resources = waiting.resources.then_some(Change::Resources);
            let uris = waiting.uris.into_iter().map(Change::Resource);
            for change in tools.into_iter().chain(prompts).chain(resources).chain(uris) {
                // Fails when nobody listens, which is fine.
                drop(self.feed.send(change));
            }
        }
    }
}

/// Somebody who is told about changes.
pub(crate) trait Audience {
    type Error: Display;

    fn wants(&self, change: &Change) -> bool;
    fn tell(&self, change: &Change) -> impl Future<Output = Result<(), Self::Error>> + Send;
    /// URIs whose changes it wants to know.
    fn uris(&self) -> Vec<Arc<str>>;
}

/// Forwards changes until the feed ends. Failures are logged and have no other effect.
pub(crate) async fn forward(mut feed: broadcast::Receiver<Change>, audience: &impl Audience) {
    loop {
        match feed.recv().await {
            Ok(change) => deliver(audience, &change).await,
            // Missed some, which could have been any.
            Err(RecvError::Lagged(_)) => {
                let uris = audience.uris().into_iter().map(Change::Resource);
                let lists = [Change::Tools, Change::Prompts, Change::Resources];
                for change in lists.into_iter().chain(uris) {
                    deliver(audience, &change).await;
                }
            }
            Err(RecvError::Closed) => return,
        }
    }
}

async fn deliver(audience: &impl Audience, change: &Change) {
    if !audience.wants(change) {
        return;
    }
    match timeout(DELIVERY_TIMEOUT, audience.tell(change)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, ?change, "a client could not be told"),
        Err(_) => tracing::warn!(?change, "a client does not take its notifications"),
    }
}

/// A `subscriptions/listen` stream of 2026-07-28.
pub(crate) struct Listener<'a> {
    pub(crate) accepted: &'a SubscriptionFilter,
    pub(crate) sink: &'a SubscriptionSink,
}

impl Audience for Listener<'_> {
    type Error = rmcp::service::SubscriptionSendError;

    fn wants(&self, change: &Change) -> bool {
        match change {
            Change::Tools => self.accepted.tools_list_changed == Some(true),
            Change::Prompts => self.accepted.prompts_list_changed == Some(true),
            Change::Resources => self.accepted.resources_list_changed == Some(true),
            Change::Resource(uri) => {
                let wanted = self.accepted.resource_subscriptions.as_deref().unwrap_or_default();
                wanted.iter().any(|it| **it == **uri)
            }
        }
    }

    async fn tell(&self, change: &Change) -> Result<(), Self::Error> {
        match change {
            Change::Tools => self.sink.notify_tool_list_changed().await,
            Change::Prompts => self.sink.notify_prompt_list_changed().await,
            Change::Resources => self.sink.notify_resource_list_changed().await,
            Change::Resource(uri) => self.sink.notify_resource_updated(&**uri).await,
        }
    }

    fn uris(&self) -> Vec<Arc<str>> {
        let wanted = self.accepted.resource_subscriptions.as_deref().unwrap_or_default();
        wanted.iter().map(|it| it.as_str().into()).collect()
    }
}

/// URIs that a legacy session has subscribed to.
pub(crate) type Subscribed = Arc<Mutex<BTreeMap<Arc<str>, Watch>>>;

/// A session of a version before 2026-07-28.
pub(crate) struct LegacyClient {
    pub(crate) peer: Peer<RoleServer>,
    pub(crate) subscribed: Subscribed,
}

impl Audience for LegacyClient {
    type Error = rmcp::ServiceError;

    fn wants(&self, change: &Change) -> bool {
        match change {
            Change::Tools | Change::Prompts | Change::Resources => true,
            Change::Resource(uri) => self.subscribed.lock().contains_key(uri),
        }
    }

    async fn tell(&self, change: &Change) -> Result<(), Self::Error> {
        match change {
            Change::Tools => self.peer.notify_tool_list_changed().await,
            Change::Prompts => self.peer.notify_prompt_list_changed().await,
            Change::Resources => self.peer.notify_resource_list_changed().await,
            Change::Resource(uri) => {
                let updated = ResourceUpdatedNotificationParam::new(&**uri);
                self.peer.notify_resource_updated(updated).await
            }
        }
    }

    fn uris(&self) -> Vec<Arc<str>> {
        self.subscribed.lock().keys().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn published(announced: &[Change]) -> Vec<Change> {
        let changes = Changes::new();
        let mut feed = changes.subscribe();
        announced.iter().for_each(|it| changes.announce(it.clone()));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            tokio::select! {
                () = changes.publish() => unreachable!(),
                first = feed.recv() => {
                    let mut all = vec![first.unwrap()];
                    all.extend(std::iter::from_fn(|| feed.try_recv().ok()));
                    all
                }
            }
        })
    }

    #[test]
    fn what_comes_together_is_told_once() {
        let uri = || Change::Resource("godot://scene".into());
        assert_eq!(
            published(&[Change::Tools, uri(), Change::Prompts, Change::Tools, uri()]),
            [Change::Tools, Change::Prompts, uri()]
        );
    }

    #[test]
    fn a_flood_of_uris_becomes_one_change_of_the_list() {
        let flood: Vec<_> =
            (0..MAX_WAITING_URIS + 1).map(|it| Change::Resource(it.to_string().into())).collect();
        // More than fit into the feed: readers notice that they missed some.
        let changes = Changes::new();
        flood.into_iter().for_each(|it| changes.announce(it));
        assert!(changes.waiting.lock().resources);
        assert_eq!(changes.waiting.lock().uris.len(), MAX_WAITING_URIS);
    }
}

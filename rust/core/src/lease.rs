//! Whose tab is in front (X10.3): clients that work in one scene are not pulled out of it by one that
//! wants another, for as long as they may be in the middle of something.

use std::time::{Duration, Instant};

use crate::call::Peer;

/// Who works in the scene whose tab is in front.
#[derive(Debug, Default)]
pub struct SceneLease {
    scene: String,
    holders: Vec<Holder>,
}

#[derive(Debug)]
struct Holder {
    peer: Peer,
    used: Instant,
}

impl SceneLease {
    /// A call of `peer` has worked in `scene`, which is in front. What nobody asked for holds nothing.
    pub fn renew(&mut self, peer: &Peer, scene: &str, now: Instant) {
        if !peer.is_there() {
            return;
        }
        if self.scene != scene {
            scene.clone_into(&mut self.scene);
            self.holders.clear();
        }
        self.holders.retain(|it| it.peer.is_there() && it.peer != *peer);
        self.holders.push(Holder { peer: peer.clone(), used: now });
    }

    /// Whether `peer`, who waits since `since`, has to go on waiting before another tab comes to the
    /// front instead of that of `scene`.
    ///
    /// A holder that goes on working while somebody waits does not hold on for longer: nobody waits
    /// for more than `time`.
    pub fn keeps(
        &self,
        scene: &str,
        peer: &Peer,
        since: Instant,
        now: Instant,
        time: Duration,
    ) -> bool {
        self.scene == scene
            && peer.is_there()
            && self
                .holders
                .iter()
                .any(|it| it.peer != *peer && it.peer.is_there() && it.used.min(since) + time > now)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::call::Visit;

    const TIME: Duration = Duration::from_secs(8);

    fn at(begin: Instant, seconds: u64) -> Instant {
        begin + Duration::from_secs(seconds)
    }

    /// X10.3: held for 8 s from the last call, against others alone, until the holder goes.
    #[test]
    fn a_tab_is_held_for_its_client() {
        let begin = Instant::now();
        let (visit, other) = (Visit::default(), Visit::default());
        let (one, two) = (visit.peer(), other.peer());
        let mut lease = SceneLease::default();
        let keeps = |lease: &SceneLease, peer: &Peer, now: u64| {
            lease.keeps("res://a.tscn", peer, at(begin, 4), at(begin, now), TIME)
        };
        assert!(!keeps(&lease, &one, 4), "nobody works there");
        lease.renew(&one, "res://a.tscn", begin);
        assert!(keeps(&lease, &two, 4) && keeps(&lease, &two, 7));
        assert!(!keeps(&lease, &two, 8), "the time is over");
        assert!(!keeps(&lease, &one, 4), "its own");
        assert!(!keeps(&lease, &Peer::default(), 4), "the server's own work does not wait");
        lease.renew(&one, "res://a.tscn", at(begin, 6));
        assert!(keeps(&lease, &two, 11), "8 s from when somebody waits");
        assert!(!keeps(&lease, &two, 12), "a busy holder holds nobody up for longer");
        let elsewhere = lease.keeps("res://b.tscn", &two, at(begin, 4), at(begin, 4), TIME);
        assert!(!elsewhere, "the human has gone to another tab");
        drop(visit);
        assert!(!keeps(&lease, &two, 7), "who goes frees it at once");
    }

    proptest! {
        /// X10.3 and X10.4: whatever clients do, come and go, none waits for longer than the time, none
        /// waits when no other is there, and whoever waits gets there.
        #[test]
        fn nobody_waits_for_long(steps in prop::collection::vec((0..6_u8, 0..4_usize, 0..3_u8, 0..4_u64), 1..200)) {
            let begin = Instant::now();
            let mut second = 0;
            let mut clients: Vec<Option<Visit>> = vec![None; 4];
            // Client, scene, and since when.
            let mut waiting: Vec<(usize, u8, u64)> = Vec::new();
            let mut lease = SceneLease::default();
            let mut front = 0;
            let name = |scene: u8| format!("res://{scene}.tscn");
            let ends = (0..20).map(|_| (5, 0, 0, 1));
            for (what, client, scene, seconds) in steps.into_iter().chain(ends) {
                match what {
                    0 if clients[client].is_none() => clients[client] = Some(Visit::default()),
                    1 => {
                        clients[client] = None;
                        waiting.retain(|it| it.0 != client);
                    }
                    2 | 3 => {
                        if let Some(it) = &clients[client] {
                            lease.renew(&it.peer(), &name(front), at(begin, second));
                        }
                    }
                    4 if clients[client].is_some() => waiting.push((client, scene, second)),
                    _ => second += seconds,
                }
                let mut rest = Vec::new();
                for (client, scene, since) in std::mem::take(&mut waiting) {
                    let peer = clients[client].as_ref().expect("it is there").peer();
                    let (since_time, now) = (at(begin, since), at(begin, second));
                    if scene != front && lease.keeps(&name(front), &peer, since_time, now, TIME) {
                        prop_assert!(second - since < TIME.as_secs(), "waits for too long");
                        prop_assert!(clients.iter().flatten().count() > 1, "waits for nobody");
                        rest.push((client, scene, since));
                        continue;
                    }
                    front = scene;
                    lease.renew(&peer, &name(front), now);
                }
                waiting = rest;
            }
            prop_assert!(waiting.is_empty(), "{waiting:?}");
        }
    }
}

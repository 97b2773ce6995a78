//! Stored snapshots of branches, for `snapshot_subtree` and `diff_snapshots`.

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;

/// Snapshots that are kept; the least recently used one goes first.
const CAPACITY: usize = 32;

/// What one node looked like: type, groups and property values in their read form.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NodeState {
    pub(crate) class: String,
    pub(crate) groups: Vec<String>,
    pub(crate) properties: BTreeMap<String, Value>,
}

/// A branch at one moment, and how it was asked for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Snapshot {
    pub(crate) root: String,
    pub(crate) properties: Option<Vec<String>>,
    pub(crate) max_depth: i64,
    /// By path, in tree order.
    pub(crate) nodes: Vec<(String, NodeState)>,
}

#[derive(Debug, Default)]
pub(crate) struct Snapshots {
    kept: VecDeque<(String, Snapshot)>,
    count: u64,
}

impl Snapshots {
    /// Stores a snapshot and answers its id, `s1`, `s2` and so on.
    pub(crate) fn add(&mut self, snapshot: Snapshot) -> String {
        self.count += 1;
        let id = format!("s{}", self.count);
        if self.kept.len() == CAPACITY {
            self.kept.pop_front();
        }
        self.kept.push_back((id.clone(), snapshot));
        id
    }

    /// A stored snapshot, which thereby counts as used.
    pub(crate) fn get(&mut self, id: &str) -> Option<Snapshot> {
        let index = self.kept.iter().position(|it| it.0 == id)?;
        let entry = self.kept.remove(index)?;
        let snapshot = entry.1.clone();
        self.kept.push_back(entry);
        Some(snapshot)
    }

    pub(crate) fn ids(&self) -> Vec<String> {
        self.kept.iter().map(|it| it.0.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forgets_the_least_recently_used() {
        let snapshot =
            Snapshot { root: ".".into(), properties: None, max_depth: -1, nodes: Vec::new() };
        let mut snapshots = Snapshots::default();
        for _ in 0..CAPACITY {
            snapshots.add(snapshot.clone());
        }
        snapshots.get("s1").expect("kept");
        snapshots.add(snapshot);
        assert!(snapshots.get("s1").is_some() && snapshots.get("s2").is_none());
    }
}

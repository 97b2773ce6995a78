//! Completion: what a human may want to type for an argument of a prompt or a resource template.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;

use crate::error::ToolError;

/// What has the argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    Prompt(String),
    /// By its URI template.
    Template(String),
}

#[derive(Clone, Debug)]
pub struct Completing {
    pub subject: Subject,
    pub argument: String,
    /// What is typed so far.
    pub text: String,
    /// Other arguments that are filled in already.
    pub known: BTreeMap<String, String>,
}

/// The best values first, and how many there are in all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completions {
    pub values: Vec<String>,
    pub total: usize,
}

pub type CompletionFuture = Pin<Box<dyn Future<Output = Result<Completions, ToolError>> + Send>>;

/// More values than this are never sent (a rule of the protocol).
pub const MAX_VALUES: usize = 100;

/// Candidates that fit what is typed: first those that start with it, then those of which a word
/// does, then those that hold it anywhere. Letter case does not matter.
pub fn rank(text: &str, candidates: impl IntoIterator<Item = String>) -> Completions {
    let wanted = text.to_lowercase();
    let mut fitting: Vec<(u8, String)> = candidates
        .into_iter()
        .filter_map(|it| Some((distance(&wanted, &it.to_lowercase())?, it)))
        .collect();
    fitting.sort_unstable();
    fitting.dedup();
    let total = fitting.len();
    let values = fitting.into_iter().take(MAX_VALUES).map(|it| it.1).collect();
    Completions { values, total }
}

fn distance(wanted: &str, candidate: &str) -> Option<u8> {
    if candidate.starts_with(wanted) {
        return Some(0);
    }
    let mut found = candidate.match_indices(wanted).peekable();
    found.peek()?;
    let at_word = |at: usize| !candidate[..at].ends_with(char::is_alphanumeric);
    Some(if found.any(|it| at_word(it.0)) { 1 } else { 2 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_come_first() {
        let files = ["levels/play.tscn", "player.tscn", "display.tscn", "menu.tscn"];
        let ranked = rank("Play", files.map(str::to_owned));
        assert_eq!(ranked.values, ["player.tscn", "levels/play.tscn", "display.tscn"]);
        assert_eq!(ranked.total, 3);
        assert_eq!(rank("", files.map(str::to_owned)).total, 4);
        assert_eq!(rank("zz", files.map(str::to_owned)), Completions::default());
    }

    #[test]
    fn no_more_than_a_hundred_are_sent() {
        let ranked = rank("", (0..250).map(|it| format!("{it:03}")));
        assert_eq!((ranked.values.len(), ranked.total), (MAX_VALUES, 250));
        assert_eq!(ranked.values[0], "000");
    }
}

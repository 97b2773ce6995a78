//! Finding toolsets by the words of a wish, for `discover_tools`.

use std::collections::BTreeSet;

use crate::registry::Registry;
use crate::toolset::{self, Toolset};

/// Toolsets that one word may find.
const MAX_PER_WORD: usize = 3;
/// Toolsets that one request may find.
const MAX_FOUND: usize = 5;

/// Words that say nothing about what is wanted.
const FILLERS: &[&str] = &[
    "the", "and", "for", "with", "that", "this", "from", "into", "all", "any", "some", "how",
    "can", "tool", "want", "need", "would", "like", "use", "using", "make", "get", "set", "new",
    "please", "godot",
];

/// A toolset that was found, and the words that found it.
#[derive(Debug, PartialEq)]
pub struct Found {
    pub name: &'static str,
    pub words: Vec<String>,
}

/// Toolsets for `requests`, best first. A request that is a toolset's or bundle's name finds just
/// that; any other is taken word by word.
pub fn find(registry: &Registry, requests: &[String]) -> Vec<Found> {
    let mut scored: Vec<(usize, Found)> = Vec::new();
    let mut add = |name: &'static str, score: usize, word: &str| match scored
        .iter_mut()
        .find(|it| it.1.name == name)
    {
        Some((total, found)) => {
            *total += score;
            found.words.push(word.to_owned());
        }
        None => scored.push((score, Found { name, words: vec![word.to_owned()] })),
    };
    for request in requests {
        let request = request.trim();
        let bundle = toolset::BUNDLES.iter().find(|it| it.0 == request).map(|it| it.1);
        let named: Vec<_> = registry
            .toolsets()
            .filter(|it| it.name == request || bundle.is_some_and(|sets| sets.contains(&it.name)))
            .collect();
        if !named.is_empty() {
            named.iter().for_each(|it| add(it.name, EXACT, request));
            continue;
        }
        for word in words(request) {
            let mut hits: Vec<(usize, &'static str)> = registry
                .toolsets()
                .map(|it| (score(registry, it, &word), it.name))
                .filter(|it| it.0 > 0)
                .collect();
            // Stable, so equal scores keep the order in which clients see toolsets.
            hits.sort_by_key(|it| std::cmp::Reverse(it.0));
            let best = hits.first().map_or(0, |it| it.0);
            hits.retain(|it| it.0 * 4 >= best);
            hits.iter().take(MAX_PER_WORD).for_each(|(score, name)| add(name, *score, &word));
        }
    }
    scored.sort_by_key(|it| std::cmp::Reverse(it.0));
    // Names were asked for by name, so their number is the caller's choice.
    let exact = scored.iter().filter(|it| it.0 >= EXACT).count();
    scored.into_iter().take(exact.max(MAX_FOUND)).map(|it| it.1).collect()
}

/// Beyond what any number of words can reach.
const EXACT: usize = 1_000_000;

fn score(registry: &Registry, toolset: &Toolset, word: &str) -> usize {
    let has = |text: &str| words(text).contains(word);
    // The core is on anyway, and its descriptions speak of everything.
    let mut score = 0;
    if has(toolset.name) {
        score += 8;
    }
    if toolset.keywords.iter().any(|it| has(it)) {
        score += 6;
    }
    if has(toolset.description) {
        score += 4;
    }
    for tool in registry.tools_of(toolset.name) {
        if tool.name == word || has(&tool.name) {
            score += 3;
        } else if toolset.name != toolset::CORE && has(&tool.description) {
            score += 1;
        }
    }
    score
}

/// The telling words of a text in their plain form, each once.
pub fn words(text: &str) -> BTreeSet<String> {
    text.to_lowercase()
        .split(|it: char| !it.is_alphanumeric())
        .filter(|it| it.chars().count() > 1 && !FILLERS.contains(it))
        .map(plain)
        .collect()
}

/// The word without a plural or verb ending, so that `signals` finds `signal`.
fn plain(word: &str) -> String {
    for (ending, rest) in [("ies", "y"), ("ing", ""), ("es", "e"), ("s", "")] {
        if let Some(stem) = word.strip_suffix(ending)
            && stem.len() > 2
            && !stem.ends_with('s')
        {
            return format!("{stem}{rest}");
        }
    }
    word.to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;
    use crate::safety::SafetyClass;
    use crate::spec::ToolSpec;

    fn registry() -> Registry {
        let tool = |name: &str, set: &str, description: &str| {
            ToolSpec::new(name, set, SafetyClass::ReadOnly, description, Map::new())
        };
        Registry::new(vec![
            tool("godot_undo", "core", "Takes back the newest action."),
            tool("get_scene_tree", "inspection", "The nodes of the edited scene."),
            tool("connect_signal", "scene_edit", "Connects a signal to a method."),
            tool("rename_node", "scene_edit", "Renames one node."),
        ])
    }

    fn found(requests: &[&str]) -> Vec<&'static str> {
        let requests: Vec<String> = requests.iter().map(|&it| it.to_owned()).collect();
        find(&registry(), &requests).into_iter().map(|it| it.name).collect()
    }

    #[test]
    fn a_name_finds_just_that() {
        assert_eq!(found(&["inspection"]), ["inspection"]);
        assert_eq!(found(&["author"]), ["scene_edit"]);
    }

    #[test]
    fn words_find_by_tools_and_keywords() {
        assert_eq!(found(&["please connect the signals"]), ["scene_edit"]);
        assert_eq!(found(&["undo history"]), ["core"]);
        assert_eq!(found(&["renaming nodes"])[0], "scene_edit");
    }

    #[test]
    fn nonsense_finds_nothing() {
        assert!(found(&["blockchain", "", "the"]).is_empty());
    }

    #[test]
    fn words_are_plain_and_once() {
        let words: Vec<_> = words("The Signals, signal_bodies & a tree").into_iter().collect();
        assert_eq!(words, ["body", "signal", "tree"]);
    }
}

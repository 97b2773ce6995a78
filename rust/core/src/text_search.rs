//! Looking for a text in a text: where it is, and what comes near when it is not there.

use crate::text_diff;

/// Longest line that is compared for nearness.
const MAX_LINE: usize = 300;
/// Lines that are compared for nearness.
const MAX_LINES: usize = 5_000;
/// Least likeness, from 0 to 1, of a line that is offered.
const MIN_RATIO: f32 = 0.6;

/// The lines, from 1, in which occurrences start. One that overlaps the one before is no other.
pub fn lines_of(text: &str, find: &str) -> Vec<usize> {
    let (mut line, mut from) = (1, 0);
    let mut lines = Vec::new();
    for (at, _) in text.match_indices(find) {
        line += text[from..at].matches('\n').count();
        from = at;
        lines.push(line);
    }
    lines
}

/// The line in which the text occurs when white space does not count.
pub fn ignoring_space(text: &str, find: &str) -> Option<usize> {
    let wanted: String = find.split_whitespace().collect();
    if wanted.is_empty() {
        return None;
    }
    let mut squeezed = String::new();
    let mut starts = Vec::new();
    for (index, line) in text.lines().enumerate() {
        starts.push((squeezed.len(), index + 1));
        squeezed.extend(line.split_whitespace());
    }
    let at = squeezed.find(&wanted)?;
    // Empty lines start where the next one does.
    starts.iter().rev().find(|it| it.0 <= at).map(|it| it.1)
}

/// Lines that are most like the first line of what was looked for, best first.
pub fn nearest_lines(text: &str, find: &str, limit: usize) -> Vec<(usize, String)> {
    let Some(wanted) = find.lines().map(str::trim).find(|it| !it.is_empty()) else {
        return Vec::new();
    };
    let mut scored: Vec<(f32, usize, &str)> = text
        .lines()
        .take(MAX_LINES)
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty() && line.len() <= MAX_LINE)
        .map(|(index, line)| (likeness(wanted, line.trim()), index + 1, line))
        .filter(|it| it.0 >= MIN_RATIO)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    scored.into_iter().take(limit).map(|it| (it.1, it.2.to_owned())).collect()
}

fn likeness(a: &str, b: &str) -> f32 {
    let (shorter, longer) = (a.len().min(b.len()), a.len().max(b.len()));
    // It cannot be alike enough, and comparing costs.
    if longer > 3 * shorter || longer > MAX_LINE {
        return 0.0;
    }
    text_diff::likeness(a, b)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "extends Node\nvar speed := 3\n\nfunc run():\n\tvar a = 1\n\treturn a\n";

    #[test]
    fn counts_lines() {
        assert_eq!(lines_of("a\nba\n\naa", "a"), [1, 2, 4, 4]);
        assert_eq!(lines_of("aaa", "aa"), [1]);
        assert_eq!(lines_of("ü\nü x", "x"), [2]);
        assert!(lines_of("a", "b").is_empty());
    }

    #[test]
    fn sees_through_white_space() {
        assert_eq!(ignoring_space(TEXT, "func run():\n    var a = 1"), Some(4));
        assert_eq!(ignoring_space(TEXT, "return  a"), Some(6));
        assert_eq!(ignoring_space(TEXT, "return b"), None);
        assert_eq!(ignoring_space(TEXT, " \n"), None);
    }

    #[test]
    fn offers_near_lines() {
        assert_eq!(nearest_lines(TEXT, "var sped = 3\n", 3)[0], (2, "var speed := 3".to_owned()));
        assert!(nearest_lines(TEXT, "queue_free()", 3).is_empty());
        assert!(nearest_lines(TEXT, "", 3).is_empty());
    }
}

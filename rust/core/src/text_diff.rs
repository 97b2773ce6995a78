//! How two texts differ: as a unified diff, and as a measure of likeness.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, Hunk, InternedInput, Token};

/// The lines that differ, in hunks with `context` lines round them. Empty for equal texts.
pub fn unified(old: &str, new: &str, context: u32) -> String {
    let input = InternedInput::new(old, new);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let hunks: Vec<Hunk> = diff.hunks().collect();
    let mut text = String::new();
    // Changes so near to each other that their contexts touch are shown as one.
    for near in hunks.chunk_by(|a, b| b.before.start - a.before.end <= 2 * context) {
        show(&mut text, &input, near, context);
    }
    text
}

fn show(text: &mut String, input: &InternedInput<&str>, near: &[Hunk], context: u32) {
    let (first, last) = (&near[0], &near[near.len() - 1]);
    let before = context.min(first.before.start);
    let after = context.min(input.before.len() as u32 - last.before.end);
    let old = first.before.start - before..last.before.end + after;
    let new = first.after.start - before..last.after.end + after;
    text.push_str(&format!("@@ -{} +{} @@\n", place(&old), place(&new)));
    let mut lines = |sign: char, tokens: &[Token]| {
        for token in tokens {
            let line = input.interner[*token];
            text.push(sign);
            text.push_str(line);
            if !line.ends_with('\n') {
                text.push_str("\n\\ No newline at end of file\n");
            }
        }
    };
    let mut at = old.start;
    for hunk in near {
        lines(' ', &input.before[range(&(at..hunk.before.start))]);
        lines('-', &input.before[range(&hunk.before)]);
        lines('+', &input.after[range(&hunk.after)]);
        at = hunk.before.end;
    }
    lines(' ', &input.before[range(&(at..old.end))]);
}

/// First line, from 1, and number of lines. Of none, the line before.
fn place(lines: &Range<u32>) -> String {
    let count = lines.end - lines.start;
    format!("{},{count}", lines.start + u32::from(count > 0))
}

fn range(lines: &Range<u32>) -> Range<usize> {
    lines.start as usize..lines.end as usize
}

/// From 0 (nothing in common) to 1 (equal): the share of characters that stay, in order.
pub fn likeness(a: &str, b: &str) -> f32 {
    let mut input = InternedInput::default();
    input.update_before(a.chars());
    input.update_after(b.chars());
    let total = input.before.len() + input.after.len();
    if total == 0 {
        return 1.0;
    }
    let diff = Diff::compute(Algorithm::MyersMinimal, &input);
    let changed = diff.count_removals() + diff.count_additions();
    1.0 - changed as f32 / total as f32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn shows_what_differs() {
        assert_eq!(unified("a\nb\n", "a\nb\n", 1), "");
        let diff = unified("a\nb\nc\nd\ne\n", "a\nb\nx\nd\ne\n", 1);
        assert_eq!(diff, "@@ -2,3 +2,3 @@\n b\n-c\n+x\n d\n");
        assert_eq!(unified("", "a\n", 1), "@@ -0,0 +1,1 @@\n+a\n");
        assert_eq!(unified("a\n", "", 1), "@@ -1,1 +0,0 @@\n-a\n");
        let both = unified("a\nb\nc\nd\n", "x\nb\nc\ny\n", 1);
        assert_eq!(both, "@@ -1,4 +1,4 @@\n-a\n+x\n b\n c\n-d\n+y\n");
        let apart = unified("a\nb\nc\nd\n", "x\nb\nc\ny\n", 0);
        assert_eq!(apart, "@@ -1,1 +1,1 @@\n-a\n+x\n@@ -4,1 +4,1 @@\n-d\n+y\n");
        let broken = "@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n";
        assert_eq!(unified("a", "a\n", 1), broken);
    }

    #[test]
    fn measures_likeness() {
        assert_eq!(likeness("", ""), 1.0);
        assert_eq!(likeness("abc", "abc"), 1.0);
        assert_eq!(likeness("abc", "xyz"), 0.0);
        assert_eq!(likeness("abcd", "abxd"), 0.75);
    }

    /// The new text, made of the old one and the diff as a reader would.
    fn applied(old: &str, diff: &str) -> String {
        let old: Vec<&str> = old.split_inclusive('\n').collect();
        let mut lines = diff.split_inclusive('\n').peekable();
        let (mut new, mut at) = (String::new(), 0);
        while let Some(line) = lines.next() {
            let (sign, content) = line.split_at(1);
            if sign == "@" {
                let (start, count) =
                    line[4..line.find(" +").expect("two places")].split_once(',').expect("a count");
                let first: usize = start.parse().expect("a number");
                let from = first - usize::from(count != "0");
                new.extend(old[at..from].iter().copied());
                at = from;
                continue;
            }
            let unbroken = lines.next_if(|it| it.starts_with('\\')).is_some();
            let content = if unbroken { content.trim_end_matches('\n') } else { content };
            if sign != "+" {
                assert_eq!(old[at], content);
                at += 1;
            }
            if sign != "-" {
                new.push_str(content);
            }
        }
        new.extend(old[at..].iter().copied());
        new
    }

    proptest! {
        #[test]
        fn a_diff_leads_from_one_text_to_the_other(
            old in "([ab]?\n){0,12}[ab]?",
            new in "([ab]?\n){0,12}[ab]?",
            context in 0u32..4,
        ) {
            prop_assert_eq!(applied(&old, &unified(&old, &new, context)), new);
        }
    }
}

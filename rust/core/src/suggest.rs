//! Near names for "did you mean" (S3.4).

/// At most `limit` of `candidates` that are close to `wanted`, best first.
///
/// Close is: equal but for case, one contained in the other, or an edit distance of at most a third
/// of the longer name. Names that are merely short are not offered for everything.
pub fn near<'a, S: AsRef<str> + ?Sized + 'a>(
    wanted: &str,
    candidates: impl IntoIterator<Item = &'a S>,
    limit: usize,
) -> Vec<String> {
    let wanted_lower = wanted.to_lowercase();
    let mut scored: Vec<(usize, &str)> = candidates
        .into_iter()
        .filter_map(|it| score(&wanted_lower, it.as_ref()).map(|score| (score, it.as_ref())))
        .collect();
    scored.sort();
    scored.dedup();
    scored.into_iter().take(limit).map(|(_, name)| name.to_owned()).collect()
}

fn score(wanted: &str, candidate: &str) -> Option<usize> {
    let candidate = candidate.to_lowercase();
    if candidate == wanted {
        return Some(0);
    }
    let longer = wanted.chars().count().max(candidate.chars().count());
    let distance = edit_distance(wanted, &candidate);
    if distance * 3 <= longer.max(3) {
        return Some(distance);
    }
    // A long common part, such as `position` in `global_position`.
    let shorter = wanted.len().min(candidate.len());
    let contained = shorter >= 4 && (candidate.contains(wanted) || wanted.contains(&*candidate));
    contained.then_some(longer)
}

/// Edits (insert, delete, replace, swap of neighbors) from one text to the other.
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before_last = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replace = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replace.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before_last[j - 2] + 1);
            }
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_meant() {
        assert_eq!(near("positon", ["position", "rotation", "scale"], 3), ["position"]);
        assert_eq!(near("Sprite2d", ["Sprite2D", "Sprite3D", "Node"], 1), ["Sprite2D"]);
        assert_eq!(
            near("Player/Sprit", ["Player/Sprite", "Player"], 3),
            ["Player/Sprite", "Player"]
        );
    }

    #[test]
    fn offers_nothing_for_nonsense() {
        assert!(near("Foo", ["Node", "Node2D", "Sprite2D", "Timer"], 3).is_empty());
        assert!(near("", ["a", "ab"], 3).is_empty() || near("", ["abcd"], 3).is_empty());
    }
}

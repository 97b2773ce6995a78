//! Patterns of names.

/// Whether `text` is like `pattern`, in which `*` stands for any characters and `?` for one. Case
/// does not matter.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let lower = |it: &str| it.chars().flat_map(char::to_lowercase).collect::<Vec<_>>();
    let (pattern, text) = (lower(pattern), lower(text));
    let (mut at, mut read) = (0, 0);
    // Where to go on when what follows the last star does not fit.
    let mut retry: Option<(usize, usize)> = None;
    while read < text.len() {
        match pattern.get(at) {
            Some('*') => {
                retry = Some((at + 1, read));
                at += 1;
            }
            Some(it) if *it == '?' || *it == text[read] => {
                at += 1;
                read += 1;
            }
            _ => match retry {
                Some((after_star, from)) => {
                    retry = Some((after_star, from + 1));
                    at = after_star;
                    read = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|it| *it == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks() {
        for (pattern, text) in [
            ("*", ""),
            ("enemy*", "Enemy12"),
            ("*slime", "BigSlime"),
            ("a?c", "abc"),
            ("*a*b*", "xxaxxbx"),
            ("a**", "a"),
            ("*ab", "aab"),
        ] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in
            [("", "a"), ("enemy", "Enemy1"), ("a?c", "ac"), ("*b", "abc"), ("?", "")]
        {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }
}

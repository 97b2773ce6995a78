//! A set of characters.

/// Ranges of characters, both ends included.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Class {
    // Invariant: sorted, disjoint, not adjacent.
    ranges: Vec<(char, char)>,
}

impl Class {
    pub(super) fn one(it: char) -> Self {
        Self::range(it, it)
    }

    pub(super) fn range(from: char, to: char) -> Self {
        Self { ranges: vec![(from, to)] }
    }

    pub(super) fn digits() -> Self {
        Self::range('0', '9')
    }

    pub(super) fn word() -> Self {
        Self { ranges: vec![('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')] }
    }

    pub(super) fn spaces() -> Self {
        Self { ranges: vec![('\t', '\r'), (' ', ' ')] }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Its only character.
    pub(super) fn single(&self) -> Option<char> {
        match self.ranges[..] {
            [(from, to)] if from == to => Some(from),
            _ => None,
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.ranges.extend(other.ranges);
        self.ranges.sort_unstable();
        let mut merged: Vec<(char, char)> = Vec::with_capacity(self.ranges.len());
        for (from, to) in self.ranges.drain(..) {
            match merged.last_mut() {
                Some(last) if from <= last.1 || after(last.1) == Some(from) => {
                    last.1 = last.1.max(to);
                }
                _ => merged.push((from, to)),
            }
        }
        self.ranges = merged;
    }

    pub(super) fn complement(&self) -> Self {
        let mut ranges = Vec::with_capacity(self.ranges.len() + 1);
        let mut next = Some('\0');
        for &(from, to) in &self.ranges {
            if let (Some(start), Some(end)) = (next, before(from))
                && start <= end
            {
                ranges.push((start, end));
            }
            next = after(to);
        }
        ranges.extend(next.map(|it| (it, char::MAX)));
        Self { ranges }
    }

    pub(super) fn cost(&self) -> u64 {
        self.ranges.iter().map(|it| if it.1.is_ascii() { 1 } else { 8 }).sum()
    }

    /// As a class of the matcher, which has no other special characters inside one than these.
    /// Set operators (`&&`, `--`, `~~`) cannot arise: no character starts one range and ends another.
    pub(super) fn write(&self, out: &mut String) {
        let put = |it: char, out: &mut String| {
            if matches!(it, '[' | ']' | '\\' | '^' | '-') {
                out.push('\\');
            }
            out.push(it);
        };
        out.push('[');
        for &(from, to) in &self.ranges {
            put(from, out);
            if from != to {
                out.push('-');
                put(to, out);
            }
        }
        out.push(']');
    }

    #[cfg(test)]
    pub(super) fn has(&self, it: char) -> bool {
        self.ranges.iter().any(|range| range.0 <= it && it <= range.1)
    }
}

/// The character behind, surrogates left out.
fn after(it: char) -> Option<char> {
    match it {
        '\u{d7ff}' => Some('\u{e000}'),
        it => char::from_u32(u32::from(it) + 1),
    }
}

fn before(it: char) -> Option<char> {
    match it {
        '\u{e000}' => Some('\u{d7ff}'),
        it => char::from_u32(u32::from(it).checked_sub(1)?),
    }
}

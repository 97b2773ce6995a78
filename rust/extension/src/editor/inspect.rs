//! What the inspector shows of an object.
pub(crate) const MAX_ANSWER: usize = 25_000;

//! What is wrong with a document, and where.

use std::fmt;

use serde::Serialize;

use super::limits::PROBLEMS_LISTED_MAX;

/// One broken rule (R23, R57).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Problem {
    /// JSON Pointer to a value that is there: of something missing, to what should hold it.
    pub pointer: String,
    pub message: String,
    /// The contract's number of the rule, for tests.
    #[serde(skip)]
    pub rule: &'static str,
}

/// Problems in the order of the document. All are counted, the first are kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Problems {
    // Invariant: at most `limit`.
    listed: Vec<Problem>,
    limit: usize,
    pub total: usize,
}

impl Default for Problems {
    fn default() -> Self {
        Self::with_limit(PROBLEMS_LISTED_MAX)
    }
}

impl Problems {
    pub fn with_limit(limit: usize) -> Self {
        Self { listed: Vec::new(), limit, total: 0 }
    }

    /// A document with one problem as a whole.
    pub fn whole(rule: &'static str, message: impl Into<String>) -> Self {
        let mut problems = Self::default();
        problems.add(rule, &Pointer::ROOT, message);
        problems
    }

    pub fn add(&mut self, rule: &'static str, at: &Pointer<'_>, message: impl Into<String>) {
        self.total += 1;
        if self.listed.len() < self.limit {
            let (pointer, message) = (at.to_string(), message.into());
            self.listed.push(Problem { pointer, message, rule });
        }
    }

    /// As `add`, with a pointer that is spelled out already.
    pub(crate) fn add_at(&mut self, rule: &'static str, pointer: &str, message: String) {
        self.total += 1;
        if self.listed.len() < self.limit {
            self.listed.push(Problem { pointer: pointer.to_owned(), message, rule });
        }
    }

    pub fn listed(&self) -> &[Problem] {
        &self.listed
    }

    pub fn is_empty(&self) -> bool {
        self.total == 0
    }
}

/// A place in a document, spelled out only when there is a problem at it.
#[derive(Clone, Copy, Debug)]
pub struct Pointer<'a> {
    parent: Option<&'a Pointer<'a>>,
    token: Token<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Token<'a> {
    Root,
    Key(&'a str),
    Item(usize),
}

impl<'a> Pointer<'a> {
    pub const ROOT: Pointer<'static> = Pointer { parent: None, token: Token::Root };

    pub fn key(&'a self, key: &'a str) -> Pointer<'a> {
        Pointer { parent: Some(self), token: Token::Key(key) }
    }

    pub fn item(&'a self, index: usize) -> Pointer<'a> {
        Pointer { parent: Some(self), token: Token::Item(index) }
    }
}

impl fmt::Display for Pointer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        match self.token {
            Token::Root => Ok(()),
            Token::Key(key) => write!(f, "/{}", key.replace('~', "~0").replace('/', "~1")),
            Token::Item(index) => write!(f, "/{index}"),
        }
    }
}

//! Safety classes (S1).

use serde::Serialize;

/// What a tool promises about its effects (S1). Every tool has exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SafetyClass {
    /// Changes nothing, ever.
    ReadOnly,
    /// Reversible; one undo action a call.
    Mutating,
    /// Deletes, overwrites or is hard to reverse; needs `confirm`.
    Destructive,
    /// Drives a running game or another process.
    Runtime,
}

impl SafetyClass {
    pub const ALL: &[Self] = &[Self::ReadOnly, Self::Mutating, Self::Destructive, Self::Runtime];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read_only",
            Self::Mutating => "mutating",
            Self::Destructive => "destructive",
            Self::Runtime => "runtime",
        }
    }

    /// Whether the framework adds `dry_run` (S1.2).
    pub fn has_dry_run(self) -> bool {
        matches!(self, Self::Mutating | Self::Destructive)
    }

    /// Whether the framework adds `confirm` (S1.2).
    pub fn has_confirm(self) -> bool {
        self == Self::Destructive
    }
}

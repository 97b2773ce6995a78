//! What became of calls. Needed so seldom that it is no part of every client's context.

mod get_transaction;

use crate::tool::ToolDef;

pub(super) const TOOLS: &[ToolDef] = &[ToolDef::offline::<get_transaction::GetTransaction>()];

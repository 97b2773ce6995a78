//! Refusals of this server in the shape and with the codes of X8.

use godot::builtin::VarDictionary;
use godot_mcp_core::{Code, ToolError};

/// As `MCPToolkitError.fail` makes it.
pub(crate) fn dictionary(error: &ToolError) -> VarDictionary {
    let mut answer = VarDictionary::new();
    answer.set("success", false);
    answer.set("error", error.message.as_str());
    answer.set("code", code(error));
    let hint = error.hint_or_default();
    if !hint.is_empty() {
        answer.set("hint", hint);
    }
    answer
}

/// The code of X8 that says the same.
pub(crate) fn code(error: &ToolError) -> &'static str {
    match error.code {
        Code::PreconditionFailed if error.required.as_deref() == Some("active_scene") => "NO_SCENE",
        Code::PreconditionFailed
        | Code::StateChanged
        | Code::IdempotencyConflict
        | Code::ToolsetDisabled
        | Code::ReadOnly
        | Code::ApprovalDenied => "INVALID_STATE",
        Code::ResourceNotFound => "NOT_FOUND",
        Code::ValidationError => "INVALID_PARAMS",
        Code::Cancelled => "FAILED",
        Code::Paused => "BUSY",
        Code::Own(code) => code,
        Code::Unsupported
        | Code::Timeout
        | Code::Busy
        | Code::AlreadyExists
        | Code::PathDenied
        | Code::ResponseTooLarge
        | Code::GameNotRunning
        | Code::HeadlessUnsupported
        | Code::Internal => error.code.as_str(),
    }
}

//! The one error shape of every tool (S3).

use std::borrow::Cow;
use std::fmt::Display;
use std::ops::{Deref, DerefMut};

use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

/// Stable error codes (S3.2). The wording of messages may change, codes do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Code {
    /// Something must hold first; `required` names it.
    PreconditionFailed,
    /// The named node, file, snapshot or other thing is not there.
    ResourceNotFound,
    /// An argument is not of the declared form; `required` names the parameter.
    ValidationError,
    /// The tool's toolset is off; enable it and call again.
    ToolsetDisabled,
    /// A human or their policy said no; do not repeat the call unchanged.
    ApprovalDenied,
    /// This editor, platform or tool cannot do it.
    Unsupported,
    /// The deadline passed. `details.may_have_applied` tells whether anything could have changed.
    Timeout,
    /// The caller went away or cancelled; nothing was done unless said so.
    Cancelled,
    /// The editor has more work than it may queue, or is importing; call again later.
    Busy,
    /// What the call was planned on has changed since; look again, then call again.
    StateChanged,
    /// The target exists and would be overwritten.
    AlreadyExists,
    /// The path is outside what the tool may touch.
    PathDenied,
    /// The server runs read-only.
    ReadOnly,
    /// A human has paused the server.
    Paused,
    /// The idempotency key was used with other arguments.
    IdempotencyConflict,
    /// The answer is larger than the cap; ask for less.
    ResponseTooLarge,
    /// No running game is connected.
    GameNotRunning,
    /// It needs a display and this editor has none.
    HeadlessUnsupported,
    /// A fault of this server. The editor goes on.
    Internal,
    /// A code that only tools of the project give, one of `EXTENSION_CODES` (X8).
    Own(&'static str),
}

/// Codes of the extension contract (X8), those that are also codes of this server included.
pub const EXTENSION_CODES: &[&str] = &[
    "ALREADY_EXISTS",
    "ALREADY_PLAYING",
    "BUSY",
    "CLASS_MISMATCH",
    "COMPILATION_FAILED",
    "CONNECT_FAILED",
    "CREATE_DIR_FAILED",
    "DELETE_FAILED",
    "DIR_NOT_EMPTY",
    "DISCONNECTED",
    "EDITED_SCENE",
    "EDITOR_VIEWPORT_UNAVAILABLE",
    "EMPTY_CONTENT",
    "EXECUTE_FAILED",
    "EXTERNAL_EDITOR_ACTIVE",
    "FAILED",
    "FILE_TOO_LARGE",
    "FILESYSTEM_NOT_READY",
    "FOLDER_PROTECTED",
    "GAME_NOT_RUNNING",
    "HEADLESS_UNSUPPORTED",
    "INTERNAL",
    "INVALID_CLASS",
    "INVALID_METHOD",
    "INVALID_PARAMS",
    "INVALID_PATH",
    "INVALID_STATE",
    "INVALID_VALUE",
    "LOAD_FAILED",
    "LOG_BUSY",
    "LOG_UNAVAILABLE",
    "NO_SCENE",
    "NODE_NOT_FOUND",
    "NOT_A_RESOURCE",
    "NOT_BREAKED",
    "NOT_FOUND",
    "NOT_UNIQUE",
    "PACK_FAILED",
    "PARENT_NOT_FOUND",
    "PARSE_ERROR",
    "PATH_DENIED",
    "PATH_IN_USE",
    "PROPERTY_NOT_FOUND",
    "READ_FAILED",
    "RESPONSE_TOO_LARGE",
    "RUNTIME_WINDOW_MINIMIZED",
    "SAVE_DELETE_FAILED",
    "SAVE_FAILED",
    "SAVE_READ_FAILED",
    "SAVE_WRITE_FAILED",
    "SET_FAILED",
    "TIMEOUT",
    "UNKNOWN_CLASS",
    "UNSUPPORTED",
    "UNSUPPORTED_FILE_TYPE",
    "WRITE_FAILED",
];

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl Code {
    /// All codes of this server, for documentation and tests.
    pub const ALL: &[Self] = &[
        Self::PreconditionFailed,
        Self::ResourceNotFound,
        Self::ValidationError,
        Self::ToolsetDisabled,
        Self::ApprovalDenied,
        Self::Unsupported,
        Self::Timeout,
        Self::Cancelled,
        Self::Busy,
        Self::StateChanged,
        Self::AlreadyExists,
        Self::PathDenied,
        Self::ReadOnly,
        Self::Paused,
        Self::IdempotencyConflict,
        Self::ResponseTooLarge,
        Self::GameNotRunning,
        Self::HeadlessUnsupported,
        Self::Internal,
    ];

    /// The code as it travels, for example `VALIDATION_ERROR`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PreconditionFailed => "PRECONDITION_FAILED",
            Self::ResourceNotFound => "RESOURCE_NOT_FOUND",
            Self::ValidationError => "VALIDATION_ERROR",
            Self::ToolsetDisabled => "TOOLSET_DISABLED",
            Self::ApprovalDenied => "APPROVAL_DENIED",
            Self::Unsupported => "UNSUPPORTED",
            Self::Timeout => "TIMEOUT",
            Self::Cancelled => "CANCELLED",
            Self::Busy => "BUSY",
            Self::StateChanged => "STATE_CHANGED",
            Self::AlreadyExists => "ALREADY_EXISTS",
            Self::PathDenied => "PATH_DENIED",
            Self::ReadOnly => "READ_ONLY",
            Self::Paused => "PAUSED",
            Self::IdempotencyConflict => "IDEMPOTENCY_CONFLICT",
            Self::ResponseTooLarge => "RESPONSE_TOO_LARGE",
            Self::GameNotRunning => "GAME_NOT_RUNNING",
            Self::HeadlessUnsupported => "HEADLESS_UNSUPPORTED",
            Self::Internal => "INTERNAL",
            Self::Own(code) => code,
        }
    }

    /// The code that travels as `text`.
    pub fn parse(text: &str) -> Option<Self> {
        let own = || EXTENSION_CODES.iter().find(|it| **it == text).map(|it| Self::Own(it));
        Self::ALL.iter().copied().find(|it| it.as_str() == text).or_else(own)
    }

    /// What to do next, for errors that have no better hint of their own.
    fn what_to_do(self) -> &'static str {
        match self {
            Self::PreconditionFailed => "see `required` for what must hold first, then call again",
            Self::ResourceNotFound => {
                "check the spelling, and list what exists before calling again"
            }
            Self::ValidationError => {
                "see the description of the parameter in the tool's input schema"
            }
            Self::ToolsetDisabled => "call `enable_toolset`, then call again",
            Self::ApprovalDenied => "ask the human; do not repeat the call unchanged",
            Self::Unsupported => "this editor cannot do it; find another way",
            Self::Timeout | Self::Busy => "`health_check` says what the editor is busy with",
            Self::Cancelled => "call again if it is still wanted",
            Self::StateChanged => "look at the current state, then call again",
            Self::AlreadyExists => "choose another name, or change what exists",
            Self::PathDenied => "give a res:// path inside the project",
            Self::ReadOnly | Self::Paused => "only a human can lift it",
            Self::IdempotencyConflict => "use a new key for new arguments",
            Self::ResponseTooLarge => "ask for less: a smaller part, fewer fields, or a page",
            Self::GameNotRunning => "start the game first",
            Self::HeadlessUnsupported => "it needs an editor with a window",
            Self::Internal => "this is a fault of the server; `get_errors` may say more",
            Self::Own(_) => "",
        }
    }

    /// Whether the very same call may succeed later.
    pub fn retryable(self) -> bool {
        matches!(self, Self::Timeout | Self::Busy | Self::Paused | Self::StateChanged)
    }
}

/// What a refused or failed call answers (S3).
///
/// The message says what was asked and what was found, values in quotes, without a final period.
/// The hint says what to do next. Tool and argument names are added by the framework.
///
/// One pointer, so the results that carry it through every tool stay small.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}: {}", .0.code.as_str(), .0.message)]
pub struct ToolError(Box<Fault>);

/// What a [`ToolError`] says.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    pub code: Code,
    pub message: String,
    pub hint: String,
    /// The token of S3.3, or the parameter at fault.
    pub required: Option<Cow<'static, str>>,
    pub suggestions: Vec<String>,
    pub details: Option<Value>,
    /// The plan's changes, when a confirmation is missing (S3.1).
    pub would: Option<Value>,
}

impl Deref for ToolError {
    type Target = Fault;

    fn deref(&self) -> &Fault {
        &self.0
    }
}

impl DerefMut for ToolError {
    fn deref_mut(&mut self) -> &mut Fault {
        &mut self.0
    }
}

impl ToolError {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self(Box::new(Fault {
            code,
            message: message.into(),
            hint: String::new(),
            required: None,
            suggestions: Vec::new(),
            details: None,
            would: None,
        }))
    }

    /// An argument of the wrong form. `parameter` names it.
    pub fn invalid(parameter: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self::new(Code::ValidationError, message).required(parameter)
    }

    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(Code::ResourceNotFound, message)
    }

    pub fn precondition(required: &'static str, message: impl Into<String>) -> Self {
        Self::new(Code::PreconditionFailed, message).required(required)
    }

    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Code::Internal, message)
            .hint("this is a fault of the server, not of the call; `get_errors` may say more")
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    #[must_use]
    pub fn required(mut self, token: impl Into<Cow<'static, str>>) -> Self {
        self.required = Some(token.into());
        self
    }

    /// Near matches (S3.4). With an empty hint they also become the hint.
    #[must_use]
    pub fn suggest<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.suggestions = names.into_iter().map(Into::into).collect();
        if self.hint.is_empty() && !self.suggestions.is_empty() {
            let quoted: Vec<_> = self.suggestions.iter().map(|it| format!("\"{it}\"")).collect();
            self.hint = format!("close matches: {}", quoted.join(", "));
        }
        self
    }

    #[must_use]
    pub fn details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    #[must_use]
    pub fn would(mut self, changes: Value) -> Self {
        self.would = Some(changes);
        self
    }

    /// Its parts, to be taken apart.
    pub fn into_fault(self) -> Fault {
        *self.0
    }

    /// The error that `to_value` made this of.
    pub fn from_value(value: &Value) -> Option<Self> {
        let text = |name: &str| value[name].as_str().map(str::to_owned);
        let mut error = Self::new(Code::parse(value["error"].as_str()?)?, text("message")?);
        error.hint = text("hint").unwrap_or_default();
        error.required = text("required").map(Cow::Owned);
        let suggestions = value["suggestions"].as_array().into_iter().flatten();
        error.suggestions = suggestions.filter_map(|it| it.as_str().map(str::to_owned)).collect();
        error.details = value.get("details").cloned();
        error.would = value.get("would").cloned();
        Some(error)
    }

    /// Says at what the fault lies, such as one node of many.
    #[must_use]
    pub fn at(mut self, place: impl Display) -> Self {
        self.message = format!("{place}: {}", self.message);
        self
    }

    /// Says in which entry of a list the fault lies.
    #[must_use]
    pub fn in_entry(self, list: &str, index: usize) -> Self {
        self.at(format_args!("{list}/{index}")).detail("index", index)
    }

    /// Adds one field to `details`.
    #[must_use]
    pub fn detail(mut self, name: &str, value: impl Into<Value>) -> Self {
        let mut details = match self.details.take() {
            Some(Value::Object(map)) => map,
            Some(other) => Map::from_iter([("details".to_owned(), other)]),
            None => Map::new(),
        };
        details.insert(name.to_owned(), value.into());
        self.details = Some(Value::Object(details));
        self
    }

    /// Its own hint, or the one of its code.
    pub fn hint_or_default(&self) -> &str {
        if self.hint.is_empty() { self.code.what_to_do() } else { &self.hint }
    }

    /// The error as it travels in `structuredContent` and as text.
    pub fn to_value(&self) -> Value {
        let mut map = Map::new();
        map.insert("error".into(), json!(self.code.as_str()));
        map.insert("message".into(), json!(self.message));
        let hint = self.hint_or_default();
        if !hint.is_empty() {
            map.insert("hint".into(), json!(hint));
        }
        if let Some(required) = &self.required {
            map.insert("required".into(), json!(required));
        }
        if !self.suggestions.is_empty() {
            map.insert("suggestions".into(), json!(self.suggestions));
        }
        map.insert("retryable".into(), json!(self.code.retryable()));
        if let Some(details) = &self.details {
            map.insert("details".into(), details.clone());
        }
        if let Some(would) = &self.would {
            map.insert("would".into(), would.clone());
        }
        Value::Object(map)
    }
}

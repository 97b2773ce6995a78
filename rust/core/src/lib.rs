//! The rules of Godot MCP, without Godot and without MCP: what a tool declares, how a call is
//! checked, what an answer looks like. Compiles and tests in seconds.

pub mod approval;
pub mod args;
pub mod audit;
pub mod call;
pub mod clock;
pub mod commands;
pub mod completion;
pub mod conflict;
pub mod content;
pub mod digest;
pub mod discover;
pub mod error;
pub mod example;
pub mod feed;
pub mod game_log;
pub mod gate;
pub mod heartbeat;
pub mod journal;
pub mod lease;
pub mod paging;
pub mod path_uses;
pub mod paths;
pub mod prompt;
pub mod question;
pub mod rate;
pub mod registry;
pub mod safety;
pub mod scene_text;
pub mod scene_uses;
pub mod schema;
pub mod script_source;
pub mod spec;
pub mod suggest;
pub mod text_diff;
pub mod text_search;
pub mod toolset;
pub mod untrusted;
pub mod updates;

pub use call::{Answer, CancelFlag, Host, Reply, ToolCall};
pub use content::{Body, Content, Document};
pub use error::{Code, ToolError};
pub use example::{Example, Expect};
pub use safety::SafetyClass;
pub use spec::{Site, ToolSpec, UndoKind};

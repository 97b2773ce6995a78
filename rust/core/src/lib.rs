//! The rules of Godot MCP, without Godot and without MCP: what a tool declares, how a call is
//! checked, what an answer looks like. Compiles and tests in seconds.

pub mod args;
pub mod call;
pub mod discover;
pub mod error;
pub mod example;
pub mod feed;
pub mod game_log;
pub mod gate;
pub mod heartbeat;
pub mod path_uses;
pub mod paths;
pub mod registry;
pub mod safety;
pub mod schema;
pub mod script_source;
pub mod spec;
pub mod suggest;
pub mod toolset;
pub mod untrusted;
pub mod updates;

pub use call::{Answer, CancelFlag, Host, Reply, ToolCall};
pub use error::{Code, ToolError};
pub use example::{Example, Expect};
pub use safety::SafetyClass;
pub use spec::{Site, ToolSpec, UndoKind};

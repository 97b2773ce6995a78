//! The MCP endpoint: one thread that listens, authenticates and speaks the protocol.
//!
//! Everything that happens to a request, in the order in which it happens:
//!
//! | step | file |
//! |---|---|
//! | bind, accept, limit connections | `bind.rs`, `connections.rs` |
//! | Host, Origin, token | `access.rs` |
//! | route, body size, readable refusals | `http.rs`, `body.rs` |
//! | protocol, both eras | rmcp; `sessions.rs` and `session_store.rs` keep legacy sessions |
//! | tools and resources | `endpoint.rs`, `tools.rs`, `resources.rs` |
//! | one call: cancellation, progress, panics | `calls.rs`, `progress.rs` |
//! | questions to the human behind the client | `elicitation.rs` |
//! | answer | `answer.rs` |
//!
//! What the server tells clients on its own is in `changes.rs`.
//!
//! Only this crate knows rmcp and hyper. It knows nothing of Godot: calls go to a
//! [`Host`](godot_mcp_core::Host).

mod access;
mod answer;
mod bind;
mod body;
mod calls;
mod changes;
mod clients;
mod connections;
mod elicitation;
mod endpoint;
mod http;
mod options;
mod private_file;
mod progress;
mod resources;
mod server;
mod session_store;
mod sessions;
mod token;
mod tools;

pub use clients::ClientInfo;
pub use options::{PortChoice, ServerOptions};
pub use server::{Announcer, Server, StartError};
pub use token::load_or_create_token;

/// Versions of the protocol that clients may speak, oldest first.
pub fn protocol_versions() -> Vec<String> {
    rmcp::model::ProtocolVersion::KNOWN_VERSIONS.iter().map(ToString::to_string).collect()
}

//! What live tests, the demo session and the benchmarks share: a real editor on a copy of a
//! project, an MCP client, and the notation of examples.
#![expect(clippy::missing_panics_doc, reason = "a test helper that fails panics")]

pub mod client;
pub mod display;
pub mod editor;
pub mod examples;
pub mod notation;
pub mod pack;
pub mod parts;
pub mod project_files;
pub mod reference;
pub mod wire;

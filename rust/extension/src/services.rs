//! Clients of what the editor itself serves on loopback. They run on the I/O runtime.

pub(crate) mod code_queries;
pub(crate) mod language_server;

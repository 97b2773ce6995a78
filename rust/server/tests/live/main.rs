//! A real server, real sockets, a host without an editor.

mod access;
mod calls;
mod changes;
mod lifecycle;
mod limits;
mod protocol;
mod questions;
mod sessions;
mod support;

//! The host behind the server, and the clients in front of it.

pub(crate) mod host;
pub(crate) mod http;
pub(crate) mod mcp;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use godot_mcp_server::{PortChoice, Server, ServerOptions};
use host::FakeHost;

/// How long a test waits for something that should happen at once.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) const TOKEN: &str = "token-of-the-tests-0123456789";

pub(crate) fn options() -> ServerOptions {
    let mut options = ServerOptions::new(Some(TOKEN.to_owned()));
    options.address = IpAddr::V4(Ipv4Addr::LOCALHOST);
    options.port = PortChoice::Exact(0);
    options
}

pub(crate) fn start() -> (Server, Arc<FakeHost>) {
    start_with(options())
}

pub(crate) fn start_with(options: ServerOptions) -> (Server, Arc<FakeHost>) {
    let host = FakeHost::new();
    let server = Server::start(host.clone(), options).unwrap();
    (server, host)
}

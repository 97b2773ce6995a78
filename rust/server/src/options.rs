//! What the embedding program decides about the endpoint.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

/// Port that is asked for first.
const DEFAULT_PORT: u16 = 8137;

/// Which port to listen on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortChoice {
    /// This one or none. 0 lets the system choose.
    Exact(u16),
    /// The first free one of ten, so that several editors can run side by side.
    FirstFreeFrom(u16),
}

impl PortChoice {
    const TRIED: u16 = 10;

    pub(crate) fn candidates(self) -> impl Iterator<Item = u16> {
        let (first, count) = match self {
            Self::Exact(port) => (port, 1),
            Self::FirstFreeFrom(first) => (first, Self::TRIED),
        };
        (0..count).filter_map(move |offset| first.checked_add(offset))
    }
}

#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Address to listen on. On `127.0.0.1` the server also listens on `::1` when it can.
    pub address: IpAddr,
    pub port: PortChoice,
    /// Bearer token that every request must carry. `None` means that the operator turned it off,
    /// which is refused on any address but loopback (S9.1).
    pub token: Option<String>,
    /// Web origins that may call besides those on loopback, for example `https://example.com`.
    pub allowed_origins: Vec<String>,
    /// Name and version that clients see.
    pub name: String,
    pub version: String,
    /// Where legacy sessions are kept, so that a restart of the editor does not orphan clients.
    pub session_file: Option<PathBuf>,
    /// Larger requests are answered with 413.
    pub max_request_bytes: usize,
    /// Larger answers become `RESPONSE_TOO_LARGE`.
    pub max_answer_bytes: usize,
}

impl ServerOptions {
    /// Loopback, the usual port or one of the next, and the usual limits.
    pub fn new(token: Option<String>) -> Self {
        Self {
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: PortChoice::FirstFreeFrom(DEFAULT_PORT),
            token,
            allowed_origins: Vec::new(),
            name: "godot-mcp".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            session_file: None,
            max_request_bytes: 4 << 20,
            max_answer_bytes: 1 << 20,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_do_not_wrap() {
        let ports = |choice: PortChoice| choice.candidates().collect::<Vec<_>>();
        assert_eq!(ports(PortChoice::Exact(0)), [0]);
        assert_eq!(ports(PortChoice::FirstFreeFrom(8137)), (8137..8147).collect::<Vec<_>>());
        assert_eq!(ports(PortChoice::FirstFreeFrom(65534)), [65534, 65535]);
    }
}

//! Serves the pack of the conformance suite on a free port of loopback, until its standard input
//! ends. Prints the address.

#![allow(clippy::print_stdout, reason = "its output is its purpose")]

use std::io::Read;

use godot_mcp_server::{PortChoice, Server, ServerOptions};
use godot_mcp_tests::pack::Pack;

fn main() {
    let pack = Pack::new();
    // The suite sends no token. On loopback an operator may turn it off (S9.1).
    let mut options = ServerOptions::new(None);
    options.port = PortChoice::Exact(0);
    let server = Server::start(pack.host(), options).expect("a free port");
    pack.announce_with(server.announcer());
    println!("{}", server.url());
    let mut rest = Vec::new();
    std::io::stdin().read_to_end(&mut rest).expect("standard input");
    server.stop();
}

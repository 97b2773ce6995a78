//! Start, stop, ports.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use godot_mcp_server::{PortChoice, Server, StartError};
use serde_json::json;

use crate::support::host::FakeHost;
use crate::support::http::{connect, initialize, modern, modern_request, request};
use crate::support::{options, start, start_with};

#[test]
fn starts_and_stops_a_hundred_times_on_one_port() {
    let (server, _host) = start();
    let mut same = options();
    same.port = PortChoice::Exact(server.port());
    server.stop();
    for round in 0..100 {
        let host = FakeHost::new();
        let server = Server::start(host.clone(), same.clone()).unwrap();
        assert_eq!(modern(server.port(), "tools/list", json!({})).status, 200, "round {round}");
        // Something is always open when it stops.
        initialize(server.port(), "2025-11-25");
        let idle = connect(server.port());
        server.stop();
        drop(idle);
        assert_eq!(Arc::strong_count(&host), 1, "something survived the stop");
    }
}

#[tokio::test]
async fn a_stop_cancels_calls_and_takes_no_time() {
    let (server, host) = start();
    let mut streams = Vec::new();
    for tool in ["wait", "stubborn"] {
        let (headers, body) = modern_request("tools/call", json!({"name": tool, "arguments": {}}));
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let headers = [&headers[..], &[("Connection", "close")]].concat();
        let mut stream = connect(server.port());
        stream.write_all(&request("POST", "/mcp", &headers, &body)).unwrap();
        host.started(tool).await;
        streams.push(stream);
    }
    let began = Instant::now();
    server.stop();
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    assert_eq!(Arc::strong_count(&host), 1, "something survived the stop");
    host.cancelled("wait").await;
    for mut stream in streams {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.contains("CANCELLED"), "{answer}");
    }
}

#[test]
fn dropping_is_stopping() {
    let (server, host) = start();
    let port = server.port();
    drop(server);
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
    assert_eq!(Arc::strong_count(&host), 1);
}

#[test]
fn a_busy_port_is_passed_over_or_reported() {
    let (first, _host) = start();
    let mut exact = options();
    exact.port = PortChoice::Exact(first.port());
    let refused = Server::start(FakeHost::new(), exact).err();
    assert!(matches!(refused, Some(StartError::PortsBusy { .. })), "{refused:?}");

    let mut next = options();
    next.port = PortChoice::FirstFreeFrom(first.port());
    let (second, _host) = start_with(next);
    assert!(second.port() > first.port() && second.port() < first.port() + 10);
    assert_eq!(second.url(), format!("http://127.0.0.1:{}/mcp", second.port()));
    assert_eq!(modern(second.port(), "tools/list", json!({})).status, 200);
}

#[test]
fn localhost_is_served_on_both_families() {
    if TcpListener::bind("[::1]:0").is_err() {
        return; // This machine has no IPv6.
    }
    let (server, _host) = start();
    let mut stream = TcpStream::connect(("::1", server.port())).unwrap();
    let headers = [("Connection", "close"), ("Host", "[::1]")];
    stream.write_all(&request("GET", "/health", &headers, b"")).unwrap();
    assert_eq!(crate::support::http::read(&mut stream).status, 200);
}

/// Another program on `::1` would receive what clients send to `localhost`.
#[test]
fn a_port_that_is_busy_on_one_family_is_passed_over() {
    let Ok(other) = TcpListener::bind("[::1]:0") else { return };
    let taken = other.local_addr().unwrap().port();
    let mut next = options();
    next.port = PortChoice::FirstFreeFrom(taken);
    let (server, _host) = start_with(next);
    assert_ne!(server.port(), taken);
}

#[test]
fn an_address_that_is_not_ours_is_an_error() {
    let mut elsewhere = options();
    elsewhere.address = "192.0.2.1".parse().unwrap();
    let refused = Server::start(FakeHost::new(), elsewhere).err();
    assert!(matches!(refused, Some(StartError::Bind { .. })), "{refused:?}");
}

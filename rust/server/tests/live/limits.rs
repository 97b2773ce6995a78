//! Sizes, broken input and rude clients (S9.5).

use std::io::{Read, Write};

use serde_json::json;

use crate::support::http::{
    connect, initialize, legacy, modern, modern_request, read, request, send,
};
use crate::support::{options, start, start_with};

#[test]
fn large_requests_are_refused_with_a_reason() {
    let (server, _host) = start();
    let port = server.port();
    let headers = |length| [("Content-Type", "application/json"), ("Content-Length", length)];
    let body = vec![b' '; (4 << 20) + 1];

    let refused = send(port, "POST", "/mcp", &[], &body);
    assert_eq!(refused.status, 413);
    assert!(refused.json()["error"]["message"].as_str().unwrap().contains("4194304"));

    // Without a length that could be known beforehand.
    let mut stream = connect(port);
    let chunked =
        [("Content-Length", ""), ("Transfer-Encoding", "chunked"), ("Connection", "close")];
    stream.write_all(&request("POST", "/mcp", &chunked, b"")).unwrap();
    for chunk in body.chunks(100_000) {
        stream.write_all(format!("{:x}\r\n", chunk.len()).as_bytes()).unwrap();
        stream.write_all(chunk).unwrap();
        stream.write_all(b"\r\n").unwrap();
    }
    stream.write_all(b"0\r\n\r\n").unwrap();
    let refused = read(&mut stream);
    assert_eq!(refused.status, 413);
    assert!(refused.json()["error"]["message"].is_string());

    // A client that asks first is told before it sends.
    let mut stream = connect(port);
    let mut asking = headers("5000000").to_vec();
    asking.extend([("Expect", "100-continue"), ("Connection", "close")]);
    stream.write_all(&request("POST", "/mcp", &asking, b"")).unwrap();
    assert_eq!(read(&mut stream).status, 413);

    // Just below the limit is fine.
    let (names, mut body) = modern_request("tools/call", json!({"name": "text", "arguments": {}}));
    body.resize(4 << 20, b' ');
    let names: Vec<_> = names.iter().map(|(name, value)| (*name, value.as_str())).collect();
    assert_eq!(send(port, "POST", "/mcp", &names, &body).status, 200);
}

#[test]
fn large_answers_are_refused_with_a_hint() {
    let (server, _host) = start();
    let answer = |bytes: usize| {
        let params = json!({"name": "bytes", "arguments": {"bytes": bytes}});
        modern(server.port(), "tools/call", params).json()["result"].clone()
    };
    assert_eq!(answer(1 << 20)["isError"], false);
    let refused = answer((1 << 20) + 1);
    assert_eq!(refused["isError"], true);
    assert_eq!(refused["structuredContent"]["error"], "RESPONSE_TOO_LARGE");
    assert!(!refused["structuredContent"]["hint"].as_str().unwrap().is_empty());
}

#[test]
fn broken_requests_are_answered_and_the_server_lives() {
    let (server, _host) = start();
    let port = server.port();
    let code = |body: &str| {
        let response = send(port, "POST", "/mcp", &[], body.as_bytes());
        (response.status, response.json()["error"]["code"].as_i64().unwrap())
    };
    assert_eq!(code("{ not json"), (400, -32700));
    assert_eq!(code(""), (400, -32700));
    assert_eq!(code("\u{0}"), (400, -32700));
    assert_eq!(code("{}"), (400, -32600));
    assert_eq!(code("42"), (400, -32600));
    assert_eq!(code("[]"), (400, -32600));
    assert_eq!(code(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).0, 400, "no session");

    let wrong_type = send(port, "POST", "/mcp", &[("Content-Type", "text/plain")], b"{}");
    assert_eq!(wrong_type.status, 415);
    assert!(wrong_type.json()["error"]["message"].is_string());
    assert_eq!(send(port, "POST", "/mcp", &[("Accept", "text/html")], b"{}").status, 406);
    assert_eq!(send(port, "PUT", "/mcp", &[], b"{}").header("allow"), Some("GET, POST, DELETE"));

    let garbage = |bytes: &[u8]| {
        let mut stream = connect(port);
        drop(stream.write_all(bytes));
        let mut answer = Vec::new();
        drop(stream.read_to_end(&mut answer));
        String::from_utf8_lossy(&answer).into_owned()
    };
    assert!(garbage(b"hello\r\n\r\n").starts_with("HTTP/1.1 400"));
    let flood = format!("GET / HTTP/1.1\r\n{}", "X-Flood: 1\r\n".repeat(20_000));
    assert!(garbage(flood.as_bytes()).starts_with("HTTP/1.1 431"));
    assert_eq!(modern(port, "tools/list", json!({})).status, 200);
}

#[test]
fn deeply_nested_json_is_refused_and_not_followed() {
    let (server, _host) = start();
    let depth = 100_000;
    let body = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(send(server.port(), "POST", "/mcp", &[], body.as_bytes()).status, 400);
}

/// Rust programs ignore SIGPIPE, Godot does not; so the test looks at the mask itself.
#[test]
fn a_broken_pipe_does_not_end_the_process() {
    let (server, _host) = start();
    let params = json!({"name": "sigpipe", "arguments": {}});
    let answer = modern(server.port(), "tools/call", params).json();
    assert_eq!(answer["result"]["structuredContent"]["blocked"], true);
}

#[test]
fn a_client_that_hangs_up_in_the_middle_of_an_answer_does_no_harm() {
    let mut generous = options();
    generous.max_answer_bytes = 64 << 20;
    let (server, _host) = start_with(generous);
    let params = json!({"name": "bytes", "arguments": {"bytes": 32 << 20}});
    let (headers, body) = modern_request("tools/call", params.clone());
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    for _ in 0..3 {
        let mut stream = connect(server.port());
        stream.write_all(&request("POST", "/mcp", &headers, &body)).unwrap();
        let mut some = [0; 1000];
        stream.read_exact(&mut some).unwrap();
        drop(stream);
    }
    let (session, _) = initialize(server.port(), "2025-11-25");
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    for _ in 0..3 {
        let mut stream = connect(server.port());
        let headers = [("Mcp-Session-Id", &*session)];
        stream.write_all(&request("POST", "/mcp", &headers, call.to_string().as_bytes())).unwrap();
        let mut some = [0; 1000];
        stream.read_exact(&mut some).unwrap();
        drop(stream);
    }
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    assert_eq!(legacy(server.port(), &session, &list).status, 200);
    assert_eq!(modern(server.port(), "tools/list", json!({})).status, 200);
}

#[test]
fn two_hundred_clients_are_served_at_once() {
    let (server, _host) = start();
    let (headers, body) = modern_request("tools/call", json!({"name": "text", "arguments": {}}));
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let headers = [&headers[..], &[("Connection", "close")]].concat();
    let mut streams: Vec<_> = (0..200).map(|_| connect(server.port())).collect();
    for stream in &mut streams {
        stream.write_all(&request("POST", "/mcp", &headers, &body)).unwrap();
    }
    for stream in &mut streams {
        assert_eq!(read(stream).status, 200);
    }
}

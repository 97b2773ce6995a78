//! S9.1 on every route.

use godot_mcp_server::{Server, StartError};

use crate::support::host::FakeHost;
use crate::support::http::{modern_request, send};
use crate::support::{options, start, start_with};

const ROUTES: [(&str, &str); 7] = [
    ("POST", "/mcp"),
    ("GET", "/mcp"),
    ("DELETE", "/mcp"),
    ("OPTIONS", "/mcp"),
    ("GET", "/health"),
    ("GET", "/"),
    ("GET", "/no/such/route"),
];

#[test]
fn every_route_checks_host_origin_and_token() {
    let (server, _host) = start();
    for (method, path) in ROUTES {
        let status =
            |headers: &[(&str, &str)]| send(server.port(), method, path, headers, b"").status;
        assert!(![401, 403].contains(&status(&[])), "{method} {path} with everything right");
        for (headers, expected) in [
            (&[("Host", "evil.example")][..], 403),
            (&[("Host", "")], 403),
            (&[("Origin", "https://evil.example")], 403),
            (&[("Origin", "null")], 403),
            (&[("Authorization", "")], 401),
            (&[("Authorization", "Bearer wrong")], 401),
            // In this order.
            (&[("Host", "evil.example"), ("Authorization", "")], 403),
            (&[("Origin", "https://evil.example"), ("Authorization", "")], 403),
        ] {
            assert_eq!(status(headers), expected, "{method} {path} {headers:?}");
        }
        let denied = send(server.port(), method, path, &[("Authorization", "")], b"");
        assert_eq!(denied.header("www-authenticate"), Some("Bearer"), "{method} {path}");
        assert!(denied.json()["error"]["message"].is_string(), "{method} {path}");
    }
}

#[test]
fn health_tells_who_is_there_and_other_routes_tell_where_to_go() {
    let (server, _host) = start();
    let health = send(server.port(), "GET", "/health", &[], b"");
    assert_eq!(health.status, 200);
    assert_eq!(health.json()["name"], "godot-mcp");
    assert_eq!(send(server.port(), "POST", "/health", &[], b"").status, 405);
    let nowhere = send(server.port(), "GET", "/sse", &[], b"");
    assert_eq!(nowhere.status, 404);
    assert!(nowhere.text().contains("/mcp"));
}

#[test]
fn an_operator_may_turn_the_token_off_on_loopback_only() {
    let mut open = options();
    open.token = None;
    let (server, _host) = start_with(open.clone());
    let (headers, body) = modern_request("tools/list", serde_json::json!({}));
    let mut headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    headers.push(("Authorization", ""));
    assert_eq!(send(server.port(), "POST", "/mcp", &headers, &body).status, 200);
    assert_eq!(send(server.port(), "GET", "/health", &[("Host", "evil.example")], b"").status, 403);

    for address in ["0.0.0.0", "::", "192.0.2.1"] {
        open.address = address.parse().unwrap();
        let refused = Server::start(FakeHost::new(), open.clone()).err();
        assert!(matches!(refused, Some(StartError::TokenRequired(_))), "{address}: {refused:?}");
    }
    open.token = Some(String::new());
    let refused = Server::start(FakeHost::new(), open).err();
    assert!(matches!(refused, Some(StartError::TokenEmpty)), "{refused:?}");
}

#[test]
fn with_a_token_other_addresses_work() {
    let mut everywhere = options();
    everywhere.address = "0.0.0.0".parse().unwrap();
    let (server, _host) = start_with(everywhere);
    let status = |host| send(server.port(), "GET", "/health", &[("Host", host)], b"").status;
    assert_eq!(status("192.0.2.1:8137"), 200);
    assert_eq!(status("evil.example"), 403);
}

#[test]
fn extra_origins_are_allowed() {
    let mut more = options();
    more.allowed_origins = vec!["https://app.example".to_owned()];
    let (server, _host) = start_with(more);
    let status = |origin| send(server.port(), "GET", "/health", &[("Origin", origin)], b"").status;
    assert_eq!(status("https://app.example"), 200);
    assert_eq!(status("http://localhost:3000"), 200);
    assert_eq!(status("https://other.example"), 403);
}

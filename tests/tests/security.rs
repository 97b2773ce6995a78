//! S9.1 and S9.5 on the wire, and clients that misbehave: answered or dropped, the editor alive.

use std::io::{Read, Write};
use std::net::TcpStream;

use godot_mcp_tests::editor::{Editor, Launch};
use godot_mcp_tests::wire::Wire;
use serde_json::json;

const BODY: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create_node","arguments":{"parent_path":".","node_type":"Node","node_name":"Evil"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}"#;

struct Target {
    editor: Editor,
    authority: String,
}

impl Target {
    /// Status of one raw request; 0 when the connection was closed without one.
    fn status(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> u16 {
        let mut request = format!("{method} {path} HTTP/1.1\r\n");
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
        let mut bytes = request.into_bytes();
        bytes.extend_from_slice(body);
        Wire::connect(&self.editor.url, "").raw(&bytes).map_or(0, |it| it.status)
    }

    fn alive(&mut self) {
        assert!(self.editor.alive(), "the editor has ended");
        let answer =
            Wire::connect(&self.editor.url, &self.editor.token).call("health_check", &json!({}));
        assert_eq!(answer["result"]["structuredContent"]["status"], "ok");
    }
}

#[test]
fn nobody_gets_in_or_brings_it_down() {
    let editor = Launch::fixture("plain").start();
    let authority = editor.url.trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
    editor.gd("EditorInterface.open_scene_from_path(\"res://probes/main.tscn\")");
    let mut target = Target { editor, authority };
    doors(&target);
    target.alive();
    floods(&mut target);
    hang_up(&mut target);
    many_connections(&mut target);
    let evil =
        target.editor.gd("return EditorInterface.get_edited_scene_root().has_node(\"Evil\")");
    assert_eq!(evil, false, "a refused request has run");
    target.editor.quit();
}

/// Wrong or missing token 401, foreign Host 421 or 403, foreign Origin 403, on every route.
fn doors(target: &Target) {
    let bearer = format!("Bearer {}", target.editor.token);
    let host = target.authority.as_str();
    let json_type = ("Content-Type", "application/json");
    let accept = ("Accept", "application/json, text/event-stream");
    for path in ["/mcp", "/health", "/", "/nothing", "/.well-known/oauth-authorization-server"] {
        for method in ["POST", "GET", "DELETE", "OPTIONS"] {
            let status =
                |headers: &[(&str, &str)]| target.status(method, path, headers, BODY.as_bytes());
            let at = format!("{method} {path}");
            assert_eq!(status(&[("Host", host), json_type, accept]), 401, "{at} without a token");
            for wrong in ["Bearer wrong", "Bearer ", "Basic abc", &bearer[..bearer.len() - 1]] {
                let headers = [("Host", host), ("Authorization", wrong), json_type, accept];
                assert_eq!(status(&headers), 401, "{at} with {wrong:?}");
            }
            for foreign in
                ["example.com", "example.com:80", "127.0.0.1.example.com", "localhost.evil"]
            {
                let headers = [("Host", foreign), ("Authorization", &bearer), json_type, accept];
                assert!(
                    [403, 421].contains(&status(&headers)),
                    "{at} for host {foreign}: {}",
                    status(&headers)
                );
            }
            for foreign in ["http://example.com", "null", "http://127.0.0.1.example.com", "file://"]
            {
                let headers = [
                    ("Host", host),
                    ("Authorization", &bearer),
                    ("Origin", foreign),
                    json_type,
                    accept,
                ];
                assert_eq!(status(&headers), 403, "{at} from {foreign}");
            }
        }
    }
    // The cross-site form post of `cases/probes.md`.
    let headers =
        [("Host", host), ("Origin", "http://example.com"), ("Content-Type", "text/plain")];
    assert!([403, 415].contains(&target.status("POST", "/mcp", &headers, BODY.as_bytes())));
}

/// A 5 MiB body, broken JSON, a header flood.
fn floods(target: &mut Target) {
    let bearer = format!("Bearer {}", target.editor.token);
    let headers = [
        ("Host", target.authority.clone()),
        ("Authorization", bearer),
        ("Content-Type", "application/json".to_owned()),
        ("Accept", "application/json, text/event-stream".to_owned()),
    ];
    let borrowed: Vec<(&str, &str)> =
        headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    assert_eq!(target.status("POST", "/mcp", &borrowed, &vec![b' '; 5 << 20]), 413, "S9.5");
    for broken in [
        "{",
        "",
        "[]",
        "null",
        "{\"jsonrpc\":\"2.0\"}",
        "\u{0}",
        "{\"a\":".repeat(100_000).as_str(),
    ] {
        let status = target.status("POST", "/mcp", &borrowed, broken.as_bytes());
        assert!((400..500).contains(&status), "{:?}: {status}", &broken[..broken.len().min(20)]);
    }
    let flood: Vec<(String, String)> =
        (0..2_000).map(|it| (format!("X-{it}"), "y".repeat(200))).collect();
    let mut flooded = borrowed.clone();
    flooded.extend(flood.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    let status = target.status("POST", "/mcp", &flooded, BODY.as_bytes());
    assert!(status == 0 || (400..500).contains(&status), "header flood: {status}");
    target.alive();
}

/// A client that hangs up in the middle of a large answer does not end the editor.
fn hang_up(target: &mut Target) {
    for _ in 0..20 {
        let mut stream = TcpStream::connect(&target.authority).expect("listens");
        let body = BODY.replace("create_node", "get_node_properties").replace(
            r#"{"parent_path":".","node_type":"Node","node_name":"Evil"}"#,
            r#"{"node_path":"Title"}"#,
        );
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
             Mcp-Method: tools/call\r\nMcp-Name: get_node_properties\r\nContent-Length: {}\r\n\r\n{body}",
            target.authority,
            target.editor.token,
            body.len()
        );
        stream.write_all(request.as_bytes()).expect("sent");
        let mut first = [0; 1];
        stream.read_exact(&mut first).expect("the answer begins");
        // Unread data at close makes the kernel reset the connection.
        drop(stream);
    }
    target.alive();
}

fn many_connections(target: &mut Target) {
    let mut wires: Vec<Wire> =
        (0..200).map(|_| Wire::connect(&target.editor.url, &target.editor.token)).collect();
    for wire in &mut wires {
        let answer = wire.call("health_check", &json!({}));
        assert_eq!(answer["result"]["structuredContent"]["status"], "ok");
    }
    target.alive();
}

//! HTTP by hand: tests need requests that no client library would send.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::{PATIENCE, TOKEN};

pub(crate) struct Response {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The JSON of the body, or of the last event of a stream.
    pub(crate) fn json(&self) -> Value {
        let text = self.text();
        let event = text.lines().rev().find_map(|it| it.strip_prefix("data: "));
        serde_json::from_str(event.unwrap_or(&text)).unwrap_or_else(|_| panic!("no JSON: {text}"))
    }
}

pub(crate) fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// A request head and body. `Host` and token are added unless `headers` has them; an empty value
/// leaves a header out.
pub(crate) fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let authorization = format!("Bearer {TOKEN}");
    let length = body.len().to_string();
    let defaults = [
        ("Host", "127.0.0.1"),
        ("Authorization", &authorization),
        ("Accept", "application/json, text/event-stream"),
        ("Content-Type", "application/json"),
        ("Content-Length", &length),
    ];
    let given = |name: &str| headers.iter().any(|(it, _)| it.eq_ignore_ascii_case(name));
    let mut text = format!("{method} {path} HTTP/1.1\r\n");
    let added = defaults.iter().filter(|(name, _)| !given(name));
    for (name, value) in added.chain(headers).filter(|(_, value)| !value.is_empty()) {
        text += &format!("{name}: {value}\r\n");
    }
    let mut bytes = (text + "\r\n").into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// Sends one request on a connection of its own.
pub(crate) fn send(
    port: u16,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Response {
    let mut headers = headers.to_vec();
    headers.push(("Connection", "close"));
    let mut stream = connect(port);
    // The server may answer, and close, before it has read everything.
    drop(stream.write_all(&request(method, path, &headers, body)));
    read(&mut stream)
}

/// Reads a response to the end of the connection.
pub(crate) fn read(stream: &mut TcpStream) -> Response {
    let mut bytes = Vec::new();
    let ended = stream.read_to_end(&mut bytes);
    assert!(ended.is_ok() || !bytes.is_empty(), "no answer: {ended:?}");
    parse(&bytes)
}

fn parse(bytes: &[u8]) -> Response {
    let end = bytes.windows(4).position(|it| it == b"\r\n\r\n").expect("a response head");
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let mut response = Response { status, head, body: bytes[end + 4..].to_vec() };
    if response.header("transfer-encoding") == Some("chunked") {
        response.body = unchunked(&response.body);
    }
    response
}

fn unchunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = bytes.windows(2).position(|it| it == b"\r\n") {
        let size = std::str::from_utf8(&bytes[..end]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        body.extend(bytes[end + 2..].iter().take(size));
        bytes = bytes.get(end + 2 + size + 2..).unwrap_or_default();
    }
    body
}

/// Sends a request of 2026-07-28.
pub(crate) fn modern(port: u16, method: &str, params: Value) -> Response {
    let (headers, body) = modern_request(method, params);
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    send(port, "POST", "/mcp", &headers, &body)
}

pub(crate) fn modern_request(
    method: &str,
    mut params: Value,
) -> (Vec<(&'static str, String)>, Vec<u8>) {
    let version = "2026-07-28";
    let mut meta = json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": {"name": "by-hand", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    if let Some(Value::Object(more)) = params.get_mut("_meta").map(Value::take) {
        meta.as_object_mut().unwrap().extend(more);
    }
    params["_meta"] = meta;
    let mut headers =
        vec![("MCP-Protocol-Version", version.to_owned()), ("Mcp-Method", method.to_owned())];
    if let Some(name) = params.get("name").or(params.get("uri")).and_then(Value::as_str) {
        headers.push(("Mcp-Name", name.to_owned()));
    }
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    (headers, message.to_string().into_bytes())
}

/// Opens a legacy session and returns its id.
pub(crate) fn initialize(port: u16, version: &str) -> (String, Value) {
    let message = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "by-hand", "version": "1"},
    }});
    let response = send(port, "POST", "/mcp", &[], message.to_string().as_bytes());
    assert_eq!(response.status, 200, "{}", response.text());
    let session = response.header("mcp-session-id").expect("a session id").to_owned();
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(legacy(port, &session, &initialized).status, 202);
    (session, response.json())
}

/// Sends a message in a legacy session.
pub(crate) fn legacy(port: u16, session: &str, message: &Value) -> Response {
    let body = message.to_string();
    send(port, "POST", "/mcp", &[("Mcp-Session-Id", session)], body.as_bytes())
}

//! What the endpoint adds to a call: latency of warm calls and throughput, both eras.
//!
//! `cargo run --release -p godot-mcp-server --example latency [part of a row's name]`
//!
//! The client is a few lines on a socket, so that what is measured is the server.

#![allow(clippy::print_stdout, reason = "its output is its purpose")]

use std::future::ready;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use godot_mcp_core::call::{AnswerFuture, ReadFuture, ResourceInfo};
use godot_mcp_core::{Host, Reply, SafetyClass, ToolCall, ToolError, ToolSpec};
use godot_mcp_server::{PortChoice, Server, ServerOptions};
use serde_json::{Map, json};

const TOKEN: &str = "token-of-the-benchmark";
const WARM_UP: usize = 1_000;
const CALLS: usize = 10_000;
const CONNECTIONS: usize = 8;

struct Trivial(Arc<Vec<Arc<ToolSpec>>>);

impl Trivial {
    fn new() -> Self {
        let tools = (0..60).map(|idx| {
            let schema = json!({"type": "object", "properties": {
                "node": {"type": "string", "description": "Path of the node from the scene root."},
                "property": {"type": "string", "description": "Name of the property."},
            }, "required": ["node"], "additionalProperties": false});
            let schema: Map<_, _> = schema.as_object().expect("an object").clone();
            let text = "Reads something of the edited scene and answers what it found there.";
            Arc::new(ToolSpec::new(
                format!("tool_{idx}"),
                "core",
                SafetyClass::ReadOnly,
                text,
                schema,
            ))
        });
        Self(Arc::new(tools.collect()))
    }
}

impl Host for Trivial {
    fn tools(&self) -> Arc<Vec<Arc<ToolSpec>>> {
        self.0.clone()
    }

    fn tool(&self, name: &str) -> Option<Arc<ToolSpec>> {
        self.0.iter().find(|it| it.name == name).cloned()
    }

    fn call(&self, call: ToolCall) -> AnswerFuture {
        let answer = json!({"node": call.arguments.get("node"), "value": {"x": 1.0, "y": 2.0}});
        Box::pin(ready(Ok(Reply::Json(answer))))
    }

    fn instructions(&self) -> String {
        String::new()
    }

    fn resources(&self) -> Vec<ResourceInfo> {
        Vec::new()
    }

    fn read_resource(&self, _uri: String) -> ReadFuture {
        Box::pin(ready(Err(ToolError::not_found("no resources"))))
    }
}

/// A keep-alive connection that sends the same request over and over.
struct Client {
    stream: TcpStream,
    request: Vec<u8>,
    buffer: Vec<u8>,
}

impl Client {
    /// Without a body it asks for `/health`, which costs the connection and nothing else.
    fn new(port: u16, headers: &str, body: &str) -> Self {
        let line = if body.is_empty() { "GET /health" } else { "POST /mcp" };
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("the server listens");
        stream.set_nodelay(true).expect("a TCP stream");
        let request = format!(
            "{line} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n\
             Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n\
             {headers}Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        Self { stream, request: request.into_bytes(), buffer: vec![0; 1 << 20] }
    }

    /// Sends the request and returns the head of the answer once all of it is here.
    fn call(&mut self) -> &str {
        self.stream.write_all(&self.request).expect("the server reads");
        let mut filled = 0;
        loop {
            let read = self.stream.read(&mut self.buffer[filled..]).expect("the server answers");
            assert_ne!(read, 0, "the server closed the connection");
            filled += read;
            if let Some(end) = end_of_head(&self.buffer[..filled])
                && is_complete(&self.buffer[..filled], end)
            {
                let head = std::str::from_utf8(&self.buffer[..end]).expect("a text head");
                assert!(head.starts_with("HTTP/1.1 2"), "{head}");
                return head;
            }
        }
    }
}

fn end_of_head(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|it| it == b"\r\n\r\n").map(|it| it + 4)
}

fn is_complete(bytes: &[u8], head_end: usize) -> bool {
    let head = std::str::from_utf8(&bytes[..head_end]).expect("a text head").to_ascii_lowercase();
    let length = head.lines().find_map(|it| it.strip_prefix("content-length: "));
    match length {
        Some(length) => bytes.len() == head_end + length.parse::<usize>().expect("a length"),
        None => bytes.ends_with(b"0\r\n\r\n"),
    }
}

/// Processor time of the server's thread, which unlike latency does not depend on what else the
/// machine does. Zero where the system does not tell.
fn server_time() -> Duration {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let read = |path: std::path::PathBuf| std::fs::read_to_string(path).unwrap_or_default();
    let server = tasks.map(|it| it.path()).find(|it| read(it.join("comm")).trim() == "mcp-io");
    let times = server.map(|it| read(it.join("schedstat"))).unwrap_or_default();
    let nanoseconds = times.split(' ').next().and_then(|it| it.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or(0))
}

fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)]
}

/// `body` makes the request of a connection: within a session, ids in flight must differ.
fn measure(name: &str, port: u16, headers: &str, body: impl Fn(usize) -> String) {
    let wanted = std::env::args().nth(1);
    if wanted.is_some_and(|it| !name.contains(&it)) {
        return;
    }
    let mut client = Client::new(port, headers, &body(0));
    for _ in 0..WARM_UP {
        client.call();
    }
    let mut times: Vec<_> = (0..CALLS)
        .map(|_| {
            let began = Instant::now();
            client.call();
            began.elapsed()
        })
        .collect();
    times.sort();

    let (began, used) = (Instant::now(), server_time());
    let threads: Vec<_> = (0..CONNECTIONS)
        .map(|idx| {
            let mut client = Client::new(port, headers, &body(idx));
            thread::spawn(move || {
                for _ in 0..CALLS / CONNECTIONS {
                    client.call();
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("no call fails");
    }
    let rate = CALLS as f64 / began.elapsed().as_secs_f64();
    let work = (server_time() - used).as_secs_f64() * 1e6 / CALLS as f64;
    let milliseconds = |percent| percentile(&times, percent).as_secs_f64() * 1e3;
    println!(
        "{name:<28} p50 {:.3} ms  p95 {:.3} ms  p99 {:.3} ms  {CONNECTIONS} in flight: {rate:.0}/s, \
         {work:.0} µs of the server's thread each",
        milliseconds(50),
        milliseconds(95),
        milliseconds(99),
    );
}

fn modern(method: &str, mut params: serde_json::Value) -> (String, String) {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "latency", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let name = params["name"].as_str().map(|it| format!("Mcp-Name: {it}\r\n")).unwrap_or_default();
    let headers = format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{name}");
    (headers, json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string())
}

fn session(port: u16) -> String {
    let greeting = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "latency", "version": "1"}}});
    let head = Client::new(port, "", &greeting.to_string()).call().to_owned();
    let id = head.lines().find_map(|it| it.strip_prefix("mcp-session-id: ")).expect("a session");
    let headers = format!("Mcp-Session-Id: {id}\r\n");
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    Client::new(port, &headers, &initialized.to_string()).call();
    headers
}

fn main() {
    let mut options = ServerOptions::new(Some(TOKEN.to_owned()));
    options.port = PortChoice::Exact(0);
    let server = Server::start(Arc::new(Trivial::new()), options).expect("a free port");
    let port = server.port();

    measure("health, for comparison", port, "", |_| String::new());
    let arguments = json!({"name": "tool_30", "arguments": {"node": "Player/Sprite"}});
    let (headers, body) = modern("tools/call", arguments.clone());
    measure("2026-07-28 tools/call", port, &headers, |_| body.clone());
    let (headers, body) = modern("tools/list", json!({}));
    measure("2026-07-28 tools/list of 60", port, &headers, |_| body.clone());

    let headers = session(port);
    let message = |id: usize, method, params: &serde_json::Value| {
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
    };
    let call = |id| message(id, "tools/call", &arguments);
    measure("2025-11-25 tools/call", port, &headers, call);
    let list = |id| message(id, "tools/list", &json!({}));
    measure("2025-11-25 tools/list of 60", port, &headers, list);
    server.stop();
}

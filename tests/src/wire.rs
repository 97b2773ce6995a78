//! The bare wire: one kept connection, one HTTP request after the other. For benchmarks, which must
//! not measure a client library, and for requests that no client library sends.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

/// A kept connection to the server.
pub struct Wire {
    stream: BufReader<TcpStream>,
    authority: String,
    token: String,
    client: (String, String),
    id: u64,
    capabilities: Value,
}

/// What came back.
pub struct Response {
    pub status: u16,
    pub body: Vec<u8>,
}

impl Wire {
    /// `url` is that of `server.json`.
    pub fn connect(url: &str, token: &str) -> Self {
        let authority = url.trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
        let stream = TcpStream::connect(&authority).expect("the server listens");
        stream.set_nodelay(true).expect("a socket option");
        stream.set_read_timeout(Some(Duration::from_secs(120))).expect("a socket option");
        Self {
            stream: BufReader::new(stream),
            authority,
            token: token.to_owned(),
            client: ("wire".to_owned(), "1".to_owned()),
            id: 0,
            capabilities: json!({}),
        }
    }

    /// Introduces itself as another client.
    #[must_use]
    pub fn named(mut self, name: &str, version: &str) -> Self {
        self.client = (name.to_owned(), version.to_owned());
        self
    }

    /// One modern `tools/call`; the JSON-RPC answer.
    pub fn call(&mut self, name: &str, args: &Value) -> Value {
        let response = self.call_bytes(name, args);
        serde_json::from_slice(&response.body).expect("JSON")
    }

    /// As `call`; none when the server went away.
    pub fn try_answer(&mut self, name: &str, args: &Value) -> Option<Value> {
        let response = self.try_call(name, args)?;
        serde_json::from_slice(&response.body).ok()
    }

    /// The request of a `tools/call` as it is sent.
    pub fn bytes_of_call(&mut self, name: &str, args: &Value) -> Vec<u8> {
        let params = json!({"name": name, "arguments": args});
        let (body, headers) = self.request("tools/call", params, Some(name));
        let length = body.len();
        format!("POST /mcp HTTP/1.1\r\n{headers}Content-Length: {length}\r\n\r\n{body}")
            .into_bytes()
    }

    /// As `call_bytes`; none when the server closes the connection instead.
    pub fn try_call(&mut self, name: &str, args: &Value) -> Option<Response> {
        let bytes = self.bytes_of_call(name, args);
        self.raw(&bytes)
    }

    /// A call with further fields of its parameters, by a client with these capabilities.
    pub fn call_with(
        &mut self,
        name: &str,
        args: &Value,
        extra: &Value,
        capabilities: &Value,
    ) -> Value {
        let mut params = json!({"name": name, "arguments": args});
        for (key, value) in extra.as_object().into_iter().flatten() {
            params[key] = value.clone();
        }
        self.capabilities = capabilities.clone();
        let (body, headers) = self.request("tools/call", params, Some(name));
        self.capabilities = json!({});
        let response = self.post(&headers, body.as_bytes());
        serde_json::from_slice(&response.body).expect("JSON")
    }

    pub fn call_bytes(&mut self, name: &str, args: &Value) -> Response {
        let params = json!({"name": name, "arguments": args});
        let (body, headers) = self.request("tools/call", params, Some(name));
        self.post(&headers, body.as_bytes())
    }

    pub fn list_tools(&mut self) -> Value {
        let (body, headers) = self.request("tools/list", json!({}), None);
        serde_json::from_slice(&self.post(&headers, body.as_bytes()).body).expect("JSON")
    }

    fn request(&mut self, method: &str, mut params: Value, name: Option<&str>) -> (String, String) {
        self.id += 1;
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": self.client.0, "version": self.client.1},
            "io.modelcontextprotocol/clientCapabilities": self.capabilities,
        });
        let body = json!({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params});
        let mut headers = format!(
            "Host: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nAccept: \
             application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: \
             {method}\r\n",
            self.authority, self.token
        );
        if let Some(name) = name {
            headers.push_str(&format!("Mcp-Name: {name}\r\n"));
        }
        (body.to_string(), headers)
    }

    /// Posts to `/mcp` with exactly these headers (each ended by CRLF).
    pub fn post(&mut self, headers: &str, body: &[u8]) -> Response {
        let head = format!("POST /mcp HTTP/1.1\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
        let mut request = head.into_bytes();
        request.extend_from_slice(body);
        self.stream.get_mut().write_all(&request).expect("sent");
        self.response().expect("a response")
    }

    /// Sends bytes as they are and reads one response, none when the server closed the connection.
    pub fn raw(&mut self, bytes: &[u8]) -> Option<Response> {
        // The server may close before it has read everything.
        let _ = self.stream.get_mut().write_all(bytes);
        self.response()
    }

    /// Sends bytes and does not read what comes.
    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).expect("the server listens");
    }

    fn response(&mut self) -> Option<Response> {
        let mut line = String::new();
        if self.stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let status = line.split(' ').nth(1)?.parse().ok()?;
        let (mut length, mut chunked) = (0, false);
        loop {
            line.clear();
            self.stream.read_line(&mut line).ok()?;
            let lower = line.trim().to_ascii_lowercase();
            if lower.is_empty() {
                break;
            }
            if let Some(value) = lower.strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
            chunked |= lower == "transfer-encoding: chunked";
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).ok()?;
        while chunked {
            line.clear();
            self.stream.read_line(&mut line).ok()?;
            let size = usize::from_str_radix(line.trim(), 16).ok()?;
            let mut chunk = vec![0; size + 2];
            self.stream.read_exact(&mut chunk).ok()?;
            body.extend_from_slice(&chunk[..size]);
            chunked = size > 0;
        }
        Some(Response { status, body })
    }
}

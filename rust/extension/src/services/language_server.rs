//! A client of the editor's own GDScript language server.
//!
//! One connection, one exchange at a time: the server answers on the editor's main thread anyway.
//! A document is open only during an exchange. The server reads those that are not open from disk
//! each time, so what is written in between is never stale.
//!
//! Measured on 4.6.3: positions count characters, not UTF-16 units as the protocol says, and a tab is
//! one character.

use std::time::Duration;

use godot_mcp_core::{Code, ToolError};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::time::timeout;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// The first contact takes about a second; completion in a large project some tenths.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);
/// Largest message that is taken in.
const MAX_MESSAGE: usize = 64 << 20;

pub(crate) struct LanguageServer {
    port: u16,
    /// The project's folder, without a slash at its end.
    root: String,
    /// Taken out during an exchange: one that is given up leaves no half-read connection behind.
    connection: Mutex<Option<Connection>>,
}

/// A script as it is shown to the server.
pub(crate) struct Document {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// What went wrong with a connection.
enum Fault {
    /// Another connection may do better.
    Lost(std::io::Error),
    Told(ToolError),
}

impl From<std::io::Error> for Fault {
    fn from(error: std::io::Error) -> Self {
        Self::Lost(error)
    }
}

impl LanguageServer {
    pub(crate) fn new(port: u16, root: &str) -> Self {
        Self { port, root: root.trim_end_matches('/').to_owned(), connection: Mutex::default() }
    }

    /// Shows a document and asks about it, for example `textDocument/hover`. `params` are those
    /// beside the document.
    pub(crate) async fn ask(
        &self,
        document: &Document,
        method: &str,
        params: &Value,
    ) -> Result<Value, ToolError> {
        let mut guard = self.connection.lock().await;
        let mut again = guard.is_some();
        loop {
            match self.try_ask(&mut guard, document, method, params).await {
                Ok(result) => return Ok(result),
                // The server was restarted since, for example with another setting.
                Err(Fault::Lost(_)) if again => again = false,
                Err(fault) => return Err(self.error(fault)),
            }
        }
    }

    /// Shows a document and takes what the server finds wrong with it.
    pub(crate) async fn diagnose(&self, document: &Document) -> Result<Vec<Value>, ToolError> {
        let mut guard = self.connection.lock().await;
        let mut again = guard.is_some();
        loop {
            match self.try_diagnose(&mut guard, document).await {
                Ok(result) => return Ok(result),
                Err(Fault::Lost(_)) if again => again = false,
                Err(fault) => return Err(self.error(fault)),
            }
        }
    }

    async fn try_ask(
        &self,
        slot: &mut Option<Connection>,
        document: &Document,
        method: &str,
        params: &Value,
    ) -> Result<Value, Fault> {
        let mut connection = self.connected(slot).await?;
        let uri = self.uri(&document.path);
        let mut params = params.clone();
        params["textDocument"] = json!({"uri": uri});
        connection.open(&uri, &document.text).await?;
        let result = connection.request(method, &params).await;
        connection.notify("textDocument/didClose", &json!({"textDocument": {"uri": uri}})).await?;
        if !matches!(result, Err(Fault::Lost(_))) {
            *slot = Some(connection);
        }
        result
    }

    async fn try_diagnose(
        &self,
        slot: &mut Option<Connection>,
        document: &Document,
    ) -> Result<Vec<Value>, Fault> {
        let mut connection = self.connected(slot).await?;
        let uri = self.uri(&document.path);
        connection.open(&uri, &document.text).await?;
        // The answer of a request that follows tells that nothing older is still on its way.
        let params = json!({"textDocument": {"uri": uri}});
        let id = connection.start("textDocument/documentSymbol", &params).await?;
        let (mut found, mut answered) = (None, false);
        while found.is_none() || !answered {
            let message = connection.receive().await?;
            let told = &message["params"];
            answered |= message["id"] == id && message.get("method").is_none();
            if message["method"] == "textDocument/publishDiagnostics"
                && told["uri"].as_str().is_some_and(|it| decoded(it) == decoded(&uri))
            {
                found = Some(told["diagnostics"].as_array().cloned().unwrap_or_default());
            }
        }
        connection.notify("textDocument/didClose", &json!({"textDocument": {"uri": uri}})).await?;
        *slot = Some(connection);
        Ok(found.unwrap_or_default())
    }

    async fn connected(&self, slot: &mut Option<Connection>) -> Result<Connection, Fault> {
        if let Some(connection) = slot.take() {
            return Ok(connection);
        }
        let connecting = TcpStream::connect(("127.0.0.1", self.port));
        let stream = timeout(CONNECT_TIMEOUT, connecting).await.map_err(std::io::Error::from)??;
        stream.set_nodelay(true)?;
        let mut connection = Connection { stream: BufReader::new(stream), requests: 0 };
        let params = json!({
            "processId": std::process::id(),
            "rootPath": self.root,
            "rootUri": format!("file://{}", encoded(&self.root)),
            "capabilities": {},
        });
        let mut other = None;
        let id = connection.start("initialize", &params).await?;
        loop {
            let message = connection.receive().await?;
            if message["method"] == "gdscript_client/changeWorkspace" {
                other = message["params"]["path"].as_str().map(str::to_owned);
            }
            if message["id"] == id && message.get("method").is_none() {
                break;
            }
        }
        // Of two editors, only the first has the port.
        if let Some(other) = other
            && other.trim_end_matches('/') != self.root
        {
            return Err(Fault::Told(
                ToolError::precondition(
                    "language_server",
                    format!("the language server on port {} belongs to another project", self.port),
                )
                .hint("start this editor with a free --lsp-port, or close the other one"),
            ));
        }
        connection.notify("initialized", &json!({})).await?;
        Ok(connection)
    }

    fn error(&self, fault: Fault) -> ToolError {
        match fault {
            Fault::Told(error) => error,
            Fault::Lost(error) => ToolError::precondition(
                "language_server",
                format!("the editor's language server on port {} fails: {error}", self.port),
            )
            .hint("it starts with the editor; `get_errors` may tell why it does not listen"),
        }
    }

    fn uri(&self, path: &str) -> String {
        let file = format!("{}/{}", self.root, path.trim_start_matches("res://"));
        format!("file://{}", encoded(&file))
    }

    /// The `res://` path behind an address, none outside the project.
    pub(crate) fn path_of(&self, uri: &str) -> Option<String> {
        let uri = decoded(uri);
        let file = uri.strip_prefix("file://")?.strip_prefix(self.root.as_str())?;
        Some(format!("res://{}", file.strip_prefix('/')?))
    }
}

struct Connection {
    stream: BufReader<TcpStream>,
    requests: u64,
}

impl Connection {
    async fn open(&mut self, uri: &str, text: &str) -> Result<(), Fault> {
        let document = json!({"uri": uri, "languageId": "gdscript", "version": 1, "text": text});
        self.notify("textDocument/didOpen", &json!({"textDocument": document})).await
    }

    async fn notify(&mut self, method: &str, params: &Value) -> Result<(), Fault> {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params})).await
    }

    /// Sends a request. Its number, by which the answer is known.
    async fn start(&mut self, method: &str, params: &Value) -> Result<u64, Fault> {
        self.requests += 1;
        let id = self.requests;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await?;
        Ok(id)
    }

    async fn request(&mut self, method: &str, params: &Value) -> Result<Value, Fault> {
        let id = self.start(method, params).await?;
        loop {
            let mut message = self.receive().await?;
            if message["id"] != id || message.get("method").is_some() {
                continue;
            }
            if let Some(error) = message.get("error").filter(|it| !it.is_null()) {
                let text = error["message"].as_str().unwrap_or_default();
                return Err(Fault::Told(
                    ToolError::new(
                        Code::PreconditionFailed,
                        format!("the language server refuses: {text}"),
                    )
                    .required("language_server")
                    .hint("look at the script with `get_parse_errors`"),
                ));
            }
            return Ok(message["result"].take());
        }
    }

    async fn send(&mut self, message: &Value) -> Result<(), Fault> {
        let body = message.to_string();
        let text = format!("Content-Length: {}\r\n\r\n{body}", body.len());
        self.stream.get_mut().write_all(text.as_bytes()).await?;
        Ok(())
    }

    async fn receive(&mut self) -> Result<Value, Fault> {
        let text = timeout(ANSWER_TIMEOUT, self.receive_text()).await;
        let text = text.map_err(std::io::Error::from)??;
        serde_json::from_slice(&text).map_err(|it| Fault::Lost(it.into()))
    }

    async fn receive_text(&mut self) -> std::io::Result<Vec<u8>> {
        let broken = |text: &str| std::io::Error::new(std::io::ErrorKind::InvalidData, text);
        let mut length = None;
        loop {
            let mut line = String::new();
            if self.stream.read_line(&mut line).await? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse::<usize>().ok();
            }
        }
        let length = length.filter(|it| *it <= MAX_MESSAGE).ok_or_else(|| broken("no length"))?;
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).await?;
        Ok(body)
    }
}

/// A path for an address: letters, digits and a few signs stay.
fn encoded(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~:".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = (bytes[at] == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        match hex.and_then(|it| u8::from_str_radix(it, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_go_both_ways() {
        let server = LanguageServer::new(1, "/my games/ü/");
        for path in ["res://a.gd", "res://mit raum/ä%20b.gd"] {
            assert_eq!(server.path_of(&server.uri(path)).as_deref(), Some(path));
        }
        assert_eq!(server.uri("res://a b.gd"), "file:///my%20games/%C3%BC/a%20b.gd");
        assert_eq!(server.path_of("file:///my games/ü/x.gd").as_deref(), Some("res://x.gd"));
        assert_eq!(server.path_of("file:///elsewhere/x.gd"), None);
        assert_eq!(decoded("100%"), "100%");
    }
}

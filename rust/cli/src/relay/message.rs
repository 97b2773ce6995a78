//! Messages of the client, as far as the relay has to know them.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hyper::body::Bytes;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

/// A message of the client. What goes to the editor is the very text.
#[derive(Clone, Debug)]
pub(super) struct Message {
    pub(super) raw: Bytes,
    value: Value,
}

#[derive(Debug, PartialEq)]
pub(super) enum Kind {
    Request,
    Notification,
    /// To a request of the editor's.
    Response,
}

impl Message {
    /// # Errors
    /// The JSON-RPC code and what is wrong.
    pub(super) fn parse(raw: Bytes) -> Result<Self, (i64, String)> {
        let value: Value = serde_json::from_slice(&raw)
            .map_err(|error| (-32700, format!("the line is not JSON: {error}")))?;
        if value.is_array() {
            let text = "batches are not supported; send single messages";
            return Err((-32600, text.to_owned()));
        }
        let message = Self { raw, value };
        let id_fits = matches!(message.id(), None | Some(Value::String(_) | Value::Number(_)));
        let has_method = message.value.get("method").is_some_and(Value::is_string);
        let is_response = ["result", "error"].iter().any(|it| message.value.get(it).is_some());
        if !message.value.is_object() || !id_fits || !(has_method || is_response) {
            return Err((-32600, "the line is not a JSON-RPC 2.0 message".to_owned()));
        }
        Ok(message)
    }

    pub(super) fn kind(&self) -> Kind {
        match (self.value.get("method"), self.id()) {
            (None, _) => Kind::Response,
            (Some(_), None) => Kind::Notification,
            (Some(_), Some(_)) => Kind::Request,
        }
    }

    pub(super) fn id(&self) -> Option<&Value> {
        self.value.get("id")
    }

    pub(super) fn method(&self) -> &str {
        self.value.get("method").and_then(Value::as_str).unwrap_or_default()
    }

    /// Null when there are none.
    pub(super) fn params(&self) -> &Value {
        self.value.get("params").unwrap_or(&Value::Null)
    }

    /// The version that a request of 2026-07-28 and later carries.
    pub(super) fn modern_version(&self) -> Option<&str> {
        self.params().get("_meta")?.get(VERSION_KEY)?.as_str()
    }

    /// Without a session: each request says everything itself.
    pub(super) fn is_modern(&self) -> bool {
        self.modern_version().is_some() || self.method() == "server/discover"
    }

    /// The headers that 2026-07-28 wants beside the body.
    pub(super) fn modern_headers(&self) -> Vec<(&'static str, String)> {
        let mut headers = vec![("Mcp-Method", header_value(self.method()))];
        if let Some(version) = self.modern_version() {
            headers.push(("MCP-Protocol-Version", header_value(version)));
        }
        let key = match self.method() {
            "tools/call" | "prompts/get" => "name",
            "resources/read" => "uri",
            _ => return headers,
        };
        if let Some(name) = self.params().get(key).and_then(Value::as_str) {
            headers.push(("Mcp-Name", header_value(name)));
        }
        headers
    }
}

/// A value that can travel in a header: as it is, or wrapped as the protocol says.
fn header_value(text: &str) -> String {
    let plain = text.bytes().all(|it| (0x20..=0x7e).contains(&it))
        && text.trim() == text
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    if plain { text.to_owned() } else { format!("=?base64?{}?=", BASE64_STANDARD.encode(text)) }
}

/// What the relay has to know of a message of the editor's; the rest is not looked at.
#[derive(Debug, Deserialize)]
pub(super) struct Head {
    #[serde(default)]
    pub(super) id: Value,
    pub(super) method: Option<String>,
    result: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

impl Head {
    pub(super) fn parse(raw: &[u8]) -> Option<Self> {
        serde_json::from_slice(raw).ok()
    }

    pub(super) fn is_response(&self) -> bool {
        self.method.is_none() && (self.result.is_some() || self.error.is_some())
    }

    pub(super) fn is_error(&self) -> bool {
        self.error.is_some()
    }

    pub(super) fn is_request(&self) -> bool {
        self.method.is_some() && !self.id.is_null()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Message, (i64, String)> {
        Message::parse(Bytes::copy_from_slice(text.as_bytes()))
    }

    #[test]
    fn kinds_are_told_apart() {
        let kind = |text| parse(text).unwrap().kind();
        assert_eq!(kind(r#"{"id":1,"method":"ping"}"#), Kind::Request);
        assert_eq!(kind(r#"{"method":"notifications/initialized"}"#), Kind::Notification);
        assert_eq!(kind(r#"{"id":1,"result":{}}"#), Kind::Response);
        assert_eq!(kind(r#"{"id":"a","error":{"code":1,"message":""}}"#), Kind::Response);
        for (text, code) in [
            ("{", -32700),
            ("[]", -32600),
            ("1", -32600),
            ("{}", -32600),
            (r#"{"id":{},"method":"ping"}"#, -32600),
        ] {
            assert_eq!(parse(text).unwrap_err().0, code, "{text}");
        }
    }

    #[test]
    fn modern_requests_get_their_headers() {
        let message = parse(
            r#"{"id":1,"method":"resources/read","params":{"uri":"godot://scene/ä","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
        )
        .unwrap();
        assert!(message.is_modern());
        assert_eq!(
            message.modern_headers(),
            [
                ("Mcp-Method", "resources/read".to_owned()),
                ("MCP-Protocol-Version", "2026-07-28".to_owned()),
                ("Mcp-Name", "=?base64?Z29kb3Q6Ly9zY2VuZS/DpA==?=".to_owned()),
            ]
        );
        assert!(!parse(r#"{"id":1,"method":"tools/list"}"#).unwrap().is_modern());
        assert_eq!(header_value(" a"), "=?base64?IGE=?=");
    }
}

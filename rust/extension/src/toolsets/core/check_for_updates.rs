use std::time::{Duration, Instant};

use godot::builtin::PackedStringArray;
use godot::classes::http_client::{Method, Status};
use godot::classes::{HttpClient, TlsOptions};
use godot::global::Error;
use godot::obj::{Gd, NewGd};
use godot_mcp_core::updates::{self, FeedUrl};

use crate::editor::quirks;
use crate::tool_prelude::*;

/// Whether a newer version of this server exists. Uses the network only when the operator has
/// set GODOT_MCP_CHECK_UPDATES to the address of a release feed. Never fails.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct CheckForUpdates {}

const VARIABLE: &str = "GODOT_MCP_CHECK_UPDATES";
const CURRENT: &str = env!("CARGO_PKG_VERSION");
const PATIENCE: Duration = Duration::from_secs(5);
/// A feed is one small object; the list of all releases would not be.
const MAX_BODY: usize = 1 << 20;

impl Tool for CheckForUpdates {
    const NAME: &'static str = "check_for_updates";
    const TOOLSET: &'static str = "core";

    fn examples() -> Vec<Example> {
        vec![Example::answer(
            "Does not ask anybody by default.",
            "",
            json!({
                "checked": false, "reason": "*"
            }),
        )]
    }
}

impl ReadTool for CheckForUpdates {
    fn run(self, _editor: &Editor) -> Result<Outcome, ToolError> {
        let Ok(text) = std::env::var(VARIABLE) else {
            return Ok(
                unchecked("GODOT_MCP_CHECK_UPDATES is not set, so no network is used").into()
            );
        };
        let Some(url) = updates::parse_url(&text) else {
            return Ok(unchecked("GODOT_MCP_CHECK_UPDATES is no http or https address").into());
        };
        let mut request = match Request::start(url) {
            Ok(request) => request,
            Err(reason) => return Ok(unchecked(&reason).into()),
        };
        Ok(Outcome::Wait(Box::new(move |_| {
            let answer = match request.poll() {
                Ok(None) => return None,
                Ok(Some(version)) => json!({
                    "checked": true,
                    "current": CURRENT,
                    "latest": version,
                    "update_available": updates::is_newer(&version, CURRENT),
                }),
                Err(reason) => unchecked(&reason),
            };
            Some(Ok(answer.into()))
        })))
    }
}

fn unchecked(reason: &str) -> Value {
    json!({"checked": false, "current": CURRENT, "reason": reason})
}

/// One GET of the engine's own client, which never blocks.
struct Request {
    client: Gd<HttpClient>,
    url: FeedUrl,
    begun: Instant,
    sent: bool,
    /// HTTP status, once the answer has begun; the client forgets it when the connection ends.
    code: i32,
    body: Vec<u8>,
}

impl Request {
    fn start(url: FeedUrl) -> Result<Self, String> {
        let mut client = HttpClient::new_gd();
        let tls = if url.tls { TlsOptions::client() } else { None };
        let result = quirks::quietly(|| {
            client
                .connect_to_host_ex(&url.host)
                .port(i32::from(url.port))
                .tls_options(tls.as_ref())
                .done()
        });
        if result != Error::OK {
            return Err(format!("cannot connect to \"{}\"", url.host));
        }
        Ok(Self { client, url, begun: Instant::now(), sent: false, code: 0, body: Vec::new() })
    }

    /// The version that the feed names, once it is known.
    fn poll(&mut self) -> Result<Option<String>, String> {
        let host = &self.url.host;
        if self.begun.elapsed() > PATIENCE {
            return Err(format!("\"{host}\" did not answer within {} s", PATIENCE.as_secs()));
        }
        quirks::quietly(|| self.client.poll());
        match self.client.get_status() {
            Status::RESOLVING | Status::CONNECTING | Status::REQUESTING => Ok(None),
            Status::CONNECTED if !self.sent => {
                self.sent = true;
                let headers = PackedStringArray::from([
                    "Accept: application/json".into(),
                    "User-Agent: godot-mcp".into(),
                ]);
                match self.client.request(Method::GET, &self.url.path, &headers) {
                    Error::OK => Ok(None),
                    _ => Err(format!("cannot send a request to \"{host}\"")),
                }
            }
            Status::BODY => {
                self.code = self.client.get_response_code();
                let chunk = self.client.read_response_body_chunk();
                self.body.extend_from_slice(chunk.as_slice());
                if self.body.len() > MAX_BODY {
                    return Err("the answer is too large for a release feed".to_owned());
                }
                Ok(None)
            }
            // A server that closes after its answer leaves a connection error behind.
            _ if self.code != 0 => self.finish().map(Some),
            Status::CONNECTED => {
                let code = self.client.get_response_code();
                Err(format!("the feed answered with status {code} and nothing else"))
            }
            Status::CANT_RESOLVE => Err(format!("\"{host}\" has no address")),
            _ => Err(format!("cannot connect to \"{host}\"")),
        }
    }

    fn finish(&self) -> Result<String, String> {
        let code = self.code;
        if code != 200 {
            return Err(format!("the feed answered with status {code}"));
        }
        let feed: Value = serde_json::from_slice(&self.body)
            .map_err(|_| "the feed did not answer JSON".to_owned())?;
        updates::version_of(&feed)
            .ok_or_else(|| "the feed names no \"version\" or \"tag_name\"".to_owned())
    }
}

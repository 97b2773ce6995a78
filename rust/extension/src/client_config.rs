//! What a human pastes into the configuration of an MCP client, for the dock's menu.

use serde_json::{Value, json};

/// Name of the entry in every client.
const ENTRY: &str = "godot";
/// The command line program that relays stdio to this editor.
const RELAY: &str = "godot-mcp";

/// A client whose form of configuration is known.
pub(crate) struct KnownClient {
    pub(crate) id: &'static str,
    /// Its proper name; empty for any other client that speaks HTTP.
    pub(crate) name: &'static str,
    /// Where the entry belongs.
    pub(crate) file: &'static str,
    form: Form,
}

/// How a client spells an entry.
enum Form {
    /// JSON: the key that holds all servers, the key of the address, and whether `type` is named.
    Json {
        servers: &'static str,
        url: &'static str,
        typed: bool,
    },
    Toml,
}

/// In the order of the menu.
pub(crate) const CLIENTS: &[KnownClient] = &[
    KnownClient {
        id: "claude_code",
        name: "Claude Code",
        file: ".mcp.json",
        form: Form::Json { servers: "mcpServers", url: "url", typed: true },
    },
    KnownClient {
        id: "cursor",
        name: "Cursor",
        file: ".cursor/mcp.json",
        form: Form::Json { servers: "mcpServers", url: "url", typed: false },
    },
    KnownClient {
        id: "vscode",
        name: "VS Code",
        file: ".vscode/mcp.json",
        form: Form::Json { servers: "servers", url: "url", typed: true },
    },
    KnownClient { id: "codex", name: "Codex CLI", file: "~/.codex/config.toml", form: Form::Toml },
    KnownClient {
        id: "gemini",
        name: "Gemini CLI",
        file: ".gemini/settings.json",
        form: Form::Json { servers: "mcpServers", url: "httpUrl", typed: false },
    },
    KnownClient {
        id: "generic",
        name: "",
        file: "",
        form: Form::Json { servers: "mcpServers", url: "url", typed: true },
    },
];

/// How the client reaches the editor.
pub(crate) enum Route<'a> {
    /// Straight to the listener.
    Http { url: &'a str, token: Option<&'a str> },
    /// Through the `godot-mcp` program, which finds the editor by its project.
    Relay { project: &'a str },
}

/// The text to paste; none for an unknown client.
pub(crate) fn text(client: &str, route: &Route<'_>) -> Option<String> {
    let client = CLIENTS.iter().find(|it| it.id == client)?;
    Some(match client.form {
        Form::Json { servers, url, typed } => {
            let entry = json_entry(route, url, typed);
            format!("{:#}\n", json!({servers: {ENTRY: entry}}))
        }
        Form::Toml => toml_entry(route),
    })
}

fn json_entry(route: &Route<'_>, url_key: &str, typed: bool) -> Value {
    let mut entry = json!({});
    match route {
        Route::Http { url, token } => {
            if typed {
                entry["type"] = json!("http");
            }
            entry[url_key] = json!(url);
            if let Some(token) = token {
                entry["headers"] = json!({"Authorization": format!("Bearer {token}")});
            }
        }
        Route::Relay { project } => {
            if typed {
                entry["type"] = json!("stdio");
            }
            entry["command"] = json!(RELAY);
            entry["args"] = json!(["relay", "--project", project]);
        }
    }
    entry
}

fn toml_entry(route: &Route<'_>) -> String {
    // A JSON string without control characters is a TOML string too.
    let quoted = |text: &str| Value::from(text).to_string();
    let mut text = format!("[mcp_servers.{ENTRY}]\n");
    match route {
        Route::Http { url, token } => {
            text += &format!("url = {}\n", quoted(url));
            if let Some(token) = token {
                let header = quoted(&format!("Bearer {token}"));
                text += &format!("http_headers = {{ Authorization = {header} }}\n");
            }
        }
        Route::Relay { project } => {
            let args = format!("[\"relay\", \"--project\", {}]", quoted(project));
            text += &format!("command = {}\nargs = {args}\n", quoted(RELAY));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    const HTTP: Route<'_> =
        Route::Http { url: "http://127.0.0.1:8137/mcp", token: Some("secret-token") };

    #[test]
    fn json_clients_differ_in_keys() {
        expect![[r#"
            {
              "mcpServers": {
                "godot": {
                  "type": "http",
                  "url": "http://127.0.0.1:8137/mcp",
                  "headers": {
                    "Authorization": "Bearer secret-token"
                  }
                }
              }
            }
        "#]]
        .assert_eq(&text("claude_code", &HTTP).unwrap());
        let parsed = |client| -> Value {
            serde_json::from_str(&text(client, &HTTP).unwrap()).expect("JSON")
        };
        assert!(parsed("cursor")["mcpServers"]["godot"].get("type").is_none());
        assert_eq!(parsed("vscode")["servers"]["godot"]["type"], "http");
        assert!(parsed("gemini")["mcpServers"]["godot"]["httpUrl"].is_string());
        assert!(text("unknown", &HTTP).is_none());
    }

    #[test]
    fn codex_is_toml() {
        expect![[r#"
            [mcp_servers.godot]
            url = "http://127.0.0.1:8137/mcp"
            http_headers = { Authorization = "Bearer secret-token" }
        "#]]
        .assert_eq(&text("codex", &HTTP).unwrap());
        expect![[r#"
            [mcp_servers.godot]
            command = "godot-mcp"
            args = ["relay", "--project", "C:\\my \"games\""]
        "#]]
        .assert_eq(&text("codex", &Route::Relay { project: "C:\\my \"games\"" }).unwrap());
    }

    #[test]
    fn the_relay_carries_no_token() {
        for client in CLIENTS {
            let entry = text(client.id, &Route::Relay { project: "/home/me/game" }).unwrap();
            assert!(!entry.contains("Bearer") && entry.contains("/home/me/game"), "{entry}");
        }
    }

    #[test]
    fn without_a_token_there_is_no_header() {
        let route = Route::Http { url: "http://127.0.0.1:8137/mcp", token: None };
        for client in CLIENTS {
            assert!(!text(client.id, &route).unwrap().to_lowercase().contains("header"));
        }
    }
}

//! What our entry looks like, and how it is recognized.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::NAME;
use super::clients::{Client, RelayForm, Target};

/// What an entry leads to.
#[derive(Debug)]
pub(super) enum Wanted {
    Relay { program: PathBuf, project: PathBuf },
    Http { url: String, token: Option<String> },
}

/// Keys that say where an entry leads. All others in it are the user's.
pub(super) const OWN_KEYS: [&str; 8] =
    ["type", "command", "args", "url", "serverUrl", "httpUrl", "headers", "http_headers"];
const URL_KEYS: [&str; 3] = ["url", "serverUrl", "httpUrl"];
/// Ports that our editors take.
const PORTS: std::ops::Range<u16> = 8137..8147;

/// The entry in the words of a client.
///
/// # Errors
/// When the client cannot do it.
pub(super) fn of(client: &Client, target: &Target, wanted: &Wanted) -> Result<Value, String> {
    match wanted {
        Wanted::Relay { program, project } => {
            let program = text(program)?;
            let args = ["relay", "--project", &text(project)?].map(str::to_owned);
            Ok(relay(client, target, &program, &args))
        }
        Wanted::Http { url, token } => {
            let form = client.http.ok_or_else(|| {
                format!(
                    "{} cannot send a token to a local address; configure it without --http",
                    client.name
                )
            })?;
            let mut entry = Map::new();
            if let Some(kind) = form.kind {
                entry.insert("type".into(), json!(kind));
            }
            entry.insert(form.url.into(), json!(url));
            if let Some(token) = token {
                let headers = json!({"Authorization": format!("Bearer {token}")});
                entry.insert(form.headers.into(), headers);
            }
            Ok(entry.into())
        }
    }
}

fn relay(client: &Client, target: &Target, program: &str, args: &[String]) -> Value {
    match client.relay {
        RelayForm::Plain => json!({"command": program, "args": args}),
        RelayForm::Typed => json!({"type": "stdio", "command": program, "args": args}),
        RelayForm::WithEnv => json!({"command": program, "args": args, "env": {}}),
        RelayForm::Local => {
            let command: Vec<_> =
                std::iter::once(program).chain(args.iter().map(|it| &**it)).collect();
            let mut entry = json!({"type": "local", "command": command});
            // OpenCode 2 has no such key.
            if target.container.len() == 1 {
                entry["enabled"] = json!(true);
            }
            entry
        }
    }
}

fn text(path: &Path) -> Result<String, String> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| format!("the path \"{}\" is not UTF-8", path.display()))
}

pub(super) fn is_http(entry: &Value) -> bool {
    entry.get("command").is_none() && address(entry).is_some()
}

/// Whether we have written it: by `configure` of any version, or by hand after our manual.
pub(super) fn is_ours(entry: &Value, known_url: Option<&str>) -> bool {
    if let Some(url) = address(entry)
        && is_http(entry)
    {
        let port = url
            .strip_prefix("http://127.0.0.1:")
            .or_else(|| url.strip_prefix("http://localhost:"))
            .and_then(|it| it.strip_suffix("/mcp"))
            .and_then(|it| it.parse::<u16>().ok());
        return known_url == Some(url) || port.is_some_and(|it| PORTS.contains(&it));
    }
    let words = command_line(entry);
    let program = words.first().map(|it| it.rsplit(['/', '\\']).next().unwrap_or_default());
    let program = program.map(|it| it.strip_suffix(".exe").unwrap_or(it));
    program == Some("godot-mcp") && words.get(1).is_some_and(|it| it == "relay")
}

/// Where an entry leads, for a human.
pub(super) fn leads_to(entry: &Value) -> String {
    match address(entry) {
        Some(url) if is_http(entry) => format!("\"{url}\""),
        _ => format!("\"{}\"", command_line(entry).join(" ")),
    }
}

/// What is not as it should be. Only the keys that are ours count.
pub(super) fn differences(found: &Value, wanted: &Value) -> Vec<String> {
    let mut differences = Vec::new();
    for key in OWN_KEYS {
        let (found, wanted) = (found.get(key), wanted.get(key));
        if found == wanted {
            continue;
        }
        differences.push(match (found, wanted) {
            // These hold the token.
            _ if key.ends_with("headers") => format!("\"{key}\" is out of date"),
            (None, Some(wanted)) => format!("\"{key}\" is missing, should be {wanted}"),
            (Some(found), Some(wanted)) => format!("\"{key}\" is {found}, should be {wanted}"),
            (Some(found), None) => format!("\"{key}\" is {found}, should not be there"),
            (None, None) => continue,
        });
    }
    differences
}

/// Takes our entry, and what only held it, out of a whole file's value.
pub(super) fn take_out(value: &mut Value, container: &[&str]) {
    let Some(map) = value.as_object_mut() else { return };
    match container.split_first() {
        None => drop(map.remove(NAME)),
        Some((key, rest)) => {
            if let Some(inner) = map.get_mut(*key) {
                take_out(inner, rest);
                if inner.as_object().is_some_and(Map::is_empty) {
                    map.remove(*key);
                }
            }
        }
    }
}

fn address(entry: &Value) -> Option<&str> {
    URL_KEYS.iter().find_map(|it| entry.get(it)).and_then(Value::as_str)
}

fn command_line(entry: &Value) -> Vec<String> {
    let words = |value: Option<&Value>| match value {
        Some(Value::String(word)) => vec![word.clone()],
        Some(Value::Array(words)) => {
            words.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    };
    [words(entry.get("command")), words(entry.get("args"))].concat()
}

//! `doctor`: looks at everything that a session needs, and names what is wrong and how to mend it.

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::time::Duration;
use std::{env, fs};

use godot_mcp_core::conflict;
use hyper::Method;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::configure::{self, State};
use crate::http::{Http, collect};
use crate::project::{Endpoint, Project, is_alive, read_token};
use crate::{godot, say};

const TIMEOUT: Duration = Duration::from_secs(3);
const DEFAULT_PORT: u16 = 8137;
const PORTS: u16 = 10;

/// One thing that was looked at.
#[derive(Debug, PartialEq, Serialize)]
struct Check {
    name: &'static str,
    status: Status,
    message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Ok,
    /// Worth knowing; nothing is wrong.
    Note,
    Problem,
}

/// Whether all is well.
///
/// # Errors
/// When the answer cannot be made.
pub(crate) fn run(
    project: Option<&Path>,
    godot: Option<&Path>,
    as_json: bool,
) -> Result<bool, String> {
    let checks = crate::block_on(examine(project, godot))?;
    let well = checks.iter().all(|it| it.status != Status::Problem);
    if as_json {
        say(&format!("{:#}", json!({"ok": well, "checks": checks})));
        return Ok(well);
    }
    for check in &checks {
        let mark = match check.status {
            Status::Ok => "ok     ",
            Status::Note => "note   ",
            Status::Problem => "PROBLEM",
        };
        say(&format!("{mark} {:<9} {}", check.name, check.message));
        if let Some(fix) = &check.fix {
            say(&format!("{:18}-> {fix}", ""));
        }
    }
    let problems = checks.iter().filter(|it| it.status == Status::Problem).count();
    say(&match problems {
        0 => "All is well.".to_owned(),
        1 => "1 problem.".to_owned(),
        _ => format!("{problems} problems."),
    });
    Ok(well)
}

async fn examine(wanted: Option<&Path>, godot: Option<&Path>) -> Vec<Check> {
    let mut checks = vec![editor_program(godot)];
    let project = match Project::find(wanted) {
        Ok(project) => project,
        Err(reason) => {
            let fix = "run it in the folder of your project, or give the folder with --project DIR";
            checks.push(problem("project", reason, fix));
            return checks;
        }
    };
    checks.push(ok("project", project.folder.display().to_string()));
    checks.extend(addon(&project));
    checks.extend(other_toolkit(&project));
    checks.extend(token(&project));
    checks.extend(editor(&project).await);
    checks.extend(clients(&project));
    checks
}

fn editor_program(given: Option<&Path>) -> Check {
    let found = godot::find(given).and_then(|it| godot::version(&it).map(|version| (it, version)));
    let (major, minor) = godot::MINIMUM;
    let get = format!(
        "install Godot {major}.{minor} or newer, and put it on the PATH or name it in $GODOT"
    );
    match found {
        Err(reason) => problem("godot", reason, get),
        Ok((path, version)) if godot::number(&version).is_none_or(|it| it < godot::MINIMUM) => {
            let message =
                format!("\"{}\" is Godot {version}, older than {major}.{minor}", path.display());
            problem("godot", message, get)
        }
        Ok((path, version)) => ok("godot", format!("{version} ({})", path.display())),
    }
}

fn addon(project: &Project) -> Vec<Check> {
    let folder = project.addon();
    let config = fs::read_to_string(folder.join("plugin.cfg"));
    let manifest = fs::read_to_string(folder.join("godot_mcp.gdextension"));
    let (Ok(config), Ok(manifest)) = (config, manifest) else {
        let message = "addons/godot_mcp is not in the project, or not complete".to_owned();
        let fix =
            "copy the folder addons/godot_mcp of a release into the addons folder of the project";
        return vec![problem("addon", message, fix)];
    };
    let mut checks = Vec::new();
    let version = setting(&config, "version").unwrap_or_default();
    let own = env!("CARGO_PKG_VERSION");
    checks.push(if version == own {
        ok("addon", format!("version {version}"))
    } else {
        let message = format!("the addon has version {version}, this program {own}");
        note("addon", message, "take both from the same release")
    });
    checks.push(if project.plugin_enabled() {
        ok("plugin", "enabled in project.godot".to_owned())
    } else {
        let message = "Godot MCP is not enabled in project.godot".to_owned();
        problem("plugin", message, "enable it in Project > Project Settings > Plugins")
    });
    let library = library(&manifest, env::consts::OS, env::consts::ARCH);
    checks.push(match library {
        Some(file) if folder.join(&file).is_file() => ok("library", file),
        Some(file) => {
            let message = format!("addons/godot_mcp/{file} is missing");
            problem(
                "library",
                message,
                "install a release that has it, or build it with \"make build\"",
            )
        }
        None => {
            let message =
                format!("the addon has no library for {} {}", env::consts::OS, env::consts::ARCH);
            problem("library", message, "build it from source for this platform")
        }
    });
    checks
}

/// The file that the manifest names for a platform.
fn library(manifest: &str, system: &str, architecture: &str) -> Option<String> {
    let architecture = if architecture == "aarch64" { "arm64" } else { architecture };
    let exact = format!("{system}.editor.{architecture}");
    let any = format!("{system}.editor");
    setting(manifest, &exact).or_else(|| setting(manifest, &any))
}

/// A value of a file in the engine's format of settings.
fn setting(text: &str, key: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        (name.trim() == key).then(|| value.trim().trim_matches('"').to_owned())
    })
}

/// X1.
fn other_toolkit(project: &Project) -> Option<Check> {
    let sentence = conflict::sentence(&project.folder)?;
    Some(problem("clash", sentence, "delete one of the two folders"))
}

fn token(project: &Project) -> Option<Check> {
    let found = project.discovery();
    if found.as_ref().is_some_and(|it| it.token_file.is_none()) {
        let message = "this editor takes calls without a token (GODOT_MCP_NO_TOKEN)".to_owned();
        return Some(note("token", message, "unset GODOT_MCP_NO_TOKEN and restart the editor"));
    }
    let file = found.and_then(|it| it.token_file).unwrap_or_else(|| project.state().join("token"));
    if !file.exists() {
        // Made at the first start.
        return None;
    }
    let path = file.display();
    if read_token(&file).is_none() {
        let fix = "delete it and restart the editor, which makes a new one";
        return Some(problem("token", format!("\"{path}\" cannot be read or is empty"), fix));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(&file).map_or(0, |it| it.permissions().mode() & 0o777);
        if mode & 0o077 != 0 {
            let message = format!("others can read \"{path}\" (mode {mode:o})");
            let fix = format!(
                "chmod 600 \"{path}\"; if others use this machine, also delete it and restart the editor"
            );
            return Some(problem("token", message, fix));
        }
    }
    Some(ok("token", "only you can read it".to_owned()))
}

async fn editor(project: &Project) -> Vec<Check> {
    let start = "open the project in Godot, or run \"godot-mcp open\"";
    let file = project.discovery_file();
    let Some(found) = project.discovery() else {
        let message = if file.exists() {
            format!("\"{}\" cannot be understood", file.display())
        } else {
            "no editor of this project runs".to_owned()
        };
        let mut checks = vec![problem("editor", message, start)];
        checks.push(ports(project));
        return checks;
    };
    if !is_alive(found.pid) {
        let message = format!(
            "no editor of this project runs; process {} has left its file behind",
            found.pid
        );
        return vec![problem("editor", message, start), ports(project)];
    }
    let Some(endpoint) = project.endpoint() else {
        let message = "an editor runs, but its token cannot be read".to_owned();
        return vec![problem("editor", message, "restart the editor")];
    };
    let http = Http::new();
    if let Err(reason) = http.health(&endpoint, TIMEOUT).await {
        let message = format!("process {} does not serve: {reason}", found.pid);
        let fix = "restart the editor; its Output panel says why when it does not serve";
        return vec![problem("editor", message, fix)];
    }
    let message =
        format!("Godot {} serves \"{}\" at {}", found.godot_version, found.project_name, found.url);
    let mut checks = vec![ok("editor", message)];
    if found.version != env!("CARGO_PKG_VERSION") {
        let message = format!(
            "the editor runs version {}, this program is {}",
            found.version,
            env!("CARGO_PKG_VERSION")
        );
        checks.push(note(
            "version",
            message,
            "take both from the same release, restart the editor",
        ));
    }
    checks.extend(port_taken(project, &endpoint));
    checks.push(mode(&http, &endpoint).await);
    checks
}

/// What the editor says of itself.
async fn mode(http: &Http, endpoint: &Endpoint) -> Check {
    match server_info(http, endpoint).await {
        Ok(info) if info["read_only"] == true => {
            let message = "the editor is read-only: only tools that change nothing run".to_owned();
            note("mode", message, "unset GODOT_MCP_READ_ONLY and restart the editor")
        }
        Ok(_) => ok("mode", "tools may change the project".to_owned()),
        Err(reason) => {
            let message = format!("a call of get_server_info failed: {reason}");
            problem("mode", message, "restart the editor")
        }
    }
}

async fn server_info(http: &Http, endpoint: &Endpoint) -> Result<Value, String> {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "godot-mcp doctor", "version": env!("CARGO_PKG_VERSION")},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": "get_server_info", "arguments": {}, "_meta": meta});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let headers = [
        ("Content-Type", "application/json".to_owned()),
        ("Accept", "application/json, text/event-stream".to_owned()),
        ("MCP-Protocol-Version", "2026-07-28".to_owned()),
        ("Mcp-Method", "tools/call".to_owned()),
        ("Mcp-Name", "get_server_info".to_owned()),
    ];
    let exchange = async {
        let body = body.to_string().into();
        let response = http.send(endpoint, Method::POST, &headers, body).await?;
        collect(response.into_body()).await
    };
    let body = timeout(TIMEOUT, exchange).await.map_err(|_| format!("no answer in {TIMEOUT:?}"))?;
    let body = body.map_err(|it| it.to_string())?;
    let answer: Value = serde_json::from_slice(&body).map_err(|it| it.to_string())?;
    let info = &answer["result"]["structuredContent"];
    if info.is_object() { Ok(info.clone()) } else { Err(answer.to_string()) }
}

fn first_port(project: &Project) -> u16 {
    let asked = env::var("GODOT_MCP_PORT").ok().or_else(|| {
        let settings = project.settings();
        let section = settings.split("[godot_mcp]").nth(1)?.split("\n[").next()?.to_owned();
        setting(&section, "network/port")
    });
    asked.and_then(|it| it.parse().ok()).filter(|&it| it > 0).unwrap_or(DEFAULT_PORT)
}

/// Whether an editor would find a port.
fn ports(project: &Project) -> Check {
    let first = first_port(project);
    let last = first.saturating_add(PORTS - 1);
    let free = (first..=last).find(|&it| TcpListener::bind((Ipv4Addr::LOCALHOST, it)).is_ok());
    match free {
        Some(port) if port == first => ok("port", format!("{port} is free")),
        Some(port) => {
            let message = format!("{first} is taken, an editor would listen on {port}");
            note("port", message, "nothing to do: the relay finds it")
        }
        None => {
            let message = format!("no port from {first} to {last} is free");
            let fix = "close what listens there, or set GODOT_MCP_PORT to another first port";
            problem("port", message, fix)
        }
    }
}

fn port_taken(project: &Project, endpoint: &Endpoint) -> Option<Check> {
    let first = first_port(project);
    let usual = endpoint.url.ends_with(&format!(":{first}/mcp"));
    (!usual).then(|| {
        let message = format!("the editor listens at {}, not on port {first}", endpoint.url);
        note(
            "port",
            message,
            "nothing to do for the relay; entries with an address must name this one",
        )
    })
}

fn clients(project: &Project) -> Vec<Check> {
    let findings = match configure::findings(project) {
        Ok(findings) => findings,
        Err(reason) => return vec![problem("clients", reason, "set HOME")],
    };
    let mut checks = Vec::new();
    for it in findings {
        let (name, id, file) = (it.client.name, it.client.id, it.file.display());
        let mend = format!("run \"godot-mcp configure {id}\"");
        checks.push(match it.state {
            State::Absent => continue,
            State::Current => ok("client", format!("{name} is configured ({file})")),
            State::Drift(differences) => {
                let differences = differences.join("; ");
                problem(
                    "client",
                    format!("{name}: the entry in {file} does not fit: {differences}"),
                    mend,
                )
            }
            State::Foreign(command) => {
                let message = format!("{name}: \"godot\" in {file} leads to {command}");
                note("client", message, format!("{mend} --force to replace it"))
            }
            State::Unreadable(reason) => {
                let fix = "mend the file by hand; it is not touched as it is";
                problem("client", format!("{name}: {reason}"), fix)
            }
        });
    }
    if checks.is_empty() {
        let message = "no client is configured for this project".to_owned();
        checks.push(note("client", message, "run \"godot-mcp configure CLIENT\""));
    }
    checks
}

fn ok(name: &'static str, message: String) -> Check {
    Check { name, status: Status::Ok, message, fix: None }
}

fn note(name: &'static str, message: String, fix: impl Into<String>) -> Check {
    Check { name, status: Status::Note, message, fix: Some(fix.into()) }
}

fn problem(name: &'static str, message: String, fix: impl Into<String>) -> Check {
    Check { name, status: Status::Problem, message, fix: Some(fix.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_found_per_platform() {
        let manifest = include_str!("../../../addons/godot_mcp/godot_mcp.gdextension");
        let library = |system, architecture| library(manifest, system, architecture);
        assert_eq!(library("linux", "x86_64").as_deref(), Some("bin/libgodot_mcp.linux.x86_64.so"));
        assert_eq!(library("linux", "aarch64").as_deref(), Some("bin/libgodot_mcp.linux.arm64.so"));
        assert!(library("macos", "aarch64").is_some() && library("windows", "x86_64").is_some());
        assert_eq!(library("linux", "riscv64"), None);
    }
}

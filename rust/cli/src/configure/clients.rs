//! The clients, as their public documentation describes them; see `docs/clients.md`.

use std::fs;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(crate) struct Client {
    /// As it is typed.
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
    pub(super) scope: Scope,
    pub(super) format: Format,
    pub(super) relay: RelayForm,
    /// None when the client cannot send the token.
    pub(super) http: Option<HttpForm>,
    files: fn(&Places) -> Vec<PathBuf>,
    container: &'static [&'static str],
    /// What the user does next.
    pub(super) after: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// A file in the project.
    Project,
    /// A file in the user's home; one project at a time.
    User,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// With or without comments.
    Json,
    Toml,
}

/// How a command is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RelayForm {
    /// `command` and `args`.
    Plain,
    /// The same, with `"type": "stdio"`.
    Typed,
    /// The same, with an empty `env`.
    WithEnv,
    /// `"type": "local"` and `command` as a list.
    Local,
}

/// How an address is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HttpForm {
    pub(super) kind: Option<&'static str>,
    pub(super) url: &'static str,
    pub(super) headers: &'static str,
}

/// One file and the place in it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) file: PathBuf,
    pub(super) container: &'static [&'static str],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum System {
    Linux,
    Mac,
    Windows,
}

/// Where files are on this machine.
pub(super) struct Places {
    system: System,
    home: PathBuf,
    /// `~/.config`, `~/Library/Application Support` or `%APPDATA%`.
    applications: PathBuf,
    /// `%LOCALAPPDATA%`.
    local: Option<PathBuf>,
    codex: Option<PathBuf>,
    cline: Option<PathBuf>,
    project: PathBuf,
}

const fn http(kind: Option<&'static str>, url: &'static str) -> Option<HttpForm> {
    Some(HttpForm { kind, url, headers: "headers" })
}

/// In the order of `configure --list`.
pub(crate) static CLIENTS: [Client; 10] = [
    Client {
        id: "claude-code",
        name: "Claude Code",
        scope: Scope::Project,
        format: Format::Json,
        relay: RelayForm::Typed,
        http: http(Some("http"), "url"),
        files: |it| vec![it.project.join(".mcp.json")],
        container: &["mcpServers"],
        after: "Start Claude Code in the project and approve the server; /mcp shows it.",
    },
    Client {
        id: "claude-desktop",
        name: "Claude Desktop",
        scope: Scope::User,
        format: Format::Json,
        relay: RelayForm::Plain,
        http: None,
        files: |it| vec![it.claude_desktop()],
        container: &["mcpServers"],
        after: "Quit Claude Desktop and start it again.",
    },
    Client {
        id: "cursor",
        name: "Cursor",
        scope: Scope::Project,
        format: Format::Json,
        relay: RelayForm::Typed,
        http: http(None, "url"),
        files: |it| vec![it.project.join(".cursor").join("mcp.json")],
        container: &["mcpServers"],
        after: "Open the project in Cursor and switch the server on in its MCP settings.",
    },
    Client {
        id: "vscode",
        name: "VS Code",
        scope: Scope::Project,
        format: Format::Json,
        relay: RelayForm::Typed,
        http: http(Some("http"), "url"),
        files: |it| vec![it.project.join(".vscode").join("mcp.json")],
        container: &["servers"],
        after: "Open the project in VS Code; \"MCP: List Servers\" starts the server.",
    },
    Client {
        id: "codex",
        name: "Codex CLI",
        scope: Scope::User,
        format: Format::Toml,
        relay: RelayForm::Plain,
        http: Some(HttpForm { kind: None, url: "url", headers: "http_headers" }),
        files: |it| {
            let folder = it.codex.clone().unwrap_or_else(|| it.home.join(".codex"));
            vec![folder.join("config.toml")]
        },
        container: &["mcp_servers"],
        after: "Start Codex anew; /mcp shows the server.",
    },
    Client {
        id: "gemini",
        name: "Gemini CLI",
        scope: Scope::Project,
        format: Format::Json,
        relay: RelayForm::Plain,
        http: http(None, "httpUrl"),
        files: |it| vec![it.project.join(".gemini").join("settings.json")],
        container: &["mcpServers"],
        after: "Start Gemini CLI in the project; /mcp shows the server.",
    },
    Client {
        id: "zed",
        name: "Zed",
        scope: Scope::Project,
        format: Format::Json,
        relay: RelayForm::WithEnv,
        http: http(None, "url"),
        files: |it| vec![it.project.join(".zed").join("settings.json")],
        container: &["context_servers"],
        after: "Open the project in Zed; the settings of the Agent Panel show the server.",
    },
    Client {
        id: "windsurf",
        name: "Windsurf",
        scope: Scope::User,
        format: Format::Json,
        relay: RelayForm::Plain,
        http: http(None, "serverUrl"),
        files: |it| vec![it.home.join(".codeium").join("windsurf").join("mcp_config.json")],
        container: &["mcpServers"],
        after: "Refresh the list of MCP servers in Cascade.",
    },
    Client {
        id: "cline",
        name: "Cline",
        scope: Scope::User,
        format: Format::Json,
        relay: RelayForm::Typed,
        http: http(Some("streamableHttp"), "url"),
        files: Places::cline,
        container: &["mcpServers"],
        after: "Open the MCP servers of Cline; the server is under Configure.",
    },
    Client {
        id: "opencode",
        name: "OpenCode",
        scope: Scope::Project,
        format: Format::Json,
        relay: RelayForm::Local,
        http: http(Some("remote"), "url"),
        files: |it| {
            vec![first_or(it.project.join("opencode.jsonc"), it.project.join("opencode.json"))]
        },
        container: &["mcp"],
        after: "Start OpenCode in the project; \"opencode mcp list\" shows the server.",
    },
];

impl Client {
    pub(super) fn targets(&self, places: &Places) -> Vec<Target> {
        let files = (self.files)(places).into_iter();
        files.map(|file| Target { container: self.container_in(&file), file }).collect()
    }

    /// OpenCode 2 keeps servers one level deeper, and still reads the form of OpenCode 1, which
    /// reads no other: the deeper one only where the file uses it.
    fn container_in(&self, file: &Path) -> &'static [&'static str] {
        if self.id != "opencode" {
            return self.container;
        }
        let text = fs::read_to_string(file).unwrap_or_default();
        let value = super::json_file::value(&text).unwrap_or_default();
        let servers = &value["mcp"]["servers"];
        // A server could have that name.
        let deeper = servers.is_object() && servers.get("type").is_none();
        if deeper { &["mcp", "servers"] } else { self.container }
    }
}

impl Places {
    pub(super) fn new(
        system: System,
        home: PathBuf,
        project: PathBuf,
        variable: &dyn Fn(&str) -> Option<PathBuf>,
    ) -> Self {
        let applications = match system {
            System::Linux => variable("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config")),
            System::Mac => home.join("Library").join("Application Support"),
            System::Windows => {
                variable("APPDATA").unwrap_or_else(|| home.join("AppData").join("Roaming"))
            }
        };
        Self {
            local: variable("LOCALAPPDATA"),
            codex: variable("CODEX_HOME"),
            cline: variable("CLINE_MCP_SETTINGS_PATH"),
            system,
            home,
            applications,
            project,
        }
    }

    fn claude_desktop(&self) -> PathBuf {
        let usual = self.applications.join("Claude");
        self.claude_package().unwrap_or(usual).join("claude_desktop_config.json")
    }

    /// The package from the Windows store sees a folder of its own in place of `%APPDATA%`.
    fn claude_package(&self) -> Option<PathBuf> {
        if self.system != System::Windows {
            return None;
        }
        let packages = fs::read_dir(self.local.as_ref()?.join("Packages")).ok()?;
        let package = packages
            .flatten()
            .find(|it| it.file_name().to_str().is_some_and(|it| it.starts_with("Claude_")))?;
        let folder = package.path().join("LocalCache").join("Roaming").join("Claude");
        folder.is_dir().then_some(folder)
    }

    /// The extension of VS Code and the command line tool keep files of their own: those that are
    /// there, and on a fresh machine the one of the extension.
    fn cline(&self) -> Vec<PathBuf> {
        if let Some(file) = &self.cline {
            return vec![file.clone()];
        }
        let extension =
            self.applications.join("Code/User/globalStorage/saoudrizwan.claude-dev/settings");
        let tool = self.home.join(".cline/data/settings");
        let mut files: Vec<_> = [&extension, &tool]
            .into_iter()
            .map(|it| it.join("cline_mcp_settings.json"))
            .filter(|it| it.is_file())
            .collect();
        if files.is_empty() {
            let only_tool = !extension.is_dir() && tool.is_dir();
            let folder = if only_tool { tool } else { extension };
            files.push(folder.join("cline_mcp_settings.json"));
        }
        files
    }
}

fn first_or(wanted: PathBuf, other: PathBuf) -> PathBuf {
    if wanted.is_file() { wanted } else { other }
}

//! `godot-mcp configure` on files as users have them: only its own entry is written.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// Client, its file, and the key of the servers; `~` is the home, else the project.
const CLIENTS: &[(&str, &str, &str)] = &[
    ("claude-code", ".mcp.json", "mcpServers"),
    ("claude-desktop", "~/.config/Claude/claude_desktop_config.json", "mcpServers"),
    ("cursor", ".cursor/mcp.json", "mcpServers"),
    ("vscode", ".vscode/mcp.json", "servers"),
    ("codex", "~/.codex/config.toml", "mcp_servers"),
    ("gemini", ".gemini/settings.json", "mcpServers"),
    ("zed", ".zed/settings.json", "context_servers"),
    ("windsurf", "~/.codeium/windsurf/mcp_config.json", "mcpServers"),
    (
        "cline",
        "~/.config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        "mcpServers",
    ),
    ("opencode", "opencode.json", "mcp"),
];

/// A home and a project of their own, and one client's file in them.
struct Place {
    folder: tempfile::TempDir,
    client: &'static str,
    file: PathBuf,
    key: &'static str,
}

impl Place {
    fn new((client, file, key): (&'static str, &'static str, &'static str)) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let project = folder.path().join("game");
        std::fs::create_dir_all(project.join("addons")).expect("created");
        std::fs::write(project.join("project.godot"), "config_version=5\n").expect("written");
        let file = match file.strip_prefix("~/") {
            Some(file) => folder.path().join("home").join(file),
            None => project.join(file),
        };
        std::fs::create_dir_all(file.parent().expect("in a folder")).expect("created");
        Self { folder, client, file, key }
    }

    fn run(&self, args: &[&str]) -> Output {
        let program = std::env::current_exe().expect("a test binary");
        let program = program.parent().and_then(Path::parent).expect("the profile's folder");
        let home = self.folder.path().join("home");
        Command::new(program.join("godot-mcp"))
            .args(args)
            .current_dir(self.folder.path().join("game"))
            .env("HOME", &home)
            .env_remove("XDG_CONFIG_HOME")
            .output()
            .expect("`cargo build --workspace` has built the command line program")
    }

    /// Without the folders of this run.
    fn anonymous(&self, text: &str) -> String {
        let program = std::env::current_exe().expect("a test binary");
        let folder = program.parent().and_then(Path::parent).expect("the profile's folder");
        text.replace(&folder.to_string_lossy().into_owned(), "PROGRAMS")
            .replace(&self.folder.path().to_string_lossy().into_owned(), "FOLDER")
    }

    #[track_caller]
    fn configure(&self) {
        let output = self.run(&["configure", self.client]);
        assert!(output.status.success(), "{}: {}", self.client, text(&output));
    }

    fn read(&self) -> String {
        std::fs::read_to_string(&self.file).unwrap_or_default()
    }

    fn is_toml(&self) -> bool {
        self.file.extension().is_some_and(|it| it == "toml")
    }

    /// The servers of the file. Comments on lines of their own are left out.
    #[track_caller]
    fn servers(&self) -> Value {
        let text = self.read();
        let whole: Value = match self.is_toml() {
            true => toml_edit::de::from_str(&text).expect("TOML"),
            false => {
                let lines = text.lines().filter(|it| !it.trim_start().starts_with("//"));
                let text: String = lines.collect::<Vec<_>>().join("\n");
                serde_json::from_str(&text).unwrap_or_else(|it| panic!("{it} in\n{text}"))
            }
        };
        whole[self.key].clone()
    }

    /// The entry starts the relay of this project.
    #[track_caller]
    fn check_entry(&self) {
        let servers = self.servers();
        let entry = servers["godot"].to_string();
        assert!(entry.contains("relay") && entry.contains("game"), "{}: {servers}", self.client);
        let checked = self.run(&["configure", "--check", self.client]);
        assert!(checked.status.success(), "{}: {}", self.client, text(&checked));
    }

    fn backups(&self) -> usize {
        let folder = std::fs::read_dir(self.file.parent().expect("in a folder")).expect("listed");
        folder
            .filter_map(Result::ok)
            .filter(|it| it.file_name().to_string_lossy().contains(".bak"))
            .count()
    }
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn places() -> impl Iterator<Item = Place> {
    CLIENTS.iter().copied().map(Place::new)
}

#[test]
fn a_fresh_machine() {
    for place in places() {
        place.configure();
        place.check_entry();
        assert_eq!(place.backups(), 0, "{}", place.client);
    }
}

#[test]
fn an_empty_file() {
    for place in places() {
        std::fs::write(&place.file, "").expect("written");
        place.configure();
        place.check_entry();
    }
}

/// Comments, order and what others have written stay as they are; there is a backup of the old bytes.
#[test]
fn a_file_of_others() {
    for place in places() {
        let key = place.key;
        let before = match place.is_toml() {
            true => format!(
                "# my settings\nmodel = \"large\"\n\n[{key}.other] # mine\ncommand = \"other\"\n"
            ),
            false => format!(
                "{{\n  // my settings\n  \"theme\": \"dark\",\n  \"{key}\": {{\n    // mine\n    \"other\": {{\"command\": \"other\"}}\n  }},\n  \"last\": [1, 2]\n}}\n"
            ),
        };
        std::fs::write(&place.file, &before).expect("written");
        place.configure();
        place.check_entry();
        let after = place.read();
        for line in before.lines().filter(|it| it.contains("mine") || it.contains("my settings")) {
            assert!(after.contains(line), "{}: \"{line}\" is gone from\n{after}", place.client);
        }
        assert_eq!(place.servers()["other"]["command"], "other", "{}", place.client);
        assert_eq!(place.backups(), 1, "{}", place.client);
        // Again: nothing to do, and nothing is done.
        place.configure();
        assert_eq!(place.read(), after, "{}", place.client);
        assert_eq!(place.backups(), 1, "{}", place.client);
        // And out again, without a trace but the backup.
        let removed = place.run(&["configure", "--remove", place.client]);
        assert!(removed.status.success(), "{}: {}", place.client, text(&removed));
        assert!(place.servers()["godot"].is_null(), "{}", place.client);
        assert_eq!(place.servers()["other"]["command"], "other", "{}", place.client);
    }
}

/// An entry of ours that says something else is shown as drift and mended.
#[test]
fn an_old_entry() {
    for place in places() {
        let key = place.key;
        // OpenCode has program and arguments in one list.
        let command = match place.client {
            "opencode" => "[\"/gone/godot-mcp\", \"relay\"]",
            _ => "\"/gone/godot-mcp\"",
        };
        let old = match place.is_toml() {
            true => format!("[{key}.godot]\ncommand = \"/gone/godot-mcp\"\nargs = [\"relay\"]\n"),
            false => {
                format!(
                    "{{\"{key}\": {{\"godot\": {{\"command\": {command}, \"args\": [\"relay\"]}}}}}}\n"
                )
            }
        };
        std::fs::write(&place.file, &old).expect("written");
        let checked = place.run(&["configure", "--check", place.client]);
        assert!(!checked.status.success(), "{}: {}", place.client, text(&checked));
        assert_eq!(place.read(), old, "{}: a check changes nothing", place.client);
        place.configure();
        place.check_entry();
    }
}

/// What cannot be parsed, and what is read-only, is left alone, and said.
#[test]
fn files_that_are_left_alone() {
    for place in places() {
        let broken = if place.is_toml() { "[a\nb = " } else { "{\"a\": [1, 2" };
        std::fs::write(&place.file, broken).expect("written");
        let output = place.run(&["configure", place.client]);
        assert!(!output.status.success(), "{}: {}", place.client, text(&output));
        assert!(text(&output).contains("nothing was changed"), "{}", text(&output));
        assert_eq!(place.read(), broken, "{}", place.client);
        assert_eq!(place.backups(), 0, "{}", place.client);

        let fine = if place.is_toml() { "a = 1\n" } else { "{\"a\": 1}\n" };
        std::fs::write(&place.file, fine).expect("written");
        let mut mode = std::fs::metadata(&place.file).expect("there").permissions();
        mode.set_readonly(true);
        std::fs::set_permissions(&place.file, mode).expect("set");
        let output = place.run(&["configure", place.client]);
        assert!(!output.status.success(), "{}: {}", place.client, text(&output));
        assert_eq!(place.read(), fine, "{}", place.client);
    }
}

/// The bytes of each client's file before and after, and what is said: `tests/golden/configure`. With
/// `UPDATE_EXPECT=1` they are written anew.
#[test]
fn as_the_golden_files_say() {
    for (client, file, key) in CLIENTS.iter().copied() {
        let toml = file.ends_with(".toml");
        let cases: [(&str, Option<String>); 6] = [
            ("no file", None),
            ("empty", Some(String::new())),
            ("existing", Some(existing(key, toml, false))),
            ("commented", Some(existing(key, toml, true))),
            ("foreign entry of our name", Some(foreign(key, toml))),
            ("broken", Some(if toml { "[a\nb = " } else { "{\"a\": [1, 2" }.to_owned())),
        ];
        let mut golden = format!("{file}\n");
        for (name, before) in cases {
            for read_only in [false, true] {
                if read_only && name != "existing" {
                    continue;
                }
                let place = Place::new((client, file, key));
                if let Some(before) = &before {
                    std::fs::write(&place.file, before).expect("written");
                }
                if read_only {
                    let mut mode = std::fs::metadata(&place.file).expect("there").permissions();
                    mode.set_readonly(true);
                    std::fs::set_permissions(&place.file, mode).expect("set");
                }
                let output = place.run(&["configure", client]);
                let mark = if read_only { ", read-only" } else { "" };
                golden += &format!("\n==== {name}{mark}: before\n");
                golden += before.as_deref().unwrap_or("");
                golden += &format!("\n==== after, exit {}\n", output.status.code().unwrap_or(-1));
                golden += &place.anonymous(&place.read());
                golden += &format!("\n==== said\n{}", place.anonymous(&text(&output)));
            }
        }
        expect_test::expect_file![format!("../golden/configure/{client}.txt")].assert_eq(&golden);
    }
}

fn existing(key: &str, toml: bool, commented: bool) -> String {
    let note = |text: &str| match (commented, toml) {
        (false, _) => String::new(),
        (true, true) => format!("# {text}\n"),
        (true, false) => format!("  // {text}\n"),
    };
    let (first, second) = (note("my settings"), note("my servers"));
    match toml {
        true => format!(
            "{first}model = \"large\"\n\n{second}[{key}.other]\ncommand = \"other\"\n\n[last]\na = 1\n"
        ),
        false => format!(
            "{{\n{first}  \"theme\": \"dark\",\n{second}  \"{key}\": {{\n    \"other\": {{\"command\": \"other\"}}\n  }},\n  \"last\": [1, 2]\n}}\n"
        ),
    }
}

/// What another bridge may have left under the name that we use.
fn foreign(key: &str, toml: bool) -> String {
    match toml {
        true => format!("[{key}.godot]\ncommand = \"npx\"\nargs = [\"other-bridge\"]\n"),
        false => format!(
            "{{\"{key}\": {{\"godot\": {{\"command\": \"npx\", \"args\": [\"other-bridge\"]}}}}}}\n"
        ),
    }
}

/// `doctor` names what is missing, and how to mend it.
#[test]
fn doctor_names_what_is_wrong() {
    let place = Place::new(CLIENTS[0]);
    let output = place.run(&["doctor"]);
    let said = text(&output);
    assert!(!output.status.success(), "{said}");
    for expected in ["addon", "->"] {
        assert!(said.contains(expected), "\"{expected}\" in\n{said}");
    }
}

//! `configure`: the entry of this project in the configuration files of clients.
//!
//! Only the entry named `godot` is ever touched. A file that cannot be understood is left as it is;
//! every other one is backed up, changed in place, read again and compared.

mod clients;
mod entry;
mod json_file;
mod store;
mod toml_file;

use std::path::{Path, PathBuf};

use clap::Args;
use godot_mcp_core::suggest;
use serde_json::Value;

pub(crate) use self::clients::CLIENTS;
use self::clients::{Client, Format, Places, Scope, System, Target};
use self::entry::Wanted;
use crate::project::{self, Project};
use crate::say;

/// Name of our entry in every file.
const NAME: &str = "godot";

#[derive(Args)]
pub(crate) struct Configure {
    /// The client: claude-code, claude-desktop, cursor, vscode, codex, gemini, zed, windsurf, cline
    /// or opencode.
    #[arg(value_name = "CLIENT", required_unless_present_any = ["check", "list"])]
    client: Option<String>,
    /// Only say which clients are configured, and whether they still fit. Fails when one does not.
    #[arg(long, conflicts_with_all = ["list", "print", "remove", "http", "force"])]
    check: bool,
    /// Only list the clients and their files.
    #[arg(long, conflicts_with_all = ["print", "remove", "http", "force"])]
    list: bool,
    /// Only print the entry, for writing it by hand.
    #[arg(long, conflicts_with_all = ["remove", "force"])]
    print: bool,
    /// Take the entry out again.
    #[arg(long, conflicts_with = "http")]
    remove: bool,
    /// Connect by address and token instead of the relay. The file then holds the token, and a
    /// restart of the editor may change the address.
    #[arg(long)]
    http: bool,
    /// Replace an entry of that name which another tool has written.
    #[arg(long)]
    force: bool,
    /// Folder of the Godot project. Without it: the working directory or one above it.
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
}

/// What a file holds of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// No file, or no entry in it.
    Absent,
    Current,
    /// Ours, but not as it should be: what differs.
    Drift(Vec<String>),
    /// An entry of that name which somebody else has written: what it starts.
    Foreign(String),
    /// The reason.
    Unreadable(String),
}

/// The state of one file of one client.
pub(crate) struct Finding {
    pub(crate) client: &'static Client,
    pub(crate) file: PathBuf,
    pub(crate) state: State,
}

/// # Errors
/// What was not done, and why.
pub(crate) fn run(options: &Configure) -> Result<bool, String> {
    if options.list {
        list(options.project.as_deref());
        return Ok(true);
    }
    let client = options.client.as_deref().map(named).transpose()?;
    let project = Project::find(options.project.as_deref())?;
    if options.check {
        return Ok(check(&project, client));
    }
    let client = client.ok_or("name a client, or use --list")?;
    let places = Places::here(&project.folder)?;
    if options.remove {
        return remove(client, &places).map(|()| true);
    }
    let wanted = wanted(&project, options.http)?;
    for target in client.targets(&places) {
        let entry = entry::of(client, &target, &wanted)?;
        if options.print {
            say(&format!("{}:\n{}", target.file.display(), printed(client, &target, &entry)?));
        } else {
            write(client, &target, &entry, &wanted, options.force)?;
        }
    }
    if options.http && !options.print {
        say("The file holds the token of this project's editor: do not commit or share it.");
    }
    if !options.print {
        say(client.after);
    }
    Ok(true)
}

/// The state of every client's files.
pub(crate) fn findings(project: &Project) -> Result<Vec<Finding>, String> {
    let places = Places::here(&project.folder)?;
    let relay = wanted(project, false)?;
    let http = wanted(project, true).ok();
    let mut findings = Vec::new();
    for client in &CLIENTS {
        for target in client.targets(&places) {
            let state = state(client, &target, &relay, http.as_ref());
            findings.push(Finding { client, file: target.file, state });
        }
    }
    Ok(findings)
}

fn named(id: &str) -> Result<&'static Client, String> {
    if let Some(client) = CLIENTS.iter().find(|it| it.id == id) {
        return Ok(client);
    }
    let ids: Vec<_> = CLIENTS.iter().map(|it| it.id).collect();
    let near = suggest::near(id, ids.iter().copied(), 1);
    let near = near.first().map(|it| format!("; did you mean \"{it}\"?")).unwrap_or_default();
    Err(format!("unknown client \"{id}\"{near} Known: {}", ids.join(", ")))
}

/// What an entry must lead to.
fn wanted(project: &Project, http: bool) -> Result<Wanted, String> {
    if !http {
        let program = std::env::current_exe().and_then(|it| project::absolute(&it));
        let program = program.map_err(|it| format!("cannot find this program: {it}"))?;
        return Ok(Wanted::Relay { program, project: project.folder.clone() });
    }
    let found = project.discovery().ok_or(
        "the address is not known: the editor of this project does not run; start it with \"godot-mcp open\"",
    )?;
    let token = match &found.token_file {
        None => None,
        Some(file) => Some(
            project::read_token(file)
                .ok_or_else(|| format!("cannot read the token \"{}\"", file.display()))?,
        ),
    };
    Ok(Wanted::Http { url: found.url, token })
}

fn list(project: Option<&Path>) {
    let project = Project::find(project).map(|it| it.folder);
    let folder = project.unwrap_or_else(|_| PathBuf::from("<project>"));
    for client in &CLIENTS {
        let scope = match client.scope {
            Scope::Project => "this project",
            Scope::User => "all projects",
        };
        let targets = Places::here(&folder).map(|it| client.targets(&it)).unwrap_or_default();
        let files: Vec<_> = targets.iter().map(|it| it.file.display().to_string()).collect();
        let files = files.join(", ");
        say(&format!("{:<15} {:<15} {:<13} {files}", client.id, client.name, scope));
    }
}

fn check(project: &Project, only: Option<&Client>) -> bool {
    let findings = match findings(project) {
        Ok(findings) => findings,
        Err(problem) => {
            crate::log(&problem);
            return false;
        }
    };
    let mut fine = true;
    for it in findings.iter().filter(|it| only.is_none_or(|only| only.id == it.client.id)) {
        let (name, file) = (it.client.name, it.file.display());
        let id = it.client.id;
        match &it.state {
            State::Current => say(&format!("{name}: configured in {file}")),
            State::Absent => {
                fine &= only.is_none();
                say(&format!("{name}: not configured; \"godot-mcp configure {id}\" does it"));
            }
            State::Drift(differences) => {
                fine = false;
                let differences = differences.join("; ");
                say(&format!(
                    "{name}: the entry in {file} does not fit: {differences}. \"godot-mcp configure {id}\" mends it"
                ));
            }
            State::Foreign(command) => {
                fine &= only.is_none();
                say(&format!("{name}: \"{NAME}\" in {file} is not ours: it leads to {command}"));
            }
            State::Unreadable(reason) => {
                fine = false;
                say(&format!("{name}: {reason}"));
            }
        }
    }
    fine
}

/// `http` is none when no address is known.
fn state(client: &Client, target: &Target, relay: &Wanted, http: Option<&Wanted>) -> State {
    let found = match store::read(&target.file) {
        Ok(None) => return State::Absent,
        Ok(Some(text)) => read_entry(client, target, &text),
        Err(reason) => return State::Unreadable(reason),
    };
    let found = match found {
        Ok(None) => return State::Absent,
        Ok(Some(found)) => found,
        Err(reason) => return State::Unreadable(reason),
    };
    let wanted = if entry::is_http(&found) { http } else { Some(relay) };
    let known_url = match http {
        Some(Wanted::Http { url, .. }) => Some(url.as_str()),
        _ => None,
    };
    if !entry::is_ours(&found, known_url) {
        return State::Foreign(entry::leads_to(&found));
    }
    let Some(wanted) = wanted else {
        // The editor does not run, so the address cannot be compared.
        return State::Current;
    };
    match entry::of(client, target, wanted) {
        Err(reason) => State::Drift(vec![reason]),
        Ok(entry) => match entry::differences(&found, &entry) {
            differences if differences.is_empty() => State::Current,
            differences => State::Drift(differences),
        },
    }
}

fn write(
    client: &Client,
    target: &Target,
    entry: &Value,
    wanted: &Wanted,
    force: bool,
) -> Result<(), String> {
    let (name, file) = (client.name, target.file.display());
    let before = store::read(&target.file)?;
    let text = before.as_deref().unwrap_or_default();
    let found = read_entry(client, target, text)?;
    let known_url = match wanted {
        Wanted::Http { url, .. } => Some(url.as_str()),
        Wanted::Relay { .. } => None,
    };
    let foreign = found.as_ref().is_some_and(|it| !entry::is_ours(it, known_url));
    if let (true, false, Some(found)) = (foreign, force, &found) {
        let command = entry::leads_to(found);
        return Err(format!(
            "\"{NAME}\" in {file} is an entry of another tool, which leads to {command}; nothing was changed. --force replaces it"
        ));
    }
    if found.as_ref().is_some_and(|it| !foreign && entry::differences(it, entry).is_empty()) {
        say(&format!("{name}: {file} is configured already"));
        return Ok(());
    }
    let after = match client.format {
        Format::Json => json_file::with_entry(text, target.container, entry, foreign),
        Format::Toml => toml_file::with_entry(text, target.container, entry, foreign),
    };
    let after = after.map_err(|it| refused(target, &it))?;
    let secret = matches!(wanted, Wanted::Http { token: Some(_), .. });
    let backup = store::write(&target.file, &after, secret)?;
    verify(client, target, text, Some(entry))
        .map_err(|it| store::take_back(&target.file, backup.as_deref(), &it))?;
    let backup = backup.map(|it| format!(" (backup: {})", it.display())).unwrap_or_default();
    say(&format!("{name}: wrote \"{NAME}\" to {file}{backup}"));
    Ok(())
}

fn remove(client: &Client, places: &Places) -> Result<(), String> {
    for target in client.targets(places) {
        let (name, file) = (client.name, target.file.display());
        let before = store::read(&target.file)?.unwrap_or_default();
        let Some(found) = read_entry(client, &target, &before)? else {
            say(&format!("{name}: {file} has no entry \"{NAME}\""));
            continue;
        };
        if !entry::is_ours(&found, None) && !entry::is_http(&found) {
            let command = entry::leads_to(&found);
            return Err(format!(
                "\"{NAME}\" in {file} is an entry of another tool, which leads to {command}; nothing was changed"
            ));
        }
        let after = match client.format {
            Format::Json => json_file::without_entry(&before, target.container),
            Format::Toml => toml_file::without_entry(&before, target.container),
        };
        let after = after.map_err(|it| refused(&target, &it))?;
        let backup = store::write(&target.file, &after, false)?;
        verify(client, &target, &before, None)
            .map_err(|it| store::take_back(&target.file, backup.as_deref(), &it))?;
        let backup = backup.map(|it| format!(" (backup: {})", it.display())).unwrap_or_default();
        say(&format!("{name}: took \"{NAME}\" out of {file}{backup}"));
    }
    Ok(())
}

/// Reads the file again: our entry must be there as wanted, and all else as before.
fn verify(
    client: &Client,
    target: &Target,
    before: &str,
    entry: Option<&Value>,
) -> Result<(), String> {
    let text = store::read(&target.file)?.unwrap_or_default();
    let found = read_entry(client, target, &text)?;
    let fits = match (&found, entry) {
        (Some(found), Some(entry)) => entry::differences(found, entry).is_empty(),
        (None, None) => true,
        _ => false,
    };
    if !fits {
        return Err("the entry is not there as it was written".to_owned());
    }
    let others = |text: &str| -> Result<Value, String> {
        let mut value = value_of(client, text)?;
        entry::take_out(&mut value, target.container);
        Ok(value)
    };
    if others(before)? != others(&text)? {
        return Err("something besides the entry would have changed".to_owned());
    }
    Ok(())
}

fn value_of(client: &Client, text: &str) -> Result<Value, String> {
    match client.format {
        Format::Json => json_file::value(text),
        Format::Toml => toml_file::value(text),
    }
}

/// Our entry in the text of a file.
fn read_entry(client: &Client, target: &Target, text: &str) -> Result<Option<Value>, String> {
    let mut value = value_of(client, text).map_err(|it| refused(target, &it))?;
    for key in target.container {
        value = match value.get_mut(*key) {
            None => return Ok(None),
            Some(inner) if inner.is_object() => inner.take(),
            Some(_) => {
                return Err(refused(target, &format!("\"{key}\" is not an object")));
            }
        };
    }
    Ok(value.get_mut(NAME).map(Value::take))
}

fn refused(target: &Target, reason: &str) -> String {
    format!("{} cannot be understood: {reason}; nothing was changed", target.file.display())
}

/// A whole file with nothing but the entry.
fn printed(client: &Client, target: &Target, entry: &Value) -> Result<String, String> {
    match client.format {
        Format::Json => json_file::with_entry("", target.container, entry, false),
        Format::Toml => toml_file::with_entry("", target.container, entry, false),
    }
}

impl Places {
    /// Of this machine and user.
    fn here(project: &Path) -> Result<Self, String> {
        let system = if cfg!(windows) {
            System::Windows
        } else if cfg!(target_os = "macos") {
            System::Mac
        } else {
            System::Linux
        };
        let variable =
            |name: &str| std::env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
        let home = variable("HOME").or_else(|| variable("USERPROFILE"));
        let home = home.ok_or("neither $HOME nor $USERPROFILE is set")?;
        Ok(Self::new(system, home, project.to_owned(), &variable))
    }
}

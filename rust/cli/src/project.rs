//! The project at hand, and its editor as the discovery file tells of it.

use std::path::{Path, PathBuf};
use std::{env, fs};

use serde::Deserialize;

/// Folder of a Godot project, absolute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Project {
    pub(crate) folder: PathBuf,
}

/// What an editor that serves has written about itself.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Discovery {
    pub(crate) url: String,
    pub(crate) pid: u32,
    #[serde(default)]
    pub(crate) project_name: String,
    #[serde(default)]
    pub(crate) version: String,
    #[serde(default)]
    pub(crate) godot_version: String,
    /// None when the operator has turned the token off.
    pub(crate) token_file: Option<PathBuf>,
}

/// Where an editor listens, and what it lets in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) url: String,
    pub(crate) pid: u32,
    pub(crate) token: Option<String>,
}

impl Project {
    /// `wanted` (a project folder, its `project.godot`, or a folder inside), else the working
    /// directory; from there upwards to the first folder with a `project.godot`.
    ///
    /// # Errors
    /// A sentence for the user when there is none.
    pub(crate) fn find(wanted: Option<&Path>) -> Result<Self, String> {
        let start = match wanted {
            Some(path) => path.to_owned(),
            None => env::current_dir().map_err(|it| format!("no working directory: {it}"))?,
        };
        let start = absolute(&start)
            .map_err(|it| format!("cannot open the project \"{}\": {it}", start.display()))?;
        for folder in start.ancestors() {
            if folder.join("project.godot").is_file() {
                return Ok(Self { folder: folder.to_owned() });
            }
        }
        let start = start.display();
        Err(format!(
            "no project.godot in \"{start}\" or above it; give the folder of your Godot project with --project DIR"
        ))
    }

    /// Where the editor keeps its state.
    pub(crate) fn state(&self) -> PathBuf {
        self.folder.join(".godot").join("godot_mcp")
    }

    pub(crate) fn discovery_file(&self) -> PathBuf {
        self.state().join("server.json")
    }

    pub(crate) fn addon(&self) -> PathBuf {
        self.folder.join("addons").join("godot_mcp")
    }

    /// Reads the discovery file; none when there is none, or none that can be read.
    pub(crate) fn discovery(&self) -> Option<Discovery> {
        let text = fs::read_to_string(self.discovery_file()).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// The editor that is said to run: a file left behind by a killed one does not count.
    pub(crate) fn endpoint(&self) -> Option<Endpoint> {
        let found = self.discovery()?;
        if !is_alive(found.pid) {
            return None;
        }
        let token = match &found.token_file {
            None => None,
            Some(file) => Some(read_token(file)?),
        };
        Some(Endpoint { url: found.url, pid: found.pid, token })
    }

    /// Text of `project.godot`.
    pub(crate) fn settings(&self) -> String {
        fs::read_to_string(self.folder.join("project.godot")).unwrap_or_default()
    }

    /// Whether the plugin is switched on in `project.godot`.
    pub(crate) fn plugin_enabled(&self) -> bool {
        let text = self.settings();
        let section = text.split("[editor_plugins]").nth(1).unwrap_or_default();
        let section = section.split("\n[").next().unwrap_or_default();
        section.contains("\"res://addons/godot_mcp/plugin.cfg\"")
    }
}

pub(crate) fn read_token(file: &Path) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    Some(text.trim().to_owned()).filter(|it| !it.is_empty())
}

/// Without links and without the prefix that Windows puts before such paths: most programs do not
/// understand it.
pub(crate) fn absolute(path: &Path) -> std::io::Result<PathBuf> {
    let path = fs::canonicalize(path)?;
    let plain = path.to_str().and_then(|it| it.strip_prefix(r"\\?\"));
    Ok(plain.filter(|it| !it.starts_with("UNC")).map(PathBuf::from).unwrap_or(path))
}

/// Whether a process with this id runs.
#[cfg(unix)]
pub(crate) fn is_alive(pid: u32) -> bool {
    let Ok(pid) = libc::pid_t::try_from(pid) else { return false };
    // SAFETY: signal 0 only asks.
    let asked = unsafe { libc::kill(pid, 0) };
    // A process of somebody else is there too.
    let exists = asked == 0 || std::io::Error::last_os_error().raw_os_error() == Some(libc::EPERM);
    exists && !is_zombie(pid)
}

/// Ended, but not yet looked after by its parent.
#[cfg(target_os = "linux")]
fn is_zombie(pid: libc::pid_t) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, it)| it.trim_start().starts_with('Z'))
}

#[cfg(all(unix, not(target_os = "linux")))]
fn is_zombie(_pid: libc::pid_t) -> bool {
    false
}

/// Connecting tells, without a library for asking.
#[cfg(not(unix))]
pub(crate) fn is_alive(_pid: u32) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(settings: &str) -> (tempfile::TempDir, Project) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("project.godot"), settings).unwrap();
        let project = Project::find(Some(folder.path())).unwrap();
        (folder, project)
    }

    #[test]
    fn is_found_from_a_folder_inside() {
        let (folder, project) = project("");
        let inside = folder.path().join("a/b");
        fs::create_dir_all(&inside).unwrap();
        assert_eq!(Project::find(Some(&inside)).unwrap(), project);
        assert_eq!(Project::find(Some(&folder.path().join("project.godot"))).unwrap(), project);
    }

    #[test]
    fn a_folder_without_project_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = Project::find(Some(folder.path())).unwrap_err();
        assert!(error.contains("no project.godot") && error.contains("--project"), "{error}");
        let error = Project::find(Some(&folder.path().join("gone"))).unwrap_err();
        assert!(error.contains("gone"), "{error}");
    }

    #[test]
    fn the_plugin_counts_only_in_its_section() {
        let enabled = "[editor_plugins]\n\nenabled=PackedStringArray(\"res://addons/godot_mcp/plugin.cfg\")\n";
        assert!(project(enabled).1.plugin_enabled());
        for other in [
            "",
            "[editor_plugins]\n\nenabled=PackedStringArray()\n",
            "[editor_plugins]\n\n[x]\ny=\"res://addons/godot_mcp/plugin.cfg\"\n",
            "[editor_plugins]\nenabled=PackedStringArray(\"res://addons/godot_mcp_toolkit/plugin.cfg\")\n",
        ] {
            assert!(!project(other).1.plugin_enabled(), "{other}");
        }
    }

    #[test]
    fn what_a_killed_editor_left_does_not_count() {
        let (_folder, project) = project("");
        assert_eq!(project.endpoint(), None);
        fs::create_dir_all(project.state()).unwrap();
        let write = |pid: u32| {
            let text = format!(
                "{{\"url\": \"http://127.0.0.1:1/mcp\", \"pid\": {pid}, \"token_file\": null}}"
            );
            fs::write(project.discovery_file(), text).unwrap();
        };
        write(std::process::id());
        assert!(project.endpoint().is_some());
        // Ids end far below.
        #[cfg(unix)]
        {
            write(u32::MAX / 2);
            assert_eq!(project.endpoint(), None);
        }
        fs::write(project.discovery_file(), "{ rubbish").unwrap();
        assert_eq!(project.endpoint(), None);
    }
}

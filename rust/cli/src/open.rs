//! `open`: starts the editor of a project, and says so only when it serves.

use std::env;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::godot;
use crate::http::Http;
use crate::project::{Endpoint, Project, is_alive};

const POLL: Duration = Duration::from_millis(100);
const HEALTH_TIMEOUT: Duration = Duration::from_secs(2);
/// Lines of the log in an error.
const TAIL: usize = 15;
/// An editor that ended right after its start is not started again sooner.
const RETRY_AFTER: Duration = Duration::from_secs(30);
/// What the addon logs when it cannot serve.
const COMPLAINTS: [&str; 2] = ["Godot MCP did not start:", "Godot MCP cannot start:"];

pub(crate) struct Options {
    pub(crate) godot: Option<PathBuf>,
    pub(crate) headless: bool,
    pub(crate) timeout: Duration,
}

/// An editor process that was started here.
pub(crate) struct Started {
    child: Child,
    log: PathBuf,
}

/// What `open` has to tell.
pub(crate) struct Opened {
    pub(crate) endpoint: Endpoint,
    pub(crate) was_running: bool,
    pub(crate) log: Option<PathBuf>,
}

/// Whether there is a display to open a window on.
pub(crate) fn has_display() -> bool {
    cfg!(any(windows, target_os = "macos"))
        || ["DISPLAY", "WAYLAND_DISPLAY"]
            .iter()
            .any(|it| env::var_os(it).is_some_and(|it| !it.is_empty()))
}

/// Starts the editor unless one serves, and returns once it answers.
///
/// # Errors
/// What failed, with the last lines of the editor's log.
pub(crate) async fn open(project: &Project, options: &Options) -> Result<Opened, String> {
    let http = Http::new();
    if let Some(endpoint) = project.endpoint()
        && http.health(&endpoint, HEALTH_TIMEOUT).await.is_ok()
    {
        return Ok(Opened { endpoint, was_running: true, log: None });
    }
    if !options.headless && !has_display() {
        return Err("there is no display to open a window on; use --headless".to_owned());
    }
    let godot = godot::find(options.godot.as_deref())?;
    let version = godot::version(&godot)?;
    if godot::number(&version).is_none_or(|it| it < godot::MINIMUM) {
        let (major, minor) = godot::MINIMUM;
        let path = godot.display();
        return Err(format!(
            "\"{path}\" is Godot {version}; the addon needs {major}.{minor} or newer"
        ));
    }
    let mut started = launch(project, &godot, options.headless)?;
    let endpoint = started.wait(project, &http, options.timeout).await.inspect_err(|_| {
        // A window may show the human what is wrong; a headless editor shows nobody anything.
        if options.headless {
            started.kill();
        }
    })?;
    Ok(Opened { endpoint, was_running: false, log: Some(started.log) })
}

/// Starts the editor process, on its own: it outlives this one.
///
/// # Errors
/// When the project cannot serve, or the process does not start.
pub(crate) fn launch(project: &Project, godot: &Path, headless: bool) -> Result<Started, String> {
    if !project.addon().join("plugin.cfg").is_file() {
        return Err("the project has no addons/godot_mcp; copy the addon into it first".to_owned());
    }
    if !project.plugin_enabled() {
        return Err("the plugin Godot MCP is not enabled in this project; enable it in Project > Project Settings > Plugins".to_owned());
    }
    let state = project.state();
    let failed = |it: io::Error| format!("cannot prepare \"{}\": {it}", state.display());
    make_private_folder(&state).map_err(failed)?;
    tell_of_extension(project).map_err(failed)?;
    let log = state.join("editor.log");
    let output = File::create(&log).map_err(failed)?;
    let errors = output.try_clone().map_err(failed)?;

    let mut command = Command::new(godot);
    command.arg("--editor").arg("--path").arg(&project.folder);
    if headless {
        command.arg("--headless");
    }
    command.stdin(Stdio::null()).stdout(output).stderr(errors);
    // Ctrl+C in the terminal, or the end of a client, is not meant for the editor.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    #[cfg(windows)]
    std::os::windows::process::CommandExt::creation_flags(&mut command, 0x0000_0200);
    let child =
        command.spawn().map_err(|it| format!("cannot run \"{}\": {it}", godot.display()))?;
    // So that a second relay waits for this one instead of starting another.
    let _ = fs::write(pid_file(project), child.id().to_string());
    Ok(Started { child, log })
}

impl Started {
    /// Returns once the editor serves.
    async fn wait(
        &mut self,
        project: &Project,
        http: &Http,
        limit: Duration,
    ) -> Result<Endpoint, String> {
        let start = Instant::now();
        loop {
            if let Some(problem) = self.problem() {
                return Err(problem);
            }
            // Of another process id when Godot is started through a script.
            if let Some(endpoint) = project.endpoint()
                && http.health(&endpoint, HEALTH_TIMEOUT).await.is_ok()
                && self.problem().is_none()
            {
                return Ok(endpoint);
            }
            if start.elapsed() > limit {
                return Err(self.with_log(&format!("the editor does not serve after {limit:?}")));
            }
            sleep(POLL).await;
        }
    }

    /// Why nothing more is to be expected.
    fn problem(&mut self) -> Option<String> {
        if let Ok(Some(status)) = self.child.try_wait() {
            return Some(self.with_log(&format!("the editor ended ({status})")));
        }
        let log = self.log();
        let line = log.lines().find(|line| COMPLAINTS.iter().any(|it| line.contains(it)))?;
        Some(format!("{}; its log is \"{}\"", plain(line).trim(), self.log.display()))
    }

    fn log(&self) -> String {
        let bytes = fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn with_log(&self, problem: &str) -> String {
        let log = self.log();
        let lines: Vec<_> = log.lines().filter(|it| !it.trim().is_empty()).map(plain).collect();
        let tail = lines[lines.len().saturating_sub(TAIL)..].join("\n  ");
        let path = self.log.display();
        if tail.is_empty() {
            format!("{problem}; its log \"{path}\" is empty")
        } else {
            format!("{problem}; the end of its log \"{path}\":\n  {tail}")
        }
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a headless editor when one is needed, for the relay.
pub(crate) struct Starter {
    godot: Option<PathBuf>,
    last: Mutex<Option<Start>>,
}

struct Start {
    at: Instant,
    result: Result<Started, String>,
}

impl Starter {
    pub(crate) fn new(godot: Option<PathBuf>) -> Self {
        Self { godot, last: Mutex::default() }
    }

    /// Starts an editor unless one serves or is starting; the reason when that fails.
    pub(crate) fn ensure(&self, project: &Project) -> Option<String> {
        if project.endpoint().is_some() {
            return None;
        }
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let problem = match last.as_mut() {
            None => None,
            Some(Start { result: Err(problem), .. }) => Some(problem.clone()),
            Some(Start { result: Ok(started), .. }) => match started.problem() {
                // Still starting.
                None => return None,
                problem => problem,
            },
        };
        if let Some(start) = &*last
            && start.at.elapsed() < RETRY_AFTER
        {
            return problem;
        }
        if is_starting(project) {
            return None;
        }
        let result =
            godot::find(self.godot.as_deref()).and_then(|godot| launch(project, &godot, true));
        let problem = result.as_ref().err().cloned();
        match &problem {
            None => crate::log("starting a headless editor"),
            Some(problem) => crate::log(problem),
        }
        *last = Some(Start { at: Instant::now(), result });
        problem
    }
}

fn pid_file(project: &Project) -> PathBuf {
    project.state().join("editor.pid")
}

/// Whether somebody else has just started an editor that does not serve yet.
fn is_starting(project: &Project) -> bool {
    let file = pid_file(project);
    let recent = fs::metadata(&file)
        .and_then(|it| it.modified())
        .is_ok_and(|it| it.elapsed().is_ok_and(|it| it < Duration::from_secs(120)));
    let pid = fs::read_to_string(&file).ok().and_then(|it| it.trim().parse().ok());
    recent && pid.is_some_and(is_alive)
}

/// An editor that finds a GDExtension only in its first scan can crash at its exit (4.6.3, with any
/// library); one that is told beforehand does not.
fn tell_of_extension(project: &Project) -> io::Result<()> {
    let list = project.folder.join(".godot").join("extension_list.cfg");
    if list.exists() {
        return Ok(());
    }
    fs::write(list, "res://addons/godot_mcp/godot_mcp.gdextension\n")
}

fn make_private_folder(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)?;
    #[cfg(unix)]
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    Ok(())
}

/// Without terminal colors.
fn plain(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some(start) = rest.find('\u{1b}') {
        text.push_str(&rest[..start]);
        rest = &rest[start..];
        rest = rest.find('m').map_or("", |end| &rest[end + 1..]);
    }
    text + rest
}

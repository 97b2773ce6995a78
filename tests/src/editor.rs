//! A real editor, headless unless a display is given, on a temporary copy of a project.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base64::Engine;
use serde_json::Value;

use crate::display::Display;

/// Longest start of an editor: the first scan of a cold machine takes some seconds.
const START_TIMEOUT: Duration = Duration::from_secs(120);

/// Lines that the engine logs although nothing is wrong. Nothing else is let through.
const HARMLESS: &[&str] = &[
    // A headless save cannot draw the thumbnail.
    "Parameter \"t\" is null.",
    // An editor with a window asks whether Vulkan is there; software rendering has none.
    "Required extension VK_KHR_surface not found.",
    "at: initialize (drivers/vulkan/rendering_context_driver_vulkan.cpp",
    // The language server looks at all scripts, those that examples break on purpose included.
    "LSP: Failed to parse script: res://ex_",
    "texture_2d_get (servers/rendering/dummy/storage/texture_storage.h",
];

/// Root of the repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace member").to_owned()
}

/// The editor that `make -s print-godot` names.
pub fn godot() -> PathBuf {
    let output = Command::new(repository().join("scripts/godot.sh"))
        .arg("path")
        .stderr(Stdio::inherit())
        .output()
        .expect("scripts/godot.sh runs");
    assert!(output.status.success(), "no Godot editor");
    PathBuf::from(String::from_utf8(output.stdout).expect("UTF-8").trim())
}

/// How to start an editor.
pub struct Launch {
    fixture: PathBuf,
    env: Vec<(String, String)>,
    args: Vec<String>,
    with_addon: bool,
    project: Option<PathBuf>,
    wait_for_server: bool,
    display: Option<String>,
    settings: Vec<(String, String)>,
}

impl Launch {
    /// On a copy of a folder of `tests/fixtures`, with all toolsets on.
    pub fn fixture(name: &str) -> Self {
        Self::folder(repository().join("tests/fixtures").join(name))
    }

    pub fn folder(fixture: PathBuf) -> Self {
        let all = ("GODOT_MCP_DEFAULT_TOOLSETS".to_owned(), "all".to_owned());
        Self {
            fixture,
            env: vec![all],
            args: Vec::new(),
            with_addon: true,
            project: None,
            wait_for_server: true,
            display: None,
            settings: Vec::new(),
        }
    }

    /// On a project that exists, for a second editor or a restart.
    #[must_use]
    pub fn on(mut self, project: &Path) -> Self {
        self.project = Some(project.to_owned());
        self
    }

    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.retain(|it| it.0 != name);
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    #[must_use]
    pub fn arg(mut self, arg: &str) -> Self {
        self.args.push(arg.to_owned());
        self
    }

    /// With a window, drawn by software.
    #[must_use]
    pub fn window(mut self, display: &Display) -> Self {
        self.display = Some(display.name.clone());
        self
    }

    /// An editor setting, its value as Godot writes it.
    #[must_use]
    pub fn setting(mut self, name: &str, value: &str) -> Self {
        self.settings.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Returns as soon as the process runs.
    #[must_use]
    pub fn without_server(mut self) -> Self {
        self.wait_for_server = false;
        self
    }

    /// The project as it is without this plugin.
    #[must_use]
    pub fn without_addon(mut self) -> Self {
        self.with_addon = false;
        self.wait_for_server = false;
        self
    }

    pub fn start(self) -> Editor {
        Editor::start(self)
    }

    /// With the plugin enabled but not able to serve.
    pub fn start_bare_with_addon(mut self) -> Editor {
        self.wait_for_server = false;
        self.start_bare()
    }

    /// Without the plugin: returns once the editor has loaded and the harness answers.
    pub fn start_bare(self) -> Editor {
        let editor = Editor::start(self);
        while editor.gd("return EditorInterface.get_resource_filesystem().is_scanning()") == true {}
        editor
    }
}

/// A running editor. Killed when dropped; `quit` ends it as a human would.
pub struct Editor {
    child: Child,
    home: Arc<tempfile::TempDir>,
    pub project: PathBuf,
    pub url: String,
    pub token: String,
    harness_port: u16,
    log: Arc<Mutex<Vec<String>>>,
    readers: Vec<std::thread::JoinHandle<()>>,
}

impl Editor {
    fn start(launch: Launch) -> Self {
        let home = Arc::new(tempfile::tempdir().expect("a temporary folder"));
        let project = launch.project.clone().unwrap_or_else(|| {
            let project = home.path().join("project");
            copy_folder(&launch.fixture, &project);
            if !launch.with_addon {
                let settings = project.join("project.godot");
                let text = std::fs::read_to_string(&settings).expect("settings");
                let plugin = "\"res://addons/godot_mcp/plugin.cfg\", ";
                std::fs::write(&settings, text.replace(plugin, "")).expect("written");
            } else {
                install_addon(&project);
            }
            project
        });
        let harness_port = free_port();
        let program = godot();
        let mut command = Command::new(&program);
        match &launch.display {
            None => command.arg("--headless").env_remove("DISPLAY"),
            Some(display) => command
                .args(["--rendering-driver", "opengl3", "--audio-driver", "Dummy"])
                .env("DISPLAY", display),
        };
        // A fetched editor comes with the drivers that it was linked for.
        let drivers = program.parent().map(|it| it.join("../lib/x86_64-linux-gnu/dri"));
        if let Some(drivers) = drivers.filter(|it| it.is_dir()) {
            command.env("LIBGL_DRIVERS_PATH", drivers);
        }
        write_settings(&home.path().join("XDG_CONFIG_HOME/godot"), &launch.settings);
        command
            .args(["--editor", "--path"])
            .arg(&project)
            .args(["--lsp-port", &free_port().to_string()])
            .args(["--dap-port", &free_port().to_string()])
            .args(&launch.args)
            .env("GODOT_MCP_PORT", "0")
            .env("GODOT_MCP_HARNESS_PORT", harness_port.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for kind in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"] {
            command.env(kind, home.path().join(kind));
        }
        command.envs(launch.env.iter().map(|(name, value)| (name, value)));
        let mut child = command.spawn().expect("the editor starts");

        let log = Arc::new(Mutex::new(Vec::new()));
        let (sender, lines) = mpsc::channel();
        let readers = vec![
            follow(child.stdout.take().expect("piped"), &log, sender.clone()),
            follow(child.stderr.take().expect("piped"), &log, sender),
        ];
        let mut editor = Self {
            child,
            home,
            project,
            url: String::new(),
            token: String::new(),
            harness_port,
            log,
            readers,
        };
        if launch.wait_for_server {
            editor.wait_for_server(&lines);
        }
        editor
    }

    fn wait_for_server(&mut self, lines: &mpsc::Receiver<String>) {
        let deadline = Instant::now() + START_TIMEOUT;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match lines.recv_timeout(left) {
                Ok(line) if line.contains("Godot MCP serves") => break,
                Ok(line) if line.contains("Godot MCP did not start") => panic!("{line}"),
                Ok(_) => {}
                Err(_) => panic!("the editor did not serve:\n{}", self.log_tail(40)),
            }
        }
        let about = self.discovery();
        self.url = about["url"].as_str().expect("a url").to_owned();
        if let Some(file) = about["token_file"].as_str() {
            self.token = std::fs::read_to_string(file).expect("the token").trim().to_owned();
        }
    }

    /// `server.json`.
    pub fn discovery(&self) -> Value {
        let file = self.project.join(".godot/godot_mcp/server.json");
        let text = std::fs::read_to_string(file).expect("the discovery file");
        serde_json::from_str(&text).expect("JSON")
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The project and its settings folders, kept beyond this editor.
    pub fn keep_home(&self) -> Arc<tempfile::TempDir> {
        Arc::clone(&self.home)
    }

    /// Runs GDScript in the editor: a function body that may `return` a value for JSON.
    #[track_caller]
    pub fn gd(&self, body: &str) -> Value {
        let mut human = self.human();
        human.run(body)
    }

    /// A connection for `gd` that is kept, and that can be told to go on without waiting.
    pub fn human(&self) -> Human {
        let deadline = Instant::now() + START_TIMEOUT;
        loop {
            match TcpStream::connect(("127.0.0.1", self.harness_port)) {
                Ok(stream) => {
                    stream.set_nodelay(true).expect("a socket option");
                    return Human(BufReader::new(stream));
                }
                Err(error) if Instant::now() > deadline => panic!("no harness: {error}"),
                Err(_) => std::thread::yield_now(),
            }
        }
    }

    pub fn log(&self) -> Vec<String> {
        self.log.lock().expect("a reader panicked").clone()
    }

    pub fn log_tail(&self, count: usize) -> String {
        let log = self.log();
        log[log.len().saturating_sub(count)..].join("\n")
    }

    /// Error and leak lines that nobody expects.
    pub fn log_errors(&self) -> Vec<String> {
        unexpected(&self.log())
    }

    /// As `log_errors`, of the lines after the first `seen`, which then counts them too.
    pub fn new_errors(&self, seen: &mut usize) -> Vec<String> {
        let log = self.log.lock().expect("a reader panicked");
        let errors = unexpected(&log[*seen..]);
        *seen = log.len();
        errors
    }

    /// Whether the process still runs.
    pub fn alive(&mut self) -> bool {
        self.child.try_wait().expect("a child").is_none()
    }

    /// Waits until the process has ended, in whatever way.
    pub fn wait_for_end(mut self, timeout: Duration) {
        let start = Instant::now();
        while self.alive() && start.elapsed() < timeout {
            std::thread::park_timeout(Duration::from_millis(5));
        }
    }

    /// Waits until the process has ended by itself; its exit code and everything it logged.
    pub fn wait(mut self, timeout: Duration) -> (Option<i32>, Vec<String>) {
        let start = Instant::now();
        // The pipes close when the process ends, so the readers are the event to wait for.
        for reader in self.readers.drain(..) {
            while !reader.is_finished() {
                assert!(start.elapsed() < timeout, "the editor does not end");
                std::thread::park_timeout(Duration::from_millis(5));
            }
            reader.join().expect("a reader");
        }
        let status = self.child.wait().expect("a child");
        #[cfg(unix)]
        if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
            panic!("the editor was ended by signal {signal}:\n{}", self.log_tail(60));
        }
        (status.code(), self.log())
    }

    /// Closes the editor as a human would. Its log must be free of errors and leaks.
    #[track_caller]
    pub fn quit(self) {
        self.quit_after(&[]);
    }

    /// As `quit`, for an editor whose log has lines that the test knows.
    #[track_caller]
    pub fn quit_after(self, known: &[&str]) {
        self.human().send("EditorInterface.get_base_control().get_tree().quit()");
        let (code, log) = self.wait(Duration::from_secs(60));
        let mut errors = unexpected(&log);
        errors.retain(|it| !known.iter().any(|known| it.contains(known)));
        assert!(errors.is_empty(), "the editor logged errors:\n{}", errors.join("\n"));
        assert_eq!(code, Some(0), "exit code; log:\n{}", log.join("\n"));
    }
}

impl Drop for Editor {
    #[expect(clippy::print_stderr, reason = "a failed test shows what the editor said")]
    fn drop(&mut self) {
        // Already ended is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("--- end of the editor's log ---\n{}", self.log_tail(60));
        }
    }
}

/// See [`Editor::gd`].
pub struct Human(BufReader<TcpStream>);

impl Human {
    #[track_caller]
    pub fn run(&mut self, body: &str) -> Value {
        self.send(body);
        self.answer()
    }

    pub fn send(&mut self, body: &str) {
        let line = base64::engine::general_purpose::STANDARD.encode(body) + "\n";
        self.0.get_mut().write_all(line.as_bytes()).expect("the harness listens");
    }

    #[track_caller]
    pub fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.0.read_line(&mut line).expect("the harness answers");
        let value: Value = serde_json::from_str(&line).expect("JSON");
        assert!(value.get("harness_error").is_none(), "{value}");
        value
    }
}

fn unexpected(log: &[String]) -> Vec<String> {
    let bad =
        ["ERROR:", "SCRIPT ERROR", "leaked", "Leaked", "panicked", "Inconsistent", "handle_crash"];
    let mut errors = Vec::new();
    for (index, line) in log.iter().enumerate() {
        if bad.iter().any(|it| line.contains(it)) {
            let next = log.get(index + 1).map(String::as_str).unwrap_or_default();
            let both = format!("{line}\n    {next}");
            // What a check of a script found, which it answers: a script without a file of its own.
            let checked = ["Parse Error: ", "Compile Error: "].iter().any(|it| line.contains(it))
                && next.contains("(gdscript://");
            if !checked && !HARMLESS.iter().any(|it| both.contains(it)) {
                errors.push(both);
            }
        }
    }
    errors
}

fn follow(
    pipe: impl std::io::Read + Send + 'static,
    log: &Arc<Mutex<Vec<String>>>,
    lines: mpsc::Sender<String>,
) -> std::thread::JoinHandle<()> {
    let log = Arc::clone(log);
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).lines() {
            let Ok(line) = line else { break };
            let line = plain(&line);
            log.lock().expect("a reader panicked").push(line.clone());
            // Nobody listens any more once the editor has started.
            let _ = lines.send(line);
        }
    })
}

/// Each version of the editor reads a file of its own.
fn write_settings(folder: &Path, settings: &[(String, String)]) {
    if settings.is_empty() {
        return;
    }
    let mut text = "[gd_resource type=\"EditorSettings\" format=3]\n\n[resource]\n".to_owned();
    for (name, value) in settings {
        text.push_str(&format!("{name} = {value}\n"));
    }
    std::fs::create_dir_all(folder).expect("created");
    for minor in 5..10 {
        std::fs::write(folder.join(format!("editor_settings-4.{minor}.tres")), &text)
            .expect("written");
    }
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

/// Puts the built addon into a project.
///
/// The engine is told of the extension as after a first start: an editor that finds a GDExtension only
/// in its first scan, and is closed right then, crashes at exit (4.6.3, with any gdext library).
pub fn install_addon(project: &Path) {
    let addon = project.join("addons/godot_mcp");
    if addon.is_symlink() {
        std::fs::remove_file(&addon).expect("removed");
    }
    copy_folder(&repository().join("addons/godot_mcp"), &addon);
    std::fs::create_dir_all(project.join(".godot")).expect("created");
    let list = "res://addons/godot_mcp/godot_mcp.gdextension\n";
    std::fs::write(project.join(".godot/extension_list.cfg"), list).expect("written");
}

pub fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    listener.local_addr().expect("an address").port()
}

/// Copies a folder, following links, without the editor's own `.godot`.
pub fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("created");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_name() == ".godot" {
            continue;
        }
        if source.is_dir() {
            copy_folder(&source, &target);
        } else {
            std::fs::copy(&source, &target).expect("copied");
        }
    }
}

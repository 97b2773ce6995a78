//! A game in a process of its own, without a window and without the debugger.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Output beyond which the game is ended: it would fill the disk.
const MAX_OUTPUT: u64 = 16 << 20;
/// Bytes from the start and from the end of the output that are read.
const MAX_READ: u64 = 256 << 10;

/// How a game stands.
pub(crate) enum Stage {
    Running,
    Ended(ExitStatus),
    /// It printed too much and was killed.
    Flooded,
}

/// A running game. Dropping it ends it, for example when the caller cancels or the plugin stops.
pub(crate) struct GameProcess {
    child: Child,
    output: PathBuf,
    begun: Instant,
}

impl GameProcess {
    /// Starts the project's main scene, or the given one. The child gets no input, and neither our
    /// sockets nor our files: both are opened so that a child does not inherit them.
    pub(crate) fn start(
        executable: &str,
        project: &Path,
        scene: Option<&str>,
    ) -> std::io::Result<Self> {
        let begun = Instant::now();
        let output = project.join(".godot").join("godot_mcp").join(format!(
            "run-{}-{}.log",
            std::process::id(),
            unique()
        ));
        let file = File::create(&output)?;
        let mut command = Command::new(executable);
        command.arg("--headless").arg("--path").arg(project).args(scene);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::from(file.try_clone()?))
            .stderr(Stdio::from(file))
            .current_dir(project);
        match command.spawn() {
            Ok(child) => Ok(Self { child, output, begun }),
            Err(error) => {
                // The file is of no use; that it may stay behind is no further harm.
                let _ = std::fs::remove_file(&output);
                Err(error)
            }
        }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    pub(crate) fn poll(&mut self) -> std::io::Result<Stage> {
        if let Some(status) = self.child.try_wait()? {
            return Ok(Stage::Ended(status));
        }
        if std::fs::metadata(&self.output).is_ok_and(|it| it.len() > MAX_OUTPUT) {
            self.kill();
            return Ok(Stage::Flooded);
        }
        Ok(Stage::Running)
    }

    /// Ends it and waits until it is gone.
    pub(crate) fn kill(&mut self) {
        // Fails only when it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// What it has printed so far; the middle of a long output is left out.
    pub(crate) fn output(&self) -> String {
        self.read().unwrap_or_default()
    }

    fn read(&self) -> std::io::Result<String> {
        let mut file = File::open(&self.output)?;
        let length = file.metadata()?.len();
        let mut bytes = Vec::new();
        if length <= 2 * MAX_READ {
            file.read_to_end(&mut bytes)?;
        } else {
            file.by_ref().take(MAX_READ).read_to_end(&mut bytes)?;
            bytes.extend_from_slice(b"\n(left out)\n");
            file.seek(SeekFrom::Start(length - MAX_READ))?;
            file.take(MAX_READ).read_to_end(&mut bytes)?;
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

impl Drop for GameProcess {
    fn drop(&mut self) {
        self.kill();
        // One that is gone already is what was wanted.
        let _ = std::fs::remove_file(&self.output);
    }
}

fn unique() -> u64 {
    static COUNT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}

//! Looks at the scripts on disk, on a thread of its own: the editor only does when it gets the focus, so
//! a headless one never does (X11.1).

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;

/// Between two looks. A large project is looked at less often, so that it costs next to nothing.
const PERIOD: Duration = Duration::from_millis(200);
const REST_PER_WORK: u32 = 40;
/// What a script of ours has in its text, as the name of a base class or of a C# class.
const MARK: &str = "MCPToolkit";

type Stamp = (Option<SystemTime>, u64);

/// The thread. It ends when this is dropped, before the library can be unloaded.
pub(crate) struct Watch {
    news: Arc<AtomicBool>,
    /// Scripts that count, whatever their text says: `res://` paths.
    known: Arc<Mutex<BTreeSet<String>>>,
    thread: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Watch {
    pub(crate) fn start(project: &Path) -> Self {
        let (news, known) =
            (Arc::<AtomicBool>::default(), Arc::<Mutex<BTreeSet<String>>>::default());
        let (stop, stopped) = mpsc::channel();
        let (project, tell, heeded) = (project.to_owned(), Arc::clone(&news), Arc::clone(&known));
        let thread = std::thread::Builder::new().name("mcp-scripts".to_owned()).spawn(move || {
            let mut seen = look(&project);
            let mut rest = PERIOD;
            while stopped.recv_timeout(rest) == Err(RecvTimeoutError::Timeout) {
                let begun = Instant::now();
                let now = look(&project);
                if differs(&project, &seen, &now, &heeded.lock()) {
                    tell.store(true, Ordering::Release);
                }
                seen = now;
                rest = PERIOD.max(begun.elapsed() * REST_PER_WORK);
            }
        });
        // Without the thread, the editor's own looks remain.
        Self { news, known, thread: thread.ok().map(|it| (stop, it)) }
    }

    pub(crate) fn heed(&self, paths: BTreeSet<String>) {
        *self.known.lock() = paths;
    }

    /// Whether an extension may have come, gone or changed since this was asked last.
    pub(crate) fn take_news(&self) -> bool {
        self.news.load(Ordering::Acquire) && self.news.swap(false, Ordering::AcqRel)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.thread.take() {
            drop(stop);
            if thread.join().is_err() {
                tracing::error!("the thread that looks at scripts panicked");
            }
        }
    }
}

fn differs(
    project: &Path,
    before: &BTreeMap<PathBuf, Stamp>,
    now: &BTreeMap<PathBuf, Stamp>,
    known: &BTreeSet<String>,
) -> bool {
    let is_known = |path: &Path| {
        let inside = path.strip_prefix(project).unwrap_or(path);
        known.contains(&format!("res://{}", inside.to_string_lossy().replace('\\', "/")))
    };
    let gone = before.keys().any(|it| !now.contains_key(it) && is_known(it));
    let is_ours = |path: &Path| {
        is_known(path)
            || fs::read(path).is_ok_and(|it| it.windows(MARK.len()).any(|it| it == MARK.as_bytes()))
    };
    gone || now.iter().any(|(path, stamp)| before.get(path) != Some(stamp) && is_ours(path))
}

/// Every script, and every settings file of an addon, with what tells that it was written.
fn look(project: &Path) -> BTreeMap<PathBuf, Stamp> {
    let mut found = BTreeMap::new();
    let mut folders = vec![project.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let Ok(kind) = entry.file_type() else { continue };
            // Links are left out, as the editor leaves out those that lead outside.
            if kind.is_dir() && !name.starts_with('.') {
                if !entry.path().join(".gdignore").exists() {
                    folders.push(entry.path());
                }
            } else if kind.is_file() && (name.ends_with(".gd") || name.ends_with(".cs")) {
                found.insert(
                    entry.path(),
                    entry.metadata().map(|it| stamp(&it)).unwrap_or_default(),
                );
            }
        }
    }
    found
}

fn stamp(about: &Metadata) -> Stamp {
    (about.modified().ok(), about.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// X11.1: what comes, changes and goes is news, when it is an extension.
    #[test]
    fn only_extensions_are_news() {
        let folder = std::env::temp_dir().join(format!("godot_mcp_watch_{}", std::process::id()));
        fs::create_dir_all(folder.join("sub/.hidden")).expect("a folder");
        let write = |name: &str, text: &str| fs::write(folder.join(name), text).expect("written");
        let mut known = BTreeSet::new();
        let mut seen = look(&folder);
        let mut news = |known: &BTreeSet<String>| {
            let now = look(&folder);
            let differs = differs(&folder, &seen, &now, known);
            seen = now;
            differs
        };
        write("sub/plain.gd", "extends Node");
        write("sub/.hidden/b.gd", "extends MCPToolkitExtension");
        assert!(!news(&known));
        write("sub/a.gd", "extends MCPToolkitExtension");
        assert!(news(&known) && !news(&known));
        known.insert("res://sub/a.gd".to_owned());
        write("sub/a.gd", "extends Node");
        assert!(news(&known), "a known one changes into something else");
        fs::remove_file(folder.join("sub/plain.gd")).expect("removed");
        assert!(!news(&known));
        fs::remove_file(folder.join("sub/a.gd")).expect("removed");
        assert!(news(&known));
        fs::remove_dir_all(&folder).expect("removed");
    }
}

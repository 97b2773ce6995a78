//! Looks at the scripts on disk, on a thread of its own: the editor only does when it gets the focus, so
//! a headless one never does (X11.1).

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
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
    shared: Arc<Shared>,
    /// Whoever sends has the thread look now, and drop what was sent when it has.
    thread: Option<(Sender<Sender<()>>, JoinHandle<()>)>,
}

#[derive(Default)]
struct Shared {
    is_news: AtomicBool,
    /// `res://` paths of scripts that came, went or changed.
    news: Mutex<BTreeSet<String>>,
    /// Scripts that count, whatever their text says: `res://` paths.
    known: Mutex<BTreeSet<String>>,
}

impl Watch {
    pub(crate) fn start(project: &Path) -> Self {
        let shared = Arc::<Shared>::default();
        let (ask, asked) = mpsc::channel::<Sender<()>>();
        let (project, told) = (project.to_owned(), Arc::clone(&shared));
        let thread = std::thread::Builder::new().name("mcp-scripts".to_owned()).spawn(move || {
            let mut seen = look(&project);
            let mut rest = PERIOD;
            loop {
                let waiting = match asked.recv_timeout(rest) {
                    Ok(waiting) => Some(waiting),
                    Err(RecvTimeoutError::Timeout) => None,
                    Err(RecvTimeoutError::Disconnected) => return,
                };
                let begun = Instant::now();
                let now = look(&project);
                let differing = differing(&project, &seen, &now, &told.known.lock());
                if !differing.is_empty() {
                    told.news.lock().extend(differing);
                    told.is_news.store(true, Ordering::Release);
                }
                seen = now;
                rest = PERIOD.max(begun.elapsed() * REST_PER_WORK);
                drop(waiting);
            }
        });
        // Without the thread, the editor's own looks remain.
        Self { shared, thread: thread.ok().map(|it| (ask, it)) }
    }

    pub(crate) fn heed(&self, paths: BTreeSet<String>) {
        *self.shared.known.lock() = paths;
    }

    /// Scripts that may have come, gone or changed as extensions since this was asked last.
    pub(crate) fn take_news(&self) -> BTreeSet<String> {
        match self.shared.is_news.swap(false, Ordering::AcqRel) {
            true => std::mem::take(&mut *self.shared.news.lock()),
            false => BTreeSet::new(),
        }
    }

    /// Has the thread look at once. What is answered is disconnected when it has.
    pub(crate) fn look_now(&self) -> Receiver<()> {
        let (done, looked) = mpsc::channel();
        if let Some((ask, _)) = &self.thread {
            let _ = ask.send(done);
        }
        looked
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

/// `res://` paths of the extensions among the scripts that are not as they were.
fn differing(
    project: &Path,
    before: &BTreeMap<PathBuf, Stamp>,
    now: &BTreeMap<PathBuf, Stamp>,
    known: &BTreeSet<String>,
) -> Vec<String> {
    let resource = |path: &Path| {
        let inside = path.strip_prefix(project).unwrap_or(path);
        format!("res://{}", inside.to_string_lossy().replace('\\', "/"))
    };
    let is_ours = |path: &Path| {
        known.contains(&resource(path))
            || fs::read(path).is_ok_and(|it| it.windows(MARK.len()).any(|it| it == MARK.as_bytes()))
    };
    let gone = before.keys().filter(|it| !now.contains_key(*it) && known.contains(&resource(it)));
    let changed = now.iter().filter(|(path, stamp)| before.get(*path) != Some(stamp));
    let changed = changed.map(|(path, _)| path).filter(|it| is_ours(it));
    gone.chain(changed).map(|it| resource(it)).collect()
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
            let news = differing(&folder, &seen, &now, known);
            seen = now;
            news
        };
        write("sub/plain.gd", "extends Node");
        write("sub/.hidden/b.gd", "extends MCPToolkitExtension");
        assert_eq!(news(&known), [""; 0]);
        write("sub/a.gd", "extends MCPToolkitExtension");
        assert_eq!(news(&known), ["res://sub/a.gd"]);
        assert_eq!(news(&known), [""; 0]);
        known.insert("res://sub/a.gd".to_owned());
        write("sub/a.gd", "extends Node");
        assert_eq!(news(&known), ["res://sub/a.gd"], "a known one changes into something else");
        fs::remove_file(folder.join("sub/plain.gd")).expect("removed");
        assert_eq!(news(&known), [""; 0]);
        fs::remove_file(folder.join("sub/a.gd")).expect("removed");
        assert_eq!(news(&known), ["res://sub/a.gd"]);
        fs::remove_dir_all(&folder).expect("removed");
    }
}

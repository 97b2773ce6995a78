//! Tells clients when a resource that they have subscribed to has changed.
//!
//! Signals of the engine only raise a flag: they say that something may have changed. What decides is
//! the content. So nobody is told of a change that is none, and while nobody has subscribed, a flag
//! is all that this costs. Files are looked at by their date too, since the editor does not notice
//! what other programs write until its window is focused.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use godot::builtin::Callable;
use godot::classes::{EditorInterface, EditorPlugin, Node, Object, ProjectSettings};
use godot::obj::{Gd, Singleton};
use parking_lot::Mutex;

use super::Editor;
use crate::app::App;
use crate::resources::{self, Target};

/// A tree of a thousand nodes takes some milliseconds to compare.
const STATE_PERIOD: Duration = Duration::from_millis(100);
const FILE_PERIOD: Duration = Duration::from_millis(500);
/// A file that has changed for less than this may not be written whole.
const SETTLE: Duration = Duration::from_millis(50);
/// An empty file is most often one that another program is about to fill.
const SETTLE_EMPTY: Duration = Duration::from_millis(500);
/// Of larger files only size and date are compared.
const MAX_HASHED: u64 = 1 << 20;

thread_local! {
    /// Raised by signals. They can come at any time, also while a job runs.
    static SUSPECTED: Cell<bool> = const { Cell::new(false) };
}

/// What clients have subscribed to. Written on the I/O thread.
#[derive(Default)]
pub(crate) struct WatchList {
    uris: Mutex<BTreeSet<Arc<str>>>,
    version: AtomicU64,
}

impl WatchList {
    pub(crate) fn set(&self, uris: BTreeSet<Arc<str>>) {
        *self.uris.lock() = uris;
        self.version.fetch_add(1, Ordering::Release);
    }
}

/// The main thread's side.
#[derive(Default)]
pub(crate) struct ResourceWatch {
    /// Version of the list that `watched` was made from.
    version: Cell<u64>,
    watched: RefCell<Vec<Watched>>,
    looked: Cell<Option<Instant>>,
    looked_at_files: Cell<Option<Instant>>,
    /// The node that has the methods behind the signals; they go with it.
    host: RefCell<Option<Gd<Node>>>,
}

struct Watched {
    uri: Arc<str>,
    target: Target,
    /// What clients know of its content.
    seen: u64,
    /// Size and date of a file.
    stamp: Option<Stamp>,
    /// Another size and date that it has, and since when: by this clock, not by that of the file's
    /// date, which may be another machine's.
    other: Option<(Option<Stamp>, Instant)>,
}

type Stamp = (u64, SystemTime);

/// What is found of a resource, compared with the last time.
enum Look {
    Same,
    Changed,
    TooEarly,
}

/// Something may have changed.
pub(crate) fn suspect() {
    SUSPECTED.set(true);
}

/// Connects the signals to the method `suspect` of `host`.
pub(crate) fn connect(app: &App, host: &Gd<Node>, plugin: &Gd<EditorPlugin>) {
    let editor = EditorInterface::singleton();
    let mut plugin = plugin.clone();
    for signal in ["scene_changed", "scene_saved", "scene_closed", "resource_saved"] {
        link(&mut plugin, signal, host, 1);
    }
    if let Some(mut history) = plugin.get_undo_redo() {
        link(&mut history, "version_changed", host, 0);
        link(&mut history, "history_changed", host, 0);
    }
    if let Some(mut selection) = editor.get_selection() {
        link(&mut selection, "selection_changed", host, 0);
    }
    if let Some(mut files) = editor.get_resource_filesystem() {
        link(&mut files, "filesystem_changed", host, 0);
    }
    link(&mut ProjectSettings::singleton(), "settings_changed", host, 0);
    *app.resource_watch.host.borrow_mut() = Some(host.clone());
}

fn link<T>(object: &mut Gd<T>, signal: &str, host: &Gd<Node>, arguments: usize)
where
    T: godot::obj::Inherits<Object> + godot::obj::GodotClass,
{
    let mut object = object.clone().upcast::<Object>();
    let callable = suspecting(host, arguments);
    // A server that is started again, after a fault, has the same node.
    if !object.is_connected(signal, &callable) {
        object.connect(signal, &callable);
    }
}

/// The method, without the arguments that the signal brings.
fn suspecting(host: &Gd<Node>, arguments: usize) -> Callable {
    let callable = Callable::from_object_method(host, "suspect");
    if arguments == 0 { callable } else { callable.unbind(arguments) }
}

/// Takes over what clients have subscribed to since the last time, with the content as it is now.
pub(crate) fn follow(app: &std::rc::Rc<App>) {
    let (list, watch) = (&app.shared.watch_list, &app.resource_watch);
    let version = list.version.load(Ordering::Acquire);
    if watch.version.replace(version) == version {
        return;
    }
    let uris = list.uris.lock().clone();
    // The borrow must not last: reading asks the engine.
    let old = watch.watched.take();
    let had_state = old.iter().any(|it| it.is_state());
    let mut known: Vec<Watched> = old.into_iter().filter(|it| uris.contains(&it.uri)).collect();
    let roots = &app.shared.gate.settings().roots;
    let editor = Editor::new(app, None);
    for uri in uris {
        if known.iter().any(|it| it.uri == uri) {
            continue;
        }
        if let Ok(target) = resources::target(roots, &uri) {
            let mut watched = Watched { uri, target, seen: 0, stamp: None, other: None };
            watched.look(&editor);
            known.push(watched);
        }
    }
    let has_state = known.iter().any(Watched::is_state);
    *watch.watched.borrow_mut() = known;
    if had_state != has_state {
        watch.follow_tree(has_state);
    }
}

/// Whether anybody has subscribed, or did a moment ago. Asked once a frame.
pub(crate) fn is_needed(app: &App) -> bool {
    let watch = &app.resource_watch;
    watch.version.get() != app.shared.watch_list.version.load(Ordering::Acquire)
        || !watch.watched.borrow().is_empty()
}

/// Looks at what is watched, when there is a reason to, and tells what has changed.
pub(crate) fn look(app: &std::rc::Rc<App>) {
    follow(app);
    let watch = &app.resource_watch;
    let due =
        |last: &Cell<Option<Instant>>, period| last.get().is_none_or(|it| it.elapsed() >= period);
    let states = SUSPECTED.get() && due(&watch.looked, STATE_PERIOD);
    let files = states || due(&watch.looked_at_files, FILE_PERIOD);
    if !files {
        return;
    }
    watch.looked_at_files.set(Some(Instant::now()));
    if states {
        SUSPECTED.set(false);
        watch.looked.set(Some(Instant::now()));
    }
    let editor = Editor::new(app, None);
    let mut watched = watch.watched.take();
    for it in watched.iter_mut().filter(|it| states || !it.is_state()) {
        match it.look(&editor) {
            Look::Same => {}
            Look::Changed => app.announce_resource(&it.uri),
            Look::TooEarly => watch.looked_at_files.set(None),
        }
    }
    *watch.watched.borrow_mut() = watched;
}

impl ResourceWatch {
    /// Nodes that scripts add and remove show in no history, only in these signals. Each node of the
    /// editor's own raises them too, so they are connected while somebody wants to know.
    fn follow_tree(&self, on: bool) {
        let Some(host) = self.host.borrow().clone().filter(|it| it.is_instance_valid()) else {
            return;
        };
        if !host.is_inside_tree() {
            return;
        }
        let mut tree = host.get_tree().upcast::<Object>();
        for (signal, arguments) in [("tree_changed", 0), ("node_renamed", 1)] {
            let callable = suspecting(&host, arguments);
            match (on, tree.is_connected(signal, &callable)) {
                (true, false) => drop(tree.connect(signal, &callable)),
                (false, true) => tree.disconnect(signal, &callable),
                _ => {}
            }
        }
    }
}

impl Watched {
    fn is_state(&self) -> bool {
        !matches!(self.target, Target::File { .. })
    }

    fn look(&mut self, editor: &Editor) -> Look {
        let now = match &self.target {
            Target::File { file, .. } => {
                let found = stamp(file);
                let first = self.seen == 0;
                if found == self.stamp && !first {
                    self.other = None;
                    return Look::Same;
                }
                if !first && !has_settled(&mut self.other, found) {
                    return Look::TooEarly;
                }
                let print = fingerprint(file, found);
                if !first && stamp(file) != found {
                    return Look::TooEarly;
                }
                (self.stamp, self.other) = (found, None);
                print
            }
            state => match resources::read_state(editor, state) {
                Ok(value) => hash(&value.to_string()),
                Err(error) => hash(&error.message),
            },
        };
        let same = std::mem::replace(&mut self.seen, now) == now;
        if same { Look::Same } else { Look::Changed }
    }
}

/// Whether the file has had this size and date for long enough to be read.
fn has_settled(other: &mut Option<(Option<Stamp>, Instant)>, found: Option<Stamp>) -> bool {
    let since = match *other {
        Some((other, since)) if other == found => since,
        _ => other.insert((found, Instant::now())).1,
    };
    let empty = found.is_none_or(|(size, _)| size == 0);
    since.elapsed() >= if empty { SETTLE_EMPTY } else { SETTLE }
}

fn stamp(file: &Path) -> Option<Stamp> {
    let about = std::fs::metadata(file).ok()?;
    Some((about.len(), about.modified().unwrap_or(SystemTime::UNIX_EPOCH)))
}

fn fingerprint(file: &Path, stamp: Option<Stamp>) -> u64 {
    match stamp {
        Some((size, _)) if size <= MAX_HASHED => hash(&std::fs::read(file).ok()),
        stamp => hash(&stamp),
    }
}

/// Never 0, which stands for "not looked at yet".
fn hash(content: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    hasher.finish().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_changed_when_its_content_has() {
        let path = std::env::temp_dir().join(format!("godot_mcp_watch_{}.gd", std::process::id()));
        let print = || fingerprint(&path, stamp(&path));
        let _ = std::fs::remove_file(&path);
        let missing = print();
        std::fs::write(&path, "a").expect("written");
        let first = print();
        assert_ne!(missing, first);
        std::fs::write(&path, "a").expect("written");
        assert_eq!(print(), first);
        std::fs::write(&path, "b").expect("written");
        assert_ne!(print(), first);
        std::fs::remove_file(&path).expect("removed");
        assert_eq!(print(), missing);
    }
}

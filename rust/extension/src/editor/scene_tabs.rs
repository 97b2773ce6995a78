//! The tabs of open scenes, and whether one has unsaved changes.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::time::{Duration, Instant};

use godot::builtin::NodePath;
use godot::classes::notify::NodeNotification;
use godot::classes::{EditorInterface, EditorUndoRedoManager, Engine, Node, TabBar};
use godot::global::Error;
use godot::obj::{Gd, InstanceId, Singleton};
use godot_mcp_core::{ToolError, suggest};
use serde_json::{Map, Value, json};

use super::Editor;
use super::edit::Acted;

/// Actions that a preview names before they are lost.
const MAX_ACTIONS: i32 = 10;
/// Longest time until the editor shows what it was told to.
const SETTLE_TIME: Duration = Duration::from_secs(5);

thread_local! {
    static HISTORIES: RefCell<HashMap<InstanceId, i32>> = RefCell::default();
    /// Frame in which another tab came to the front last.
    static SWITCHED: Cell<u64> = const { Cell::new(0) };
}

/// One open scene.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OpenScene {
    /// Empty when it was never saved.
    pub(crate) path: String,
    pub(crate) root: String,
    pub(crate) dirty: bool,
    pub(crate) active: bool,
}

/// Roots of the open scenes, in the order of their tabs. Right after a scene was closed the engine's
/// own list still has its freed root.
pub(crate) fn roots() -> Vec<Gd<Node>> {
    let roots = EditorInterface::singleton().get_open_scene_roots();
    roots.iter_shared().filter(|it| it.is_instance_valid()).collect()
}

/// All open scenes, in the order of their tabs.
///
/// The engine has no call for the dirty flag before 4.7; the tab's `(*)` shows it, in every language.
pub(crate) fn open_scenes() -> Vec<OpenScene> {
    let editor = EditorInterface::singleton();
    let active = editor.get_edited_scene_root();
    let roots = roots();
    let titles = titles(roots.len());
    roots
        .into_iter()
        .enumerate()
        .map(|(index, root)| OpenScene {
            path: root.get_scene_file_path().to_string(),
            root: root.get_name().to_string(),
            dirty: titles.get(index).is_some_and(|it| it.ends_with("(*)")),
            active: active.as_ref() == Some(&root),
        })
        .collect()
}

/// Titles of the tabs that have a scene, as they are right now.
///
/// The engine refreshes titles some frames after a change. They are made anew, and at once, when the
/// tabs are told that the language changed, which does nothing else to them.
fn titles(wanted: usize) -> Vec<String> {
    let Some((mut holder, tabs)) = scene_tabs() else { return Vec::new() };
    holder.notify(NodeNotification::TRANSLATION_CHANGED);
    tabs_with_scene(&tabs, wanted)
        .into_iter()
        .map(|it| tabs.get_tab_title(it).to_string())
        .collect()
}

/// Indices of the tabs that have a scene. A tab without a root is left out of the engine's list of
/// roots, and has no icon.
fn tabs_with_scene(tabs: &Gd<TabBar>, wanted: usize) -> Vec<i32> {
    let all = 0..tabs.get_tab_count();
    if usize::try_from(tabs.get_tab_count()) == Ok(wanted) {
        return all.collect();
    }
    all.filter(|it| tabs.get_tab_icon(*it).is_some()).collect()
}

/// Makes a scene's tab the current one. False when it has no tab.
pub(crate) fn switch_to(root: &Gd<Node>) -> bool {
    // Switching and saving may load scenes anew, which frees their roots.
    if !root.is_instance_valid() {
        return false;
    }
    let id = root.instance_id();
    let is_front = || {
        let front = EditorInterface::singleton().get_edited_scene_root();
        front.is_some_and(|it| it.instance_id() == id)
    };
    if is_front() {
        return true;
    }
    let roots = roots();
    let Some(index) = roots.iter().position(|it| it.instance_id() == id) else { return false };
    let Some((_, mut tabs)) = scene_tabs() else { return false };
    let Some(&tab) = tabs_with_scene(&tabs, roots.len()).get(index) else { return false };
    tabs.set_current_tab(tab);
    is_front()
}

/// Another tab came to the front.
pub(crate) fn note_switch() {
    SWITCHED.with(|it| it.set(Engine::singleton().get_process_frames()));
}

/// Whether the tab in front came there in this frame or the one before. The editor restores the state
/// of its scene by a deferred call, so that scene must not be freed before: a switch after this
/// frame's deferred calls has its own run at the end of the next frame.
pub(crate) fn just_switched() -> bool {
    Engine::singleton().get_process_frames().saturating_sub(SWITCHED.with(Cell::get)) < 2
}

/// What the human has selected in a scene that is made anew. The editor's tools go on using a node that
/// they show after it was freed, which ends the editor, so they are made to let it go first.
pub(crate) struct Selection {
    paths: Vec<NodePath>,
    /// Frame in which it was let go; none when there was nothing.
    cleared: Option<u64>,
}

impl Selection {
    pub(crate) fn let_go(root: &Gd<Node>) -> Self {
        let mut editor = EditorInterface::singleton();
        let nothing = Self { paths: Vec::new(), cleared: None };
        if editor.get_edited_scene_root().as_ref() != Some(root) {
            return nothing;
        }
        let Some(mut selection) = editor.get_selection() else { return nothing };
        let selected = selection.get_selected_nodes();
        let paths = selected
            .iter_shared()
            .filter(|it| it == root || root.is_ancestor_of(it))
            .map(|it| root.get_path_to(&it))
            .collect();
        selection.clear();
        editor.edit_node(Gd::<Node>::null_arg());
        Self { paths, cleared: Some(Engine::singleton().get_process_frames()) }
    }

    /// The editor tells its tools in the frame after, by deferred calls.
    pub(crate) fn is_gone(&self) -> bool {
        self.cleared.is_none_or(|it| Engine::singleton().get_process_frames() >= it + 3)
    }

    /// Selects the nodes with the same paths in the new scene, as after a click.
    pub(crate) fn give_back(&self, root: &Gd<Node>) {
        let mut editor = EditorInterface::singleton();
        if self.paths.is_empty() || editor.get_edited_scene_root().as_ref() != Some(root) {
            return;
        }
        let Some(mut selection) = editor.get_selection() else { return };
        selection.clear();
        let nodes: Vec<_> = self.paths.iter().filter_map(|it| root.get_node_or_null(it)).collect();
        nodes.iter().for_each(|it| selection.add_node(it));
        if let [only] = nodes.as_slice() {
            editor.edit_node(only);
        }
    }
}

/// A tab on its way out, with its unsaved changes. The tab in front stays in front.
pub(crate) struct Closing {
    root: InstanceId,
    /// Coming to the front may make the scene anew, with another root.
    path: String,
    front: Option<Gd<Node>>,
}

impl Closing {
    pub(crate) fn new(root: &Gd<Node>) -> Self {
        let front = EditorInterface::singleton().get_edited_scene_root();
        let path = root.get_scene_file_path().to_string();
        Self { root: root.instance_id(), path, front: front.filter(|it| it != root) }
    }

    /// Asked once a frame. Whether the tab is gone, none while that takes another frame.
    pub(crate) fn poll(&mut self) -> Option<bool> {
        let root = Gd::<Node>::try_from_instance_id(self.root).ok().or_else(|| root_of(&self.path));
        let Some(root) = root else { return Some(true) };
        self.root = root.instance_id();
        let in_front = switch_to(&root);
        if just_switched() {
            return None;
        }
        if !in_front {
            return Some(false);
        }
        let closed = EditorInterface::singleton().close_scene() == Error::OK;
        if let Some(front) = self.front.take().filter(|it| it.is_instance_valid()) {
            switch_to(&front);
        }
        Some(closed && !roots().iter().any(|it| it.instance_id() == self.root))
    }
}

/// The root of the open scene with this file.
pub(crate) fn root_of(path: &str) -> Option<Gd<Node>> {
    let roots = roots();
    roots.into_iter().find(|it| it.get_scene_file_path() == path)
}

/// As `root_of`; refuses a scene that is not open, with those that are.
pub(crate) fn open_root(path: &str) -> Result<Gd<Node>, ToolError> {
    root_of(path).ok_or_else(|| {
        let open: Vec<String> =
            open_scenes().into_iter().map(|it| it.path).filter(|it| !it.is_empty()).collect();
        let near = suggest::near(path, open.iter().map(String::as_str), 5);
        let error = ToolError::not_found(format!("\"{path}\" is not open")).required("scene_path");
        if near.is_empty() {
            error.hint("`list_open_scenes` names the open scenes")
        } else {
            error.suggest(near)
        }
    })
}

/// Whether a scene has unsaved changes.
pub(crate) fn is_dirty(root: &Gd<Node>) -> bool {
    if !root.is_instance_valid() {
        return false;
    }
    let roots = roots();
    let index = roots.iter().position(|it| it == root);
    index.and_then(|it| open_scenes().get(it).map(|it| it.dirty)).unwrap_or(false)
}

/// The engine tells the history of the scene in front only, so it is noted whenever one comes there.
pub(crate) fn note_history(root: &Gd<Node>) {
    if let Some(manager) = EditorInterface::singleton().get_editor_undo_redo() {
        let id = manager.get_object_history_id(root);
        HISTORIES.with(|it| it.borrow_mut().insert(root.instance_id(), id));
    }
}

fn history_of(manager: &Gd<EditorUndoRedoManager>, root: &Gd<Node>) -> i32 {
    if !root.is_instance_valid() {
        return 0;
    }
    if EditorInterface::singleton().get_edited_scene_root().as_ref() == Some(root) {
        return manager.get_object_history_id(root);
    }
    HISTORIES.with(|it| it.borrow().get(&root.instance_id()).copied()).unwrap_or(0)
}

/// Whether something can be undone in a scene's own history.
pub(crate) fn has_history(root: &Gd<Node>) -> bool {
    let manager = EditorInterface::singleton().get_editor_undo_redo();
    manager
        .and_then(|it| it.get_history_undo_redo(it.get_object_history_id(root)))
        .is_some_and(|it| it.has_undo())
}

/// What closing or reloading a scene would lose: its newest actions, newest first. The engine does
/// not tell which of them are older than the last save.
pub(crate) fn unsaved_changes(root: &Gd<Node>) -> Value {
    if !is_dirty(root) {
        return json!({"dirty": false});
    }
    let mut names = Vec::new();
    if let Some(manager) = EditorInterface::singleton().get_editor_undo_redo()
        && let Some(history) = manager.get_history_undo_redo(history_of(&manager, root))
    {
        let newest = history.get_current_action();
        let oldest = (newest - MAX_ACTIONS + 1).max(0);
        names.extend((oldest..=newest).rev().map(|it| history.get_action_name(it).to_string()));
    }
    json!({"dirty": true, "newest_actions": names})
}

/// The editor's own `EditorSceneTabs`, which keeps the titles, and the bar that shows them.
fn scene_tabs() -> Option<(Gd<Node>, Gd<TabBar>)> {
    thread_local! {
        static FOUND: RefCell<Option<(InstanceId, InstanceId)>> = const { RefCell::new(None) };
    }
    let cached = FOUND.with(|it| *it.borrow());
    if let Some((holder, tabs)) = cached
        && let Ok(holder) = Gd::<Node>::try_from_instance_id(holder)
        && let Ok(tabs) = Gd::<TabBar>::try_from_instance_id(tabs)
    {
        return Some((holder, tabs));
    }
    let base = EditorInterface::singleton().get_base_control()?;
    let holder = base.find_children_ex("*").type_("EditorSceneTabs").owned(false).done().get(0)?;
    let tabs = holder.find_children_ex("*").type_("TabBar").owned(false).done().get(0)?;
    let tabs = tabs.try_cast::<TabBar>().ok()?;
    FOUND.with(|it| *it.borrow_mut() = Some((holder.instance_id(), tabs.instance_id())));
    Some((holder, tabs))
}

/// Asks once a frame until `done` has an answer, which is nearly always at once. After a few
/// seconds it is a failure.
pub(crate) fn settled(
    failure: String,
    mut done: impl FnMut(&Editor) -> Option<Map<String, Value>> + 'static,
) -> Acted {
    let deadline = Instant::now() + SETTLE_TIME;
    Acted::Wait(Box::new(move |editor| {
        if let Some(facts) = done(editor) {
            return Some(Ok(facts));
        }
        (Instant::now() >= deadline).then(|| Err(ToolError::internal(failure.clone())))
    }))
}

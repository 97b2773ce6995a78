//! The tabs of open scenes, and whether one has unsaved changes.

use std::cell::RefCell;

use godot::classes::notify::NodeNotification;
use godot::classes::{EditorInterface, Node, TabBar};
use godot::obj::{Gd, InstanceId, Singleton};

/// One open scene.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OpenScene {
    /// Empty when it was never saved.
    pub(crate) path: String,
    pub(crate) root: String,
    pub(crate) dirty: bool,
    pub(crate) active: bool,
}

/// All open scenes, in the order of their tabs.
///
/// The engine has no call for the dirty flag before 4.7; the tab's `(*)` shows it, in every language.
pub(crate) fn open_scenes() -> Vec<OpenScene> {
    let editor = EditorInterface::singleton();
    let active = editor.get_edited_scene_root();
    let roots = editor.get_open_scene_roots();
    let titles = titles(roots.len());
    roots
        .iter_shared()
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
    let all = 0..tabs.get_tab_count();
    let title = |index: i32| tabs.get_tab_title(index).to_string();
    if usize::try_from(tabs.get_tab_count()) == Ok(wanted) {
        return all.map(title).collect();
    }
    // A tab without a root is left out of the engine's list of roots, and has no icon.
    all.filter(|it| tabs.get_tab_icon(*it).is_some()).map(title).collect()
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

//! The tabs of open scenes, and whether one has unsaved changes.

use std::cell::RefCell;

use godot::classes::{EditorInterface, TabBar};
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

/// Titles of the tabs that have a scene. Tabs without a root (new, empty) are left out by the
/// engine's list of roots, so they are told apart by their count.
fn titles(wanted: usize) -> Vec<String> {
    let Some(tabs) = tab_bar() else { return Vec::new() };
    let all: Vec<String> =
        (0..tabs.get_tab_count()).map(|it| tabs.get_tab_title(it).to_string()).collect();
    if all.len() == wanted { all } else { all.into_iter().filter(|it| !it.starts_with('[')).collect() }
}

fn tab_bar() -> Option<Gd<TabBar>> {
    thread_local! {
        static FOUND: RefCell<Option<InstanceId>> = const { RefCell::new(None) };
    }
    let cached = FOUND.with(|it| *it.borrow());
    if let Some(id) = cached
        && let Ok(tabs) = Gd::<TabBar>::try_from_instance_id(id)
    {
        return Some(tabs);
    }
    let base = EditorInterface::singleton().get_base_control()?;
    let holder = base.find_children_ex("*").type_("EditorSceneTabs").owned(false).done().get(0)?;
    let tabs = holder.find_children_ex("*").type_("TabBar").owned(false).done().get(0)?;
    let tabs = tabs.cast::<TabBar>();
    FOUND.with(|it| *it.borrow_mut() = Some(tabs.instance_id()));
    Some(tabs)
}

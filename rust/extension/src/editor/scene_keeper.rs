//! New scene files and their tabs in the undo history, which calls the keeper by name.
//!
//! Undo and redo run wherever the human or an agent presses them. Opening and closing scenes there
//! would change the tree under the history's feet, so both are left for the safe lane.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use godot::builtin::{GString, PackedInt32Array, PackedStringArray, VarArray, VarDictionary};
use godot::classes::{
    EditorInterface, Node, PackedScene, RefCounted, Resource, ResourceSaver, Script,
};
use godot::global::{Error, godot_error};
use godot::meta::ToGodot;
use godot::obj::{Base, Gd, NewGd, Singleton};
use godot::register::{GodotClass, godot_api};
use godot_mcp_core::ToolError;
use serde_json::{Map, Value, json};

use super::edit::{Acted, Edit, Op, Step};
use super::{Editor, files, scene_tabs};

/// Frames until a scene that was to open counts as not opened.
const OPEN_FRAMES: usize = 600;
/// Node type of an inherited root, as `SceneState` writes it.
const TYPE_INSTANTIATED: i32 = 0x7FFF_FFFF;
/// Marks the end of a connection that is a path instead of a node's number.
const FLAG_ID_IS_PATH: i32 = 1 << 30;
const FLAG_MASK: i32 = (1 << 24) - 1;

/// Asked once a frame until it says that it is done.
type Work = Box<dyn FnMut() -> bool>;

thread_local! {
    static DEFERRED: RefCell<VecDeque<Work>> = RefCell::default();
}

/// Does a piece of work that undo or redo left, in the safe lane only. Whether there may be another
/// one to do in this frame. Work that panics is gone.
pub(crate) fn do_deferred() -> bool {
    let Some(mut work) = DEFERRED.with(|it| it.borrow_mut().pop_front()) else { return false };
    let done = work();
    if !done {
        DEFERRED.with(|it| it.borrow_mut().push_front(work));
    }
    done
}

/// Answers with `facts` once what undo or redo left is done, so the next call sees it.
pub(crate) fn when_done(facts: Map<String, Value>) -> Acted {
    if !has_deferred() {
        return Acted::Done(facts);
    }
    let mut facts = Some(facts);
    Acted::Wait(Box::new(move |_| (!has_deferred()).then(|| Ok(facts.take().unwrap_or_default()))))
}

/// Whether undo or redo left work that is not done yet.
pub(crate) fn has_deferred() -> bool {
    DEFERRED.with(|it| !it.borrow().is_empty())
}

pub(crate) fn defer(work: impl FnMut() -> bool + 'static) {
    DEFERRED.with(|it| it.borrow_mut().push_back(Box::new(work)));
}

/// Writes one scene file, and opens and closes its tab, for the undo history.
#[derive(GodotClass)]
#[class(tool, internal, init, base = RefCounted)]
pub(crate) struct SceneKeeper {
    /// What the first write made, so that redo writes the very same.
    bytes: RefCell<Option<Vec<u8>>>,
    base: Base<RefCounted>,
}

#[godot_api]
impl SceneKeeper {
    #[func]
    fn write(&self, path: GString, scene: Gd<PackedScene>) {
        let text = path.to_string();
        let known = self.bytes.borrow().clone();
        if let Some(bytes) = known {
            if let Err(error) = std::fs::write(files::absolute(&text), bytes) {
                godot_error!("MCP: cannot write \"{text}\": {error}");
            }
        } else {
            let saved = ResourceSaver::singleton().save_ex(&scene).path(&path).done();
            if saved != Error::OK {
                godot_error!("MCP: cannot write \"{text}\": {saved:?}");
                return;
            }
            *self.bytes.borrow_mut() = files::bytes(&text);
        }
        if let Some(mut files) = EditorInterface::singleton().get_resource_filesystem() {
            files.update_file(&path);
        }
    }

    #[func]
    fn is_written(&self, path: GString) -> bool {
        self.bytes.borrow().is_some() && files::absolute(&path.to_string()).is_file()
    }

    /// Removes the file, unless somebody saved something else into it.
    #[func]
    fn remove(&self, path: GString) {
        let text = path.to_string();
        let written = self.bytes.borrow().clone();
        match files::bytes(&text) {
            Some(found) if written.as_ref() == Some(&found) => {
                if let Err(error) = std::fs::remove_file(files::absolute(&text)) {
                    godot_error!("MCP: cannot remove \"{text}\": {error}");
                }
            }
            Some(_) => files::warn_left_alone(&text),
            None => return,
        }
        if let Some(mut files) = EditorInterface::singleton().get_resource_filesystem() {
            files.update_file(&path);
        }
    }

    #[func]
    fn make_folder(&self, path: GString) {
        // A fault shows when the file is written.
        let _ = std::fs::create_dir(files::absolute(&path.to_string()));
    }

    /// Removes a folder that nobody put anything into.
    #[func]
    fn remove_folder(&self, path: GString) {
        let _ = std::fs::remove_dir(files::absolute(&path.to_string()));
    }

    #[func]
    fn open(&self, path: GString) {
        let path = path.to_string();
        defer(move || {
            if files::absolute(&path).is_file() {
                EditorInterface::singleton().open_scene_from_path(&path);
            }
            true
        });
    }

    /// Closes the scene's tab, unless something was done in it. The dirty flag does not tell: the
    /// editor raises it as soon as the file is gone.
    #[func]
    fn close(&self, path: GString) {
        let path = path.to_string();
        let mut closing = None;
        defer(move || {
            if closing.is_none() {
                let root = scene_tabs::root_of(&path).filter(|it| !scene_tabs::has_history(it));
                closing = root.map(|it| scene_tabs::Closing::new(&it));
            }
            closing.as_mut().is_none_or(|it| it.poll().is_some())
        });
    }

    /// Closes the scene's tab with what was done in it: its file is going away.
    #[func]
    fn drop_tab(&self, path: GString) {
        let path = path.to_string();
        let mut closing = None;
        defer(move || {
            if closing.is_none() {
                closing = scene_tabs::root_of(&path).map(|it| scene_tabs::Closing::new(&it));
            }
            closing.as_mut().is_none_or(|it| it.poll().is_some())
        });
    }

    /// Makes the scene the one that is found at the path, so that instances refer to it.
    #[func]
    fn adopt(&self, path: GString, scene: Gd<PackedScene>) {
        let mut scene = scene;
        scene.take_over_path(&path);
    }

    #[func]
    fn release(&self, scene: Gd<PackedScene>) {
        let mut scene = scene.upcast::<Resource>();
        scene.set_path("");
    }
}

/// Steps that write a new scene file, with the folders that it needs. Undo removes all of it.
pub(crate) fn write_steps(edit: &mut Edit, path: &str, scene: &Gd<PackedScene>) -> Gd<SceneKeeper> {
    let keeper = SceneKeeper::new_gd();
    for folder in missing_folders(path) {
        let args = [GString::from(&folder).to_variant()];
        edit.step(
            Step::new(json!({"add_folder": folder}))
                .apply(Op::call(&keeper, "make_folder", &args))
                .revert(Op::call(&keeper, "remove_folder", &args)),
        );
    }
    let file = GString::from(path).to_variant();
    edit.step(
        Step::new(json!({"write": path}))
            .apply(Op::call(&keeper, "write", &[file.clone(), scene.to_variant()]))
            .answers(&keeper, "is_written", &[file], &true.to_variant())
            .revert(Op::call(&keeper, "remove", &[GString::from(path).to_variant()])),
    );
    keeper
}

/// Steps that open the written scene in a tab, and the wait for it.
pub(crate) fn open_steps(edit: &mut Edit, path: &str, keeper: &Gd<SceneKeeper>) {
    let args = [GString::from(path).to_variant()];
    edit.step(
        Step::new(json!({"open": path}))
            .apply(Op::call(keeper, "open", &args))
            .revert(Op::call(keeper, "close", &args)),
    );
    let path = path.to_owned();
    let mut frames = 0;
    edit.settle(Box::new(move |editor: &Editor| {
        frames += 1;
        if editor.edited_scene().is_ok_and(|it| it.file() == path) {
            return Some(Map::new());
        }
        (frames > OPEN_FRAMES).then(|| Map::from_iter([("opened".to_owned(), Value::from(false))]))
    }));
}

/// Folders of a path that do not exist, the outermost first.
fn missing_folders(path: &str) -> Vec<String> {
    let mut missing = Vec::new();
    let mut at = path;
    while let Some((folder, _)) = at.rsplit_once('/') {
        if folder.ends_with(':') || folder.ends_with(":/") || files::absolute(folder).is_dir() {
            break;
        }
        missing.push(folder.to_owned());
        at = folder;
    }
    missing.reverse();
    missing
}

/// A scene that has nothing but a root: of an engine class, perhaps with a script, or inherited.
///
/// The script goes into the packed scene instead of onto a node, since its code could run there.
pub(crate) fn root_only(
    root: Gd<Node>,
    script: Option<&Gd<Script>>,
    base: Option<&Gd<PackedScene>>,
) -> Result<Gd<PackedScene>, ToolError> {
    let mut scene = PackedScene::new_gd();
    let packed = scene.pack(&root);
    root.free();
    if packed != Error::OK {
        return Err(ToolError::internal(format!("the engine did not pack the root: {packed:?}")));
    }
    let mut bundle = bundle(&scene)?;
    let mut nodes = bundle.at("nodes").try_to::<PackedInt32Array>().unwrap_or_default().to_vec();
    let mut variants = bundle.at("variants").try_to::<VarArray>().unwrap_or_default();
    if nodes.len() < 7 {
        return Err(ToolError::internal("the engine packed the root in an unknown form"));
    }
    if let Some(base) = base {
        bundle.set("base_scene", i64::try_from(variants.len()).unwrap_or(0));
        variants.push(&base.to_variant());
        nodes[2] = TYPE_INSTANTIATED;
    }
    if let Some(script) = script {
        let mut names = bundle.at("names").try_to::<PackedStringArray>().unwrap_or_default();
        let (name, value) = (names.len(), variants.len());
        names.push("script");
        variants.push(&script.to_variant());
        bundle.set("names", &names);
        let number = |it: usize| i32::try_from(it).unwrap_or(0);
        let count = usize::try_from(nodes[5]).unwrap_or(0);
        nodes[5] += 1;
        nodes.splice(6 + 2 * count..6 + 2 * count, [number(name), number(value)]);
    }
    bundle.set("variants", &variants);
    bundle.set("nodes", &PackedInt32Array::from(nodes.as_slice()));
    scene.set("_bundled", &bundle.to_variant());
    Ok(scene)
}

fn bundle(scene: &Gd<PackedScene>) -> Result<VarDictionary, ToolError> {
    scene
        .get("_bundled")
        .try_to::<VarDictionary>()
        .map_err(|_| ToolError::internal("the engine has no bundle for a packed scene"))
}

/// Gives the nodes of a copied branch ids of their own: an instance of it beside the branch would have the
/// engine change the ids of the branch. The same branch and path give the same ids.
pub(crate) fn give_own_ids(scene: &mut Gd<PackedScene>, path: &str) -> Result<(), ToolError> {
    let mut bundle = bundle(scene)?;
    let Ok(ids) = bundle.at("node_ids").try_to::<PackedInt32Array>() else { return Ok(()) };
    let mut taken: HashSet<i32> = ids.as_slice().iter().copied().collect();
    let mut own = HashMap::new();
    for (index, &old) in ids.as_slice().iter().enumerate() {
        let mut new = old;
        let mut round = 0_u32;
        while new <= 0 || !taken.insert(new) {
            let mut hasher = DefaultHasher::new();
            (path, index, old, round).hash(&mut hasher);
            // Positive, as the engine's own.
            new = i32::try_from(hasher.finish() >> 33).unwrap_or(0);
            round += 1;
        }
        own.insert(old, new);
    }
    let swap = |ids: &PackedInt32Array| -> PackedInt32Array {
        ids.as_slice().iter().map(|it| own.get(it).copied().unwrap_or(*it)).collect()
    };
    let paths = bundle.at("id_paths").try_to::<VarArray>().unwrap_or_default();
    let paths: VarArray = paths
        .iter_shared()
        .map(|it| match it.try_to::<PackedInt32Array>() {
            Ok(ids) => swap(&ids).to_variant(),
            Err(_) => it,
        })
        .collect();
    bundle.set("node_ids", &swap(&ids));
    bundle.set("id_paths", &paths);
    scene.set("_bundled", &bundle.to_variant());
    Ok(())
}

/// Takes out the connections of which one end lies outside the scene. Answers how many.
pub(crate) fn drop_outer_connections(scene: &mut Gd<PackedScene>) -> Result<usize, ToolError> {
    let mut bundle = bundle(scene)?;
    let ints = bundle.at("conns").try_to::<PackedInt32Array>().unwrap_or_default().to_vec();
    let paths = bundle.at("node_paths").try_to::<VarArray>().unwrap_or_default();
    let outside = |id: i32| {
        let index = usize::try_from(id & FLAG_MASK).unwrap_or(usize::MAX);
        id & FLAG_ID_IS_PATH != 0
            && paths.get(index).is_some_and(|it| it.to_string().starts_with(".."))
    };
    let (mut kept, mut count, mut dropped, mut at) = (Vec::new(), 0_i64, 0, 0);
    while at + 6 < ints.len() {
        let length = 7 + usize::try_from(ints[at + 5]).unwrap_or(0);
        let Some(one) = ints.get(at..at + length) else { break };
        if outside(one[0]) || outside(one[1]) {
            dropped += 1;
        } else {
            kept.extend_from_slice(one);
            count += 1;
        }
        at += length;
    }
    if dropped > 0 {
        bundle.set("conns", &PackedInt32Array::from(kept.as_slice()));
        bundle.set("conn_count", count);
        scene.set("_bundled", &bundle.to_variant());
    }
    Ok(dropped)
}

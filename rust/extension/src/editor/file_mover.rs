//! Moving a file for the undo history, which calls the mover by name: the file with what belongs to
//! it, what is loaded from it, and the open scenes that use it.

use std::cell::RefCell;
use std::collections::HashMap;

use godot::builtin::{GString, PackedStringArray, StringName};
use godot::classes::{EditorInterface, Node, RefCounted, Resource, ResourceLoader, ResourceSaver};
use godot::global::{Error, godot_error, godot_warn};
use godot::obj::{Base, Gd, Singleton};
use godot::register::{GodotClass, godot_api};

use super::{branch, file_uses, files, properties, scene_files, scene_keeper, scene_tabs};

/// One mover serves one edit.
#[derive(GodotClass)]
#[class(tool, internal, init, base = RefCounted)]
pub(crate) struct FileMover {
    /// `.import` of the file at each of its places: the editor writes the path into it.
    imports: RefCell<HashMap<String, Vec<u8>>>,
    /// Binary users of the file, loaded before it moved.
    held: RefCell<HashMap<String, Gd<Resource>>>,
    /// Binary users as they were, and as we saved them.
    saved: RefCell<HashMap<String, (Vec<u8>, Vec<u8>)>>,
    /// Folders that the move made.
    folders: RefCell<Vec<std::path::PathBuf>>,
    base: Base<RefCounted>,
}

#[godot_api]
impl FileMover {
    /// Moves the file, `.uid` and `.import`, then all that is in memory.
    #[func]
    fn move_file(&self, from: GString, to: GString) {
        let (from, to) = (from.to_string(), to.to_string());
        if !files::absolute(&from).is_file() || files::absolute(&to).exists() {
            godot_warn!(
                "MCP: \"{from}\" is not moved to \"{to}\": one is gone or the other taken."
            );
            return;
        }
        if let Err(error) = self.rename(&from, &to) {
            godot_error!("MCP: cannot move \"{from}\" to \"{to}\": {error}");
            return;
        }
        repath(&from, &to);
        scene_files::moved(&from, &to);
    }

    /// Tells the editor of the move, once all that names the file has followed: it looks at scripts as
    /// soon as it hears of one.
    #[func]
    fn tell(&self, one: GString, other: GString) {
        files::tell(&one.to_string());
        files::tell(&other.to_string());
    }

    #[func]
    fn is_at(&self, path: GString) -> bool {
        files::absolute(&path.to_string()).is_file()
    }

    /// Loads binary users, so that they are still complete when the file is elsewhere.
    #[func]
    fn hold(&self, paths: PackedStringArray) {
        for path in paths.as_slice() {
            if let Some(resource) = ResourceLoader::singleton().load(path) {
                self.held.borrow_mut().insert(path.to_string(), resource);
            }
        }
    }

    /// Saves a binary user with the new path.
    #[func]
    fn save(&self, path: GString) {
        let path = path.to_string();
        let resource = self.held.borrow().get(&path).cloned();
        let Some((resource, before)) = resource.zip(files::bytes(&path)) else { return };
        let saved = ResourceSaver::singleton().save_ex(&resource).path(&path).done();
        if saved != Error::OK {
            godot_error!("MCP: cannot write \"{path}\": {saved:?}");
            return;
        }
        let after = files::bytes(&path).unwrap_or_default();
        self.saved.borrow_mut().insert(path.clone(), (before, after));
        files::tell(&path);
    }

    #[func]
    fn is_saved(&self, path: GString) -> bool {
        self.saved.borrow().contains_key(&path.to_string())
    }

    /// Puts back what a binary user was, unless somebody changed it meanwhile.
    #[func]
    fn unsave(&self, path: GString) {
        let path = path.to_string();
        let Some((before, after)) = self.saved.borrow_mut().remove(&path) else { return };
        if files::bytes(&path) != Some(after) {
            files::warn_left_alone(&path);
            return;
        }
        if let Err(error) = files::write_whole(&files::absolute(&path), &before) {
            godot_error!("MCP: cannot write \"{path}\": {error}");
        }
        files::tell(&path);
    }

    /// Marks open scenes as changed: their files still name the file at its other place.
    #[func]
    fn mark_unsaved(&self, paths: PackedStringArray) {
        for path in paths.as_slice() {
            let path = path.to_string();
            let mut front: Option<Gd<Node>> = None;
            let mut marked = false;
            scene_keeper::defer(move || {
                let mut editor = EditorInterface::singleton();
                let Some(root) = scene_tabs::root_of(&path) else { return true };
                if !marked {
                    front = front.take().or_else(|| editor.get_edited_scene_root());
                    if !scene_tabs::switch_to(&root) {
                        return true;
                    }
                    editor.mark_scene_as_unsaved();
                    marked = true;
                    return false;
                }
                if let Some(front) = front.take().filter(|it| it.is_instance_valid()) {
                    scene_tabs::switch_to(&front);
                }
                true
            });
        }
    }
}

impl FileMover {
    fn rename(&self, from: &str, to: &str) -> std::io::Result<()> {
        let (source, target) = (files::absolute(from), files::absolute(to));
        let made = files::make_folders(&target)?;
        std::fs::rename(&source, &target)?;
        for suffix in files::SIDECARS {
            let sidecar = files::with_suffix(&source, suffix);
            let Ok(bytes) = std::fs::read(&sidecar) else { continue };
            let mut moved = bytes.clone();
            if *suffix == ".import" {
                let mut imports = self.imports.borrow_mut();
                if let Some(known) = imports.get(to) {
                    moved.clone_from(known);
                }
                imports.insert(from.to_owned(), bytes);
            }
            files::write_whole(&files::with_suffix(&target, suffix), &moved)?;
            std::fs::remove_file(&sidecar)?;
        }
        let old = std::mem::replace(&mut *self.folders.borrow_mut(), made);
        for folder in old.iter().rev() {
            // One that somebody put something into stays.
            let _ = std::fs::remove_dir(folder);
        }
        Ok(())
    }
}

/// Brings what is loaded from the file, and what open scenes have of it, to its new place.
fn repath(from: &str, to: &str) {
    let loader = ResourceLoader::singleton();
    if let Some(mut loaded) = loader.has_cached(from).then(|| loader.get_cached_ref(from)).flatten()
    {
        loaded.take_over_path(to);
    }
    for root in scene_tabs::roots() {
        for mut node in branch::nodes(&root) {
            if node.get_scene_file_path() == from {
                node.set_scene_file_path(to);
            }
            let mut object = node.upcast::<godot::classes::Object>();
            for (property, value) in properties::script_values(&object) {
                if let Some(new) = file_uses::with_path(&value, from, to) {
                    object.set(&StringName::from(&property), &new);
                }
            }
        }
    }
}

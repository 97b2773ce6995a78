//! Project files as undoable bytes (S6.5).

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use godot::builtin::{GString, PackedByteArray, Variant};
use godot::classes::resource_loader::CacheMode;
use godot::classes::{
    EditorInterface, PackedScene, ProjectSettings, RefCounted, Resource, ResourceLoader, Shader,
};
use godot::global::{godot_error, godot_warn};
use godot::meta::ToGodot;
use godot::obj::{Base, Gd, Singleton};
use godot::register::{GodotClass, godot_api};
use godot_mcp_core::{Code, ToolError};
use sha2::{Digest as _, Sha256};

use super::loaded_scripts;
use crate::main_thread;

/// Writes and restores files for the undo history, which calls it by name.
///
/// One keeper serves one edit. It remembers what it wrote last, so a file that somebody else
/// changed meanwhile is left alone: undo takes back our change, never theirs.
#[derive(GodotClass)]
#[class(tool, internal, init, base = RefCounted)]
pub(crate) struct FileKeeper {
    /// By path. Invariant: borrowed only for look-ups, never across an engine call.
    written: RefCell<HashMap<String, Written>>,
    /// Script files that were written and not yet brought into the loaded scripts.
    stale: RefCell<Vec<String>>,
    /// What the last refresh reloaded.
    reloaded: RefCell<loaded_scripts::Reloaded>,
    /// The editor has to look for a folder that it did not know.
    new_folder: Cell<bool>,
    base: Base<RefCounted>,
}

#[derive(Clone, Default)]
struct Written {
    /// Content after our last write; none for a file that we removed.
    digest: Option<[u8; 32]>,
    /// `.uid` that the editor gave a new file: a redo writes the same one.
    uid: Option<Vec<u8>>,
    /// Folders that the write made, the outermost first.
    folders: Vec<PathBuf>,
}

#[godot_api]
impl FileKeeper {
    /// Entry for undo and redo: bytes to write, or null to delete.
    #[func(gd_self)]
    fn restore(this: Gd<Self>, path: GString, bytes: Variant) {
        // Null converts to an empty array, which would leave an empty file.
        let bytes = (!bytes.is_nil())
            .then(|| bytes.try_to::<PackedByteArray>().unwrap_or_default().to_vec());
        let path = path.to_string();
        let known = this.bind().written.borrow().get(&path).map(|it| it.digest);
        // A file that was deleted before and is to be deleted again was made anew by another step of
        // this action, such as one that packs a scene.
        let again = bytes.is_none() && known == Some(None);
        if let Some(known) = known
            && !again
            && known != digest_of(&path)
        {
            warn_left_alone(&path);
            return;
        }
        if let Err(error) = Self::write(&this, &path, bytes.as_deref()) {
            godot_error!("MCP: {}", error.message);
        }
    }

    /// Entry for undo and redo, after the last file: see `refresh`.
    #[func(gd_self)]
    fn refresh_scripts(this: Gd<Self>) {
        Self::refresh(&this);
    }
}

/// Undo and redo take back our change, never somebody else's.
pub(crate) fn warn_left_alone(path: &str) {
    godot_warn!("MCP: \"{path}\" was changed meanwhile, so undo and redo leave it as it is.");
}

impl FileKeeper {
    pub(crate) fn bytes_variant(bytes: Option<&[u8]>) -> Variant {
        bytes.map_or_else(Variant::nil, |it| PackedByteArray::from(it).to_variant())
    }

    /// Writes a file completely or not at all, or deletes it, and tells the editor. Nothing is bound
    /// meanwhile, since the editor runs scripts when it hears of files.
    pub(crate) fn write(
        this: &Gd<Self>,
        path: &str,
        bytes: Option<&[u8]>,
    ) -> Result<(), ToolError> {
        let file = absolute(path);
        let uid_file = with_suffix(&file, ".uid");
        let known = this.bind().written.borrow().get(path).cloned().unwrap_or_default();
        let result = match bytes {
            Some(bytes) => make_folders(&file).and_then(|folders| {
                this.bind().remember(path, |it| it.folders.extend(folders));
                if let Some(uid) = &known.uid
                    && !uid_file.exists()
                {
                    write_whole(&uid_file, uid)?;
                }
                write_whole(&file, bytes)
            }),
            None => {
                let uid = std::fs::read(&uid_file).ok();
                this.bind().remember(path, |it| it.uid = uid.or_else(|| it.uid.take()));
                remove_if_there(&file).and_then(|()| remove_if_there(&uid_file))
            }
        };
        result.map_err(|it| {
            ToolError::new(Code::PreconditionFailed, format!("cannot write \"{path}\": {it}"))
                .hint("check permissions and free space; nothing was changed")
        })?;
        if bytes.is_none() {
            for folder in known.folders.iter().rev() {
                // One that somebody put something into stays.
                let _ = std::fs::remove_dir(folder);
            }
            this.bind().remember(path, |it| it.folders.clear());
        }
        this.bind().remember(path, |it| it.digest = bytes.map(digest));
        Self::tell(this, path);
        if loaded_scripts::is_script(path) {
            this.bind().stale.borrow_mut().push(path.to_owned());
        } else if bytes.is_some() {
            refresh(path);
        }
        Ok(())
    }

    /// Tells the editor's file system, which then knows a `class_name` at once and gives a new
    /// script its `.uid`. It takes in the files of a folder that is new to it only by a scan.
    fn tell(this: &Gd<Self>, path: &str) {
        let Some(mut files) = EditorInterface::singleton().get_resource_filesystem() else {
            return;
        };
        let folder = path.rsplit_once('/').map_or("", |it| it.0);
        let known = folder == "res:/" || files.get_filesystem_path(folder).is_some();
        if known {
            files.update_file(path);
        } else if !files.is_scanning() {
            files.scan_sources();
            this.bind().new_folder.set(true);
        }
    }

    /// Brings loaded scripts, and those that depend on them, to what was written. Once for all files
    /// of an edit: in between, one script would be compiled against the old text of another.
    pub(crate) fn refresh(this: &Gd<Self>) {
        let stale = this.bind().stale.take();
        if !stale.is_empty() {
            let reloaded = loaded_scripts::reload(&stale);
            this.bind().reloaded.replace(reloaded);
        }
    }

    pub(crate) fn reloaded(this: &Gd<Self>) -> loaded_scripts::Reloaded {
        this.bind().reloaded.take()
    }

    /// Whether a scan that takes in a new folder is going on.
    pub(crate) fn is_settling(this: &Gd<Self>) -> bool {
        this.bind().new_folder.get() && main_thread::is_scanning()
    }

    fn remember(&self, path: &str, change: impl FnOnce(&mut Written)) {
        change(self.written.borrow_mut().entry(path.to_owned()).or_default());
    }
}

/// Brings what is loaded from a file to the file's state. Scenes are left alone: open ones belong to
/// the human, and instances keep their state. Scripts have a way of their own.
fn refresh(path: &str) {
    let mut loader = ResourceLoader::singleton();
    if !loader.has_cached(path) {
        return;
    }
    let Some(mut loaded) = loader.get_cached_ref(path) else { return };
    if let Ok(mut shader) = loaded.clone().try_cast::<Shader>() {
        if path.ends_with(".gdshader") {
            let text = String::from_utf8_lossy(&bytes(path).unwrap_or_default()).into_owned();
            shader.set_code(&text);
        } else {
            replace(&mut loader, path);
        }
    } else if loaded.clone().try_cast::<PackedScene>().is_err() {
        replace(&mut loader, path);
        loaded.emit_changed();
    }
}

/// Loads into the object that is in memory already.
fn replace(loader: &mut Gd<ResourceLoader>, path: &str) -> Option<Gd<Resource>> {
    loader.load_ex(path).cache_mode(CacheMode::REPLACE).done()
}

fn make_folders(file: &Path) -> std::io::Result<Vec<PathBuf>> {
    let missing: Vec<PathBuf> =
        file.ancestors().skip(1).take_while(|it| !it.exists()).map(Path::to_owned).collect();
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    Ok(missing.into_iter().rev().collect())
}

fn remove_if_there(file: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// Replaces the content. A link goes on pointing where it did, and the permissions stay.
fn write_whole(file: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let part = with_suffix(&file, ".mcp-part");
    std::fs::write(&part, bytes)?;
    let permissions = std::fs::metadata(&file).map(|it| it.permissions());
    permissions
        .map_or(Ok(()), |it| std::fs::set_permissions(&part, it))
        .and_then(|()| std::fs::rename(&part, &file))
        .inspect_err(|_| {
            let _ = std::fs::remove_file(&part);
        })
}

fn with_suffix(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn digest(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Of the file as it is now; none when it does not exist.
fn digest_of(path: &str) -> Option<[u8; 32]> {
    bytes(path).map(|it| digest(&it))
}

/// SHA-256 in hexadecimal, as answers give it.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    digest(bytes).iter().map(|it| format!("{it:02x}")).collect()
}

/// The file behind an accepted `res://` path.
pub(crate) fn absolute(path: &str) -> PathBuf {
    PathBuf::from(ProjectSettings::singleton().globalize_path(path).to_string())
}

/// The bytes of a project file, none when it does not exist.
pub(crate) fn bytes(path: &str) -> Option<Vec<u8>> {
    std::fs::read(absolute(path)).ok()
}

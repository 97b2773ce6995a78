//! Project files as undoable bytes (S6.5).

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use godot::builtin::{GString, PackedByteArray, PackedStringArray, VarArray, Variant, varray};
use godot::classes::resource_loader::CacheMode;
use godot::classes::{
    EditorFileSystem, EditorInterface, PackedScene, ProjectSettings, RefCounted, Resource,
    ResourceLoader, ResourceUid, Shader,
};
use godot::global::{Error, godot_error, godot_warn};
use godot::meta::ToGodot;
use godot::obj::{Base, Gd, Singleton};
use godot::register::{GodotClass, godot_api};
use godot_mcp_core::{Code, ToolError};
use sha2::{Digest as _, Sha256};

use super::{loaded_scripts, project_settings, resource_edit, scene_keeper};
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
    /// Files that were written, and what is loaded from them not yet brought to their state.
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
    /// What went with the file when it was removed, by suffix: writing it again writes the same.
    sidecars: Vec<(&'static str, Vec<u8>)>,
    /// Folders that the write made, the outermost first.
    folders: Vec<PathBuf>,
}

#[godot_api]
impl FileKeeper {
    /// Entry for undo and redo: bytes to write, or null to delete.
    #[func(gd_self)]
    fn restore(this: Gd<Self>, path: GString, bytes: Variant) {
        let bytes = read_bytes(&bytes);
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

    /// Entry for undo and redo: see [`Self::put_settings`].
    #[func(gd_self)]
    fn settings(this: Gd<Self>, values: VarArray, bytes: Variant) {
        let values: Vec<SettingValue> = values.iter_shared().filter_map(read_setting).collect();
        let bytes = read_bytes(&bytes);
        if let Err(error) = Self::put_settings(&this, &values, bytes.as_deref()) {
            godot_warn!("MCP: {}.", error.message);
        }
    }

    /// Entry for undo and redo: see [`Self::put_folder`].
    #[func(gd_self)]
    fn folder(_this: Gd<Self>, path: GString, exists: bool) {
        if let Err(error) = Self::put_folder(&path.to_string(), exists) {
            godot_warn!("MCP: {}.", error.message);
        }
    }

    /// Entry for undo and redo: `refresh` brings what is loaded from these files to their state too.
    #[func(gd_self)]
    fn refresh_later(this: Gd<Self>, paths: PackedStringArray) {
        let this = this.bind();
        this.stale.borrow_mut().extend(paths.as_slice().iter().map(GString::to_string));
    }
}

/// Undo and redo take back our change, never somebody else's.
pub(crate) fn warn_left_alone(path: &str) {
    godot_warn!("MCP: \"{path}\" was changed meanwhile, so undo and redo leave it as it is.");
}

/// Where project settings are saved.
pub(crate) const PROJECT_FILE: &str = "res://project.godot";

/// Files that belong to another file and go with it.
pub(crate) const SIDECARS: &[&str] = &[".uid", ".import"];

/// One project setting: null removes it. `order` is its place in the file, -1 for a new one.
#[derive(Clone)]
pub(crate) struct SettingValue {
    pub(crate) name: String,
    pub(crate) value: Variant,
    pub(crate) order: i32,
}

impl SettingValue {
    /// As the undo history keeps it.
    pub(crate) fn to_variant(&self) -> Variant {
        varray![&self.name.to_variant(), &self.value, &self.order.to_variant()].to_variant()
    }
}

/// Null converts to an empty array, which would leave an empty file.
fn read_bytes(bytes: &Variant) -> Option<Vec<u8>> {
    (!bytes.is_nil()).then(|| bytes.try_to::<PackedByteArray>().unwrap_or_default().to_vec())
}

fn read_setting(entry: Variant) -> Option<SettingValue> {
    let entry = entry.try_to::<VarArray>().ok()?;
    Some(SettingValue {
        name: entry.get(0)?.to_string(),
        value: entry.get(1)?,
        order: entry.get(2)?.try_to().ok()?,
    })
}

impl FileKeeper {
    pub(crate) fn bytes_variant(bytes: Option<&[u8]>) -> Variant {
        bytes.map_or_else(Variant::nil, |it| PackedByteArray::from(it).to_variant())
    }

    /// Sets project settings, all or none, and saves them. With `bytes` the file gets exactly
    /// these, unless the editor saved other settings meanwhile: those stay.
    pub(crate) fn put_settings(
        this: &Gd<Self>,
        values: &[SettingValue],
        bytes: Option<&[u8]>,
    ) -> Result<(), ToolError> {
        let known = this.bind().written.borrow().get(PROJECT_FILE).map(|it| it.digest);
        let as_left = known.is_none_or(|it| it == digest_of(PROJECT_FILE));
        if !as_left {
            project_settings::check_unchanged()?;
        }
        let mut settings = ProjectSettings::singleton();
        for SettingValue { name, value, order } in values {
            settings.set_setting(name, value);
            if !value.is_nil() && *order >= 0 {
                settings.set_order(name, *order);
            }
        }
        // Also before exact bytes are written: the editor remembers when it saved, and asks the human
        // what to do with a file that is newer.
        let saved = settings.save();
        if saved != Error::OK {
            let message = format!("cannot write project.godot: {saved:?}");
            return Err(
                ToolError::new(Code::PreconditionFailed, message).hint("check its permissions")
            );
        }
        if let Some(bytes) = bytes.filter(|_| as_left) {
            write_whole(&absolute(PROJECT_FILE), bytes).map_err(|it| {
                ToolError::new(
                    Code::PreconditionFailed,
                    format!("cannot write project.godot: {it}"),
                )
                .hint("check its permissions")
            })?;
        }
        this.bind().remember(PROJECT_FILE, |it| it.digest = digest_of(PROJECT_FILE));
        project_settings::note();
        project_settings::tell(values.iter().map(|it| it.name.as_str()));
        Ok(())
    }

    /// Makes a folder, or removes one that is empty, and tells the editor.
    pub(crate) fn put_folder(path: &str, exists: bool) -> Result<(), ToolError> {
        let folder = absolute(path);
        let result = match exists {
            true => std::fs::create_dir_all(&folder),
            false => std::fs::remove_dir(&folder),
        };
        result.map_err(|it| {
            ToolError::new(Code::PreconditionFailed, format!("cannot change \"{path}\": {it}"))
                .hint("see what lies in the folder with `get_filesystem_tree`")
        })?;
        scan_later();
        Ok(())
    }

    /// Writes a file completely or not at all, or deletes it, and tells the editor. Nothing is bound
    /// meanwhile, since the editor runs scripts when it hears of files.
    pub(crate) fn write(
        this: &Gd<Self>,
        path: &str,
        bytes: Option<&[u8]>,
    ) -> Result<(), ToolError> {
        let file = absolute(path);
        let in_project = path.starts_with("res://");
        let sidecars = if in_project { SIDECARS } else { &[] };
        let known = this.bind().written.borrow().get(path).cloned().unwrap_or_default();
        let result = match bytes {
            Some(bytes) => make_folders(&file).and_then(|folders| {
                this.bind().remember(path, |it| it.folders.extend(folders));
                for (suffix, bytes) in &known.sidecars {
                    let sidecar = with_suffix(&file, suffix);
                    if !sidecar.exists() {
                        write_whole(&sidecar, bytes)?;
                        if *suffix == ".uid" {
                            register_uid(path, bytes);
                        }
                    }
                }
                write_whole(&file, bytes)
            }),
            None => {
                let found: Vec<_> = sidecars
                    .iter()
                    .filter_map(|&it| Some((it, std::fs::read(with_suffix(&file, it)).ok()?)))
                    .collect();
                if !found.is_empty() {
                    this.bind().remember(path, |it| it.sidecars = found);
                }
                // Sidecars first: the editor would delete what was imported, which undo needs again.
                sidecars
                    .iter()
                    .try_for_each(|it| remove_if_there(&with_suffix(&file, it)))
                    .and_then(|()| remove_if_there(&file))
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
        if in_project {
            Self::tell(this, path);
            if bytes.is_some() || loaded_scripts::is_script(path) {
                this.bind().stale.borrow_mut().push(path.to_owned());
            }
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
            update(&mut files, path);
        } else if absolute(folder).is_dir() {
            if files.is_scanning() {
                scan_later();
            } else {
                files.scan_sources();
                this.bind().new_folder.set(true);
            }
        }
        if known && folder != "res:/" && !absolute(folder).is_dir() {
            scan_later();
        }
        import_if_needed(path);
    }

    /// Brings what is loaded from the files, and scripts that depend on them, to what was written. Once
    /// for all files of an edit: in between, one would be loaded against the old text of another.
    pub(crate) fn refresh(this: &Gd<Self>) {
        let (scripts, mut others): (Vec<String>, Vec<String>) =
            this.bind().stale.take().into_iter().partition(|it| loaded_scripts::is_script(it));
        others.sort();
        others.dedup();
        others.iter().filter(|it| absolute(it).exists()).for_each(|it| refresh(it));
        if !scripts.is_empty() {
            let reloaded = loaded_scripts::reload(&scripts);
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

/// The engine learns by a scan which file a UID belongs to; whoever loads the file before that finds
/// its UID and nothing behind it.
fn register_uid(path: &str, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut ids = ResourceUid::singleton();
    let id = ids.text_to_id(text.trim());
    if id >= 0 && !ids.has_id(id) {
        ids.add_id(id, path);
    }
}

/// Tells the editor of a file that was written or removed.
pub(crate) fn tell(path: &str) {
    let folder = path.rfind('/').map_or(path, |it| &path[..=it]);
    if let Some(mut files) = EditorInterface::singleton().get_resource_filesystem() {
        // The editor takes no news from a folder that it does not know.
        let known = files.get_filesystem_path(folder).is_some();
        if known == absolute(folder).is_dir() {
            update(&mut files, path);
        } else {
            scan_later();
        }
    }
    import_if_needed(path);
}

/// An asset that was put back, or moved, may have lost what was imported from it.
fn import_if_needed(path: &str) {
    let file = absolute(path);
    if file.exists() && with_suffix(&file, ".import").exists() && !is_imported(path) {
        reimport_later(path);
    }
}

/// A scan that is on its way may have noted already that the file is gone, and must find it then.
fn update(files: &mut Gd<EditorFileSystem>, path: &str) {
    if files.is_scanning() && !absolute(path).exists() {
        scan_later();
    } else {
        files.update_file(path);
    }
}

/// Makes the editor look for folders, which it does not hear of otherwise.
fn scan_later() {
    let mut started = false;
    scene_keeper::defer(move || {
        let Some(mut files) = EditorInterface::singleton().get_resource_filesystem() else {
            return true;
        };
        if files.is_scanning() {
            return false;
        }
        if !started {
            files.scan();
        }
        std::mem::replace(&mut started, true)
    });
}

/// Whether an asset was imported under its own name, and what came of it is still there.
fn is_imported(path: &str) -> bool {
    let Some(import) = bytes(&format!("{path}.import")) else { return false };
    let import = String::from_utf8_lossy(&import);
    let value = |key: &str| {
        import.lines().find_map(|it| it.strip_prefix(key)).unwrap_or_default().trim().to_owned()
    };
    let made = value("dest_files=");
    let mut made = made.split('"').skip(1).step_by(2);
    value("source_file=") == format!("\"{path}\"") && made.all(|it| absolute(it).exists())
}

/// Importing shows a progress dialog, which has to wait for the safe lane.
fn reimport_later(path: &str) {
    let path = path.to_owned();
    scene_keeper::defer(move || {
        let Some(mut files) = EditorInterface::singleton().get_resource_filesystem() else {
            return true;
        };
        if files.is_scanning() {
            return false;
        }
        if absolute(&path).exists() && !is_imported(&path) {
            files.reimport_files(&PackedStringArray::from([GString::from(path.as_str())]));
        }
        true
    });
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
        if path.ends_with(".tres") || path.ends_with(".res") {
            // The engine leaves a property as it is that the file does not name any more.
            resource_edit::take_from_file(&mut loaded, path);
        }
        loaded.emit_changed();
    }
}

/// Loads into the object that is in memory already.
fn replace(loader: &mut Gd<ResourceLoader>, path: &str) -> Option<Gd<Resource>> {
    loader.load_ex(path).cache_mode(CacheMode::REPLACE).done()
}

/// A folder and those above it that do not exist, the outermost first.
pub(crate) fn missing_folders(folder: &str) -> Vec<String> {
    let mut missing = Vec::new();
    let mut at = folder;
    while !at.ends_with(":/") && !at.ends_with(':') && !absolute(at).exists() {
        missing.push(at.to_owned());
        let Some((above, _)) = at.rsplit_once('/') else { break };
        at = above;
    }
    missing.reverse();
    missing
}

pub(crate) fn make_folders(file: &Path) -> std::io::Result<Vec<PathBuf>> {
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
pub(crate) fn write_whole(file: &Path, bytes: &[u8]) -> std::io::Result<()> {
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

pub(crate) fn with_suffix(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn digest(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Of the file as it is now; none when it does not exist.
pub(crate) fn digest_of(path: &str) -> Option<[u8; 32]> {
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

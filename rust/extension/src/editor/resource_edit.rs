//! Resource files as they are to be: changed in a copy, and planned as bytes.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU32, Ordering};

use godot::builtin::{AnyArray, AnyDictionary, GString, Variant, VariantType};
use godot::classes::resource_loader::CacheMode;
use godot::classes::{Object, Resource, ResourceLoader, ResourceSaver, ResourceUid};
use godot::global::Error;
use godot::meta::ToGodot;
use godot::obj::{EngineBitfield as _, Gd, Singleton};
use godot::register::info::PropertyUsageFlags;
use godot_mcp_core::scene_text::SceneText;
use godot_mcp_core::{Code, ToolError};

use super::edit::Edit;
use super::persistence::Verdict;
use super::values::{self, Slot};
use super::{Editor, files, scene_files};

/// Nesting of resources and containers that is searched for what has no id.
const MAX_DEPTH: usize = 32;

/// A resource and the file that it is to be written to. Nothing else uses the object.
pub(crate) struct Draft {
    pub(crate) path: String,
    pub(crate) resource: Gd<Resource>,
    old: Option<Vec<u8>>,
}

impl Draft {
    /// The resource of a file as the file has it, to be changed and written again.
    pub(crate) fn open(
        editor: &Editor,
        path: &str,
        parameter: &'static str,
    ) -> Result<Self, ToolError> {
        editor.check_write(path).map_err(|it| it.required(parameter))?;
        let (resource, unsaved) = read(path, parameter)?;
        if files::absolute(&format!("{path}.import")).exists() || scene_files::is_scene_file(path) {
            let message = format!("\"{path}\" is no resource file that is edited like this");
            return Err(ToolError::invalid(parameter, message)
                .hint("give a .tres or .res file; a scene is opened, an asset is imported again"));
        }
        if unsaved {
            let message = format!("\"{path}\" has changes in the editor that are not saved");
            return Err(ToolError::new(Code::StateChanged, message)
                .required(parameter)
                .hint("ask the human to save the resource in the inspector, then call again"));
        }
        Ok(Self { path: path.to_owned(), resource, old: files::bytes(path) })
    }

    /// A resource for a new file, or for one that is replaced.
    pub(crate) fn new(
        editor: &Editor,
        path: &str,
        resource: Gd<Resource>,
        overwrite: bool,
        parameter: &'static str,
    ) -> Result<Self, ToolError> {
        editor.check_write(path).map_err(|it| it.required(parameter))?;
        check_free(path, overwrite, parameter)?;
        Ok(Self { path: path.to_owned(), resource, old: files::bytes(path) })
    }

    /// The resource of a file that may be new. `made` gives what a new one holds.
    pub(crate) fn open_or(
        editor: &Editor,
        path: &str,
        parameter: &'static str,
        made: impl FnOnce() -> Gd<Resource>,
    ) -> Result<Self, ToolError> {
        match files::absolute(path).exists() {
            true => Self::open(editor, path, parameter),
            false => Self::new(editor, path, made(), false, parameter),
        }
    }

    /// Whether there is a file already.
    pub(crate) fn replaces(&self) -> bool {
        self.old.is_some()
    }

    /// The resource as an object of some class, or one that it holds in a property: a gradient and a
    /// texture of one are edited alike.
    pub(crate) fn part<T>(&self, class: &str, property: &str) -> Result<Gd<T>, ToolError>
    where
        T: godot::obj::Inherits<Resource>,
    {
        if let Ok(own) = self.resource.clone().try_cast::<T>() {
            return Ok(own);
        }
        if let Ok(inner) = self.resource.get(property).try_to::<Gd<Resource>>()
            && is_built_in(&inner)
            && let Ok(inner) = inner.try_cast::<T>()
        {
            return Ok(inner);
        }
        let found = self.resource.get_class();
        let message = format!("\"{}\" is a {found} and holds no {class} of its own", self.path);
        Err(ToolError::invalid("resource_path", message)
            .hint(format!("give a file with a {class}, or a free path for a new one")))
    }

    /// Adds the file to an edit, verified by loading it again.
    pub(crate) fn write(self, edit: &mut Edit) -> Result<(), ToolError> {
        let bytes = self.bytes()?;
        edit.fact("resource_path", self.path.as_str());
        edit.fact("created", self.old.is_none());
        edit.verdict(Verdict::yes(self.path.as_str()));
        if self.old.as_ref() == Some(&bytes) {
            return Ok(());
        }
        edit.write_file(&self.path, Some(bytes));
        edit.check(Box::new(move || {
            let fresh = fresh(&self.path).ok_or_else(|| lost(&self.path, "does not load"))?;
            match difference(&self.resource, &fresh) {
                None => Ok(()),
                Some(property) => Err(lost(&self.path, &format!("has another \"{property}\""))),
            }
        }));
        Ok(())
    }

    /// What the engine saves, with the ids that the file had before, and else with ids that follow
    /// from the path: the same plan has to give the same bytes each time.
    fn bytes(&self) -> Result<Vec<u8>, ToolError> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let extension = self.path.rsplit_once('.').map_or("", |it| it.1);
        let mut saver = ResourceSaver::singleton();
        let known = saver.get_recognized_extensions(&self.resource);
        let known: Vec<String> = known.as_slice().iter().map(ToString::to_string).collect();
        if !known.iter().any(|it| it == extension) {
            let class = self.resource.get_class();
            let message = format!("a {class} is not saved as \".{extension}\"");
            return Err(ToolError::invalid("resource_path", message)
                .hint(format!("it is saved as: {}", known.join(", "))));
        }
        let mut ids = HashSet::new();
        give_ids(&self.resource.to_variant(), &self.path, &mut ids, MAX_DEPTH);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("godot_mcp_{}_{number}.{extension}", std::process::id());
        let file = std::env::temp_dir().join(name);
        let place = file.to_string_lossy().into_owned();
        let saved = saver.save_ex(&self.resource).path(&place).done();
        let uid = self.uid();
        if saved == Error::OK && extension != "tres" && uid != -1 {
            saver.set_uid(&place, uid);
        }
        let bytes = std::fs::read(&file);
        // Only ours; one that is left behind harms nobody.
        let _ = std::fs::remove_file(&file);
        match (saved, bytes) {
            (Error::OK, Ok(bytes)) if extension == "tres" => Ok(self.with_ids(bytes, uid)),
            (Error::OK, Ok(bytes)) => Ok(bytes),
            (error, _) => {
                Err(ToolError::internal(format!("the engine did not save the resource: {error:?}")))
            }
        }
    }

    /// The file's own uid, or one that follows from its path.
    fn uid(&self) -> i64 {
        let mut uids = ResourceUid::singleton();
        let known = ResourceLoader::singleton().get_resource_uid(&self.path);
        if known != -1 {
            return known;
        }
        if self.old.is_some() {
            return -1;
        }
        let first = uids.create_id_for_path(&self.path);
        let taken = |id: i64| uids.has_id(id) && uids.get_id_path(id).to_string() != self.path;
        (first..).find(|it| !taken(*it)).unwrap_or(first)
    }

    fn with_ids(&self, bytes: Vec<u8>, uid: i64) -> Vec<u8> {
        let Ok(text) = String::from_utf8(bytes) else { return Vec::new() };
        let old = self.old.as_ref().and_then(|it| std::str::from_utf8(it).ok());
        let by_path = |text: &str| -> HashMap<String, String> {
            let Some(parsed) = SceneText::parse(text) else { return HashMap::new() };
            let external = parsed.sections.iter().filter(|it| it.kind == "ext_resource");
            let entry = external.filter_map(|it| {
                Some((it.attribute("path")?.to_owned(), it.attribute("id")?.to_owned()))
            });
            entry.collect()
        };
        let known = old.map(by_path).unwrap_or_default();
        let mut renamed = HashMap::new();
        for (index, (path, id)) in by_path(&text).into_iter().enumerate() {
            let number = id.split('_').next().unwrap_or_default();
            let number = number.parse::<usize>().unwrap_or(index + 1);
            let digest = files::sha256(path.as_bytes());
            let new = known.get(&path).cloned();
            renamed.insert(id, new.unwrap_or_else(|| format!("{number}_{}", &digest[..5])));
        }
        let wanted = (uid != -1).then(|| ResourceUid::singleton().id_to_text(uid).to_string());
        godot_mcp_core::scene_text::with_ids(&text, &renamed, wanted.as_deref()).into_bytes()
    }
}

/// A copy of what a file holds, and whether what is loaded from it has other values.
pub(crate) fn read(path: &str, parameter: &'static str) -> Result<(Gd<Resource>, bool), ToolError> {
    scene_files::check_file(path, parameter)?;
    let mut loader = ResourceLoader::singleton();
    if !loader.exists(path) {
        let message = format!("\"{path}\" is no resource, or is not imported yet");
        return Err(ToolError::invalid(parameter, message)
            .hint("give a file that Godot loads as a resource, such as a .tres"));
    }
    let resource = fresh(path).ok_or_else(|| {
        ToolError::invalid(parameter, format!("\"{path}\" could not be loaded"))
            .hint("`get_errors` says why; repair the file")
    })?;
    let loaded = if loader.has_cached(path) { loader.get_cached_ref(path) } else { None };
    let unsaved = loaded.is_some_and(|it| difference(&it, &resource).is_some());
    Ok((resource, unsaved))
}

/// Refuses a path where no file can be written.
pub(crate) fn check_free(
    path: &str,
    overwrite: bool,
    parameter: &'static str,
) -> Result<(), ToolError> {
    let file = files::absolute(path);
    if file.is_dir() {
        return Err(ToolError::invalid(parameter, format!("\"{path}\" is a folder")));
    }
    let name = path.rsplit('/').next().unwrap_or_default();
    if name.starts_with('.') || name.is_empty() {
        return Err(ToolError::invalid(parameter, format!("\"{path}\" has no file name")));
    }
    if file.exists() && !overwrite {
        return Err(ToolError::new(Code::AlreadyExists, format!("\"{path}\" exists already"))
            .required(parameter)
            .hint("choose a free path, or change what is there"));
    }
    Ok(())
}

fn fresh(path: &str) -> Option<Gd<Resource>> {
    ResourceLoader::singleton().load_ex(path).cache_mode(CacheMode::IGNORE).done()
}

fn lost(path: &str, what: &str) -> ToolError {
    ToolError::internal(format!("\"{path}\" {what} after it was written"))
}

/// Brings what is loaded to what its file holds, defaults included.
pub(crate) fn take_from_file(loaded: &mut Gd<Resource>, path: &str) {
    let Some(fresh) = fresh(path) else { return };
    if loaded.get_class() != fresh.get_class() {
        return;
    }
    for property in differences(loaded, &fresh) {
        loaded.set(&property, &fresh.get(&property));
    }
}

/// The first stored property in which two resources differ.
fn difference(one: &Gd<Resource>, other: &Gd<Resource>) -> Option<String> {
    if one.get_class() != other.get_class() {
        return Some("class".to_owned());
    }
    differences(one, other).next()
}

/// Stored properties in which two resources of one class differ.
fn differences(one: &Gd<Resource>, other: &Gd<Resource>) -> impl Iterator<Item = String> + use<> {
    let slots = Slot::all(&one.clone().upcast::<Object>());
    let stored = slots.into_iter().filter(|it| {
        it.usage.is_set(PropertyUsageFlags::STORAGE)
            && !matches!(it.name.as_str(), "resource_path" | "resource_scene_unique_id")
    });
    let (one, other) = (one.clone(), other.clone());
    let names = stored.map(|it| it.name);
    names.filter(move |it| !values::same(&one.get(it), &other.get(it)))
}

fn is_built_in(resource: &Gd<Resource>) -> bool {
    let path = resource.get_path().to_string();
    path.is_empty() || path.contains("::")
}

/// Names the resources inside of another one, which the engine else does at random.
fn give_ids(value: &Variant, path: &str, ids: &mut HashSet<String>, depth: usize) {
    if depth == 0 {
        return;
    }
    match value.get_type() {
        VariantType::OBJECT => {
            let Ok(mut resource) = value.try_to::<Gd<Resource>>() else { return };
            let top = depth == MAX_DEPTH;
            if !top && !is_built_in(&resource) {
                return;
            }
            // A binary file names the top too.
            let id = resource.get("resource_scene_unique_id").stringify().to_string();
            if id.is_empty() || !ids.insert(id) {
                let class = resource.get_class();
                let digest = files::sha256(format!("{path} {}", ids.len()).as_bytes());
                let id = format!("{class}_{}", &digest[..5]);
                resource.set("resource_scene_unique_id", &GString::from(&id).to_variant());
                ids.insert(id);
            }
            for slot in Slot::all(&resource.clone().upcast::<Object>()) {
                if slot.usage.is_set(PropertyUsageFlags::STORAGE) {
                    give_ids(&resource.get(&slot.name), path, ids, depth - 1);
                }
            }
        }
        VariantType::ARRAY => {
            if let Ok(items) = value.try_to::<AnyArray>() {
                items.iter_shared().for_each(|it| give_ids(&it, path, ids, depth - 1));
            }
        }
        VariantType::DICTIONARY => {
            if let Ok(map) = value.try_to::<AnyDictionary>() {
                for (key, value) in map.iter_shared() {
                    give_ids(&key, path, ids, depth - 1);
                    give_ids(&value, path, ids, depth - 1);
                }
            }
        }
        _ => {}
    }
}

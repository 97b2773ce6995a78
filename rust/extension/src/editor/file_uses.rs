//! Who names a file: scenes, resources, scripts, shaders and configuration on disk, project settings.

use godot::builtin::{GString, PackedStringArray, Variant, VariantType};
use godot::classes::{ProjectSettings, ResourceLoader, ResourceUid};
use godot::meta::ToGodot;
use godot::obj::Singleton;
use godot_mcp_core::path_uses;
use serde_json::{Value, json};

use super::{file_search, files, project_settings, references, scene_tabs};

/// Text files in which a path is followed.
const TEXT: &[&str] = &["tscn", "tres", "gd", "cs", "gdshader", "gdshaderinc", "cfg", "json"];
/// Scripts and shaders, which also know relative paths.
const SOURCES: &[&str] = &["gd", "gdshader", "gdshaderinc"];
/// Files whose dependencies only the engine reads.
const BINARY: &[&str] = &["scn", "res"];
/// Uses that an answer lists; more are counted.
const MAX_LISTED: usize = 200;

/// How a file names another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// Text with the path.
    Path { lines: Vec<usize> },
    /// Text with nothing but the uid, which stays valid when the file moves.
    Uid { lines: Vec<usize> },
    /// A binary scene or resource.
    Binary,
}

#[derive(Clone, Debug)]
pub(crate) struct FileUse {
    pub(crate) file: String,
    pub(crate) how: How,
    /// Open in a tab, where memory counts instead of the file.
    pub(crate) open: bool,
}

impl FileUse {
    fn shown(&self) -> Value {
        let mut shown = match &self.how {
            How::Path { lines } => json!({"file": self.file, "lines": lines}),
            How::Uid { lines } => json!({"file": self.file, "by_uid_lines": lines}),
            How::Binary => json!({"file": self.file, "binary": true}),
        };
        if self.open {
            shown["open_scene"] = json!(true);
        }
        shown
    }
}

/// All uses of one file.
pub(crate) struct Uses {
    pub(crate) files: Vec<FileUse>,
    /// Settings that name it.
    pub(crate) settings: Vec<String>,
    pub(crate) uid: Option<String>,
}

impl Uses {
    pub(crate) fn of(path: &str) -> Self {
        let uid = uid_of(path);
        let project = files::absolute("res://");
        let open: Vec<String> = scene_tabs::open_scenes().into_iter().map(|it| it.path).collect();
        let mut found = Vec::new();
        for file in file_search::files(&project) {
            let Some(shown) = file_search::shown(&project, &file) else { continue };
            let own = shown == path || shown == files::PROJECT_FILE;
            if own || shown.starts_with("res://addons/godot_mcp/") {
                continue;
            }
            if let Some(how) = how(&shown, path, uid.as_deref()) {
                let open = open.contains(&shown);
                found.push(FileUse { file: shown, how, open });
            }
        }
        let settings = settings_with(path).into_iter().map(|it| it.0).collect();
        Self { files: found, settings, uid }
    }

    pub(crate) fn total(&self) -> usize {
        self.files.len() + self.settings.len()
    }

    /// As answers list them.
    pub(crate) fn shown(&self) -> Vec<Value> {
        let settings = self.settings.iter().map(|it| json!({"setting": it}));
        self.files.iter().map(FileUse::shown).chain(settings).take(MAX_LISTED).collect()
    }
}

fn extension(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |it| it.1)
}

fn folder(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some(("res:/", _)) | None => "res://",
        Some((folder, _)) => folder,
    }
}

fn how(file: &str, path: &str, uid: Option<&str>) -> Option<How> {
    let extension = extension(file);
    if BINARY.contains(&extension) {
        return depends_on(file, path, uid).then_some(How::Binary);
    }
    if !TEXT.contains(&extension) {
        return None;
    }
    let text = String::from_utf8(files::bytes(file)?).ok()?;
    let lines = match SOURCES.contains(&extension) {
        true => path_uses::script_lines(&text, folder(file), path),
        false => path_uses::lines(&text, path),
    };
    if !lines.is_empty() {
        return Some(How::Path { lines });
    }
    let lines = path_uses::lines(&text, uid?);
    (!lines.is_empty()).then_some(How::Uid { lines })
}

/// An entry of the engine's list is a path, or `uid::type::path`.
fn depends_on(file: &str, path: &str, uid: Option<&str>) -> bool {
    let entries = ResourceLoader::singleton().get_dependencies(file);
    entries.as_slice().iter().any(|it| {
        let entry = it.to_string();
        entry.split("::").any(|part| part == path || uid == Some(part))
    })
}

pub(crate) fn uid_of(path: &str) -> Option<String> {
    let id = ResourceLoader::singleton().get_resource_uid(path);
    // `ResourceUID.INVALID_ID`
    (id != -1).then(|| ResourceUid::singleton().id_to_text(id).to_string())
}

/// The text of a file with another path in it. None when it does not name the old one.
pub(crate) fn rewritten(file: &str, text: &str, old: &str, new: &str) -> Option<String> {
    match SOURCES.contains(&extension(file)) {
        true => path_uses::script_replaced(text, folder(file), old, new),
        false => path_uses::replaced(text, old, new),
    }
}

/// The text of a source file that moves: its relative paths count from another folder then.
pub(crate) fn moved_source(from: &str, text: &str) -> Option<String> {
    let absolute = godot_mcp_core::script_source::with_absolute_paths(text, folder(from));
    (SOURCES.contains(&extension(from)) && absolute != text).then_some(absolute)
}

/// Whether a text file has its own path in it.
pub(crate) fn names_itself(path: &str) -> bool {
    TEXT.contains(&extension(path)) && matches!(how(path, path, None), Some(How::Path { .. }))
}

/// Settings that name a file, with their values.
fn settings_with(path: &str) -> Vec<(String, Variant)> {
    let mut found = Vec::new();
    let settings = ProjectSettings::singleton();
    for name in project_settings::names() {
        let value = settings.get_setting(&name);
        if with_path(&value, path, "").is_some() {
            found.push((name, value));
        }
    }
    found
}

/// Settings that name a file, with the values that name another instead.
pub(crate) fn settings_rewritten(old: &str, new: &str) -> Vec<(String, Variant)> {
    let swap = |(name, value): (String, Variant)| Some((name, with_path(&value, old, new)?));
    settings_with(old).into_iter().filter_map(swap).collect()
}

/// A value with each text that is the path, or the path behind a `*`, replaced. None without one.
pub(crate) fn with_path(value: &Variant, old: &str, new: &str) -> Option<Variant> {
    let swap = |text: &str| -> Option<String> {
        if text == old {
            return Some(new.to_owned());
        }
        (text.strip_prefix('*') == Some(old)).then(|| format!("*{new}"))
    };
    references::replaced(value, &|it| match it.get_type() {
        VariantType::STRING => swap(&it.to_string()).map(|it| it.to_variant()),
        VariantType::PACKED_STRING_ARRAY => {
            let list = it.to::<PackedStringArray>();
            let texts: Vec<String> = list.as_slice().iter().map(ToString::to_string).collect();
            if !texts.iter().any(|it| swap(it).is_some()) {
                return None;
            }
            let new = texts.iter().map(|it| GString::from(&swap(it).unwrap_or_else(|| it.clone())));
            Some(new.collect::<PackedStringArray>().to_variant())
        }
        _ => None,
    })
}

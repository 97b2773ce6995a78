//! Scene files: which there are, whether one can be opened, and whether it changed behind the editor.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use godot::builtin::{Callable, GString, StringName, Variant};
use godot::classes::resource_loader::CacheMode;
use godot::classes::{
    EditorFileSystemDirectory, EditorInterface, EditorPlugin, Node, PackedScene, ResourceLoader,
    ResourceUid,
};
use godot::meta::ToGodot;
use godot::obj::{Gd, Singleton};
use godot_mcp_core::feed::Severity;
use godot_mcp_core::{Code, ToolError, suggest, untrusted};
use serde_json::json;

use super::{Editor, branch, files, scene_tabs};
use crate::host_node::drain_log;

/// Log lines that a load error quotes.
const MAX_LOG_LINES: usize = 10;

thread_local! {
    /// What the files of open scenes held when the editor read or wrote them.
    static SEEN: RefCell<HashMap<String, u64>> = RefCell::default();
}

/// Follows which scene files the editor reads and writes, for [`changed_outside`].
pub(crate) fn watch(plugin: &Gd<EditorPlugin>) {
    let mut plugin = plugin.clone();
    let on_path = |name: &'static str, act: fn(&str)| {
        Callable::from_fn(name, move |args: &[&Variant]| {
            if let Some(path) = args.first().and_then(|it| it.try_to::<GString>().ok()) {
                act(&path.to_string());
            }
        })
    };
    let changed = Callable::from_fn("mcp_scene_changed", |args: &[&Variant]| {
        scene_tabs::note_switch();
        if let Some(root) = args.first().and_then(|it| it.try_to::<Gd<Node>>().ok()) {
            see(&root.get_scene_file_path().to_string());
            scene_tabs::note_history(&root);
        }
    });
    plugin.connect("scene_changed", &changed);
    plugin.connect("scene_saved", &on_path("mcp_scene_saved", see_again));
    plugin.connect("scene_closed", &on_path("mcp_scene_closed", forget));
    for path in EditorInterface::singleton().get_open_scenes().as_slice() {
        see(&path.to_string());
    }
}

/// The scene was opened, or its tab came to the front: what counts is the first time.
fn see(path: &str) {
    let known = SEEN.with(|it| it.borrow().contains_key(path));
    if !known {
        see_again(path);
    }
}

fn see_again(path: &str) {
    if let Some(now) = fingerprint(path) {
        SEEN.with(|it| it.borrow_mut().insert(path.to_owned(), now));
    }
}

/// A file was moved; an open scene goes on with it at its new place.
pub(crate) fn moved(from: &str, to: &str) {
    if SEEN.with(|it| it.borrow().contains_key(from)) {
        forget(from);
        see_again(to);
    }
}

fn forget(path: &str) {
    SEEN.with(|it| it.borrow_mut().remove(path));
}

fn fingerprint(path: &str) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    files::bytes(path)?.hash(&mut hasher);
    Some(hasher.finish())
}

/// Whether the file of an open scene holds something else than when the editor last read or wrote
/// it. A file that is gone has nothing to lose.
pub(crate) fn changed_outside(path: &str) -> bool {
    let seen = SEEN.with(|it| it.borrow().get(path).copied());
    seen.is_some_and(|seen| fingerprint(path).is_some_and(|now| now != seen))
}

/// Open scripts that saving a scene would write too, since the editor saves both together.
pub(crate) struct UnsavedScripts {
    pub(crate) count: usize,
    /// Scripts whose file is newer than what the editor has of it.
    pub(crate) outdated: Vec<String>,
}

pub(crate) fn unsaved_scripts() -> UnsavedScripts {
    let mut found = UnsavedScripts { count: 0, outdated: Vec::new() };
    let Some(editor) = EditorInterface::singleton().get_script_editor() else { return found };
    for page in editor.get_open_script_editors().iter_shared() {
        let Some(text) = page.get_base_editor() else { continue };
        let number = |method: &str| text.clone().call(method, &[]).try_to::<i64>().unwrap_or(0);
        let has_versions = text.has_method("get_saved_version");
        found.count +=
            usize::from(has_versions && number("get_version") != number("get_saved_version"));
    }
    if found.count > 0 {
        for script in editor.get_open_scripts().iter_shared() {
            let path = script.get_path().to_string();
            let known = script.get_source_code().to_string();
            if files::bytes(&path).is_some_and(|it| it != known.as_bytes()) {
                found.outdated.push(path);
            }
        }
    }
    found
}

/// Why the engine cannot save a scene: it does not pack an instance whose scene is gone.
pub(crate) fn unsavable(root: &Gd<Node>) -> Option<String> {
    let own = |it: &Gd<Node>| it != root && it.get_owner().as_ref() == Some(root);
    lost_instance(root, &own)
}

/// The first node below that is an instance of a scene that is gone, of those that count.
fn lost_instance(branch: &Gd<Node>, counts: &dyn Fn(&Gd<Node>) -> bool) -> Option<String> {
    let mut loader = ResourceLoader::singleton();
    branch::nodes(branch).into_iter().find_map(|node| {
        let file = node.get_scene_file_path();
        let gone =
            !file.is_empty() && counts(&node) && !loader.has_cached(&file) && !loader.exists(&file);
        gone.then(|| {
            format!("\"{}\" is an instance of \"{file}\", which does not exist", node.get_name())
        })
    })
}

/// Refuses a branch that the engine cannot copy, for the same reason.
pub(crate) fn check_copyable(branch: &Gd<Node>) -> Result<(), ToolError> {
    match lost_instance(branch, &|_| true) {
        None => Ok(()),
        Some(why) => Err(ToolError::not_found(format!("the branch cannot be copied: {why}"))
            .hint("bring the file back; nothing was changed")),
    }
}

/// As `unsavable`, as a refusal.
pub(crate) fn check_savable(root: &Gd<Node>) -> Result<(), ToolError> {
    match unsavable(root) {
        None => Ok(()),
        Some(why) => Err(ToolError::not_found(format!("the scene cannot be saved: {why}"))
            .hint("bring the file back, or delete the node; nothing was changed")),
    }
}

/// Every file that the editor's file system knows, with its type.
pub(crate) fn each_file(visit: &mut dyn FnMut(&str, &str)) {
    let files = EditorInterface::singleton().get_resource_filesystem();
    if let Some(root) = files.and_then(|it| it.get_filesystem()) {
        each_file_below(&root, visit);
    }
}

fn each_file_below(folder: &Gd<EditorFileSystemDirectory>, visit: &mut dyn FnMut(&str, &str)) {
    for index in 0..folder.get_file_count() {
        visit(&folder.get_file_path(index).to_string(), &folder.get_file_type(index).to_string());
    }
    for index in 0..folder.get_subdir_count() {
        if let Some(below) = folder.get_subdir(index) {
            each_file_below(&below, visit);
        }
    }
}

/// Refuses a file that is not there, with near scene files.
pub(crate) fn check_exists(path: &str, parameter: &'static str) -> Result<(), ToolError> {
    if files::absolute(path).is_file() {
        return Ok(());
    }
    let mut scenes = Vec::new();
    each_file(&mut |file, kind| {
        if kind == "PackedScene" {
            scenes.push(file.to_owned());
        }
    });
    let name = |it: &str| it.rsplit('/').next().unwrap_or_default().to_owned();
    let mut near = suggest::near(path, scenes.iter().map(String::as_str), 5);
    if near.is_empty() {
        let names: Vec<String> = scenes.iter().map(|it| name(it)).collect();
        let names = suggest::near(&name(path), names.iter().map(String::as_str), 5);
        near = scenes.into_iter().filter(|it| names.contains(&name(it))).take(5).collect();
    }
    let error = ToolError::not_found(format!("no file \"{path}\"")).required(parameter);
    Err(if near.is_empty() {
        error.hint("`list_scenes` names the scene files")
    } else {
        error.suggest(near)
    })
}

/// Refuses a file that is not there, with near files of any kind.
pub(crate) fn check_file(path: &str, parameter: &'static str) -> Result<(), ToolError> {
    if files::absolute(path).is_file() {
        return Ok(());
    }
    let mut all = Vec::new();
    each_file(&mut |file, _| all.push(file.to_owned()));
    let near = suggest::near(path, all.iter().map(String::as_str), 5);
    let error = ToolError::not_found(format!("no file \"{path}\"")).required(parameter);
    Err(match near.is_empty() {
        true => error.hint("give the res:// path of a file of the project"),
        false => error.suggest(near),
    })
}

/// Whether the file's extension is one for scenes that the editor edits and saves.
pub(crate) fn is_scene_file(path: &str) -> bool {
    let extension = path.rsplit_once('.').map(|it| it.1.to_lowercase()).unwrap_or_default();
    matches!(extension.as_str(), "tscn" | "scn")
}

/// Refuses a path where no new scene can be written.
pub(crate) fn check_new(path: &str, parameter: &'static str) -> Result<(), ToolError> {
    if !is_scene_file(path) {
        return Err(ToolError::invalid(
            parameter,
            format!("\"{path}\" does not end in .tscn or .scn"),
        ));
    }
    if path.rsplit('/').next().is_some_and(|it| it.starts_with('.')) {
        return Err(ToolError::invalid(parameter, format!("\"{path}\" has no file name")));
    }
    if files::absolute(path).exists() {
        return Err(ToolError::new(Code::AlreadyExists, format!("\"{path}\" exists already"))
            .required(parameter)
            .hint("choose a free path"));
    }
    Ok(())
}

/// Loads a scene from its file as it is now, or says what is wrong with it.
///
/// The editor answers a broken scene with a dialog that a human has to close, so this comes first.
pub(crate) fn load(
    editor: &Editor,
    path: &str,
    parameter: &'static str,
) -> Result<Gd<PackedScene>, ToolError> {
    check_exists(path, parameter)?;
    let no_scene = || {
        ToolError::invalid(parameter, format!("\"{path}\" is not a scene"))
            .hint("give a .tscn or .scn file; `list_scenes` names them")
    };
    let mut loader = ResourceLoader::singleton();
    if !is_scene_file(path) {
        let imported = files::absolute(&format!("{path}.import")).is_file();
        if !imported || !loader.exists_ex(path).type_hint("PackedScene").done() {
            return Err(no_scene());
        }
    }
    if path.ends_with(".tscn") && !files::bytes(path).is_some_and(|it| has_scene_header(&it)) {
        return Err(no_scene());
    }
    let missing = missing_dependencies(path);
    if !missing.is_empty() {
        let names = missing.iter().map(|it| format!("\"{it}\"")).collect::<Vec<_>>().join(", ");
        return Err(ToolError::not_found(format!(
            "\"{path}\" needs files that are missing: {names}"
        ))
        .required(parameter)
        .hint("restore these files, or take the references out of the scene file")
        .details(json!({"missing": missing})));
    }
    drain_log(editor.app());
    let cursor = editor.shared().feed.cursor();
    let loaded = loader.load_ex(path).cache_mode(CacheMode::IGNORE).done();
    match loaded.map(|it| it.try_cast::<PackedScene>()) {
        Some(Ok(scene)) if scene.can_instantiate() => Ok(scene),
        Some(Err(_)) => Err(no_scene()),
        _ => {
            let log = log_since(editor, cursor);
            Err(ToolError::invalid(parameter, format!("\"{path}\" is broken and does not load"))
                .hint("see `details.log` for where; repair the file")
                .details(json!({"log": untrusted::wrap(path, &log)})))
        }
    }
}

/// Errors that were logged after `cursor`, one a line.
pub(crate) fn log_since(editor: &Editor, cursor: u64) -> String {
    drain_log(editor.app());
    let page = editor.shared().feed.page(cursor, Severity::Error, MAX_LOG_LINES);
    page.entries.iter().map(|it| it.message.as_str()).collect::<Vec<_>>().join("\n")
}

fn has_scene_header(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4_096)]);
    let first = text.lines().map(str::trim).find(|it| !it.is_empty() && !it.starts_with(';'));
    first.is_some_and(|it| it.trim_start_matches('\u{feff}').starts_with("[gd_scene"))
}

/// Files that the scene names and that are not there. An entry of the engine's list is a path, or
/// `uid::type::path`.
fn missing_dependencies(path: &str) -> Vec<String> {
    let mut loader = ResourceLoader::singleton();
    let mut missing = Vec::new();
    for entry in loader.get_dependencies(path).as_slice() {
        let entry = entry.to_string();
        let parts: Vec<&str> = entry.split("::").collect();
        let (first, last) =
            (parts.first().copied().unwrap_or(""), parts.last().copied().unwrap_or(""));
        let uids = ResourceUid::singleton();
        let by_uid = first.starts_with("uid://") && uids.has_id(uids.text_to_id(first));
        if !by_uid && !last.is_empty() && !loader.exists(last) {
            missing.push(last.to_owned());
        }
    }
    missing
}

/// Whether the scene, or one that it instances at any depth, has this file.
pub(crate) fn contains_scene(scene: &Gd<PackedScene>, path: &str) -> bool {
    let mut seen = Vec::new();
    contains_below(scene, path, &mut seen)
}

fn contains_below(scene: &Gd<PackedScene>, path: &str, seen: &mut Vec<String>) -> bool {
    let own = scene.get_path().to_string();
    if own == path {
        return true;
    }
    if seen.contains(&own) && !own.is_empty() {
        return false;
    }
    seen.push(own);
    let Some(state) = scene.get_state() else { return false };
    (0..state.get_node_count())
        .filter_map(|it| state.get_node_instance(it))
        .any(|it| contains_below(&it, path, seen))
}

/// Name of the scene's root as its file has it.
pub(crate) fn root_name(scene: &Gd<PackedScene>) -> StringName {
    scene
        .get_state()
        .filter(|it| it.get_node_count() > 0)
        .map(|it| it.get_node_name(0))
        .unwrap_or_default()
}

/// Name for the root of a new scene file, as the editor would choose it: `my_level.tscn` gives
/// `MyLevel`.
pub(crate) fn default_name(path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or_default();
    let stem = file.rsplit_once('.').map_or(file, |it| it.0);
    let name = GString::from(stem).to_variant().call("to_pascal_case", &[]).to_string();
    let name: String =
        name.chars().filter(|it| !".:@/\"%".contains(*it) && !it.is_control()).collect();
    if name.trim().is_empty() { "Root".to_owned() } else { name.trim().to_owned() }
}

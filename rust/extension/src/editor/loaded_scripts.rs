//! Scripts in memory: which there are, and bringing them to the text of their files.

use std::collections::{BTreeMap, BTreeSet};

use godot::classes::{ProjectSettings, ResourceLoader, ResourceUid, Script};
use godot::global::Error;
use godot::obj::{Gd, Singleton};
use godot_mcp_core::script_source::{self, Target};
use serde_json::{Map, Value, json};

use super::{files, scene_files, script_files, script_tabs};

/// Scripts that one edit reloads; more are counted. A reload takes up to 10 ms.
const MAX_RELOADED: usize = 200;
/// Length of a chain of base scripts that is followed; the engine refuses longer ones by far.
const MAX_DEPTH: usize = 100;

/// What a reload came to.
#[derive(Default)]
pub(crate) struct Reloaded {
    /// In the order in which they were reloaded.
    pub(crate) scripts: Vec<String>,
    /// Those of them that do not compile now, but for the changed ones themselves.
    pub(crate) broken: Vec<String>,
    /// Dependent scripts beyond the limit.
    pub(crate) left_out: usize,
}

impl Reloaded {
    /// Adds it to an answer. Says nothing when nothing was reloaded.
    pub(crate) fn tell(self, fields: &mut Map<String, Value>) {
        if !self.scripts.is_empty() {
            fields.insert("reloaded".into(), json!(self.scripts));
        }
        if !self.broken.is_empty() {
            fields.insert("broken_dependents".into(), json!(self.broken));
        }
        if self.left_out > 0 {
            fields.insert("not_reloaded".into(), json!(self.left_out));
        }
    }
}

pub(crate) fn is_script(path: &str) -> bool {
    path.ends_with(".gd")
}

/// A script in memory.
struct Loaded {
    path: String,
    script: Gd<Script>,
    source: String,
}

/// Takes over the files of scripts that are loaded, then reloads them and the scripts that depend on
/// them: those that extend one, at any distance, and those that name one of these.
pub(crate) fn reload(changed: &[String]) -> Reloaded {
    let mut targets: Vec<Target> = Vec::new();
    let mut loaded = loaded();
    for path in changed {
        let known = loaded.iter_mut().find(|it| it.path == *path);
        let mut names: Vec<String> = autoloads_of(path);
        // The old name is looked for too: who names it is broken now.
        names.extend(known.as_ref().map(|it| it.script.get_global_name().to_string()));
        if let Some(bytes) = files::bytes(path) {
            let text = script_files::decode(&bytes);
            names.extend(script_source::header(&text).class_name);
            if let Some(known) = known {
                known.script.set_source_code(&text);
                known.source = text;
            }
        }
        names.retain(|it| !it.is_empty());
        names.dedup();
        targets.push(Target { path: path.clone(), uid: uid_of(path), names });
    }

    let affected = affected(&loaded, changed, targets);
    let mut done =
        Reloaded { left_out: affected.len().saturating_sub(MAX_RELOADED), ..Reloaded::default() };
    for index in affected.into_iter().take(MAX_RELOADED) {
        let Loaded { path, script, .. } = &mut loaded[index];
        let result = script.reload_ex().keep_state(true).done();
        if result != Error::OK && !changed.contains(path) {
            done.broken.push(path.clone());
        }
        done.scripts.push(path.clone());
    }
    for path in changed {
        if let Some(it) = loaded.iter().find(|it| it.path == *path) {
            script_tabs::follow(path, &it.source);
        }
    }
    done
}

fn loaded() -> Vec<Loaded> {
    let loader = ResourceLoader::singleton();
    let mut paths = BTreeSet::new();
    scene_files::each_file(&mut |path, _| {
        if is_script(path) {
            paths.insert(path.to_owned());
        }
    });
    let mut list = Vec::new();
    for path in paths {
        if !loader.has_cached(&path) {
            continue;
        }
        let resource = loader.get_cached_ref(&path);
        if let Some(script) = resource.and_then(|it| it.try_cast::<Script>().ok()) {
            let source = script.get_source_code().to_string();
            list.push(Loaded { path, script, source });
        }
    }
    list
}

/// Indices of scripts to reload, a base before what extends it.
fn affected(loaded: &[Loaded], changed: &[String], mut targets: Vec<Target>) -> Vec<usize> {
    let mut bases = BTreeMap::new();
    for (index, it) in loaded.iter().enumerate() {
        bases.insert(index, base_of(loaded, it));
    }
    let is_changed = |index: &usize| changed.contains(&loaded[*index].path);
    let mut inheriting: BTreeSet<usize> = (0..loaded.len()).filter(is_changed).collect();
    loop {
        let more: Vec<usize> = bases
            .iter()
            .filter(|(index, base)| {
                base.is_some_and(|it| inheriting.contains(&it)) && !inheriting.contains(index)
            })
            .map(|it| *it.0)
            .collect();
        if more.is_empty() {
            break;
        }
        inheriting.extend(more);
    }
    for index in inheriting.iter().filter(|it| !is_changed(it)) {
        let it = &loaded[*index];
        let names = vec![it.script.get_global_name().to_string()];
        let names = names.into_iter().filter(|it| !it.is_empty()).collect();
        targets.push(Target { path: it.path.clone(), uid: uid_of(&it.path), names });
    }
    let mut all = inheriting.clone();
    for (index, it) in loaded.iter().enumerate() {
        let folder = script_source::folder_of(&it.path);
        if !all.contains(&index)
            && targets.iter().any(|target| script_source::mentions(&it.source, folder, target))
        {
            all.insert(index);
        }
    }
    let depth = |mut index: usize| {
        let mut depth = 0;
        while let Some(base) = bases[&index]
            && depth < MAX_DEPTH
        {
            (index, depth) = (base, depth + 1);
        }
        depth
    };
    let mut order: Vec<usize> = all.into_iter().collect();
    // What was changed and what inherits from it comes before what only names it.
    order.sort_by_key(|it| (!inheriting.contains(it), depth(*it)));
    order
}

/// Index of the script that this one extends, by its text.
fn base_of(loaded: &[Loaded], script: &Loaded) -> Option<usize> {
    let header = script_source::header(&script.source);
    let extends = header.extends?;
    if header.extends_path {
        let path = script_source::absolute(&extends, script_source::folder_of(&script.path));
        let path = by_uid(&path).unwrap_or(path);
        return loaded.iter().position(|it| it.path == path);
    }
    let name = extends.split('.').next().unwrap_or_default();
    loaded.iter().position(|it| it.script.get_global_name() == name)
}

fn by_uid(path: &str) -> Option<String> {
    let uids = ResourceUid::singleton();
    let id = path.starts_with("uid://").then(|| uids.text_to_id(path))?;
    uids.has_id(id).then(|| uids.get_id_path(id).to_string())
}

fn uid_of(path: &str) -> String {
    let id = ResourceLoader::singleton().get_resource_uid(path);
    match id >= 0 {
        true => ResourceUid::singleton().id_to_text(id).to_string(),
        false => String::new(),
    }
}

/// Names of the autoloads that run this script.
fn autoloads_of(path: &str) -> Vec<String> {
    let settings = ProjectSettings::singleton();
    let mut names = Vec::new();
    for info in settings.get_property_list().iter_shared() {
        let Some(setting) = info.get("name").map(|it| it.to_string()) else { continue };
        let Some(name) = setting.strip_prefix("autoload/") else { continue };
        let value = settings.get_setting(&setting).to_string();
        let value = value.trim_start_matches('*');
        if value == path || by_uid(value).as_deref() == Some(path) {
            names.push(name.to_owned());
        }
    }
    names
}

//! Which classes of the project are extensions, and how one is loaded.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use godot::builtin::{Callable, GString, StringName, VarArray, VarDictionary, Variant};
use godot::classes::resource_loader::CacheMode;
use godot::classes::{EditorInterface, ProjectSettings, RefCounted, ResourceLoader, Script};
use godot::meta::ToGodot;
use godot::obj::{Gd, Singleton};
use godot_mcp_core::feed::Severity;

use super::{Extension, Fault, ScriptTool, offers, options};
use crate::app::App;
use crate::editor::files;
use crate::host_node::drain_log;

const BASE: &str = "MCPToolkitExtension";
const PREFIX: &str = "MCPToolkit";
const OWN_FOLDER: &str = "res://addons/godot_mcp/";
const REGISTRY: &str = "res://addons/godot_mcp/api/command_registry.gd";
const CONTEXT: &str = "res://addons/godot_mcp/api/extension_context.gd";
/// Errors of one script that are told.
const MAX_ERRORS: usize = 5;

/// Extensions by class, with their scripts (X2.1 to X2.3).
pub(crate) fn candidates() -> BTreeMap<String, String> {
    let text =
        |it: &VarDictionary, key: &str| it.get(key).map(|it| it.to_string()).unwrap_or_default();
    let list = ProjectSettings::singleton().get_global_class_list();
    let classes: Vec<VarDictionary> = list.iter_shared().collect();
    let bases: HashMap<String, String> =
        classes.iter().map(|it| (text(it, "class"), text(it, "base"))).collect();
    let derives = |class: &str| {
        let mut at = bases.get(class);
        // Bounded, since a broken list may go round in a circle.
        for _ in 0..bases.len() {
            match at {
                Some(base) if base == BASE => return true,
                Some(base) => at = bases.get(base),
                None => return false,
            }
        }
        false
    };
    let mut found = BTreeMap::new();
    for it in &classes {
        let (class, path) = (text(it, "class"), text(it, "path"));
        let is_abstract = it.get("is_abstract").is_some_and(|it| it.booleanize());
        let is_leaf = !bases.values().any(|base| *base == class);
        let is_csharp = text(it, "language") == "C#" && class.starts_with(PREFIX);
        let wanted = derives(&class) && is_leaf && !is_abstract || is_csharp;
        // The list may still name a class whose file is gone.
        let is_there = || files::absolute(&path).is_file();
        if wanted && !path.starts_with(OWN_FOLDER) && is_there() && !is_in_disabled_addon(&path) {
            found.insert(class, path);
        }
    }
    found
}

fn is_in_disabled_addon(path: &str) -> bool {
    let Some(addon) = path.strip_prefix("res://addons/").and_then(|it| it.split('/').next()) else {
        return false;
    };
    let config = files::absolute(&format!("res://addons/{addon}/plugin.cfg"));
    config.is_file() && !EditorInterface::singleton().is_plugin_enabled(addon)
}

/// What a script file holds; 0 when it is gone.
pub(crate) fn hash_of(path: &str) -> u64 {
    files::bytes(path).map_or(0, |bytes| {
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        hasher.finish()
    })
}

/// Compiles a script as its file is now, apart from what the editor has loaded of it: calls of the old
/// version end undisturbed.
pub(crate) fn compile(app: &Rc<App>, path: &str) -> Result<Gd<Script>, Vec<Fault>> {
    drain_log(app);
    let cursor = app.shared.feed.cursor();
    let loaded = ResourceLoader::singleton().load_ex(path).cache_mode(CacheMode::IGNORE).done();
    let script =
        loaded.and_then(|it| it.try_cast::<Script>().ok()).filter(|it| it.can_instantiate());
    script.ok_or_else(|| {
        let mut faults = errors_since(app, cursor, path);
        if faults.is_empty() {
            faults
                .push(Fault::new("the script cannot be made an object of: is it a @tool script?"));
        }
        faults
    })
}

fn errors_since(app: &Rc<App>, cursor: u64, path: &str) -> Vec<Fault> {
    drain_log(app);
    let page = app.shared.feed.page(cursor, Severity::Error, 100);
    let of_script = |it: &&godot_mcp_core::feed::Entry| it.source == "script";
    let faults = page.entries.iter().filter(of_script).take(MAX_ERRORS).map(|it| {
        let elsewhere = if it.file == path { String::new() } else { format!(" ({})", it.file) };
        Fault { message: format!("{}{elsewhere}", it.message), line: it.line }
    });
    faults.collect()
}

/// Loads an extension and lets it register.
pub(super) fn load(app: &Rc<App>, class: &str, path: &str, hash: u64) -> Extension {
    let mut extension = Extension::new(path, hash);
    let mut script = match compile(app, path) {
        Ok(script) => script,
        Err(faults) => return Extension { faults, ..extension },
    };
    let cursor = app.shared.feed.cursor();
    let instance = script.call("new", &[]).try_to::<Gd<RefCounted>>().ok();
    let Some(mut instance) = instance else {
        extension.faults = errors_since(app, cursor, path);
        extension.faults.push(Fault::new("it cannot be made an object of without arguments"));
        return extension;
    };
    let Some(mut registry) = new_registry() else {
        extension.faults.push(Fault::new(format!("{REGISTRY} does not load")));
        return extension;
    };
    registry.set("_class", &class.to_variant());
    let method = if instance.has_method("Register") { "Register" } else { "register" };
    if !instance.has_method(method) {
        extension.faults.push(Fault::new("it has no method register(registry, server)"));
        return extension;
    }
    let server = app.host();
    instance.call(method, &[registry.to_variant(), server.to_variant()]);
    registry.set("_closed", &true.to_variant());
    extension.faults.extend(errors_since(app, cursor, path));
    let declared = registry.get("_declared").try_to::<VarArray>().unwrap_or_default();
    for entry in declared.iter_shared() {
        let Some((method, handler, options)) = parts(&entry) else { continue };
        match options::tool(class, &method, handler, &options) {
            Ok((tool, wanted, notes)) => {
                extension.faults.extend(notes);
                app.extensions.settings.declare(wanted);
                let owner = Some(instance.clone());
                extension.tools.extend(tool.map(|it| Rc::new(ScriptTool { owner, ..it })));
            }
            Err(fault) => extension.faults.push(fault),
        }
    }
    for given in offers::list(&registry, "_prompts") {
        match offers::prompt(&given) {
            Ok(prompt) => extension.prompts.push(prompt),
            Err(fault) => extension.faults.push(fault),
        }
    }
    for given in offers::list(&registry, "_resources") {
        match offers::resource(class, &given, &instance) {
            Ok(resource) => extension.resources.push(Rc::new(resource)),
            Err(fault) => extension.faults.push(fault),
        }
    }
    if instance.has_method("activate") {
        let cursor = app.shared.feed.cursor();
        match new_context(app) {
            Some(context) => {
                instance.call("activate", &[context.to_variant()]);
                extension.context = Some(context);
            }
            None => extension.faults.push(Fault::new(format!("{CONTEXT} does not load"))),
        }
        extension.faults.extend(errors_since(app, cursor, path));
    }
    extension.instance = Some(instance);
    extension
}

fn parts(entry: &Variant) -> Option<(String, Callable, VarDictionary)> {
    let entry = entry.try_to::<VarArray>().ok()?;
    Some((
        entry.get(0)?.try_to::<GString>().ok()?.to_string(),
        entry.get(1)?.try_to().ok()?,
        entry.get(2)?.try_to().ok()?,
    ))
}

fn new_context(app: &Rc<App>) -> Option<Gd<RefCounted>> {
    let mut script = ResourceLoader::singleton().load(CONTEXT)?;
    let mut context: Gd<RefCounted> = script.call("new", &[]).try_to().ok()?;
    let host = app.host();
    // The plugin is the parent of its node.
    context.set("_plugin", &host.get_parent().to_variant());
    context.set("_host", &host.to_variant());
    Some(context)
}

fn new_registry() -> Option<Gd<RefCounted>> {
    let mut script = ResourceLoader::singleton().load(REGISTRY)?;
    script.call(&StringName::from("new"), &[]).try_to().ok()
}

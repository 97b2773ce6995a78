//! Questions about classes, those of the engine and those that scripts declare with `class_name`.

use godot::classes::{ClassDb, ProjectSettings, Script};
use godot::obj::Singleton as _;
use godot::prelude::*;

/// Inheritance that is followed before a chain counts as endless.
const MAX_CHAIN: usize = 64;

/// A class declared by a script.
pub(crate) struct ScriptClass {
    pub(crate) base: String,
    pub(crate) path: String,
}

pub(crate) fn is_native(class: &str) -> bool {
    ClassDb::singleton().class_exists(class)
}

pub(crate) fn script_class(name: &str) -> Option<ScriptClass> {
    let list = ProjectSettings::singleton().get_global_class_list();
    let text = |info: &VarDictionary, key: &str| {
        info.get(key).map(|it| it.stringify().to_string()).unwrap_or_default()
    };
    list.iter_shared()
        .find(|it| text(it, "class") == name)
        .map(|it| ScriptClass { base: text(&it, "base"), path: text(&it, "path") })
}

/// Names of the classes that scripts declare.
pub(crate) fn script_class_names() -> Vec<String> {
    let list = ProjectSettings::singleton().get_global_class_list();
    list.iter_shared()
        .filter_map(|it| it.get("class"))
        .map(|it| it.stringify().to_string())
        .collect()
}

/// The engine's class under a class of either sort.
pub(crate) fn native_base(class: &str) -> Option<String> {
    let mut class = class.to_owned();
    for _ in 0..MAX_CHAIN {
        if is_native(&class) {
            return Some(class);
        }
        class = script_class(&class)?.base;
    }
    None
}

/// Whether `class` is `wanted` or derives from it, through scripts and engine classes alike.
pub(crate) fn derives(class: &str, wanted: &str) -> bool {
    let mut class = class.to_owned();
    for _ in 0..MAX_CHAIN {
        if class == wanted {
            return true;
        }
        if is_native(&class) {
            return is_native(wanted) && ClassDb::singleton().is_parent_class(&class, wanted);
        }
        match script_class(&class) {
            Some(it) => class = it.base,
            None => return false,
        }
    }
    false
}

/// Whether `object` is a `wanted`: an engine class, a script class, or the path of a script.
pub(crate) fn is_a(object: &Gd<Object>, wanted: &str) -> bool {
    if is_native(wanted) {
        return object.is_class(wanted);
    }
    let mut script = object.get_script();
    for _ in 0..MAX_CHAIN {
        let Some(it) = script else { return false };
        if it.get_global_name() == wanted || it.get_path() == wanted {
            return true;
        }
        script = it.get_base_script();
    }
    false
}

/// The name of the object's class as people know it: of its script when that has one.
pub(crate) fn name_of(object: &Gd<Object>) -> String {
    if let Some(script) = object.get_script()
        && let Some(name) = global_name(&script)
    {
        return name;
    }
    object.get_class().to_string()
}

pub(crate) fn global_name(script: &Gd<Script>) -> Option<String> {
    let name = script.get_global_name().to_string();
    (!name.is_empty()).then_some(name)
}

/// Whether a class of the engine declares the property.
pub(super) fn has_native_property(class: &str, property: &str) -> bool {
    !ClassDb::singleton().class_get_property_getter(class, property).is_empty()
}

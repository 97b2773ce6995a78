//! Settings that tools of the project declare (X13.3): in the settings of the project, and in those of the
//! editor, which are the user's own and win. Secrets are the user's alone and never part of an answer.

use std::cell::RefCell;
use std::collections::BTreeMap;

use godot::builtin::{GString, VarArray, VarDictionary, Variant, VariantType};
use godot::classes::{EditorInterface, ProjectSettings};
use godot::meta::ToGodot;
use godot::obj::{EngineEnum, Singleton};
use godot::register::info::PropertyHint;
use serde_json::{Map, Value};

const ROOT: &str = "mcp_toolkit";
/// A shorter one is part of too much else to be taken out.
const SHORTEST_SECRET: usize = 4;

/// What is declared, by `<what>/<key>`. Main thread.
#[derive(Default)]
pub(crate) struct Settings(RefCell<BTreeMap<String, Declared>>);

struct Declared {
    default: Variant,
    secret: bool,
}

/// One setting of the options of a tool.
pub(super) struct Wanted {
    name: String,
    default: Variant,
    hint: String,
    secret: bool,
}

impl Wanted {
    /// All of the options of a tool in this namespace.
    pub(super) fn all(namespace: &str, options: &VarDictionary) -> Result<Vec<Self>, String> {
        let list = options.get("settings").and_then(|it| it.try_to::<VarArray>().ok());
        let list = list.unwrap_or_default();
        list.iter_shared()
            .map(|it| {
                let it = it.try_to::<VarDictionary>().map_err(|it| it.to_string())?;
                let text = |key: &str| it.get(key).map(|it| it.to_string()).unwrap_or_default();
                let key = text("key");
                let is_name =
                    |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '_';
                if key.is_empty() || !key.chars().all(is_name) {
                    return Err(format!("the setting \"{key}\" is not named in lower case"));
                }
                let secret = it.get("secret").is_some_and(|it| it.booleanize());
                let default = it.get("default").unwrap_or_default();
                if secret && !default.stringify().is_empty() && !default.is_nil() {
                    return Err(format!("the secret \"{key}\" has a default, so it is none"));
                }
                let default = if secret { GString::new().to_variant() } else { default };
                let name = format!("{namespace}/{key}");
                Ok(Self { name, default, hint: text("hint"), secret })
            })
            .collect()
    }
}

impl Settings {
    /// Shows settings to the human, with their defaults.
    pub(super) fn declare(&self, wanted: Vec<Wanted>) {
        for Wanted { name, default, hint, secret } in wanted {
            let path = format!("{ROOT}/{name}");
            let mut info = VarDictionary::new();
            info.set("name", path.as_str());
            info.set("type", i64::from(default.get_type().ord()));
            let kind = match (secret, default.get_type()) {
                (true, _) => PropertyHint::PASSWORD,
                (_, VariantType::STRING) => PropertyHint::PLACEHOLDER_TEXT,
                _ => PropertyHint::NONE,
            };
            info.set("hint", i64::from(kind.ord()));
            info.set("hint_string", hint.as_str());
            if !secret {
                let mut project = ProjectSettings::singleton();
                if !project.has_setting(&path) {
                    project.set_setting(&path, &default);
                }
                project.set_initial_value(&path, &default);
                project.add_property_info(&info);
            }
            if let Some(mut user) = EditorInterface::singleton().get_editor_settings() {
                if !user.has_setting(&path) {
                    user.set_setting(&path, &default);
                }
                user.set_initial_value(&path, &default, false);
                user.add_property_info(&info);
            }
            self.0.borrow_mut().insert(name, Declared { default, secret });
        }
    }

    /// The user's value, else the project's. Nil for what nobody has declared.
    pub(crate) fn get(&self, name: &str) -> Variant {
        let declared = self.0.borrow();
        let Some(declared) = declared.get(name) else { return Variant::nil() };
        let path = format!("{ROOT}/{name}");
        let user = EditorInterface::singleton().get_editor_settings();
        let own = user.filter(|it| it.has_setting(&path)).map(|it| it.get_setting(&path));
        match own.filter(|it| *it != declared.default) {
            Some(own) => own,
            None if declared.secret => declared.default.clone(),
            None => ProjectSettings::singleton().get_setting(&path),
        }
    }

    /// Takes secrets out of what a handler has said.
    pub(super) fn hide_secrets(&self, fields: &mut Map<String, Value>) {
        for (name, text) in self.secrets() {
            fields.values_mut().for_each(|it| hide(it, &text, &name));
        }
    }

    pub(super) fn hide_in(&self, text: &mut String) {
        for (name, secret) in self.secrets() {
            *text = text.replace(&secret, &mask(&name));
        }
    }

    fn secrets(&self) -> Vec<(String, String)> {
        let names: Vec<String> = {
            let declared = self.0.borrow();
            declared.iter().filter(|it| it.1.secret).map(|it| it.0.clone()).collect()
        };
        let values = names.into_iter().map(|it| (self.get(&it).stringify().to_string(), it));
        values.filter(|it| it.0.len() >= SHORTEST_SECRET).map(|(text, name)| (name, text)).collect()
    }
}

fn mask(name: &str) -> String {
    format!("<secret {name}>")
}

fn hide(value: &mut Value, secret: &str, name: &str) {
    match value {
        Value::String(text) if text.contains(secret) => *text = text.replace(secret, &mask(name)),
        Value::Array(items) => items.iter_mut().for_each(|it| hide(it, secret, name)),
        Value::Object(map) => map.values_mut().for_each(|it| hide(it, secret, name)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// X13.3: at any depth.
    #[test]
    fn secrets_are_taken_out() {
        let mut value = json!({"a": ["x key-1234 y", {"b": "key-1234"}], "c": 7, "d": "key-12"});
        hide(&mut value, "key-1234", "maps/key");
        let wanted = json!({"a": ["x <secret maps/key> y", {"b": "<secret maps/key>"}], "c": 7, "d": "key-12"});
        assert_eq!(value, wanted);
    }
}

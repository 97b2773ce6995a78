//! What a plan would do, as text: two plans that differ in anything have different ones. An approval
//! is bound to it (S2 step 8), and unlike what a preview prints it leaves nothing out.

use std::fmt::Write;

use godot::builtin::{AnyArray, StringName, VarDictionary, Variant, VariantType};
use godot::classes::{Node, Object, Resource};
use godot::obj::Gd;
use godot_mcp_core::digest;

use super::{Edit, Op, Scope};

/// Deeper containers are told by their text.
const MAX_DEPTH: u32 = 32;

impl Edit {
    pub(crate) fn fingerprint(&self) -> String {
        let mut text = self.title.clone();
        match &self.scope {
            Scope::Scene(root) => object(root.clone().upcast(), &mut text),
            Scope::Files(root) => {
                text.push_str("\nfiles");
                object(root.clone().upcast(), &mut text);
            }
            Scope::Project => text.push_str("\nproject"),
            Scope::EditorState(_) => text.push_str("\neditor"),
        }
        for note in &self.notes {
            line(&mut text, "note", &digest::canonical(note));
        }
        for (name, fact) in &self.facts {
            line(&mut text, name, &digest::canonical(fact));
        }
        for step in &self.steps {
            line(&mut text, "step", &digest::canonical(&step.change));
            step.apply.iter().for_each(|it| op(it, &mut text));
            text.push_str("\nback");
            step.revert.iter().for_each(|it| op(it, &mut text));
        }
        text
    }
}

fn op(op: &Op, text: &mut String) {
    match op {
        Op::Set { object: target, property, value } => {
            object(target.clone(), text);
            named(property, text);
            variant(value, 0, text);
        }
        Op::Call { object: target, method, args } => {
            object(target.clone(), text);
            named(method, text);
            args.iter().for_each(|it| variant(it, 0, text));
        }
        Op::File { path, bytes } => {
            let bytes = bytes.as_deref().map_or_else(|| "none".to_owned(), digest::sha256);
            line(text, path, &bytes);
        }
        Op::Settings { values, bytes } => {
            for it in values {
                line(text, &it.name, &it.order.to_string());
                variant(&it.value, 0, text);
            }
            let bytes = bytes.as_deref().map_or_else(|| "saved".to_owned(), digest::sha256);
            line(text, "project.godot", &bytes);
        }
        Op::Folder { path, exists } => line(text, path, if *exists { "made" } else { "removed" }),
        Op::Refresh { paths } => paths.iter().for_each(|it| line(text, "refresh", it)),
    }
}

fn line(text: &mut String, name: &str, value: &str) {
    // Writing to a string does not fail.
    let _ = write!(text, "\n{name} {value}");
}

fn named(name: &StringName, text: &mut String) {
    line(text, ":", &name.to_string());
}

fn variant(value: &Variant, depth: u32, text: &mut String) {
    match value.get_type() {
        VariantType::OBJECT => match value.try_to::<Gd<Object>>() {
            Ok(it) => object(it, text),
            Err(_) => text.push_str("\nno object"),
        },
        VariantType::ARRAY if depth < MAX_DEPTH => {
            text.push_str("\n[");
            if let Ok(items) = value.try_to::<AnyArray>() {
                items.iter_shared().for_each(|it| variant(&it, depth + 1, text));
            }
            text.push_str("\n]");
        }
        VariantType::DICTIONARY if depth < MAX_DEPTH => {
            text.push_str("\n{");
            if let Ok(map) = value.try_to::<VarDictionary>() {
                for (key, value) in map.iter_shared() {
                    variant(&key, depth + 1, text);
                    variant(&value, depth + 1, text);
                }
            }
            text.push_str("\n}");
        }
        kind => line(text, &format!("{kind:?}"), &value.stringify().to_string()),
    }
}

/// An object by what it is in the project. Those that a plan made have no place yet, and each plan
/// makes its own, so of them only the class counts: what they are filled with is in the steps.
fn object(object: Gd<Object>, text: &mut String) {
    if !object.is_instance_valid() {
        return text.push_str("\nfreed");
    }
    let class = object.get_class().to_string();
    if let Ok(node) = object.clone().try_cast::<Node>() {
        let place = if node.is_inside_tree() { node.get_path().to_string() } else { String::new() };
        // A node that was replaced by one of the same name is another node.
        let id = if place.is_empty() { 0 } else { node.instance_id().to_i64() };
        return line(text, &class, &format!("{place} {id}"));
    }
    let place = match object.try_cast::<Resource>() {
        Ok(resource) => resource.get_path().to_string(),
        Err(_) => String::new(),
    };
    line(text, &class, &place);
}

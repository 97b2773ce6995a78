//! References to resources: loaded by path, built anew, and read back.

use std::collections::HashMap;

use godot::builtin::VariantType;
use godot::classes::{ClassDb, DirAccess, FileAccess, ResourceLoader, ResourceUid, Script};
use godot::obj::Singleton as _;
use godot::prelude::*;
use godot::register::info::PropertyUsageFlags;
use godot_mcp_core::ToolError;
use godot_mcp_core::suggest::near;
use serde_json::{Map, Value, json};

use super::decode::{self, check_keys, refusal, within};
use super::slot::Slot;
use super::{Context, classes, compare, kinds};

/// The resource of a `res://` or `uid://` text.
pub(super) fn by_path(path: &str, slot: &Slot, context: &Context) -> Result<Variant, ToolError> {
    let text = Value::from(path);
    if path.starts_with("uid://") {
        let file = path_of_uid(path).ok_or_else(|| {
            ToolError::not_found(format!("no resource has the id \"{path}\""))
                .required(slot.name.clone())
                .hint("use the res:// path of the file")
        })?;
        return load(&file, slot, context);
    }
    if path.starts_with("res://") {
        return load(path, slot, context);
    }
    // Something that means to be a path gets the answer that paths get.
    if path.contains("://") || path.starts_with(['/', '\\']) {
        (context.check_path)(path)?;
    }
    Err(refusal(&text, slot, ""))
}

fn path_of_uid(uid: &str) -> Option<String> {
    let ids = ResourceUid::singleton();
    let id = ids.text_to_id(uid);
    (id != -1 && ids.has_id(id)).then(|| ids.get_id_path(id).to_string())
}

fn load(path: &str, slot: &Slot, context: &Context) -> Result<Variant, ToolError> {
    (context.check_path)(path)?;
    let mut loader = ResourceLoader::singleton();
    if !loader.exists(path) {
        if FileAccess::file_exists(path) {
            let message =
                format!("\"{path}\" is a file that is not a resource, or is not imported yet");
            return Err(ToolError::invalid(slot.name.clone(), message)
                .hint("import it first, or use a file that Godot loads as a resource"));
        }
        let near = near_files(path);
        let error = ToolError::not_found(format!("no resource at \"{path}\""));
        let error = if near.is_empty() {
            error.hint("give the full res:// path of a file of the project")
        } else {
            error.suggest(near)
        };
        return Err(error.required(slot.name.clone()));
    }
    let resource = loader.load(path).ok_or_else(|| {
        ToolError::invalid(slot.name.clone(), format!("\"{path}\" could not be loaded"))
            .hint("the file is damaged or depends on something that is missing")
    })?;
    check_class(&resource, &format!("\"{path}\""), slot)?;
    Ok(resource.to_variant())
}

fn near_files(path: &str) -> Vec<String> {
    let Some((folder, name)) = path.rsplit_once('/') else { return Vec::new() };
    let folder = if folder == "res:/" { "res://" } else { folder };
    if !DirAccess::dir_exists_absolute(folder) {
        return Vec::new();
    }
    let files = DirAccess::get_files_at(folder);
    let files: Vec<String> = files
        .as_slice()
        .iter()
        .map(GString::to_string)
        .filter(|it| !it.ends_with(".import") && !it.ends_with(".uid"))
        .collect();
    let folder = folder.trim_end_matches('/');
    let folder = if folder == "res:" { "res:/" } else { folder };
    near(name, &files, 5).iter().map(|it| format!("{folder}/{it}")).collect()
}

fn check_class(resource: &Gd<Resource>, what: &str, slot: &Slot) -> Result<(), ToolError> {
    let object = resource.clone().upcast::<Object>();
    let wanted = slot.classes();
    let is = |class: &String| classes::is_a(&object, class);
    let excluded = slot.excluded_classes();
    let excluded = excluded.iter().find(|it| is(it));
    if excluded.is_none() && (wanted.is_empty() || wanted.iter().any(is)) {
        return Ok(());
    }
    let found = kinds::with_article(&classes::name_of(&object));
    let wanted = kinds::with_article(&slot.type_name());
    let but = excluded.map(|it| format!(" other than {it}")).unwrap_or_default();
    let message = format!("{what} is {found}, not {wanted}{but}");
    Err(ToolError::invalid(slot.name.clone(), message).hint(kinds::forms(slot)))
}

/// `{"type":"Resource","path":"res://..."}`.
pub(super) fn tagged(
    json: &Value,
    map: &Map<String, Value>,
    slot: &Slot,
    context: &Context,
) -> Result<Variant, ToolError> {
    check_keys(json, map, slot, &["path"], &[])?;
    by_path(decode::text(&map["path"], slot)?, slot, context)
}

/// `{"type":"NewResource","class":"...","properties":{...}}`.
pub(super) fn new(
    json: &Value,
    map: &Map<String, Value>,
    slot: &Slot,
    context: &Context,
) -> Result<Variant, ToolError> {
    check_keys(json, map, slot, &["class"], &["properties"])?;
    let class = decode::text(&map["class"], slot)?;
    let none = Map::new();
    let properties = match map.get("properties") {
        None => &none,
        Some(Value::Object(properties)) => properties,
        Some(_) => return Err(refusal(json, slot, "its \"properties\" are not an object")),
    };
    let mut resource = instantiate(class, slot)?;
    check_class(&resource, &format!("a new {class}"), slot)?;
    set_properties(&mut resource, properties, slot, context)?;
    Ok(resource.to_variant())
}

pub(super) fn instantiate(class: &str, slot: &Slot) -> Result<Gd<Resource>, ToolError> {
    let invalid = |message: String| ToolError::invalid(slot.name.clone(), message);
    let Some(native) = classes::native_base(class) else {
        let mut names = classes::script_class_names();
        let inheriters = ClassDb::singleton().get_inheriters_from_class("Resource");
        names.extend(inheriters.as_slice().iter().map(GString::to_string));
        let hint =
            "use a class of the engine, or a class_name of the project, that extends Resource";
        return Err(invalid(format!("there is no class \"{class}\""))
            .hint(hint)
            .suggest(near(class, &names, 5)));
    };
    if !classes::derives(&native, "Resource") {
        let what = kinds::with_article(&native);
        return Err(invalid(format!("\"{class}\" is {what}, not a resource"))
            .hint("name a class that extends Resource"));
    }
    if classes::derives(&native, "Script") {
        return Err(invalid("a script cannot be made inside a value".to_owned())
            .hint("create the script as a file, then write its res:// path"));
    }
    if !ClassDb::singleton().can_instantiate(&native) {
        let mut subclasses = ClassDb::singleton().get_inheriters_from_class(&native);
        subclasses.sort();
        let names = subclasses.as_slice().iter().take(12).map(GString::to_string);
        return Err(invalid(format!("\"{class}\" is abstract")).suggest(names));
    }
    let made = ClassDb::singleton().instantiate(&native).try_to::<Gd<Resource>>();
    let mut resource = made.map_err(|_| {
        invalid(format!("\"{class}\" cannot be instantiated")).hint("use another class")
    })?;
    if native != class {
        // Attached rather than `new()`: without @tool the editor then keeps a placeholder, and no
        // code of the project runs.
        let declared = classes::script_class(class).map(|it| it.path).unwrap_or_default();
        let script = ResourceLoader::singleton().load(&declared);
        let script = script.and_then(|it| it.try_cast::<Script>().ok());
        let script = script.ok_or_else(|| {
            invalid(format!("the script of \"{class}\" could not be loaded")).hint(declared)
        })?;
        resource.set_script(&script);
    }
    Ok(resource)
}

/// Sets each property by its own slot.
///
/// Some exist only once others are set: those of a script, the parameters of a shader, the points of
/// a curve. So what is unknown is tried again as long as something new was set.
pub(super) fn set_properties(
    resource: &mut Gd<Resource>,
    properties: &Map<String, Value>,
    slot: &Slot,
    context: &Context,
) -> Result<(), ToolError> {
    let object = resource.clone().upcast::<Object>();
    let context = Context { object: Some(object.clone()), ..context.clone() };
    let mut slots = slots_by_name(&object);
    let mut open: Vec<(&String, &Value)> = properties.iter().collect();
    // The script first, since it brings properties.
    open.sort_by_key(|(name, _)| *name != "script");
    while !open.is_empty() {
        let mut unknown = Vec::new();
        let n_open = open.len();
        for (name, json) in open {
            if !slots.contains_key(name) {
                slots = slots_by_name(&object);
            }
            match slots.get(name) {
                Some(found) => set_property(resource, found, json, slot, &context)?,
                None => unknown.push((name, json)),
            }
        }
        open = unknown;
        if open.len() == n_open && !set_dynamic(resource, &mut open, slot, &context)? {
            let names: Vec<_> = slots.keys().collect();
            let (name, _) = open[0];
            let class = classes::name_of(&object);
            let message = format!("{class} has no property \"{name}\"");
            let near = near(name, names, 5);
            let error = ToolError::invalid(slot.name.clone(), message);
            return Err(if near.is_empty() {
                error.hint(format!("leave it out, or look up the properties of {class}"))
            } else {
                error.suggest(near)
            });
        }
    }
    Ok(())
}

fn slots_by_name(object: &Gd<Object>) -> HashMap<String, Slot> {
    Slot::all(object).into_iter().map(|it| (it.name.clone(), it)).collect()
}

fn set_property(
    resource: &mut Gd<Resource>,
    property: &Slot,
    json: &Value,
    slot: &Slot,
    context: &Context,
) -> Result<(), ToolError> {
    let name = &property.name;
    let part = format!("property \"{name}\"");
    if property.usage.is_set(PropertyUsageFlags::READ_ONLY) {
        return Err(ToolError::invalid(slot.name.clone(), format!("{part} is read-only"))
            .hint("leave it out"));
    }
    if matches!(&**name, "resource_path" | "resource_scene_unique_id") {
        return Err(ToolError::invalid(slot.name.clone(), format!("{part} is set by the editor"))
            .hint("leave it out; to reuse a saved resource write its res:// path instead"));
    }
    let before = resource.get(name);
    let value = decode::value(json, property, &before, context)
        .map_err(|error| within(error, slot, &part))?;
    resource.set(name, &value);
    let after = resource.get(name);
    // Clamped is fine (S10.6), ignored is not.
    if compare::same(&before, &after) && !compare::same(&value, &after) {
        let message = format!("{part} does not take {}", kinds::shown(json));
        return Err(ToolError::invalid(slot.name.clone(), message).hint(kinds::forms(property)));
    }
    Ok(())
}

/// Properties such as `tracks/0/type` of an animation come into being by being set. Sets the first
/// of `open` if it is one of those, and takes it out.
fn set_dynamic(
    resource: &mut Gd<Resource>,
    open: &mut Vec<(&String, &Value)>,
    slot: &Slot,
    context: &Context,
) -> Result<bool, ToolError> {
    let Some(at) = open.iter().position(|(name, _)| name.contains('/')) else { return Ok(false) };
    let (name, json) = open[at];
    let part = Slot::any(name.clone());
    let value = decode::value(json, &part, &Variant::nil(), context)
        .map_err(|error| within(error, slot, &format!("property \"{name}\"")))?;
    resource.set(name, &value);
    let object = resource.clone().upcast::<Object>();
    let Some(found) = Slot::of(&object, name) else { return Ok(false) };
    // Now that it says what it is: once more by its own slot.
    set_property(resource, &found, json, slot, context)?;
    open.remove(at);
    Ok(true)
}

/// Whether the resource has a file of its own.
pub(super) fn is_external(resource: &Gd<Resource>) -> bool {
    let path = resource.get_path().to_string();
    !path.is_empty() && !path.contains("::")
}

/// Whether the slot alone says that text is the path of a resource.
pub(super) fn is_resource_slot(slot: Option<&Slot>) -> bool {
    slot.is_some_and(|it| it.kind == VariantType::OBJECT && !it.is_node())
}

/// The read form of a resource with a file.
pub(super) fn encode_external(resource: &Gd<Resource>, slot: Option<&Slot>) -> Value {
    let path = resource.get_path().to_string();
    if is_resource_slot(slot) {
        Value::from(path)
    } else {
        json!({ "type": "Resource", "path": path })
    }
}

/// The read form of a resource that is too large or too deep, or a script inside a scene.
pub(super) fn encode_truncated(resource: &Gd<Resource>) -> Value {
    json!({
        "type": "Resource",
        "class": classes::name_of(&resource.clone().upcast()),
        "id": resource.get_path().to_string(),
        "truncated": true,
    })
}

/// The class of `NewResource`, and the stored properties that differ from its defaults.
pub(super) fn stored_properties(resource: &Gd<Resource>) -> (String, Vec<(Slot, Variant)>) {
    let object = resource.clone().upcast::<Object>();
    let script = object.get_script();
    let named = script.as_ref().and_then(classes::global_name);
    let native = object.get_class().to_string();
    let mut properties = Vec::new();
    for slot in Slot::all(&object) {
        let by_class = named.is_some() && slot.name == "script";
        if !slot.usage.is_set(PropertyUsageFlags::STORAGE) || by_class {
            continue;
        }
        let value = object.get(&slot.name);
        let default = match &script {
            Some(script) if !classes::has_native_property(&native, &slot.name) => {
                script.get_property_default_value(&slot.name)
            }
            _ => ClassDb::singleton().class_get_property_default_value(&native, &slot.name),
        };
        if !compare::equal(&value, &default) {
            properties.push((slot, value));
        }
    }
    (named.unwrap_or(native), properties)
}

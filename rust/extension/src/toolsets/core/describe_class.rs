use std::collections::HashSet;

use godot::builtin::{AnyArray, Array, StringName, VarDictionary, Variant, VariantType};
use godot::classes::{ClassDb, ProjectSettings, ResourceLoader, Script};
use godot::obj::{EngineBitfield as _, Gd, Singleton};
use godot::register::info::{PropertyHint, PropertyUsageFlags};

use crate::editor::quirks;
use crate::editor::values::Slot;
use crate::tool_prelude::*;

/// Facts about one class, of the engine or a script's class_name: parents, properties with
/// defaults, methods (plain getters and setters left out), signals, enums, constants; a line each.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct DescribeClass {
    class_name: Identifier,
    /// With members of all parents.
    #[serde(default)]
    include_inherited: bool,
    /// With members that start with `_`.
    #[serde(default)]
    include_private: bool,
}

/// Length of all lines together beyond which the rest is only counted.
const MAX_CHARS: usize = 30_000;

const METHOD_FLAG_CONST: i64 = 4;
const METHOD_FLAG_VIRTUAL: i64 = 8;
const METHOD_FLAG_VARARG: i64 = 16;
const METHOD_FLAG_STATIC: i64 = 32;

impl Tool for DescribeClass {
    const NAME: &'static str = "describe_class";
    const TOOLSET: &'static str = "core";

    fn examples() -> Vec<Example> {
        vec![
            Example::answer(
                "Describes an engine class.",
                "",
                json!({
                    "class": "Node2D", "parent": "CanvasItem", "instantiable": true, "signals": []
                }),
            )
            .args(json!({"class_name": "Node2D"})),
            Example::refusal("Refuses an unknown class.", "", Code::ValidationError)
                .args(json!({"class_name": "Sprite2d"})),
        ]
    }
}

impl ReadTool for DescribeClass {
    fn run(self, _editor: &Editor) -> Result<Outcome, ToolError> {
        let name = self.class_name.as_str();
        if ClassDb::singleton().class_exists(name) {
            return Ok(self.answer(native(name, self.include_inherited)).into());
        }
        let scripts = ProjectSettings::singleton().get_global_class_list();
        let named = |it: &VarDictionary, key: &str| {
            it.get(key).map(|it| it.stringify().to_string()).unwrap_or_default()
        };
        if let Some(info) = scripts.iter_shared().find(|it| named(it, "class") == name) {
            let facts = script(name, &named(&info, "path"), self.include_inherited)?;
            return Ok(self.answer(facts).into());
        }
        let mut names: Vec<String> = scripts.iter_shared().map(|it| named(&it, "class")).collect();
        let natives = ClassDb::singleton().get_class_list();
        names.extend(natives.as_slice().iter().map(ToString::to_string));
        let near = suggest::near(name, names.iter().map(String::as_str), 3);
        let error = ToolError::invalid("class_name", format!("no class \"{name}\""));
        Err(if near.is_empty() {
            error.hint("give an engine class or a script's class_name; built-in value types such as Vector2 are no classes")
        } else {
            error.suggest(near)
        })
    }
}

/// What is known of a class, each member as a line.
struct Facts {
    head: Map<String, Value>,
    members: [(&'static str, Vec<String>); 5],
}

impl DescribeClass {
    fn answer(&self, facts: Facts) -> Value {
        let mut answer = facts.head;
        let (mut chars, mut left_out) = (0, 0);
        for (kind, mut lines) in facts.members {
            if !self.include_private {
                lines.retain(|it| !it.starts_with('_'));
            }
            let all = lines.len();
            lines.retain(|it| {
                chars += it.len();
                chars <= MAX_CHARS
            });
            left_out += all - lines.len();
            answer.insert(kind.to_owned(), json!(lines));
        }
        if left_out > 0 {
            answer.insert("truncated".into(), json!(true));
            answer.insert("left_out".into(), json!(left_out));
            answer.insert(
                "hint".into(),
                json!("describe the parents one by one, without include_inherited"),
            );
        }
        Value::Object(answer)
    }
}

fn native(name: &str, inherited: bool) -> Facts {
    let db = ClassDb::singleton();
    let own = !inherited;
    let mut head = Map::new();
    head.insert("class".into(), json!(name));
    head.insert("parent".into(), json!(db.get_parent_class(name).to_string()));
    head.insert("inherits".into(), json!(parents(name)));
    head.insert("instantiable".into(), json!(db.can_instantiate(name)));

    let properties = db.class_get_property_list_ex(name).no_inheritance(own).done();
    let properties: Vec<Slot> =
        properties.iter_shared().map(|it| Slot::from_dict(&it)).filter(is_member).collect();
    let accessors: HashSet<String> =
        properties.iter().flat_map(|it| accessors(name, &it.name)).collect();
    let properties =
        properties.iter().map(|it| property(it, &default_of(name, &it.name))).collect();
    let enums = db.class_get_enum_list_ex(name).no_inheritance(own).done();
    let enums: Vec<(String, Vec<String>)> = enums
        .as_slice()
        .iter()
        .map(|it| {
            let members =
                db.class_get_enum_constants_ex(name, &it.to_string()).no_inheritance(own).done();
            (it.to_string(), members.as_slice().iter().map(ToString::to_string).collect())
        })
        .collect();
    let number =
        |constant: &str| format!("{constant} = {}", db.class_get_integer_constant(name, constant));
    let constants = db.class_get_integer_constant_list_ex(name).no_inheritance(own).done();
    let constants = constants
        .as_slice()
        .iter()
        .map(ToString::to_string)
        .filter(|it| !enums.iter().any(|(_, members)| members.contains(it)))
        .map(|it| number(&it))
        .collect();
    let enums = enums
        .iter()
        .map(|(name, members)| {
            let members: Vec<_> = members.iter().map(|it| number(it)).collect();
            format!("{name} {{{}}}", members.join(", "))
        })
        .collect();
    let methods = db.class_get_method_list_ex(name).no_inheritance(own).done();
    let methods = methods
        .iter_shared()
        .filter(|it| !(accessors.contains(&text(it, "name")) && list(it, "args").len() < 2))
        .map(|it| method(&it))
        .collect();
    let signals = db.class_get_signal_list_ex(name).no_inheritance(own).done();
    Facts {
        head,
        members: [
            ("properties", properties),
            ("methods", methods),
            ("signals", signals.iter_shared().map(|it| signal(&it)).collect()),
            ("enums", enums),
            ("constants", constants),
        ],
    }
}

/// Getter and setter of a property, which say no more than the property does.
fn accessors(class: &str, property: &str) -> [String; 2] {
    let (mut db, class) = (ClassDb::singleton(), StringName::from(class));
    let getter = db.class_get_property_getter(&class, property).to_string();
    [getter, db.class_get_property_setter(&class, property).to_string()]
}

/// Parents of an engine class, nearest first.
fn parents(name: &str) -> Vec<String> {
    let db = ClassDb::singleton();
    let mut chain = Vec::new();
    let mut class = db.get_parent_class(name);
    while !class.is_empty() {
        chain.push(class.to_string());
        class = db.get_parent_class(&class);
    }
    chain
}

/// The value that a new object has. The engine makes one to look, so only of plain classes.
fn default_of(class: &str, property: &str) -> Variant {
    let db = ClassDb::singleton();
    let plain = ["Node", "Resource"].iter().any(|it| db.is_parent_class(class, *it));
    if !plain || !db.can_instantiate(class) || class.starts_with("Editor") {
        return Variant::nil();
    }
    quirks::quietly(|| db.class_get_property_default_value(class, property))
}

fn script(name: &str, path: &str, inherited: bool) -> Result<Facts, ToolError> {
    let broken = || {
        ToolError::precondition(
            "class_name",
            format!("the script \"{path}\" of \"{name}\" does not load"),
        )
        .hint("it has errors; `godot_debug_workflow` lists them")
    };
    let loaded = quirks::quietly(|| ResourceLoader::singleton().load(path));
    let script = loaded.and_then(|it| it.try_cast::<Script>().ok()).ok_or_else(broken)?;
    let base = script.get_base_script();
    let native_base = script.get_instance_base_type().to_string();
    if native_base.is_empty() {
        return Err(broken());
    }

    let mut inherits = Vec::new();
    let mut parent = base.clone();
    while let Some(it) = parent {
        let global = it.get_global_name().to_string();
        inherits.push(if global.is_empty() { it.get_path().to_string() } else { global });
        parent = it.get_base_script();
    }
    inherits.push(native_base.clone());
    inherits.extend(parents(&native_base));
    let mut head = Map::new();
    head.insert("class".into(), json!(name));
    head.insert("parent".into(), json!(inherits[0]));
    head.insert("inherits".into(), json!(inherits));
    head.insert("instantiable".into(), json!(!script.is_abstract()));
    head.insert("script".into(), json!(path));
    head.insert("tool".into(), json!(script.is_tool()));

    // The lists of a script contain those of its base scripts.
    let hidden = |list: fn(&Gd<Script>) -> Array<VarDictionary>| -> Vec<String> {
        match &base {
            Some(base) if !inherited => {
                list(base).iter_shared().map(|it| text(&it, "name")).collect()
            }
            _ => Vec::new(),
        }
    };
    let own = |list: fn(&Gd<Script>) -> Array<VarDictionary>| -> Vec<VarDictionary> {
        let hidden = hidden(list);
        let all = list(&script);
        all.iter_shared().filter(|it| !hidden.contains(&text(it, "name"))).collect()
    };
    let properties = own(|it| it.get_script_property_list())
        .iter()
        .map(Slot::from_dict)
        .filter(is_member)
        .map(|it| property(&it, &script.get_property_default_value(&it.name)))
        .collect();
    let (mut enums, mut constants) = (Vec::new(), Vec::new());
    let base_constants =
        base.as_ref().filter(|_| !inherited).map(|it| it.get_script_constant_map());
    for (key, value) in script.get_script_constant_map().iter_shared() {
        if base_constants.as_ref().is_some_and(|it| it.contains_key(&key)) {
            continue;
        }
        match value.try_to::<VarDictionary>() {
            Ok(members) if is_enum(&members) => {
                let members: Vec<_> = members
                    .iter_shared()
                    .map(|(name, value)| format!("{name} = {value}"))
                    .collect();
                enums.push(format!("{key} {{{}}}", members.join(", ")));
            }
            _ => constants.push(format!("{key} = {}", values::summary(&value))),
        }
    }
    let mut facts = Facts {
        head,
        members: [
            ("properties", properties),
            ("methods", own(|it| it.get_script_method_list()).iter().map(method).collect()),
            ("signals", own(|it| it.get_script_signal_list()).iter().map(signal).collect()),
            ("enums", enums),
            ("constants", constants),
        ],
    };
    if inherited {
        for (lines, (_, more)) in facts.members.iter_mut().zip(native(&native_base, true).members) {
            lines.1.extend(more);
        }
    }
    Ok(facts)
}

/// Whether a constant of a script was declared as an enum.
fn is_enum(members: &VarDictionary) -> bool {
    !members.is_empty()
        && members.iter_shared().all(|(key, value)| {
            let upper = key.stringify().to_string();
            upper == upper.to_uppercase() && value.try_to::<i64>().is_ok()
        })
}

/// Typed or not, as different parts of the engine make them.
fn list(info: &VarDictionary, key: &str) -> Vec<Variant> {
    let array = info.get(key).and_then(|it| it.try_to::<AnyArray>().ok());
    array.map(|it| it.iter_shared().collect()).unwrap_or_default()
}

fn text(info: &VarDictionary, key: &str) -> String {
    info.get(key).map(|it| it.stringify().to_string()).unwrap_or_default()
}

/// Whether it is a property, and no heading nor the path of the script that the list starts with.
fn is_member(slot: &Slot) -> bool {
    let headings = [
        PropertyUsageFlags::CATEGORY,
        PropertyUsageFlags::GROUP,
        PropertyUsageFlags::SUBGROUP,
        PropertyUsageFlags::INTERNAL,
    ];
    !headings.iter().any(|it| slot.usage.is_set(*it))
}

/// `position: Vector2 = Vector2(0, 0)`.
fn property(slot: &Slot, default: &Variant) -> String {
    let kind = type_of(slot);
    match default.is_nil() {
        true => format!("{}: {kind}", slot.name),
        false => format!("{}: {kind} = {}", slot.name, values::summary(default)),
    }
}

/// The type as a declaration spells it: an enum or class by its name.
fn type_of(slot: &Slot) -> String {
    let by_class = slot.usage.is_set(PropertyUsageFlags::CLASS_IS_ENUM)
        || slot.usage.is_set(PropertyUsageFlags::CLASS_IS_BITFIELD);
    match (slot.is_any(), by_class && !slot.class.is_empty()) {
        (true, _) => "Variant".to_owned(),
        (_, true) => slot.class.clone(),
        // Of a container the hint names the elements; other hints have numbers and colons.
        _ if slot.kind == VariantType::ARRAY
            && slot.hint == PropertyHint::ARRAY_TYPE
            && !slot.hint_string.is_empty()
            && !slot.hint_string.contains(':') =>
        {
            format!("Array[{}]", slot.hint_string)
        }
        _ => slot.type_name(),
    }
}

/// `get_node(path: NodePath, deep: bool = true) -> Node const`.
fn method(info: &VarDictionary) -> String {
    let parameters: Vec<Slot> = list(info, "args")
        .iter()
        .filter_map(|it| it.try_to::<VarDictionary>().ok())
        .map(|it| Slot::from_dict(&it))
        .collect();
    let defaults = list(info, "default_args");
    let first_default = parameters.len().saturating_sub(defaults.len());
    let mut args: Vec<String> = parameters
        .iter()
        .enumerate()
        .map(|(index, slot)| {
            match index.checked_sub(first_default).and_then(|it| defaults.get(it)) {
                Some(default) => {
                    format!("{}: {} = {}", slot.name, type_of(slot), values::summary(default))
                }
                None => format!("{}: {}", slot.name, type_of(slot)),
            }
        })
        .collect();
    let flags = info.get("flags").and_then(|it| it.try_to::<i64>().ok()).unwrap_or(0);
    if flags & METHOD_FLAG_VARARG != 0 {
        args.push("...".into());
    }
    let mut line = format!("{}({})", text(info, "name"), args.join(", "));
    if let Some(result) = info.get("return").and_then(|it| it.try_to::<VarDictionary>().ok()) {
        let slot = Slot::from_dict(&result);
        // No type means none at all, unless the usage says that any may come.
        if !slot.is_any() || slot.usage.is_set(PropertyUsageFlags::NIL_IS_VARIANT) {
            line.push_str(&format!(" -> {}", type_of(&slot)));
        }
    }
    for (flag, word) in [
        (METHOD_FLAG_STATIC, " static"),
        (METHOD_FLAG_VIRTUAL, " virtual"),
        (METHOD_FLAG_CONST, " const"),
    ] {
        if flags & flag != 0 {
            line.push_str(word);
        }
    }
    line
}

fn signal(info: &VarDictionary) -> String {
    let line = method(info);
    line.split(" -> ").next().unwrap_or_default().to_owned()
}

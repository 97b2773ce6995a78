//! Arrays, dictionaries and packed arrays, and the element types they carry (S10.5).
//!
//! An untyped container takes what an any-slot takes. A typed one is built typed, from what is
//! declared, else from the value that is there now, and each element is decoded as a value of the
//! element's own slot.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use godot::builtin::VariantType;
use godot::classes::{Expression, ResourceLoader, Script};
use godot::meta::inspect::ElementType;
use godot::obj::{EngineEnum as _, NewGd as _, Singleton as _};
use godot::prelude::*;
use godot::register::info::PropertyHint;
use godot_mcp_core::ToolError;
use serde_json::{Map, Value};

use super::decode::{check_keys, refusal, within};
use super::slot::Slot;
use super::{Context, classes, decode, kinds, numbers, structs};

/// The type of a container's elements.
#[derive(Clone)]
pub(super) struct Typing {
    /// Slot of each element. An any-slot stands for an untyped container.
    pub(super) slot: Slot,
    /// Class of the engine, for elements that are objects.
    class: String,
    script: Option<Gd<Script>>,
}

impl Typing {
    fn untyped(name: &str) -> Self {
        Self { slot: Slot::any(name), class: String::new(), script: None }
    }

    pub(super) fn is_typed(&self) -> bool {
        !self.slot.is_any()
    }

    /// From the container itself.
    fn of(element: ElementType, name: &str) -> Self {
        let mut typing = Self::untyped(name);
        typing.slot.kind = element.variant_type();
        if let Some(class) = element.class_id() {
            typing.class = class.to_string();
            typing.slot.class = typing.class.clone();
        }
        if let ElementType::ScriptClass(script) = element
            && let Some(script) = script.script()
        {
            let path = || script.get_path().to_string();
            typing.slot.class = classes::global_name(&script).unwrap_or_else(path);
            typing.script = Some(script);
        }
        typing
    }

    /// From half a hint: `Vector2`, `Node2D`, `5:`, `2/2:A,B`, `24/34:Node2D`. `None` when the hint
    /// names a type that only the container itself knows, such as an enum of a script.
    fn from_hint(hint: &str, name: &str) -> Option<Self> {
        let mut slot = Slot::any(name);
        if hint.starts_with(|it: char| it.is_ascii_digit()) {
            let (kind, rest) = hint.split_once(':').unwrap_or((hint, ""));
            let (kind, hint) = kind.split_once('/').unwrap_or((kind, "0"));
            slot.kind = VariantType::try_from_ord(kind.parse().ok()?)?;
            slot.hint =
                PropertyHint::try_from_ord(hint.parse().ok()?).unwrap_or(PropertyHint::NONE);
            slot.hint_string = rest.to_owned();
            if slot.kind == VariantType::OBJECT {
                slot.class = rest.to_owned();
            }
            return Self::of_slot(slot);
        }
        match hint {
            "" | "Variant" => return Some(Self::untyped(name)),
            _ => match kinds::by_name(hint) {
                Some(kind) => slot.kind = kind,
                None => {
                    slot.kind = VariantType::OBJECT;
                    slot.class = hint.to_owned();
                }
            },
        }
        Self::of_slot(slot)
    }

    fn of_slot(slot: Slot) -> Option<Self> {
        let mut typing = Self { slot, class: String::new(), script: None };
        if typing.slot.kind == VariantType::OBJECT {
            let class = typing.slot.class.clone();
            if !class.is_empty() && !classes::is_native(&class) {
                let declared = classes::script_class(&class)?;
                typing.script = Some(load_script(&declared.path)?);
            }
            typing.class = match class.as_str() {
                "" => "Object".into(),
                _ => classes::native_base(&class)?,
            };
        }
        Some(typing)
    }

    /// From the `element`, `key` or `value` of a tag.
    fn named(json: &Value, slot: &Slot, context: &Context) -> Result<Self, String> {
        let name =
            json.as_str().ok_or_else(|| format!("{} is not a type name", kinds::shown(json)))?;
        if name.starts_with("res://") {
            (context.check_path)(name).map_err(|error| error.into_fault().message)?;
            let script = load_script(name).ok_or_else(|| format!("{name:?} is not a script"))?;
            let class = script.get_instance_base_type().to_string();
            let mut slot = Slot::of_kind(slot.name.clone(), VariantType::OBJECT);
            slot.class = name.into();
            return Ok(Self { slot, class, script: Some(script) });
        }
        let known = name == "Variant" || kinds::by_name(name).is_some();
        if name.is_empty() || !(known || classes::native_base(name).is_some()) {
            return Err(format!("there is no type {name:?}"));
        }
        Self::from_hint(name, &slot.name).ok_or_else(|| format!("there is no type {name:?}"))
    }

    /// How tags name it.
    pub(super) fn name(&self) -> String {
        match self.slot.kind {
            VariantType::NIL => "Variant".into(),
            VariantType::OBJECT => self.slot.class.clone(),
            kind => kinds::name(kind).into(),
        }
    }

    /// Whether both make the same container.
    pub(super) fn equals(&self, other: &Self) -> bool {
        self.slot.kind == other.slot.kind
            && self.class == other.class
            && self.script == other.script
    }

    fn constructor_args(&self) -> [Variant; 3] {
        [
            i64::from(self.slot.kind.ord()).to_variant(),
            StringName::from(&self.class).to_variant(),
            self.script.as_ref().map_or_else(Variant::nil, |it| it.to_variant()),
        ]
    }
}

fn load_script(path: &str) -> Option<Gd<Script>> {
    let mut loader = ResourceLoader::singleton();
    if !loader.exists(path) {
        return None;
    }
    loader.load(path)?.try_cast().ok()
}

/// What is declared about the elements of an array, `None` when nothing is or it is not understood.
fn declared_array(slot: &Slot) -> Option<Typing> {
    let typed = matches!(slot.hint, PropertyHint::ARRAY_TYPE | PropertyHint::TYPE_STRING);
    if !typed { None } else { Typing::from_hint(&slot.hint_string, &slot.name) }
}

/// The element type that an array for `slot` has, where `current` is there now.
pub(super) fn array_typing(slot: &Slot, current: &Variant) -> Typing {
    let declared = declared_array(slot);
    let found = current
        .try_to::<AnyArray>()
        .map(|it| Typing::of(it.element_type(), &slot.name))
        .unwrap_or_else(|_| Typing::untyped(&slot.name));
    prefer(declared, found)
}

fn declared_dictionary(slot: &Slot) -> Option<(Typing, Typing)> {
    let typed = matches!(slot.hint, PropertyHint::DICTIONARY_TYPE | PropertyHint::TYPE_STRING);
    if !typed {
        return None;
    }
    let (key, value) = slot.hint_string.split_once(';')?;
    Some((Typing::from_hint(key, &slot.name)?, Typing::from_hint(value, &slot.name)?))
}

/// The types of keys and values that a dictionary for `slot` has.
pub(super) fn dictionary_typing(slot: &Slot, current: &Variant) -> (Typing, Typing) {
    let (key, value) = declared_dictionary(slot).unzip();
    let (found_key, found_value) = match current.try_to::<AnyDictionary>() {
        Ok(it) => (
            Typing::of(it.key_element_type(), &slot.name),
            Typing::of(it.value_element_type(), &slot.name),
        ),
        Err(_) => (Typing::untyped(&slot.name), Typing::untyped(&slot.name)),
    };
    (prefer(key, found_key), prefer(value, found_value))
}

/// The container that is there knows its type best; what is declared knows the elements' hints.
fn prefer(declared: Option<Typing>, found: Typing) -> Typing {
    match declared {
        Some(declared) if !found.is_typed() || declared.equals(&found) => declared,
        _ => found,
    }
}

/// An array from the JSON of its elements.
pub(super) fn array(
    items: &[Value],
    slot: &Slot,
    current: &Variant,
    context: &Context,
) -> Result<Variant, ToolError> {
    array_of(items, slot, &array_typing(slot, current), context)
}

fn array_of(
    items: &[Value],
    slot: &Slot,
    typing: &Typing,
    context: &Context,
) -> Result<Variant, ToolError> {
    let nil = Variant::nil();
    let mut elements = VarArray::new();
    for (idx, item) in items.iter().enumerate() {
        let element = decode::value(item, &typing.slot, &nil, context)
            .map_err(|error| within(error, slot, &format!("element {idx}")))?;
        elements.push(&element);
    }
    let elements = elements.to_variant();
    if !typing.is_typed() {
        return Ok(elements);
    }
    let [kind, class, script] = typing.constructor_args();
    construct("Array(a, b, c, d)", &[elements, kind, class, script], slot)
}

/// A dictionary from a JSON object, whose keys are text.
pub(super) fn dictionary(
    map: &Map<String, Value>,
    slot: &Slot,
    current: &Variant,
    context: &Context,
) -> Result<Variant, ToolError> {
    if let Some(right) = map.get("type").and_then(Value::as_str).and_then(kinds::Tag::misspelled) {
        let json = Value::Object(map.clone());
        return Err(refusal(&json, slot, &format!("its type must be spelled \"{right}\"")).hint(
            "for a dictionary with a key \"type\" write \
             {\"type\":\"Dictionary\",\"entries\":[[\"type\",...],...]}",
        ));
    }
    let entries = map.iter().map(|(key, value)| (Value::from(key.as_str()), value));
    dictionary_of(entries, slot, &dictionary_typing(slot, current), context)
}

fn dictionary_of<'a>(
    entries: impl Iterator<Item = (Value, &'a Value)>,
    slot: &Slot,
    (key_typing, value_typing): &(Typing, Typing),
    context: &Context,
) -> Result<Variant, ToolError> {
    let nil = Variant::nil();
    let mut dictionary = VarDictionary::new();
    for (key, value) in entries {
        let shown = kinds::shown(&key);
        let key = decode::value(&key, &key_typing.slot, &nil, context)
            .map_err(|error| within(error, slot, "key"))?;
        let value = decode::value(value, &value_typing.slot, &nil, context)
            .map_err(|error| within(error, slot, &format!("value of {shown}")))?;
        if dictionary.contains_key(&key) {
            let message = format!("the key {shown} is given twice");
            return Err(ToolError::invalid(slot.name.clone(), message).hint("give each key once"));
        }
        dictionary.set(&key, &value);
    }
    let dictionary = dictionary.to_variant();
    if !key_typing.is_typed() && !value_typing.is_typed() {
        return Ok(dictionary);
    }
    let [kind, class, script] = key_typing.constructor_args();
    let mut args = vec![dictionary, kind, class, script];
    args.extend(value_typing.constructor_args());
    construct("Dictionary(a, b, c, d, e, f, g)", &args, slot)
}

/// A typed container. Rust has no constructor for types that are known only at run time.
fn construct(text: &str, args: &[Variant], slot: &Slot) -> Result<Variant, ToolError> {
    let mut names = PackedStringArray::new();
    for name in ["a", "b", "c", "d", "e", "f", "g"].iter().take(args.len()) {
        names.push(*name);
    }
    let mut expression = Expression::new_gd();
    let parsed = expression.parse_ex(text).input_names(&names).done();
    let inputs: VarArray = args.iter().cloned().collect();
    let value = expression.execute_ex().inputs(&inputs).show_error(false).done();
    let built = parsed == godot::global::Error::OK && !expression.has_execute_failed();
    // The engine leaves out what does not fit the element type; every element did fit its slot.
    if built && length(&value) == length(&args[0]) {
        return Ok(value);
    }
    Err(ToolError::internal(format!(
        "the typed container for \"{}\" could not be built",
        slot.name
    )))
}

fn length(value: &Variant) -> Option<usize> {
    let array = value.try_to::<AnyArray>().map(|it| it.len());
    array.or_else(|_| value.try_to::<AnyDictionary>().map(|it| it.len())).ok()
}

/// `{"type":"Array","items":[...]}` and its likes.
pub(super) fn tagged(
    json: &Value,
    map: &Map<String, Value>,
    slot: &Slot,
    current: &Variant,
    context: &Context,
) -> Result<Variant, ToolError> {
    let typing = |key: &str, found: Typing, declared: Option<Typing>| match map.get(key) {
        None => Ok(found),
        Some(name) => {
            let named =
                Typing::named(name, slot, context).map_err(|why| refusal(json, slot, &why))?;
            match declared {
                _ if named.equals(&found) => Ok(found),
                Some(declared) if declared.is_typed() && !declared.equals(&named) => {
                    let why = format!("its {key} type is {name}, declared is {}", declared.name());
                    Err(refusal(json, slot, &why))
                }
                _ => Ok(named),
            }
        }
    };
    match slot.kind {
        VariantType::ARRAY => {
            check_keys(json, map, slot, &["items"], &["element"])?;
            let Value::Array(items) = &map["items"] else {
                return Err(refusal(json, slot, "its \"items\" are not an array"));
            };
            let typing = typing("element", array_typing(slot, current), declared_array(slot))?;
            array_of(items, slot, &typing, context)
        }
        VariantType::DICTIONARY => {
            check_keys(json, map, slot, &["entries"], &["key", "value"])?;
            let found = dictionary_typing(slot, current);
            let (key, value) = declared_dictionary(slot).unzip();
            let typing = (typing("key", found.0, key)?, typing("value", found.1, value)?);
            let not_pairs =
                || refusal(json, slot, "its \"entries\" are not a list of [key, value]");
            let entries = map["entries"].as_array().ok_or_else(not_pairs)?;
            if !entries.iter().all(|it| it.as_array().is_some_and(|pair| pair.len() == 2)) {
                return Err(not_pairs());
            }
            let entries = entries.iter().map(|it| (it[0].clone(), &it[1]));
            dictionary_of(entries, slot, &typing, context)
        }
        VariantType::PACKED_BYTE_ARRAY if map.contains_key("base64") => {
            check_keys(json, map, slot, &["base64"], &[])?;
            let bytes = map["base64"].as_str().and_then(|it| BASE64.decode(it).ok());
            let bytes = bytes.ok_or_else(|| refusal(json, slot, "its \"base64\" is not base64"))?;
            Ok(PackedByteArray::from(bytes).to_variant())
        }
        _ => {
            check_keys(json, map, slot, &["items"], &[])?;
            match &map["items"] {
                Value::Array(items) => packed(items, slot, context),
                _ => Err(refusal(json, slot, "its \"items\" are not an array")),
            }
        }
    }
}

/// A packed array from the JSON of its elements.
pub(super) fn packed(items: &[Value], slot: &Slot, _: &Context) -> Result<Variant, ToolError> {
    let single = |json: &Value| {
        let float = numbers::read_float(json)?;
        let single = float as f32;
        (single.is_infinite() == float.is_infinite()).then_some(single)
    };
    let text = |json: &Value| json.as_str().filter(|it| !it.contains('\0')).map(GString::from);
    Ok(match slot.kind {
        VariantType::PACKED_BYTE_ARRAY => {
            let byte = |json: &Value| u8::try_from(numbers::read_int(json)?).ok();
            PackedByteArray::from(each(items, slot, "number from 0 to 255", byte)?).to_variant()
        }
        VariantType::PACKED_INT32_ARRAY => {
            let int = |json: &Value| i32::try_from(numbers::read_int(json)?).ok();
            PackedInt32Array::from(each(items, slot, "whole number of 32 bits", int)?).to_variant()
        }
        VariantType::PACKED_INT64_ARRAY => {
            let ints = each(items, slot, "whole number of 64 bits", numbers::read_int)?;
            PackedInt64Array::from(ints).to_variant()
        }
        VariantType::PACKED_FLOAT32_ARRAY => {
            PackedFloat32Array::from(each(items, slot, "32-bit float", single)?).to_variant()
        }
        VariantType::PACKED_FLOAT64_ARRAY => {
            let floats = each(items, slot, "number", numbers::read_float)?;
            PackedFloat64Array::from(floats).to_variant()
        }
        VariantType::PACKED_STRING_ARRAY => {
            PackedStringArray::from(each(items, slot, "text", text)?).to_variant()
        }
        VariantType::PACKED_VECTOR2_ARRAY => {
            PackedVector2Array::from(structs_of(items, slot, VariantType::VECTOR2)?).to_variant()
        }
        VariantType::PACKED_VECTOR3_ARRAY => {
            PackedVector3Array::from(structs_of(items, slot, VariantType::VECTOR3)?).to_variant()
        }
        VariantType::PACKED_COLOR_ARRAY => {
            PackedColorArray::from(structs_of(items, slot, VariantType::COLOR)?).to_variant()
        }
        VariantType::PACKED_VECTOR4_ARRAY => {
            PackedVector4Array::from(structs_of(items, slot, VariantType::VECTOR4)?).to_variant()
        }
        _ => return Err(refusal(&Value::from(items), slot, "")),
    })
}

fn each<T>(
    items: &[Value],
    slot: &Slot,
    what: &str,
    read: impl Fn(&Value) -> Option<T>,
) -> Result<Vec<T>, ToolError> {
    let element = |(idx, json)| {
        read(json).ok_or_else(|| {
            let message = format!(
                "element {idx}: {} is not {}",
                kinds::shown(json),
                kinds::with_article(what)
            );
            ToolError::invalid(slot.name.clone(), message).hint(kinds::forms(slot))
        })
    };
    items.iter().enumerate().map(element).collect()
}

fn structs_of<T: FromGodot>(
    items: &[Value],
    slot: &Slot,
    kind: VariantType,
) -> Result<Vec<T>, ToolError> {
    let element_slot = Slot::of_kind(slot.name.clone(), kind);
    let element = |(idx, json)| match structs::read(json, kind) {
        Ok(numbers) => Ok(structs::assemble(kind, &numbers).to::<T>()),
        Err(why) => {
            Err(within(refusal(json, &element_slot, &why), slot, &format!("element {idx}")))
        }
    };
    items.iter().enumerate().map(element).collect()
}

//! Variant to JSON: the read form, which [`super::decode`] takes back (S10.3).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use godot::builtin::VariantType;
use godot::classes::Script;
use godot::global::is_same;
use godot::prelude::*;
use serde_json::{Map, Value, json};

use super::containers;
use super::slot::Slot;
use super::{Context, kinds, nodes, numbers, resources, structs};

/// Containers inside each other that are followed.
const MAX_CONTAINERS: usize = 32;

/// Built-in resources inside each other that are followed.
const MAX_RESOURCES: usize = 6;

/// Values that one answer may hold, and those that one built-in resource may take of them.
const MAX_VALUES: usize = 500_000;
const MAX_RESOURCE_VALUES: usize = 20_000;

/// Byte arrays up to this length are shown as numbers.
const MAX_BYTES_AS_NUMBERS: usize = 32;

pub(super) struct Encoder<'a> {
    context: &'a Context<'a>,
    /// Values that may still be written.
    left: usize,
    /// Whether something did not fit into `left`.
    overflowed: bool,
    containers: Vec<Variant>,
    resources: Vec<InstanceId>,
}

impl<'a> Encoder<'a> {
    pub(super) fn new(context: &'a Context<'a>) -> Self {
        Self {
            context,
            left: MAX_VALUES,
            overflowed: false,
            containers: Vec::new(),
            resources: Vec::new(),
        }
    }

    /// The read form for `slot`. A value of another type than the slot's is tagged.
    pub(super) fn value(&mut self, value: &Variant, slot: Option<&Slot>) -> Value {
        let kind = value.get_type();
        let slot = slot.filter(|it| kinds::related(it.kind, kind));
        if !self.take(weight(value, kind)) {
            return truncated(kind);
        }
        match kind {
            VariantType::NIL => Value::Null,
            VariantType::BOOL => Value::Bool(value.to()),
            VariantType::INT => Value::from(value.to::<i64>()),
            VariantType::FLOAT => match slot {
                Some(slot) if slot.is_engine_float() => numbers::short_if_single(value.to()),
                _ => numbers::exact(value.to()),
            },
            VariantType::STRING => Value::from(value.stringify().to_string()),
            VariantType::STRING_NAME | VariantType::NODE_PATH => {
                let text = value.stringify().to_string();
                match slot {
                    Some(_) => Value::from(text),
                    None => json!({ "type": kinds::name(kind), "value": text }),
                }
            }
            VariantType::ARRAY => self.array(value, slot),
            VariantType::DICTIONARY => self.dictionary(value, slot),
            VariantType::OBJECT => self.object(value, slot),
            VariantType::RID | VariantType::CALLABLE | VariantType::SIGNAL => {
                json!({ "type": kinds::name(kind), "text": value.stringify().to_string() })
            }
            _ => match structs::flatten(value) {
                Some(numbers) => {
                    let mut map = Map::new();
                    if slot.is_none() {
                        map.insert("type".into(), Value::from(kinds::name(kind)));
                    }
                    map.extend(structs::members(kind, &numbers));
                    Value::Object(map)
                }
                None => packed(value, kind, slot.is_some()),
            },
        }
    }

    fn take(&mut self, weight: usize) -> bool {
        if self.left < weight {
            self.overflowed = true;
            return false;
        }
        self.left -= weight;
        true
    }

    /// Runs `encode` for a container, unless it lies within itself or too deep.
    fn nested(&mut self, value: &Variant, encode: impl FnOnce(&mut Self) -> Value) -> Value {
        let inside_itself = self.containers.iter().any(|it| is_same(it, value));
        if inside_itself || self.containers.len() >= MAX_CONTAINERS {
            return truncated(value.get_type());
        }
        self.containers.push(value.clone());
        let json = encode(self);
        self.containers.pop();
        json
    }

    fn array(&mut self, value: &Variant, slot: Option<&Slot>) -> Value {
        let array: AnyArray = value.to();
        let items = |encoder: &mut Self, element: Option<&Slot>| {
            array.iter_shared().map(|it| encoder.value(&it, element)).collect::<Vec<_>>()
        };
        let hinted = slot.is_some_and(|it| it.kind == VariantType::ARRAY && !it.hint_string.is_empty());
        if !hinted && !array.element_type().is_typed() {
            return self.nested(value, |encoder| Value::Array(items(encoder, None)));
        }
        let any = Slot::of_kind("", VariantType::ARRAY);
        let slot = slot.unwrap_or(&any);
        let declared = containers::array_typing(slot, &Variant::nil());
        let found = containers::array_typing(slot, value);
        self.nested(value, |encoder| {
            let items = items(encoder, Some(&found.slot));
            // A packed slot that holds a plain array takes plain elements as well.
            if slot.kind != VariantType::ARRAY || found.equals(&declared) {
                Value::Array(items)
            } else {
                json!({ "type": "Array", "element": found.name(), "items": items })
            }
        })
    }

    fn dictionary(&mut self, value: &Variant, slot: Option<&Slot>) -> Value {
        let dictionary: AnyDictionary = value.to();
        let any = Slot::of_kind("", VariantType::DICTIONARY);
        let slot = slot.unwrap_or(&any);
        let declared = containers::dictionary_typing(slot, &Variant::nil());
        let (keys, values) = containers::dictionary_typing(slot, value);
        let is_declared = keys.equals(&declared.0) && values.equals(&declared.1);
        let plain_keys = matches!(keys.slot.kind, VariantType::NIL | VariantType::STRING);
        let plain = is_declared
            && plain_keys
            && dictionary.keys_shared().all(|key| {
                key.get_type() == VariantType::STRING && key.stringify() != "type"
            });
        self.nested(value, |encoder| {
            if plain {
                let entries = dictionary.iter_shared().map(|(key, value)| {
                    (key.stringify().to_string(), encoder.value(&value, Some(&values.slot)))
                });
                return Value::Object(entries.collect());
            }
            let entries: Vec<_> = dictionary
                .iter_shared()
                .map(|(key, value)| {
                    let key = encoder.value(&key, Some(&keys.slot));
                    json!([key, encoder.value(&value, Some(&values.slot))])
                })
                .collect();
            if is_declared {
                json!({ "type": "Dictionary", "entries": entries })
            } else {
                json!({
                    "type": "Dictionary",
                    "key": keys.name(),
                    "value": values.name(),
                    "entries": entries,
                })
            }
        })
    }

    fn object(&mut self, value: &Variant, slot: Option<&Slot>) -> Value {
        // A freed object is what the engine shows as null.
        let Ok(object) = value.try_to::<Gd<Object>>() else { return Value::Null };
        let object = match object.try_cast::<Node>() {
            Ok(node) => return nodes::encode(&node, slot, self.context),
            Err(object) => object,
        };
        match object.try_cast::<Resource>() {
            Ok(resource) if resources::is_external(&resource) => {
                resources::encode_external(&resource, slot)
            }
            Ok(resource) => self.resource(&resource),
            Err(object) => json!({ "type": "Object", "class": object.get_class().to_string() }),
        }
    }

    /// `NewResource`, or the truncated form when it does not fit.
    fn resource(&mut self, resource: &Gd<Resource>) -> Value {
        let id = resource.instance_id();
        let is_script = resource.clone().try_cast::<Script>().is_ok();
        if is_script || self.resources.len() >= MAX_RESOURCES || self.resources.contains(&id) {
            return resources::encode_truncated(resource);
        }
        // Half of what is left at most, so that one large part does not take the rest with it.
        let share = if self.resources.is_empty() { MAX_RESOURCE_VALUES } else { self.left / 2 };
        let share = share.min(self.left);
        let others = self.left - share;
        let overflowed = std::mem::replace(&mut self.overflowed, false);
        self.left = share;
        self.resources.push(id);

        let (class, stored) = resources::stored_properties(resource);
        let mut properties = Map::new();
        for (slot, value) in stored {
            if self.overflowed {
                break;
            }
            let json = self.value(&value, Some(&slot));
            properties.insert(slot.name, json);
        }

        self.resources.pop();
        self.left += others;
        if std::mem::replace(&mut self.overflowed, overflowed) {
            return resources::encode_truncated(resource);
        }
        let mut json = Map::new();
        json.insert("type".into(), Value::from("NewResource"));
        json.insert("class".into(), Value::from(class));
        json.insert("properties".into(), Value::Object(properties));
        Value::Object(json)
    }
}

/// How much of an answer a value takes, its elements not counted.
fn weight(value: &Variant, kind: VariantType) -> usize {
    1 + match kind {
        VariantType::STRING => value.to::<GString>().len() / 16,
        VariantType::PACKED_BYTE_ARRAY => value.to::<PackedByteArray>().len() / 16,
        VariantType::PACKED_INT32_ARRAY => value.to::<PackedInt32Array>().len(),
        VariantType::PACKED_INT64_ARRAY => value.to::<PackedInt64Array>().len(),
        VariantType::PACKED_FLOAT32_ARRAY => value.to::<PackedFloat32Array>().len(),
        VariantType::PACKED_FLOAT64_ARRAY => value.to::<PackedFloat64Array>().len(),
        VariantType::PACKED_STRING_ARRAY => value.to::<PackedStringArray>().len(),
        VariantType::PACKED_VECTOR2_ARRAY => value.to::<PackedVector2Array>().len() * 2,
        VariantType::PACKED_VECTOR3_ARRAY => value.to::<PackedVector3Array>().len() * 3,
        VariantType::PACKED_COLOR_ARRAY => value.to::<PackedColorArray>().len() * 4,
        VariantType::PACKED_VECTOR4_ARRAY => value.to::<PackedVector4Array>().len() * 4,
        _ => 0,
    }
}

fn truncated(kind: VariantType) -> Value {
    json!({ "type": kinds::name(kind), "truncated": true })
}

fn packed(value: &Variant, kind: VariantType, in_slot: bool) -> Value {
    fn of<T: Copy>(items: &[T], encode: impl Fn(T) -> Value) -> Vec<Value> {
        items.iter().map(|it| encode(*it)).collect()
    }
    let part = |kind: VariantType, value: Variant| {
        let numbers = structs::flatten(&value).unwrap_or_default();
        Value::Object(structs::members(kind, &numbers))
    };
    let items = match kind {
        VariantType::PACKED_BYTE_ARRAY => {
            let bytes: PackedByteArray = value.to();
            if bytes.len() > MAX_BYTES_AS_NUMBERS {
                let text = BASE64.encode(bytes.as_slice());
                return json!({ "type": kinds::name(kind), "base64": text });
            }
            of(bytes.as_slice(), Value::from)
        }
        VariantType::PACKED_INT32_ARRAY => of(value.to::<PackedInt32Array>().as_slice(), Value::from),
        VariantType::PACKED_INT64_ARRAY => of(value.to::<PackedInt64Array>().as_slice(), Value::from),
        VariantType::PACKED_FLOAT32_ARRAY => {
            of(value.to::<PackedFloat32Array>().as_slice(), numbers::short)
        }
        VariantType::PACKED_FLOAT64_ARRAY => {
            of(value.to::<PackedFloat64Array>().as_slice(), numbers::exact)
        }
        VariantType::PACKED_STRING_ARRAY => {
            let texts: PackedStringArray = value.to();
            texts.as_slice().iter().map(|it| Value::from(it.to_string())).collect()
        }
        VariantType::PACKED_VECTOR2_ARRAY => {
            let items: PackedVector2Array = value.to();
            of(items.as_slice(), |it| part(VariantType::VECTOR2, it.to_variant()))
        }
        VariantType::PACKED_VECTOR3_ARRAY => {
            let items: PackedVector3Array = value.to();
            of(items.as_slice(), |it| part(VariantType::VECTOR3, it.to_variant()))
        }
        VariantType::PACKED_COLOR_ARRAY => {
            let items: PackedColorArray = value.to();
            of(items.as_slice(), |it| part(VariantType::COLOR, it.to_variant()))
        }
        VariantType::PACKED_VECTOR4_ARRAY => {
            let items: PackedVector4Array = value.to();
            of(items.as_slice(), |it| part(VariantType::VECTOR4, it.to_variant()))
        }
        // A type of a newer engine.
        _ => return json!({ "type": kinds::name(kind), "text": value.stringify().to_string() }),
    };
    if in_slot { Value::Array(items) } else { json!({ "type": kinds::name(kind), "items": items }) }
}

//! Names of the Variant types, the tags of JSON objects, and texts about forms.

use godot::builtin::VariantType;
use godot::obj::EngineEnum as _;
use serde_json::{Map, Value};

use super::slot::Slot;
use super::structs;

/// Godot's names, in the order of `Variant.Type`.
const NAMES: [&str; 39] = [
    "null",
    "bool",
    "int",
    "float",
    "String",
    "Vector2",
    "Vector2i",
    "Rect2",
    "Rect2i",
    "Vector3",
    "Vector3i",
    "Transform2D",
    "Vector4",
    "Vector4i",
    "Plane",
    "Quaternion",
    "AABB",
    "Basis",
    "Transform3D",
    "Projection",
    "Color",
    "StringName",
    "NodePath",
    "RID",
    "Object",
    "Callable",
    "Signal",
    "Dictionary",
    "Array",
    "PackedByteArray",
    "PackedInt32Array",
    "PackedInt64Array",
    "PackedFloat32Array",
    "PackedFloat64Array",
    "PackedStringArray",
    "PackedVector2Array",
    "PackedVector3Array",
    "PackedColorArray",
    "PackedVector4Array",
];

/// The name as GDScript writes it, for example `Vector2i`.
pub(super) fn name(kind: VariantType) -> &'static str {
    usize::try_from(kind.ord()).ok().and_then(|ord| NAMES.get(ord)).copied().unwrap_or("Variant")
}

pub(super) fn by_name(name: &str) -> Option<VariantType> {
    let ord = NAMES.iter().position(|it| *it == name)?;
    if ord == 0 {
        return None;
    }
    VariantType::try_from_ord(i32::try_from(ord).ok()?)
}

/// Whether the engine converts between the two without loss: texts, numbers, arrays.
///
/// Some of its own properties hold another type than they declare, such as `theme_type_variation`
/// (declared `String`, holds a `StringName`).
pub(super) fn related(a: VariantType, b: VariantType) -> bool {
    let family = |kind: VariantType| match kind {
        VariantType::STRING | VariantType::STRING_NAME | VariantType::NODE_PATH => Some(0),
        VariantType::INT | VariantType::FLOAT => Some(1),
        kind if kind.ord() >= VariantType::ARRAY.ord() => Some(2),
        _ => None,
    };
    a == b || family(a).is_some() && family(a) == family(b)
}

/// What the `"type"` of a JSON object says about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tag {
    Kind(VariantType),
    Resource,
    NewResource,
    Node,
}

impl Tag {
    pub(super) fn of(json: &Value) -> Option<(Self, &Map<String, Value>)> {
        let map = json.as_object()?;
        let tag = Self::named(map.get("type")?.as_str()?)?;
        Some((tag, map))
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "Resource" => Some(Self::Resource),
            "NewResource" => Some(Self::NewResource),
            "Node" => Some(Self::Node),
            _ => by_name(name).map(Self::Kind),
        }
    }

    /// The tag that `name` would be if its case were right.
    pub(super) fn misspelled(name: &str) -> Option<&'static str> {
        NAMES[1..]
            .iter()
            .chain(&["Resource", "NewResource", "Node"])
            .find(|it| it.eq_ignore_ascii_case(name) && **it != name)
            .copied()
    }
}

/// `a Vector2`, `an int`.
pub(super) fn with_article(name: &str) -> String {
    let vowel = name.starts_with(['a', 'e', 'i', 'o', 'A', 'E', 'I', 'O']);
    format!("{} {name}", if vowel { "an" } else { "a" })
}

/// The JSON text of what was asked, cut to a length that suits a message.
pub(super) fn shown(json: &Value) -> String {
    cut(json.to_string(), 60)
}

/// `text` with at most `limit` characters.
pub(super) fn cut(text: String, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text,
        Some(_) => {
            let end = text.char_indices().nth(limit - 1).map_or(text.len(), |(at, _)| at);
            format!("{}…", &text[..end])
        }
    }
}

/// The written forms that `slot` accepts, for a hint.
pub(super) fn forms(slot: &Slot) -> String {
    let kind = slot.kind;
    if structs::components(kind).is_some() {
        return structs::forms(kind);
    }
    match kind {
        VariantType::NIL => "write a JSON value; types that JSON does not know need a tag, for \
                             example {\"type\":\"Vector2\",\"x\":1,\"y\":2}"
            .into(),
        VariantType::BOOL => "write true or false, without quotes".into(),
        VariantType::INT => "write a whole number, without quotes".into(),
        VariantType::FLOAT => "write a number without quotes; {\"type\":\"float\",\"value\":\"nan\"} \
                               (or \"inf\", \"-inf\") for what JSON cannot say"
            .into(),
        VariantType::STRING => "write a JSON string; it is taken as it is".into(),
        VariantType::STRING_NAME => "write a JSON string".into(),
        VariantType::NODE_PATH => "write a node path as a JSON string, for example \"../Sprite\" or \
                                   \"Sprite:position\""
            .into(),
        VariantType::ARRAY => "write a JSON array, for example [1, 2]".into(),
        VariantType::DICTIONARY => "write a JSON object, or {\"type\":\"Dictionary\",\"entries\":[[key,\
                                    value],...]} for keys that are not text"
            .into(),
        VariantType::PACKED_BYTE_ARRAY => "write a JSON array of numbers from 0 to 255, or \
                                           {\"type\":\"PackedByteArray\",\"base64\":\"...\"}"
            .into(),
        VariantType::OBJECT if slot.is_node() => {
            "write the path of a node of the edited scene, from its root, for example \"Player\"; \
             null clears it"
                .into()
        }
        VariantType::OBJECT => "write a path such as \"res://icon.png\", a \"uid://...\", \
                                {\"type\":\"NewResource\",\"class\":\"...\",\"properties\":{}}, or \
                                null to clear it"
            .into(),
        VariantType::RID | VariantType::CALLABLE | VariantType::SIGNAL => {
            "values of this type exist only while the project runs and cannot be written".into()
        }
        _ => format!("write a JSON array whose elements fit a {}", name(kind)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_order_of_the_engine() {
        for (kind, expected) in [
            (VariantType::NIL, "null"),
            (VariantType::AABB, "AABB"),
            (VariantType::OBJECT, "Object"),
            (VariantType::PACKED_BYTE_ARRAY, "PackedByteArray"),
            (VariantType::PACKED_VECTOR4_ARRAY, "PackedVector4Array"),
        ] {
            assert_eq!(name(kind), expected);
        }
        assert_eq!(by_name("Transform3D"), Some(VariantType::TRANSFORM3D));
        assert_eq!(by_name("vector2"), None);
        assert_eq!(Tag::misspelled("vector2"), Some("Vector2"));
        assert_eq!(Tag::misspelled("Vector2"), None);
        assert_eq!(Tag::misspelled("sword"), None);
    }

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(cut("äöü".into(), 3), "äöü");
        assert_eq!(cut("äöüß".into(), 3), "äö…");
    }
}

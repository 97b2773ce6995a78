//! Equality of values.

use godot::builtin::VariantType;
use godot::global::is_same;
use godot::prelude::*;

use super::{resources, structs};

/// Nesting that is compared; below it only the very same container is equal.
const MAX_DEPTH: usize = 32;

/// Relative difference that two floats may have: some roundings of an `f32`, as setters make when
/// they go from degrees to radians and back.
const TOLERANCE: f64 = 4e-6;

/// Equal after the conversions of the engine.
pub(super) fn same(wanted: &Variant, found: &Variant) -> bool {
    Comparison { tolerance: TOLERANCE }.values(wanted, found, 0)
}

/// Equal in type and value, NaN included, -0 and 0 apart.
pub(super) fn equal(a: &Variant, b: &Variant) -> bool {
    a.get_type() == b.get_type() && Comparison { tolerance: 0.0 }.values(a, b, 0)
}

struct Comparison {
    tolerance: f64,
}

impl Comparison {
    fn values(&self, a: &Variant, b: &Variant, depth: usize) -> bool {
        if depth > MAX_DEPTH {
            return is_same(a, b);
        }
        let (kind_a, kind_b) = (a.get_type(), b.get_type());
        if let (Some(a), Some(b)) = (text(a, kind_a), text(b, kind_b)) {
            return a == b;
        }
        if let (Some(a), Some(b)) = (number(a, kind_a), number(b, kind_b)) {
            return match (a, b) {
                (Number::Int(a), Number::Int(b)) => a == b,
                (a, b) => self.floats(&[a.float()], &[b.float()]),
            };
        }
        if is_list(kind_a) && is_list(kind_b) {
            return self.lists(a, b, depth);
        }
        if kind_a != kind_b {
            return false;
        }
        match kind_a {
            VariantType::NIL => true,
            VariantType::VECTOR2I
            | VariantType::VECTOR3I
            | VariantType::VECTOR4I
            | VariantType::RECT2I => a == b,
            VariantType::DICTIONARY => self.dictionaries(a, b, depth),
            VariantType::OBJECT => self.objects(a, b, depth),
            _ => match (structs::flatten(a), structs::flatten(b)) {
                (Some(a), Some(b)) => self.floats(&a, &b),
                _ => a == b,
            },
        }
    }

    /// Small components of a vector carry the rounding of the large ones.
    fn floats(&self, a: &[f64], b: &[f64]) -> bool {
        let finite = a.iter().chain(b).filter(|it| it.is_finite());
        let scale = finite.fold(0.0_f64, |scale, it| scale.max(it.abs()));
        a.len() == b.len()
            && a.iter().zip(b).all(|(a, b)| {
                if self.tolerance == 0.0 {
                    return a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
                }
                a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= scale * self.tolerance
            })
    }

    fn lists(&self, a: &Variant, b: &Variant, depth: usize) -> bool {
        if is_same(a, b) {
            return true;
        }
        // Asked by type: the engine converts other lists to bytes, and then all are alike.
        let bytes = VariantType::PACKED_BYTE_ARRAY;
        if a.get_type() == bytes && b.get_type() == bytes {
            return a.to::<PackedByteArray>() == b.to::<PackedByteArray>();
        }
        let (a, b) = (elements(a), elements(b));
        a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| self.values(a, b, depth + 1))
    }

    fn dictionaries(&self, a: &Variant, b: &Variant, depth: usize) -> bool {
        if is_same(a, b) {
            return true;
        }
        let (a, b) = (a.to::<AnyDictionary>(), b.to::<AnyDictionary>());
        a.len() == b.len()
            && a.iter_shared().all(|(key, value)| {
                b.get(&key).is_some_and(|other| self.values(&value, &other, depth + 1))
            })
    }

    fn objects(&self, a: &Variant, b: &Variant, depth: usize) -> bool {
        let (Ok(a), Ok(b)) = (a.try_to::<Gd<Object>>(), b.try_to::<Gd<Object>>()) else {
            return false;
        };
        if a.instance_id() == b.instance_id() {
            return true;
        }
        let (Ok(a), Ok(b)) = (a.try_cast::<Resource>(), b.try_cast::<Resource>()) else {
            return false;
        };
        if resources::is_external(&a) || resources::is_external(&b) {
            return a.get_path() == b.get_path();
        }
        let ((class_a, stored_a), (class_b, stored_b)) =
            (resources::stored_properties(&a), resources::stored_properties(&b));
        class_a == class_b
            && stored_a.len() == stored_b.len()
            && stored_a.iter().zip(&stored_b).all(|((slot_a, a), (slot_b, b))| {
                slot_a.name == slot_b.name && self.values(a, b, depth + 4)
            })
    }
}

enum Number {
    Int(i64),
    Float(f64),
}

impl Number {
    fn float(&self) -> f64 {
        match *self {
            Self::Int(it) => it as f64,
            Self::Float(it) => it,
        }
    }
}

fn number(value: &Variant, kind: VariantType) -> Option<Number> {
    match kind {
        VariantType::INT => value.try_to().ok().map(Number::Int),
        VariantType::FLOAT => value.try_to().ok().map(Number::Float),
        _ => None,
    }
}

fn text(value: &Variant, kind: VariantType) -> Option<GString> {
    match kind {
        VariantType::STRING | VariantType::STRING_NAME | VariantType::NODE_PATH => {
            Some(value.stringify())
        }
        _ => None,
    }
}

fn is_list(kind: VariantType) -> bool {
    use godot::obj::EngineEnum as _;
    kind.ord() >= VariantType::ARRAY.ord()
}

/// The elements of an array or packed array.
pub(super) fn elements(value: &Variant) -> Vec<Variant> {
    fn of<T: ToGodot>(items: &[T]) -> Vec<Variant> {
        items.iter().map(ToGodot::to_variant).collect()
    }
    match value.get_type() {
        VariantType::ARRAY => value.to::<AnyArray>().iter_shared().collect(),
        VariantType::PACKED_BYTE_ARRAY => of(value.to::<PackedByteArray>().as_slice()),
        VariantType::PACKED_INT32_ARRAY => of(value.to::<PackedInt32Array>().as_slice()),
        VariantType::PACKED_INT64_ARRAY => of(value.to::<PackedInt64Array>().as_slice()),
        VariantType::PACKED_FLOAT32_ARRAY => of(value.to::<PackedFloat32Array>().as_slice()),
        VariantType::PACKED_FLOAT64_ARRAY => of(value.to::<PackedFloat64Array>().as_slice()),
        VariantType::PACKED_STRING_ARRAY => of(value.to::<PackedStringArray>().as_slice()),
        VariantType::PACKED_VECTOR2_ARRAY => of(value.to::<PackedVector2Array>().as_slice()),
        VariantType::PACKED_VECTOR3_ARRAY => of(value.to::<PackedVector3Array>().as_slice()),
        VariantType::PACKED_COLOR_ARRAY => of(value.to::<PackedColorArray>().as_slice()),
        VariantType::PACKED_VECTOR4_ARRAY => of(value.to::<PackedVector4Array>().as_slice()),
        _ => Vec::new(),
    }
}

//! Types made of a fixed number of numbers, from `Vector2` to `Projection`, and `Color`.
//!
//! All of them go through one list of numbers in *member order*: the components in the order of
//! [`components`], depth first. Only `Basis` (and `Transform3D`, which holds one) is spelled in
//! another order by Godot: by rows, while its members are columns.

use godot::builtin::*;
use godot::meta::ToGodot as _;
use serde_json::{Map, Value, json};

use super::kinds;
use super::numbers;
use super::spelled;

type Components = &'static [(&'static str, VariantType)];

const F: VariantType = VariantType::FLOAT;
const I: VariantType = VariantType::INT;
const V2: VariantType = VariantType::VECTOR2;
const V2I: VariantType = VariantType::VECTOR2I;
const V3: VariantType = VariantType::VECTOR3;
const V4: VariantType = VariantType::VECTOR4;

/// The named components of a type, or `None` for types that are not made of numbers.
pub(super) fn components(kind: VariantType) -> Option<Components> {
    Some(match kind {
        VariantType::VECTOR2 => &[("x", F), ("y", F)],
        VariantType::VECTOR2I => &[("x", I), ("y", I)],
        VariantType::RECT2 => &[("position", V2), ("size", V2)],
        VariantType::RECT2I => &[("position", V2I), ("size", V2I)],
        VariantType::VECTOR3 => &[("x", F), ("y", F), ("z", F)],
        VariantType::VECTOR3I => &[("x", I), ("y", I), ("z", I)],
        VariantType::TRANSFORM2D => &[("x", V2), ("y", V2), ("origin", V2)],
        VariantType::VECTOR4 => &[("x", F), ("y", F), ("z", F), ("w", F)],
        VariantType::VECTOR4I => &[("x", I), ("y", I), ("z", I), ("w", I)],
        VariantType::PLANE => &[("normal", V3), ("d", F)],
        VariantType::QUATERNION => &[("x", F), ("y", F), ("z", F), ("w", F)],
        VariantType::AABB => &[("position", V3), ("size", V3)],
        VariantType::BASIS => &[("x", V3), ("y", V3), ("z", V3)],
        VariantType::TRANSFORM3D => &[("basis", VariantType::BASIS), ("origin", V3)],
        VariantType::PROJECTION => &[("x", V4), ("y", V4), ("z", V4), ("w", V4)],
        VariantType::COLOR => &[("r", F), ("g", F), ("b", F), ("a", F)],
        _ => return None,
    })
}

/// How many numbers the type holds.
pub(super) fn count(kind: VariantType) -> usize {
    components(kind).map_or(1, |them| them.iter().map(|(_, kind)| count(*kind)).sum())
}

/// The numbers that `json` means for a `kind`, in member order, or why it means none.
pub(super) fn read(json: &Value, kind: VariantType) -> Result<Vec<f64>, String> {
    match json {
        Value::Object(map) => read_members(map, kind),
        Value::Array(items) => read_array(items, kind),
        Value::String(text) => read_text(text, kind),
        _ => Err(String::new()),
    }
}

fn read_members(map: &Map<String, Value>, kind: VariantType) -> Result<Vec<f64>, String> {
    let components = components(kind).expect("a struct type");
    if let Some(tag) = map.get("type")
        && tag != kinds::name(kind)
    {
        return Err(format!("its type is {}", kinds::shown(tag)));
    }
    if let Some(extra) =
        map.keys().find(|key| *key != "type" && !components.iter().any(|(name, _)| name == key))
    {
        return Err(format!("it has no component \"{extra}\""));
    }
    let mut numbers = Vec::with_capacity(count(kind));
    for (name, part) in components {
        match map.get(*name) {
            Some(json) if self::components(*part).is_some() => {
                let inner =
                    read(json, *part).map_err(|why| of_component(name, json, *part, &why))?;
                numbers.extend(inner);
            }
            Some(json) => {
                numbers.push(read_number(json, *part).map_err(|why| format!("\"{name}\": {why}"))?);
            }
            None if kind == VariantType::COLOR && *name == "a" => numbers.push(1.0),
            None => return Err(format!("\"{name}\" is missing")),
        }
    }
    Ok(numbers)
}

fn of_component(name: &str, json: &Value, kind: VariantType, why: &str) -> String {
    let what = kinds::with_article(kinds::name(kind));
    let why = if why.is_empty() { String::new() } else { format!(", {why}") };
    format!("\"{name}\": {} is not {what}{why}", kinds::shown(json))
}

fn read_array(items: &[Value], kind: VariantType) -> Result<Vec<f64>, String> {
    let wanted = count(kind);
    let opaque = kind == VariantType::COLOR && items.len() == 3;
    if items.len() != wanted && !opaque {
        return Err(format!("it has {} numbers instead of {wanted}", items.len()));
    }
    let leaf = leaf(kind);
    let mut numbers = items
        .iter()
        .enumerate()
        .map(|(idx, json)| read_number(json, leaf).map_err(|why| format!("number {idx}: {why}")))
        .collect::<Result<Vec<_>, _>>()?;
    if opaque {
        numbers.push(1.0);
    }
    transpose(kind, &mut numbers);
    Ok(numbers)
}

fn read_text(text: &str, kind: VariantType) -> Result<Vec<f64>, String> {
    if kind == VariantType::COLOR
        && let Some(color) = color_by_text(text)
    {
        return Ok(color.to_vec());
    }
    match spelled::constructor(text) {
        Some((name, args)) if name == kinds::name(kind) => read_array(&args, kind),
        Some((name, _)) => Err(format!("it spells {}", kinds::with_article(&name))),
        None => Err(String::new()),
    }
}

fn read_number(json: &Value, leaf: VariantType) -> Result<f64, String> {
    if leaf == I {
        let int = numbers::read_int(json)
            .ok_or_else(|| format!("{} is not a whole number", kinds::shown(json)))?;
        return match i32::try_from(int) {
            Ok(int) => Ok(f64::from(int)),
            Err(_) => Err(format!("{int} does not fit 32 bits")),
        };
    }
    let float = numbers::read_float(json)
        .ok_or_else(|| format!("{} is not a number", kinds::shown(json)))?;
    if float.is_finite() && (float as f32).is_infinite() {
        return Err(format!("{float:e} does not fit a 32-bit float"));
    }
    Ok(float)
}

fn leaf(kind: VariantType) -> VariantType {
    match components(kind) {
        Some(them) => leaf(them[0].1),
        None => kind,
    }
}

/// Between member order and Godot's spelling. It is its own inverse.
fn transpose(kind: VariantType, numbers: &mut [f64]) {
    if matches!(kind, VariantType::BASIS | VariantType::TRANSFORM3D) {
        for (a, b) in [(1, 3), (2, 6), (5, 7)] {
            numbers.swap(a, b);
        }
    }
}

/// `#rgb`, `#rgba`, `#rrggbb`, `#rrggbbaa`, or a name of Godot's list in any case.
///
/// The engine's own reader also takes hex digits without `#`, which makes words such as "facade" or
/// "bad" colors.
fn color_by_text(text: &str) -> Option<[f64; 4]> {
    if let Some(digits) = text.strip_prefix('#') {
        return color_by_digits(digits);
    }
    fn plain(name: &str) -> impl Iterator<Item = u8> {
        let letters = name.bytes().filter(|it| !matches!(it, b'_' | b' ' | b'-'));
        letters.map(|it| it.to_ascii_uppercase())
    }
    let mut colors = Color::ALL_GODOT_COLORS.iter();
    let (_, color) = colors.find(|(name, _)| plain(name).eq(plain(text)))?;
    Some([color.r, color.g, color.b, color.a].map(f64::from))
}

fn color_by_digits(digits: &str) -> Option<[f64; 4]> {
    let nibbles: Vec<u32> = digits.chars().map(|it| it.to_digit(16)).collect::<Option<_>>()?;
    let bytes: Vec<u32> = match nibbles.len() {
        3 | 4 => nibbles.iter().map(|it| it * 17).collect(),
        6 | 8 => nibbles.chunks(2).map(|pair| pair[0] * 16 + pair[1]).collect(),
        _ => return None,
    };
    // Divided as the engine does it, in single precision, so that both give the same color.
    let mut color = [1.0; 4];
    for (channel, byte) in color.iter_mut().zip(bytes) {
        *channel = f64::from(byte as f32 / 255.0);
    }
    Some(color)
}

/// The value of a type from its numbers in member order.
pub(super) fn assemble(kind: VariantType, numbers: &[f64]) -> Variant {
    let f = |at: usize| numbers[at] as f32;
    let i = |at: usize| numbers[at] as i32;
    let v2 = |at: usize| Vector2::new(f(at), f(at + 1));
    let v2i = |at: usize| Vector2i::new(i(at), i(at + 1));
    let v3 = |at: usize| Vector3::new(f(at), f(at + 1), f(at + 2));
    let v4 = |at: usize| Vector4::new(f(at), f(at + 1), f(at + 2), f(at + 3));
    match kind {
        VariantType::VECTOR2 => v2(0).to_variant(),
        VariantType::VECTOR2I => v2i(0).to_variant(),
        VariantType::RECT2 => Rect2::new(v2(0), v2(2)).to_variant(),
        VariantType::RECT2I => Rect2i::new(v2i(0), v2i(2)).to_variant(),
        VariantType::VECTOR3 => v3(0).to_variant(),
        VariantType::VECTOR3I => Vector3i::new(i(0), i(1), i(2)).to_variant(),
        VariantType::TRANSFORM2D => Transform2D { a: v2(0), b: v2(2), origin: v2(4) }.to_variant(),
        VariantType::VECTOR4 => v4(0).to_variant(),
        VariantType::VECTOR4I => Vector4i::new(i(0), i(1), i(2), i(3)).to_variant(),
        // Not `Plane::new`, which insists on a normal of length 1.
        VariantType::PLANE => Plane { normal: v3(0), d: f(3) }.to_variant(),
        VariantType::QUATERNION => Quaternion::new(f(0), f(1), f(2), f(3)).to_variant(),
        VariantType::AABB => Aabb::new(v3(0), v3(3)).to_variant(),
        VariantType::BASIS => Basis::from_cols(v3(0), v3(3), v3(6)).to_variant(),
        VariantType::TRANSFORM3D => {
            Transform3D::new(Basis::from_cols(v3(0), v3(3), v3(6)), v3(9)).to_variant()
        }
        VariantType::PROJECTION => Projection::new([v4(0), v4(4), v4(8), v4(12)]).to_variant(),
        VariantType::COLOR => Color::from_rgba(f(0), f(1), f(2), f(3)).to_variant(),
        _ => unreachable!("{} is not made of numbers", kinds::name(kind)),
    }
}

/// The numbers of a value in member order, or `None` when its type is not made of numbers.
pub(super) fn flatten(value: &Variant) -> Option<Vec<f64>> {
    let v2 = |v: Vector2| [v.x, v.y].map(f64::from);
    let v2i = |v: Vector2i| [v.x, v.y].map(f64::from);
    let v3 = |v: Vector3| [v.x, v.y, v.z].map(f64::from);
    let v4 = |v: Vector4| [v.x, v.y, v.z, v.w].map(f64::from);
    let basis = |b: Basis| [v3(b.col_a()), v3(b.col_b()), v3(b.col_c())].concat();
    Some(match value.get_type() {
        VariantType::VECTOR2 => v2(value.to()).to_vec(),
        VariantType::VECTOR2I => v2i(value.to()).to_vec(),
        VariantType::RECT2 => {
            let it: Rect2 = value.to();
            [v2(it.position), v2(it.size)].concat()
        }
        VariantType::RECT2I => {
            let it: Rect2i = value.to();
            [v2i(it.position), v2i(it.size)].concat()
        }
        VariantType::VECTOR3 => v3(value.to()).to_vec(),
        VariantType::VECTOR3I => {
            let it: Vector3i = value.to();
            [it.x, it.y, it.z].map(f64::from).to_vec()
        }
        VariantType::TRANSFORM2D => {
            let it: Transform2D = value.to();
            [v2(it.a), v2(it.b), v2(it.origin)].concat()
        }
        VariantType::VECTOR4 => v4(value.to()).to_vec(),
        VariantType::VECTOR4I => {
            let it: Vector4i = value.to();
            [it.x, it.y, it.z, it.w].map(f64::from).to_vec()
        }
        VariantType::PLANE => {
            let it: Plane = value.to();
            [v3(it.normal).as_slice(), &[f64::from(it.d)]].concat()
        }
        VariantType::QUATERNION => {
            let it: Quaternion = value.to();
            [it.x, it.y, it.z, it.w].map(f64::from).to_vec()
        }
        VariantType::AABB => {
            let it: Aabb = value.to();
            [v3(it.position), v3(it.size)].concat()
        }
        VariantType::BASIS => basis(value.to()),
        VariantType::TRANSFORM3D => {
            let it: Transform3D = value.to();
            [basis(it.basis).as_slice(), &v3(it.origin)].concat()
        }
        VariantType::PROJECTION => {
            let it: Projection = value.to();
            it.cols.map(v4).concat()
        }
        VariantType::COLOR => {
            let it: Color = value.to();
            [it.r, it.g, it.b, it.a].map(f64::from).to_vec()
        }
        _ => return None,
    })
}

/// The read form: named components.
pub(super) fn members(kind: VariantType, numbers: &[f64]) -> Map<String, Value> {
    let mut map = Map::new();
    let mut rest = numbers;
    for (name, part) in components(kind).expect("a struct type") {
        let (own, others) = rest.split_at(count(*part));
        rest = others;
        let json = match *part {
            F => numbers::short(own[0] as f32),
            I => json!(own[0] as i64),
            part => Value::Object(members(part, own)),
        };
        map.insert((*name).into(), json);
    }
    map
}

/// The written forms, for a hint.
pub(super) fn forms(kind: VariantType) -> String {
    let numbers: Vec<f64> = (1..=count(kind)).map(|it| it as f64).collect();
    let list: Vec<_> = numbers.iter().map(f64::to_string).collect();
    let mut spelled = numbers;
    transpose(kind, &mut spelled);
    let named = sample(kind, &spelled).to_string();
    let name = kinds::name(kind);
    let text = format!("write {named}, [{}] or \"{name}({})\"", list.join(","), list.join(", "));
    if kind == VariantType::COLOR {
        return "write {\"r\":1,\"g\":0.5,\"b\":0,\"a\":1} (\"a\" may be left out), [1,0.5,0,1], \"red\", \
                \"#ff8000\" or \"Color(1, 0.5, 0, 1)\""
            .into();
    }
    text
}

/// Like [`members`], with whole numbers for brevity.
fn sample(kind: VariantType, numbers: &[f64]) -> Value {
    let mut map = Map::new();
    let mut rest = numbers;
    for (name, part) in components(kind).expect("a struct type") {
        let (own, others) = rest.split_at(count(*part));
        rest = others;
        let json =
            if components(*part).is_some() { sample(*part, own) } else { json!(own[0] as i64) };
        map.insert((*name).into(), json);
    }
    Value::Object(map)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: VariantType, json: Value, numbers: &[f64]) {
        assert_eq!(read(&json, kind).as_deref(), Ok(numbers), "{json}");
    }

    #[track_caller]
    fn check_refused(kind: VariantType, json: Value, why: &str) {
        assert_eq!(read(&json, kind), Err(why.to_owned()), "{json}");
    }

    #[test]
    fn vectors_in_all_forms() {
        let v2 = VariantType::VECTOR2;
        for json in [
            json!({ "x": 1, "y": 2 }),
            json!({ "type": "Vector2", "y": 2.0, "x": 1 }),
            json!([1, 2]),
            json!("Vector2(1, 2)"),
            json!(" Vector2( 1,2.0 ) "),
        ] {
            check(v2, json, &[1.0, 2.0]);
        }
        check_refused(v2, json!({ "x": 1 }), "\"y\" is missing");
        check_refused(v2, json!({ "x": 1, "y": 2, "z": 3 }), "it has no component \"z\"");
        check_refused(v2, json!({ "x": "a", "y": 1 }), "\"x\": \"a\" is not a number");
        check_refused(v2, json!([1]), "it has 1 numbers instead of 2");
        check_refused(v2, json!([1, 2, 3]), "it has 3 numbers instead of 2");
        check_refused(v2, json!([1, null]), "number 1: null is not a number");
        check_refused(v2, json!("Vector3(1, 2, 3)"), "it spells a Vector3");
        check_refused(
            v2,
            json!({ "type": "Vector2i", "x": 1, "y": 2 }),
            "its type is \"Vector2i\"",
        );
        check_refused(v2, json!([1e39, 0]), "number 0: 1e39 does not fit a 32-bit float");
        check_refused(
            VariantType::VECTOR2I,
            json!([1.5, 2]),
            "number 0: 1.5 is not a whole number",
        );
        check_refused(
            VariantType::VECTOR2I,
            json!([1, 2147483648_i64]),
            "number 1: 2147483648 does not fit 32 bits",
        );
        for json in [json!("banana"), json!(5), json!(null), json!("")] {
            check_refused(v2, json, "");
        }
    }

    #[test]
    fn nested_components_take_every_form() {
        let rect = VariantType::RECT2;
        check(rect, json!({ "position": [1, 2], "size": "Vector2(3, 4)" }), &[1.0, 2.0, 3.0, 4.0]);
        check(rect, json!([1, 2, 3, 4]), &[1.0, 2.0, 3.0, 4.0]);
        check_refused(
            rect,
            json!({ "position": [1], "size": [1, 1] }),
            "\"position\": [1] is not a Vector2, it has 1 numbers instead of 2",
        );
    }

    #[test]
    fn a_basis_is_spelled_by_rows() {
        let members = [1.0, 4.0, 7.0, 2.0, 5.0, 8.0, 3.0, 6.0, 9.0];
        check(VariantType::BASIS, json!([1, 2, 3, 4, 5, 6, 7, 8, 9]), &members);
        check(VariantType::BASIS, json!("Basis(1, 2, 3, 4, 5, 6, 7, 8, 9)"), &members);
        check(
            VariantType::BASIS,
            json!({ "x": [1, 4, 7], "y": [2, 5, 8], "z": [3, 6, 9] }),
            &members,
        );
    }

    #[test]
    fn colors_by_name_and_digits() {
        let color = VariantType::COLOR;
        check(color, json!("red"), &[1.0, 0.0, 0.0, 1.0]);
        check(color, json!("Dark Red"), &flat(Color::DARK_RED));
        check(color, json!("#f80"), &[1.0, f64::from(136_f32 / 255.0), 0.0, 1.0]);
        check(color, json!("#ff000000"), &[1.0, 0.0, 0.0, 0.0]);
        check(color, json!([1, 0, 0]), &[1.0, 0.0, 0.0, 1.0]);
        check(color, json!({ "r": 1, "g": 0, "b": 0 }), &[1.0, 0.0, 0.0, 1.0]);
        for bad in ["nonsense", "#ggg", "#ff", "facade", "bad", "ff0000", "#fffff"] {
            check_refused(color, json!(bad), "");
        }
        check_refused(color, json!([1, 2]), "it has 2 numbers instead of 4");
    }

    fn flat(color: Color) -> [f64; 4] {
        [color.r, color.g, color.b, color.a].map(f64::from)
    }

    #[test]
    fn forms_are_understood() {
        for ord in 0..39 {
            let Some(kind) = <VariantType as godot::obj::EngineEnum>::try_from_ord(ord) else {
                continue;
            };
            if components(kind).is_none() || kind == VariantType::COLOR {
                continue;
            }
            let forms = forms(kind);
            let numbers = read(&sample(kind, &vec![1.0; count(kind)]), kind).unwrap();
            assert_eq!(numbers.len(), count(kind));
            let (_, spelled) = forms.rsplit_once(" or ").unwrap();
            let spelled = read(&serde_json::from_str(spelled).unwrap(), kind).unwrap();
            let end = forms.rfind(", [").unwrap();
            let named =
                read(&serde_json::from_str(&forms["write ".len()..end]).unwrap(), kind).unwrap();
            assert_eq!(spelled, named, "{forms}");
        }
    }
}

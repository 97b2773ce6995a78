//! Where scene and resource files use members of a script by name.
//!
//! The files say which node has which script, but not what an instance brings along, nor what an
//! animation track leads to. A use is certain when the file itself tells that the script is meant.

use std::collections::HashMap;
use std::ops::Range;

/// One use of the name.
#[derive(Clone, Debug, PartialEq)]
pub struct Use {
    /// From 1.
    pub line: usize,
    /// Bytes of the name in the text.
    pub range: Range<usize>,
    pub kind: Kind,
    pub certain: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A saved value of an exported property.
    Property,
    Signal,
    /// The method that a connection calls.
    Method,
    /// A name in an animation, or another path to a member.
    Track,
    /// The class of a resource.
    Class,
}

impl Kind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Property => "property",
            Self::Signal => "signal",
            Self::Method => "method",
            Self::Track => "track",
            Self::Class => "class",
        }
    }
}

/// Whose script a node or resource has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Script {
    /// One of those asked about.
    Meant,
    /// Another one, or none.
    Other,
    /// An instance may bring one.
    Unknown,
}

/// A section of the file, without the text of its header.
struct Section<'a> {
    header: &'a str,
    header_at: usize,
    line: usize,
    /// Line, start and text of the lines below that start outside of a string.
    body: Vec<(usize, usize, &'a str)>,
}

/// Uses of `name` in the text of a `.tscn` or `.tres`. `is_meant` tells for an address, a path or a
/// uid, whether it is of a script that has the member.
pub fn uses(text: &str, name: &str, is_meant: &dyn Fn(&str) -> bool) -> Vec<Use> {
    if name.is_empty() || !text.contains(name) {
        return Vec::new();
    }
    let sections = sections(text);
    let mut ids = HashMap::new();
    for it in sections.iter().filter(|it| it.header.starts_with("[ext_resource")) {
        let address = |name| attribute(it.header, name).map(|it| it.0);
        let meant = ["uid", "path"].iter().any(|it| address(it).is_some_and(is_meant));
        if let Some(id) = address("id") {
            ids.insert(id, meant);
        }
    }
    let owner = |section: &Section| {
        let script =
            section.body.iter().find_map(|it| it.2.strip_prefix("script = ExtResource(\""));
        match script.and_then(|it| it.split('"').next()) {
            Some(id) if ids.get(id) == Some(&true) => Script::Meant,
            Some(_) => Script::Other,
            None if section.header.contains(" instance=") || !section.header.contains(" type=") => {
                Script::Unknown
            }
            None => Script::Other,
        }
    };
    let mut nodes = HashMap::new();
    for it in sections.iter().filter(|it| it.header.starts_with("[node ")) {
        nodes.insert(node_path(it.header), owner(it));
    }

    let mut found = Vec::new();
    let mut add = |line, start: usize, kind, script| {
        if script != Script::Other {
            let range = start..start + name.len();
            found.push(Use { line, range, kind, certain: script == Script::Meant });
        }
    };
    for section in &sections {
        let header = section.header;
        if header.starts_with("[connection ") {
            let of = |node: &str| {
                let path = attribute(header, node).map_or(".", |it| it.0);
                nodes.get(path).copied().unwrap_or(Script::Unknown)
            };
            for (field, node, kind) in
                [("signal", "from", Kind::Signal), ("method", "to", Kind::Method)]
            {
                if let Some((value, at)) = attribute(header, field)
                    && value == name
                {
                    add(section.line, section.header_at + at, kind, of(node));
                }
            }
        }
        if let Some((value, at)) = attribute(header, "script_class")
            && value == name
        {
            add(section.line, section.header_at + at, Kind::Class, Script::Meant);
        }
        for &(line, start, text) in &section.body {
            if text.strip_prefix(name).is_some_and(|it| it.starts_with(" = ")) {
                add(line, start, Kind::Property, owner(section));
            }
            for at in tracks(text, name) {
                add(line, start + at, Kind::Track, Script::Unknown);
            }
        }
    }
    found
}

/// `"method": &"name"` of a method track, and `NodePath("a:name")` of a property track.
fn tracks(text: &str, name: &str) -> Vec<usize> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices(name) {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        let method = (before.ends_with("\"method\": &\"") || before.ends_with("\"method\": \""))
            && after.starts_with('"');
        let in_path =
            before.rfind("NodePath(\"").is_some_and(|it| !before[it + 10..].contains('"'));
        let member = before.ends_with(':') && (after.starts_with('"') || after.starts_with(':'));
        if method || in_path && member {
            found.push(at);
        }
    }
    found
}

fn sections(text: &str) -> Vec<Section<'_>> {
    let mut sections: Vec<Section> = Vec::new();
    let (mut in_string, mut start) = (false, 0);
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let plain = line.trim_end();
        let starts_outside = !in_string;
        let mut escaped = false;
        for char in line.chars() {
            match char {
                '"' if !escaped => in_string = !in_string,
                _ => {}
            }
            escaped = char == '\\' && !escaped;
        }
        let is_header = starts_outside && plain.starts_with('[') && plain.ends_with(']');
        if is_header {
            let header_at = start;
            sections.push(Section { header: plain, header_at, line: index + 1, body: Vec::new() });
        } else if starts_outside && let Some(section) = sections.last_mut() {
            section.body.push((index + 1, start, plain));
        }
        start += line.len();
    }
    sections
}

/// The value of ` name="value"` in a header, and where it starts.
fn attribute<'a>(header: &'a str, name: &str) -> Option<(&'a str, usize)> {
    let start = header.find(&format!(" {name}=\""))? + name.len() + 3;
    let end = header[start..].find('"')? + start;
    Some((&header[start..end], start))
}

/// Path of a node from the root, `.` for the root itself.
fn node_path(header: &str) -> String {
    let name = attribute(header, "name").map_or("", |it| it.0);
    match attribute(header, "parent").map(|it| it.0) {
        None => ".".to_owned(),
        Some(".") => name.to_owned(),
        Some(parent) => format!("{parent}/{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENE: &str = r#"[gd_scene load_steps=3 format=3]

[ext_resource type="Script" uid="uid://h" path="res://hero.gd" id="1_a"]
[ext_resource type="Script" path="res://other.gd" id="2_b"]
[ext_resource type="PackedScene" path="res://sub.tscn" id="3_c"]

[sub_resource type="Animation" id="a"]
tracks/0/path = NodePath(".:hp")
tracks/1/keys = {
"values": [{
"args": [],
"method": &"hit"
}]
}

[node name="Main" type="Node2D"]
script = ExtResource("1_a")
hp = 7
text = "
hp = 9
"

[node name="B" type="Node2D" parent="."]
script = ExtResource("2_b")
hp = 8

[node name="C" parent="B" instance=ExtResource("3_c")]
hp = 1

[connection signal="hit" from="." to="B" method="hit"]
[connection signal="hit" from="B/C" to="." method="hit"]
"#;

    fn found(name: &str) -> Vec<(usize, &'static str, bool)> {
        let uses = uses(SCENE, name, &|it| it == "res://hero.gd");
        assert!(uses.iter().all(|it| &SCENE[it.range.clone()] == name));
        uses.iter().map(|it| (it.line, it.kind.as_str(), it.certain)).collect()
    }

    #[test]
    fn tells_certain_uses_from_others() {
        assert_eq!(
            found("hp"),
            [(8, "track", false), (18, "property", true), (28, "property", false)]
        );
        assert_eq!(
            found("hit"),
            [
                (12, "track", false),
                (30, "signal", true),
                (31, "signal", false),
                (31, "method", true)
            ]
        );
        assert!(found("nothing").is_empty());
    }

    #[test]
    fn finds_classes_of_resources() {
        let text = "[gd_resource type=\"Resource\" script_class=\"Item\" format=3]\n\n[ext_resource path=\"res://i.gd\" id=\"1\"]\n\n[resource]\nscript = ExtResource(\"1\")\nItem = 3\n";
        let uses = uses(text, "Item", &|it| it == "res://i.gd");
        let kinds: Vec<_> = uses.iter().map(|it| (it.kind, it.certain)).collect();
        assert_eq!(kinds, [(Kind::Class, true), (Kind::Property, true)]);
    }
}

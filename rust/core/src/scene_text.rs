//! Text of scene and resource files, changed in place: what is not meant stays byte for byte.

use std::collections::HashMap;
use std::ops::Range;

/// A file's text in sections.
pub struct SceneText<'a> {
    text: &'a str,
    pub sections: Vec<Section<'a>>,
}

/// `[node name="A" type="Node2D"]` and the properties below it.
pub struct Section<'a> {
    /// `node`, `ext_resource`, ...
    pub kind: &'a str,
    attributes: Vec<(&'a str, &'a str)>,
    /// End of the header's line, its line break included.
    header_end: usize,
    pub properties: Vec<Property<'a>>,
}

/// `name = value`; the value may take several lines.
pub struct Property<'a> {
    /// As it is written; unusual names are in quotes.
    pub name: &'a str,
    pub value: &'a str,
    value_range: Range<usize>,
    /// With its line break.
    range: Range<usize>,
}

/// Changes of one text, made at once.
#[derive(Default)]
pub struct Changes(Vec<(Range<usize>, String)>);

impl Section<'_> {
    /// The value of an attribute of the header, without its quotes.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        let (_, value) = self.attributes.iter().find(|it| it.0 == name)?;
        Some(value.strip_prefix('"').and_then(|it| it.strip_suffix('"')).unwrap_or(value))
    }

    pub fn property(&self, name: &str) -> Option<&Property<'_>> {
        self.properties.iter().find(|it| it.name.trim_matches('"') == name)
    }

    /// Path of a node from the root, `.` for the root itself.
    pub fn node_path(&self) -> String {
        let name = self.attribute("name").unwrap_or_default();
        match self.attribute("parent") {
            None => ".".to_owned(),
            Some(".") => name.to_owned(),
            Some(parent) => format!("{parent}/{name}"),
        }
    }
}

/// The id in `ExtResource("id")`.
pub fn external_id(value: &str) -> Option<&str> {
    value.trim().strip_prefix("ExtResource(\"")?.strip_suffix("\")")
}

impl<'a> SceneText<'a> {
    /// None for a text that is not made of sections, or ends in the middle of one.
    pub fn parse(text: &'a str) -> Option<Self> {
        let mut sections: Vec<Section> = Vec::new();
        let mut at = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        while at < text.len() {
            let rest = &text[at..];
            let first = rest.trim_start();
            let start = text.len() - first.len();
            if first.is_empty() {
                break;
            }
            if first.starts_with(';') {
                at = line_end(text, start);
            } else if first.starts_with('[') {
                let close = end_of(text, start + 1, ']')?;
                let header_end = line_end(text, close + 1);
                let (kind, attributes) = header(&text[start + 1..close])?;
                sections.push(Section { kind, attributes, header_end, properties: Vec::new() });
                at = header_end;
            } else {
                let equals = end_of(text, start, '=')?;
                let end = end_of(text, equals + 1, '\n').unwrap_or(text.len());
                let value = text[equals + 1..end].trim();
                let from = equals + 1 + text[equals + 1..end].find(value).unwrap_or(0);
                let property = Property {
                    name: text[start..equals].trim(),
                    value,
                    value_range: from..from + value.len(),
                    range: start..(end + 1).min(text.len()),
                };
                sections.last_mut()?.properties.push(property);
                at = (end + 1).min(text.len());
            }
        }
        Some(Self { text, sections })
    }

    fn line_break(&self) -> &'static str {
        if self.text.contains("\r\n") { "\r\n" } else { "\n" }
    }

    /// Sets a property of a section. `rank` gives the place of a property among others; a new one
    /// goes before the first of a higher rank.
    pub fn set(
        &self,
        changes: &mut Changes,
        section: &Section,
        name: &str,
        value: &str,
        rank: &dyn Fn(&str) -> Option<usize>,
    ) {
        let line_break = self.line_break();
        let value = match line_break {
            "\n" => value.to_owned(),
            _ => value.replace("\r\n", "\n").replace('\n', line_break),
        };
        if let Some(found) = section.property(name) {
            if found.value != value {
                changes.0.push((found.value_range.clone(), value));
            }
            return;
        }
        let own = rank(name);
        let after = section.properties.iter().find(|it| {
            own.is_some_and(|own| rank(it.name.trim_matches('"')).is_some_and(|it| it > own))
        });
        let at = match (after, section.properties.last()) {
            (Some(next), _) => next.range.start,
            (None, Some(last)) => last.range.end,
            (None, None) => section.header_end,
        };
        let broken = at == 0 || self.text[..at].ends_with('\n');
        let before = if broken { "" } else { line_break };
        let name = match name.contains(|it: char| it.is_whitespace() || "=\"'[];\\".contains(it)) {
            true => format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\"")),
            false => name.to_owned(),
        };
        changes.0.push((at..at, format!("{before}{name} = {value}{line_break}")));
    }

    /// Takes a property out. True when it was there.
    pub fn remove(&self, changes: &mut Changes, section: &Section, name: &str) -> bool {
        let found = section.property(name);
        if let Some(found) = found {
            changes.0.push((found.range.clone(), String::new()));
        }
        found.is_some()
    }

    /// Adds a header without properties behind the last section of its kind, or else behind the first
    /// section. `header` is what stands between the brackets.
    pub fn add_header(&self, changes: &mut Changes, kind: &str, header: &str) {
        let line_break = self.line_break();
        let last = self.sections.iter().rfind(|it| it.kind == kind);
        let (at, before) = match (last, self.sections.first()) {
            (Some(last), _) => (last.header_end, ""),
            (None, Some(first)) => {
                (first.properties.last().map_or(first.header_end, |it| it.range.end), line_break)
            }
            (None, None) => (self.text.len(), ""),
        };
        let broken = at == 0 || self.text[..at].ends_with('\n');
        let end = if broken { "" } else { line_break };
        changes.0.push((at..at, format!("{end}{before}[{header}]{line_break}")));
    }

    /// The text with the changes made.
    pub fn with(&self, mut changes: Changes) -> String {
        // Stable, so what is inserted at one place keeps its order.
        changes.0.sort_by_key(|it| it.0.start);
        let mut result = String::with_capacity(self.text.len() + 256);
        let mut at = 0;
        for (range, text) in changes.0 {
            result.push_str(&self.text[at..range.start]);
            result.push_str(&text);
            at = range.end;
        }
        result.push_str(&self.text[at..]);
        result
    }
}

/// A text as the engine has saved it, with other ids for what it refers to, and with another uid.
pub fn with_ids(text: &str, ids: &HashMap<String, String>, uid: Option<&str>) -> String {
    const CALL: &str = "ExtResource(\"";
    let mut result = String::with_capacity(text.len());
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let mut line = line.to_owned();
        if index == 0 {
            let own = attribute_range(&line, "uid");
            if let Some(range) = own {
                let new = uid.map(|it| format!(" uid=\"{it}\"")).unwrap_or_default();
                line.replace_range(range, &new);
            }
        } else if line.starts_with("[ext_resource ")
            && let Some(range) = attribute_range(&line, "id")
            && let Some(new) = ids.get(line[range.clone()].split('"').nth(1).unwrap_or_default())
        {
            line.replace_range(range, &format!(" id=\"{new}\""));
        }
        let mut parts = line.split(CALL);
        result.push_str(parts.next().unwrap_or_default());
        for part in parts {
            result.push_str(CALL);
            let (id, rest) = part.split_once('"').unwrap_or((part, ""));
            result.push_str(ids.get(id).map_or(id, String::as_str));
            if part.contains('"') {
                result.push('"');
            }
            result.push_str(rest);
        }
    }
    result
}

/// Where ` name="value"` is in a header.
fn attribute_range(line: &str, name: &str) -> Option<Range<usize>> {
    let start = line.find(&format!(" {name}=\""))?;
    let value = start + name.len() + 3;
    Some(start..value + line[value..].find('"')? + 1)
}

fn line_end(text: &str, from: usize) -> usize {
    text[from..].find('\n').map_or(text.len(), |it| from + it + 1)
}

/// The next `wanted` outside of strings and brackets.
fn end_of(text: &str, from: usize, wanted: char) -> Option<usize> {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (at, it) in text[from..].char_indices() {
        if in_string {
            in_string = it != '"' || escaped;
            escaped = it == '\\' && !escaped;
            continue;
        }
        match it {
            _ if it == wanted && depth == 0 => return Some(from + at),
            '"' => in_string = true,
            '[' | '(' | '{' => depth += 1,
            ']' | ')' | '}' => depth = depth.checked_sub(1)?,
            _ => {}
        }
    }
    None
}

type Attributes<'a> = Vec<(&'a str, &'a str)>;

fn header(text: &str) -> Option<(&str, Attributes<'_>)> {
    let text = text.trim();
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let (kind, mut rest) = (&text[..end], text[end..].trim_start());
    let mut attributes = Vec::new();
    while !rest.is_empty() {
        let equals = rest.find('=')?;
        let name = rest[..equals].trim();
        rest = rest[equals + 1..].trim_start();
        let end = end_of(rest, 0, ' ').unwrap_or(rest.len());
        attributes.push((name, rest[..end].trim_end()));
        rest = rest[end..].trim_start();
    }
    Some((kind, attributes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENE: &str = "[gd_scene format=3 uid=\"uid://x\"]\n\n[ext_resource type=\"Script\" path=\"res://a.gd\" id=\"1_a\"]\n\n[node name=\"Main\" type=\"Node2D\" groups=[\"a b\", \"c]\"]]\nscript = ExtResource(\"1_a\")\ntext = \"x = [\n[node name=\\\"B\\\"]\n\"\nlist = [{\n\"a\": 1\n}]\n\n[node name=\"A\" type=\"Sprite2D\" parent=\".\"]\n\n[node name=\"C\" type=\"Sprite2D\" parent=\"A\"]\nposition = Vector2(1, 2)\n\"odd name\" = 3\n\n[connection signal=\"x\" from=\".\" to=\"A\" method=\"m\" binds= [1, [2]]]\n";

    fn no_rank(_: &str) -> Option<usize> {
        None
    }

    #[test]
    fn reads_sections() {
        let text = SceneText::parse(SCENE).expect("sections");
        let kinds: Vec<_> = text.sections.iter().map(|it| it.kind).collect();
        assert_eq!(kinds, ["gd_scene", "ext_resource", "node", "node", "node", "connection"]);
        let main = &text.sections[2];
        assert_eq!(main.attribute("groups"), Some("[\"a b\", \"c]\"]"));
        assert_eq!(main.property("list").expect("there").value, "[{\n\"a\": 1\n}]");
        assert_eq!(external_id(main.property("script").expect("there").value), Some("1_a"));
        let paths: Vec<_> = text.sections[2..5].iter().map(Section::node_path).collect();
        assert_eq!(paths, [".", "A", "A/C"]);
        assert_eq!(text.sections[5].attribute("binds"), Some("[1, [2]]"));
        assert!(SceneText::parse("[node name=\"A\"").is_none());
        assert!(SceneText::parse("a = 1\n").is_none());
        assert_eq!(text.with(Changes::default()), SCENE);
    }

    #[test]
    fn changes_leave_the_rest_alone() {
        let text = SceneText::parse(SCENE).expect("sections");
        let mut changes = Changes::default();
        text.set(&mut changes, &text.sections[4], "position", "Vector2(3, 4)", &no_rank);
        text.set(&mut changes, &text.sections[4], "odd name", "4", &no_rank);
        text.set(&mut changes, &text.sections[3], "flip_h", "true", &no_rank);
        assert!(text.remove(&mut changes, &text.sections[2], "list"));
        assert!(!text.remove(&mut changes, &text.sections[2], "none"));
        text.add_header(&mut changes, "ext_resource", "ext_resource id=\"2\"");
        let wanted = SCENE
            .replace("Vector2(1, 2)", "Vector2(3, 4)")
            .replace("\"odd name\" = 3", "\"odd name\" = 4")
            .replace(
                "type=\"Sprite2D\" parent=\".\"]\n",
                "type=\"Sprite2D\" parent=\".\"]\nflip_h = true\n",
            )
            .replace("list = [{\n\"a\": 1\n}]\n", "")
            .replace("id=\"1_a\"]\n", "id=\"1_a\"]\n[ext_resource id=\"2\"]\n");
        assert_eq!(text.with(changes), wanted);
    }

    #[test]
    fn ids_are_replaced_where_they_are_meant() {
        let text = "[gd_resource type=\"A\" uid=\"uid://x\" format=3]\n\n[ext_resource path=\"res://a\" id=\"1_x\"]\n\n[resource]\na = ExtResource(\"1_x\")\nb = [ExtResource(\"1_x\"), ExtResource(\"2_y\")]\nid = \"1_x\"\n";
        let ids = HashMap::from([("1_x".to_owned(), "7".to_owned())]);
        let wanted = text
            .replace("uid://x", "uid://z")
            .replace("ExtResource(\"1_x\")", "ExtResource(\"7\")")
            .replace(" id=\"1_x\"]", " id=\"7\"]");
        assert_eq!(with_ids(text, &ids, Some("uid://z")), wanted);
        let bare = with_ids(text, &HashMap::new(), None);
        assert_eq!(bare, text.replace(" uid=\"uid://x\"", ""));
    }

    #[test]
    fn a_new_property_takes_its_place() {
        let text =
            SceneText::parse("[gd_scene]\r\n[node name=\"A\"]\r\na = 1\r\nc = 3").expect("it");
        let mut changes = Changes::default();
        let rank = |name: &str| "abcd".find(name);
        text.set(&mut changes, &text.sections[1], "b", "2", &rank);
        text.set(&mut changes, &text.sections[1], "d", "[\n]", &rank);
        text.add_header(&mut changes, "ext_resource", "ext_resource");
        assert_eq!(
            text.with(changes),
            "[gd_scene]\r\n\r\n[ext_resource]\r\n[node name=\"A\"]\r\na = 1\r\nb = 2\r\nc = 3\r\nd = [\r\n]\r\n"
        );
    }
}

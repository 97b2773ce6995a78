//! The notation of examples: scene text without header, and further files behind `;- res://path`.

use std::collections::BTreeMap;

/// File of the scene that an example opens.
pub const SCENE: &str = "res://scene.tscn";
const DEFAULT_SCENE: &str = "[node name=\"Main\" type=\"Node2D\"]";

/// Files of an example, by `res://` path. The scene comes first under `SCENE`.
pub fn files(text: &str) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut path = SCENE.to_owned();
    let mut body = String::new();
    for line in text.lines() {
        if let Some(next) = line.strip_prefix(";- ") {
            insert(&mut files, &path, &body);
            path = next.trim().to_owned();
            body.clear();
        } else {
            body.push_str(line);
            body.push('\n');
        }
    }
    insert(&mut files, &path, &body);
    files
}

fn insert(files: &mut BTreeMap<String, String>, path: &str, body: &str) {
    let mut body = body.trim().to_owned();
    if path == SCENE && body.is_empty() {
        DEFAULT_SCENE.clone_into(&mut body);
    }
    if path.ends_with(".tscn") && !body.starts_with("[gd_scene") {
        body = format!("[gd_scene format=3]\n\n{body}");
    }
    body.push('\n');
    files.insert(path.to_owned(), body);
}

/// Scene or resource text without what the engine makes up: header, uids, ids, empty lines. The
/// properties of a section are sorted.
pub fn normalize(text: &str) -> String {
    let mut ids: BTreeMap<String, String> = BTreeMap::new();
    let mut sections: Vec<Vec<String>> = Vec::new();
    for line in text.lines() {
        if line.trim().is_empty() {
            continue;
        }
        if line.starts_with('[') || sections.is_empty() {
            sections.push(Vec::new());
        }
        sections.last_mut().expect("pushed above").push(line.trim_end().to_owned());
    }
    let mut out = String::new();
    for section in &mut sections {
        let head = section[0].clone();
        if head.starts_with("[gd_scene") || head.starts_with("[gd_resource") {
            continue;
        }
        if (head.starts_with("[ext_resource") || head.starts_with("[sub_resource"))
            && let Some(id) = attribute(&head, "id")
        {
            let number = ids.len() + 1;
            ids.entry(id).or_insert_with(|| format!("id{number}"));
        }
        let head = without_attribute(&without_attribute(&head, "unique_id"), "uid");
        let mut rest = section[1..].to_vec();
        // Values over several lines keep their order.
        if rest.iter().all(|it| it.contains(" = ")) {
            rest.sort();
        }
        for line in std::iter::once(head).chain(rest) {
            let line = ids.iter().fold(line, |line, (from, to)| {
                line.replace(&format!("\"{from}\""), &format!("\"{to}\""))
            });
            out.push_str(&line);
            out.push('\n');
        }
    }
    out
}

fn attribute(head: &str, name: &str) -> Option<String> {
    let start = head.find(&format!(" {name}=\""))? + name.len() + 3;
    let end = head[start..].find('"')? + start;
    Some(head[start..end].to_owned())
}

/// Removes ` name="..."` or ` name=number`.
fn without_attribute(head: &str, name: &str) -> String {
    let Some(start) = head.find(&format!(" {name}=")) else { return head.to_owned() };
    let value = start + name.len() + 2;
    let length = if head[value..].starts_with('"') {
        head[value + 1..].find('"').map_or(0, |it| it + 2)
    } else {
        head[value..].find([' ', ']']).unwrap_or(0)
    };
    format!("{}{}", &head[..start], &head[value + length..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_files() {
        let files = files("[node name=\"A\" type=\"Node\"]\n;- res://a.gd\nextends Node\n");
        assert_eq!(files[SCENE], "[gd_scene format=3]\n\n[node name=\"A\" type=\"Node\"]\n");
        assert_eq!(files["res://a.gd"], "extends Node\n");
    }

    #[test]
    fn normalizes() {
        let saved = "[gd_scene load_steps=2 format=3 uid=\"uid://x\"]\n\n[ext_resource type=\"Script\" \
                     uid=\"uid://y\" path=\"res://a.gd\" id=\"1_abc\"]\n\n[node name=\"A\" type=\"Node\" \
                     unique_id=12]\nscript = ExtResource(\"1_abc\")\na = 1\n";
        let written = "[ext_resource type=\"Script\" path=\"res://a.gd\" id=\"1\"]\n[node name=\"A\" \
                       type=\"Node\"]\na = 1\nscript = ExtResource(\"1\")";
        assert_eq!(normalize(saved), normalize(written));
    }
}

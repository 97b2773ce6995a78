use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use godot_mcp_core::paths::Access;
use godot_mcp_core::scene_uses::{self, Use};
use godot_mcp_core::{script_source, untrusted};

use crate::editor::{files, script_check, script_files};
use crate::services::code_queries::{self, Place, Quotes};
use crate::services::language_server::Document;
use crate::tool::{Prepare, Prepared};
use crate::tool_prelude::*;

/// Renames a variable, function, signal, constant or class in all scripts, and tells of uses by name
/// in scenes, resources and strings.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct RenameSymbol {
    script_path: ResPath,
    /// From 1.
    #[schemars(range(min = 1))]
    line: usize,
    /// In characters, from 1.
    #[schemars(range(min = 1))]
    column: usize,
    new_name: String,
    /// Rewrite closed scenes and resources where the script is certain.
    #[serde(default)]
    update_scenes: bool,
    /// What `prepare` found. The schema has no such parameter.
    #[serde(default)]
    #[schemars(skip)]
    prepared: Option<Found>,
}

/// Places of each kind that an answer lists; more are counted.
const MAX_LISTED: usize = 40;

impl Tool for RenameSymbol {
    const NAME: &'static str = "rename_symbol";
    const TOOLSET: &'static str = "code";

    fn adjust(spec: &mut ToolSpec) {
        spec.writes_disk = true;
        spec.free_text = true;
    }

    fn examples() -> Vec<Example> {
        let before = r#"
;- res://a.gd
extends Node
@export var hp := 1
func hit() -> void:
	hp -= 1
;- res://b.gd
extends "a.gd"
func go() -> void:
	hit()
;- res://other.tscn
[ext_resource type="Script" path="res://a.gd" id="1"]
[node name="Other" type="Node"]
script = ExtResource("1")
hp = 7"#;
        let renamed = ";- res://a.gd\nextends Node\n@export var hp := 1\nfunc strike() -> void:\n\thp -= 1\n;- res://b.gd\nextends \"a.gd\"\nfunc go() -> void:\n\tstrike()";
        let with_scenes = ";- res://a.gd\nextends Node\n@export var health := 1\nfunc hit() -> void:\n\thealth -= 1\n;- res://other.tscn\n[ext_resource type=\"Script\" path=\"res://a.gd\" id=\"1\"]\n[node name=\"Other\" type=\"Node\"]\nscript = ExtResource(\"1\")\nhealth = 7";
        vec![
            Example::edit("Renames a function in two scripts.", before, renamed).args(json!({
                "script_path": "res://a.gd", "line": 3, "column": 6, "new_name": "strike"
            })),
            Example::edit("Renames a property in scenes too.", before, with_scenes).args(json!({
                "script_path": "res://a.gd", "line": 4, "column": 2, "new_name": "health",
                "update_scenes": true
            })),
            Example::refusal("Refuses what is no name.", before, Code::ValidationError).args(
                json!({"script_path": "res://a.gd", "line": 3, "column": 6, "new_name": "a b"}),
            ),
            Example::refusal("Refuses a place without a symbol.", before, Code::ValidationError)
                .args(json!({
                    "script_path": "res://a.gd", "line": 1, "column": 3, "new_name": "strike"
                })),
        ]
    }
}

/// What is renamed where, in the files as they were read.
#[derive(Deserialize, serde::Serialize)]
struct Found {
    old_name: String,
    scripts: Vec<FileEdits>,
    scenes: Vec<FileEdits>,
    /// Quoted places that are only told of.
    comments: Vec<String>,
    strings: Vec<String>,
    scene_uses: Vec<String>,
    /// Scripts that have the new name already.
    conflicts: Vec<String>,
}

/// Bytes of a file that are replaced, the first one first.
#[derive(Deserialize, serde::Serialize)]
struct FileEdits {
    path: String,
    sha256: String,
    starts: Vec<usize>,
}

impl Prepare for RenameSymbol {
    fn prepare(self, shared: Arc<Shared>) -> Prepared<Value> {
        Box::pin(async move {
            if !script_source::is_identifier(&self.new_name) {
                let message = format!("\"{}\" is not a name for a symbol", self.new_name);
                return Err(ToolError::invalid("new_name", message)
                    .hint("letters, digits and _, no digit first, no keyword"));
            }
            let document = code_queries::document(&shared, self.script_path.as_str(), None)?;
            let position = code_queries::position(&document, self.line, self.column)?;
            let at = (self.line, self.column);
            let old_name =
                name_at(&document.text, at).ok_or_else(|| nothing_there(&document, at))?;
            if old_name == self.new_name {
                let message = format!("it is called \"{old_name}\" already");
                return Err(ToolError::invalid("new_name", message).hint("give another name"));
            }
            let ask = async |method: &str, params: Value| {
                shared.language_server.ask(&document, method, &params).await
            };
            let rename = json!({"position": position, "newName": self.new_name});
            let found = ask("textDocument/rename", rename).await?;
            let declared = ask("textDocument/definition", json!({"position": position})).await?;
            let declared = code_queries::places(&shared, &declared).into_iter().next();
            let changes = found["changes"].as_object().cloned().unwrap_or_default();
            let Some(declared) = declared.filter(|_| !changes.is_empty()) else {
                return Err(nothing_there(&document, at));
            };
            let mut places = Vec::new();
            for (uri, edits) in &changes {
                let Some(path) = shared.language_server.path_of(uri) else { continue };
                for edit in edits.as_array().into_iter().flatten() {
                    places.extend(code_queries::place(path.clone(), &edit["range"]["start"]));
                }
            }
            let search = Search {
                shared: &shared,
                old_name: &old_name,
                new_name: &self.new_name,
                declared: &declared,
            };
            let found = search.run(places)?;
            serde_json::to_value(found).map_err(|it| ToolError::internal(it.to_string()))
        })
    }
}

/// The name that a place is in, or right behind.
fn name_at(text: &str, (line, column): (usize, usize)) -> Option<String> {
    let line: Vec<char> = text.split('\n').nth(line - 1)?.chars().collect();
    let is_part = |it: &char| it.is_alphanumeric() || *it == '_';
    let at = (column - 1).min(line.len());
    let before = line[..at].iter().rev().take_while(|it| is_part(it)).count();
    let after = line[at..].iter().take_while(|it| is_part(it)).count();
    let name: String = line[at - before..at + after].iter().collect();
    script_source::is_identifier(&name).then_some(name)
}

fn nothing_there(document: &Document, (line, column): (usize, usize)) -> ToolError {
    let message = format!("\"{}\":{line}:{column} is no symbol of the project", document.path);
    ToolError::invalid("column", message)
        .hint("`script_symbols` lists what a script declares; the engine's own cannot be renamed")
}

struct Search<'a> {
    shared: &'a Shared,
    old_name: &'a str,
    new_name: &'a str,
    declared: &'a Place,
}

impl Search<'_> {
    fn run(&self, places: Vec<Place>) -> Result<Found, ToolError> {
        let mut found = Found {
            old_name: self.old_name.to_owned(),
            scripts: Vec::new(),
            scenes: Vec::new(),
            comments: Vec::new(),
            strings: Vec::new(),
            scene_uses: Vec::new(),
            conflicts: Vec::new(),
        };
        let mut by_file: BTreeMap<String, BTreeSet<(usize, usize)>> = BTreeMap::new();
        for it in places {
            by_file.entry(it.path).or_default().insert((it.line, it.column));
        }
        let mut quotes = Quotes::default();
        for (path, spots) in by_file {
            let text = quotes.text(self.shared, &path).to_owned();
            let known = script_source::spots(&text, self.old_name);
            let (code, rest): (Vec<_>, Vec<_>) =
                spots.into_iter().partition(|it| known.code.contains(it));
            // Strings are looked for everywhere below.
            let rest = rest.into_iter().filter(|it| !known.strings.contains(it));
            for (line, column) in rest {
                let place = Place { path: path.clone(), line, column };
                found.comments.push(quotes.quote(self.shared, &place));
            }
            if code.is_empty() {
                continue;
            }
            if !script_source::spots(&text, self.new_name).code.is_empty() {
                found.conflicts.push(path.clone());
            }
            found.scripts.push(self.edits_of(path, &code)?);
        }
        self.elsewhere(&mut found, &mut quotes)?;
        Ok(found)
    }

    fn bytes(&self, path: &str) -> Vec<u8> {
        let file = self.shared.gate.settings().roots.resolve_res(path, Access::Read).ok();
        file.and_then(|it| std::fs::read(it).ok()).unwrap_or_default()
    }

    fn edits_of(&self, path: String, spots: &[(usize, usize)]) -> Result<FileEdits, ToolError> {
        self.shared.gate.settings().roots.resolve_res(&path, Access::Write)?;
        let bytes = self.bytes(&path);
        let text = String::from_utf8(bytes.clone()).map_err(|_| {
            ToolError::new(Code::Unsupported, format!("\"{path}\" is not UTF-8 text"))
                .hint("save it as UTF-8 first")
        })?;
        let mark = text.len() - script_files::decode(&bytes).len();
        let mut starts = Vec::new();
        let (mut line_start, mut number) = (mark, 1);
        for line in text[mark..].split_inclusive('\n') {
            for (_, column) in spots.iter().filter(|it| it.0 == number) {
                let offset = line.char_indices().nth(column - 1).map_or(line.len(), |it| it.0);
                starts.push(line_start + offset);
            }
            line_start += line.len();
            number += 1;
        }
        Ok(FileEdits { path, sha256: files::sha256(&bytes), starts })
    }

    /// Strings in scripts, and uses in scenes and resources. A local name has none of them.
    fn elsewhere(&self, found: &mut Found, quotes: &mut Quotes) -> Result<(), ToolError> {
        let text = quotes.text(self.shared, &self.declared.path);
        let line = text.split('\n').nth(self.declared.line - 1).unwrap_or_default();
        if line.starts_with(['\t', ' ']) {
            return Ok(());
        }
        let project = self.shared.gate.settings().roots.project().to_owned();
        let mut headers = Vec::new();
        script_files::each(&project, "res://", &mut |path| {
            if !path.ends_with(".gd") {
                return;
            }
            let text = script_files::decode(&self.bytes(&path));
            for (line, column) in script_source::spots(&text, self.old_name).strings {
                let place = Place { path: path.clone(), line, column };
                found.strings.push(quotes.quote(self.shared, &place));
            }
            headers.push((path, script_source::header(&text)));
        });
        let scripts = inheriting(&headers, &self.declared.path);
        let uids: Vec<String> = scripts
            .iter()
            .map(|it| String::from_utf8_lossy(&self.bytes(&format!("{it}.uid"))).trim().to_owned())
            .filter(|it| !it.is_empty())
            .collect();
        let is_meant =
            |it: &str| scripts.iter().any(|path| path == it) || uids.iter().any(|uid| uid == it);
        let mut scenes = Vec::new();
        script_files::each_file(&project, "res://", &mut |path| {
            if path.ends_with(".tscn") || path.ends_with(".tres") {
                scenes.push(path);
            }
        });
        for path in scenes {
            let bytes = self.bytes(&path);
            let Ok(text) = std::str::from_utf8(&bytes) else { continue };
            let uses = scene_uses::uses(text, self.old_name, &is_meant);
            found.scene_uses.extend(uses.iter().map(|it| shown(&path, it)));
            let starts: Vec<_> =
                uses.iter().filter(|it| it.certain).map(|it| it.range.start).collect();
            if !starts.is_empty() {
                found.scenes.push(FileEdits { path, sha256: files::sha256(&bytes), starts });
            }
        }
        Ok(())
    }
}

fn shown(path: &str, it: &Use) -> String {
    let sure = if it.certain { "certain" } else { "perhaps" };
    format!("{path}:{}: {}, {sure}", it.line, it.kind.as_str())
}

/// A script and all that extend it, at any distance.
fn inheriting(headers: &[(String, script_source::Header)], path: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::from([path.to_owned()]);
    loop {
        let before = found.len();
        let names: BTreeSet<_> = headers
            .iter()
            .filter(|it| found.contains(&it.0))
            .filter_map(|it| it.1.class_name.clone())
            .collect();
        for (path, header) in headers {
            let Some(extends) = &header.extends else { continue };
            let folder = script_source::folder_of(path);
            let is_one = match header.extends_path {
                true => found.contains(&script_source::absolute(extends, folder)),
                false => names.contains(extends),
            };
            if is_one {
                found.insert(path.clone());
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

impl EditTool for RenameSymbol {
    const CLASS: SafetyClass = SafetyClass::Mutating;
    const SITE: Site = Site::SafeLane;

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let Some(found) = self.prepared else {
            return Err(ToolError::internal("a rename without what the language server found"));
        };
        let scenes: &[FileEdits] = if self.update_scenes { &found.scenes } else { &[] };
        let open = editor.interface().get_open_scenes();
        for it in scenes {
            if open.as_slice().iter().any(|open| open.to_string() == it.path) {
                return Err(ToolError::precondition(
                    "update_scenes",
                    format!("\"{}\" uses \"{}\" and is open", it.path, found.old_name),
                )
                .hint("save and close it with `close_scene`, or leave update_scenes out"));
            }
        }
        let title = format!("Rename {} to {}", found.old_name, self.new_name);
        let mut edit = Edit::of_files(title);
        edit.fact("old_name", found.old_name.as_str());
        edit.fact("new_name", self.new_name.as_str());
        let mut occurrences = Vec::new();
        for it in found.scripts.iter().chain(scenes) {
            edit.write_file(&it.path, Some(renamed(it, &found.old_name, &self.new_name)?));
            edit.verdict(Verdict::yes(it.path.as_str()));
            occurrences.push(json!({"file": it.path, "occurrences": it.starts.len()}));
        }
        edit.fact("files", occurrences);
        edit.fact("conflicts", found.conflicts.as_slice());
        for (name, list) in [
            ("in_comments", &found.comments),
            ("in_strings", &found.strings),
            ("in_scenes", &found.scene_uses),
        ] {
            tell(&mut edit, name, list);
        }
        edit.fact("scenes_updated", self.update_scenes);
        let scripts: Vec<String> = found.scripts.into_iter().map(|it| it.path).collect();
        edit.late(Box::new(
            move |editor, committed| {
                if committed { broken(editor, &scripts) } else { Map::new() }
            },
        ));
        Ok(edit)
    }
}

fn renamed(edits: &FileEdits, old: &str, new: &str) -> Result<Vec<u8>, ToolError> {
    let bytes = files::bytes(&edits.path).unwrap_or_default();
    let mut text = String::from_utf8(bytes.clone()).unwrap_or_default();
    let holds = edits.starts.iter().all(|&it| text.get(it..it + old.len()) == Some(old));
    if files::sha256(&bytes) != edits.sha256 || !holds {
        let message = format!("\"{}\" was changed meanwhile", edits.path);
        return Err(ToolError::new(Code::StateChanged, message).hint("call again"));
    }
    for &start in edits.starts.iter().rev() {
        text.replace_range(start..start + old.len(), new);
    }
    Ok(text.into_bytes())
}

/// Lists places that the rename leaves alone, or that it takes only when asked.
fn tell(edit: &mut Edit, name: &str, list: &[String]) {
    if list.is_empty() {
        return;
    }
    let mut lines: Vec<String> = list.iter().take(MAX_LISTED).cloned().collect();
    if list.len() > MAX_LISTED {
        lines.push(format!("... and {} more", list.len() - MAX_LISTED));
    }
    edit.fact(name, untrusted::wrap(name, &lines.join("\n")));
}

/// Renamed scripts that do not compile.
fn broken(editor: &Editor, scripts: &[String]) -> Map<String, Value> {
    let has_errors = |path: &&String| {
        let text = script_files::decode(&files::bytes(path).unwrap_or_default());
        !script_check::check(editor, path, &text).is_empty()
    };
    let broken: Vec<_> = scripts.iter().take(MAX_LISTED).filter(has_errors).collect();
    Map::from_iter([("files_with_errors".to_owned(), json!(broken))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_name_at_a_place() {
        let name = |column| name_at("\tvar ü1 = b\n", (1, column));
        assert_eq!(name(6).as_deref(), Some("ü1"));
        assert_eq!(name(8).as_deref(), Some("ü1"), "right behind it");
        assert_eq!(name(9), None);
        assert_eq!(name(3), None, "a keyword");
    }

    #[test]
    fn follows_bases() {
        let header = |path: &str, text: &str| (path.to_owned(), script_source::header(text));
        let headers = [
            header("res://c.gd", "extends 'x/b.gd'"),
            header("res://x/b.gd", "class_name B\nextends A"),
            header("res://a.gd", "class_name A\nextends Node"),
            header("res://d.gd", "extends Node"),
        ];
        let found = inheriting(&headers, "res://a.gd");
        assert_eq!(
            found.into_iter().collect::<Vec<_>>(),
            ["res://a.gd", "res://c.gd", "res://x/b.gd"]
        );
    }
}

//! Runs the examples of the registry against a real editor: each is a preview test, a live test, an
//! undo test and a refusal test in one.

use std::path::Path;

use godot_mcp_core::commands::limits;
use godot_mcp_core::{Example, Expect, SafetyClass, ToolSpec, UndoKind, text_diff, toolset};
use serde_json::{Map, Value, json};

use crate::client::Client;
use crate::editor::{Editor, Human};
use crate::notation;
use crate::project_files::Files;

/// Fields of an answer that a preview cannot know (S4.1).
const ONLY_AFTERWARDS: &[&str] = &["dry_run", "applied", "undo_token"];
/// Tools whose preview has a shape of its own, by contract.
const OWN_PREVIEW: &[&str] = &["godot_undo", "godot_redo", "run_commands"];
/// What a read may change: nothing but the store behind `snapshot_subtree`.
const STATE: &str = r#"
var manager := EditorInterface.get_editor_undo_redo()
var root := EditorInterface.get_edited_scene_root()
var histories := {}
if root != null:
	histories["scene"] = manager.get_history_undo_redo(manager.get_object_history_id(root)).get_version()
histories["global"] = manager.get_history_undo_redo(0).get_version()
var tabs: Array = EditorInterface.get_base_control().find_children("*", "EditorSceneTabs", true, false)
# Titles lag behind; told of a new language, the tabs make them anew.
tabs[0].notification(Node.NOTIFICATION_TRANSLATION_CHANGED)
var titles: Array[String] = []
for bar: TabBar in tabs[0].find_children("*", "TabBar", true, false):
	for index in bar.tab_count:
		titles.append(bar.get_tab_title(index))
var selected: Array[String] = []
for node in EditorInterface.get_selection().get_selected_nodes():
	selected.append(str(node.get_path()))
var tree := ""
if root != null:
	var queue: Array[Node] = [root]
	while not queue.is_empty():
		var node: Node = queue.pop_back()
		tree += "%s %d %s\n" % [root.get_path_to(node), node.get_instance_id(), node.owner]
		queue.append_array(node.get_children())
return {"histories": histories, "titles": titles, "selected": selected, "tree": tree.hash(),
		"scene": root.scene_file_path if root != null else "", "orphans": Performance.get_monitor(Performance.OBJECT_ORPHAN_NODE_COUNT)}
"#;

/// Folder of an example in the project, so that the files of two never meet.
fn folder(spec: &ToolSpec, index: usize) -> String {
    format!("ex_{}_{index}", spec.name)
}

/// `text` with its `res://` paths moved into the example's folder.
fn moved(text: &str, folder: &str) -> String {
    // Paths that lead out of the project stay as they are.
    // The declaration of commands has one place in a project.
    let declaration = format!("res://{}", limits::FILE);
    text.replace("res://..", "\0")
        .replace(&declaration, "\u{1}")
        .replace("res://", &format!("res://{folder}/"))
        .replace('\0', "res://..")
        .replace('\u{1}', &declaration)
}

fn moved_value(value: &Value, folder: &str) -> Value {
    serde_json::from_str(&moved(&value.to_string(), folder)).expect("still JSON")
}

/// Writes the files of all examples, before the editor starts and scans them once.
pub fn prepare(project: &Path, specs: &[ToolSpec]) {
    for spec in specs {
        for (index, example) in spec.examples.iter().enumerate() {
            let folder = folder(spec, index);
            for (path, text) in notation::files(&moved(&example.before, &folder)) {
                let path = path.replace(notation::SCENE, &format!("res://{folder}/scene.tscn"));
                let file = project.join(path.trim_start_matches("res://"));
                std::fs::create_dir_all(file.parent().expect("in a folder")).expect("created");
                std::fs::write(file, text).expect("written");
            }
        }
    }
}

/// Runs every example and collects all failures.
pub fn run_all(
    editor: &Editor,
    client: &Client,
    specs: &[ToolSpec],
    only: Option<&str>,
) -> Vec<String> {
    let mut failures = Vec::new();
    let mut human = editor.human();
    for spec in specs {
        for (index, example) in spec.examples.iter().enumerate() {
            let label = format!("{} [{index}] {}", spec.name, example.title);
            if only.is_some_and(|it| !label.contains(it)) {
                continue;
            }
            let logged = editor.log_errors().len();
            let mut run =
                Run { editor, client, human: &mut human, spec, folder: folder(spec, index) };
            if let Err(problem) = run.example(example) {
                failures.push(format!("{label}\n    {problem}"));
            }
            run.close_all();
            for line in editor.log_errors().into_iter().skip(logged) {
                failures.push(format!("{label}\n    the engine logged {line}"));
            }
        }
    }
    failures
}

struct Run<'a> {
    editor: &'a Editor,
    client: &'a Client,
    human: &'a mut Human,
    spec: &'a ToolSpec,
    folder: String,
}

impl Run<'_> {
    fn example(&mut self, example: &Example) -> Result<(), String> {
        let scene = format!("res://{}/scene.tscn", self.folder);
        self.client
            .call("open_scene", json!({"scene_path": scene}))
            .map_err(|it| format!("open: {it}"))?;
        for (tool, args) in &example.setup {
            let args = moved_value(args, &self.folder);
            self.client.call(tool, args).map_err(|it| format!("setup {tool}: {it}"))?;
        }
        let edits = self.spec.class.has_dry_run() && self.spec.undo == UndoKind::Action;
        if edits {
            self.save()?;
        }
        let before = self.files();
        let args = moved_value(&Value::Object(example.args.clone()), &self.folder);
        match &example.expect {
            Expect::Refusal(code) => self.refusal(&args, code.as_str()),
            expect => {
                let answer = self.success(&args)?;
                self.check(expect, &answer)?;
                if edits && answer["applied"] == true {
                    self.undo_and_redo(&before, &answer)?;
                }
                Ok(())
            }
        }
    }

    /// S2.2: a refusal leaves no trace, as a preview and as a run.
    fn refusal(&mut self, args: &Value, code: &str) -> Result<(), String> {
        let state = self.state();
        let mut tries = vec![self.confirmed(args)];
        if self.spec.class.has_dry_run() {
            let mut preview = args.clone();
            preview["dry_run"] = json!(true);
            tries.push(preview);
        }
        for args in tries {
            match self.client.call(&self.spec.name, args.clone()) {
                Ok(answer) => return Err(format!("{args} was not refused: {answer}")),
                Err(error) if error["error"] != code => {
                    return Err(format!("expected {code}: {error}"));
                }
                Err(error) => check_error(&error)?,
            }
            self.unchanged(&state, "the refusal")?;
        }
        Ok(())
    }

    fn success(&mut self, args: &Value) -> Result<Value, String> {
        let state = self.state();
        let call = |args: &Value| {
            self.client.call(&self.spec.name, args.clone()).map_err(|it| format!("{args}: {it}"))
        };
        let mut preview = None;
        if self.spec.class.has_dry_run() {
            let mut args = args.clone();
            args["dry_run"] = json!(true);
            preview = Some(call(&args)?);
        }
        if preview.is_some() {
            self.unchanged(&state, "the preview (S4.2)")?;
        }
        if let (SafetyClass::Destructive, Some(preview)) = (self.spec.class, &preview) {
            let Err(error) = self.client.call(&self.spec.name, args.clone()) else {
                return Err("it ran without confirm".to_owned());
            };
            if error["error"] != "PRECONDITION_FAILED" || error["required"] != "confirm" {
                return Err(format!("S3.1: {error}"));
            }
            if stable(&error["would"]) != stable(&preview["changes"]) {
                return Err(format!(
                    "S3.1: would is {}, the preview {}",
                    error["would"], preview["changes"]
                ));
            }
            self.unchanged(&state, "the missing confirm (S2.2)")?;
        }
        let confirmed = self.confirmed(args);
        let answer = self
            .client
            .call(&self.spec.name, confirmed.clone())
            .map_err(|it| format!("{confirmed}: {it}"))?;
        if let Some(preview) = &preview {
            self.compare(preview, &answer)?;
        }
        if self.switches_toolsets() {
            // What follows needs them all again.
            let sets = toolset::TOOLSETS.iter().map(|it| it.name).collect::<Vec<_>>().join(",");
            self.client.ok("enable_toolset", json!({"category": sets}));
        }
        if self.spec.class == SafetyClass::ReadOnly && !self.switches_toolsets() {
            self.unchanged(&state, "a read")?;
        }
        Ok(answer)
    }

    /// S4.1: what the preview said is what the run did.
    fn compare(&self, preview: &Value, answer: &Value) -> Result<(), String> {
        if preview["dry_run"] != true || preview["applied"] != false {
            return Err(format!("the preview does not say that it is one: {preview}"));
        }
        if OWN_PREVIEW.contains(&self.spec.name.as_str()) {
            return Ok(());
        }
        for field in ["persisted", "undoable", "changes"] {
            if preview.get(field).is_none() {
                return Err(format!("S4.3: the preview lacks {field}: {preview}"));
            }
        }
        let fields = preview.as_object().ok_or("the preview is an object")?;
        for (name, value) in fields.iter().filter(|it| !ONLY_AFTERWARDS.contains(&it.0.as_str())) {
            let run = answer.get(name).unwrap_or(&Value::Null);
            if stable(run) != stable(value) {
                return Err(format!("S4.1: the preview has {name} = {value}, the run {run}"));
            }
        }
        Ok(())
    }

    fn check(&mut self, expect: &Expect, answer: &Value) -> Result<(), String> {
        match expect {
            Expect::After(after) => {
                self.save()?;
                let found = self.files();
                for (path, text) in notation::files(&moved(after, &self.folder)) {
                    let path = path.replace("res://scene.tscn", "scene.tscn");
                    let path = path.trim_start_matches(&format!("res://{}/", self.folder));
                    let bytes = found.get(path).ok_or_else(|| format!("no file {path}"))?;
                    let saved = notation::normalize(&String::from_utf8_lossy(bytes));
                    let wanted = notation::normalize(&text);
                    if saved != wanted {
                        return Err(format!("{path}: expected\n{wanted}\nfound\n{saved}"));
                    }
                }
                Ok(())
            }
            Expect::Answer(wanted) => {
                let wanted = moved_value(wanted, &self.folder);
                subset(&wanted, answer, "").map_err(|it| format!("{it}; the answer: {answer}"))
            }
            Expect::Text(lines) => {
                let text = answer.as_str().map_or_else(|| answer.to_string(), str::to_owned);
                for line in lines {
                    let line = moved(line, &self.folder);
                    if !text.contains(&line) {
                        return Err(format!("the answer lacks {line:?}:\n{text}"));
                    }
                }
                Ok(())
            }
            Expect::Refusal(_) => Ok(()),
        }
    }

    /// S6.3: undo and redo, by token, to the byte.
    fn undo_and_redo(&mut self, before: &Files, answer: &Value) -> Result<(), String> {
        self.clean_if_of_files("the edit")?;
        self.save()?;
        let after = self.files();
        let token = &answer["undo_token"];
        let call = |tool: &str, args: Value| {
            self.client.call(tool, args.clone()).map_err(|it| format!("{tool} {args}: {it}"))
        };
        let undone = call("godot_undo", json!({"undo_token": token}))?;
        if undone["undone"] != 1 {
            return Err(format!("nothing was undone: {undone}"));
        }
        self.clean_if_of_files("the undo")?;
        self.save()?;
        same_files(before, &self.files()).map_err(|it| format!("S6.3, after undo: {it}"))?;
        call("godot_redo", json!({}))?;
        self.clean_if_of_files("the redo")?;
        self.save()?;
        same_files(&after, &self.files()).map_err(|it| format!("S6.3, after redo: {it}"))?;
        call("godot_undo", json!({}))?;
        self.save()?;
        same_files(before, &self.files()).map_err(|it| format!("S6.3, after the second undo: {it}"))
    }

    /// An edit of files lies in the scene's history and leaves the scene unchanged.
    fn clean_if_of_files(&self, what: &str) -> Result<(), String> {
        let active =
            self.client.call("get_active_scene", json!({})).map_err(|it| it.to_string())?;
        if !self.spec.edits_scene && active["dirty"] == true {
            return Err(format!("{what} of files marks the scene as changed: {active}"));
        }
        Ok(())
    }

    /// There may be none to save: the call deleted it, or an undone one had made it.
    fn save(&mut self) -> Result<(), String> {
        let active =
            self.client.call("get_active_scene", json!({})).map_err(|it| it.to_string())?;
        if active["scene_path"].as_str().is_some_and(|it| !it.is_empty()) {
            self.client.call("save_scene", json!({})).map(drop).map_err(|it| format!("save: {it}"))
        } else {
            Ok(())
        }
    }

    fn confirmed(&self, args: &Value) -> Value {
        let mut args = args.clone();
        if self.spec.class.has_confirm() {
            args["confirm"] = json!(true);
        }
        args
    }

    fn switches_toolsets(&self) -> bool {
        ["enable_toolset", "disable_toolset", "discover_tools"].contains(&self.spec.name.as_str())
    }

    /// Everything that must not change: editor state and files.
    fn state(&mut self) -> (Value, Files) {
        // The editor looks once a frame which scenes have unsaved changes.
        let mut state = self.human.run(STATE);
        for _ in 0..10 {
            let next = self.human.run(STATE);
            if std::mem::replace(&mut state, next) == state {
                break;
            }
        }
        (state, self.files())
    }

    fn unchanged(&mut self, state: &(Value, Files), what: &str) -> Result<(), String> {
        let now = self.state();
        if now.0 != state.0 {
            return Err(format!("{what} changed the editor: {} became {}", state.0, now.0));
        }
        same_files(&state.1, &now.1).map_err(|it| format!("{what} changed files: {it}"))
    }

    /// Files of the example's folder, and the project's settings.
    fn files(&self) -> Files {
        let mut files = Files::new();
        collect(&self.editor.project.join(&self.folder), "", &mut files);
        let settings = std::fs::read(self.editor.project.join("project.godot")).expect("readable");
        files.insert("../project.godot".to_owned(), settings);
        files
    }

    fn close_all(&mut self) {
        for _ in 0..8 {
            let Ok(open) = self.client.call("list_open_scenes", json!({})) else { return };
            let scenes = open["scenes"].as_array().cloned().unwrap_or_default();
            if scenes.is_empty() {
                return;
            }
            let path = scenes[0].get("scene_path").or(scenes[0].get("path"));
            let path = path.and_then(Value::as_str).unwrap_or_default();
            let closed =
                self.client.call("close_scene", json!({"scene_path": path, "confirm": true}));
            if closed.is_err() {
                return;
            }
        }
    }
}

fn collect(folder: &Path, prefix: &str, files: &mut Files) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            collect(&entry.path(), &format!("{name}/"), files);
        } else if let Ok(bytes) = std::fs::read(entry.path()) {
            files.insert(name, bytes);
        }
    }
}

fn same_files(wanted: &Files, found: &Files) -> Result<(), String> {
    for (name, bytes) in wanted {
        match found.get(name) {
            None => return Err(format!("{name} is gone")),
            Some(now) if now != bytes => {
                let (old, new) = (String::from_utf8_lossy(bytes), String::from_utf8_lossy(now));
                return Err(format!("{name} differs:\n{}", text_diff::unified(&old, &new, 1)));
            }
            Some(_) => {}
        }
    }
    match found.keys().find(|it| !wanted.contains_key(*it)) {
        Some(extra) => Err(format!("{extra} is new")),
        None => Ok(()),
    }
}

/// Without ids that the engine draws at random, and without nonces of envelopes.
fn stable(value: &Value) -> String {
    let text = without_nonces(&value.to_string());
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(start) = rest.find("uid://") {
        out.push_str(&rest[..start + 6]);
        rest = rest[start + 6..].trim_start_matches(|it: char| it.is_ascii_alphanumeric());
    }
    out + rest
}

fn without_nonces(text: &str) -> String {
    let mut parts = text.split("nonce=\\\"");
    let first = parts.next().unwrap_or_default().to_owned();
    parts
        .fold(first, |text, part| text + part.trim_start_matches(|it: char| it.is_ascii_hexdigit()))
}

/// S3: every error has its fields, and a hint or suggestions that help.
fn check_error(error: &Value) -> Result<(), String> {
    for field in ["error", "message", "hint", "retryable"] {
        if error.get(field).is_none() {
            return Err(format!("S3: the error lacks {field}: {error}"));
        }
    }
    let helps = error["hint"].as_str().is_some_and(|it| !it.is_empty());
    let helps = helps || error["suggestions"].as_array().is_some_and(|it| !it.is_empty());
    if helps { Ok(()) } else { Err(format!("S3: the error does not say what to do next: {error}")) }
}

fn subset(wanted: &Value, found: &Value, at: &str) -> Result<(), String> {
    match (wanted, found) {
        (Value::String(any), _) if any == "*" && !found.is_null() => Ok(()),
        (Value::Object(wanted), Value::Object(found)) => {
            let none = Value::Null;
            wanted.iter().try_for_each(|(name, value)| {
                subset(value, found.get(name).unwrap_or(&none), &format!("{at}/{name}"))
            })
        }
        (Value::Array(wanted), Value::Array(found)) if wanted.len() == found.len() => {
            wanted.iter().zip(found).enumerate().try_for_each(|(index, (wanted, found))| {
                subset(wanted, found, &format!("{at}/{index}"))
            })
        }
        (wanted, found) if wanted == found => Ok(()),
        (Value::Number(wanted), Value::Number(found)) if wanted.as_f64() == found.as_f64() => {
            Ok(())
        }
        (wanted, found) => Err(format!("at {at}: expected {wanted}, found {found}")),
    }
}

/// An empty argument object.
pub fn no_args() -> Value {
    Value::Object(Map::new())
}

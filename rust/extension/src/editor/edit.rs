//! Edits are values: a plan that can be printed, applied, verified, taken back and recorded.
//!
//! A tool builds an [`Edit`] and changes nothing. The same steps make the preview, the commit, the
//! undo and the redo (S4.1, S6). A step that fails takes the whole edit back before it is recorded,
//! so history and dirty flag stay as they were (S2 step 9).

mod fingerprint;

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use godot::builtin::{GString, PackedStringArray, StringName, VarArray, Variant, VariantType};
use godot::classes::undo_redo::MergeMode;
use godot::classes::{
    EditorInterface, EditorUndoRedoManager, Node, Object, ProjectSettings, RefCounted,
};
use godot::meta::ToGodot;
use godot::obj::{Gd, NewGd, Singleton};
use godot_mcp_core::spec::ToolSpec;
use godot_mcp_core::{Answer, Reply, ToolError, UndoKind};
use serde_json::{Map, Value, json};

use super::Editor;
use super::file_diff;
use super::files::{self, FileKeeper, SettingValue};
use super::persistence::{self, Verdict};
use super::scene::Scene;
use super::values;
use super::{project_settings, properties, references, scene_keeper, script_tabs};
use crate::app::App;
use crate::fault_point;
use crate::tool::Outcome;

/// Changes that an answer lists; more are counted, never silently cut.
const MAX_CHANGES: usize = 100;

/// One primitive change, as undo and redo run it.
#[derive(Clone)]
pub(crate) enum Op {
    Set {
        object: Gd<Object>,
        property: StringName,
        value: Variant,
    },
    Call {
        object: Gd<Object>,
        method: StringName,
        args: Vec<Variant>,
    },
    /// Writes a file, or deletes it when there are no bytes.
    File {
        path: String,
        bytes: Option<Vec<u8>>,
    },
    /// Sets project settings and saves them, or restores `project.godot` to the byte.
    Settings {
        values: Vec<SettingValue>,
        bytes: Option<Vec<u8>>,
    },
    /// Makes a folder, or removes an empty one.
    Folder {
        path: String,
        exists: bool,
    },
    /// Brings what is loaded from files to their state, once all steps are done.
    Refresh {
        paths: Vec<String>,
    },
}

impl Op {
    pub(crate) fn set<T>(object: &Gd<T>, property: &str, value: &Variant) -> Self
    where
        T: godot::obj::Inherits<Object>,
    {
        Self::Set {
            object: object.clone().upcast::<Object>(),
            property: StringName::from(property),
            value: value.clone(),
        }
    }

    /// Sets a property of a node that is out of the tree at that moment. For a plain property the
    /// editor's live editing would look for its path in the scene and print an error.
    pub(crate) fn set_apart<T>(object: &Gd<T>, property: &str, value: &Variant) -> Self
    where
        T: godot::obj::Inherits<Object>,
    {
        Self::call(object, "set", &[property.to_variant(), value.clone()])
    }

    pub(crate) fn call<T>(object: &Gd<T>, method: &str, args: &[Variant]) -> Self
    where
        T: godot::obj::Inherits<Object>,
    {
        Self::Call {
            object: object.clone().upcast::<Object>(),
            method: StringName::from(method),
            args: args.to_vec(),
        }
    }

    fn run(&self, keeper: &Gd<FileKeeper>) -> Result<(), ToolError> {
        match self {
            Self::Set { object, property, value } => {
                alive(object)?.set(property, value);
                Ok(())
            }
            Self::Call { object, method, args } => alive(object)?
                .try_call(method, args)
                .map(drop)
                .map_err(|it| ToolError::internal(format!("the engine refused {method}: {it}"))),
            Self::File { path, bytes } => FileKeeper::write(keeper, path, bytes.as_deref()),
            Self::Settings { values, bytes } => {
                FileKeeper::put_settings(keeper, values, bytes.as_deref())
            }
            Self::Folder { path, exists } => FileKeeper::put_folder(path, *exists),
            Self::Refresh { paths } => {
                keeper.clone().call("refresh_later", &[string_array(paths)]);
                Ok(())
            }
        }
    }

    fn record(&self, undo: bool, manager: &mut Gd<EditorUndoRedoManager>, keeper: &Gd<FileKeeper>) {
        match self {
            Self::Set { object, property, value } if undo => {
                manager.add_undo_property(object, property, value);
            }
            Self::Set { object, property, value } => {
                manager.add_do_property(object, property, value);
            }
            Self::Call { object, method, args } if undo => {
                manager.add_undo_method(object, method, args);
            }
            Self::Call { object, method, args } => manager.add_do_method(object, method, args),
            Self::File { path, bytes } => {
                let bytes = FileKeeper::bytes_variant(bytes.as_deref());
                let args = [path.to_variant(), bytes];
                record_call(keeper, "restore", &args, undo, manager);
            }
            Self::Settings { values, bytes } => {
                let values: VarArray = values.iter().map(SettingValue::to_variant).collect();
                let bytes = FileKeeper::bytes_variant(bytes.as_deref());
                record_call(keeper, "settings", &[values.to_variant(), bytes], undo, manager);
            }
            Self::Folder { path, exists } => {
                let args = [path.to_variant(), exists.to_variant()];
                record_call(keeper, "folder", &args, undo, manager);
            }
            Self::Refresh { paths } => {
                record_call(keeper, "refresh_later", &[string_array(paths)], undo, manager);
            }
        }
    }

    /// By reference, since the handle of a freed object cannot be copied.
    pub(crate) fn object(&self) -> Option<&Gd<Object>> {
        match self {
            Self::Set { object, .. } | Self::Call { object, .. } => Some(object),
            Self::File { .. }
            | Self::Settings { .. }
            | Self::Folder { .. }
            | Self::Refresh { .. } => None,
        }
    }

    /// The same, with files through the keeper of its edit.
    fn kept_by(&self, keeper: &Gd<FileKeeper>) -> Self {
        match self {
            Self::File { path, bytes } => {
                let args = [path.to_variant(), FileKeeper::bytes_variant(bytes.as_deref())];
                Self::call(keeper, "restore", &args)
            }
            other => other.clone(),
        }
    }

    fn is_file(&self) -> bool {
        matches!(self, Self::File { .. } | Self::Refresh { .. })
    }
}

fn string_array(paths: &[String]) -> Variant {
    paths.iter().map(GString::from).collect::<PackedStringArray>().to_variant()
}

fn record_call(
    keeper: &Gd<FileKeeper>,
    method: &str,
    args: &[Variant],
    undo: bool,
    manager: &mut Gd<EditorUndoRedoManager>,
) {
    if undo {
        manager.add_undo_method(keeper, method, args);
    } else {
        manager.add_do_method(keeper, method, args);
    }
}

fn set_change(shown: &str, old: &Variant, new: &Variant) -> Value {
    json!({"set": shown, "old": values::summary(old), "new": values::summary(new)})
}

/// Containers are shared: without a copy, a later change in place would change the history too.
pub(crate) fn own_copy(value: &Variant) -> Variant {
    match value.get_type() {
        VariantType::ARRAY | VariantType::DICTIONARY => {
            value.call("duplicate", &[true.to_variant()])
        }
        _ => value.clone(),
    }
}

fn alive(object: &Gd<Object>) -> Result<Gd<Object>, ToolError> {
    if object.is_instance_valid() {
        return Ok(object.clone());
    }
    Err(ToolError::new(
        godot_mcp_core::Code::StateChanged,
        "an object of the plan was freed meanwhile",
    )
    .hint("look at the scene again, then call again"))
}

/// What must hold after the edit.
enum Check {
    /// The property reads back as it was written, or as the engine normalizes it (S10.6).
    Property {
        shown: String,
        object: Gd<Object>,
        property: StringName,
        wanted: Variant,
        old: Variant,
    },
    /// A call of a const method answers this.
    Answers {
        object: Gd<Object>,
        method: StringName,
        args: Vec<Variant>,
        wanted: Variant,
    },
    /// The file holds these bytes, or does not exist.
    File {
        path: String,
        bytes: Option<Vec<u8>>,
    },
    /// The project setting has this value; null when there is none.
    Setting {
        name: String,
        value: Variant,
    },
    Own(Box<dyn Fn() -> Result<(), ToolError>>),
}

/// One step: how it is shown, how it is made, how it is taken back.
#[derive(Default)]
pub(crate) struct Step {
    /// What previews and answers print, for example `{"add": "Player", "type": "Node2D"}`.
    change: Value,
    apply: Vec<Op>,
    /// In the order in which they run. The steps of an edit are taken back last first.
    revert: Vec<Op>,
    checks: Vec<Check>,
    /// Objects that only the done state uses: freed with the action once it was undone.
    keep_done: Vec<Gd<Object>>,
    /// Objects that only the undone state uses.
    keep_undone: Vec<Gd<Object>>,
}

impl Step {
    pub(crate) fn new(change: Value) -> Self {
        Self { change, ..Self::default() }
    }

    #[must_use]
    pub(crate) fn apply(mut self, op: Op) -> Self {
        self.apply.push(op);
        self
    }

    #[must_use]
    pub(crate) fn revert(mut self, op: Op) -> Self {
        self.revert.push(op);
        self
    }

    #[must_use]
    pub(crate) fn answers<T>(
        mut self,
        object: &Gd<T>,
        method: &str,
        args: &[Variant],
        wanted: &Variant,
    ) -> Self
    where
        T: godot::obj::Inherits<Object>,
    {
        self.checks.push(Check::Answers {
            object: object.clone().upcast::<Object>(),
            method: StringName::from(method),
            args: args.to_vec(),
            wanted: wanted.clone(),
        });
        self
    }

    /// An object that would leak, or be freed too early, without the history holding it.
    #[must_use]
    pub(crate) fn keeps_done(mut self, object: &Gd<Node>) -> Self {
        self.keep_done.push(object.clone().upcast());
        self
    }

    #[must_use]
    pub(crate) fn keeps_undone(mut self, object: &Gd<Node>) -> Self {
        self.keep_undone.push(object.clone().upcast());
        self
    }
}

/// Result of an editor-state action: facts for the answer, now or later.
pub(crate) enum Acted {
    Done(Map<String, Value>),
    Wait(Box<dyn FnMut(&Editor) -> Option<Result<Map<String, Value>, ToolError>>>),
}

pub(crate) type Action = Box<dyn FnOnce(&Editor) -> Result<Acted, ToolError>>;

/// Asked once a frame after the commit, until what it set off has come about: facts for the answer.
pub(crate) type Settle = Box<dyn FnMut(&Editor) -> Option<Map<String, Value>>>;

/// Facts that are found out when the answer is made: of the plan for a preview, of what is there
/// afterwards for a run, which is told by `true`.
pub(crate) type Late = Box<dyn FnOnce(&Editor, bool) -> Map<String, Value>>;

enum Scope {
    /// The history of the edited scene.
    Scene(Gd<Node>),
    /// The history of the edited scene for an edit of files, which leaves the scene as it is.
    Files(Gd<Node>),
    /// The history of the project, even when a scene is open: for edits that open or close scenes,
    /// after which the history of the scene before is out of reach.
    Project,
    /// No history: S6.7.
    EditorState(Action),
}

/// A complete plan.
pub(crate) struct Edit {
    title: String,
    scope: Scope,
    steps: Vec<Step>,
    verdicts: Vec<Verdict>,
    facts: Map<String, Value>,
    /// Nodes that the plan made and that no scene has yet; freed with a plan that is not committed.
    made: Vec<Gd<Node>>,
    /// Changes of an editor-state edit, which has no steps.
    notes: Vec<Value>,
    settle: Option<Settle>,
    late: Option<Late>,
    /// Files whose unsaved text in the script editor the caller has given up.
    given_up: Vec<String>,
}

impl Edit {
    /// An edit in the history of a scene. The title is what the human reads behind `Undo: MCP: `.
    pub(crate) fn in_scene(scene: &Scene, title: impl Into<String>) -> Self {
        Self::new(title, Scope::Scene(scene.root().clone()))
    }

    /// An edit of project files that opens or closes scenes, in the project's own history.
    pub(crate) fn of_project(title: impl Into<String>) -> Self {
        Self::new(title, Scope::Project)
    }

    /// An edit of project files and settings: in the history of the edited scene, where the human's
    /// Ctrl+Z finds it, without marking that scene as changed; in the project's without a scene.
    pub(crate) fn of_files(title: impl Into<String>) -> Self {
        let root = EditorInterface::singleton().get_edited_scene_root();
        Self::new(title, root.map_or(Scope::Project, Scope::Files))
    }

    /// Writes a file, or deletes it when there are no bytes. Missing folders are made, `.uid` and
    /// `.import` go with their file, and what is loaded from it is brought up to date (S6.5).
    pub(crate) fn write_file(&mut self, path: &str, bytes: Option<Vec<u8>>) {
        let old = files::bytes(path);
        self.replace_file(path, old, bytes);
    }

    /// The caller has said that unsaved text of this file in the script editor may go.
    pub(crate) fn gives_up_unsaved(&mut self, path: &str) {
        self.given_up.push(path.to_owned());
    }

    /// Refuses an edit that writes or deletes a file of which the human has unsaved text.
    pub(crate) fn refuse_unsaved(&self) -> Result<(), ToolError> {
        let ops = self.steps.iter().flat_map(|it| &it.apply);
        let paths = ops.filter_map(|it| match it {
            Op::File { path, .. } if !self.given_up.contains(path) => Some(path.as_str()),
            _ => None,
        });
        script_tabs::refuse_unsaved(paths)
    }

    /// As `write_file`, when earlier steps of the edit leave the file with the bytes `old`.
    pub(crate) fn replace_file(
        &mut self,
        path: &str,
        old: Option<Vec<u8>>,
        bytes: Option<Vec<u8>>,
    ) {
        if old == bytes {
            return;
        }
        let mut change = match &bytes {
            Some(bytes) => json!({"write": path, "bytes": bytes.len()}),
            None => json!({"delete": path}),
        };
        if let Some(old) = &old {
            change["old_bytes"] = json!(old.len());
            if let Some(diff) = bytes.as_ref().and_then(|new| file_diff::unified(old, new)) {
                change["diff"] = json!(diff);
            }
        }
        let op = |bytes: Option<Vec<u8>>| Op::File { path: path.to_owned(), bytes };
        let mut step = Step::new(change).apply(op(bytes.clone())).revert(op(old));
        step.checks.push(Check::File { path: path.to_owned(), bytes });
        self.steps.push(step);
    }

    /// The steps of `after` come after those of `between`, and on undo too they are taken back after
    /// those are: what names a file may only be seen while that file is in its place.
    pub(crate) fn around(
        &mut self,
        between: impl FnOnce(&mut Self),
        after: impl FnOnce(&mut Self) -> Result<(), ToolError>,
    ) -> Result<(), ToolError> {
        let start = self.steps.len();
        between(self);
        let middle = self.steps.len();
        after(self)?;
        let mut back = Step::new(Value::Null);
        for step in self.steps[middle..].iter_mut().rev() {
            back.revert.append(&mut step.revert);
        }
        self.steps.insert(start, back);
        Ok(())
    }

    /// Makes a folder, or removes one that is empty by then.
    pub(crate) fn folder(&mut self, path: &str, exists: bool) {
        let change = if exists { "add_folder" } else { "delete_folder" };
        let op = |exists| Op::Folder { path: path.to_owned(), exists };
        self.steps.push(Step::new(json!({change: path})).apply(op(exists)).revert(op(!exists)));
    }

    /// Sets project settings and saves `project.godot`; undo restores its exact bytes. A null value
    /// removes a setting, and gives one of the engine's its default. Refused when the file was
    /// changed outside the editor.
    pub(crate) fn set_settings(&mut self, values: &[(String, Variant)]) -> Result<(), ToolError> {
        project_settings::check_unchanged()?;
        let settings = ProjectSettings::singleton();
        let (mut apply, mut revert) = (Vec::new(), Vec::new());
        for (name, value) in values {
            let (old, order) = match settings.has_setting(name) {
                true => (own_copy(&settings.get_setting(name)), settings.get_order(name)),
                false => (Variant::nil(), -1),
            };
            let value = match value.is_nil() && project_settings::is_engines(name) {
                true => project_settings::default_of(name),
                false => own_copy(value),
            };
            if values::equal(&old, &value) {
                continue;
            }
            let mut step = Step::new(set_change(name, &old, &value));
            step.checks.push(Check::Setting { name: name.clone(), value: value.clone() });
            self.steps.push(step);
            let place = if value.is_nil() { -1 } else { order };
            apply.push(SettingValue { name: name.clone(), value, order: place });
            revert.push(SettingValue { name: name.clone(), value: old, order });
        }
        if apply.is_empty() {
            return Ok(());
        }
        revert.reverse();
        let bytes = files::bytes(files::PROJECT_FILE);
        self.steps.push(
            Step::new(json!({"write": files::PROJECT_FILE}))
                .apply(Op::Settings { values: apply, bytes: None })
                .revert(Op::Settings { values: revert, bytes }),
        );
        Ok(())
    }

    /// A check of the tool's own, after all steps: when it fails, the edit is taken back.
    pub(crate) fn check(&mut self, check: Box<dyn Fn() -> Result<(), ToolError>>) {
        let mut step = Step::new(Value::Null);
        step.checks.push(Check::Own(check));
        self.steps.push(step);
    }

    /// Holds the answer back until what the edit set off has come about.
    pub(crate) fn settle(&mut self, settle: Settle) {
        self.settle = Some(settle);
    }

    /// See [`Late`].
    pub(crate) fn late(&mut self, late: Late) {
        self.late = Some(late);
    }

    /// A change of editor state, without undo (S6.7). `note` is its preview.
    pub(crate) fn editor_state(title: impl Into<String>, note: Value, action: Action) -> Self {
        let mut edit = Self::new(title, Scope::EditorState(action));
        edit.notes.push(note);
        edit
    }

    fn new(title: impl Into<String>, scope: Scope) -> Self {
        Self {
            title: title.into(),
            scope,
            steps: Vec::new(),
            verdicts: Vec::new(),
            facts: Map::new(),
            made: Vec::new(),
            notes: Vec::new(),
            settle: None,
            late: None,
            given_up: Vec::new(),
        }
    }

    pub(crate) fn step(&mut self, step: Step) {
        self.steps.push(step);
    }

    pub(crate) fn verdict(&mut self, verdict: Verdict) {
        self.verdicts.push(verdict);
    }

    /// A field of the answer, in preview and run alike.
    pub(crate) fn fact(&mut self, name: &str, value: impl Into<Value>) {
        self.facts.insert(name.to_owned(), value.into());
    }

    /// Hands a node to the plan that made it, so a preview does not leak it.
    pub(crate) fn made(&mut self, node: &Gd<Node>) {
        self.made.push(node.clone());
    }

    /// Sets one property, verified by reading back.
    pub(crate) fn set_property<T>(
        &mut self,
        target: &str,
        object: &Gd<T>,
        property: &str,
        value: &Variant,
    ) where
        T: godot::obj::Inherits<Object>,
    {
        self.set_property_as(&format!("{target}:{property}"), object, property, value);
    }

    /// As `set_property`, with the full name that the change shows.
    pub(crate) fn set_property_as<T>(
        &mut self,
        shown: &str,
        object: &Gd<T>,
        property: &str,
        value: &Variant,
    ) where
        T: godot::obj::Inherits<Object>,
    {
        let object = object.clone().upcast::<Object>();
        let old = own_copy(&object.get(property));
        let value = own_copy(value);
        let mut step = Step::new(set_change(shown, &old, &value))
            .apply(Op::set(&object, property, &value))
            .revert(Op::set(&object, property, &old));
        // A setter that converts, as from global to local, does not take the exact bits back.
        for carrier in properties::carriers(&object, property) {
            step = step.revert(Op::set(&object, carrier, &object.get(*carrier)));
        }
        step.checks.push(Check::Property {
            shown: shown.to_owned(),
            object,
            property: StringName::from(property),
            wanted: value,
            old,
        });
        self.steps.push(step);
    }

    /// Sets a property of an object that the plan made. Undo takes the whole object away.
    pub(crate) fn set_made<T>(
        &mut self,
        shown: &str,
        object: &Gd<T>,
        property: &str,
        value: &Variant,
    ) where
        T: godot::obj::Inherits<Object>,
    {
        let object = object.clone().upcast::<Object>();
        let (old, value) = (Variant::nil(), own_copy(value));
        let shown = format!("{shown}:{property}");
        let change = json!({"set": shown, "new": values::summary(&value)});
        let mut step = Step::new(change).apply(Op::set(&object, property, &value));
        // An undone node points at nothing, so nothing dangles when what it pointed at goes too.
        if let Some(without) = references::without_nodes(&value) {
            step = step.revert(Op::set(&object, property, &without));
        }
        step.checks.push(Check::Property {
            shown,
            object,
            property: StringName::from(property),
            wanted: value,
            old,
        });
        self.steps.push(step);
    }

    /// Replaces the script of an object. Undo brings the exported values of the old one back.
    pub(crate) fn set_script<T>(&mut self, target: &str, object: &Gd<T>, script: &Variant)
    where
        T: godot::obj::Inherits<Object>,
    {
        let object = object.clone().upcast::<Object>();
        let old = object.get("script");
        let mut step = Step::new(set_change(&format!("{target}:script"), &old, script))
            .apply(Op::set(&object, "script", script))
            .revert(Op::set(&object, "script", &old));
        for (property, value) in properties::script_values(&object) {
            step = step.revert(Op::set(&object, &property, &own_copy(&value)));
        }
        let wanted = script.clone();
        step.checks.push(Check::Property {
            shown: format!("{target}:script"),
            object,
            property: StringName::from("script"),
            wanted,
            old,
        });
        self.steps.push(step);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.steps.is_empty() && !matches!(self.scope, Scope::EditorState(_))
    }

    /// What is added, removed, set and written (S4.3).
    pub(crate) fn changes(&self) -> Value {
        let all = self.notes.iter().chain(self.steps.iter().map(|it| &it.change));
        Value::Array(all.filter(|it| !it.is_null()).take(MAX_CHANGES).cloned().collect())
    }

    /// What the human reads in the history and when they are asked.
    pub(crate) fn title(&self) -> &str {
        &self.title
    }

    /// The answer of a dry run.
    pub(crate) fn preview(mut self, editor: &Editor, spec: &ToolSpec) -> Value {
        let late = self.late.take().map(|it| it(editor, false));
        self.answer(spec, true, late.unwrap_or_default())
    }

    /// Preview and run print the same fields, but for `dry_run`, `applied` and what `extra` adds.
    fn answer(&self, spec: &ToolSpec, dry_run: bool, extra: Map<String, Value>) -> Value {
        let mut fields = Map::new();
        if dry_run {
            fields.insert("dry_run".into(), json!(true));
        }
        fields.insert("applied".into(), json!(!dry_run && !self.is_empty()));
        fields.extend(self.facts.clone());
        fields.extend(extra);
        if self.is_empty() {
            fields.insert("no_change".into(), json!(true));
        }
        match &self.scope {
            // Editor state is not saved with any file; a tool that saves says so by its verdict.
            Scope::EditorState(_) if self.verdicts.is_empty() => {
                fields.insert("persisted".into(), Value::Null);
            }
            _ => persistence::fields(&self.verdicts, &mut fields),
        }
        match spec.undo {
            UndoKind::EditorState(how) => {
                fields.insert("undoable".into(), json!(false));
                fields.insert("take_back".into(), json!(how));
            }
            UndoKind::Action | UndoKind::Nothing => {
                fields.insert("undoable".into(), json!(!self.is_empty()));
            }
        }
        let mut changes = self.changes();
        if spec.free_text {
            changes.as_array_mut().into_iter().flatten().for_each(file_diff::mark_untrusted);
        }
        fields.insert("changes".into(), changes);
        let total = self.notes.len() + self.steps.iter().filter(|it| !it.change.is_null()).count();
        if total > MAX_CHANGES {
            fields.insert("changes_total".into(), json!(total));
        }
        Value::Object(fields)
    }

    /// Applies and verifies all steps, or takes all of them back, also when one panics.
    fn apply(
        &self,
        keeper: &Gd<FileKeeper>,
        spec: &ToolSpec,
    ) -> Result<Map<String, Value>, ToolError> {
        let begun = Cell::new(0);
        let applied = catch_unwind(AssertUnwindSafe(|| {
            for (index, step) in self.steps.iter().enumerate() {
                begun.set(index + 1);
                for op in &step.apply {
                    op.run(keeper)?;
                    fault_point::reach("apply", &spec.name);
                }
            }
            FileKeeper::refresh(keeper);
            self.verify()
        }));
        if !matches!(applied, Ok(Ok(_))) {
            self.take_back(begun.get(), keeper);
        }
        applied.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Reads back what was written (S2 step 9). Answers what the engine clamped.
    fn verify(&self) -> Result<Map<String, Value>, ToolError> {
        let mut clamped = Map::new();
        let checks = || self.steps.iter().flat_map(|it| &it.checks);
        for check in checks() {
            match check {
                Check::Property { shown, object, property, wanted, old } => {
                    let found = alive(object)?.get(property);
                    if values::same(wanted, &found) {
                        continue;
                    }
                    let kept = values::same(old, &found);
                    let lost = found.is_nil() && !wanted.is_nil();
                    let foreign = found.get_type() != wanted.get_type();
                    let opaque = matches!(
                        wanted.get_type(),
                        VariantType::OBJECT
                            | VariantType::STRING
                            | VariantType::BOOL
                            | VariantType::NODE_PATH
                    );
                    // The engine clamps; a script's setter that changes nothing has refused.
                    let refused =
                        kept && (opaque || properties::is_of_script(object, &property.to_string()));
                    if lost || foreign || refused {
                        return Err(ToolError::new(
                            godot_mcp_core::Code::ValidationError,
                            format!(
                                "\"{property}\" did not take {}: it reads back as {}",
                                values::summary(wanted),
                                values::summary(&found)
                            ),
                        )
                        .required("value")
                        .hint("a setter or another property may forbid it; nothing was changed"));
                    }
                    if clamped.len() >= MAX_CHANGES {
                        continue;
                    }
                    let slot = values::Slot::of(object, &property.to_string());
                    let context = values::Context {
                        scene_root: EditorInterface::singleton().get_edited_scene_root(),
                        object: Some(object.clone()),
                        check_path: &|_| Ok(()),
                    };
                    let read = values::encode(&found, slot.as_ref(), &context);
                    clamped.insert(shown.clone(), read);
                }
                Check::Answers { object, method, args, wanted } => {
                    let found = alive(object)?.call(method, args);
                    if !values::same(wanted, &found) {
                        return Err(ToolError::internal(format!(
                            "after the edit {method} answers {found} instead of {wanted}"
                        )));
                    }
                }
                Check::File { path, bytes } => {
                    if files::bytes(path) != *bytes {
                        return Err(ToolError::internal(format!(
                            "\"{path}\" does not hold what was written"
                        )));
                    }
                }
                Check::Setting { name, value } => {
                    let settings = ProjectSettings::singleton();
                    let found = match settings.has_setting(name) {
                        true => settings.get_setting(name),
                        false => Variant::nil(),
                    };
                    if !values::same(value, &found) {
                        return Err(ToolError::internal(format!(
                            "the setting \"{name}\" reads back as {}",
                            values::summary(&found)
                        )));
                    }
                }
                Check::Own(check) => check()?,
            }
        }
        let mut facts = Map::new();
        if !clamped.is_empty() {
            facts.insert("clamped".into(), json!(true));
            let sets = checks().filter(|it| matches!(it, Check::Property { .. })).count();
            match clamped.values().next() {
                Some(only) if sets == 1 => facts.insert("applied_value".into(), only.clone()),
                _ => facts.insert("applied_values".into(), Value::Object(clamped)),
            };
        }
        Ok(facts)
    }

    /// Reverts the first `count` steps, last first. Goes on over faults: what can be restored is.
    fn take_back(&self, count: usize, keeper: &Gd<FileKeeper>) {
        for op in self.steps[..count].iter().rev().flat_map(|it| &it.revert) {
            if let Err(error) = op.run(keeper) {
                tracing::error!("while taking back an edit: {error}");
            }
        }
        FileKeeper::refresh(keeper);
    }

    fn writes_files(&self) -> bool {
        self.steps.iter().flat_map(|it| &it.apply).any(Op::is_file)
    }
}

/// An edit that is applied and verified, and not in the history. Dropped like this, it is taken back.
pub(crate) struct Applied {
    /// None once it is recorded.
    edit: Option<Edit>,
    keeper: Gd<FileKeeper>,
    spec: Arc<ToolSpec>,
    extra: Map<String, Value>,
}

impl Applied {
    /// Applies and verifies. What fails has left no trace.
    pub(crate) fn new(edit: Edit, spec: &Arc<ToolSpec>) -> Result<Self, ToolError> {
        let keeper = FileKeeper::new_gd();
        if matches!(edit.scope, Scope::EditorState(_)) {
            return Err(ToolError::internal("a change of editor state is not applied in steps"));
        }
        let mut extra = match edit.is_empty() {
            true => Map::new(),
            false => edit.apply(&keeper, spec)?,
        };
        FileKeeper::reloaded(&keeper).tell(&mut extra);
        Ok(Self { edit: Some(edit), keeper, spec: Arc::clone(spec), extra })
    }

    fn changes_something(&self) -> bool {
        self.edit.as_ref().is_some_and(|it| !it.is_empty())
    }
}

impl Drop for Applied {
    fn drop(&mut self) {
        if let Some(edit) = &self.edit {
            edit.take_back(edit.steps.len(), &self.keeper);
        }
    }
}

/// Edits that were applied one after another, to become one action. Dropped, all are taken back, the
/// last first.
#[derive(Default)]
pub(crate) struct Together(Vec<Applied>);

impl Together {
    /// Adds an edit. Refuses one that lies in another history than those before, and takes it back.
    pub(crate) fn add(&mut self, applied: Applied) -> Result<(), ToolError> {
        let project =
            |it: &Applied| it.edit.as_ref().is_some_and(|it| matches!(it.scope, Scope::Project));
        let first = self.0.iter().find(|it| it.changes_something());
        if applied.changes_something()
            && let Some(first) = first
            && project(first) != project(&applied)
        {
            return Err(ToolError::new(
                godot_mcp_core::Code::Unsupported,
                "it lies in the project's history and others in the scene's, so they cannot be one step",
            )
            .hint("put what opens or creates scenes into a call of its own"));
        }
        self.0.push(applied);
        Ok(())
    }

    /// What the human reads in the history.
    pub(crate) fn title(&self) -> String {
        let edits = self.0.iter().filter(|it| it.changes_something());
        let mut titles = edits.filter_map(|it| it.edit.as_ref()).map(|it| it.title.as_str());
        let first = titles.next().unwrap_or("Nothing");
        match titles.count() {
            0 => first.to_owned(),
            more => format!("{first} and {more} more"),
        }
    }

    /// Enters the edits into the history as one action, without running them again.
    pub(crate) fn record(mut self, editor: &Editor) -> Recorded {
        let title = self.title();
        let token = record(editor, &title, &self.0);
        let finishing = self.0.drain(..).filter_map(|mut it| {
            let mut edit = it.edit.take()?;
            // The history owns them now.
            edit.made.clear();
            let (keeper, spec) = (it.keeper.clone(), Arc::clone(&it.spec));
            Some(Finishing { edit, keeper, spec, extra: std::mem::take(&mut it.extra) })
        });
        Recorded { token, edits: finishing.collect() }
    }
}

impl Drop for Together {
    fn drop(&mut self) {
        while self.0.pop().is_some() {}
    }
}

/// One action of the history.
pub(crate) struct Recorded {
    pub(crate) token: Option<String>,
    /// In the order in which they were applied.
    pub(crate) edits: Vec<Finishing>,
}

/// A recorded edit on its way to its answer.
pub(crate) struct Finishing {
    edit: Edit,
    keeper: Gd<FileKeeper>,
    spec: Arc<ToolSpec>,
    extra: Map<String, Value>,
}

impl Finishing {
    /// The answer, none while something that the edit set off goes on. Asked once a frame.
    pub(crate) fn poll(&mut self, editor: &Editor) -> Option<Value> {
        if FileKeeper::is_settling(&self.keeper) || scene_keeper::has_deferred() {
            return None;
        }
        if let Some(settle) = &mut self.edit.settle {
            let mut facts = settle(editor)?;
            self.extra.append(&mut facts);
            self.edit.settle = None;
        }
        if let Some(late) = self.edit.late.take() {
            self.extra.extend(late(editor, true));
        }
        Some(self.edit.answer(&self.spec, false, std::mem::take(&mut self.extra)))
    }

    /// Whether the edit has to wait for a later frame.
    fn must_wait(&self) -> bool {
        self.edit.settle.is_some()
            || FileKeeper::is_settling(&self.keeper)
            || scene_keeper::has_deferred()
    }
}

fn record(editor: &Editor, title: &str, edits: &[Applied]) -> Option<String> {
    let edits: Vec<_> = edits.iter().filter(|it| it.changes_something()).collect();
    let edits: Vec<_> =
        edits.iter().filter_map(|it| Some((it.edit.as_ref()?, &it.keeper))).collect();
    let mut context: Option<Gd<Object>> = None;
    let mut unsaved = false;
    for (edit, keeper) in &edits {
        match &edit.scope {
            Scope::Scene(root) => {
                context = Some(root.clone().upcast());
                unsaved = true;
            }
            Scope::Files(root) => drop(context.get_or_insert_with(|| root.clone().upcast())),
            Scope::Project => drop(context.get_or_insert_with(|| (*keeper).clone().upcast())),
            Scope::EditorState(_) => return None,
        }
    }
    let (mut done, mut undone) = (Vec::new(), Vec::new());
    for (edit, keeper) in &edits {
        done.extend(edit.steps.iter().flat_map(|it| &it.apply).map(|it| it.kept_by(keeper)));
        if edit.writes_files() {
            done.push(Op::call(*keeper, "refresh_scripts", &[]));
        }
    }
    for (edit, keeper) in edits.iter().rev() {
        let revert = edit.steps.iter().rev().flat_map(|it| &it.revert);
        undone.extend(revert.map(|it| it.kept_by(keeper)));
        if edit.writes_files() {
            undone.push(Op::call(*keeper, "refresh_scripts", &[]));
        }
    }
    let steps = || edits.iter().flat_map(|it| &it.0.steps);
    let entry = HistoryEntry {
        title,
        context: context?,
        mark_unsaved: unsaved,
        done: &done,
        undone: &undone,
        keep_done: steps().flat_map(|it| it.keep_done.clone()).collect(),
        keep_undone: steps().flat_map(|it| it.keep_undone.clone()).collect(),
        execute: false,
    };
    entry.enter(Some(editor.app()), edits.first()?.1)
}

/// One action as it enters the editor's history, whether a tool or an extension made it.
pub(crate) struct HistoryEntry<'a> {
    pub(crate) title: &'a str,
    /// Decides which history it is.
    pub(crate) context: Gd<Object>,
    pub(crate) mark_unsaved: bool,
    pub(crate) done: &'a [Op],
    /// In the order in which undo runs them.
    pub(crate) undone: &'a [Op],
    pub(crate) keep_done: Vec<Gd<Object>>,
    pub(crate) keep_undone: Vec<Gd<Object>>,
    /// Whether the history runs `done` now.
    pub(crate) execute: bool,
}

impl HistoryEntry<'_> {
    /// Answers the token that undoes it; none when nothing keeps tokens.
    pub(crate) fn enter(self, app: Option<&App>, keeper: &Gd<FileKeeper>) -> Option<String> {
        let mut manager = EditorInterface::singleton().get_editor_undo_redo()?;
        let name = format!("MCP: {}", self.title);
        manager
            .create_action_ex(&name)
            .merge_mode(MergeMode::DISABLE)
            .custom_context(&self.context)
            .mark_unsaved(self.mark_unsaved)
            .done();
        // Objects such as resources could otherwise pull single steps into another history.
        manager.force_fixed_history();
        self.done.iter().for_each(|it| it.record(false, &mut manager, keeper));
        self.undone.iter().for_each(|it| it.record(true, &mut manager, keeper));
        self.keep_done.iter().for_each(|it| manager.add_do_reference(it));
        self.keep_undone.iter().for_each(|it| manager.add_undo_reference(it));
        // Lives exactly as long as the action: tells later whether a token is still good.
        let mark = RefCounted::new_gd();
        manager.add_do_reference(&mark);
        manager.commit_action_ex().execute(self.execute).done();

        let history_id = manager.get_object_history_id(&self.context);
        let version = manager.get_history_undo_redo(history_id)?.get_version();
        let mut tokens = app?.undo_tokens.borrow_mut();
        Some(tokens.add(history_id, version, mark.instance_id(), &name))
    }
}

impl Drop for Edit {
    fn drop(&mut self) {
        for node in self.made.drain(..) {
            if node.is_instance_valid() && !node.is_inside_tree() && node.get_parent().is_none() {
                node.free();
            }
        }
    }
}

/// Steps 8 to 10 of S2: applies, verifies, records.
///
/// Plan and commit run in one job, so nothing can have changed in between.
pub(crate) fn commit(
    edit: Edit,
    editor: &Editor,
    spec: &Arc<ToolSpec>,
) -> Result<Outcome, ToolError> {
    if matches!(edit.scope, Scope::EditorState(_)) {
        return act(edit, editor, spec);
    }
    let is_empty = edit.is_empty();
    let mut together = Together::default();
    together.add(Applied::new(edit, spec)?)?;
    let mut recorded = together.record(editor);
    let Some(mut finishing) = recorded.edits.pop() else {
        return Err(ToolError::internal("an edit got lost"));
    };
    if is_empty {
        // Nothing was set off, so there is nothing to wait for.
        finishing.edit.settle = None;
    } else {
        finishing.extra.insert("undo_token".into(), json!(recorded.token));
    }
    if !finishing.must_wait()
        && let Some(answer) = finishing.poll(editor)
    {
        return Ok(answer.into());
    }
    Ok(Outcome::Wait(Box::new(move |editor| Some(Ok(Reply::Json(finishing.poll(editor)?))))))
}

fn act(mut edit: Edit, editor: &Editor, spec: &ToolSpec) -> Result<Outcome, ToolError> {
    let Scope::EditorState(action) = std::mem::replace(&mut edit.scope, Scope::Project) else {
        return Err(ToolError::internal("an editor-state edit without an action"));
    };
    edit.scope = Scope::EditorState(Box::new(|_| Ok(Acted::Done(Map::new()))));
    match action(editor)? {
        Acted::Done(extra) => Ok(edit.answer(spec, false, extra).into()),
        Acted::Wait(mut poll) => {
            let spec = spec.clone();
            Ok(Outcome::Wait(Box::new(move |editor| -> Option<Answer> {
                Some(poll(editor)?.map(|extra| Reply::Json(edit.answer(&spec, false, extra))))
            })))
        }
    }
}

//! What a tool declares about itself, and what the framework makes of it.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::example::Example;
use crate::safety::SafetyClass;
use crate::schema;

/// Deadline of a call when the tool names none (S2.3).
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// Where a call runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Site {
    /// On the I/O thread, also while the editor's main thread is blocked.
    Offline,
    /// In the frame hook on the main thread: reads and small edits.
    FastLane,
    /// In the host node's `process`: whatever may open a progress dialog, save, scan or change scenes.
    SafeLane,
}

/// What takes a call's effect back (S6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndoKind {
    /// Reads and runtime calls leave nothing to undo.
    Nothing,
    /// One undo action in the human's own history.
    Action,
    /// Editor state instead of project content (S6.7); the text says what takes it back.
    EditorState(&'static str),
}

/// Facts about a tool, from which list entry, documentation and tests are derived.
#[derive(Clone, Debug)]
pub struct ToolSpec {
    pub name: String,
    pub toolset: String,
    pub class: SafetyClass,
    pub site: Site,
    pub undo: UndoKind,
    pub writes_disk: bool,
    pub executes_code: bool,
    /// Returns text that projects, logs or games wrote, and wraps it as untrusted (S9.3).
    pub free_text: bool,
    /// The edit lies in the edited scene, so `expected_scene` guards it.
    pub edits_scene: bool,
    /// The call must carry an `idempotency_key` (S2.4).
    pub needs_key: bool,
    pub timeout: Duration,
    /// Cannot be stopped: its deadline ends the wait, not the work (R79 of project commands).
    pub outlives_deadline: bool,
    /// Decides by the spelling of numbers, so it gets the text of the message too.
    pub wants_text: bool,
    pub min_godot: (u32, u32),
    pub description: String,
    /// What clients see: the declared parameters and those the class adds (S1.2).
    pub input_schema: Map<String, Value>,
    pub examples: Vec<Example>,
    pub hints: Hints,
    /// A read that must not run beside a change.
    pub exclusive: bool,
    pub tab: TabUse,
}

/// What a call does to the scene tab in front, which another client may hold (X10.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TabUse {
    /// It works in the scene, if at all.
    #[default]
    Stays,
    /// None of its business: it does not hold the tab either.
    Apart,
    /// Brings the scene of the argument `scene_path` to the front.
    Opens,
    /// Closes the scene of that argument, or the one in front.
    Closes,
}

/// What only tools of the project say of themselves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hints {
    pub title: Option<String>,
    pub idempotent: bool,
    pub open_world: bool,
    pub output_schema: Option<Map<String, Value>>,
}

impl Hints {
    pub fn as_json(&self) -> Value {
        json!([self.title, self.idempotent, self.open_world, self.output_schema])
    }
}

impl ToolSpec {
    /// A spec with the defaults of its class. `declared` is the schema of the tool's own arguments.
    pub fn new(
        name: impl Into<String>,
        toolset: impl Into<String>,
        class: SafetyClass,
        description: impl Into<String>,
        declared: Map<String, Value>,
    ) -> Self {
        Self {
            name: name.into(),
            toolset: toolset.into(),
            class,
            site: Site::FastLane,
            undo: if class.has_dry_run() { UndoKind::Action } else { UndoKind::Nothing },
            writes_disk: false,
            executes_code: false,
            free_text: false,
            edits_scene: false,
            needs_key: false,
            timeout: DEFAULT_TIMEOUT,
            outlives_deadline: false,
            wants_text: false,
            min_godot: (4, 5),
            description: description.into(),
            input_schema: declared,
            examples: Vec::new(),
            hints: Hints::default(),
            exclusive: false,
            tab: TabUse::default(),
        }
    }

    /// Adds the parameters that follow from class and flags. Called once, by the registry.
    ///
    /// # Panics
    /// When the tool declares one of them itself (S1.2): a fault of the tool, found at start-up.
    pub(crate) fn add_framework_parameters(&mut self) {
        let mut added = Vec::new();
        if self.class.has_dry_run() {
            // Its name says it, and the instructions of the server do: thirty tools carry it.
            added.push((schema::DRY_RUN, json!({"type": "boolean"})));
        }
        if self.class.has_confirm() {
            added.push((schema::CONFIRM, schema::flag("Must be true to run.")));
        }
        if self.edits_scene {
            // The instructions of the server say what it is for, as for `dry_run`.
            added.push((schema::EXPECTED_SCENE, json!({"type": "string", "format": "res-path"})));
        }
        if self.needs_key {
            added.push((
                schema::IDEMPOTENCY_KEY,
                json!({"type": "string", "description": "New for each call; a repeat replays."}),
            ));
            let required = self.input_schema.entry("required").or_insert_with(|| json!([]));
            required
                .as_array_mut()
                .expect("`required` of a schema is an array")
                .push(json!(schema::IDEMPOTENCY_KEY));
        }
        let properties = self
            .input_schema
            .entry("properties")
            .or_insert_with(|| json!({}))
            .as_object_mut()
            .expect("`properties` of an object schema is an object");
        for (name, schema) in added {
            let clash = properties.insert(name.to_owned(), schema);
            assert!(clash.is_none(), "tool {} declares the framework's `{name}`", self.name);
        }
    }

    /// `_meta` of the list entry (S1.1).
    pub fn meta(&self) -> Map<String, Value> {
        let mut meta = Map::new();
        meta.insert("safety_class".into(), json!(self.class.as_str()));
        meta.insert("toolset".into(), json!(self.toolset));
        if self.writes_disk {
            meta.insert("writes_disk".into(), json!(true));
        }
        if self.executes_code {
            meta.insert("executes_code".into(), json!(true));
        }
        meta
    }

    /// The entry that `enable_toolset` and `discover_tools` answer.
    pub fn listing(&self, with_schema: bool) -> Value {
        let mut entry = json!({"name": self.name, "description": self.description});
        if with_schema {
            entry["input_schema"] = Value::Object(self.input_schema.clone());
        }
        entry
    }
}

//! What a tool file implements, and the table entry that the framework makes of it.
//!
//! A tool is an arguments struct with a doc comment (its description) and one of four traits:
//! [`OfflineTool`], [`ReadTool`], [`EditTool`], [`RuntimeTool`]. Adding one touches its own file and
//! two lines in its toolset's file.

use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use godot_mcp_core::approval::Proposal;
use godot_mcp_core::call::AnswerFuture;
use godot_mcp_core::spec::ToolSpec;
use godot_mcp_core::{Answer, Example, Reply, SafetyClass, Site, ToolError, UndoKind, schema};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::app::Shared;
use crate::batch::Wanted;
use crate::commands::Asked;
use crate::editor::Editor;
use crate::editor::edit::Edit;

/// What every tool declares.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool",
    note = "derive `Deserialize` and `JsonSchema`, give it a doc comment, and implement `Tool`"
)]
pub(crate) trait Tool: DeserializeOwned + JsonSchema + 'static {
    /// Equal to the file name, and the type in snake case.
    const NAME: &'static str;
    /// A name of `core::toolset::TOOLSETS`.
    const TOOLSET: &'static str;

    /// Flags and limits beside the defaults of the class.
    fn adjust(_spec: &mut ToolSpec) {}

    /// At least one success; for whatever can be refused, at least one refusal.
    fn examples() -> Vec<Example>;
}

/// Needs no engine: runs on the I/O thread, also while the main thread is blocked.
pub(crate) trait OfflineTool: Tool {
    fn run(self, shared: &Shared) -> Answer;
}

/// Asks another process or a service of the editor, on the I/O runtime. While it runs, the main thread
/// does not sleep long, since such services are polled there.
pub(crate) trait AsyncTool: Tool {
    const CLASS: SafetyClass = SafetyClass::ReadOnly;

    fn run(self, shared: Arc<Shared>) -> AnswerFuture;
}

/// Reads the editor and changes nothing.
pub(crate) trait ReadTool: Tool {
    const SITE: Site = Site::FastLane;

    fn run(self, editor: &Editor) -> Result<Outcome, ToolError>;
}

/// Changes project or editor by a plan.
pub(crate) trait EditTool: Tool {
    const CLASS: SafetyClass;
    const SITE: Site = Site::FastLane;
    const UNDO: UndoKind = UndoKind::Action;

    /// Checks every precondition and builds the whole edit. Changes nothing (S4.2).
    fn plan(self, editor: &Editor) -> Result<Edit, ToolError>;
}

/// What has to be found out on the I/O runtime before an edit is planned.
pub(crate) type Prepared<T> = Pin<Box<dyn Future<Output = Result<T, ToolError>> + Send>>;

/// An edit or a read that builds on what a service answers. The answer becomes a field of the
/// arguments, so the same arguments give the same plan.
pub(crate) trait Prepare: Tool {
    fn prepare(self, shared: Arc<Shared>) -> Prepared<Value>;
}

/// Field of the arguments that holds what was prepared. Callers cannot give it.
pub(crate) const PREPARED: &str = "prepared";

/// Runs other tools.
pub(crate) trait BatchTool: Tool {
    fn wanted(self) -> Wanted;
}

/// Drives a game or another process.
pub(crate) trait RuntimeTool: Tool {
    fn run(self, editor: &Editor) -> Result<Outcome, ToolError>;
}

/// Runs a command of the project: checked on the I/O runtime, checked again on the main thread right
/// before it counts, then run.
pub(crate) trait CommandTool: Tool {
    fn asked(self) -> Asked;

    fn check(self, editor: &Editor) -> Result<(), ToolError>;

    fn run(self, editor: &Editor) -> Result<Outcome, ToolError>;
}

/// What a job on the main thread comes to.
pub(crate) enum Outcome {
    Done(Reply),
    /// Not yet: asked once a frame until it answers. Dropped on cancel and at the deadline.
    Wait(Box<dyn FnMut(&Editor) -> Option<Answer>>),
    /// Nothing was done: a human has to agree first, and then the call is planned again.
    Ask(Box<Proposal>),
}

impl From<Value> for Outcome {
    fn from(value: Value) -> Self {
        Self::Done(Reply::Json(value))
    }
}

/// How the dispatcher runs a tool. The function pointers are thin shims, one a tool.
#[derive(Clone, Copy)]
pub(crate) enum Runner {
    Offline(fn(&Shared, Map<String, Value>) -> Answer),
    Async(fn(Arc<Shared>, Map<String, Value>) -> AnswerFuture),
    /// Reads and runtime calls.
    Direct(fn(&Editor, Map<String, Value>) -> Result<Outcome, ToolError>),
    Edit(fn(&Editor, Map<String, Value>) -> Result<Edit, ToolError>),
    Prepared(PrepareFn, fn(&Editor, Map<String, Value>) -> Result<Edit, ToolError>),
    PreparedRead(PrepareFn, fn(&Editor, Map<String, Value>) -> Result<Outcome, ToolError>),
    /// Runs other tools: see `batch.rs`.
    Batch(fn(Map<String, Value>) -> Result<Wanted, ToolError>),
    Command(CommandRunner),
}

/// The three parts of a [`CommandTool`].
#[derive(Clone, Copy)]
pub(crate) struct CommandRunner {
    pub(crate) asked: fn(Map<String, Value>) -> Result<Asked, ToolError>,
    pub(crate) check: fn(&Editor, Map<String, Value>) -> Result<(), ToolError>,
    pub(crate) run: fn(&Editor, Map<String, Value>) -> Result<Outcome, ToolError>,
}

/// Completes arguments on the I/O runtime.
pub(crate) type PrepareFn = fn(Arc<Shared>, Map<String, Value>) -> Prepared<Map<String, Value>>;

/// One entry of a toolset's table.
#[derive(Clone, Copy)]
pub(crate) struct ToolDef {
    pub(crate) name: &'static str,
    pub(crate) runner: Runner,
    pub(crate) spec: fn() -> ToolSpec,
}

impl ToolDef {
    pub(crate) const fn offline<T: OfflineTool>() -> Self {
        Self {
            name: T::NAME,
            runner: Runner::Offline(|shared, args| parse::<T>(args)?.run(shared)),
            spec: || spec::<T>(SafetyClass::ReadOnly, Site::Offline, UndoKind::Nothing),
        }
    }

    pub(crate) const fn asynchronous<T: AsyncTool>() -> Self {
        Self {
            name: T::NAME,
            runner: Runner::Async(|shared, args| match parse::<T>(args) {
                Ok(tool) => tool.run(shared),
                Err(error) => Box::pin(std::future::ready(Err(error))),
            }),
            spec: || spec::<T>(T::CLASS, Site::Offline, UndoKind::Nothing),
        }
    }

    pub(crate) const fn prepared_edit<T: EditTool + Prepare>() -> Self {
        Self {
            name: T::NAME,
            runner: Runner::Prepared(complete::<T>, |editor, args| parse::<T>(args)?.plan(editor)),
            spec: || spec::<T>(T::CLASS, T::SITE, T::UNDO),
        }
    }

    pub(crate) const fn prepared_read<T: ReadTool + Prepare>() -> Self {
        Self {
            name: T::NAME,
            runner: Runner::PreparedRead(complete::<T>, |editor, args| {
                parse::<T>(args)?.run(editor)
            }),
            spec: || spec::<T>(SafetyClass::ReadOnly, T::SITE, UndoKind::Nothing),
        }
    }

    pub(crate) const fn read<T: ReadTool>() -> Self {
        Self {
            name: T::NAME,
            runner: Runner::Direct(|editor, args| parse::<T>(args)?.run(editor)),
            spec: || spec::<T>(SafetyClass::ReadOnly, T::SITE, UndoKind::Nothing),
        }
    }

    pub(crate) const fn edit<T: EditTool>() -> Self {
        Self {
            name: T::NAME,
            runner: Runner::Edit(|editor, args| parse::<T>(args)?.plan(editor)),
            spec: || spec::<T>(T::CLASS, T::SITE, T::UNDO),
        }
    }

    pub(crate) const fn command<T: CommandTool>() -> Self {
        Self {
            name: T::NAME,
            runner: Runner::Command(CommandRunner {
                asked: |args| Ok(parse::<T>(args)?.asked()),
                check: |editor, args| parse::<T>(args)?.check(editor),
                run: |editor, args| parse::<T>(args)?.run(editor),
            }),
            spec: || spec::<T>(SafetyClass::Runtime, Site::SafeLane, UndoKind::Nothing),
        }
    }

    pub(crate) const fn batch<T: BatchTool>() -> Self {
        Self {
            name: T::NAME,
            runner: Runner::Batch(|args| parse::<T>(args).map(T::wanted)),
            spec: || spec::<T>(SafetyClass::Mutating, Site::SafeLane, UndoKind::Action),
        }
    }

    pub(crate) const fn runtime<T: RuntimeTool>() -> Self {
        Self {
            name: T::NAME,
            runner: Runner::Direct(|editor, args| parse::<T>(args)?.run(editor)),
            spec: || spec::<T>(SafetyClass::Runtime, Site::SafeLane, UndoKind::Nothing),
        }
    }
}

/// Adds what the service answered to the arguments.
fn complete<T: Prepare>(
    shared: Arc<Shared>,
    mut args: Map<String, Value>,
) -> Prepared<Map<String, Value>> {
    Box::pin(async move {
        // In two steps, since a tool need not be able to change threads.
        let prepared = parse::<T>(args.clone())?.prepare(shared);
        args.insert(PREPARED.to_owned(), prepared.await?);
        Ok(args)
    })
}

fn parse<T: DeserializeOwned>(args: Map<String, Value>) -> Result<T, ToolError> {
    serde_json::from_value(Value::Object(args)).map_err(|it| refusal(&it.to_string()))
}

/// The gate has checked the schema, so what fails here is a rule of an argument type.
fn refusal(message: &str) -> ToolError {
    ToolError::new(godot_mcp_core::Code::ValidationError, message)
}

fn spec<T: Tool>(class: SafetyClass, site: Site, undo: UndoKind) -> ToolSpec {
    let (description, schema) = schema::of::<T>();
    let mut spec = ToolSpec::new(T::NAME, T::TOOLSET, class, description, schema);
    spec.site = site;
    spec.undo = undo;
    T::adjust(&mut spec);
    if cfg!(feature = "examples") {
        spec.examples = T::examples();
    }
    spec
}

/// Shared ownership of a tool table, built once at start.
pub(crate) type Tools = Rc<std::collections::HashMap<&'static str, Runner>>;

//! One call of a tool of the project: the handler, what it comes to, and what ends it early (X5).

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Instant;

use godot::builtin::{Callable, GString, VarArray, VarDictionary, Variant, VariantType};
use godot::classes::{Json, Object, RefCounted, ResourceLoader, Time};
use godot::global::godot_warn;
use godot::meta::ToGodot;
use godot::obj::{Gd, Singleton};
use godot_mcp_core::error::EXTENSION_CODES;
use godot_mcp_core::feed::Severity;
use godot_mcp_core::gate::Admitted;
use godot_mcp_core::spec::TabUse;
use godot_mcp_core::{Answer, CancelFlag, Code, Reply, SafetyClass, ToolError, untrusted};
use serde_json::{Map, Value, json};

use super::{ScriptTool, nested};
use crate::api::committed::Committed;
use crate::app::App;
use crate::editor::{Caller, Editor};
use crate::host_node::drain_log;
use crate::tool::Outcome;

const CONTEXT: &str = "res://addons/godot_mcp/api/tool_context.gd";
/// What a coroutine of GDScript returns when it waits.
const WAITING: &str = "GDScriptFunctionState";
/// Frames of a script error that are told.
const MAX_FRAMES: usize = 10;

/// A preview (X4.2).
pub(crate) fn preview(
    editor: &Editor,
    tool: &Rc<ScriptTool>,
    call: &Admitted,
) -> Result<Outcome, ToolError> {
    if tool.dry_run {
        return start(editor, tool, &call.args);
    }
    Err(ToolError::new(Code::Unsupported, format!("\"{}\" has no preview", tool.method))
        .hint("its author can add one with supports_dry_run(); nothing was done"))
}

/// Calls the handler, once.
pub(crate) fn start(
    editor: &Editor,
    tool: &Rc<ScriptTool>,
    args: &Map<String, Value>,
) -> Result<Outcome, ToolError> {
    if !tool.handler.is_valid() {
        return Err(ToolError::not_found(format!("the script behind \"{}\" is gone", tool.method))
            .hint("`extensions_refresh` brings the list up to date"));
    }
    if tool.spec.tab != TabUse::Apart {
        editor.app().pump.note_scene_used();
    }
    drain_log(editor.app());
    let mut call = Call {
        tool: Rc::clone(tool),
        cursor: editor.shared().feed.cursor(),
        context: if tool.takes_context { Some(context(editor, tool)?) } else { None },
        cancel: editor.caller().map(|it| it.cancel.clone()).unwrap_or_default(),
        dry_run: editor.caller().is_some_and(|it| it.dry_run),
        committed: Some(Committed::open()),
        over: Rc::new(Cell::new(false)),
        id: 0,
        app: editor.app_rc(),
    };
    if let Some(caller) = editor.caller() {
        call.id = caller.id;
        let inside = nested::inside(caller, &tool.spec.name);
        let changes = tool.spec.class != SafetyClass::ReadOnly || tool.spec.exclusive;
        call.app.extensions.running.0.borrow_mut().push((tool.class.clone(), changes, inside));
    }
    let mut arguments = VarArray::new();
    arguments.push(&variant(&Value::Object(args.clone())));
    if let Some(context) = &call.context {
        arguments.push(&context.to_variant());
    }
    let returned = tool.handler.callv(&arguments);
    let Some(mut state) = waiting(&returned) else {
        return call.finish(editor, &returned).map(Outcome::Done);
    };

    let result: Rc<RefCell<Option<Variant>>> = Rc::default();
    let (slot, over, name) = (Rc::clone(&result), Rc::clone(&call.over), tool.method.clone());
    let completed = Callable::from_fn("mcp_handler_completed", move |args: &[&Variant]| {
        if over.get() {
            godot_warn!(
                "MCP: \"{name}\" ended after its call was over; what it answered is thrown away."
            );
        } else if let Ok(mut slot) = slot.try_borrow_mut() {
            *slot = Some(args.first().map(|it| (*it).clone()).unwrap_or_default());
        }
    });
    state.connect("completed", &completed);
    drop(returned);
    let holders_at_first = holders(&mut state);
    Ok(Outcome::Wait(Box::new(move |editor| -> Option<Answer> {
        if call.cancel.is_cancelled() {
            call.cancel_context();
        }
        let returned = result.borrow_mut().take();
        if let Some(returned) = returned {
            return Some(call.finish(editor, &returned));
        }
        // X5.7: nothing will ever come of it. A coroutine that waits again is another state, which holds
        // the first one, ours; what it waits for holds the state that waits.
        let held = holders(&mut state) >= holders_at_first;
        let waits = held || state.call("is_valid", &[true.to_variant()]).booleanize();
        if waits && call.tool.handler.is_valid() {
            return None;
        }
        let error = call.script_error(editor).unwrap_or_else(|| {
            ToolError::internal(format!(
                "\"{}\" of {} was freed while it waited",
                call.tool.method, call.tool.class
            ))
        });
        call.end();
        Some(Err(error))
    })))
}

/// Calls of handlers that run, for what their extension calls without a context. Main thread.
#[derive(Default)]
pub(crate) struct Running(RefCell<Vec<(String, bool, Caller)>>);

impl Running {
    /// Who calls when an extension does: its call that changes something, else its last, else itself.
    pub(crate) fn caller_of(&self, class: &str) -> Caller {
        let running = self.0.borrow();
        let mut own = running.iter().rev().filter(|it| it.0 == class);
        let found = own.clone().find(|it| it.1).or_else(|| own.next());
        found.map(|it| it.2.clone()).unwrap_or_else(|| Caller::of_extension(class))
    }
}

/// What one call knows while its handler runs. Dropped early when the call is over before.
struct Call {
    tool: Rc<ScriptTool>,
    cursor: u64,
    context: Option<Gd<RefCounted>>,
    cancel: CancelFlag,
    dry_run: bool,
    committed: Option<Committed>,
    over: Rc<Cell<bool>>,
    /// Under which it is noted as running.
    id: u64,
    app: Rc<App>,
}

impl Call {
    fn cancel_context(&self) {
        if let Some(context) = &self.context
            && context.is_instance_valid()
        {
            context.clone().call("_cancel", &[]);
        }
    }

    fn end(&mut self) -> Vec<String> {
        self.over.set(true);
        let is_own = |it: &Caller| it.within.last().is_some_and(|it| it.id == self.id);
        self.app.extensions.running.0.borrow_mut().retain(|it| !is_own(&it.2));
        if let Some(context) = &self.context
            && context.is_instance_valid()
        {
            context.clone().call("_end", &[]);
        }
        self.committed.take().map(Committed::take).unwrap_or_default()
    }

    fn finish(&mut self, editor: &Editor, returned: &Variant) -> Answer {
        let tokens = self.end();
        let fields = fields(returned);
        let success = fields.as_ref().and_then(|it| it.get("success")?.as_bool());
        let settings = &self.app.extensions.settings;
        let (Some(mut fields), Some(success)) = (fields, success) else {
            let mut error = self.no_answer(editor, returned);
            settings.hide_in(&mut error.message);
            return Err(error);
        };
        settings.hide_secrets(&mut fields);
        if !success {
            return Err(failure(fields));
        }
        if !self.tool.success_hint.is_empty() {
            fields.entry("hint").or_insert_with(|| json!(self.tool.success_hint));
        }
        if self.dry_run {
            fields.insert("dry_run".into(), json!(true));
        }
        // The newest action is the one that can be taken back first.
        if let Some(token) = tokens.last() {
            fields.insert("undo_token".into(), json!(token));
        }
        if tokens.len() > 1 {
            fields.insert("undo_tokens".into(), json!(tokens));
        }
        if self.tool.spec.class != SafetyClass::ReadOnly && !self.dry_run {
            fields.insert("undoable".into(), json!(!tokens.is_empty()));
        }
        Ok(Reply::Json(Value::Object(fields)))
    }

    /// Why the handler answered nothing that is an answer (X5.3, X5.4).
    fn no_answer(&self, editor: &Editor, returned: &Variant) -> ToolError {
        if self.cancel.is_cancelled() {
            return ToolError::new(Code::Cancelled, "the caller cancelled");
        }
        self.script_error(editor).unwrap_or_else(|| {
            ToolError::new(
                Code::Internal,
                format!(
                    "{} of {}, for \"{}\", answered {} instead of a dictionary with a boolean \"success\"",
                    self.tool.handler.method_name().unwrap_or_default(),
                    self.tool.class,
                    self.tool.method,
                    shorten(&returned.to_string())
                ),
            )
            .hint("a fault of the extension: it answers with MCPToolkitSuccess.ok or MCPToolkitError.fail")
        })
    }

    fn script_error(&self, editor: &Editor) -> Option<ToolError> {
        drain_log(editor.app());
        let page = editor.shared().feed.page(self.cursor, Severity::Error, 100);
        let error = page.entries.into_iter().find(|it| it.source == "script")?;
        let stack: Vec<_> = error.stack.iter().take(MAX_FRAMES).collect();
        Some(
            ToolError::new(
                Code::Own("EXECUTE_FAILED"),
                format!(
                    "a script error in \"{}\" of {}: {}",
                    self.tool.method, self.tool.class, error.message
                ),
            )
            .hint("see `details` for file and line; a fault of the extension")
            .details(json!({"file": error.file, "line": error.line, "stack": stack,
                "log": untrusted::wrap(&error.file, &error.message)})),
        )
    }
}

impl Drop for Call {
    /// At the deadline, and when the server stops: what still runs is told.
    fn drop(&mut self) {
        if !self.over.get() {
            self.cancel_context();
            self.end();
        }
    }
}

fn context(editor: &Editor, tool: &ScriptTool) -> Result<Gd<RefCounted>, ToolError> {
    let script = ResourceLoader::singleton().load(CONTEXT);
    let made = script.and_then(|mut it| it.call("new", &[]).try_to::<Gd<RefCounted>>().ok());
    let mut context =
        made.ok_or_else(|| ToolError::internal(format!("{CONTEXT} does not load")))?;
    if let Some(caller) = editor.caller() {
        let left = caller.deadline.saturating_duration_since(Instant::now());
        let left = i64::try_from(left.as_millis()).unwrap_or(i64::MAX / 2);
        let now = i64::try_from(Time::singleton().get_ticks_msec()).unwrap_or(0);
        context.set("_deadline", &(now + left).to_variant());
        context.set("_client", &GString::from(caller.client.as_str()).to_variant());
        context.set("_dry_run", &caller.dry_run.to_variant());
        context.set("_namespace", &GString::from(tool.namespace()).to_variant());
        let call_tool = nested::caller(&editor.app_rc(), caller, &tool.spec.name);
        context.set("_call", &call_tool.to_variant());
    }
    if let Some(sink) = editor.progress_sink() {
        let report = Callable::from_fn("mcp_progress", move |args: &[&Variant]| {
            let number = |index: usize| {
                let given = args.get(index);
                given.and_then(|it| it.try_to::<f64>().ok()).unwrap_or(-1.0)
            };
            let text = args.get(2).map(|it| it.to_string()).unwrap_or_default();
            let total = Some(number(1)).filter(|it| *it > 0.0);
            sink(number(0).max(0.0), total, &text);
        });
        context.set("_progress", &report.to_variant());
    }
    Ok(context)
}

fn holders(state: &mut Gd<Object>) -> i64 {
    state.call("get_reference_count", &[]).try_to().unwrap_or(0)
}

fn waiting(returned: &Variant) -> Option<Gd<Object>> {
    if returned.get_type() != VariantType::OBJECT {
        return None;
    }
    let object = returned.try_to::<Gd<Object>>().ok()?;
    object.is_class(WAITING).then_some(object)
}

/// A dictionary as JSON, none for anything else.
pub(crate) fn fields(returned: &Variant) -> Option<Map<String, Value>> {
    let dictionary = returned.try_to::<VarDictionary>().ok()?;
    let text = Json::stringify(&dictionary.to_variant()).to_string();
    serde_json::from_str(&text).ok()
}

/// The one error shape of this server, of what `MCPToolkitError.fail` makes (S3, X8).
fn failure(mut fields: Map<String, Value>) -> ToolError {
    let mut text = |name: &str| match fields.remove(name) {
        Some(Value::String(text)) => text,
        _ => String::new(),
    };
    let (code, message, hint) = (text("code"), text("error"), text("hint"));
    let known = Code::parse(&code).filter(|it| EXTENSION_CODES.contains(&it.as_str()));
    let mut error = ToolError::new(known.unwrap_or(Code::Own("FAILED")), message).hint(hint);
    if known.is_none() && !code.is_empty() {
        error = error.detail("code", code);
    }
    fields.remove("success");
    fields.into_iter().fold(error, |error, (name, value)| error.detail(&name, value))
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// X5.2: whole numbers arrive as int, fractions as float.
pub(super) fn variant(value: &Value) -> Variant {
    match value {
        Value::Null => Variant::nil(),
        Value::Bool(it) => it.to_variant(),
        Value::Number(it) => match it.as_i64() {
            Some(whole) => whole.to_variant(),
            None => it.as_f64().unwrap_or_default().to_variant(),
        },
        Value::String(it) => GString::from(it.as_str()).to_variant(),
        Value::Array(items) => items.iter().map(variant).collect::<VarArray>().to_variant(),
        Value::Object(map) => {
            let mut dictionary = VarDictionary::new();
            for (name, value) in map {
                dictionary.set(&GString::from(name.as_str()).to_variant(), &variant(value));
            }
            dictionary.to_variant()
        }
    }
}

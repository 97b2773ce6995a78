//! One call of a command on the main thread: load, call, await, compare, answer.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Arc, mpsc};

use godot::builtin::{Callable, VarArray, VarDictionary, Variant, VariantType};
use godot::classes::resource_loader::CacheMode;
use godot::classes::{EditorInterface, Node, Object, ResourceLoader, Script};
use godot::global::var_to_str;
use godot::meta::ToGodot;
use godot::obj::{Gd, InstanceId, Singleton};
use godot_mcp_core::commands::arguments::{self, Plain};
use godot_mcp_core::commands::manifest::Change;
use godot_mcp_core::commands::records::{Record, State};
use godot_mcp_core::commands::{limits, script};
use godot_mcp_core::feed::{Entry, Severity};
use godot_mcp_core::{Answer, Code, ToolError, untrusted};
use serde_json::{Value, json};

use super::context::GodotMcpCommandContext;
use super::{Prepared, invalid, not_started, tell};
use crate::app::Shared;
use crate::editor::{Editor, values};
use crate::host_node::drain_log;
use crate::tool::Outcome;

/// Nesting of a value that is spelled out; what is deeper may contain itself.
const MAX_VALUE_DEPTH: usize = 64;

thread_local! {
    /// Digests of named scripts as they were brought into the engine last. Preloaded scripts are in no
    /// cache that can be asked.
    static LOADED: RefCell<BTreeMap<String, Option<String>>> = const { RefCell::new(BTreeMap::new()) };
}

/// What became of `mcp_call`.
enum Ended {
    Returned(Variant),
    /// It was not called.
    NotCompiled,
    Failed(String),
}

/// The last check before anything is loaded (R64). Time has passed since `prepare`.
pub(crate) fn check(editor: &Editor, transaction: &str) -> Result<(), ToolError> {
    let shared = editor.shared();
    if shared.gate.is_paused() {
        return Err(not_started(Code::Paused, "unavailable", "a human has paused the server"));
    }
    let prepared = prepared(shared, transaction)?;
    script::read(&shared.gate.settings().roots, &prepared.script)
        .source
        .map(drop)
        .map_err(|why| invalid("provider", why))
}

fn prepared(shared: &Shared, transaction: &str) -> Result<Arc<Prepared>, ToolError> {
    let prepared = shared.commands.prepared(transaction);
    prepared.ok_or_else(|| ToolError::internal(format!("\"{transaction}\" was not prepared")))
}

/// Loads the provider and calls it. From here on the call counts.
pub(crate) fn start(editor: &Editor, transaction: &str) -> Result<Outcome, ToolError> {
    let shared = Arc::clone(&editor.app().shared);
    let prepared = prepared(&shared, transaction)?;
    shared.commands.begin(&prepared);
    drain_log(editor.app());
    let mut run = Run {
        since: shared.feed.cursor(),
        synchronous: shared.feed.cursor(),
        prepared,
        shared,
        provider: None,
        pending: None,
        comparing: None,
    };
    let ended = run.call();
    drain_log(editor.app());
    run.synchronous = run.shared.feed.cursor();
    if let Some(ended) = ended {
        run.end(editor, ended);
    }
    Ok(Outcome::Wait(Box::new(move |editor| run.poll(editor))))
}

struct Run {
    shared: Arc<Shared>,
    prepared: Arc<Prepared>,
    /// Held until the call is settled: a pending coroutine does not keep its owner (C3).
    provider: Option<Gd<Object>>,
    pending: Option<Pending>,
    comparing: Option<Comparing>,
    /// Cursors of the feed: before loading, and when `mcp_call` returned or awaited first.
    since: u64,
    synchronous: u64,
}

/// `mcp_call` awaits.
struct Pending {
    /// The function's state, which must live until it completes (C2).
    _state: Variant,
    owner: InstanceId,
    returned: Rc<RefCell<Option<Variant>>>,
}

/// The files are being compared on another thread.
struct Comparing {
    answer: Value,
    result: mpsc::Receiver<Result<Vec<Change>, String>>,
}

impl Run {
    /// None while it awaits.
    fn call(&mut self) -> Option<Ended> {
        let path = self.prepared.script.clone();
        self.refresh_named_scripts();
        let Some(mut script) = load(&path) else { return Some(Ended::NotCompiled) };
        // The loader answers a script also when it did not compile (C5).
        if !script.can_instantiate() {
            return Some(Ended::NotCompiled);
        }
        let made = script.call("new", &[]);
        let Ok(mut provider) = made.try_to::<Gd<Object>>() else {
            return Some(Ended::Failed(
                "the provider could not be made; does _init take arguments?".into(),
            ));
        };
        self.provider = Some(provider.clone());
        if let Ok(mut node) = provider.clone().try_cast::<Node>()
            && let Some(mut plugin) = crate::app::current().and_then(|it| it.plugin())
        {
            node.set_name("McpCommandProvider");
            plugin.add_child(&node);
        }
        let Some(count) = argument_count(&provider) else {
            return Some(Ended::Failed(format!("{path} defines no mcp_call")));
        };
        let mut given = vec![
            self.prepared.command.name.to_variant(),
            variant(&arguments::plain(&self.prepared.arguments)),
        ];
        if count > 2 {
            given.push(GodotMcpCommandContext::of(&self.shared, &self.prepared).to_variant());
        }
        let owner = provider.instance_id();
        let result = provider.call("mcp_call", &given);
        let Some(mut state) = function_state(&result) else { return Some(Ended::Returned(result)) };
        let returned = Rc::new(RefCell::new(None));
        let slot = Rc::clone(&returned);
        let done = Callable::from_fn("mcp_command_returned", move |args: &[&Variant]| {
            *slot.borrow_mut() = Some(args.first().map_or_else(Variant::nil, |it| (*it).clone()));
            Variant::nil()
        });
        state.connect("completed", &done);
        self.pending = Some(Pending { _state: result, owner, returned });
        let transaction = &self.prepared.transaction;
        self.shared.commands.change(transaction, |it| it.phase = "awaiting");
        None
    }

    /// Scripts that the provider names and that were edited since they were loaded (A15).
    fn refresh_named_scripts(&self) {
        for (path, digest) in &self.prepared.scripts {
            let known = LOADED.with(|it| it.borrow_mut().insert(path.clone(), digest.clone()));
            if *path != self.prepared.script && digest.is_some() && known.as_ref() != Some(digest) {
                load(path);
            }
        }
    }

    /// Once a frame, until there is an answer.
    fn poll(&mut self, editor: &Editor) -> Option<Answer> {
        if let Some(pending) = &self.pending {
            let returned = pending.returned.borrow_mut().take();
            let ended = match returned {
                Some(value) => Ended::Returned(value),
                None if !pending.owner.lookup_validity() => {
                    Ended::Failed("the provider freed itself before mcp_call returned".to_owned())
                }
                None => return None,
            };
            drain_log(editor.app());
            self.end(editor, ended);
        }
        let compared = match self.comparing.as_ref()?.result.try_recv() {
            Err(mpsc::TryRecvError::Empty) => return None,
            Err(mpsc::TryRecvError::Disconnected) => Err("the comparison failed".to_owned()),
            Ok(compared) => compared,
        };
        let comparing = self.comparing.take()?;
        Some(Ok(self.finish(comparing.answer, compared).into()))
    }

    /// Makes all of the answer but the files, lets go of the provider, and has the files compared.
    fn end(&mut self, editor: &Editor, ended: Ended) {
        self.pending = None;
        let logged = self.logged();
        let mut answer = self.classify(editor, ended, &logged);
        self.let_go();
        let Prepared { transaction, provider, command, .. } = &*self.prepared;
        answer["command"] =
            json!({"provider": provider, "name": command.name, "mutates": command.mutates});
        answer["applied"] = json!(true);
        answer["rolled_back"] = json!(false);
        answer["transaction_id"] = json!(transaction);
        answer["mutation_status"] = json!("settled");
        answer["replayed"] = json!(false);
        self.shared.commands.change(transaction, |it| it.phase = "comparing");

        let (tell, result) = mpsc::channel();
        let (shared, prepared) = (Arc::clone(&self.shared), Arc::clone(&self.prepared));
        let compare = move || {
            // Nobody may wait any more when the plugin is switched off.
            let _ = tell.send(compare(&shared, &prepared));
        };
        std::thread::spawn(compare);
        self.comparing = Some(Comparing { answer, result });
    }

    fn finish(&self, mut answer: Value, compared: Result<Vec<Change>, String>) -> Value {
        match compared {
            Ok(changes) => {
                // The editor knows of them before the caller does: a scan would come too late.
                if let Some(mut files) = EditorInterface::singleton().get_resource_filesystem() {
                    for change in &changes {
                        files.update_file(&change.path);
                    }
                }
                let mutates = self.prepared.command.mutates;
                if !mutates && !changes.is_empty() {
                    answer["declaration_mismatch"] = json!({"files": changes.len()});
                }
                answer["changes"] = tell(&changes);
            }
            Err(why) => answer["changes_unavailable"] = json!(why),
        }
        // One that nobody waits for any more ends with its entry in the journal.
        let transaction = &self.prepared.transaction;
        if !self.shared.commands.current().is_some_and(|it| it.uncertain) {
            self.shared.commands.end(transaction);
        }
        answer
    }

    /// Frees what the provider was (R48).
    fn let_go(&mut self) {
        let Some(provider) = self.provider.take() else { return };
        if !provider.is_instance_valid() {
            return;
        }
        match provider.clone().try_cast::<Node>() {
            Ok(mut node) => node.queue_free(),
            Err(object) if !is_ref_counted(&object) => object.free(),
            Err(_) => {}
        }
    }

    fn logged(&self) -> Logged {
        let page = self.shared.feed.page(self.since, Severity::Info, usize::MAX);
        let mut logged = Logged { lost: page.dropped, ..Logged::default() };
        for entry in page.entries {
            if entry.source == "print" && entry.severity == Severity::Info {
                logged.output.push(entry);
            } else if entry.seq <= self.synchronous || self.is_of_provider(&entry) {
                logged.own.push(entry);
            } else {
                logged.ambient.push(entry);
            }
        }
        logged
    }

    /// Whether one of the provider's scripts is on the stack (B4).
    fn is_of_provider(&self, entry: &Entry) -> bool {
        let named = |text: &str| {
            self.prepared.scripts.keys().any(|it| {
                text.strip_prefix(it.as_str())
                    .is_some_and(|it| it.is_empty() || it.starts_with(':'))
            })
        };
        named(&entry.file) || entry.stack.iter().any(|it| named(it))
    }

    /// R67 to R72, R92 to R94.
    fn classify(&self, editor: &Editor, ended: Ended, logged: &Logged) -> Value {
        let readable = editor.app().logger.is_instance_valid();
        let errors = logged.own.iter().filter(|it| it.severity == Severity::Error).count();
        let mut answer = json!({});
        // A9: compile_error, failed, inconclusive, passed.
        let (classification, reason) = match ended {
            Ended::NotCompiled => {
                let first = logged.own.iter().find(|it| it.severity == Severity::Error);
                let why = first.map_or("it does not compile", |it| it.message.as_str());
                ("compile_error", format!("{} was not called: {why}", self.prepared.script))
            }
            Ended::Failed(why) => ("failed", why),
            Ended::Returned(value) => {
                let (ok, why) = returned(editor, &value, &mut answer);
                match ok {
                    false => ("failed", why),
                    true if errors > 0 => {
                        ("failed", format!("it answered ok: true, but {errors} errors were logged"))
                    }
                    true if !readable => (
                        "inconclusive",
                        "it answered ok: true, but the log cannot be read".to_owned(),
                    ),
                    true => ("passed", "it answered ok: true and no error was logged".to_owned()),
                }
            }
        };
        answer["classification"] = json!(classification);
        answer["reason"] = json!(cut(&reason));
        answer["log_capture"] = json!(readable);
        logged.tell(&mut answer);
        answer
    }
}

/// What was logged since the provider was loaded.
#[derive(Default)]
struct Logged {
    own: Vec<Entry>,
    ambient: Vec<Entry>,
    output: Vec<Entry>,
    lost: u64,
}

impl Logged {
    fn tell(&self, answer: &mut Value) {
        let all = (self.own.len() + self.ambient.len() + self.output.len()) as u64 + self.lost;
        // Errors are worth more than prints.
        let mut left = limits::LOG_ENTRIES_MAX;
        for (name, entries) in [("diagnostics", &self.own), ("ambient_diagnostics", &self.ambient)]
        {
            let told: Vec<_> = entries.iter().take(left).map(diagnostic).collect();
            left -= told.len();
            if !told.is_empty() {
                answer[name] = json!(told);
            }
        }
        let lines: Vec<_> = self.output.iter().take(left).map(|it| it.message.as_str()).collect();
        if !lines.is_empty() {
            answer["output"] = json!(untrusted::wrap("output", &lines.join("\n")));
        }
        if all > limits::LOG_ENTRIES_MAX as u64 {
            answer["log_truncated"] = json!(all - limits::LOG_ENTRIES_MAX as u64);
        }
    }
}

fn diagnostic(entry: &Entry) -> Value {
    let mut told = json!({
        "severity": entry.severity,
        "message": untrusted::wrap(entry.source, &cut(&entry.message)),
    });
    // An error that a script pushed is told at the script, not in the engine's source.
    let frame = entry.stack.first().and_then(|it| it.split_once(' ')).map(|it| it.0);
    match frame.and_then(|it| it.rsplit_once(':')) {
        Some((file, line)) if !entry.file.starts_with("res://") => {
            told["file"] = json!(file);
            told["line"] = json!(line.parse::<i64>().unwrap_or_default());
        }
        _ => {
            told["file"] = json!(entry.file);
            told["line"] = json!(entry.line);
        }
    }
    told
}

/// Reads what `mcp_call` returned (R46, A8): whether it is ok, and a sentence.
fn returned(editor: &Editor, value: &Variant, answer: &mut Value) -> (bool, String) {
    let fields = value.try_to::<VarDictionary>().ok();
    let ok = fields.as_ref().and_then(|it| it.get("ok")).and_then(|it| it.try_to::<bool>().ok());
    let (Some(fields), Some(ok)) = (fields, ok) else {
        tell_value(editor, value, answer);
        return (false, "mcp_call did not return a Dictionary with a boolean ok".to_owned());
    };
    if ok {
        let value = fields.get("value").unwrap_or_default();
        tell_value(editor, &value, answer);
        return (true, String::new());
    }
    let error = fields.get("error").unwrap_or_default();
    let text = cut(&error.stringify().to_string());
    answer["error"] = json!(untrusted::wrap("error", &text));
    answer["result_unavailable"] = json!("it answered ok: false");
    (false, "it answered ok: false".to_owned())
}

/// R70, R92.
fn tell_value(editor: &Editor, value: &Variant, answer: &mut Value) {
    let literal = match kind_of(value, 0) {
        Plainness::Data => var_to_str(value).to_string(),
        Plainness::Objects => value.stringify().to_string(),
        Plainness::Deep => {
            answer["result_unavailable"] = json!(format!(
                "it contains itself or is nested deeper than {MAX_VALUE_DEPTH} levels"
            ));
            return;
        }
    };
    let length = literal.chars().count();
    if length > limits::VALUE_LITERAL_MAX_CHARS {
        answer["result_unavailable"] = json!(format!(
            "its spelling has {length} characters; at most {}",
            limits::VALUE_LITERAL_MAX_CHARS
        ));
        return;
    }
    if kind_of(value, 0) == Plainness::Data {
        let check = |path: &str| editor.check_read(path);
        answer["result"] = values::encode(value, None, &editor.values(None, &check));
    } else {
        answer["result_unavailable"] = json!("it holds an object, which only has a spelling");
    }
    answer["result_literal"] = json!(literal);
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Plainness {
    Data,
    Objects,
    Deep,
}

fn kind_of(value: &Variant, depth: usize) -> Plainness {
    if depth > MAX_VALUE_DEPTH {
        return Plainness::Deep;
    }
    let all = |mut parts: Box<dyn Iterator<Item = Variant>>| {
        let mut worst = Plainness::Data;
        while worst != Plainness::Deep
            && let Some(part) = parts.next()
        {
            worst = worst.max(kind_of(&part, depth + 1));
        }
        worst
    };
    match value.get_type() {
        VariantType::OBJECT | VariantType::CALLABLE | VariantType::SIGNAL | VariantType::RID => {
            Plainness::Objects
        }
        VariantType::ARRAY => {
            let items = value.try_to::<godot::builtin::AnyArray>();
            items.map_or(Plainness::Objects, |it| {
                let items: Vec<Variant> = it.iter_shared().collect();
                all(Box::new(items.into_iter()))
            })
        }
        VariantType::DICTIONARY => {
            let entries = value.try_to::<godot::builtin::AnyDictionary>();
            entries.map_or(Plainness::Objects, |it| {
                let entries: Vec<Variant> =
                    it.iter_shared().flat_map(|(key, value)| [key, value]).collect();
                all(Box::new(entries.into_iter()))
            })
        }
        _ => Plainness::Data,
    }
}

/// Compares the files, and writes down what the call did before its answer is told.
fn compare(shared: &Shared, prepared: &Prepared) -> Result<Vec<Change>, String> {
    let store = shared.commands.store.as_ref().map_err(Clone::clone)?;
    let compared =
        prepared.before.clone().and_then(|before| Ok(before.changes(&*store.tracker.look()?)));
    let Prepared { transaction, provider, command, .. } = prepared;
    let mut record = Record::new(transaction, provider, &command.name, command.mutates);
    record.state = State::Finished;
    match &compared {
        Ok(changes) => record.changes.clone_from(changes),
        Err(why) => record.changes_unavailable = Some(why.clone()),
    }
    if let Err(error) = store.records.write(&record) {
        tracing::warn!("what a command changed cannot be written down: {error}");
    }
    compared
}

/// A `.gd` file as it is now. The engine has one object a script, so this brings that up to date
/// (C4).
fn load(path: &str) -> Option<Gd<Script>> {
    let loaded = ResourceLoader::singleton().load_ex(path).cache_mode(CacheMode::IGNORE).done();
    loaded?.try_cast::<Script>().ok()
}

/// Arguments that `mcp_call` takes; none when there is no such method.
fn argument_count(provider: &Gd<Object>) -> Option<usize> {
    let methods = provider.get_method_list();
    let method = methods
        .iter_shared()
        .find(|it| it.get("name").is_some_and(|it| it.stringify() == "mcp_call"))?;
    let arguments = method.get("args")?;
    Some(arguments.try_to::<godot::builtin::AnyArray>().map_or(0, |it| it.len()))
}

/// The state of a function that awaits (C2). It is no class of the extension API.
fn function_state(value: &Variant) -> Option<Gd<Object>> {
    let object = value.try_to::<Gd<Object>>().ok()?;
    (object.get_class() == "GDScriptFunctionState").then_some(object)
}

fn is_ref_counted(object: &Gd<Object>) -> bool {
    object.instance_id().is_ref_counted()
}

fn variant(value: &Plain) -> Variant {
    match value {
        Plain::Nil => Variant::nil(),
        Plain::Bool(it) => it.to_variant(),
        Plain::Int(it) => it.to_variant(),
        Plain::Float(it) => it.to_variant(),
        Plain::String(it) => it.to_variant(),
        Plain::Array(items) => items.iter().map(variant).collect::<VarArray>().to_variant(),
        Plain::Dictionary(entries) => {
            let mut dictionary = VarDictionary::new();
            for (key, value) in entries {
                dictionary.set(key.as_str(), &variant(value));
            }
            dictionary.to_variant()
        }
    }
}

/// R93.
fn cut(text: &str) -> String {
    text.chars().take(limits::ERROR_MAX_CHARS).collect()
}

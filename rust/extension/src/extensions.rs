//! Tools that the project adds (extensions): which scripts there are, what they declare, and what is
//! wrong with them.
//!
//! The state is keyed by the content of the scripts. What has not changed is not loaded again, so
//! `register` runs once for each version of a script (X2.4).

pub(crate) mod discovery;
mod native;
pub(crate) mod nested;
pub(crate) mod offers;
mod options;
pub(crate) mod run;
pub(crate) mod settings;
mod watch;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use godot::builtin::Callable;
use godot::classes::{EditorInterface, RefCounted};
use godot::obj::{Gd, Singleton};
use godot_mcp_core::paths::Access;
use godot_mcp_core::registry::Registry;
use godot_mcp_core::toolset::{self, Toolset};
use godot_mcp_core::{SafetyClass, ToolError, ToolSpec};
use serde_json::{Map, Value};

use crate::app::App;
use crate::editor::Editor;
use crate::main_thread;
use nested::Nested;
use offers::{Offered, OwnPrompt, OwnResource};
use run::Running;
use settings::Settings;
use watch::Watch;

/// One change often comes as several signals.
const DEBOUNCE: Duration = Duration::from_millis(500);
/// How often the files are looked at: an editor without focus does not hear of changes.
const LOOK_PERIOD: Duration = Duration::from_millis(400);

/// Something that is wrong with an extension.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fault {
    pub(crate) message: String,
    /// 0 when it is not a line's.
    pub(crate) line: i64,
}

impl Fault {
    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), line: 0 }
    }
}

/// One tool of the project.
pub(crate) struct ScriptTool {
    pub(crate) spec: ToolSpec,
    set: &'static Toolset,
    /// As it was registered, with a dot.
    method: String,
    handler: Callable,
    class: String,
    /// Keeps the version of the script alive that a running call began with.
    #[expect(dead_code, reason = "held, not read")]
    owner: Option<Gd<RefCounted>>,
    takes_context: bool,
    dry_run: bool,
    success_hint: String,
    project_paths: Vec<String>,
    user_paths: Vec<String>,
}

impl ScriptTool {
    /// One that has nothing but a handler.
    fn bare(
        class: &str,
        method: &str,
        handler: Callable,
        spec: ToolSpec,
        owner: Gd<RefCounted>,
    ) -> Self {
        Self {
            spec,
            set: toolset::of_project(toolset::PROJECT, "", &[]),
            method: method.to_owned(),
            handler,
            class: class.to_owned(),
            owner: Some(owner),
            takes_context: false,
            dry_run: false,
            success_hint: String::new(),
            project_paths: Vec::new(),
            user_paths: Vec::new(),
        }
    }

    /// The first part of its name.
    fn namespace(&self) -> &str {
        self.method.split('.').next().unwrap_or_default()
    }

    /// X4.5: before the handler, at any depth.
    pub(crate) fn guard(
        &self,
        editor: &Editor,
        args: &Map<String, Value>,
    ) -> Result<(), ToolError> {
        let roots = &editor.shared().gate.settings().roots;
        let access = match self.spec.class {
            SafetyClass::ReadOnly => Access::Read,
            _ => Access::Write,
        };
        for name in &self.project_paths {
            each_text(args.get(name), &mut |text| roots.resolve_res(text, access).map(drop))
                .map_err(|it| it.required(name.clone()))?;
        }
        for name in &self.user_paths {
            each_text(args.get(name), &mut |text| roots.resolve_user(text).map(drop))
                .map_err(|it| it.required(name.clone()))?;
        }
        Ok(())
    }
}

fn each_text(
    value: Option<&Value>,
    check: &mut dyn FnMut(&str) -> Result<(), ToolError>,
) -> Result<(), ToolError> {
    match value {
        Some(Value::String(text)) => check(text),
        Some(Value::Array(items)) => items.iter().try_for_each(|it| each_text(Some(it), check)),
        Some(Value::Object(map)) => map.values().try_for_each(|it| each_text(Some(it), check)),
        _ => Ok(()),
    }
}

/// An extension as it was loaded last.
pub(crate) struct Extension {
    pub(crate) path: String,
    hash: u64,
    /// Keeps handlers alive. None when it did not load.
    instance: Option<Gd<RefCounted>>,
    /// What it was activated with.
    context: Option<Gd<RefCounted>>,
    pub(crate) tools: Vec<Rc<ScriptTool>>,
    pub(crate) prompts: Vec<OwnPrompt>,
    pub(crate) resources: Vec<Rc<OwnResource>>,
    pub(crate) faults: Vec<Fault>,
}

impl Extension {
    fn new(path: &str, hash: u64) -> Self {
        Self {
            path: path.to_owned(),
            hash,
            instance: None,
            context: None,
            tools: Vec::new(),
            prompts: Vec::new(),
            resources: Vec::new(),
            faults: Vec::new(),
        }
    }

    fn native() -> Self {
        Self::new("", 0)
    }

    /// The end of a registration (X2.4).
    fn deactivate(self) {
        if let Some(mut context) = self.context.filter(Gd::is_instance_valid) {
            context.call("_close", &[]);
        }
        if let Some(mut instance) = self.instance
            && instance.has_method("deactivate")
        {
            instance.call("deactivate", &[]);
        }
    }
}

/// What one look at the project found.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Changes {
    pub(crate) added: Vec<String>,
    pub(crate) removed: Vec<String>,
    pub(crate) changed: Vec<String>,
    pub(crate) failed: Vec<String>,
}

/// All extensions of the project. Main thread.
pub(crate) struct Extensions {
    builtin: Arc<Registry>,
    /// By class. Invariant: never borrowed while a script runs.
    loaded: RefCell<BTreeMap<String, Extension>>,
    /// Tools that were taken, by the name that clients see.
    tools: RefCell<BTreeMap<String, Rc<ScriptTool>>>,
    /// When the project said that something has changed.
    stirred: Cell<Option<Instant>>,
    watch: Watch,
    /// The watch has seen something that the editor has to look at.
    unseen: Cell<bool>,
    /// Scripts that the watch saw change, for the next look.
    changed: RefCell<BTreeSet<String>>,
    pub(crate) nested: Nested,
    pub(crate) running: Running,
    pub(crate) settings: Settings,
    /// Resources that were taken.
    resources: RefCell<Vec<Rc<OwnResource>>>,
    /// Taken away with the server.
    named: RefCell<Option<native::Named>>,
    /// Whether the game ran when extensions were told last.
    playing: Cell<bool>,
    looked: Cell<Option<Instant>>,
}

impl Extensions {
    pub(crate) fn new(builtin: Arc<Registry>, project: &Path) -> Self {
        Self {
            builtin,
            loaded: RefCell::default(),
            tools: RefCell::default(),
            // The first look comes with the first frame that is not part of a scan.
            stirred: Cell::new(Some(Instant::now() - DEBOUNCE)),
            watch: Watch::start(project),
            unseen: Cell::new(false),
            changed: RefCell::default(),
            nested: Nested::default(),
            running: Running::default(),
            settings: Settings::default(),
            resources: RefCell::default(),
            named: RefCell::new(Some(native::Named::new())),
            playing: Cell::new(false),
            looked: Cell::new(None),
        }
    }

    pub(crate) fn tool(&self, name: &str) -> Option<Rc<ScriptTool>> {
        self.tools.borrow().get(name).cloned()
    }

    /// The resource behind a URI, with what the placeholders of its template stand for.
    pub(crate) fn resource(&self, uri: &str) -> Option<(Rc<OwnResource>, Map<String, Value>)> {
        let all = self.resources.borrow();
        all.iter().find_map(|it| Some((Rc::clone(it), it.matched(uri)?)))
    }

    pub(crate) fn each(&self, visit: &mut dyn FnMut(&str, &Extension)) {
        self.loaded.borrow().iter().for_each(|(class, it)| visit(class, it));
    }

    /// Something may have changed.
    pub(crate) fn stir(&self) {
        self.stirred.set(Some(Instant::now()));
    }

    /// Takes over what the watch has seen.
    pub(crate) fn take_news(&self) {
        let news = self.watch.take_news();
        if !news.is_empty() {
            self.unseen.set(true);
            self.changed.borrow_mut().extend(news);
        }
    }

    /// Whether the editor has to look at the project.
    pub(crate) fn wants_scan(&self) -> bool {
        self.take_news();
        self.unseen.get() && !main_thread::is_scanning()
    }

    /// Has the watch look at the scripts now. What is answered is disconnected when it has.
    pub(crate) fn look_now(&self) -> Receiver<()> {
        self.watch.look_now()
    }

    /// Has the editor look at the project when the scripts on disk are others: it tells when it has.
    pub(crate) fn scan(&self) {
        if self.wants_scan()
            && let Some(mut files) = EditorInterface::singleton().get_resource_filesystem()
        {
            self.unseen.set(false);
            files.scan();
        }
    }

    /// Whether the game has been started or stopped since extensions were told.
    pub(crate) fn has_turned(&self, playing: bool) -> bool {
        self.playing.get() != playing
    }

    /// Whether a look is due.
    pub(crate) fn is_due(&self) -> bool {
        if self.looked.get().is_none_or(|it| it.elapsed() >= LOOK_PERIOD) {
            self.looked.set(Some(Instant::now()));
            let loaded = self.loaded.borrow();
            // Only once: what is stirred already is looked at in time.
            if self.stirred.get().is_none()
                && loaded.values().any(|it| discovery::hash_of(&it.path) != it.hash)
            {
                self.stir();
            }
        }
        self.stirred.get().is_some_and(|it| it.elapsed() >= DEBOUNCE) && !main_thread::is_scanning()
    }
}

/// Brings the tools up to date with the scripts of the project.
pub(crate) fn refresh(app: &Rc<App>) -> Changes {
    let state = &app.extensions;
    state.stirred.set(None);
    reread_classes(&std::mem::take(&mut *state.changed.borrow_mut()));
    let found = discovery::candidates();
    let mut changes = Changes::default();
    let gone: Vec<String> = {
        let loaded = state.loaded.borrow();
        let gone = |it: &&String| !found.contains_key(*it) && *it != native::CLASS;
        loaded.keys().filter(gone).cloned().collect()
    };
    let mut dropped: Vec<Extension> = Vec::new();
    for class in gone {
        let old = state.loaded.borrow_mut().remove(&class);
        dropped.extend(old);
        changes.removed.push(class);
    }
    for (class, path) in found {
        let hash = discovery::hash_of(&path);
        let known = state.loaded.borrow().get(&class).map(|it| (it.path == path, it.hash == hash));
        match known {
            Some((true, true)) => continue,
            Some(_) => changes.changed.push(class.clone()),
            None => changes.added.push(class.clone()),
        }
        // Before the new version: both may connect to the same signals.
        let old = state.loaded.borrow_mut().remove(&class);
        if let Some(old) = old {
            old.deactivate();
        }
        let extension = discovery::load(app, &class, &path, hash);
        state.loaded.borrow_mut().insert(class, extension);
    }
    take_over(app);
    // After the borrows: a script may do something when it goes.
    dropped.into_iter().for_each(Extension::deactivate);
    let paths = state.loaded.borrow().values().map(|it| it.path.clone()).collect();
    state.watch.heed(paths);
    state.each(&mut |class, it| {
        if !it.faults.is_empty() {
            changes.failed.push(class.to_owned());
        }
    });
    app.shared.activity.touch();
    changes
}

/// A scan tells changed files by their time in whole seconds, so of two changes within one the editor
/// may have seen the first alone.
fn reread_classes(changed: &BTreeSet<String>) {
    let Some(mut files) = EditorInterface::singleton().get_resource_filesystem() else { return };
    for path in changed {
        files.update_file(path);
    }
}

/// Tells extensions that the game was started or stopped (X13.2).
pub(crate) fn tell_turn(app: &Rc<App>, playing: bool) {
    app.extensions.playing.set(playing);
    let signal = if playing { "play_started" } else { "play_stopped" };
    let host = app.host();
    if host.is_instance_valid() {
        host.clone().emit_signal(signal, &[]);
    }
}

/// The end of all registrations, with the server.
pub(crate) fn shut_down(app: &App) {
    let all = std::mem::take(&mut *app.extensions.loaded.borrow_mut());
    app.extensions.tools.borrow_mut().clear();
    app.extensions.resources.borrow_mut().clear();
    let named = app.extensions.named.borrow_mut().take();
    drop(named);
    all.into_values().for_each(Extension::deactivate);
}

/// Makes one registry of the built-in tools and all that the extensions declare. By class name; of two
/// with one name the first is taken (X3.2).
fn take_over(app: &Rc<App>) {
    let state = &app.extensions;
    let mut tools: BTreeMap<String, Rc<ScriptTool>> = BTreeMap::new();
    let mut offered = Offered::default();
    let mut resources: Vec<Rc<OwnResource>> = Vec::new();
    let (mut specs, mut sets): (Vec<ToolSpec>, Vec<&'static Toolset>) = (Vec::new(), Vec::new());
    for extension in state.loaded.borrow_mut().values_mut() {
        extension.faults.retain(|it| !it.message.contains(TAKEN));
        for tool in &extension.tools {
            let name = &tool.spec.name;
            let holder = match tools.get(name) {
                Some(other) => Some(format!("the extension {}", other.class)),
                None => state.builtin.get(name).map(|_| "a built-in tool".to_owned()),
            };
            if let Some(holder) = holder {
                let message = format!("\"{}\" {TAKEN} {holder}", tool.method);
                extension.faults.push(Fault::new(message));
                continue;
            }
            tools.insert(name.clone(), Rc::clone(tool));
            specs.push(tool.spec.clone());
            if !sets.iter().any(|it| it.name == tool.set.name)
                && !toolset::TOOLSETS.iter().any(|it| it.name == tool.set.name)
            {
                sets.push(tool.set);
            }
        }
        for prompt in &extension.prompts {
            if offered.prompt(&prompt.info.name).is_some() {
                let message = format!("the prompt \"{}\" {TAKEN} another", prompt.info.name);
                extension.faults.push(Fault::new(message));
                continue;
            }
            offered.prompts.push(prompt.clone());
        }
        for resource in &extension.resources {
            if resources.iter().any(|it| it.info.uri == resource.info.uri) {
                let message = format!("the resource \"{}\" {TAKEN} another", resource.info.uri);
                extension.faults.push(Fault::new(message));
                continue;
            }
            offered.resources.push(resource.info.clone());
            resources.push(Rc::clone(resource));
        }
    }
    let registry = state.builtin.extended(specs, sets);
    *state.tools.borrow_mut() = tools;
    *state.resources.borrow_mut() = resources;
    app.shared.gate.install(registry);
    let before = app.shared.offered.swap(Arc::new(offered));
    let now = app.shared.offered.load();
    app.announce_offered(before.prompts != now.prompts, before.resources != now.resources);
}

const TAKEN: &str = "is left out, since its name is taken by";

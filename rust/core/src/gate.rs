//! The gate: what every call passes before and after its plan (S2). There is no way round it; the
//! dispatcher takes only an `Admitted`, and only the gate makes one.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use crate::approval::{Approvals, Grant};
use crate::error::{Code, ToolError};
use crate::paths::{Access, Roots};
use crate::registry::{RegisteredTool, Registry};
use crate::safety::SafetyClass;
use crate::schema;
use crate::spec::ToolSpec;
use crate::suggest;
use crate::toolset;

/// Keys that clients add to the arguments of every tool: Cline, Gemini CLI, n8n and Cursor.
const CLIENT_KEYS: &[&str] = &["task_progress", "wait_for_previous", "toolCallId", "random_string"];

/// What the operator decided at start.
#[derive(Clone, Debug)]
pub struct GateSettings {
    /// `GODOT_MCP_READ_ONLY` (S9.2).
    pub read_only: bool,
    /// `GODOT_MCP_DEFAULT_TOOLSETS` (S11.1).
    pub default_toolsets: Option<String>,
    /// Version of the running editor.
    pub godot: (u32, u32, u32),
    pub roots: Roots,
}

/// A call that passed steps 1 to 3: valid arguments, an enabled tool, a mode that allows it.
pub struct Admitted {
    tool: Arc<RegisteredTool>,
    /// The tool's own arguments; the framework's are taken out (S1.2).
    pub args: Map<String, Value>,
    pub dry_run: bool,
    confirm: bool,
    /// S2.4. None for a preview, which is not recorded.
    pub idempotency_key: Option<String>,
    /// Who calls; filled in by the dispatcher.
    pub client: String,
    /// `res://` path of the scene that must be the edited one.
    pub expected_scene: Option<String>,
}

impl Admitted {
    pub fn spec(&self) -> &Arc<ToolSpec> {
        &self.tool.spec
    }
}

/// What happens with a plan (S2 steps 5 to 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The plan is the answer.
    Preview,
    /// A human has to be asked, and then a new plan has to be decided on with their grant.
    Ask,
    Commit,
}

/// A plan as the gate looks at it.
pub struct PlanView<'a> {
    /// What a preview would print; asked for only by a refusal that shows it.
    pub changes: &'a dyn Fn() -> Value,
    /// It would change nothing at all.
    pub is_empty: bool,
    /// Hash of tool, arguments and whole plan; asked for only when an approval is bound to it.
    pub digest: &'a dyn Fn() -> String,
}

/// One member of an `enable_toolset` or `disable_toolset` list.
pub struct Switched {
    pub name: String,
    /// Whether the set changed.
    pub outcome: Result<bool, ToolError>,
}

/// Server-wide state of the gate. All methods work from any thread.
pub struct Gate {
    settings: GateSettings,
    registry: ArcSwap<Registry>,
    enabled: Mutex<BTreeSet<String>>,
    listed: ArcSwap<Vec<Arc<ToolSpec>>>,
    paused: AtomicBool,
    approvals: Approvals,
    on_change: Mutex<Option<Arc<dyn Fn() + Send + Sync>>>,
    /// Names in `GODOT_MCP_DEFAULT_TOOLSETS` that do not exist, to be logged (S11.1).
    pub unknown_toolsets: Vec<String>,
}

impl Gate {
    pub fn new(settings: GateSettings, registry: Registry) -> Self {
        let known = registry.toolsets().map(|it| it.name);
        let (enabled, unknown) = toolset::seed(settings.default_toolsets.as_deref(), known);
        let gate = Self {
            settings,
            registry: ArcSwap::from_pointee(registry),
            enabled: Mutex::new(enabled),
            listed: ArcSwap::default(),
            paused: AtomicBool::new(false),
            approvals: Approvals::off(),
            on_change: Mutex::new(None),
            unknown_toolsets: unknown,
        };
        gate.list_again();
        gate
    }

    /// Asks humans before calls, as a policy says. Without it nobody is asked.
    #[must_use]
    pub fn with_approvals(mut self, approvals: Approvals) -> Self {
        self.approvals = approvals;
        self
    }

    pub fn approvals(&self) -> &Approvals {
        &self.approvals
    }

    pub fn settings(&self) -> &GateSettings {
        &self.settings
    }

    pub fn registry(&self) -> Arc<Registry> {
        self.registry.load_full()
    }

    /// Replaces the tools. Toolsets that are new are off, but for [`toolset::PROJECT`]; clients are told
    /// when what they see has changed.
    pub fn install(&self, registry: Registry) {
        let all = self.settings.default_toolsets.as_deref().is_some_and(|it| it.trim() == "all");
        {
            let before = self.registry.load();
            let mut enabled = self.enabled.lock();
            for set in registry.toolsets() {
                let known = before.toolsets().any(|it| it.name == set.name);
                if set.name == toolset::PROJECT || all && !known {
                    enabled.insert(set.name.to_owned());
                }
            }
        }
        self.registry.store(Arc::new(registry));
        let before = self.listed();
        self.list_again();
        let seen = |list: &[Arc<ToolSpec>]| -> Vec<Value> {
            list.iter().map(|it| json!([it.listing(true), it.meta(), it.hints.as_json()])).collect()
        };
        if seen(&before) != seen(&self.listed()) {
            let notify = self.on_change.lock().clone();
            if let Some(notify) = notify {
                notify();
            }
        }
    }

    /// Calls `notify` after each change of the listed tools (S11.3).
    pub fn on_change(&self, notify: impl Fn() + Send + Sync + 'static) {
        *self.on_change.lock() = Some(Arc::new(notify));
    }

    /// Tools that clients see now.
    pub fn listed(&self) -> Arc<Vec<Arc<ToolSpec>>> {
        self.listed.load_full()
    }

    pub fn is_enabled(&self, toolset: &str) -> bool {
        self.enabled.lock().contains(toolset)
    }

    pub fn set_paused(&self, paused: bool) {
        self.paused.store(paused, Ordering::Release);
    }

    pub fn is_paused(&self) -> bool {
        self.paused.load(Ordering::Acquire)
    }

    /// The name of a tool as clients see it. Tools of the project are also called as they were
    /// registered, with a dot (X3.1).
    pub fn listed_name<'a>(&self, name: &'a str) -> Cow<'a, str> {
        let flat = || name.replace('.', "_");
        match name.contains('.') && self.registry.load().get(&flat()).is_some() {
            true => Cow::Owned(flat()),
            false => Cow::Borrowed(name),
        }
    }

    /// Takes out what clients are known to add to every call for themselves. A tool that declares such
    /// a parameter gets it.
    pub fn drop_client_keys(&self, name: &str, args: &mut Map<String, Value>) {
        if !CLIENT_KEYS.iter().any(|it| args.contains_key(*it)) {
            return;
        }
        let registry = self.registry.load();
        let properties = registry.get(name).map(|it| &it.spec.input_schema["properties"]);
        for key in CLIENT_KEYS {
            if properties.is_none_or(|it| it.get(key).is_none()) {
                args.remove(*key);
            }
        }
    }

    /// Steps 1 to 3 of S2.
    pub fn admit(&self, name: &str, mut args: Map<String, Value>) -> Result<Admitted, ToolError> {
        self.drop_client_keys(name, &mut args);
        let registry = self.registry.load();
        let Some(tool) = registry.get(name) else {
            let near = suggest::near(name, registry.tools().map(|it| it.name.as_str()), 3);
            return Err(ToolError::not_found(format!("no tool \"{name}\"")).suggest(near));
        };
        let spec = &tool.spec;

        let idempotency_key = take_key(spec, &mut args)?;
        let mut args = tool.check(args)?;
        let access = if spec.class == SafetyClass::ReadOnly { Access::Read } else { Access::Write };
        let properties = &spec.input_schema["properties"];
        for (name, value) in &args {
            let mut pointer = format!("/{name}");
            let schema = &properties[name];
            schema::each_formatted(schema, value, &mut pointer, &mut |pointer, format, text| {
                let parameter = pointer.split('/').nth(1).unwrap_or_default().to_owned();
                self.settings
                    .roots
                    .check_format(format, text, access)
                    .map_err(|it| it.required(parameter))
            })?;
        }

        if !self.is_enabled(&spec.toolset) {
            let set = &spec.toolset;
            return Err(ToolError::new(
                Code::ToolsetDisabled,
                format!("\"{name}\" is in the toolset \"{set}\", which is off"),
            )
            .hint(format!("call `enable_toolset` with category \"{set}\", then call again"))
            .details(json!({"toolset": set})));
        }

        if self.settings.read_only && spec.class != SafetyClass::ReadOnly {
            return Err(ToolError::new(
                Code::ReadOnly,
                format!("\"{name}\" changes things and this server is read-only"),
            )
            .hint("the operator set GODOT_MCP_READ_ONLY; only they can lift it"));
        }
        // What only looks at the server itself goes on, so that an agent can find out and wait.
        let harmless = spec.toolset == toolset::CORE && spec.class == SafetyClass::ReadOnly;
        if self.is_paused() && !harmless {
            return Err(ToolError::new(Code::Paused, "a human has paused the server")
                .hint("wait, or ask them to press resume in the dock"));
        }
        check_version(name, spec.min_godot, self.settings.godot)?;

        let mut flag = |name| args.remove(name).is_some_and(|it| it == true);
        let (dry_run, confirm) = (flag(schema::DRY_RUN), flag(schema::CONFIRM));
        let expected_scene = match args.remove(schema::EXPECTED_SCENE) {
            Some(Value::String(path)) => Some(Roots::tidy_res(&path)?),
            _ => None,
        };
        if spec.class != SafetyClass::ReadOnly {
            args.remove(schema::IDEMPOTENCY_KEY);
        }
        Ok(Admitted {
            tool: Arc::clone(tool),
            args,
            dry_run,
            confirm,
            idempotency_key: idempotency_key.filter(|_| !dry_run),
            client: String::new(),
            expected_scene,
        })
    }

    /// Steps 5 to 8 of S2, on a plan that stands. `grant` is what came of asking about the plan
    /// before; it is used up.
    pub fn after_plan(
        &self,
        call: &Admitted,
        plan: &PlanView,
        grant: Option<Grant>,
    ) -> Result<Decision, ToolError> {
        if call.dry_run {
            return Ok(Decision::Preview);
        }
        if call.spec().class.has_confirm() && !call.confirm {
            return Err(ToolError::precondition(
                "confirm",
                format!("\"{}\" was called without confirm: true", call.spec().name),
            )
            .hint("see `would` for what is lost; call again with confirm: true to go on")
            .would((plan.changes)()));
        }
        if !self.approvals.covers(call.spec()) {
            return Ok(Decision::Commit);
        }
        match grant {
            Some(grant) => grant.redeem(&(plan.digest)()).map(|()| Decision::Commit),
            // Nothing to approve: the call answers that it changed nothing.
            None if plan.is_empty => Ok(Decision::Commit),
            None if self.approvals.allowed_for_session(&call.client, &call.spec().name) => {
                Ok(Decision::Commit)
            }
            None => Ok(Decision::Ask),
        }
    }

    /// Whether a human has to be asked about an entry of a batch, by its tool and client.
    pub fn must_ask(&self, call: &Admitted) -> bool {
        !call.dry_run
            && self.approvals.covers(call.spec())
            && !self.approvals.allowed_for_session(&call.client, &call.spec().name)
    }

    /// Names of toolsets behind a toolset, a bundle or a comma list.
    pub fn members(&self, category: &str) -> Vec<String> {
        let registry = self.registry.load();
        let mut members: Vec<String> = Vec::new();
        for name in category.split(',').map(str::trim).filter(|it| !it.is_empty()) {
            match toolset::BUNDLES.iter().find(|(bundle, _)| *bundle == name) {
                Some((_, sets)) => members.extend(
                    registry
                        .toolsets()
                        .filter(|it| sets.contains(&it.name))
                        .map(|it| it.name.into()),
                ),
                None => members.push(name.to_owned()),
            }
        }
        let mut seen = BTreeSet::new();
        members.retain(|it| seen.insert(it.clone()));
        members
    }

    /// Switches toolsets; one member that cannot be switched does not fail the others (S11.2).
    pub fn switch(&self, names: &[String], on: bool) -> Vec<Switched> {
        let mut changed = false;
        let result = names
            .iter()
            .map(|name| {
                let outcome = self.switch_one(name, on);
                changed |= matches!(outcome, Ok(true));
                Switched { name: name.clone(), outcome }
            })
            .collect();
        if changed {
            self.list_again();
            let notify = self.on_change.lock().clone();
            if let Some(notify) = notify {
                notify();
            }
        }
        result
    }

    fn switch_one(&self, name: &str, on: bool) -> Result<bool, ToolError> {
        let registry = self.registry.load();
        if !registry.toolsets().any(|it| it.name == name) {
            let bundles = toolset::BUNDLES.iter().map(|it| it.0);
            let names = registry.toolsets().map(|it| it.name).chain(bundles);
            let near = suggest::near(name, names, 3);
            let error = ToolError::invalid("category", format!("no toolset \"{name}\""));
            return Err(if near.is_empty() {
                error.hint("`list_toolsets` names them all")
            } else {
                error.suggest(near)
            });
        }
        if on {
            for tool in registry.tools_of(name) {
                check_version(&tool.name, tool.min_godot, self.settings.godot)?;
            }
            return Ok(self.enabled.lock().insert(name.to_owned()));
        }
        if name == toolset::CORE || name == toolset::PROJECT {
            return Err(ToolError::invalid("category", format!("\"{name}\" is always on")));
        }
        Ok(self.enabled.lock().remove(name))
    }

    fn list_again(&self) {
        let registry = self.registry.load();
        let enabled = self.enabled.lock();
        let visible = |it: &&Arc<ToolSpec>| {
            enabled.contains(&it.toolset)
                && !(self.settings.read_only && it.class != SafetyClass::ReadOnly)
        };
        self.listed.store(Arc::new(registry.tools().filter(visible).cloned().collect()));
    }
}

/// Longest idempotency key, in bytes.
const MAX_KEY: usize = 200;

/// Takes the idempotency key out of the arguments (S2.4). The schema does not list it, so it is
/// checked here.
fn take_key(spec: &ToolSpec, args: &mut Map<String, Value>) -> Result<Option<String>, ToolError> {
    if spec.class == SafetyClass::ReadOnly {
        // A read has no such parameter; the schema says so.
        return Ok(None);
    }
    let given = match spec.needs_key {
        true => args.get(schema::IDEMPOTENCY_KEY).cloned(),
        false => args.remove(schema::IDEMPOTENCY_KEY),
    };
    let wrong = |what: String| {
        Err(ToolError::invalid(schema::IDEMPOTENCY_KEY, what)
            .hint(format!("give any text of 1 to {MAX_KEY} bytes, new for each call that is new")))
    };
    match given {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(key)) if key.is_empty() => wrong("the idempotency key is empty".into()),
        Some(Value::String(key)) if key.len() > MAX_KEY => {
            wrong(format!("the idempotency key has {} bytes", key.len()))
        }
        Some(Value::String(key)) if key.chars().any(char::is_control) => {
            wrong("the idempotency key has a control character".into())
        }
        Some(Value::String(key)) => Ok(Some(key)),
        Some(other) => wrong(format!("the idempotency key {other} is no string")),
    }
}

/// S11.4.
fn check_version(name: &str, min: (u32, u32), godot: (u32, u32, u32)) -> Result<(), ToolError> {
    if (godot.0, godot.1) >= min {
        return Ok(());
    }
    let (need, have) = (format!("{}.{}", min.0, min.1), format!("{}.{}", godot.0, godot.1));
    Err(ToolError::precondition(
        "godot_version",
        format!("\"{name}\" needs Godot {need} and this editor is {have}"),
    )
    .hint(format!("open the project with Godot {need} or newer")))
}

#[cfg(test)]
mod tests;

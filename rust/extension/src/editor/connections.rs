//! Signal connections between nodes of the edited scene.

use godot::builtin::{Callable, StringName, VarArray, VarDictionary, Variant};
use godot::classes::{Node, Object, PackedScene, ResourceLoader, Script};
use godot::meta::ToGodot;
use godot::obj::{Gd, Singleton};
use godot_mcp_core::{ToolError, suggest};
use serde_json::{Value, json};

use super::scene::Scene;
use super::values;

pub(crate) const DEFERRED: i64 = 1;
pub(crate) const PERSIST: i64 = 2;
pub(crate) const ONE_SHOT: i64 = 4;

/// One connection, with the callable as it is connected: binds and unbinds included.
pub(crate) struct Connection {
    pub(crate) source: Gd<Object>,
    pub(crate) signal: String,
    pub(crate) target: Option<Gd<Object>>,
    pub(crate) method: String,
    pub(crate) callable: Variant,
    pub(crate) flags: i64,
    pub(crate) binds: VarArray,
    pub(crate) unbinds: i64,
}

impl Connection {
    fn from_dict(info: &VarDictionary) -> Option<Self> {
        let signal = info.get("signal")?;
        let callable = info.get("callable")?;
        let object = |it: &Variant| it.call("get_object", &[]).try_to::<Gd<Object>>().ok();
        Some(Self {
            source: object(&signal)?,
            signal: signal.call("get_name", &[]).to_string(),
            target: object(&callable),
            method: callable.call("get_method", &[]).to_string(),
            flags: info.get("flags").and_then(|it| it.try_to().ok()).unwrap_or(0),
            binds: callable.call("get_bound_arguments", &[]).try_to().unwrap_or_default(),
            unbinds: callable.call("get_unbound_arguments_count", &[]).try_to().unwrap_or(0),
            callable,
        })
    }

    fn node(object: Option<&Gd<Object>>, scene: &Scene) -> Option<Gd<Node>> {
        let node = object?.clone().try_cast::<Node>().ok()?;
        scene.contains(&node).then_some(node)
    }

    pub(crate) fn source_in(&self, scene: &Scene) -> Option<Gd<Node>> {
        Self::node(Some(&self.source), scene)
    }

    pub(crate) fn target_in(&self, scene: &Scene) -> Option<Gd<Node>> {
        Self::node(self.target.as_ref(), scene)
    }

    /// The read form: what `connect_signal` would make it with.
    pub(crate) fn describe(&self, scene: &Scene, context: &values::Context) -> Value {
        let path = |it: Option<Gd<Node>>| it.map(|it| scene.path_of(&it));
        let mut fields = json!({
            "source_path": path(self.source_in(scene)),
            "signal_name": self.signal,
            "target_path": path(self.target_in(scene)),
            "method_name": self.method,
            "persistent": self.flags & PERSIST != 0,
        });
        let flags = flag_names(self.flags);
        if !flags.is_empty() {
            fields["flags"] = json!(flags);
        }
        if !self.binds.is_empty() {
            fields["binds"] =
                self.binds.iter_shared().map(|it| values::encode(&it, None, context)).collect();
        }
        if self.unbinds > 0 {
            fields["unbinds"] = json!(self.unbinds);
        }
        fields
    }
}

fn flag_names(flags: i64) -> Vec<&'static str> {
    let names = [
        (DEFERRED, "deferred"),
        (ONE_SHOT, "one_shot"),
        (8, "reference_counted"),
        (16, "append_source_object"),
    ];
    names.into_iter().filter(|it| flags & it.0 != 0).map(|it| it.1).collect()
}

/// Connections of one signal.
pub(crate) fn of_signal(node: &Gd<Node>, signal: &str) -> Vec<Connection> {
    let list = node.get_signal_connection_list(signal);
    list.iter_shared().filter_map(|it| Connection::from_dict(&it)).collect()
}

/// Connections of all signals of a node, in the order of their names.
pub(crate) fn outgoing(node: &Gd<Node>) -> Vec<Connection> {
    signals(node).iter().flat_map(|it| of_signal(node, &it.name)).collect()
}

pub(crate) fn incoming(node: &Gd<Node>) -> Vec<Connection> {
    let list = node.get_incoming_connections();
    list.iter_shared().filter_map(|it| Connection::from_dict(&it)).collect()
}

/// A signal or a method, with the numbers of arguments that it takes.
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) most: usize,
    pub(crate) least: usize,
    pub(crate) vararg: bool,
}

impl Member {
    fn from_dict(info: &VarDictionary) -> Self {
        let count = |key: &str| {
            // Typed arrays do not convert to untyped ones, so the engine counts.
            let size = info.get(key).filter(|it| !it.is_nil()).map(|it| it.call("size", &[]));
            size.and_then(|it| it.try_to::<i64>().ok())
                .and_then(|it| usize::try_from(it).ok())
                .unwrap_or(0)
        };
        let most = count("args");
        let flags = info.get("flags").and_then(|it| it.try_to::<i64>().ok()).unwrap_or(0);
        Self {
            name: info.get("name").map(|it| it.to_string()).unwrap_or_default(),
            most,
            least: most.saturating_sub(count("default_args")),
            vararg: flags & 16 != 0,
        }
    }
}

pub(crate) fn signals(node: &Gd<Node>) -> Vec<Member> {
    let list = node.get_signal_list();
    let mut all: Vec<Member> = list.iter_shared().map(|it| Member::from_dict(&it)).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all.dedup_by(|a, b| a.name == b.name);
    all
}

/// Methods of the script first, since they are what connections mostly call.
pub(crate) fn methods(node: &Gd<Node>) -> Vec<Member> {
    let script = node.get("script").try_to::<Gd<Script>>().ok();
    let mut own = script
        .map(|it| it.clone().get_script_method_list().iter_shared().collect::<Vec<_>>())
        .unwrap_or_default();
    own.extend(node.get_method_list().iter_shared());
    own.iter().map(Member::from_dict).collect()
}

/// A signal of the node, or near names.
pub(crate) fn signal(node: &Gd<Node>, name: &str) -> Result<Member, ToolError> {
    let mut all = signals(node);
    if let Some(index) = all.iter().position(|it| it.name == name) {
        return Ok(all.swap_remove(index));
    }
    let near = suggest::near(name, all.iter().map(|it| it.name.as_str()), 5);
    let error =
        ToolError::invalid("signal_name", format!("{} has no signal \"{name}\"", node.get_class()));
    Err(if near.is_empty() {
        let names: Vec<_> = all.iter().take(30).map(|it| it.name.clone()).collect();
        error.hint(format!("its signals are: {}", names.join(", ")))
    } else {
        error.suggest(near)
    })
}

/// A method of the node, or near names.
pub(crate) fn method(node: &Gd<Node>, name: &str) -> Result<Member, ToolError> {
    let mut all = methods(node);
    if let Some(index) = all.iter().position(|it| it.name == name) {
        return Ok(all.swap_remove(index));
    }
    let near = suggest::near(name, all.iter().map(|it| it.name.as_str()), 5);
    let error =
        ToolError::invalid("method_name", format!("{} has no method \"{name}\"", node.get_class()));
    Err(if near.is_empty() {
        error.hint("add the method to the script of the target first")
    } else {
        error.suggest(near)
    })
}

/// A callable with binds or unbinds, as the scene file keeps them.
pub(crate) fn callable(target: &Gd<Node>, method: &str, binds: &VarArray, unbinds: i64) -> Variant {
    let callable = Callable::from_object_method(target, &StringName::from(method)).to_variant();
    if unbinds > 0 {
        return callable.call("unbind", &[unbinds.to_variant()]);
    }
    if binds.is_empty() { callable } else { callable.call("bindv", &[binds.to_variant()]) }
}

/// Whether an instanced scene, or the scene it inherits, makes this connection.
pub(crate) fn is_from_instance(scene: &Scene, connection: &Connection) -> bool {
    let (Some(source), Some(target)) = (connection.source_in(scene), connection.target_in(scene))
    else {
        return false;
    };
    let mut at = Some(source.clone());
    while let Some(top) = at.filter(|it| it != scene.root()) {
        let file = top.get_scene_file_path().to_string();
        if !file.is_empty()
            && (top == target || top.is_ancestor_of(&target))
            && file_has(&file, &path(&top, &source), &path(&top, &target), connection)
        {
            return true;
        }
        at = top.get_parent();
    }
    false
}

fn path(from: &Gd<Node>, to: &Gd<Node>) -> String {
    if from == to { ".".to_owned() } else { from.get_path_to(to).to_string() }
}

fn file_has(file: &str, source: &str, target: &str, connection: &Connection) -> bool {
    let mut loader = ResourceLoader::singleton();
    if !loader.exists(file) {
        return false;
    }
    let packed = loader.load(file).and_then(|it| it.try_cast::<PackedScene>().ok());
    let mut next = packed.and_then(|it| it.get_state());
    let tidy = |it: String| it.strip_prefix("./").map(str::to_owned).unwrap_or(it);
    while let Some(state) = next {
        let found = (0..state.get_connection_count()).any(|it| {
            tidy(state.get_connection_source(it).to_string()) == source
                && tidy(state.get_connection_target(it).to_string()) == target
                && state.get_connection_signal(it).to_string() == connection.signal
                && state.get_connection_method(it).to_string() == connection.method
        });
        if found {
            return true;
        }
        next = state.get_base_scene_state();
    }
    false
}

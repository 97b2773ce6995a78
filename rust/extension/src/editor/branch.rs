//! Branches of the edited scene: what belongs to it, and the ops that add, remove and move them.

use std::collections::{HashMap, HashSet};

use godot::builtin::{AnyArray, Callable, Variant};
use godot::classes::{FileAccess, Node, Object, PackedScene, ResourceLoader, SceneState};
use godot::meta::ToGodot;
use godot::obj::{Gd, Singleton};
use godot_mcp_core::{Code, ToolError};

use super::edit::Op;
use super::scene::{self, Scene};

/// Inherited scenes that are followed before a chain counts as endless.
const MAX_BASES: usize = 32;

/// Nodes of a branch, in tree order, the top first.
pub(crate) fn nodes(top: &Gd<Node>) -> Vec<Gd<Node>> {
    let mut found = Vec::new();
    scene::walk(top, &mut |node, _| {
        found.push(node.clone());
        true
    });
    found
}

pub(crate) fn holds(top: &Gd<Node>, node: &Gd<Node>) -> bool {
    node == top || top.is_ancestor_of(node)
}

/// Each node of the branch whose owner lies outside it, with that owner.
///
/// The engine clears these owners when the branch leaves the tree; all others it keeps.
pub(crate) fn outer_owners(top: &Gd<Node>) -> Vec<(Gd<Node>, Gd<Node>)> {
    let all = nodes(top).into_iter();
    let owned = all.filter_map(|node| node.get_owner().map(|owner| (node, owner)));
    owned.filter(|(_, owner)| !holds(top, owner)).collect()
}

/// Puts a branch below `parent` and gives its nodes their owners. Without an index it comes last.
pub(crate) fn attach(
    parent: &Gd<Node>,
    node: &Gd<Node>,
    index: Option<i32>,
    owners: &[(Gd<Node>, Gd<Node>)],
) -> Vec<Op> {
    let mut ops = vec![Op::call(parent, "add_child", &[node.to_variant()])];
    if let Some(index) = index {
        ops.push(Op::call(parent, "move_child", &[node.to_variant(), index.to_variant()]));
    }
    for (node, owner) in owners {
        ops.push(Op::set(node, "owner", &owner.to_variant()));
    }
    ops
}

pub(crate) fn detach(parent: &Gd<Node>, node: &Gd<Node>) -> Op {
    Op::call(parent, "remove_child", &[node.to_variant()])
}

/// What the layout of containers changes in a control, as the editor itself saves and restores it.
pub(crate) fn layout_state(node: &Gd<Node>) -> Option<Op> {
    let mut node = node.clone();
    if !node.is_class("Control") || !node.has_method("_edit_get_state") {
        return None;
    }
    let state = node.call("_edit_get_state", &[]);
    Some(Op::call(&node, "_edit_set_state", &[state]))
}

/// A name that is free among the children of `parent`: the wanted one, or with the next number.
pub(crate) fn free_name(parent: &Gd<Node>, wanted: &str, except: Option<&Gd<Node>>) -> String {
    Names::below(parent, except).take(wanted)
}

/// The name without what the engine adds when it makes one up, such as `@Timer@7`: no other node can be
/// given that.
pub(crate) fn plain_name(name: &str) -> &str {
    name.strip_prefix('@').and_then(|it| it.split('@').next()).unwrap_or(name)
}

/// Names of siblings, those that nodes will get included.
#[derive(Default)]
pub(crate) struct Names {
    taken: HashSet<String>,
    /// The number to try next, by stem: thousands of nodes may want one name.
    next: HashMap<String, u64>,
}

impl Names {
    pub(crate) fn below(parent: &Gd<Node>, except: Option<&Gd<Node>>) -> Self {
        // Internal children count too: the engine would rename the newcomer.
        let children = parent.get_children_ex().include_internal(true).done();
        let taken = children.iter_shared().filter(|it| Some(it) != except);
        Self { taken: taken.map(|it| it.get_name().to_string()).collect(), next: HashMap::new() }
    }

    /// The wanted name, or with the next free number. It is taken from then on.
    pub(crate) fn take(&mut self, wanted: &str) -> String {
        let name = self.free(wanted);
        self.taken.insert(name.clone());
        name
    }

    fn free(&mut self, wanted: &str) -> String {
        if !self.taken.contains(wanted) {
            return wanted.to_owned();
        }
        let stem = wanted.trim_end_matches(|it: char| it.is_ascii_digit());
        let number = wanted[stem.len()..].parse::<u64>().ok().filter(|_| !stem.is_empty());
        let (stem, first) = match number.and_then(|it| it.checked_add(1)) {
            Some(next) => (stem, next),
            None => (wanted, 2),
        };
        let next = self.next.entry(stem.to_owned()).or_default();
        let free = (first.max(*next)..)
            .map(|it| (it, format!("{stem}{it}")))
            .find(|it| !self.taken.contains(&it.1));
        let (number, name) = free.unwrap_or_default();
        *next = number;
        name
    }
}

/// Refuses nodes that an instanced or a base scene brings along: they would be back on reload.
pub(crate) fn belongs_to_scene(
    scene: &Scene,
    node: &Gd<Node>,
    what: &str,
) -> Result<(), ToolError> {
    let path = scene.path_of(node);
    let refusal = |from: &str, file: &str| {
        let file = if file.is_empty() { from.to_owned() } else { format!("{from} \"{file}\"") };
        ToolError::new(
            Code::PreconditionFailed,
            format!("\"{path}\" comes from {file} and cannot be {what} here"),
        )
        .required("node_path")
        .hint("open that scene with `open_scene` and edit it there")
    };
    if let Some(owner) = node.get_owner()
        && owner != *scene.root()
    {
        return Err(refusal("the instanced scene", &owner.get_scene_file_path().to_string()));
    }
    match inherited_from(scene, node) {
        Some(file) => Err(refusal("the base scene", &file)),
        None => Ok(()),
    }
}

/// The base scene that brings this node along, when the edited scene is an inherited one.
fn inherited_from(scene: &Scene, node: &Gd<Node>) -> Option<String> {
    let path = scene.path_of(node);
    let mut state = base_state(scene)?;
    for _ in 0..MAX_BASES {
        let listed = (0..state.get_node_count())
            .any(|it| state.get_node_path(it).to_string().trim_start_matches("./") == path);
        if listed {
            return Some(state.get_path().to_string());
        }
        state = state.get_base_scene_state()?;
    }
    None
}

fn base_state(scene: &Scene) -> Option<Gd<SceneState>> {
    let file = scene.file();
    if file.is_empty() || file.ends_with(".tscn") && !root_is_instance(&file) {
        return None;
    }
    let packed = ResourceLoader::singleton().load(&file)?.try_cast::<PackedScene>().ok()?;
    packed.get_state()?.get_base_scene_state()
}

/// Reads the text up to the root's line, which is cheaper than loading the scene.
fn root_is_instance(file: &str) -> bool {
    use godot::classes::file_access::ModeFlags;
    let Some(mut text) = FileAccess::open(file, ModeFlags::READ) else { return true };
    while !text.eof_reached() {
        let line = text.get_line().to_string();
        if line.starts_with("[node ") {
            return line.contains(" instance=");
        }
    }
    false
}

/// Whether the node may get, or lose, a unique name.
pub(crate) fn may_be_unique(
    scene: &Scene,
    node: &Gd<Node>,
    unique: bool,
    parameter: &'static str,
) -> Result<(), ToolError> {
    scene.not_root(node, "unique: it owns the names")?;
    let path = scene.path_of(node);
    match node.get_owner() {
        None => {
            Err(ToolError::invalid(parameter, format!("\"{path}\" is not part of the saved scene"))
                .hint("unique names belong to nodes that are saved with the scene"))
        }
        Some(owner) if owner != *scene.root() => belongs_to_scene(scene, node, "made unique"),
        Some(_) if unique => {
            unique_name_is_free(scene, node, node.get_name().to_string().as_str(), parameter)
        }
        Some(_) => Ok(()),
    }
}

/// Refuses a unique name that another node of the same owner has.
pub(crate) fn unique_name_is_free(
    scene: &Scene,
    node: &Gd<Node>,
    name: &str,
    parameter: &'static str,
) -> Result<(), ToolError> {
    let owner = node.get_owner();
    let twin = nodes(scene.root()).into_iter().find(|it| {
        it != node
            && it.is_unique_name_in_owner()
            && it.get_owner() == owner
            && it.get_name() == name
    });
    let Some(twin) = twin else { return Ok(()) };
    let message = format!("\"%{name}\" is already \"{}\"", scene.path_of(&twin));
    Err(ToolError::new(Code::AlreadyExists, message)
        .required(parameter)
        .hint("rename one of them with `rename_node`, or take the other's unique name away"))
}

/// A call's index among the children of `parent`, where `-1` is the end.
pub(crate) fn index_below(
    parent: &Gd<Node>,
    index: i32,
    count: i32,
) -> Result<Option<i32>, ToolError> {
    if index == -1 {
        return Ok(None);
    }
    if (0..=count).contains(&index) {
        return Ok(Some(index));
    }
    let name = parent.get_name();
    Err(ToolError::invalid("index", format!("index {index} is not from -1 to {count}"))
        .hint(format!("\"{name}\" would have {count} other children; -1 is the end")))
}

/// Both ends of a node's own `Variant`, for checks.
pub(crate) fn variant(node: Option<&Gd<Node>>) -> Variant {
    node.map_or_else(Variant::nil, ToGodot::to_variant)
}

/// The same call on another object: method, bound and dropped arguments as they are.
pub(crate) fn aimed_at(callable: &Callable, target: &Gd<Object>) -> Option<Callable> {
    let method = callable.method_name()?;
    let plain = Callable::from_object_method(target, &method);
    let all = callable.to_variant();
    // As scenes store them: either dropped or bound arguments.
    let dropped = all.call("get_unbound_arguments_count", &[]).try_to::<i64>().unwrap_or(0);
    if let Ok(count @ 1..) = usize::try_from(dropped) {
        return Some(plain.unbind(count));
    }
    if callable.get_bound_arguments_count() == 0 {
        return Some(plain);
    }
    let bound = all.call("get_bound_arguments", &[]).try_to::<AnyArray>().ok()?;
    Some(plain.bindv(&bound))
}

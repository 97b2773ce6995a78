//! Who points at which node of the edited scene: connections, exported nodes, node paths in
//! properties and resources, and animation tracks.

use std::collections::{HashMap, HashSet};

use godot::builtin::{
    AnyArray, AnyDictionary, Callable, NodePath, Signal, StringName, Variant, VariantType,
};
use godot::classes::{Animation, AnimationMixer, Node, Object, Resource};
use godot::meta::ToGodot;
use godot::obj::{EngineBitfield as _, Gd, InstanceId};
use godot::register::info::PropertyUsageFlags;
use serde_json::{Value, json};

use super::branch;
use super::edit::{Edit, Op, Step};
use super::persistence;
use super::scene::Scene;
use super::values::{self, Slot};

/// `Object.CONNECT_PERSIST`: only these are saved with a scene.
const PERSIST: i64 = 2;
/// Nesting of containers and resources that is searched.
const MAX_DEPTH: usize = 8;
/// References that an answer lists; more are counted.
const MAX_LISTED: usize = 50;

/// A saved connection between two nodes.
#[derive(Clone)]
pub(crate) struct Connection {
    pub(crate) source: Gd<Node>,
    pub(crate) signal: StringName,
    pub(crate) target: Gd<Node>,
    /// With its bound and dropped arguments.
    pub(crate) callable: Callable,
    pub(crate) flags: i64,
}

/// A property that holds nodes: an exported node, or a container with nodes in it.
#[derive(Clone)]
pub(crate) struct Export {
    pub(crate) holder: Gd<Node>,
    pub(crate) property: String,
    pub(crate) value: Variant,
}

/// A property with node paths in it.
#[derive(Clone)]
pub(crate) struct PathUse {
    pub(crate) holder: Gd<Node>,
    /// The node itself, or a resource built into the scene.
    pub(crate) object: Gd<Object>,
    pub(crate) property: String,
    /// The way to it from the holder, such as `texture:viewport_path`.
    pub(crate) shown: String,
    /// Where the paths start.
    pub(crate) base: Gd<Node>,
    pub(crate) value: Variant,
}

/// A track of an animation.
#[derive(Clone)]
pub(crate) struct Track {
    pub(crate) player: Gd<Node>,
    pub(crate) animation: Gd<Animation>,
    pub(crate) name: String,
    pub(crate) index: i32,
    pub(crate) base: Gd<Node>,
    pub(crate) path: NodePath,
}

/// All references of the scene that are saved with it.
#[derive(Default)]
pub(crate) struct References {
    pub(crate) connections: Vec<Connection>,
    pub(crate) exports: Vec<Export>,
    pub(crate) paths: Vec<PathUse>,
    pub(crate) tracks: Vec<Track>,
}

impl References {
    pub(crate) fn of(scene: &Scene) -> Self {
        let mut search =
            Search { scene, found: Self::default(), names: HashMap::new(), tracks: HashSet::new() };
        for node in branch::nodes(scene.root()) {
            search.node(&node);
        }
        search.found
    }
}

struct Search<'a> {
    scene: &'a Scene,
    found: References,
    /// Properties worth a look, by class and script.
    names: HashMap<(String, Option<InstanceId>), Vec<String>>,
    /// Animations are shared between players.
    tracks: HashSet<(InstanceId, i32)>,
}

impl Search<'_> {
    fn node(&mut self, node: &Gd<Node>) {
        for info in node.get_incoming_connections().iter_shared() {
            self.found.connections.extend(self.connection(node, &info));
        }
        if !persistence::is_saved(self.scene, node) {
            return;
        }
        let object = node.clone().upcast::<Object>();
        for property in self.properties(&object) {
            let value = node.get(&property);
            self.property(node, &object, &property, &property, value, 0);
        }
        for name in node.get_meta_list().iter_shared() {
            let property = format!("metadata/{name}");
            let value = node.get_meta(&name);
            self.property(node, &object, &property, &property, value, 0);
        }
        if let Ok(mixer) = node.clone().try_cast::<AnimationMixer>() {
            self.animations(node, &mixer);
        }
    }

    fn connection(
        &self,
        target: &Gd<Node>,
        info: &godot::builtin::VarDictionary,
    ) -> Option<Connection> {
        let signal = info.get("signal")?.try_to::<Signal>().ok()?;
        let callable = info.get("callable")?.try_to::<Callable>().ok()?;
        let flags = info.get("flags")?.try_to::<i64>().ok()?;
        let source = signal.object()?.try_cast::<Node>().ok()?;
        let kept = flags & PERSIST != 0 && self.scene.contains(&source);
        kept.then(|| Connection {
            source,
            signal: signal.name(),
            target: target.clone(),
            callable,
            flags,
        })
    }

    fn properties(&mut self, object: &Gd<Object>) -> Vec<String> {
        let script = object.get_script().map(|it| it.instance_id());
        let key = (object.get_class().to_string(), script);
        if let Some(names) = self.names.get(&key) {
            return names.clone();
        }
        let worth = |it: &Slot| {
            let kind = matches!(
                it.kind,
                VariantType::NODE_PATH
                    | VariantType::ARRAY
                    | VariantType::DICTIONARY
                    | VariantType::OBJECT
                    | VariantType::NIL
            );
            kind && it.usage.is_set(PropertyUsageFlags::STORAGE)
                && it.name != "script"
                && !it.name.starts_with("metadata/")
        };
        let names: Vec<String> =
            Slot::all(object).into_iter().filter(worth).map(|it| it.name).collect();
        // Scripts may list other properties for each object.
        if script.is_none() {
            self.names.insert(key, names.clone());
        }
        names
    }

    fn property(
        &mut self,
        holder: &Gd<Node>,
        object: &Gd<Object>,
        property: &str,
        shown: &str,
        value: Variant,
        depth: usize,
    ) {
        if depth > MAX_DEPTH || value.is_nil() {
            return;
        }
        let mut parts = Parts::default();
        parts.collect(&value, 0);
        let on_node = depth == 0;
        if parts.nodes && on_node {
            self.found.exports.push(Export {
                holder: holder.clone(),
                property: property.to_owned(),
                value: value.clone(),
            });
        }
        if parts.paths {
            // A viewport texture counts from the root of its scene.
            let from_root = object.is_class("ViewportTexture");
            let base = if from_root { self.scene.root() } else { holder };
            self.found.paths.push(PathUse {
                holder: holder.clone(),
                object: object.clone(),
                property: property.to_owned(),
                shown: shown.to_owned(),
                base: base.clone(),
                value,
            });
        }
        for resource in parts.resources {
            if !in_scene_file(self.scene, &resource) || !is_searched(&resource) {
                continue;
            }
            let object = resource.upcast::<Object>();
            for inner in self.properties(&object) {
                let value = object.get(&inner);
                self.property(
                    holder,
                    &object,
                    &inner,
                    &format!("{shown}:{inner}"),
                    value,
                    depth + 1,
                );
            }
        }
    }

    fn animations(&mut self, node: &Gd<Node>, mixer: &Gd<AnimationMixer>) {
        let Some(base) = node.get_node_or_null(&mixer.get_root_node()) else { return };
        for name in mixer.get_animation_list().as_slice() {
            let Some(animation) = mixer.get_animation(&StringName::from(name)) else { continue };
            for index in 0..animation.get_track_count() {
                if !self.tracks.insert((animation.instance_id(), index)) {
                    continue;
                }
                self.found.tracks.push(Track {
                    player: node.clone(),
                    animation: animation.clone(),
                    name: name.to_string(),
                    index,
                    base: base.clone(),
                    path: animation.track_get_path(index),
                });
            }
        }
    }
}

/// Whether a resource is built into the edited scene, rather than into another file.
pub(crate) fn in_scene_file(scene: &Scene, resource: &Gd<Resource>) -> bool {
    let path = resource.get_path().to_string();
    path.is_empty() || path.starts_with(&format!("{}::", scene.file()))
}

/// Animations are searched by their tracks, and the other large ones hold no paths.
fn is_searched(resource: &Gd<Resource>) -> bool {
    let skipped =
        ["Animation", "AnimationLibrary", "Material", "Script", "Mesh", "TileSet", "Shader"];
    let texture = resource.is_class("Texture") && !resource.is_class("ViewportTexture");
    !texture && !skipped.iter().any(|it| resource.is_class(*it))
}

/// What a value has in it, containers included.
#[derive(Default)]
struct Parts {
    nodes: bool,
    paths: bool,
    resources: Vec<Gd<Resource>>,
}

impl Parts {
    fn collect(&mut self, value: &Variant, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        match value.get_type() {
            VariantType::NODE_PATH => self.paths |= !value.to::<NodePath>().is_empty(),
            VariantType::ARRAY => {
                value.to::<AnyArray>().iter_shared().for_each(|it| self.collect(&it, depth + 1));
            }
            VariantType::DICTIONARY => {
                value.to::<AnyDictionary>().iter_shared().for_each(|(key, value)| {
                    self.collect(&key, depth + 1);
                    self.collect(&value, depth + 1);
                });
            }
            VariantType::OBJECT => {
                let Ok(object) = value.try_to::<Gd<Object>>() else { return };
                match object.try_cast::<Node>() {
                    Ok(_) => self.nodes = true,
                    Err(object) => self.resources.extend(object.try_cast::<Resource>().ok()),
                }
            }
            _ => {}
        }
    }
}

/// The value with some parts replaced, `None` when nothing is. Containers are copied, types kept.
pub(crate) fn replaced(
    value: &Variant,
    swap: &dyn Fn(&Variant) -> Option<Variant>,
) -> Option<Variant> {
    match value.get_type() {
        VariantType::ARRAY => {
            let mut copy: Option<Variant> = None;
            for (index, item) in value.to::<AnyArray>().iter_shared().enumerate() {
                if let Some(new) = replaced(&item, swap) {
                    let copy = copy.get_or_insert_with(|| value.call("duplicate", &[]));
                    copy.call("set", &[(index as i64).to_variant(), new]);
                }
            }
            copy
        }
        VariantType::DICTIONARY => {
            let mut copy: Option<Variant> = None;
            for (key, item) in value.to::<AnyDictionary>().iter_shared() {
                if let Some(new) = replaced(&item, swap) {
                    let copy = copy.get_or_insert_with(|| value.call("duplicate", &[]));
                    copy.call("set", &[key, new]);
                }
            }
            copy
        }
        _ => swap(value),
    }
}

/// The value with all nodes taken out of it, `None` when it has none.
pub(crate) fn without_nodes(value: &Variant) -> Option<Variant> {
    replaced(value, &|it| it.try_to::<Gd<Node>>().ok().map(|_| Variant::nil()))
}

impl Connection {
    pub(crate) fn method(&self) -> String {
        self.callable.method_name().map(|it| it.to_string()).unwrap_or_default()
    }

    pub(crate) fn shown(&self, scene: &Scene) -> String {
        let (source, target) = (scene.path_of(&self.source), scene.path_of(&self.target));
        format!("{source}:{} -> {target}:{}", self.signal, self.method())
    }

    pub(crate) fn crosses(&self, top: &Gd<Node>) -> bool {
        branch::holds(top, &self.source) != branch::holds(top, &self.target)
    }

    pub(crate) fn touches(&self, top: &Gd<Node>) -> bool {
        branch::holds(top, &self.source) || branch::holds(top, &self.target)
    }

    pub(crate) fn connect(&self) -> Op {
        let args = [self.signal.to_variant(), self.callable.to_variant(), self.flags.to_variant()];
        Op::call(&self.source, "connect", &args)
    }

    pub(crate) fn disconnect(&self) -> Op {
        let args = [self.signal.to_variant(), self.callable.to_variant()];
        Op::call(&self.source, "disconnect", &args)
    }
}

impl Export {
    /// The value with the nodes of a branch replaced, `None` when it holds none of them.
    pub(crate) fn with(&self, swap: &dyn Fn(&Gd<Node>) -> Option<Variant>) -> Option<Variant> {
        replaced(&self.value, &|it| {
            let node = it.try_to::<Gd<Node>>().ok()?;
            swap(&node)
        })
    }
}

impl PathUse {
    /// Whether one of the paths leads into the branch.
    pub(crate) fn leads_into(&self, top: &Gd<Node>) -> bool {
        let found = std::cell::Cell::new(false);
        replaced(&self.value, &|it| {
            let path = it.try_to::<NodePath>().ok()?;
            let target = self.base.get_node_or_null(&without_subnames(&path));
            found.set(found.get() || target.is_some_and(|it| branch::holds(top, &it)));
            None
        });
        found.get()
    }
}

impl Track {
    pub(crate) fn target(&self) -> Option<Gd<Node>> {
        self.base.get_node_or_null(&without_subnames(&self.path))
    }
}

fn without_subnames(path: &NodePath) -> NodePath {
    NodePath::from(&path.get_concatenated_names().to_string())
}

/// A node that gets another name, another parent, or both.
pub(crate) struct Relocation<'a> {
    pub(crate) scene: &'a Scene,
    pub(crate) node: &'a Gd<Node>,
    pub(crate) new_name: String,
    pub(crate) new_parent: Gd<Node>,
}

impl Relocation<'_> {
    /// Lists what points at the branch, and rewrites the paths when asked to. Connections and
    /// exported nodes hold the node itself and need nothing.
    pub(crate) fn follow(&self, edit: &mut Edit, update: bool) {
        let references = References::of(self.scene);
        let mut listed = Listed::default();
        for it in references.connections.iter().filter(|it| it.touches(self.node)) {
            listed.add(json!({"connection": it.shown(self.scene), "follows": true}));
        }
        for it in &references.exports {
            let into = |node: &Gd<Node>| branch::holds(self.node, node).then(Variant::nil);
            if it.with(&into).is_some() {
                let shown = format!("{}:{}", self.scene.path_of(&it.holder), it.property);
                listed.add(json!({"property": shown, "follows": true}));
            }
        }
        for it in &references.paths {
            let new = replaced(&it.value, &|value| {
                let path = value.try_to::<NodePath>().ok()?;
                self.rewritten(&it.base, &path).map(|it| it.to_variant())
            });
            let Some(new) = new else { continue };
            let shown = format!("{}:{}", self.scene.path_of(&it.holder), it.shown);
            listed.add(json!({"property": shown, "old": values::summary(&it.value), "new": values::summary(&new)}));
            if update {
                edit.set_property_as(&shown, &it.object, &it.property, &new);
            }
        }
        for it in &references.tracks {
            let Some(new) = self.rewritten(&it.base, &it.path) else { continue };
            let shown = format!("{}:{}:{}", self.scene.path_of(&it.player), it.name, it.index);
            let mut entry =
                json!({"track": shown, "old": it.path.to_string(), "new": new.to_string()});
            let elsewhere = !in_scene_file(self.scene, &it.animation.clone().upcast());
            if elsewhere {
                entry["file"] = json!(it.animation.get_path().to_string());
            }
            listed.add(entry);
            if update && !elsewhere {
                let index = it.index.to_variant();
                let change = json!({"set": format!("track {shown}"), "old": it.path.to_string(), "new": new.to_string()});
                let step = Step::new(change)
                    .apply(Op::call(
                        &it.animation,
                        "track_set_path",
                        &[index.clone(), new.to_variant()],
                    ))
                    .revert(Op::call(
                        &it.animation,
                        "track_set_path",
                        &[index.clone(), it.path.to_variant()],
                    ))
                    .answers(&it.animation, "track_get_path", &[index], &new.to_variant());
                edit.step(step);
            }
        }
        let stale = listed.stale;
        listed.into_facts(edit);
        if stale > 0 && !update {
            edit.fact("stale_references", stale);
            edit.fact(
                "note",
                "entries with old and new would break; update_references rewrites them",
            );
        }
    }

    /// The path after the change, when it has to be another one.
    fn rewritten(&self, base: &Gd<Node>, path: &NodePath) -> Option<NodePath> {
        if path.is_empty() || path.is_absolute() {
            return None;
        }
        let names: Vec<String> =
            (0..path.get_name_count()).map(|it| path.get_name(it).to_string()).collect();
        if names.is_empty() {
            return None;
        }
        let target = base.get_node_or_null(&NodePath::from(&names.join("/")))?;
        if !self.scene.contains(&target) || !self.scene.contains(base) {
            return None;
        }
        // What comes before a unique name does not depend on places, only on names.
        let unique = names.iter().rposition(|it| it.starts_with('%')).map_or(0, |it| it + 1);
        let mut prefix = names[..unique].to_vec();
        let mut anchor = base.clone();
        for (index, name) in prefix.iter_mut().enumerate() {
            let found = base.get_node_or_null(&NodePath::from(&names[..=index].join("/")))?;
            if found == *self.node && !matches!(name.as_str(), "." | "..") {
                let mark = if name.starts_with('%') { "%" } else { "" };
                *name = format!("{mark}{}", self.new_name);
            }
            anchor = found;
        }
        let (old, new) =
            (self.relative(&anchor, &target, false), self.relative(&anchor, &target, true));
        if old == new && prefix == names[..unique] {
            return None;
        }
        if !(new == "." && unique > 0) {
            prefix.push(new);
        }
        let mut text = prefix.join("/");
        if path.get_subname_count() > 0 {
            text = format!("{text}:{}", path.get_concatenated_subnames());
        }
        Some(NodePath::from(&text))
    }

    fn relative(&self, from: &Gd<Node>, to: &Gd<Node>, after: bool) -> String {
        let (from, to) = (self.chain(from, after), self.chain(to, after));
        let common = from.iter().zip(&to).take_while(|(a, b)| a.0 == b.0).count();
        let up = std::iter::repeat_n("..", from.len() - common);
        let down = to[common..].iter().map(|it| it.1.as_str());
        let parts: Vec<&str> = up.chain(down).collect();
        if parts.is_empty() { ".".to_owned() } else { parts.join("/") }
    }

    /// Nodes from the scene's root down, as they are or as they will be.
    fn chain(&self, node: &Gd<Node>, after: bool) -> Vec<(InstanceId, String)> {
        let mut chain = Vec::new();
        let mut at = Some(node.clone());
        while let Some(node) = at {
            let moved = after && node == *self.node;
            let name = if moved { self.new_name.clone() } else { node.get_name().to_string() };
            chain.push((node.instance_id(), name));
            if node == *self.scene.root() {
                break;
            }
            at = if moved { Some(self.new_parent.clone()) } else { node.get_parent() };
        }
        chain.reverse();
        chain
    }
}

/// References as an answer lists them.
#[derive(Default)]
pub(crate) struct Listed {
    entries: Vec<Value>,
    total: usize,
    stale: usize,
}

impl Listed {
    pub(crate) fn add(&mut self, entry: Value) {
        self.total += 1;
        self.stale += usize::from(entry.get("old").is_some());
        if self.entries.len() < MAX_LISTED {
            self.entries.push(entry);
        }
    }

    pub(crate) fn into_facts(self, edit: &mut Edit) {
        if self.total == 0 {
            return;
        }
        edit.fact("references", self.entries);
        if self.total > MAX_LISTED {
            edit.fact("references_total", self.total);
        }
    }
}

//! Groups of nodes: which there are, which are saved, and which come from another scene.

use godot::classes::{Node, PackedScene, ResourceLoader, SceneState};
use godot::global::Error;
use godot::obj::{Gd, NewGd, Singleton};

use super::scene::Scene;

/// Inherited scenes that are followed before a chain counts as endless.
const MAX_BASES: usize = 32;

/// Groups of a node without the engine's own, sorted.
pub(crate) fn of(node: &Gd<Node>) -> Vec<String> {
    let mut names: Vec<String> = node.get_groups().iter_shared().map(|it| it.to_string()).collect();
    names.retain(|it| !it.starts_with('_'));
    names.sort();
    names
}

/// Whether the membership is saved with the scene, here or in the scene that the node comes from.
///
/// The engine does not tell it of a node, so the scene is packed: what is saved is in the result. A
/// node that is not saved has no membership that is.
pub(crate) fn is_persistent(scene: &Scene, node: &Gd<Node>, group: &str) -> bool {
    if is_from_base(scene, node, group) {
        return true;
    }
    let mut packed = PackedScene::new_gd();
    if packed.pack(scene.root()) != Error::OK {
        return false;
    }
    let path = scene.path_of(node);
    packed.get_state().is_some_and(|state| state_has(&state, &path, group))
}

/// Whether the instanced scene, or a base scene, that brings the node along has it in the group.
pub(crate) fn is_from_base(scene: &Scene, node: &Gd<Node>, group: &str) -> bool {
    let mut sources: Vec<(Gd<SceneState>, String)> = Vec::new();
    // The scenes of which the node is the root, or inside: its own, and every one above it.
    let mut at = Some(node.clone());
    while let Some(owner) = at {
        let file = owner.get_scene_file_path().to_string();
        if owner != *scene.root() && !file.is_empty() {
            if let Some(state) = state_of(&file) {
                sources.push((state, relative(&owner, node)));
            }
        } else if owner == *scene.root()
            && let Some(base) = base_of(scene)
        {
            sources.push((base, relative(&owner, node)));
        }
        at = (owner != *scene.root()).then(|| owner.get_parent()).flatten();
    }
    sources.into_iter().any(|(state, path)| chain_has(state, &path, group))
}

fn relative(from: &Gd<Node>, node: &Gd<Node>) -> String {
    if from == node { ".".to_owned() } else { from.get_path_to(node).to_string() }
}

fn chain_has(state: Gd<SceneState>, path: &str, group: &str) -> bool {
    let mut next = Some(state);
    for _ in 0..MAX_BASES {
        let Some(state) = next else { return false };
        if state_has(&state, path, group) {
            return true;
        }
        next = state.get_base_scene_state();
    }
    false
}

fn state_has(state: &Gd<SceneState>, path: &str, group: &str) -> bool {
    (0..state.get_node_count()).any(|index| {
        tidy(&state.get_node_path(index).to_string()) == path && has_group(state, index, group)
    })
}

/// `SceneState` writes `./A/B` where paths of nodes are `A/B`.
fn tidy(path: &str) -> &str {
    path.strip_prefix("./").unwrap_or(path)
}

fn has_group(state: &Gd<SceneState>, index: i32, group: &str) -> bool {
    state.get_node_groups(index).as_slice().iter().any(|it| *it == group)
}

fn state_of(file: &str) -> Option<Gd<SceneState>> {
    let mut loader = ResourceLoader::singleton();
    if !loader.exists(file) {
        return None;
    }
    loader.load(file)?.try_cast::<PackedScene>().ok()?.get_state()
}

/// The scene from which the edited one is inherited. Packing asks nothing of its file, which may be
/// older or missing.
fn base_of(scene: &Scene) -> Option<Gd<SceneState>> {
    let mut packed = PackedScene::new_gd();
    if packed.pack(scene.root()) != Error::OK {
        return None;
    }
    packed.get_state()?.get_base_scene_state()
}

//! References to nodes of the edited scene, by path (S8.4).

use godot::prelude::*;
use godot_mcp_core::ToolError;
use godot_mcp_core::suggest::near;
use serde_json::{Value, json};

use super::slot::Slot;
use super::{Context, classes, kinds};

/// Nodes whose paths are offered as near ones.
const MAX_LISTED: usize = 2000;

/// The node at `path`, which counts from the scene root, or from the written object when it starts
/// with `./` or `../`.
pub(super) fn by_path(path: &str, slot: &Slot, context: &Context) -> Result<Variant, ToolError> {
    let invalid = |message: String| {
        ToolError::invalid(slot.name.clone(), message).hint(kinds::forms(slot))
    };
    let Some(root) = &context.scene_root else {
        return Err(invalid(format!("there is no scene in which \"{path}\" could be a node")));
    };
    let Some(node) = find(path, root, context) else {
        let near = near(path, &paths_below(root), 5);
        let error = ToolError::not_found(format!("no node at \"{path}\""));
        let error =
            if near.is_empty() { error.hint(kinds::forms(slot)) } else { error.suggest(near) };
        return Err(error.required(slot.name.clone()));
    };
    if !in_scene(&node, root) {
        return Err(invalid(format!("\"{path}\" is outside the edited scene")));
    }
    let object = node.clone().upcast::<Object>();
    let wanted = slot.classes();
    if !wanted.is_empty() && !wanted.iter().any(|it| classes::is_a(&object, it)) {
        let found = kinds::with_article(&classes::name_of(&object));
        let wanted = kinds::with_article(&wanted.join(" or "));
        return Err(invalid(format!("\"{path}\" is {found}, not {wanted}")));
    }
    Ok(node.to_variant())
}

fn find(path: &str, root: &Gd<Node>, context: &Context) -> Option<Gd<Node>> {
    let path = path.trim();
    if matches!(path, "" | "." | "/") {
        return Some(root.clone());
    }
    // A colon starts a property, which is no node.
    if path.contains(':') {
        return None;
    }
    let name = root.get_name().to_string();
    // The path that the node has in the running game. The engine is not asked: in the editor the
    // scene lies elsewhere, and an absolute path from outside the tree prints an error.
    if let Some(rest) = path.strip_prefix("/root") {
        let rest = rest.strip_prefix('/')?.strip_prefix(&name)?;
        return below(rest, root);
    }
    let path = path.trim_start_matches('/');
    if path.starts_with("./") || path.starts_with("..") {
        let object = context.object.clone().and_then(|it| it.try_cast::<Node>().ok());
        return object.unwrap_or_else(|| root.clone()).get_node_or_null(path);
    }
    if let Some(node) = root.get_node_or_null(path) {
        return Some(node);
    }
    // The root's own name in front, as people read it in the tree.
    below(path.strip_prefix(&name)?, root)
}

/// The node at `/Child/...` below the root, or the root for nothing.
fn below(rest: &str, root: &Gd<Node>) -> Option<Gd<Node>> {
    match rest.strip_prefix('/') {
        Some(rest) => root.get_node_or_null(rest),
        None => rest.is_empty().then(|| root.clone()),
    }
}

fn in_scene(node: &Gd<Node>, root: &Gd<Node>) -> bool {
    node == root || root.is_ancestor_of(node)
}

fn paths_below(root: &Gd<Node>) -> Vec<String> {
    let mut paths = Vec::new();
    let mut open = vec![root.clone()];
    while let Some(node) = open.pop()
        && paths.len() < MAX_LISTED
    {
        for child in node.get_children().iter_shared() {
            paths.push(root.get_path_to(&child).to_string());
            open.push(child);
        }
    }
    paths
}

/// The read form: the path from the root, tagged where the slot does not say that it is a node.
pub(super) fn encode(node: &Gd<Node>, slot: Option<&Slot>, context: &Context) -> Value {
    match &context.scene_root {
        Some(root) if in_scene(node, root) => {
            let path = root.get_path_to(node).to_string();
            if slot.is_some_and(Slot::is_node) {
                Value::from(path)
            } else {
                json!({ "type": "Node", "path": path })
            }
        }
        _ => json!({
            "type": "Node",
            "class": node.get_class().to_string(),
            "name": node.get_name().to_string(),
            "outside": true,
        }),
    }
}

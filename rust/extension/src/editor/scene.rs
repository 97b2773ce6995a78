//! The edited scene and the one resolver of node paths (S8.4).

use godot::builtin::NodePath;
use godot::classes::Node;
use godot::obj::Gd;
use godot_mcp_core::args::NodeRef;
use godot_mcp_core::{Code, ToolError, suggest};

/// Nodes that are looked through for near paths; enough for any hint.
const MAX_NEAR_NODES: usize = 5_000;

/// The scene in the current tab.
#[derive(Clone)]
pub(crate) struct Scene {
    root: Gd<Node>,
}

impl Scene {
    pub(crate) fn new(root: Gd<Node>) -> Self {
        Self { root }
    }

    pub(crate) fn root(&self) -> &Gd<Node> {
        &self.root
    }

    /// `res://` path of the file; empty when the scene was never saved.
    pub(crate) fn file(&self) -> String {
        self.root.get_scene_file_path().to_string()
    }

    /// Resolves every form of S8.4: `.`, empty, `/`, `/root/Scene/...`, the root's name, relative
    /// paths, `%Unique`, and the editor's full path. A node outside the scene is refused.
    pub(crate) fn node(&self, path: &NodeRef) -> Result<Gd<Node>, ToolError> {
        self.resolve(path.as_str(), "node_path")
    }

    /// As `node`, for a parameter of another name.
    pub(crate) fn node_at(
        &self,
        path: &NodeRef,
        parameter: &'static str,
    ) -> Result<Gd<Node>, ToolError> {
        self.resolve(path.as_str(), parameter)
    }

    fn resolve(&self, text: &str, parameter: &'static str) -> Result<Gd<Node>, ToolError> {
        match self.find(text) {
            Some(node) if self.contains(&node) => Ok(node),
            Some(_) => Err(outside(text, parameter)),
            None if text.split('/').any(|it| it == "..") => Err(outside(text, parameter)),
            None => {
                let near = self.near(text);
                let error =
                    ToolError::not_found(format!("no node at \"{text}\"")).required(parameter);
                Err(if near.is_empty() {
                    error.hint("`get_scene_tree` lists the nodes of the edited scene")
                } else {
                    error.suggest(near)
                })
            }
        }
    }

    /// A node by any accepted form, which may still lie outside the scene.
    pub(crate) fn find(&self, text: &str) -> Option<Gd<Node>> {
        let text = text.trim_end_matches('/');
        if text.is_empty() || text == "." || text == "/root" && self.root.get_name() == "root" {
            return Some(self.root.clone());
        }
        let name = self.root.get_name().to_string();
        if let Some(rest) = text.strip_prefix('/') {
            // `/root/Main/Player` and `/Main/Player` mean the scene's root, wherever the editor
            // keeps it; anything else is taken as a full path of the editor's own tree.
            let tail = rest.strip_prefix("root/").unwrap_or(rest);
            if let Some(node) = self.below_root(tail, &name) {
                return Some(node);
            }
            return self.get(&self.root, text).or_else(|| self.get(&self.root, rest));
        }
        self.get(&self.root, text).or_else(|| self.below_root(text, &name))
    }

    /// `Main` or `Main/Player`, with the root's own name in front.
    fn below_root(&self, text: &str, name: &str) -> Option<Gd<Node>> {
        match text.strip_prefix(name)? {
            "" => Some(self.root.clone()),
            rest => self.get(&self.root, rest.strip_prefix('/')?),
        }
    }

    fn get(&self, from: &Gd<Node>, path: &str) -> Option<Gd<Node>> {
        let path = NodePath::from(path);
        // A property part, as in `Player:position`, is no node.
        if path.get_subname_count() > 0 {
            return None;
        }
        from.get_node_or_null(&path)
    }

    pub(crate) fn contains(&self, node: &Gd<Node>) -> bool {
        *node == self.root || self.root.is_ancestor_of(node)
    }

    /// Path from the root, `.` for the root itself.
    pub(crate) fn path_of(&self, node: &Gd<Node>) -> String {
        if *node == self.root { ".".to_owned() } else { self.root.get_path_to(node).to_string() }
    }

    /// Refuses the root, for calls that make no sense on it.
    pub(crate) fn not_root(&self, node: &Gd<Node>, what: &str) -> Result<(), ToolError> {
        if *node != self.root {
            return Ok(());
        }
        Err(ToolError::new(Code::ValidationError, format!("the scene's root cannot be {what}"))
            .required("node_path")
            .hint("name a node below it"))
    }

    /// Paths that are close to a wrong one: nodes of a similar name, then the children of the part
    /// that exists.
    fn near(&self, text: &str) -> Vec<String> {
        let wanted = text.trim_matches('/').rsplit('/').next().unwrap_or_default();
        let wanted = wanted.trim_start_matches('%');
        let mut named: Vec<(String, String)> = Vec::new();
        walk(&self.root, &mut |node, _| {
            named.push((node.get_name().to_string(), self.path_of(node)));
            named.len() < MAX_NEAR_NODES
        });
        let names = suggest::near(wanted, named.iter().map(|it| it.0.as_str()), 5);
        let mut paths: Vec<String> = Vec::new();
        for name in names {
            paths.extend(named.iter().filter(|it| it.0 == name).map(|it| it.1.clone()));
        }
        if paths.is_empty()
            && let Some((parent, _)) = text.rsplit_once('/')
            && let Some(parent) = self.find(parent).filter(|it| self.contains(it))
        {
            let children = parent.get_children();
            paths.extend(children.iter_shared().map(|it| self.path_of(&it)));
        }
        paths.truncate(5);
        paths
    }
}

fn outside(text: &str, parameter: &'static str) -> ToolError {
    ToolError::new(Code::ValidationError, format!("\"{text}\" is outside the edited scene"))
        .required(parameter)
        .hint("give a path from the scene's root, such as \"Player/Sprite\"; \".\" is the root")
}

/// Visits a branch in tree order, depth first, until `visit` says stop. False when it did.
pub(crate) fn walk(node: &Gd<Node>, visit: &mut dyn FnMut(&Gd<Node>, usize) -> bool) -> bool {
    walk_below(node, 0, visit)
}

fn walk_below(
    node: &Gd<Node>,
    depth: usize,
    visit: &mut dyn FnMut(&Gd<Node>, usize) -> bool,
) -> bool {
    visit(node, depth)
        && node.get_children().iter_shared().all(|it| walk_below(&it, depth + 1, visit))
}

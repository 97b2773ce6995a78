use std::collections::HashMap;

use crate::editor::inspect::MAX_ANSWER;
use crate::editor::raw_node::{Methods, RawNode};
use crate::editor::scene_tree::{self, Owner, Reader};
use crate::tool_prelude::*;

/// The nodes of the edited scene, one line each: name, type, and marks for script, instance, inner
/// (of an instance), unowned, hidden and unique name (%).
#[derive(Deserialize, JsonSchema)]
pub(crate) struct GetSceneTree {
    /// Levels below the first node; -1 for all.
    #[serde(default = "all_levels")]
    #[schemars(range(min = -1, max = 1000))]
    max_depth: i64,
    /// Only names and types.
    #[serde(default)]
    lightweight: bool,
    #[serde(default)]
    format: Format,
    /// Branch to show.
    #[serde(default)]
    node_path: Option<NodeRef>,
    /// Most nodes in one answer.
    #[serde(default = "many_nodes")]
    #[schemars(range(min = 1, max = 10_000))]
    max_nodes: usize,
    /// From the previous page of an outline.
    #[serde(default)]
    cursor: Option<String>,
}

fn all_levels() -> i64 {
    -1
}

fn many_nodes() -> usize {
    2_000
}

#[derive(Clone, Copy, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Format {
    #[default]
    Outline,
    Json,
}

impl Tool for GetSceneTree {
    const NAME: &'static str = "get_scene_tree";
    const TOOLSET: &'static str = "inspection";

    fn examples() -> Vec<Example> {
        let before = r#"
[node name="Main" type="Node2D"]
[node name="Player" type="CharacterBody2D" parent="."]
[node name="Sprite" type="Sprite2D" parent="Player"]
visible = false
[node name="Title" type="Label" parent="."]
unique_name_in_owner = true"#;
        vec![
            Example::text(
                "Outlines the scene.",
                before,
                &[
                    "Main Node2D",
                    " Player CharacterBody2D",
                    "  Sprite Sprite2D hidden",
                    " Title Label %",
                ],
            ),
            Example::text(
                "Outlines a branch down to a depth, and says what is below.",
                before,
                &["Main Node2D", " Player CharacterBody2D +1 children"],
            )
            .args(json!({"max_depth": 1})),
            Example::answer(
                "Answers nested objects.",
                before,
                json!({"root": {"name": "Player", "type": "CharacterBody2D", "path": "Player"}}),
            )
            .args(json!({"node_path": "Player", "format": "json"})),
            Example::refusal("Refuses an unknown branch.", before, Code::ResourceNotFound)
                .args(json!({"node_path": "Playr"})),
        ]
    }
}

impl ReadTool for GetSceneTree {
    fn run(self, editor: &Editor) -> Result<Outcome, ToolError> {
        let scene = editor.edited_scene()?;
        let top = match &self.node_path {
            Some(path) => scene.node(path)?,
            None => scene.root().clone(),
        };
        let Some(methods) = Methods::find() else {
            return Err(ToolError::internal("the engine lacks a method of nodes"));
        };
        // SAFETY: this is the main thread, the scene keeps both alive, and the walks below only
        // read nodes and classes.
        let (root, raw) =
            unsafe { (RawNode::new(scene.root(), &methods), RawNode::new(&top, &methods)) };
        let path = scene.path_of(&top);
        match self.format {
            Format::Outline => self.outline(&scene.file(), root, raw, &path),
            Format::Json => self.json(&scene.file(), root, raw, path),
        }
    }
}

impl GetSceneTree {
    fn max_depth(&self) -> usize {
        usize::try_from(self.max_depth).unwrap_or(usize::MAX)
    }

    fn outline(
        &self,
        file: &str,
        root: RawNode,
        top: RawNode,
        path: &str,
    ) -> Result<Outcome, ToolError> {
        let cursor = self.cursor.as_deref().map(Cursor::parse).transpose()?;
        let mut page = Page {
            reader: Reader::new(root, self.lightweight),
            max_depth: self.max_depth(),
            max_nodes: self.max_nodes,
            start: cursor.as_ref().map(|it| it.path.clone()),
            next: None,
            text: String::new(),
            shown: 0,
            total: 0,
        };
        page.visit(top, top.name(), path, 0);
        if let Some(start) = page.start {
            return Err(ToolError::new(
                Code::StateChanged,
                format!("the node \"{start}\" of the cursor is gone"),
            )
            .required("cursor")
            .hint("the tree changed; call again without a cursor"));
        }
        let mut text = match file {
            "" => "scene (never saved)".to_owned(),
            file => format!("scene {file}"),
        };
        text.push_str(&format!(", {} of {} nodes\n", page.shown, page.total));
        if let Some(cursor) = cursor {
            if cursor.total != page.total {
                text.push_str(&format!(
                    "the tree changed since the previous page: {} nodes then, {} now\n",
                    cursor.total, page.total
                ));
            }
            text.push_str(&format!("continues at {}\n", cursor.path));
        }
        text.push_str(&page.text);
        if let Some(next) = page.next {
            text.push_str(&format!("more: call again with cursor \"{}:{next}\"\n", page.total));
        }
        Ok(Outcome::Done(Reply::Text(text)))
    }

    fn json(
        &self,
        file: &str,
        root: RawNode,
        top: RawNode,
        path: String,
    ) -> Result<Outcome, ToolError> {
        if self.cursor.is_some() {
            return Err(ToolError::invalid("cursor", "a cursor continues outlines only")
                .hint("for JSON, give `node_path` and `max_depth`"));
        }
        let (full, mut nested) = self.nested(root, top, path.clone(), self.lightweight);
        let too_long = !self.lightweight && full.to_string().len() > MAX_ANSWER;
        let mut tree = full;
        if too_long {
            (tree, nested) = self.nested(root, top, path, true);
        }
        let cut = nested.shown < nested.total;
        let mut answer = json!({
            "scene_path": file,
            "nodes": nested.shown,
            "total": nested.total,
            "truncated": too_long || cut,
        });
        if too_long {
            answer["lightweight"] = json!(true);
        }
        if cut {
            answer["hint"] =
                json!("nodes with children_cut have more; give node_path, or raise max_nodes");
        }
        answer["root"] = tree;
        Ok(answer.into())
    }

    fn nested<'a>(
        &self,
        root: RawNode<'a>,
        top: RawNode,
        path: String,
        lightweight: bool,
    ) -> (Value, Nested<'a>) {
        let mut nested = Nested {
            reader: Reader::new(root, lightweight),
            lightweight,
            max_depth: self.max_depth(),
            max_nodes: self.max_nodes,
            instances: HashMap::new(),
            shown: 0,
            total: 0,
        };
        let tree = nested.node(top, top.name(), path, 0);
        (tree, nested)
    }
}

/// Where a page begins: the number of nodes that the tree had, and the path of the node.
struct Cursor {
    total: usize,
    path: String,
}

impl Cursor {
    fn parse(text: &str) -> Result<Self, ToolError> {
        let parts =
            text.split_once(':').and_then(|(total, path)| Some((total.parse().ok()?, path)));
        match parts {
            Some((total, path)) => Ok(Self { total, path: path.to_owned() }),
            None => Err(ToolError::invalid("cursor", format!("\"{text}\" is not a cursor"))
                .hint("take it from the last line of the previous page")),
        }
    }
}

/// One page of an outline. What does not fit is counted, not shown.
struct Page<'a> {
    reader: Reader<'a>,
    max_depth: usize,
    max_nodes: usize,
    /// Skipped up to this path; none once it was reached.
    start: Option<String>,
    next: Option<String>,
    text: String,
    shown: usize,
    total: usize,
}

impl Page<'_> {
    fn visit(&mut self, node: RawNode, name: String, path: &str, depth: usize) {
        self.total += 1;
        if self.start.as_deref() == Some(path) {
            self.start = None;
        }
        let below = node.child_count();
        let cut = depth >= self.max_depth;
        if self.next.is_none() && self.start.is_none() {
            if self.shown >= self.max_nodes || self.text.len() > MAX_ANSWER {
                self.next = Some(path.to_owned());
            } else {
                let hidden = if cut { usize::try_from(below).unwrap_or(0) } else { 0 };
                self.reader.row(node, name).line(depth, hidden, &mut self.text);
                self.shown += 1;
            }
        }
        if cut || below == 0 {
            return;
        }
        for child in (0..below).filter_map(|it| node.child(it)) {
            // After the page nodes are only counted, which needs no names.
            let (name, path) = match self.next {
                Some(_) => (String::new(), String::new()),
                None => {
                    let name = child.name();
                    let path = scene_tree::join(path, &name);
                    (name, path)
                }
            };
            self.visit(child, name, &path, depth + 1);
        }
    }
}

/// Nested objects.
struct Nested<'a> {
    reader: Reader<'a>,
    lightweight: bool,
    max_depth: usize,
    max_nodes: usize,
    /// Paths of instances by the keys of their roots.
    instances: HashMap<usize, String>,
    shown: usize,
    total: usize,
}

impl Nested<'_> {
    fn node(&mut self, node: RawNode, name: String, path: String, depth: usize) -> Value {
        self.total += 1;
        self.shown += 1;
        let row = self.reader.row(node, name);
        let mut fields = row.fields(&path, self.lightweight);
        if let Owner::Instance(id) = row.owner
            && let Some(owner) = self.instances.get(&id)
        {
            fields.insert("owner".into(), json!(owner));
        } else if row.instance.is_some() && row.owner == Owner::Scene {
            fields.insert("owner".into(), json!("."));
        }
        if row.instance.is_some() {
            self.instances.insert(node.key(), path.clone());
        }
        if depth >= self.max_depth {
            let below = node.child_count();
            if below > 0 {
                fields.insert("child_count".into(), json!(below));
            }
            return Value::Object(fields);
        }
        let mut children = Vec::new();
        let mut cut = 0;
        for child in (0..node.child_count()).filter_map(|it| node.child(it)) {
            if self.shown >= self.max_nodes {
                cut += 1;
                self.total += count(child, self.max_depth - depth - 1);
            } else {
                let name = child.name();
                let path = scene_tree::join(&path, &name);
                children.push(self.node(child, name, path, depth + 1));
            }
        }
        if !children.is_empty() {
            fields.insert("children".into(), Value::Array(children));
        }
        if cut > 0 {
            fields.insert("children_cut".into(), json!(cut));
        }
        Value::Object(fields)
    }
}

fn count(node: RawNode, depth: usize) -> usize {
    if depth == 0 {
        return 1;
    }
    let children = (0..node.child_count()).filter_map(|it| node.child(it));
    1 + children.map(|it| count(it, depth - 1)).sum::<usize>()
}

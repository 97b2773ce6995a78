use godot::classes::{ClassDb, Node};
use godot::obj::{Gd, Singleton};

use crate::editor::{inspect, scene_tree};
use crate::tool_prelude::*;

/// Finds nodes of a class of engine or script, derived ones included.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct FindNodesByType {
    node_type: Identifier,
    #[serde(default = "root")]
    parent_path: NodeRef,
    #[serde(default = "yes")]
    recursive: bool,
    #[serde(default)]
    offset: usize,
    #[serde(default = "page_size")]
    #[schemars(range(min = 1, max = 1000))]
    limit: usize,
}

fn root() -> NodeRef {
    NodeRef::new(".").expect("a path")
}

fn yes() -> bool {
    true
}

fn page_size() -> usize {
    200
}

impl Tool for FindNodesByType {
    const NAME: &'static str = "find_nodes_by_type";
    const TOOLSET: &'static str = "batch";

    fn examples() -> Vec<Example> {
        let before = r#"
[node name="Main" type="Node2D"]
[node name="A" type="Sprite2D" parent="."]
[node name="B" type="Timer" parent="."]
[node name="C" type="AnimatedSprite2D" parent="A"]"#;
        vec![
            Example::answer(
                "Finds below a node, a page at a time.",
                before,
                json!({"nodes": [{"path": "A", "type": "Sprite2D"}], "total": 3}),
            )
            .args(json!({"node_type": "CanvasItem", "offset": 1, "limit": 1})),
            Example::answer(
                "Looks at children only.",
                before,
                json!({"nodes": [{"path": "A/C", "type": "AnimatedSprite2D"}], "total": 1}),
            )
            .args(json!({"node_type": "Node2D", "parent_path": "A", "recursive": false})),
            Example::refusal("Refuses an unknown class.", before, Code::ValidationError)
                .args(json!({"node_type": "Sprite2d"})),
        ]
    }
}

impl ReadTool for FindNodesByType {
    fn run(self, editor: &Editor) -> Result<Outcome, ToolError> {
        let scene = editor.edited_scene()?;
        let parent = scene.node_at(&self.parent_path, "parent_path")?;
        check_class(self.node_type.as_str(), "node_type")?;
        let found = of_type(&scene, &parent, self.node_type.as_str(), self.recursive);
        let page = inspect::fill(found.iter().skip(self.offset), self.limit, |(path, node)| {
            let mut entry = json!({"path": path, "type": node.get_class().to_string()});
            if let Some(script) = inspect::script_of(node) {
                entry["script"] = json!(script);
            }
            entry
        });
        let taken = page.len();
        let mut answer = json!({"nodes": page});
        inspect::page_fields(&mut answer, self.offset, taken, found.len());
        Ok(answer.into())
    }
}

/// Nodes below `parent`, in tree order. The scene's root counts when it is the parent and the whole
/// scene is asked about.
pub(super) fn of_type(
    scene: &Scene,
    parent: &Gd<Node>,
    class: &str,
    recursive: bool,
) -> Vec<(String, Gd<Node>)> {
    fn visit(
        node: &Gd<Node>,
        path: String,
        class: &str,
        recursive: bool,
        found: &mut Vec<(String, Gd<Node>)>,
    ) {
        for child in scene_tree::children(node) {
            let path = scene_tree::join(&path, &child.get_name().to_string());
            if values::is_a(&child.clone().upcast(), class) {
                found.push((path.clone(), child.clone()));
            }
            if recursive {
                visit(&child, path, class, recursive, found);
            }
        }
    }
    let mut found = Vec::new();
    let path = scene.path_of(parent);
    if recursive && parent == scene.root() && values::is_a(&parent.clone().upcast(), class) {
        found.push((path.clone(), parent.clone()));
    }
    visit(parent, path, class, recursive, &mut found);
    found
}

/// Refuses a class that neither engine nor project declare, or of which no node can be.
pub(super) fn check_class(class: &str, parameter: &'static str) -> Result<(), ToolError> {
    if values::class_exists(class) && (class == "Node" || values::derives(class, "Node")) {
        return Ok(());
    }
    let classes = ClassDb::singleton().get_inheriters_from_class("Node");
    let mut names: Vec<_> = classes.as_slice().iter().map(ToString::to_string).collect();
    names.retain(|it| !it.contains("Editor"));
    names.extend(values::script_class_names());
    let what = if values::class_exists(class) { "no node class" } else { "no class" };
    let error = ToolError::invalid(parameter, format!("\"{class}\" is {what}"));
    let near = suggest::near(class, &names, 5);
    Err(match near.is_empty() {
        true => error.hint("give an engine class such as \"Node2D\", or a script's `class_name`"),
        false => error.suggest(near),
    })
}

use super::find_nodes::check_class;
use crate::editor::spatial::{self, Placed};
use crate::editor::{inspect, scene_tree};
use crate::tool_prelude::*;
use godot::classes::{Node, Object};
use godot::obj::Gd;

/// Where 2D, 3D and UI nodes are: world position, rotation in degrees, bounds, and which bounds
/// overlap.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct GetSpatialMap {
    #[serde(default)]
    root_path: Option<NodeRef>,
    /// Class of engine or script; derived ones match.
    #[serde(default)]
    class_filter: Option<Identifier>,
    #[serde(default)]
    offset: usize,
    #[serde(default = "page_size")]
    #[schemars(range(min = 1, max = 1000))]
    limit: usize,
}

fn page_size() -> usize {
    100
}

/// Overlapping pairs in one answer.
const MAX_OVERLAPS: usize = 100;

impl Tool for GetSpatialMap {
    const NAME: &'static str = "get_spatial_map";
    const TOOLSET: &'static str = "inspection";

    fn examples() -> Vec<Example> {
        let before = r#"
[node name="Main" type="Control"]
[node name="A" type="ColorRect" parent="."]
offset_right = 20.0
offset_bottom = 20.0
[node name="B" type="ColorRect" parent="."]
offset_left = 10.0
offset_top = 10.0
offset_right = 30.0
offset_bottom = 30.0"#;
        vec![
            Example::answer(
                "Finds what overlaps.",
                before,
                json!({"total": 2, "overlaps": [["A", "B"]]}),
            )
            .args(json!({"class_filter": "ColorRect"})),
            Example::refusal("Refuses an unknown node.", before, Code::ResourceNotFound)
                .args(json!({"root_path": "Player"})),
        ]
    }
}

impl ReadTool for GetSpatialMap {
    fn run(self, editor: &Editor) -> Result<Outcome, ToolError> {
        let scene = editor.edited_scene()?;
        let top = match &self.root_path {
            Some(path) => scene.node_at(path, "root_path")?,
            None => scene.root().clone(),
        };
        let class = self.class_filter.as_ref().map(Identifier::as_str);
        if let Some(class) = class {
            check_class(class)?;
        }
        let mut placed = Vec::new();
        collect(&top, scene.path_of(&top), class, None, &mut placed);
        let page = inspect::fill(placed.iter().skip(self.offset), self.limit, Placed::to_json);
        let taken = page.len();
        let (overlaps, overlap_count) = spatial::overlaps(&placed, MAX_OVERLAPS);
        let mut answer = json!({"nodes": page});
        inspect::page_fields(&mut answer, self.offset, taken, placed.len());
        answer["overlaps"] = json!(overlaps);
        if overlap_count > overlaps.len() {
            answer["overlap_count"] = json!(overlap_count);
            answer["hint"] = json!("give root_path or class_filter to see the other overlaps");
        }
        Ok(answer.into())
    }
}

/// Nodes that have a place. `body` is the physics body that a node is part of: its sprite and its
/// shape lie over each other by design.
fn collect(
    node: &Gd<Node>,
    path: String,
    class: Option<&str>,
    body: Option<&str>,
    into: &mut Vec<Placed>,
) {
    let object: Gd<Object> = node.clone().upcast();
    let is_body = object.is_class("CollisionObject2D") || object.is_class("CollisionObject3D");
    let body = if is_body { Some(path.as_str()) } else { body };
    if class.is_none_or(|it| values::is_a(&object, it))
        && let Some(placed) = Placed::of(node, &path, body)
    {
        into.push(placed);
    }
    for child in scene_tree::children(node) {
        let path = scene_tree::join(&path, &child.get_name().to_string());
        collect(&child, path, class, body, into);
    }
}

use godot::classes::Script;
use godot::obj::Gd;

use crate::editor::new_nodes::{self, Blueprint};
use crate::editor::node_classes::NodeClass;
use crate::editor::{attachable, saving};
use crate::tool_prelude::*;

/// Nodes that one call makes.
const MAX_NODES: usize = 5_000;
/// Nesting of children.
const MAX_DEPTH: usize = 64;

/// Adds a node with properties, script and children in one step.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ComposeNode {
    parent_path: NodeRef,
    node_type: Identifier,
    node_name: NodeName,
    #[serde(default)]
    properties: Option<Map<String, Value>>,
    #[serde(default)]
    script_path: Option<ResourcePath>,
    /// With node_type, node_name, properties, script_path, children.
    #[serde(default)]
    children: Option<Vec<Map<String, Value>>>,
    #[serde(default)]
    save: bool,
}

/// A node of `children`. The gate has not seen what is in it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Child {
    node_type: Identifier,
    node_name: NodeName,
    properties: Option<Map<String, Value>>,
    script_path: Option<ResourcePath>,
    children: Option<Vec<Map<String, Value>>>,
}

/// What a blueprint refers to.
struct Part {
    class: NodeClass,
    name: String,
    script: Option<Gd<Script>>,
    properties: Map<String, Value>,
    children: Vec<Part>,
}

impl Tool for ComposeNode {
    const NAME: &'static str = "compose_node";
    const TOOLSET: &'static str = "composite";

    fn adjust(spec: &mut ToolSpec) {
        spec.edits_scene = true;
        spec.free_text = true;
    }

    fn examples() -> Vec<Example> {
        let before = r#"
[node name="Main" type="Node2D"]
;- res://player.gd
extends CharacterBody2D

@export var speed := 1.0"#;
        let after = r#"
[ext_resource type="Script" path="res://player.gd" id="1"]
[sub_resource type="CircleShape2D" id="2"]
radius = 4.0
[node name="Main" type="Node2D"]
[node name="Player" type="CharacterBody2D" parent="."]
position = Vector2(1, 2)
script = ExtResource("1")
speed = 9.0
[node name="Shape" type="CollisionShape2D" parent="Player"]
shape = SubResource("2")
[node name="Eyes" type="Node2D" parent="Player"]
[node name="Eye" type="Sprite2D" parent="Player/Eyes"]
[node name="Eye2" type="Sprite2D" parent="Player/Eyes"]"#;
        let child = |children: Value| {
            json!({
                "parent_path": ".", "node_type": "Node2D", "node_name": "A", "children": children
            })
        };
        vec![
            Example::edit("Makes a player with shape and script.", before, after).args(json!({
                "parent_path": ".", "node_type": "CharacterBody2D", "node_name": "Player",
                "properties": {"position": [1, 2], "speed": 9},
                "script_path": "res://player.gd",
                "children": [
                    {"node_type": "CollisionShape2D", "node_name": "Shape", "properties": {"shape": {
                        "type": "NewResource", "class": "CircleShape2D", "properties": {"radius": 4}
                    }}},
                    {"node_type": "Node2D", "node_name": "Eyes", "children": [
                        {"node_type": "Sprite2D", "node_name": "Eye"},
                        {"node_type": "Sprite2D", "node_name": "Eye"}
                    ]}
                ]
            })),
            Example::refusal("Refuses an unknown property far down.", before, Code::ValidationError)
                .args(child(json!([{"node_type": "Node2D", "node_name": "B", "children": [
                    {"node_type": "Node2D", "node_name": "C", "properties": {"positon": [1, 2]}}
                ]}]))),
            Example::refusal("Refuses an unknown key of a child.", before, Code::ValidationError)
                .args(child(json!([{"node_type": "Node2D", "node_name": "B", "nodes": []}]))),
            Example::refusal("Refuses to leave the project.", before, Code::PathDenied).args(child(
                json!([{"node_type": "Node2D", "node_name": "B", "script_path": "res://../x.gd"}]),
            )),
        ]
    }
}

impl EditTool for ComposeNode {
    const CLASS: SafetyClass = SafetyClass::Mutating;

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let scene = editor.edited_scene()?;
        let parent = scene.node_at(&self.parent_path, "parent_path")?;
        let wanted = self.node_name.as_str().to_owned();
        let top = Child {
            node_type: self.node_type,
            node_name: self.node_name,
            properties: self.properties,
            script_path: self.script_path,
            children: self.children,
        };
        let mut count = 0;
        let mut part = Part::new(editor, top, "", 0, &mut count)?;
        part.name = branch::free_name(&parent, &wanted, None);

        let mut edit = Edit::in_scene(&scene, format!("Compose {}", part.name));
        saving::afterwards(&mut edit, &scene, self.save, "save")?;
        let path = new_nodes::add(&mut edit, editor, &scene, &parent, None, &part.blueprint())?;
        edit.fact("node_path", path);
        edit.fact("nodes", count);
        if part.name != wanted {
            edit.fact("renamed_from", wanted);
        }
        Ok(edit)
    }
}

impl Part {
    /// `place` is the way to the child in the arguments; empty for the top.
    fn new(
        editor: &Editor,
        child: Child,
        place: &str,
        depth: usize,
        count: &mut usize,
    ) -> Result<Self, ToolError> {
        *count += 1;
        if *count > MAX_NODES || depth > MAX_DEPTH {
            let message = format!("more than {MAX_NODES} nodes, or {MAX_DEPTH} levels of them");
            return Err(ToolError::invalid("children", message).hint("split it into several calls"));
        }
        let at = |error: ToolError| match place {
            "" => error,
            _ => error.at(place).required("children"),
        };
        let class = NodeClass::named(child.node_type.as_str(), "node_type").map_err(at)?;
        let script = match &child.script_path {
            Some(path) => Some(script(editor, path, &class).map_err(at)?),
            None => None,
        };
        let mut children = Vec::new();
        for (index, map) in child.children.unwrap_or_default().into_iter().enumerate() {
            let below =
                format!("{place}{}children/{index}", if place.is_empty() { "" } else { "/" });
            // First by itself, so that a path that leads out is told as everywhere.
            if let Some(Value::String(path)) = map.get("script_path")
                && !path.starts_with("uid://")
            {
                editor.check_read(path).map_err(|it| it.required("children"))?;
            }
            let child = serde_json::from_value(Value::Object(map)).map_err(|it| {
                ToolError::invalid("children", format!("{below}: {it}")).hint(
                    "a child has node_type and node_name, and may have properties, script_path and children",
                )
            })?;
            children.push(Self::new(editor, child, &below, depth + 1, count)?);
        }
        Ok(Self {
            class,
            name: child.node_name.as_str().to_owned(),
            script,
            properties: child.properties.unwrap_or_default(),
            children,
        })
    }

    fn blueprint(&self) -> Blueprint<'_> {
        Blueprint {
            class: &self.class,
            name: self.name.clone(),
            script: self.script.clone(),
            properties: &self.properties,
            children: self.children.iter().map(Self::blueprint).collect(),
        }
    }
}

fn script(
    editor: &Editor,
    path: &ResourcePath,
    class: &NodeClass,
) -> Result<Gd<Script>, ToolError> {
    let path = editor.resource_path(path)?;
    editor.check_read(&path).map_err(|it| it.required("script_path"))?;
    if class.script.is_some() {
        let message = format!("\"{}\" is the class of a script already", class.name);
        return Err(ToolError::invalid("script_path", message).hint("leave script_path out"));
    }
    attachable::script(editor, &path, &class.native.as_str().into(), "script_path")
}

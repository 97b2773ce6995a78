use godot::builtin::Variant;
use godot::classes::{Node, Object, Resource, Script};
use godot::obj::Gd;

use crate::editor::{properties, references};
use crate::tool_prelude::*;

/// Sets one property of a node. The value is checked against the property's type, written and read
/// back. Resources take `res://` or `uid://`, exported nodes a node path, null clears them.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct SetNodeProperty {
    /// Node, as a path from the scene's root.
    node_path: NodeRef,
    /// Property, for example `position`; `shape:size` is one of the resource in `shape`.
    property: Identifier,
    /// New value: JSON, named components `{"x":1,"y":2}`, or Godot's spelling `"Vector2(1, 2)"`.
    value: AnyValue,
}

impl Tool for SetNodeProperty {
    const NAME: &'static str = "set_node_property";
    const TOOLSET: &'static str = "scene_edit";

    fn adjust(spec: &mut ToolSpec) {
        spec.edits_scene = true;
    }

    fn examples() -> Vec<Example> {
        let before = r#"
[node name="Main" type="Node2D"]
[node name="Player" type="Node2D" parent="."]"#;
        let after = r#"
[node name="Main" type="Node2D"]
[node name="Player" type="Node2D" parent="."]
position = Vector2(1, 2)"#;
        let bar = r#"
[node name="Main" type="Node2D"]
[node name="Bar" type="ProgressBar" parent="."]"#;
        vec![
            Example::edit("Moves a node.", before, after).args(json!({
                "node_path": "Player", "property": "position", "value": {"x": 1, "y": 2}
            })),
            Example::answer(
                "Tells when the engine limits a value.",
                bar,
                json!({"applied_value": 100, "clamped": true}),
            )
            .args(json!({"node_path": "Bar", "property": "value", "value": 150})),
            Example::refusal("Refuses a value of another type.", before, Code::ValidationError)
                .args(json!({"node_path": "Player", "property": "position", "value": "banana"})),
            Example::refusal("Refuses an unknown node.", before, Code::ResourceNotFound)
                .args(json!({"node_path": "Playr", "property": "position", "value": [1, 2]})),
        ]
    }
}

impl EditTool for SetNodeProperty {
    const CLASS: SafetyClass = SafetyClass::Mutating;

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let scene = editor.edited_scene()?;
        let node = scene.node(&self.node_path)?;
        let target = Target::of(&scene, &node, self.property.as_str())?;
        let (object, property) = (&target.object, target.property);
        let slot = properties::writable(object, property)?;
        let check = |path: &str| editor.check_read(path);
        let context = editor.values(Some(object), &check);
        let old = object.get(property);
        let value = values::decode(&self.value.0, &slot, &old, &context);
        let value = value.map_err(|it| it.required("value"))?;

        let mut edit =
            Edit::in_scene(&scene, format!("Set {} of {}", self.property, node.get_name()));
        edit.fact("old_value", values::encode(&old, Some(&slot), &context));
        edit.fact("value", values::encode(&value, Some(&slot), &context));
        edit.verdict(persistence::of_value(target.verdict, object, &slot, &value));
        if values::equal(&value, &old) {
            return Ok(edit);
        }
        match property {
            "script" => {
                check_script(object, &value)?;
                edit.set_script(&scene.path_of(&node), object, &value);
            }
            "unique_name_in_owner" => {
                branch::may_be_unique(&scene, &node, value.booleanize(), "property")?;
                edit.set_property(&scene.path_of(&node), object, property, &value);
            }
            _ => {
                let shown = format!("{}:{}", scene.path_of(&node), self.property);
                edit.set_property_as(&shown, object, property, &value);
            }
        }
        Ok(edit)
    }
}

/// The object that holds the property: the node, or a resource in one of its properties.
struct Target<'a> {
    object: Gd<Object>,
    property: &'a str,
    verdict: Verdict,
}

impl<'a> Target<'a> {
    fn of(scene: &Scene, node: &Gd<Node>, property: &'a str) -> Result<Self, ToolError> {
        let object: Gd<Object> = node.clone().upcast();
        let verdict = persistence::of_node(scene, node);
        if let Some((holder, inner)) = property.split_once(':') {
            return Self::in_resource(scene, object, holder, inner, verdict);
        }
        let refusal =
            |message: &str, hint: &str| Err(ToolError::invalid("property", message).hint(hint));
        match property {
            "name" => refusal("the name is not set as a property", "use `rename_node`"),
            "owner" | "multiplayer" | "scene_file_path" => refusal(
                &format!("\"{property}\" is the engine's own"),
                "the editor keeps it right by itself",
            ),
            // The player would start at once and change what it animates, past any undo.
            "current_animation" if node.is_class("AnimationPlayer") => refusal(
                "\"current_animation\" plays in the editor",
                "set \"autoplay\" to start with an animation",
            ),
            _ => Ok(Self { object, property, verdict }),
        }
    }

    fn in_resource(
        scene: &Scene,
        node: Gd<Object>,
        holder: &str,
        inner: &'a str,
        verdict: Verdict,
    ) -> Result<Self, ToolError> {
        properties::readable(&node, holder)?;
        let Ok(resource) = node.get(holder).try_to::<Gd<Resource>>() else {
            let message = format!(
                "\"{holder}\" holds {}, not a resource",
                values::summary(&node.get(holder))
            );
            return Err(ToolError::invalid("property", message)
                .hint(format!("set \"{holder}\" as a whole")));
        };
        if inner.contains(':') {
            return Err(ToolError::invalid(
                "property",
                "only one level of resources can be reached",
            )
            .hint(format!(
                "set \"{holder}:{}\" as a whole",
                inner.split(':').next().unwrap_or_default()
            )));
        }
        let verdict = match references::in_scene_file(scene, &resource) {
            true => verdict,
            false => Verdict::no(verdict.target, Reason::EmbeddedInOtherResource),
        };
        Ok(Self { object: resource.upcast(), property: inner, verdict })
    }
}

fn check_script(object: &Gd<Object>, value: &Variant) -> Result<(), ToolError> {
    let Ok(script) = value.try_to::<Gd<Script>>() else { return Ok(()) };
    let base = script.get_instance_base_type();
    if base.is_empty() || object.is_class(&base.to_string()) {
        return Ok(());
    }
    let message = format!(
        "\"{}\" extends {base}, but the node is a {}",
        script.get_path(),
        object.get_class()
    );
    Err(ToolError::invalid("value", message)
        .hint("attach it to a node of that class, or change what it extends"))
}

use godot::classes::Object;
use godot::obj::Gd;

use crate::editor::inspect;
use crate::editor::values::Slot;
use crate::tool_prelude::*;

/// One property of a node: value, type and allowed values. `exists` is false when there is none of
/// that name.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct GetNodeProperty {
    node_path: NodeRef,
    /// Also a part, such as `position:x`.
    property: Identifier,
}

impl Tool for GetNodeProperty {
    const NAME: &'static str = "get_node_property";
    const TOOLSET: &'static str = "inspection";

    fn examples() -> Vec<Example> {
        let before = r#"
[node name="Main" type="Node2D"]
[node name="Title" type="Label" parent="."]
text = "Hi""#;
        vec![
            Example::answer(
                "Reads a text.",
                before,
                json!({"exists": true, "value": "Hi", "type": "String"}),
            )
            .args(json!({"node_path": "Title", "property": "text"})),
            Example::answer(
                "Tells that a property is not there, and what was perhaps meant.",
                before,
                json!({"exists": false, "suggestions": ["text"]}),
            )
            .args(json!({"node_path": "Title", "property": "txt"})),
            Example::refusal("Refuses an unknown node.", before, Code::ResourceNotFound)
                .args(json!({"node_path": "Titel", "property": "text"})),
        ]
    }
}

impl ReadTool for GetNodeProperty {
    fn run(self, editor: &Editor) -> Result<Outcome, ToolError> {
        let scene = editor.edited_scene()?;
        let node = scene.node(&self.node_path)?;
        let object: Gd<Object> = node.clone().upcast();
        let check = |path: &str| editor.check_read(path);
        let context = editor.values(Some(&object), &check);
        let property = self.property.as_str();
        let mut answer = json!({
            "node_path": scene.path_of(&node),
            "property": property,
            "exists": true,
        });

        if let Some((base, _)) = property.split_once(':')
            && Slot::of(&object, base).is_some_and(|it| inspect::read(&object, &it).is_some())
            && let Some(value) = inspect::read_part(&object, property)
        {
            answer["value"] = values::encode(&value, None, &context);
            return Ok(answer.into());
        }
        let slot = Slot::of(&object, property);
        let Some((slot, value)) =
            slot.and_then(|it| inspect::read(&object, &it).map(|value| (it, value)))
        else {
            answer["exists"] = json!(false);
            let slots = Slot::all(&object);
            // It may be declared and yet not be there, as a draw pass that is not in use.
            let names = slots.iter().map(|it| it.name.as_str()).filter(|it| *it != property);
            let near = suggest::near(property, names, 5);
            if !near.is_empty() {
                answer["suggestions"] = json!(near);
            }
            return Ok(answer.into());
        };
        answer["type"] = json!(slot.type_name());
        answer["value"] = values::encode(&value, Some(&slot), &context);
        if answer.to_string().len() > inspect::MAX_ANSWER * 4 {
            return Err(ToolError::new(
                Code::ResponseTooLarge,
                format!("the value of \"{property}\" is too large: {}", values::summary(&value)),
            )
            .hint("read a part, such as \"property:key\""));
        }
        if let Some((key, hint)) = inspect::hint(&slot) {
            answer[key] = hint;
        }
        Ok(answer.into())
    }
}

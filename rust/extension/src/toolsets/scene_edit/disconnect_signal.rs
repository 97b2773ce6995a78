use godot::builtin::StringName;
use godot::meta::ToGodot;

use crate::editor::connections;
use crate::tool_prelude::*;

/// Removes a signal connection.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct DisconnectSignal {
    /// Node that emits.
    source_path: NodeRef,
    /// Its signal.
    signal_name: Identifier,
    /// Node that is called.
    target_path: NodeRef,
    /// Its method.
    method_name: Identifier,
}

impl Tool for DisconnectSignal {
    const NAME: &'static str = "disconnect_signal";
    const TOOLSET: &'static str = "scene_edit";

    fn adjust(spec: &mut ToolSpec) {
        spec.edits_scene = true;
    }

    fn examples() -> Vec<Example> {
        let before = r#"
[node name="Main" type="Node2D"]
[node name="Timer" type="Timer" parent="."]
[connection signal="timeout" from="Timer" to="." method="queue_redraw" flags=3]"#;
        let after = r#"
[node name="Main" type="Node2D"]
[node name="Timer" type="Timer" parent="."]"#;
        let args = |method: &str| {
            json!({
                "source_path": "Timer", "signal_name": "timeout", "target_path": ".", "method_name": method
            })
        };
        vec![
            Example::edit("Disconnects a timer.", before, after).args(args("queue_redraw")),
            Example::refusal("Refuses what is not connected.", before, Code::ResourceNotFound)
                .args(args("hide")),
        ]
    }
}

impl EditTool for DisconnectSignal {
    const CLASS: SafetyClass = SafetyClass::Destructive;

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let scene = editor.edited_scene()?;
        let source = scene.node_at(&self.source_path, "source_path")?;
        let target = scene.node_at(&self.target_path, "target_path")?;
        let (signal, method) = (self.signal_name.as_str(), self.method_name.as_str());
        connections::signal(&source, signal)?;
        let (from, to) = (scene.path_of(&source), scene.path_of(&target));
        let all = connections::of_signal(&source, signal);
        let matching = |it: &&connections::Connection| {
            it.method == method && it.target_in(&scene).as_ref() == Some(&target)
        };
        let Some(found) = all.iter().find(matching) else {
            let near: Vec<String> = all
                .iter()
                .filter_map(|it| {
                    Some(format!("{}:{}", scene.path_of(&it.target_in(&scene)?), it.method))
                })
                .take(5)
                .collect();
            let error = ToolError::not_found(format!(
                "\"{from}:{signal}\" is not connected to \"{to}:{method}\""
            ))
            .required("method_name");
            return Err(if near.is_empty() {
                error.hint("this signal has no connections; `list_signal_connections` shows those of the node")
            } else {
                error.hint(format!("it is connected to: {}", near.join(", "))).suggest(near)
            });
        };
        let check = |path: &str| editor.check_read(path);
        let context = editor.values(None, &check);
        let mut edit =
            Edit::in_scene(&scene, format!("Disconnect {signal} of {}", source.get_name()));
        edit.fact("connection", found.describe(&scene, &context));
        let verdict = persistence::of_node(&scene, &source);
        edit.verdict(if verdict.persisted == Some(false) {
            verdict
        } else if connections::is_from_instance(&scene, found) {
            Verdict::no(verdict.target, Reason::InstancedChildNotEditable)
        } else if found.flags & connections::PERSIST == 0 {
            Verdict::unknown(verdict.target, Reason::RuntimeOnly)
        } else {
            verdict
        });
        let name = StringName::from(signal).to_variant();
        let callable = found.callable.clone();
        edit.step(
            Step::new(
                json!({"disconnect": format!("{from}:{signal}"), "from": format!("{to}:{method}")}),
            )
            .apply(Op::call(&source, "disconnect", &[name.clone(), callable.clone()]))
            .answers(
                &source,
                "is_connected",
                &[name.clone(), callable.clone()],
                &false.to_variant(),
            )
            .revert(Op::call(
                &source,
                "connect",
                &[name, callable, found.flags.to_variant()],
            )),
        );
        Ok(edit)
    }
}

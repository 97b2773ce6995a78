use godot::builtin::{StringName, VarArray, Variant};
use godot::meta::ToGodot;

use crate::editor::connections;
use crate::tool_prelude::*;

/// Connects a signal of one node to a method of another, saved with the scene.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ConnectSignal {
    /// Node that emits.
    source_path: NodeRef,
    /// Its signal.
    signal_name: Identifier,
    /// Node that is called.
    target_path: NodeRef,
    /// Its method. It must exist.
    method_name: Identifier,
    #[serde(default)]
    flags: Vec<Flag>,
    /// Arguments appended to the signal's.
    #[serde(default)]
    binds: Vec<AnyValue>,
    /// Arguments of the signal dropped from its end.
    #[serde(default)]
    #[schemars(range(min = 0, max = 16))]
    unbinds: i64,
}

#[derive(Clone, Copy, Deserialize, JsonSchema, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Flag {
    Deferred,
    OneShot,
}

impl Tool for ConnectSignal {
    const NAME: &'static str = "connect_signal";
    const TOOLSET: &'static str = "scene_edit";

    fn adjust(spec: &mut ToolSpec) {
        spec.edits_scene = true;
    }

    fn examples() -> Vec<Example> {
        let before = r#"
[node name="Main" type="Node2D"]
[node name="Timer" type="Timer" parent="."]"#;
        let after = r#"
[node name="Main" type="Node2D"]
[node name="Timer" type="Timer" parent="."]
[connection signal="timeout" from="Timer" to="." method="queue_redraw"]"#;
        let args = |signal: &str| {
            json!({
                "source_path": "Timer", "signal_name": signal, "target_path": ".", "method_name": "queue_redraw"
            })
        };
        vec![
            Example::edit("Connects a timer.", before, after).args(args("timeout")),
            Example::refusal("Refuses an unknown signal.", before, Code::ValidationError)
                .args(args("timout")),
            Example::refusal("Refuses to drop what is not sent.", before, Code::ValidationError)
                .args(json!({
                    "source_path": "Timer", "signal_name": "timeout", "target_path": ".",
                    "method_name": "queue_redraw", "unbinds": 1
                })),
        ]
    }
}

impl EditTool for ConnectSignal {
    const CLASS: SafetyClass = SafetyClass::Mutating;

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let scene = editor.edited_scene()?;
        let source = scene.node_at(&self.source_path, "source_path")?;
        let target = scene.node_at(&self.target_path, "target_path")?;
        let (signal, method) = (self.signal_name.as_str(), self.method_name.as_str());
        let emitted = connections::signal(&source, signal)?;
        let called = connections::method(&target, method)?;
        if !self.binds.is_empty() && self.unbinds > 0 {
            return Err(ToolError::invalid("unbinds", "binds and unbinds were given together")
                .hint("a scene file keeps only one of them"));
        }
        if usize::try_from(self.unbinds).is_ok_and(|it| it > emitted.most) {
            let message = format!(
                "{} arguments cannot be dropped: \"{signal}\" sends {}",
                self.unbinds, emitted.most
            );
            return Err(ToolError::invalid("unbinds", message)
                .hint("give at most as many as the signal declares"));
        }
        let check = |path: &str| editor.check_read(path);
        let context = editor.values(Some(&target.clone().upcast()), &check);
        let slot = values::Slot::any("binds");
        let mut binds = VarArray::new();
        for value in &self.binds {
            binds.push(&values::decode(&value.0, &slot, &Variant::nil(), &context)?);
        }

        let (from, to) = (scene.path_of(&source), scene.path_of(&target));
        let mut edit = Edit::in_scene(&scene, format!("Connect {signal} of {}", source.get_name()));
        let known = connections::of_signal(&source, signal)
            .into_iter()
            .find(|it| it.method == method && it.target_in(&scene).as_ref() == Some(&target));
        edit.fact("already_connected", known.is_some());
        let ends = [persistence::of_node(&scene, &source), of_target(&scene, &target)];
        ends.into_iter().for_each(|it| edit.verdict(it));
        if let Some(known) = known {
            edit.fact("connection", known.describe(&scene, &context));
            return Ok(edit);
        }
        let dropped = usize::try_from(self.unbinds).unwrap_or(0);
        let given = emitted.most.saturating_sub(dropped) + binds.len();
        if given < called.least || given > called.most && !called.vararg {
            let takes = match called.least == called.most {
                true => format!("{}", called.most),
                false => format!("{} to {}", called.least, called.most),
            };
            edit.fact(
                "warning",
                format!("{given} arguments arrive at \"{method}\", which takes {takes}"),
            );
        }
        let mut flags = connections::PERSIST;
        for flag in &self.flags {
            flags |= match flag {
                Flag::Deferred => connections::DEFERRED,
                Flag::OneShot => connections::ONE_SHOT,
            };
        }
        let name = StringName::from(signal).to_variant();
        let callable = connections::callable(&target, method, &binds, self.unbinds);
        edit.step(
            Step::new(
                json!({"connect": format!("{from}:{signal}"), "to": format!("{to}:{method}")}),
            )
            .apply(Op::call(
                &source,
                "connect",
                &[name.clone(), callable.clone(), flags.to_variant()],
            ))
            .answers(&source, "is_connected", &[name.clone(), callable.clone()], &true.to_variant())
            .revert(Op::call(&source, "disconnect", &[name, callable])),
        );
        Ok(edit)
    }
}

/// A connection may end inside an instance: it is saved with its source.
fn of_target(scene: &Scene, target: &godot::obj::Gd<godot::classes::Node>) -> Verdict {
    match persistence::of_node(scene, target) {
        Verdict { target, reason: Some(Reason::InstancedChildNotEditable), .. } => {
            Verdict::yes(target)
        }
        verdict => verdict,
    }
}

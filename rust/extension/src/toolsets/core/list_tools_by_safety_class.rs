use crate::tool_prelude::*;

/// Names of the tools of enabled toolsets by safety class: read_only, mutating (undoable),
/// destructive (needs confirm), runtime. And which write files or run code.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ListToolsBySafetyClass {}

impl Tool for ListToolsBySafetyClass {
    const NAME: &'static str = "list_tools_by_safety_class";
    const TOOLSET: &'static str = "core";

    fn examples() -> Vec<Example> {
        vec![Example::answer(
            "Groups the enabled tools.",
            "",
            json!({
                "read_only": "*", "mutating": "*", "destructive": "*", "runtime": "*"
            }),
        )]
    }
}

impl OfflineTool for ListToolsBySafetyClass {
    fn run(self, shared: &Shared) -> Answer {
        let listed = shared.gate.listed();
        let names = |keep: &dyn Fn(&ToolSpec) -> bool| -> Value {
            listed.iter().filter(|it| keep(it)).map(|it| json!(it.name)).collect()
        };
        let mut answer = Map::new();
        for class in SafetyClass::ALL {
            answer.insert(class.as_str().into(), names(&|it| it.class == *class));
        }
        answer.insert("writes_disk".into(), names(&|it| it.writes_disk));
        answer.insert("executes_code".into(), names(&|it| it.executes_code));
        answer.insert("total".into(), json!(listed.len()));
        Ok(Value::Object(answer).into())
    }
}

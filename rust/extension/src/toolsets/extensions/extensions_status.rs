use crate::tool_prelude::*;

/// Lists the extensions of the project: classes, files, tools, and what is wrong with each.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ExtensionsStatus {}

impl Tool for ExtensionsStatus {
    const NAME: &'static str = "extensions_status";
    const TOOLSET: &'static str = "extensions";

    fn examples() -> Vec<Example> {
        vec![
            Example::answer("Shows what the project adds.", "", json!({"extensions": "*"}))
                .args(json!({})),
        ]
    }
}

impl ReadTool for ExtensionsStatus {
    fn run(self, editor: &Editor) -> Result<Outcome, ToolError> {
        let mut list = Vec::new();
        let gate = &editor.shared().gate;
        editor.app().extensions.each(&mut |class, it| {
            let tools: Vec<Value> = it
                .tools
                .iter()
                .map(|tool| {
                    let (name, set) = (&tool.spec.name, &tool.spec.toolset);
                    json!({"name": name, "toolset": set, "enabled": gate.is_enabled(set)})
                })
                .collect();
            let mut entry = json!({"class": class, "file": it.path, "tools": tools, "faults": faults(&it.faults)});
            let prompts: Vec<&str> = it.prompts.iter().map(|it| it.info.name.as_str()).collect();
            let resources: Vec<&str> = it.resources.iter().map(|it| it.info.uri.as_str()).collect();
            for (name, offered) in [("prompts", prompts), ("resources", resources)] {
                if !offered.is_empty() {
                    entry[name] = json!(offered);
                }
            }
            list.push(entry);
        });
        Ok(json!({"extensions": list}).into())
    }
}

/// X3.3.
pub(super) fn faults(faults: &[crate::extensions::Fault]) -> Vec<Value> {
    let entry = |it: &crate::extensions::Fault| {
        let mut entry = json!({"message": it.message});
        if it.line > 0 {
            entry["line"] = json!(it.line);
        }
        entry
    };
    faults.iter().map(entry).collect()
}

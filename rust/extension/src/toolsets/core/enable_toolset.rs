use super::switch;
use crate::tool_prelude::*;

/// Switches toolsets on for all clients. Answers descriptions and input schemas of the tools that
/// are new, which can be called at once.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct EnableToolset {
    /// A toolset, a bundle (`author`, `playtest`, `ship`), or several with commas.
    category: String,
}

impl Tool for EnableToolset {
    const NAME: &'static str = "enable_toolset";
    const TOOLSET: &'static str = "core";

    fn examples() -> Vec<Example> {
        vec![
            Example::answer(
                "Enabling twice changes nothing.",
                "",
                json!({
                    "enabled": [{"toolset": "inspection", "changed": false}], "failed": []
                }),
            )
            .after("enable_toolset", json!({"category": "inspection"}))
            .args(json!({"category": "inspection"})),
            Example::refusal("Refuses an unknown toolset.", "", Code::ValidationError)
                .args(json!({"category": "inspektion"})),
        ]
    }
}

impl OfflineTool for EnableToolset {
    fn run(self, shared: &Shared) -> Answer {
        let (switched, failed) = switch(shared, &self.category, true)?;
        let listed = shared.gate.listed();
        let enabled: Vec<_> = switched
            .into_iter()
            .map(|(toolset, changed)| {
                let mut entry = json!({"toolset": toolset, "changed": changed});
                if changed {
                    let tools = listed.iter().filter(|it| it.toolset == toolset);
                    entry["tools"] = tools.map(|it| it.listing(true)).collect();
                }
                entry
            })
            .collect();
        Ok(json!({"enabled": enabled, "failed": failed}).into())
    }
}

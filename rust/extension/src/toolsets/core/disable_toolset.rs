use super::switch;
use crate::tool_prelude::*;

/// Switches toolsets off again for all clients, to shorten the list of tools. `core` stays on.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct DisableToolset {
    /// A toolset, a bundle (`author`, `playtest`, `ship`), or several with commas.
    category: String,
}

impl Tool for DisableToolset {
    const NAME: &'static str = "disable_toolset";
    const TOOLSET: &'static str = "core";

    fn examples() -> Vec<Example> {
        vec![
            Example::answer(
                "Switches a toolset off.",
                "",
                json!({
                    "disabled": [{"toolset": "inspection", "changed": true}]
                }),
            )
            .args(json!({"category": "inspection"})),
            Example::refusal("The core stays on.", "", Code::ValidationError)
                .args(json!({"category": "core"})),
        ]
    }
}

impl OfflineTool for DisableToolset {
    fn run(self, shared: &Shared) -> Answer {
        let (switched, failed) = switch(shared, &self.category, false)?;
        let disabled: Vec<_> = switched
            .into_iter()
            .map(|(toolset, changed)| json!({"toolset": toolset, "changed": changed}))
            .collect();
        Ok(json!({"disabled": disabled, "failed": failed}).into())
    }
}

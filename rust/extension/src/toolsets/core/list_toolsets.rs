use godot_mcp_core::toolset::{BUNDLES, CORE};

use crate::tool_prelude::*;

/// Every toolset with its tools' names, whether it is on, and the Godot version it needs; and the
/// bundles, which stand for several toolsets.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ListToolsets {}

impl Tool for ListToolsets {
    const NAME: &'static str = "list_toolsets";
    const TOOLSET: &'static str = CORE;

    fn examples() -> Vec<Example> {
        vec![Example::answer(
            "Lists them with the bundles.",
            "",
            json!({
                "toolsets": "*", "bundles": "*"
            }),
        )]
    }
}

impl OfflineTool for ListToolsets {
    fn run(self, shared: &Shared) -> Answer {
        let registry = shared.gate.registry();
        let toolsets: Vec<_> = registry
            .toolsets()
            .map(|set| {
                let tools: Vec<_> = registry.tools_of(set.name).collect();
                let min = tools.iter().map(|it| it.min_godot).min().unwrap_or_default();
                json!({
                    "name": set.name,
                    "enabled": shared.gate.is_enabled(set.name),
                    "min_godot": format!("{}.{}", min.0, min.1),
                    "description": set.description,
                    "tools": tools.iter().map(|it| &it.name).collect::<Vec<_>>(),
                })
            })
            .collect();
        let bundles: Map<String, Value> = BUNDLES
            .iter()
            .map(|(name, _)| ((*name).to_owned(), json!(shared.gate.members(name))))
            .collect();
        Ok(json!({"toolsets": toolsets, "bundles": bundles}).into())
    }
}

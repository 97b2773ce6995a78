use godot_mcp_core::spec::DEFAULT_TIMEOUT;
use godot_mcp_core::toolset::BUNDLES;
use godot_mcp_server::{ServerOptions, protocol_versions};

use crate::main_thread::CAPACITY;
use crate::tool_prelude::*;
use crate::{prompts, resources};

/// What this server is and has: versions, project, toolsets on and off, resources, limits, the
/// edited scene and modes. A good first call.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct GetServerInfo {}

impl Tool for GetServerInfo {
    const NAME: &'static str = "get_server_info";
    const TOOLSET: &'static str = "core";

    fn examples() -> Vec<Example> {
        vec![Example::answer(
            "Tells name and limits.",
            "",
            json!({
                "name": "godot-mcp", "limits": {"request_bytes": 4_194_304}
            }),
        )]
    }
}

impl OfflineTool for GetServerInfo {
    fn run(self, shared: &Shared) -> Answer {
        let gate = &shared.gate;
        let registry = gate.registry();
        let (on, off): (Vec<_>, Vec<_>) =
            registry.toolsets().map(|it| it.name).partition(|it| gate.is_enabled(it));
        let limits = ServerOptions::new(None);
        let glance = shared.glance.load();
        let prompts: Vec<_> = prompts::all().into_iter().map(|it| it.name).collect();
        let resources: Vec<_> = resources::all().into_iter().map(|it| it.uri).collect();
        Ok(json!({
            "name": "godot-mcp",
            "version": env!("CARGO_PKG_VERSION"),
            "protocol_versions": protocol_versions(),
            "godot": shared.godot_version,
            "project": shared.project_name,
            "active_scene": glance.active_scene,
            "playing": glance.playing,
            "headless": shared.headless,
            "read_only": gate.settings().read_only,
            "paused": gate.is_paused(),
            "toolsets_on": on,
            "toolsets_off": off,
            "bundles": BUNDLES.iter().map(|it| it.0).collect::<Vec<_>>(),
            "tools": {"listed": gate.listed().len(), "all": registry.tools().count()},
            "resources": resources,
            "prompts": prompts,
            "limits": {
                "answer_bytes": limits.max_answer_bytes,
                "request_bytes": limits.max_request_bytes,
                "seconds_per_call": DEFAULT_TIMEOUT.as_secs(),
                "waiting_calls": CAPACITY,
            },
        })
        .into())
    }
}

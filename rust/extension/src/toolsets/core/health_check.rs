use crate::tool_prelude::*;

/// Whether server and editor are alive: how long the main thread has been blocked and what the
/// editor is busy with. Never fails.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct HealthCheck {}

impl Tool for HealthCheck {
    const NAME: &'static str = "health_check";
    const TOOLSET: &'static str = "core";

    fn examples() -> Vec<Example> {
        vec![Example::answer("Tells that all is well.", "", json!({"status": "ok"}))]
    }
}

/// A frame of an idle, unfocused editor takes 100 ms; this is well above.
const STALLED_MS: u64 = 500;

impl OfflineTool for HealthCheck {
    fn run(self, shared: &Shared) -> Answer {
        let stalled = shared.heartbeat.stalled_ms();
        let glance = shared.glance.load();
        let mut busy_with = shared.heartbeat.busy_with();
        if busy_with.is_empty() && glance.scanning {
            busy_with = "scanning files".to_owned();
        }
        let status = if stalled >= STALLED_MS { "main_thread_stalled" } else { "ok" };
        Ok(json!({
            "status": status,
            "main_thread_stalled_ms": if stalled >= STALLED_MS { stalled } else { 0 },
            "busy_with": busy_with,
            "active_scene": glance.active_scene,
            "playing": glance.playing,
            "paused": shared.gate.is_paused(),
            "uptime_ms": shared.heartbeat.uptime_ms(),
        })
        .into())
    }
}

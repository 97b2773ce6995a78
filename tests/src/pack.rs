//! A host without an editor whose tools, resources and prompts are those that the official MCP
//! conformance suite calls.
//!
//! Its tools are registered and admitted as those of the editor are: `Registry`, `Gate`, `Server`.
//! They are not served by a real editor since nothing in one could send a sound, ask the client's
//! model or log on command, and no tool that is only for tests belongs in the addon.

mod prompts;
mod resources;
mod tools;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use godot_mcp_core::call::{AnswerFuture, ReadFuture, ResourceInfo};
use godot_mcp_core::completion::{Completing, CompletionFuture, rank};
use godot_mcp_core::gate::{Gate, GateSettings};
use godot_mcp_core::paths::Roots;
use godot_mcp_core::prompt::{PromptCall, PromptFuture, PromptInfo};
use godot_mcp_core::registry::Registry;
use godot_mcp_core::{Host, ToolCall, ToolError, ToolSpec};
use godot_mcp_server::Announcer;
use parking_lot::Mutex;

/// The toolset that `test_trigger_tool_change` switches.
const SWITCHED: &str = "inspection";

pub struct Pack(Arc<Inner>);

struct Inner {
    gate: Gate,
    /// Prompts that `test_trigger_prompt_change` has added.
    added_prompts: Mutex<BTreeSet<String>>,
    announcer: OnceLock<Announcer>,
}

impl Pack {
    pub fn new() -> Self {
        let gate = Gate::new(
            GateSettings {
                read_only: false,
                default_toolsets: None,
                godot: (4, 6, 0),
                roots: Roots::new(Path::new("."), Path::new(".")),
            },
            Registry::new(tools::specs()),
        );
        let added_prompts = Mutex::default();
        Self(Arc::new(Inner { gate, added_prompts, announcer: OnceLock::new() }))
    }

    /// A host for `Server::start`.
    pub fn host(&self) -> Arc<dyn Host> {
        Arc::new(Self(Arc::clone(&self.0)))
    }

    /// Connects changes to the clients.
    pub fn announce_with(&self, announcer: Announcer) {
        let tools = announcer.clone();
        self.0.gate.on_change(move || tools.tools_changed());
        assert!(self.0.announcer.set(announcer).is_ok(), "called once");
    }
}

impl Default for Pack {
    fn default() -> Self {
        Self::new()
    }
}

impl Host for Pack {
    fn tools(&self) -> Arc<Vec<Arc<ToolSpec>>> {
        self.0.gate.listed()
    }

    fn tool(&self, name: &str) -> Option<Arc<ToolSpec>> {
        self.0.gate.registry().get(name).map(|it| Arc::clone(&it.spec))
    }

    fn call(&self, call: ToolCall) -> AnswerFuture {
        let inner = Arc::clone(&self.0);
        Box::pin(async move {
            let admitted = inner.gate.admit(&call.name, call.arguments.clone())?;
            tools::run(&inner, &call, &admitted.args).await
        })
    }

    fn instructions(&self) -> String {
        "Tools of the conformance suite.".to_owned()
    }

    fn resources(&self) -> Vec<ResourceInfo> {
        resources::all()
    }

    fn read_resource(&self, uri: String) -> ReadFuture {
        Box::pin(std::future::ready(resources::read(&uri)))
    }

    fn check_watchable(&self, uri: &str) -> Result<(), ToolError> {
        match resources::read(uri) {
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn prompts(&self) -> Vec<PromptInfo> {
        prompts::all(&self.0.added_prompts.lock())
    }

    fn prompt(&self, call: PromptCall) -> PromptFuture {
        Box::pin(std::future::ready(prompts::reply(&call)))
    }

    fn complete(&self, wanted: Completing) -> CompletionFuture {
        let values = ["paris", "park", "party", "testing"].map(str::to_owned);
        Box::pin(std::future::ready(Ok(rank(&wanted.text, values))))
    }
}

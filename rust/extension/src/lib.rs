//! The GDExtension: hosts the MCP server inside the editor process, and runs its tools there.
//!
//! Engine objects are touched on the main thread only. Calls arrive on the I/O thread
//! ([`dispatch`]), wait in a bounded queue ([`main_thread`]) and run in the frame hook or in the
//! host node's `process`.

mod activity;
mod api;
mod app;
mod batch;
mod calls;
mod client_config;
mod commands;
mod completion;
mod dispatch;
mod dock;
mod editor;
mod entry;
mod extensions;
mod fault_point;
mod host_node;
mod main_thread;
mod prompts;
mod resources;
mod server_log;
mod services;
mod tool;
mod tool_prelude;
mod toolsets;

use godot::init::{ExtensionLibrary, InitLevel, InitStage, gdextension};

pub use prompts::{all as prompts, text as prompt_text};
pub use toolsets::{REMOVED, builtin_specs};

struct GodotMcpExtension;

// SAFETY: the one entry point of this library; it relies on nothing but gdext's own contract.
#[gdextension]
unsafe impl ExtensionLibrary for GodotMcpExtension {
    fn min_level() -> InitLevel {
        InitLevel::Scene
    }

    fn on_main_loop_frame() {
        main_thread::on_frame();
    }

    fn on_stage_deinit(stage: InitStage) {
        if stage == InitStage::MainLoop {
            // The plugin normally stops the server; this is for editors that end without it.
            app::stop();
        }
    }
}

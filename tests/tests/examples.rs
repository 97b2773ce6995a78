//! One loop over the registry: every example of every tool, in a real editor.

use godot_mcp_core::registry::Registry;
use godot_mcp_tests::client::{Client, Era};
use godot_mcp_tests::editor::{Launch, copy_folder, repository};
use godot_mcp_tests::examples;

/// S1 to S6 over every registered tool: preview equals run, refusals leave no trace, undo and redo
/// give the bytes. `EXAMPLE=text` runs those whose label contains the text.
#[test]
fn every_example_holds() {
    let registry = Registry::new(godot_mcp_extension::builtin_specs());
    let specs: Vec<_> = registry.tools().map(|it| (**it).clone()).collect();
    let home = tempfile::tempdir().expect("a temporary folder");
    let project = home.path().join("project");
    copy_folder(&repository().join("tests/fixtures/plain"), &project);
    godot_mcp_tests::editor::install_addon(&project);
    examples::prepare(&project, &specs);

    let editor = Launch::fixture("plain").on(&project).start();
    let client = Client::connect(&editor, Era::Modern);
    let only = std::env::var("EXAMPLE").ok();
    let failures = examples::run_all(&editor, &client, &specs, only.as_deref());
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    drop(client);
    editor.quit();
}

//! The packaged archive in an empty project: what a user of the editor installs.

use std::path::Path;
use std::process::Command;

use godot_mcp_tests::client::{Client, Era};
use godot_mcp_tests::editor::{Launch, repository};
use serde_json::json;

#[test]
fn the_archive_works_in_an_empty_project() {
    let folder = tempfile::tempdir().expect("a folder");
    let (out, project) = (folder.path().join("out"), folder.path().join("project"));
    // The build of the tests: the release's takes too long, and differs in nothing but speed and size.
    let packed = Command::new(repository().join("scripts/package.sh"))
        .env("PROFILE", "release")
        .env("OUT", &out)
        .status()
        .expect("scripts/package.sh runs");
    assert!(packed.success());
    let sums = std::fs::read_to_string(out.join("SHA256SUMS")).expect("checksums");
    assert_eq!(sums.lines().count(), 2, "archive and program: {sums}");
    let checked = Command::new("sha256sum")
        .args(["--check", "--quiet", "SHA256SUMS"])
        .current_dir(&out)
        .status()
        .expect("sha256sum");
    assert!(checked.success());

    let archive =
        sums.lines().find_map(|it| it.split("  ").nth(1).filter(|it| it.ends_with(".zip")));
    std::fs::create_dir_all(&project).expect("created");
    let unpacked = Command::new("python3")
        .args(["-m", "zipfile", "-e"])
        .arg(out.join(archive.expect("an archive")))
        .arg(&project)
        .status()
        .expect("python3");
    assert!(unpacked.success());
    let top: Vec<_> = names(&project);
    assert_eq!(top, ["addons"], "nothing but the addon");
    // X12: scripts at the paths that extensions for another toolkit name.
    assert_eq!(names(&project.join("addons")), ["godot_mcp", "godot_mcp_toolkit"]);
    for old in [
        "security/file_guard.gd",
        "security/untrusted.gd",
        "contract/pagination.gd",
        "contract/mcp_toolkit_success.gd",
        "commands/editor_helpers.gd",
    ] {
        assert!(project.join("addons/godot_mcp_toolkit").join(old).is_file(), "{old}");
    }
    let addon = names(&project.join("addons/godot_mcp"));
    for expected in
        ["LICENSE", "README.md", "THIRD_PARTY_LICENSES.txt", "bin", "dock", "plugin.cfg", "schemas"]
    {
        assert!(addon.iter().any(|it| it == expected), "{expected} in {addon:?}");
    }

    std::fs::write(
        project.join("project.godot"),
        "config_version=5\n\n[application]\n\nconfig/name=\"Empty\"\n\n[editor_plugins]\n\n\
         enabled=PackedStringArray(\"res://addons/godot_mcp/plugin.cfg\")\n",
    )
    .expect("written");
    // What the engine does in its first scan; see the limits in the README.
    std::fs::create_dir(project.join(".godot")).expect("created");
    std::fs::write(
        project.join(".godot/extension_list.cfg"),
        "res://addons/godot_mcp/godot_mcp.gdextension\n",
    )
    .expect("written");
    let editor = Launch::folder(project.clone()).on(&project).start();
    let client = Client::connect(&editor, Era::Modern);
    assert_eq!(client.ok("get_project_info", json!({}))["name"], "Empty");
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("listed").filter_map(Result::ok);
    let mut names: Vec<_> =
        entries.map(|it| it.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

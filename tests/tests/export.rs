//! X13.6: real exports of the demo project, with the debug and the release template and in both script
//! modes: nothing of the addon, no extension and no token ships, and the game starts without a word
//! about it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use godot_mcp_tests::editor::{Editor, Launch, copy_folder, install_addon, repository};

const TOKEN: &str = "0123456789abcdef-token-of-the-test";
/// What no exported game may hold, as text anywhere in its pack.
const NEVER: &[&str] = &[TOKEN, "MCPToolkit", "GodotMcp", "LevelTools", "gdext_rust_init"];

/// X13.6.
#[test]
fn nothing_of_the_addon_ships() {
    let folder = tempfile::tempdir().expect("a folder");
    let project = prepare(folder.path());
    let list = |name: &str| std::fs::read(project.join(".godot").join(name)).unwrap_or_default();
    let lists = ["extension_list.cfg", "global_script_class_cache.cfg"];
    // The first start imports, and finds the classes.
    export(&project, 0, "pack", "out/first.pck");
    let before = lists.map(list);
    assert!(String::from_utf8_lossy(&before[1]).contains("LevelTools"));

    for (mode, kind) in [(0, "release"), (0, "debug"), (2, "release"), (2, "debug")] {
        let log = export(&project, mode, kind, "out/game");
        let about: Vec<_> = log.iter().filter(|it| is_fault(it) && names_the_addon(it)).collect();
        assert!(about.is_empty(), "{kind}, mode {mode}: {about:?}");
        let pack = project.join("out/game.pck");
        let files = pack_files(&pack);
        assert!(files.iter().any(|it| it.starts_with("player/player.gd")), "{files:?}");
        assert!(files.iter().any(|it| it == "conf/mine.json"), "other files ship: {files:?}");
        let ours: Vec<_> = files
            .iter()
            .filter(|it| {
                [
                    "addons/godot_mcp",
                    "addons/level_tools",
                    ".mcp.json",
                    "conf/client.json",
                    "part.gd",
                ]
                .iter()
                .any(|ours| it.starts_with(ours))
                    || it.contains("cursor")
                    || it.contains("godot_mcp")
            })
            .collect();
        assert!(ours.is_empty(), "{kind}, mode {mode}: {ours:?}");
        let bytes = std::fs::read(&pack).expect("the pack");
        for text in NEVER {
            let found = bytes.windows(text.len()).any(|it| it == text.as_bytes());
            assert!(!found, "{kind}, mode {mode}: \"{text}\" is in the pack");
        }
        let out: Vec<_> = std::fs::read_dir(project.join("out"))
            .expect("listed")
            .filter_map(|it| Some(it.ok()?.file_name().to_string_lossy().into_owned()))
            .collect();
        assert!(!out.iter().any(|it| it.ends_with(".so")), "no library: {out:?}");

        let (code, log) = play(&project, folder.path());
        assert_eq!(code, Some(0), "{kind}, mode {mode}: {log}");
        let about: Vec<_> = log.lines().filter(|it| names_the_addon(it)).collect();
        assert!(about.is_empty(), "{kind}, mode {mode}: {about:?}");
        std::fs::remove_dir_all(project.join("out")).expect("removed");
        // The editor's own lists are as they were.
        assert_eq!(before, lists.map(list), "{kind}, mode {mode}");
    }
}

/// X13.6: where another export plugin takes a script first, the export says which one ships.
#[test]
fn what_ships_all_the_same_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let project = prepare(folder.path());
    let addon = project.join("addons/greedy");
    std::fs::create_dir_all(&addon).expect("created");
    let write = |name: &str, text: &str| std::fs::write(addon.join(name), text).expect("written");
    write(
        "plugin.cfg",
        "[plugin]\nname=\"Greedy\"\ndescription=\"\"\nauthor=\"\"\nversion=\"1\"\nscript=\"plugin.gd\"\n",
    );
    write(
        "plugin.gd",
        "@tool\nextends EditorPlugin\nvar _export := preload(\"export.gd\").new()\n\
         func _enter_tree() -> void: add_export_plugin(_export)\n\
         func _exit_tree() -> void: remove_export_plugin(_export)\n",
    );
    // Comes first by its name, and replaces what it is shown.
    write(
        "export.gd",
        "@tool\nextends EditorExportPlugin\nfunc _get_name() -> String: return \"A\"\n\
         func _export_file(path: String, type: String, _f: PackedStringArray) -> void:\n\
         \tif type == \"GDScript\" and path.contains(\"level_tools\"): add_file(path + \".x\", \"x\".to_utf8_buffer(), true)\n",
    );
    enable(&project, "greedy");
    let log = export(&project, 2, "pack", "out/game.pck");
    let told: Vec<_> = log.iter().filter(|it| it.contains("These scripts ship")).collect();
    assert!(!told.is_empty(), "{}", log.join("\n"));
    assert!(told[0].contains("res://addons/level_tools/level_tools.gd"), "{told:?}");
    assert!(!told[0].contains("res://addons/godot_mcp/"), "{told:?}");
    // Who has excluded them is not told.
    let presets = project.join("export_presets.cfg");
    let text = std::fs::read_to_string(&presets).expect("presets");
    let text = text.replace("exclude_filter=\"\"", "exclude_filter=\"addons/level_tools/*\"");
    std::fs::write(&presets, text).expect("written");
    let log = run_export(&project, "pack", "out/game.pck");
    assert!(!log.iter().any(|it| it.contains("These scripts ship")), "{}", log.join("\n"));
}

fn names_the_addon(line: &str) -> bool {
    ["godot_mcp", "Godot MCP", "GodotMcp", "MCPToolkit", "LevelTools", "level_tools"]
        .iter()
        .any(|it| line.contains(it))
}

fn is_fault(line: &str) -> bool {
    line.contains("ERROR") || line.contains("WARNING")
}

/// The demo project with files that name a token.
fn prepare(folder: &Path) -> PathBuf {
    let project = folder.join("project");
    copy_folder(&repository().join("godot_project"), &project);
    install_addon(&project);
    copy_folder(
        &repository().join("addons/godot_mcp_toolkit"),
        &project.join("addons/godot_mcp_toolkit"),
    );
    let write = |name: &str, text: &str| {
        let file = project.join(name);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("created");
        std::fs::write(file, text).expect("written");
    };
    let client = format!("{{\"headers\": {{\"Authorization\": \"Bearer {TOKEN}\"}}}}");
    write(".godot/godot_mcp/token", TOKEN);
    write(".mcp.json", "{\"mcpServers\": {}}");
    write(".cursor/mcp.json", &client);
    write("conf/client.json", &client);
    write("conf/mine.json", "{\"volume\": 1}");
    // A part of an extension, without a class name of its own.
    write("part.gd", "@tool\nextends LevelTools\n");
    project
}

fn enable(project: &Path, addon: &str) {
    let file = project.join("project.godot");
    let text = std::fs::read_to_string(&file).expect("settings");
    let first = "\"res://addons/godot_mcp/plugin.cfg\"";
    let both = format!("{first}, \"res://addons/{addon}/plugin.cfg\"");
    std::fs::write(file, text.replace(first, &both)).expect("written");
}

fn template(kind: &str) -> String {
    let output = Command::new(repository().join("scripts/godot.sh"))
        .arg(format!("template-{kind}"))
        .stderr(Stdio::inherit())
        .output()
        .expect("scripts/godot.sh runs");
    assert!(output.status.success(), "no export template");
    String::from_utf8(output.stdout).expect("UTF-8").trim().to_owned()
}

/// Exports with everything that a filter can include, and answers the log.
fn export(project: &Path, mode: u8, kind: &str, target: &str) -> Vec<String> {
    let presets = format!(
        "[preset.0]\nname=\"Linux\"\nplatform=\"Linux\"\nrunnable=true\nexport_filter=\"all_resources\"\n\
         include_filter=\"*\"\nexclude_filter=\"\"\nexport_path=\"out/game\"\nscript_export_mode={mode}\n\
         [preset.0.options]\ncustom_template/debug=\"{}\"\ncustom_template/release=\"{}\"\n\
         binary_format/embed_pck=false\nbinary_format/architecture=\"{}\"\n",
        template("debug"),
        template("release"),
        if cfg!(target_arch = "aarch64") { "arm64" } else { "x86_64" },
    );
    std::fs::write(project.join("export_presets.cfg"), presets).expect("written");
    run_export(project, kind, target)
}

fn run_export(project: &Path, kind: &str, target: &str) -> Vec<String> {
    std::fs::create_dir_all(project.join("out")).expect("created");
    let file = project.join(target);
    let editor: Editor = Launch::folder(project.to_owned())
        .on(project)
        .without_server()
        .arg(&format!("--export-{kind}"))
        .arg("Linux")
        .arg(&file.to_string_lossy())
        .start();
    let home = editor.keep_home();
    let (code, log) = editor.wait(Duration::from_secs(180));
    drop(home);
    assert!(code == Some(0) && file.is_file(), "no export: {}", log.join("\n"));
    log
}

/// Starts the exported game and lets it draw some frames.
fn play(project: &Path, home: &Path) -> (Option<i32>, String) {
    let output = Command::new(project.join("out/game"))
        .args(["--headless", "--quit-after", "30"])
        .current_dir(project.join("out"))
        .env("XDG_DATA_HOME", home.join("data"))
        .env("XDG_CONFIG_HOME", home.join("config"))
        .env("XDG_CACHE_HOME", home.join("cache"))
        .stdin(Stdio::null())
        .output()
        .expect("the game starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout) + &text(&output.stderr))
}

/// Paths in a pack, from its directory.
fn pack_files(pack: &Path) -> Vec<String> {
    let bytes = std::fs::read(pack).expect("the pack");
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
    assert_eq!(&bytes[..4], b"GDPC");
    // Version 3 of the format, of Godot 4.5 and newer, says where the directory is.
    assert!(number(4) >= 3, "pack format {}", number(4));
    let directory = u64::from_le_bytes(bytes[32..40].try_into().expect("8 bytes"));
    let mut at = usize::try_from(directory).expect("a small file");
    let count = number(at);
    at += 4;
    let mut files = Vec::new();
    for _ in 0..count {
        let length = number(at) as usize;
        let path = String::from_utf8_lossy(&bytes[at + 4..at + 4 + length]);
        files.push(path.trim_end_matches('\0').trim_start_matches("res://").to_owned());
        // Offset, size, checksum, flags.
        at += 4 + length + 8 + 8 + 16 + 4;
    }
    files
}

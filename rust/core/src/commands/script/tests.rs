use std::fs;

use super::*;

fn project(files: &[(&str, &str)]) -> (tempfile::TempDir, Roots) {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("in the folder")).expect("folders");
        fs::write(path, text).expect("written");
    }
    let roots = Roots::new(folder.path(), folder.path());
    (folder, roots)
}

/// R43 and A7.
#[test]
fn a_script_is_a_tool_script_in_the_project() {
    let (folder, roots) = project(&[
        ("good.gd", "@tool\nextends RefCounted\n"),
        ("plain.gd", "extends RefCounted\n"),
        ("mark.gd", "\u{feff}@tool\n"),
    ]);
    fs::create_dir(folder.path().join("folder.gd")).expect("a folder");
    let why = |path: &str| read(&roots, path).source.err().unwrap_or_default();
    assert_eq!(why("res://good.gd"), "");
    assert!(why("res://plain.gd").contains("@tool"));
    assert!(why("res://mark.gd").contains("byte order mark"));
    assert!(why("res://none.gd").contains("does not exist"));
    assert!(why("res://folder.gd").contains("not a file"));
    let size = usize::try_from(SCRIPT_MAX_BYTES).expect("small");
    let padded = |bytes: usize| format!("@tool\n#{}", "x".repeat(bytes - 7));
    fs::write(folder.path().join("big.gd"), padded(size)).expect("written");
    assert_eq!(why("res://big.gd"), "");
    fs::write(folder.path().join("big.gd"), padded(size + 1)).expect("written");
    assert!(why("res://big.gd").contains("larger"));
}

/// A7: a link that leads out is none; one that stays inside is one.
#[cfg(unix)]
#[test]
fn links_stay_in_the_project() {
    use std::os::unix::fs::symlink;
    let (outside, _) = project(&[("a.gd", "@tool\n")]);
    let (folder, roots) = project(&[("b.gd", "@tool\n")]);
    symlink(outside.path().join("a.gd"), folder.path().join("out.gd")).expect("linked");
    symlink(folder.path().join("b.gd"), folder.path().join("in.gd")).expect("linked");
    assert!(read(&roots, "res://out.gd").source.is_err());
    assert!(read(&roots, "res://in.gd").source.is_ok());
}

/// A15 and B9: the digest follows what the provider names.
#[test]
fn the_bundle_changes_with_what_is_preloaded() {
    let (folder, roots) = project(&[
        (
            "tools/a.gd",
            "@tool\nextends \"base.gd\"\nconst B = preload(\"res://lib/b.gd\")\n# preload(\"res://no.gd\")\n",
        ),
        ("tools/base.gd", "@tool\n"),
        ("lib/b.gd", "var c = load('res://lib/c.gd')\nvar text = \"res://no.gd\"\n"),
        ("lib/c.gd", "extends Node\n"),
        ("no.gd", "\n"),
    ]);
    let of = || bundle(&roots, "res://tools/a.gd");
    let first = of();
    let names: Vec<_> = first.scripts.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        ["res://lib/b.gd", "res://lib/c.gd", "res://tools/a.gd", "res://tools/base.gd"]
    );
    assert_eq!(first, of());
    fs::write(folder.path().join("no.gd"), "changed").expect("written");
    assert_eq!(first.sha256, of().sha256);
    fs::write(folder.path().join("lib/c.gd"), "changed").expect("written");
    assert_ne!(first.sha256, of().sha256);
    fs::remove_file(folder.path().join("lib/c.gd")).expect("removed");
    assert_eq!(of().scripts["res://lib/c.gd"], None);
}

#[test]
fn scripts_that_name_each_other_end() {
    let (_folder, roots) = project(&[("a.gd", "preload(\"b.gd\")"), ("b.gd", "preload(\"a.gd\")")]);
    assert_eq!(bundle(&roots, "res://a.gd").scripts.len(), 2);
}

#[test]
fn named_scripts_are_strings_that_are_loaded() {
    let named = |source: &str| named_scripts(source, "res://x/");
    assert_eq!(named("preload(\"a.gd\")"), ["res://x/a.gd"]);
    assert_eq!(named("preload ( 'res://a.gd' )"), ["res://a.gd"]);
    assert_eq!(named("ResourceLoader.load(\"res://a.gd\")"), ["res://a.gd"]);
    assert_eq!(named("extends\"a.gd\""), ["res://x/a.gd"]);
    assert_eq!(named("# load(\"a.gd\")\nprint(\"b.gd\")\nload(\"c.tscn\")"), [] as [&str; 0]);
    assert_eq!(named("load(\"../../out.gd\")"), [] as [&str; 0]);
}

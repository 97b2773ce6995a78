//! The files of a project as bytes, to compare before with after.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

pub type Files = BTreeMap<String, Vec<u8>>;

/// All files of the project but the addon's and the editor's own.
pub fn files(project: &Path) -> Files {
    fn collect(folder: &Path, prefix: &str, files: &mut Files) {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if name == ".godot" || name == "addons" {
                continue;
            }
            if entry.path().is_dir() {
                collect(&entry.path(), &format!("{name}/"), files);
            } else {
                files.insert(name, std::fs::read(entry.path()).expect("readable"));
            }
        }
    }
    let mut all = Files::new();
    collect(project, "", &mut all);
    all
}

#[track_caller]
pub fn same(before: &Files, now: &Files, what: &str) {
    let names: BTreeSet<_> = before.keys().chain(now.keys()).collect();
    for name in names {
        let text = |it: &Files| it.get(name).map(|it| String::from_utf8_lossy(it).into_owned());
        assert_eq!(text(before), text(now), "{what}: {name}");
    }
}

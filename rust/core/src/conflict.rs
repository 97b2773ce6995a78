//! The addon whose extension interface this one keeps, and that cannot stand beside it (X1).

use std::path::Path;

/// Its folder in a project. A release of this addon puts thin scripts there too, at paths that
/// extensions name (X12).
const FOLDER: &str = "addons/godot_mcp_toolkit";

/// What to tell a human who has both; none for a project that has not.
pub fn sentence(project: &Path) -> Option<String> {
    // Only the addon itself has this file.
    project.join(FOLDER).join("plugin.cfg").is_file().then(|| {
        format!(
            "{FOLDER} and addons/godot_mcp register the same class names, so one of the two has to go"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// X1 and X12: the scripts at old paths are no conflict.
    #[test]
    fn the_addon_is_told_from_its_old_paths() {
        let project = tempfile::tempdir().expect("a folder");
        let folder = project.path().join(FOLDER);
        std::fs::create_dir_all(folder.join("security")).expect("created");
        std::fs::write(folder.join("security/file_guard.gd"), "").expect("written");
        assert_eq!(sentence(project.path()), None);
        std::fs::write(folder.join("plugin.cfg"), "").expect("written");
        assert!(sentence(project.path()).is_some_and(|it| it.contains("one of the two")));
    }
}

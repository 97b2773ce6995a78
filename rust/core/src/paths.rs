//! Path containment (S8.1): which project files a call may name.

use std::path::{Component, Path, PathBuf};

use crate::error::{Code, ToolError};

/// What a call does with a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
}

/// Formats of string parameters that name files (S8.2).
pub const RES_PATH: &str = "res-path";
/// As `res-path`, and `uid://` too.
pub const RESOURCE_PATH: &str = "resource-path";
pub const USER_PATH: &str = "user-path";
pub const FORMATS: &[&str] = &[RES_PATH, RESOURCE_PATH, USER_PATH];

/// The folders behind `res://` and `user://`, and what in them is off limits.
#[derive(Clone, Debug)]
pub struct Roots {
    res: PathBuf,
    user: PathBuf,
}

impl Roots {
    /// Both folders as absolute paths. They are resolved through symlinks once.
    pub fn new(res: &Path, user: &Path) -> Self {
        let resolve = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        Self { res: resolve(res), user: resolve(user) }
    }

    /// The project folder, symlinks resolved.
    pub fn project(&self) -> &Path {
        &self.res
    }

    /// Checks one value of a parameter with one of the `FORMATS`. Other formats pass.
    pub fn check_format(&self, format: &str, text: &str, access: Access) -> Result<(), ToolError> {
        match format {
            RES_PATH => self.resolve_res(text, access).map(drop),
            RESOURCE_PATH if text.starts_with("uid://") => check_uid(text),
            RESOURCE_PATH => self.resolve_res(text, access).map(drop),
            USER_PATH => self.resolve_user(text).map(drop),
            _ => Ok(()),
        }
    }

    /// The file behind a `res://` path.
    pub fn resolve_res(&self, text: &str, access: Access) -> Result<PathBuf, ToolError> {
        let relative = relative(text, "res://")?;
        let first = relative.iter().next().map(|it| it.to_string_lossy().to_lowercase());
        if first.as_deref() == Some(".godot") {
            return Err(denied(text, "\".godot\" is the editor's own folder"));
        }
        let in_addon = relative
            .to_string_lossy()
            .to_lowercase()
            .replace('\\', "/")
            .split('/')
            .take(2)
            .eq(["addons", "godot_mcp"]);
        if access == Access::Write && in_addon {
            return Err(denied(text, "the addon's own folder is not writable"));
        }
        contained(text, &self.res, &relative)
    }

    /// The file behind a `user://` path.
    pub fn resolve_user(&self, text: &str) -> Result<PathBuf, ToolError> {
        let relative = relative(text, "user://")?;
        contained(text, &self.user, &relative)
    }

    /// The `user://` spelling of a path that was accepted, as [`Self::tidy_res`].
    pub fn tidy_user(text: &str) -> Result<String, ToolError> {
        tidy(text, "user://")
    }

    /// The `res://` spelling of a path that was accepted, without `.`, `..` and doubled slashes.
    pub fn tidy_res(text: &str) -> Result<String, ToolError> {
        tidy(text, "res://")
    }
}

fn tidy(text: &str, scheme: &str) -> Result<String, ToolError> {
    let relative = relative(text, scheme)?;
    let parts: Vec<_> = relative.iter().map(|it| it.to_string_lossy()).collect();
    Ok(format!("{scheme}{}", parts.join("/")))
}

fn check_uid(text: &str) -> Result<(), ToolError> {
    let id = &text["uid://".len()..];
    if !id.is_empty() && id.bytes().all(|it| it.is_ascii_alphanumeric()) {
        return Ok(());
    }
    Err(denied(text, "a uid has only letters and digits"))
}

/// Path below the root that `text` names, by its text alone.
fn relative(text: &str, scheme: &str) -> Result<PathBuf, ToolError> {
    let Some(rest) = text.strip_prefix(scheme) else {
        return Err(denied(text, &format!("it does not start with {scheme}")));
    };
    if rest.starts_with('/') {
        return Err(denied(text, "it is absolute"));
    }
    if let Some(bad) = rest.chars().find(|&it| it == '\\' || it == ':' || it.is_control()) {
        return Err(denied(text, &format!("it contains {bad:?}")));
    }
    let mut parts = Vec::new();
    for part in rest.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                if parts.pop().is_none() {
                    return Err(denied(text, "it climbs out"));
                }
            }
            part => parts.push(part),
        }
    }
    Ok(parts.iter().collect())
}

/// Resolves symlinks of the part that exists; the rest must stay plain.
fn contained(text: &str, root: &Path, relative: &Path) -> Result<PathBuf, ToolError> {
    debug_assert!(relative.components().all(|it| matches!(it, Component::Normal(_))));
    let path = root.join(relative);
    for ancestor in path.ancestors() {
        // `symlink_metadata` sees dangling links, which `exists` does not.
        if ancestor.symlink_metadata().is_err() {
            continue;
        }
        let inside = ancestor.canonicalize().is_ok_and(|it| it.starts_with(root));
        if !inside {
            return Err(denied(text, "a link leads out of it"));
        }
        break;
    }
    Ok(path)
}

fn denied(text: &str, why: &str) -> ToolError {
    ToolError::new(Code::PathDenied, format!("{text:?} is not a path in the project: {why}"))
        .hint("give a path such as \"res://folder/file.tscn\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roots() -> (tempfile::TempDir, Roots) {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let (res, user) = (dir.path().join("project"), dir.path().join("user"));
        std::fs::create_dir_all(res.join("scenes")).expect("created");
        std::fs::create_dir_all(&user).expect("created");
        std::fs::write(dir.path().join("secret"), "x").expect("written");
        let roots = Roots::new(&res, &user);
        (dir, roots)
    }

    /// S8.1 and the path row of `cases/probes.md`.
    #[test]
    fn refuses_what_leads_out() {
        let (_dir, roots) = roots();
        for text in [
            "res://../x.gd",
            "/etc/passwd",
            "res:///etc/passwd",
            "RES://x.gd",
            "res://a/./../..//x.gd",
            "res://.godot/x",
            "res://.GODOT/x",
            "res://a\\..\\x",
            "res://c:/x",
            "res://a\0b",
            "res://a\nb",
            "user://x",
            "//server/share",
            "x.gd",
            "",
        ] {
            let error = roots.resolve_res(text, Access::Read).expect_err(text);
            assert_eq!(error.code, Code::PathDenied, "{text}");
        }
        assert!(roots.check_format(RESOURCE_PATH, "uid://../x", Access::Read).is_err());
        assert!(roots.check_format(USER_PATH, "user://../x", Access::Read).is_err());
    }

    #[test]
    fn accepts_the_project() {
        let (_dir, roots) = roots();
        for text in ["res://x.gd", "res://scenes/new/a.tscn", "res://a/../b.gd", "res://ü ñ.gd"] {
            roots.resolve_res(text, Access::Write).expect(text);
        }
        roots.check_format(RESOURCE_PATH, "uid://b0abc", Access::Read).expect("a uid");
        assert_eq!(Roots::tidy_res("res://a/..//b/./c.gd").expect("valid"), "res://b/c.gd");
        let addon = "res://addons/godot_mcp/plugin.gd";
        roots.resolve_res(addon, Access::Read).expect("readable");
        assert!(roots.resolve_res(addon, Access::Write).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn refuses_links_out() {
        let (dir, roots) = roots();
        let link = |to: &Path, at: &str| {
            std::os::unix::fs::symlink(to, roots.project().join(at)).expect("linked");
        };
        link(&dir.path().join("secret"), "link");
        link(dir.path(), "out");
        link(&dir.path().join("missing"), "dangling");
        link(&roots.project().join("scenes"), "inside");
        for text in ["res://link", "res://out/secret", "res://out/new", "res://dangling"] {
            assert!(roots.resolve_res(text, Access::Read).is_err(), "{text}");
        }
        roots.resolve_res("res://inside/a.tscn", Access::Write).expect("stays inside");
    }
}

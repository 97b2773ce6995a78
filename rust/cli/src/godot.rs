//! Finding a Godot editor.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

/// The floor of the addon.
pub(crate) const MINIMUM: (u32, u32) = (4, 5);
const NAMES: [&str; 2] = ["godot", "godot4"];

/// The editor to start: what was given, else `$GODOT`, else the first on the `PATH`.
///
/// # Errors
/// A sentence that says where it was looked for.
pub(crate) fn find(given: Option<&Path>) -> Result<PathBuf, String> {
    if let Some(path) = given {
        return checked(path.to_owned(), "--godot");
    }
    if let Some(path) = env::var_os("GODOT").filter(|it| !it.is_empty()) {
        return checked(path.into(), "$GODOT");
    }
    NAMES.iter().find_map(|it| on_path(it)).ok_or_else(|| {
        "no Godot editor found: neither \"godot\" nor \"godot4\" is on the PATH; give it with --godot or in $GODOT".to_owned()
    })
}

/// What `--version` prints.
///
/// # Errors
/// When it cannot be run or prints no version.
pub(crate) fn version(godot: &Path) -> Result<String, String> {
    let path = godot.display();
    let output = Command::new(godot)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .map_err(|it| format!("cannot run \"{path}\": {it}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    // Some builds print warnings first.
    let version = text.lines().map(str::trim).rfind(|it| number(it).is_some());
    version.map(str::to_owned).ok_or_else(|| format!("\"{path}\" prints no version"))
}

/// Major and minor number of a version such as `4.6.3.stable.official`.
pub(crate) fn number(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.');
    let major = parts.next()?.parse().ok()?;
    let minor = parts.next()?.chars().take_while(char::is_ascii_digit).collect::<String>();
    Some((major, minor.parse().ok()?))
}

fn checked(path: PathBuf, source: &str) -> Result<PathBuf, String> {
    // A bare name is looked up as a shell would.
    let found = if path.components().count() == 1 && !path.exists() {
        path.to_str().and_then(on_path)
    } else {
        path.is_file().then(|| path.clone())
    };
    found.ok_or_else(|| format!("{source} names \"{}\", where no program is", path.display()))
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let file = format!("{name}{}", env::consts::EXE_SUFFIX);
    env::split_paths(&path).map(|it| it.join(&file)).find(|it| is_program(it))
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|it| it.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        assert_eq!(number("4.6.3.stable.official.abc"), Some((4, 6)));
        assert_eq!(number("4.10.beta1"), Some((4, 10)));
        assert_eq!(number("Godot Engine v4"), None);
    }
}

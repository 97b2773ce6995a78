//! Provider scripts on disk: whether one can be used (R43, A7), and what it is pinned by (A15, B9).

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use serde::Serialize;

use super::json::{self, sha256_hex};
use super::limits::{BUNDLE_SCRIPTS_MAX, SCRIPT_MAX_BYTES};
use super::tool_line::{has_tool, skip_string};
use crate::paths::{Access, Roots};

/// One provider script as it is now.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// Digest of the file, none when it cannot be read.
    pub sha256: Option<String>,
    /// The source, or why commands of this provider cannot be called.
    pub source: Result<String, String>,
}

/// Reads a script and runs nothing. A link that leaves the project counts as none (A7).
pub fn read(roots: &Roots, script: &str) -> Script {
    let bytes = match bytes(roots, script) {
        Ok(bytes) => bytes,
        Err(why) => return Script { sha256: None, source: Err(format!("{script:?} {why}")) },
    };
    let source = match json::text_of(&bytes) {
        Err(why) => Err(format!("{script:?} {why}")),
        Ok(text) if !has_tool(text) => {
            Err(format!("{script:?} has no \"@tool\" line; the editor runs only tool scripts"))
        }
        Ok(text) => Ok(text.to_owned()),
    };
    Script { sha256: Some(sha256_hex(&bytes)), source }
}

/// A provider script with all the scripts that it names, by content (A15).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bundle {
    /// One digest for all of them. It changes when any of them does.
    pub sha256: String,
    /// Digest by path; none of a script that is missing.
    pub scripts: BTreeMap<String, Option<String>>,
    /// Whether there were more scripts than are followed.
    pub cut: bool,
}

/// Follows the paths in `preload`, `load` and `extends`. Scripts reached by `class_name`, and paths
/// that are put together at run time, are not seen.
pub fn bundle(roots: &Roots, script: &str) -> Bundle {
    let mut scripts = BTreeMap::new();
    let mut open = vec![script.to_owned()];
    let mut cut = false;
    while let Some(path) = open.pop() {
        if scripts.contains_key(&path) {
            continue;
        }
        if scripts.len() == BUNDLE_SCRIPTS_MAX {
            cut = true;
            break;
        }
        let bytes = bytes(roots, &path).ok();
        if let Some(source) = bytes.as_deref().and_then(|it| std::str::from_utf8(it).ok()) {
            open.extend(named_scripts(source, folder(&path)));
        }
        scripts.insert(path, bytes.map(|it| sha256_hex(&it)));
    }
    let lines = scripts
        .iter()
        .map(|(path, digest)| format!("{path}\0{}\n", digest.as_deref().unwrap_or("missing")));
    let sha256 = sha256_hex(lines.collect::<String>().as_bytes());
    Bundle { sha256, scripts, cut }
}

/// Scripts that a source names by path, in `res://` spelling.
pub fn named_scripts(source: &str, folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = source;
    // What stands before the next string, since the last one.
    let mut before = String::new();
    while let Some(next) = rest.chars().next() {
        if next == '#' {
            rest = rest.find('\n').map_or("", |at| &rest[at..]);
            continue;
        }
        // The `r` of a raw string is a part of it, but not the end of a name.
        let behind_name = before.ends_with(|it: char| it.is_alphanumeric() || it == '_');
        let string = if next == 'r' && behind_name { None } else { skip_string(rest) };
        if let Some(behind) = string {
            let literal = &rest[..rest.len() - behind.len()];
            let path = literal.trim_start_matches('r').trim_matches(['"', '\'']);
            if path.ends_with(".gd") && names_script(&before) {
                found.extend(absolute(path, folder));
            }
            before.clear();
            rest = behind;
            continue;
        }
        before.push(next);
        rest = &rest[next.len_utf8()..];
    }
    found
}

fn names_script(before: &str) -> bool {
    let before = before.trim_end();
    let call = before.strip_suffix('(').map(str::trim_end);
    match call {
        Some(call) => call.ends_with("load"),
        None => before.ends_with("extends"),
    }
}

fn absolute(path: &str, folder: &str) -> Option<String> {
    let joined = if path.contains("://") { path.to_owned() } else { format!("{folder}{path}") };
    Roots::tidy_res(&joined).ok()
}

/// With its slash at the end.
fn folder(path: &str) -> &str {
    path.rfind('/').map_or(path, |at| &path[..=at])
}

fn bytes(roots: &Roots, script: &str) -> Result<Vec<u8>, String> {
    let path = roots.resolve_res(script, Access::Read).map_err(|it| it.into_fault().message)?;
    regular_file(&path, SCRIPT_MAX_BYTES)
}

/// A file's bytes. Refuses what is no plain file, or larger than `limit`.
pub(super) fn regular_file(path: &Path, limit: u64) -> Result<Vec<u8>, String> {
    let unreadable = |it: std::io::Error| match it.kind() {
        std::io::ErrorKind::NotFound => "does not exist".to_owned(),
        _ => format!("cannot be read: {it}"),
    };
    let about = path.metadata().map_err(unreadable)?;
    if !about.is_file() {
        return Err("is not a file".to_owned());
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(unreadable)?;
    file.take(limit + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > limit {
        return Err(format!("is larger than {limit} bytes"));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;

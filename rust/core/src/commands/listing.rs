//! The answer to a listing (R50 to R59): what the disk says now, with no code run.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use super::declaration::{self, Declaration};
use super::json::{hex, sha256_hex};
use super::limits::{FILE, FILE_MAX_BYTES};
use super::problem::{Problem, Problems};
use super::script::{self, Script};
use super::switch::Switch;
use crate::paths::{Access, Roots};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Absent,
    Valid,
    Invalid,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Listing {
    pub file: &'static str,
    pub status: Status,
    pub sha256: Option<String>,
    pub bytes: Option<u64>,
    pub enabled: bool,
    pub disabled_reason: Option<String>,
    /// Commands that the file declares, also of an invalid one.
    pub commands: usize,
    /// Empty when the file is invalid: half of a declaration is none (R22).
    pub providers: Vec<ListedProvider>,
    pub problems: Vec<Problem>,
    /// All problems, of which `problems` spells out the first thousand.
    pub problems_total: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ListedProvider {
    pub id: String,
    pub script: String,
    /// Digest of the script as it is now.
    pub script_sha256: Option<String>,
    /// Digest of the script and of those that it names (A15).
    pub bundle_sha256: Option<String>,
    pub commands: Vec<ListedCommand>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ListedCommand {
    pub name: String,
    pub title: String,
    pub description: String,
    pub input_schema: Value,
    pub mutates: bool,
    pub available: bool,
    pub unavailable_reason: Option<String>,
}

/// The declaration file as it was read, afresh (R24).
#[derive(Clone, Debug, PartialEq)]
pub struct ReadFile {
    pub sha256: Option<String>,
    pub bytes: Option<u64>,
    pub declared: usize,
    /// None when there is no file.
    pub result: Option<Result<Declaration, Problems>>,
}

impl ReadFile {
    pub fn status(&self) -> Status {
        match self.result {
            None => Status::Absent,
            Some(Ok(_)) => Status::Valid,
            Some(Err(_)) => Status::Invalid,
        }
    }
}

/// Reads the declaration of the project in `roots`.
pub fn read(roots: &Roots) -> ReadFile {
    let unread = |result| ReadFile { sha256: None, bytes: None, declared: 0, result };
    let invalid = |why: String| unread(Some(Err(Problems::whole("A7", why))));
    let at = roots.project().join(FILE);
    if at.symlink_metadata().is_err() {
        return unread(None);
    }
    let path = match roots.resolve_res(&format!("res://{FILE}"), Access::Read) {
        Ok(path) => path,
        Err(error) => return invalid(error.into_fault().message),
    };
    let bytes = match script::regular_file(&path, FILE_MAX_BYTES as u64) {
        Ok(bytes) => bytes,
        Err(why) => return oversized(&path).unwrap_or_else(|| invalid(format!("{FILE} {why}"))),
    };
    let checked = declaration::check(&bytes);
    ReadFile {
        sha256: Some(sha256_hex(&bytes)),
        bytes: Some(bytes.len() as u64),
        declared: checked.declared,
        result: Some(checked.result),
    }
}

/// A file above its bound (R6) still has a size and a digest, made without holding it.
fn oversized(path: &Path) -> Option<ReadFile> {
    use sha2::{Digest as _, Sha256};
    let bytes = path.metadata().ok().filter(std::fs::Metadata::is_file)?.len();
    let mut hash = Sha256::new();
    let mut file = std::fs::File::open(path).ok()?;
    let mut part = vec![0; 1 << 16];
    loop {
        match std::io::Read::read(&mut file, &mut part).ok()? {
            0 => break,
            read => hash.update(&part[..read]),
        }
    }
    let why = format!("the file has {bytes} bytes; at most {FILE_MAX_BYTES}");
    Some(ReadFile {
        sha256: Some(hex(&hash.finalize())),
        bytes: Some(bytes),
        declared: 0,
        result: Some(Err(Problems::whole("R6", why))),
    })
}

/// Lists a project's commands. Needs no editor, and runs nothing (R3, R50).
pub fn list(roots: &Roots, switch: &Switch) -> Listing {
    let file = read(roots);
    let status = file.status();
    let (declaration, problems) = match file.result {
        None => (Declaration::default(), Problems::default()),
        Some(Ok(declaration)) => (declaration, Problems::default()),
        Some(Err(problems)) => (Declaration::default(), problems),
    };
    let providers = declaration.providers.into_iter();
    Listing {
        file: FILE,
        status,
        sha256: file.sha256,
        bytes: file.bytes,
        enabled: switch.is_on(),
        disabled_reason: switch.disabled_reason.clone(),
        commands: file.declared,
        providers: providers.map(|it| provider(roots, switch, it)).collect(),
        problems: problems.listed().to_vec(),
        problems_total: problems.total,
    }
}

fn provider(roots: &Roots, switch: &Switch, provider: declaration::Provider) -> ListedProvider {
    let script = script::read(roots, &provider.script);
    let commands = provider.commands.into_iter();
    let commands = commands.map(|it| command(switch, &script, it)).collect();
    let bundle = script.sha256.is_some().then(|| script::bundle(roots, &provider.script));
    ListedProvider {
        id: provider.id,
        bundle_sha256: bundle.map(|it| it.sha256),
        script: provider.script,
        script_sha256: script.sha256,
        commands,
    }
}

fn command(switch: &Switch, script: &Script, command: declaration::Command) -> ListedCommand {
    // R59, in the order in which a call refuses (R63).
    let reason = switch
        .disabled_reason
        .clone()
        .or_else(|| script.source.as_ref().err().cloned())
        .or_else(|| command.arguments.as_ref().err().map(super::subset::OutsideSubset::reason));
    ListedCommand {
        name: command.name,
        title: command.title,
        description: command.description,
        input_schema: command.input_schema.to_value(),
        mutates: command.mutates,
        available: reason.is_none(),
        unavailable_reason: reason,
    }
}

#[cfg(test)]
mod tests;

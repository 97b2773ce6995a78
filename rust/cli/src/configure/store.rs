//! Reading and replacing users' files.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// None when there is no file.
///
/// # Errors
/// When there is one that cannot be read as text.
pub(super) fn read(file: &Path) -> Result<Option<String>, String> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("cannot read {}: {error}; nothing was changed", file.display())),
    }
}

/// Replaces a file in one step and returns the backup of what was there. A new file with a secret in
/// it is for this user only.
///
/// # Errors
/// When nothing was changed.
pub(super) fn write(file: &Path, text: &str, secret: bool) -> Result<Option<PathBuf>, String> {
    let failed =
        |it: io::Error| format!("cannot write {}: {it}; nothing was changed", file.display());
    // What a link leads to is replaced, not the link.
    let file = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let old = match fs::metadata(&file) {
        Ok(old) => Some(old.permissions()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed(error)),
    };
    if old.as_ref().is_some_and(fs::Permissions::readonly) {
        let file = file.display();
        return Err(format!("{file} is read-only; nothing was changed. Make it writable first"));
    }
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let backup = old.is_some().then(|| back_up(&file)).transpose().map_err(failed)?;
    let part = with_suffix(&file, ".godot-mcp.part");
    let written = write_part(&part, text, secret && old.is_none())
        .and_then(|()| old.map_or(Ok(()), |it| fs::set_permissions(&part, it)))
        .and_then(|()| fs::rename(&part, &file));
    written.map_err(|error| {
        let _ = fs::remove_file(&part);
        if let Some(backup) = &backup {
            let _ = fs::remove_file(backup);
        }
        failed(error)
    })?;
    Ok(backup)
}

/// Puts the backup back, and says so.
pub(super) fn take_back(file: &Path, backup: Option<&Path>, problem: &str) -> String {
    let done = match backup {
        Some(backup) => fs::copy(backup, file).map(drop),
        None => fs::remove_file(file),
    };
    let done = match done {
        Ok(()) => "the file is as it was".to_owned(),
        Err(error) => format!("and it could not be taken back: {error}"),
    };
    format!("{}: {problem}; {done}", file.display())
}

/// Beside the file, under a name that is free.
fn back_up(file: &Path) -> io::Result<PathBuf> {
    for count in 1.. {
        let suffix = if count == 1 { ".bak".to_owned() } else { format!(".bak{count}") };
        let backup = with_suffix(file, &suffix);
        match OpenOptions::new().write(true).create_new(true).open(&backup) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(error) => return Err(error),
        }
        // Takes the mode along.
        fs::copy(file, &backup)?;
        return Ok(backup);
    }
    unreachable!("there is a free number")
}

fn write_part(part: &Path, text: &str, secret: bool) -> io::Result<()> {
    let _ = fs::remove_file(part);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if secret {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    #[cfg(not(unix))]
    let _ = secret;
    let mut output: File = options.open(part)?;
    output.write_all(text.as_bytes())?;
    output.sync_all()
}

fn with_suffix(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    file.with_file_name(name)
}

//! Files that only the user may read.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Replaces the content of `path` in one step: readers see the old content or the new.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let temporary = write_beside(path, content)?;
    fs::rename(&temporary, path).inspect_err(|_| drop(fs::remove_file(&temporary)))
}

/// Creates `path` complete with its content, or fails with `AlreadyExists`.
pub(crate) fn create(path: &Path, content: &[u8]) -> io::Result<()> {
    let temporary = write_beside(path, content)?;
    // Unlike `rename`, a link never replaces what another process created meanwhile.
    let created = match fs::hard_link(&temporary, path) {
        // Some file systems have no links.
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            open_new(path).and_then(|mut file| file.write_all(content))
        }
        linked => linked,
    };
    drop(fs::remove_file(&temporary));
    created
}

fn write_beside(path: &Path, content: &[u8]) -> io::Result<PathBuf> {
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    if let Some(folder) = folder {
        fs::create_dir_all(folder)?;
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = path.with_file_name(name);
    // Left over from a crash of a process with the same id.
    drop(fs::remove_file(&temporary));
    open_new(&temporary)?.write_all(content).inspect_err(|_| drop(fs::remove_file(&temporary)))?;
    Ok(temporary)
}

/// The mode is given at creation: there is no moment in which others could open the file.
fn open_new(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

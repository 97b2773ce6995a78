//! The bearer token on disk.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use crate::private_file;

const TOKEN_BYTES: usize = 32;
/// An operator may write a token of their own into the file, but not one that can be guessed.
const MIN_TOKEN_CHARS: usize = 16;
const MAX_FILE_BYTES: u64 = 4096;

/// Reads the token at `path`, or creates one there that only the user can read (S9.1).
///
/// A file that others could read is tightened. A symbolic link is refused: it could make this
/// process read or tighten a file of somebody else's choice.
///
/// # Errors
/// When the file cannot be read or created, is a link, or holds something that is no token.
pub fn load_or_create_token(path: &Path) -> io::Result<String> {
    loop {
        match fs::symlink_metadata(path) {
            Ok(metadata) if metadata.is_symlink() => {
                return Err(refusal(path, "is a symbolic link"));
            }
            Ok(metadata) if !metadata.is_file() => return Err(refusal(path, "is not a file")),
            Ok(_) => return read(path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let token = generate()?;
        match private_file::create(path, token.as_bytes()) {
            Ok(()) => return Ok(token),
            // Another editor on the same project was faster: take its token.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

fn generate() -> io::Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

fn read(path: &Path) -> io::Result<String> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NOFOLLOW);
    let file = options.open(path)?;
    tighten(&file)?;
    let mut text = String::new();
    file.take(MAX_FILE_BYTES).read_to_string(&mut text)?;
    let token = text.trim();
    if token.len() < MIN_TOKEN_CHARS || !token.bytes().all(|it| it.is_ascii_graphic()) {
        return Err(refusal(path, "holds no token; delete it and a new one is made"));
    }
    Ok(token.to_owned())
}

#[cfg(unix)]
fn tighten(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    if file.metadata()?.permissions().mode() & 0o077 != 0 {
        tracing::warn!("the token file could be read by others; its mode is now 0600");
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}

/// Elsewhere the file inherits the rights of the project folder.
#[cfg(not(unix))]
fn tighten(_file: &File) -> io::Result<()> {
    Ok(())
}

fn refusal(path: &Path, what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("token file \"{}\" {what}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_made_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/er/token");
        let token = load_or_create_token(&path).unwrap();
        assert_eq!(BASE64_URL_SAFE_NO_PAD.decode(&token).unwrap().len(), TOKEN_BYTES);
        assert_eq!(load_or_create_token(&path).unwrap(), token);
        let names: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().collect();
        assert_eq!(names.len(), 1, "temporary file left: {names:?}");
    }

    #[test]
    fn racing_editors_agree_on_one_token() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        // Threads share the process id and so the temporary name; separate folders of links do not.
        let first = load_or_create_token(&path).unwrap();
        assert_eq!(
            private_file::create(&path, b"another").unwrap_err().kind(),
            io::ErrorKind::AlreadyExists
        );
        assert_eq!(load_or_create_token(&path).unwrap(), first);
    }

    #[cfg(unix)]
    #[test]
    fn only_the_user_can_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        let token = load_or_create_token(&path).unwrap();
        assert_eq!(mode(), 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(load_or_create_token(&path).unwrap(), token);
        assert_eq!(mode(), 0o600);
    }

    #[cfg(unix)]
    #[test]
    fn links_and_folders_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        std::os::unix::fs::symlink(&real, &link).unwrap();
        assert!(load_or_create_token(&link).is_err(), "dangling link");
        assert!(!real.exists());
        load_or_create_token(&real).unwrap();
        assert!(load_or_create_token(&link).is_err(), "link to a token");
        assert!(load_or_create_token(folder.path()).is_err(), "folder");
    }

    #[test]
    fn rubbish_is_refused_and_own_tokens_are_taken() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        for rubbish in ["", "short", "with some blanks in between"] {
            fs::write(&path, rubbish).unwrap();
            assert!(load_or_create_token(&path).is_err(), "{rubbish:?}");
        }
        fs::write(&path, "chosen-by-the-operator\n").unwrap();
        assert_eq!(load_or_create_token(&path).unwrap(), "chosen-by-the-operator");
    }
}

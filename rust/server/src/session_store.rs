//! Legacy sessions on disk, so that a restart of the editor does not orphan its clients.
//!
//! Kept is what a client said in `initialize`. rmcp replays it when the client comes back with its
//! session id.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use parking_lot::Mutex;
use rmcp::model::InitializeRequestParams;
use rmcp::transport::streamable_http_server::session::{
    SessionState, SessionStore, SessionStoreError,
};
use serde::{Deserialize, Serialize};

use crate::logs::Level;
use crate::private_file;

const MAX_SESSIONS: usize = 256;
const MAX_AGE_SECONDS: u64 = 30 * 24 * 60 * 60;
/// Greetings are a few hundred bytes. One that is larger is not kept.
const MAX_SESSION_BYTES: usize = 8 << 10;
const MAX_FILE_BYTES: u64 = 4 << 20;

pub(crate) struct SessionFile {
    path: PathBuf,
    /// Invariant: at most [`MAX_SESSIONS`], the least recently used first.
    sessions: Mutex<Vec<Saved>>,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    id: String,
    /// Seconds since 1970.
    used: u64,
    initialize: InitializeRequestParams,
    #[serde(flatten)]
    wishes: Wishes,
}

/// What a client asked for after its greeting.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Wishes {
    /// URIs that it wants to hear of.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) subscribed: BTreeSet<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) log_level: Option<Level>,
}

impl SessionFile {
    /// A file that cannot be used costs clients a new handshake, nothing else.
    pub(crate) fn open(path: PathBuf) -> Self {
        let mut sessions = read(&path).unwrap_or_else(|error| {
            tracing::warn!(%error, path = %path.display(), "cannot read the session file");
            Vec::new()
        });
        let oldest = now().saturating_sub(MAX_AGE_SECONDS);
        sessions.retain(|it| it.used >= oldest);
        sessions.drain(..sessions.len().saturating_sub(MAX_SESSIONS));
        Self { path, sessions: Mutex::new(sessions) }
    }

    /// What the client of a session asked for; nothing for a session that is not kept.
    pub(crate) fn wishes(&self, id: &str) -> Wishes {
        let sessions = self.sessions.lock();
        sessions.iter().find(|it| it.id == id).map(|it| it.wishes.clone()).unwrap_or_default()
    }

    /// Remembers what a client asks for. When that fails, it has to ask again after a restart.
    pub(crate) fn wish(&self, id: &str, change: impl FnOnce(&mut Wishes)) {
        let mut sessions = self.sessions.lock();
        let Some(saved) = sessions.iter_mut().find(|it| it.id == id) else { return };
        change(&mut saved.wishes);
        if let Err(error) = self.write(&sessions) {
            tracing::warn!(%error, "cannot write the session file");
        }
    }

    /// Writes a few kilobytes into the page cache: not worth a thread of its own.
    fn write(&self, sessions: &[Saved]) -> Result<(), SessionStoreError> {
        Ok(private_file::replace(&self.path, &serde_json::to_vec(sessions)?)?)
    }
}

#[async_trait]
impl SessionStore for SessionFile {
    async fn load(&self, id: &str) -> Result<Option<SessionState>, SessionStoreError> {
        let mut sessions = self.sessions.lock();
        let Some(idx) = sessions.iter().position(|it| it.id == id) else { return Ok(None) };
        let mut saved = sessions.remove(idx);
        saved.used = now();
        let state = SessionState::new(saved.initialize.clone());
        sessions.push(saved);
        self.write(&sessions)?;
        Ok(Some(state))
    }

    async fn store(&self, id: &str, state: &SessionState) -> Result<(), SessionStoreError> {
        let initialize = state.initialize_params.clone();
        if serde_json::to_vec(&initialize)?.len() > MAX_SESSION_BYTES {
            return Err("the greeting is too large to be kept".into());
        }
        let mut sessions = self.sessions.lock();
        let known = sessions.iter().position(|it| it.id == id).map(|it| sessions.remove(it));
        let wishes = known.map(|it| it.wishes).unwrap_or_default();
        if sessions.len() == MAX_SESSIONS {
            sessions.remove(0);
        }
        sessions.push(Saved { id: id.to_owned(), used: now(), initialize, wishes });
        self.write(&sessions)
    }

    async fn delete(&self, id: &str) -> Result<(), SessionStoreError> {
        let mut sessions = self.sessions.lock();
        sessions.retain(|it| it.id != id);
        self.write(&sessions)
    }
}

fn read(path: &Path) -> io::Result<Vec<Saved>> {
    let bytes = match fs::metadata(path).map(|it| it.len()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    if bytes > MAX_FILE_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "unreasonably large"));
    }
    Ok(serde_json::from_slice(&fs::read(path)?)?)
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block_on<F: Future>(future: F) -> F::Output {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
    }

    fn state(client: &str) -> SessionState {
        let mut params = InitializeRequestParams::default();
        params.client_info.name = client.to_owned();
        SessionState::new(params)
    }

    fn client_of(file: &SessionFile, id: &str) -> Option<String> {
        let state = block_on(file.load(id)).unwrap()?;
        Some(state.initialize_params.client_info.name)
    }

    #[test]
    fn sessions_survive_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/sessions.json");
        let file = SessionFile::open(path.clone());
        block_on(file.store("a", &state("one"))).unwrap();
        block_on(file.store("b", &state("two"))).unwrap();
        block_on(file.delete("a")).unwrap();
        let file = SessionFile::open(path);
        assert_eq!(client_of(&file, "a"), None);
        assert_eq!(client_of(&file, "b").as_deref(), Some("two"));
    }

    #[test]
    fn wishes_survive_too() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sessions.json");
        let file = SessionFile::open(path.clone());
        block_on(file.store("a", &state("one"))).unwrap();
        file.wish("a", |it| it.subscribed.extend(["godot://x".to_owned()]));
        file.wish("unknown", |it| it.subscribed.extend(["godot://x".to_owned()]));
        block_on(file.store("a", &state("one"))).unwrap();
        let file = SessionFile::open(path);
        assert_eq!(client_of(&file, "a").as_deref(), Some("one"));
        assert!(file.wishes("a").subscribed.contains("godot://x"));
        assert_eq!(file.wishes("unknown"), Wishes::default());
    }

    #[test]
    fn the_least_recently_used_go_first() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sessions.json");
        let file = SessionFile::open(path.clone());
        for it in 0..MAX_SESSIONS {
            block_on(file.store(&it.to_string(), &state("x"))).unwrap();
        }
        client_of(&file, "0").unwrap();
        block_on(file.store("new", &state("x"))).unwrap();
        let file = SessionFile::open(path);
        assert!(client_of(&file, "0").is_some());
        assert!(client_of(&file, "1").is_none());
        assert!(client_of(&file, "new").is_some());
    }

    #[test]
    fn too_much_and_rubbish_are_no_problem() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sessions.json");
        fs::write(&path, "{ rubbish").unwrap();
        let file = SessionFile::open(path);
        assert!(block_on(file.store("a", &state(&"x".repeat(MAX_SESSION_BYTES)))).is_err());
        assert_eq!(client_of(&file, "a"), None);
        block_on(file.store("b", &state("fits"))).unwrap();
        assert!(client_of(&file, "b").is_some());
    }

    #[cfg(unix)]
    #[test]
    fn only_the_user_can_read_them() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sessions.json");
        let file = SessionFile::open(path.clone());
        block_on(file.store("a", &state("x"))).unwrap();
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

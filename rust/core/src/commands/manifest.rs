//! The files of a project by content, to tell what a call changed (R73, B7).
//!
//! A look lists all files and reads only those whose size, times or inode differ from the last look,
//! or that were written so short before it that the times cannot tell.

use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::{Condvar, Mutex};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::json::hex;
use super::limits::{
    COMPARE_MAX_BYTES, COMPARE_MAX_FILES, IMAGE_MAX_BYTES, IMAGES_TOTAL_MAX_BYTES,
};

/// Folders that are not compared, wherever they are (A13). `.godot` holds our own state too.
pub const SKIPPED: &[&str] = &[".godot", ".git", ".svn", ".hg", ".jj", ".bzr"];

/// Times of file systems are as coarse as this; a file that was read within it of its last change is
/// read again.
const DOUBT_NS: i64 = 2_000_000_000;
/// Threads that list and read.
const THREADS_MAX: usize = 8;

type Hash = [u8; 32];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Stamp {
    bytes: u64,
    modified: i64,
    changed: i64,
    inode: u64,
}

#[derive(Clone, Debug, PartialEq)]
struct File {
    /// Below the project, with `/`.
    path: Box<str>,
    stamp: Stamp,
    hash: Hash,
    read_at: i64,
}

/// All files of a project at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Manifest {
    // Invariant: sorted by path, no duplicates.
    files: Vec<File>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Added,
    Modified,
    Removed,
}

/// One file whose content differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// `res://` path.
    pub path: String,
    pub kind: Kind,
    /// SHA-256 before; none of an added file.
    pub before: Option<String>,
    /// SHA-256 after; none of a removed file.
    pub after: Option<String>,
}

impl Manifest {
    pub fn len(&self) -> usize {
        self.files.len()
    }

    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    fn get(&self, path: &str) -> Option<&File> {
        let at = self.files.binary_search_by(|it| (*it.path).cmp(path)).ok()?;
        Some(&self.files[at])
    }

    /// Files whose content differs, sorted by path. Times alone make no difference.
    pub fn changes(&self, after: &Self) -> Vec<Change> {
        let mut changes = Vec::new();
        let (mut old, mut new) = (self.files.iter().peekable(), after.files.iter().peekable());
        loop {
            let order = match (old.peek(), new.peek()) {
                (None, None) => return changes,
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some(old), Some(new)) => old.path.cmp(&new.path),
            };
            let before = order.is_le().then(|| old.next()).flatten();
            let after = order.is_ge().then(|| new.next()).flatten();
            let kind = match (before, after) {
                (Some(before), Some(after)) if before.hash == after.hash => continue,
                (Some(_), Some(_)) => Kind::Modified,
                (None, _) => Kind::Added,
                (_, None) => Kind::Removed,
            };
            let path = before.or(after).map_or("", |it| &it.path);
            let digest = |it: Option<&File>| it.map(|it| hex(&it.hash));
            changes.push(Change {
                path: format!("res://{path}"),
                kind,
                before: digest(before),
                after: digest(after),
            });
        }
    }

    /// A line a file, which `decode` reads.
    fn encode(&self) -> String {
        let mut text = String::with_capacity(self.files.len() * 160);
        for File { path, stamp, hash, read_at } in &self.files {
            let Stamp { bytes, modified, changed, inode } = stamp;
            let path = serde_json::to_string(path).unwrap_or_default();
            text.push_str(&hex(hash));
            text.push_str(&format!(" {bytes} {modified} {changed} {inode} {read_at} {path}\n"));
        }
        text
    }

    /// None when a line is not whole: a manifest is all or nothing.
    fn decode(text: &str) -> Option<Self> {
        let mut files = Vec::new();
        for line in text.lines() {
            let mut parts = line.splitn(7, ' ');
            let hash = unhex(parts.next()?)?;
            let mut number = || parts.next()?.parse::<i64>().ok();
            let bytes = u64::try_from(number()?).ok()?;
            let (modified, changed) = (number()?, number()?);
            let inode = u64::from_ne_bytes(number()?.to_ne_bytes());
            let read_at = number()?;
            let path: Box<str> = serde_json::from_str(parts.next()?).ok()?;
            files.push(File {
                path,
                stamp: Stamp { bytes, modified, changed, inode },
                hash,
                read_at,
            });
        }
        let sorted = files.windows(2).all(|it| it[0].path < it[1].path);
        sorted.then_some(Self { files })
    }
}

/// Looks at a project again and again, and keeps before-images (B5).
pub struct Tracker {
    root: PathBuf,
    folder: PathBuf,
    last: Mutex<Arc<Manifest>>,
    /// What is written down.
    written: Mutex<Option<Arc<Manifest>>>,
    images: Images,
    limits: (u64, u64),
}

impl Tracker {
    /// With its state in `folder`, which is made.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn open(root: &Path, folder: &Path) -> io::Result<Self> {
        let images = Images::open(folder.join("images"))?;
        let tracker = Self {
            root: root.to_owned(),
            folder: folder.to_owned(),
            last: Mutex::default(),
            written: Mutex::default(),
            images,
            limits: (COMPARE_MAX_FILES, COMPARE_MAX_BYTES),
        };
        let kept = tracker.kept().map(Arc::new);
        *tracker.last.lock() = kept.clone().unwrap_or_default();
        *tracker.written.lock() = kept;
        Ok(tracker)
    }

    /// The files as they are now.
    ///
    /// # Errors
    /// Why they cannot be compared (R96).
    pub fn look(&self) -> Result<Arc<Manifest>, String> {
        let listed = list(&self.root, self.limits)?;
        let last = Arc::clone(&self.last.lock());
        let read_at = now_ns();
        let known = |(path, stamp): &(Box<str>, Stamp)| {
            let known = last.get(path).filter(|it| it.stamp == *stamp)?;
            let settled =
                known.read_at.saturating_sub(stamp.modified.max(stamp.changed)) > DOUBT_NS;
            settled.then_some((known.hash, known.read_at))
        };
        let hashes: Vec<Mutex<Option<(Hash, i64)>>> =
            listed.iter().map(|it| Mutex::new(known(it))).collect();
        let open: Vec<usize> =
            (0..listed.len()).filter(|it| hashes[*it].lock().is_none()).collect();
        let next = AtomicUsize::new(0);
        let read = || {
            while let Some(&at) = open.get(next.fetch_add(1, Ordering::Relaxed)) {
                let (path, stamp) = &listed[at];
                let hash = self.images.read(&self.root.join(&**path), stamp.bytes);
                *hashes[at].lock() = hash.map(|it| (it, read_at));
            }
        };
        in_parallel(open.len() / 8, &read);
        let files = listed.into_iter().zip(hashes);
        // A file that went meanwhile is not there.
        let files = files.filter_map(|((path, stamp), hash)| {
            let (hash, read_at) = hash.into_inner()?;
            Some(File { path, stamp, hash, read_at })
        });
        let manifest = Arc::new(Manifest { files: files.collect() });
        *self.last.lock() = Arc::clone(&manifest);
        Ok(manifest)
    }

    /// Writes a manifest down, so that the next process can compare with it (B2).
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn keep(&self, manifest: &Arc<Manifest>) -> io::Result<()> {
        let mut written = self.written.lock();
        if written.as_ref().is_some_and(|it| Arc::ptr_eq(it, manifest) || **it == **manifest) {
            return Ok(());
        }
        *written = None;
        write_whole(&self.folder.join("before"), manifest.encode().as_bytes())?;
        *written = Some(Arc::clone(manifest));
        Ok(())
    }

    /// The manifest that was written down last.
    pub fn kept(&self) -> Option<Manifest> {
        let text = fs::read_to_string(self.folder.join("before")).ok()?;
        Manifest::decode(&text)
    }

    /// Content by its SHA-256, when it was kept.
    pub fn image(&self, sha256: &str) -> Option<Vec<u8>> {
        let bytes = fs::read(self.images.path(&unhex(sha256)?)).ok()?;
        // A damaged image is none.
        (hex(&Sha256::digest(&bytes)) == sha256).then_some(bytes)
    }

    #[cfg(test)]
    fn with_limits(mut self, files: u64, bytes: u64) -> Self {
        self.limits = (files, bytes);
        self
    }
}

/// Contents by their hash, bounded in all.
struct Images {
    folder: PathBuf,
    known: Mutex<HashSet<Hash>>,
    total: AtomicU64,
}

impl Images {
    fn open(folder: PathBuf) -> io::Result<Self> {
        fs::create_dir_all(&folder)?;
        let (mut known, mut total) = (HashSet::new(), 0);
        for entry in fs::read_dir(&folder)?.flatten() {
            match (unhex(&entry.file_name().to_string_lossy()), entry.metadata()) {
                (Some(hash), Ok(about)) => {
                    known.insert(hash);
                    total += about.len();
                }
                // Half of a write that a crash cut off.
                _ => drop(fs::remove_file(entry.path())),
            }
        }
        if total > IMAGES_TOTAL_MAX_BYTES {
            // Full of what is long past: the next look fills it with what is there.
            fs::remove_dir_all(&folder)?;
            fs::create_dir_all(&folder)?;
            (known, total) = (HashSet::new(), 0);
        }
        Ok(Self { folder, known: Mutex::new(known), total: AtomicU64::new(total) })
    }

    fn path(&self, hash: &Hash) -> PathBuf {
        self.folder.join(hex(hash))
    }

    /// Hashes a file and keeps its content. None when it is not there.
    fn read(&self, path: &Path, bytes: u64) -> Option<Hash> {
        let about = path.symlink_metadata().ok()?;
        if about.is_symlink() {
            let target = fs::read_link(path).ok()?;
            return Some(Sha256::digest(target.to_string_lossy().as_bytes()).into());
        }
        let mut file = match fs::File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            // What nobody can read cannot be compared by content.
            Err(error) => return Some(Sha256::digest(error.to_string().as_bytes()).into()),
        };
        if bytes > IMAGE_MAX_BYTES {
            let mut hash = Sha256::new();
            let mut part = vec![0; 1 << 18];
            loop {
                match file.read(&mut part).ok()? {
                    0 => return Some(hash.finalize().into()),
                    read => hash.update(&part[..read]),
                }
            }
        }
        let mut content = Vec::new();
        file.read_to_end(&mut content).ok()?;
        let hash: Hash = Sha256::digest(&content).into();
        self.store(&hash, &content);
        Some(hash)
    }

    /// Best effort: what could not be kept cannot be reverted, and is said then.
    fn store(&self, hash: &Hash, content: &[u8]) {
        let size = content.len() as u64;
        if size > IMAGE_MAX_BYTES || !self.known.lock().insert(*hash) {
            return;
        }
        let total = self.total.fetch_add(size, Ordering::AcqRel) + size;
        let part = self.folder.join(format!("{}.part", hex(hash)));
        let kept = total <= IMAGES_TOTAL_MAX_BYTES
            && fs::write(&part, content).is_ok()
            && fs::rename(&part, self.path(hash)).is_ok();
        if !kept {
            self.total.fetch_sub(size, Ordering::AcqRel);
            self.known.lock().remove(hash);
        }
    }
}

/// Folders still to be listed, and how many are being listed.
#[derive(Default)]
struct Open {
    folders: Vec<String>,
    busy: usize,
}

/// All files below `root` with their stamps, sorted by path.
fn list(root: &Path, limits: (u64, u64)) -> Result<Vec<(Box<str>, Stamp)>, String> {
    let open = Mutex::new(Open { folders: vec![String::new()], busy: 0 });
    let more = Condvar::new();
    let found = Mutex::new(Vec::new());
    let (files, bytes) = (AtomicU64::new(0), AtomicU64::new(0));
    let beyond =
        || files.load(Ordering::Relaxed) > limits.0 || bytes.load(Ordering::Relaxed) > limits.1;
    let work = || {
        let mut mine = Vec::new();
        loop {
            let mut state = open.lock();
            let folder = loop {
                match state.folders.pop() {
                    Some(folder) => break Some(folder),
                    None if state.busy == 0 => break None,
                    None => more.wait(&mut state),
                }
            };
            let Some(folder) = folder else { break };
            state.busy += 1;
            drop(state);
            let before = mine.len();
            let folders = if beyond() { Vec::new() } else { list_folder(root, &folder, &mut mine) };
            files.fetch_add((mine.len() - before) as u64, Ordering::Relaxed);
            let size = mine[before..].iter().map(|it: &(Box<str>, Stamp)| it.1.bytes).sum();
            bytes.fetch_add(size, Ordering::Relaxed);
            let mut state = open.lock();
            state.busy -= 1;
            state.folders.extend(folders);
            more.notify_all();
        }
        more.notify_all();
        found.lock().append(&mut mine);
    };
    in_parallel(THREADS_MAX, &work);
    if beyond() {
        let (files, bytes) = limits;
        return Err(format!("the project has more than {files} files or {bytes} bytes"));
    }
    let mut found = found.into_inner();
    found.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

/// Adds the files of one folder, and answers its folders. Links are not followed.
fn list_folder(root: &Path, folder: &str, files: &mut Vec<(Box<str>, Stamp)>) -> Vec<String> {
    let mut folders = Vec::new();
    let Ok(entries) = fs::read_dir(root.join(folder)) else { return folders };
    for entry in entries.flatten() {
        let (Ok(kind), name) = (entry.file_type(), entry.file_name()) else { continue };
        let name = name.to_string_lossy();
        if SKIPPED.contains(&&*name) {
            continue;
        }
        let path = if folder.is_empty() { name.into_owned() } else { format!("{folder}/{name}") };
        if kind.is_dir() {
            folders.push(path);
        } else if kind.is_file() || kind.is_symlink() {
            // Of the link itself.
            let Ok(about) = entry.metadata() else { continue };
            files.push((path.into_boxed_str(), stamp(&about)));
        }
    }
    folders
}

fn stamp(about: &Metadata) -> Stamp {
    let modified = about.modified().ok().map_or(0, ns);
    #[cfg(unix)]
    let (changed, inode) = {
        use std::os::unix::fs::MetadataExt as _;
        (
            about.ctime().saturating_mul(1_000_000_000).saturating_add(about.ctime_nsec()),
            about.ino(),
        )
    };
    #[cfg(not(unix))]
    let (changed, inode) = (0, 0);
    Stamp { bytes: about.len(), modified, changed, inode }
}

fn ns(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

fn now_ns() -> i64 {
    ns(SystemTime::now())
}

/// Runs the same work on several threads, this one included.
fn in_parallel(useful: usize, work: &(impl Fn() + Sync)) {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.min(THREADS_MAX).min(useful.max(1));
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
}

fn unhex(text: &str) -> Option<Hash> {
    let mut hash = Hash::default();
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (at, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(hash)
}

/// Replaces a file as a whole, on the disk before it is answered.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let part = path.with_extension("part");
    let mut file = fs::File::create(&part)?;
    file.write_all(bytes)?;
    file.sync_data()?;
    drop(file);
    fs::rename(&part, path)
}

#[cfg(test)]
mod tests;

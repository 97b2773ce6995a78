use std::time::Duration;

use super::*;

struct Project {
    folder: tempfile::TempDir,
}

impl Project {
    fn new(files: &[(&str, &str)]) -> Self {
        let project = Self { folder: tempfile::tempdir().expect("a folder") };
        for (path, text) in files {
            project.write(path, text);
        }
        project
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("p")
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("below the root")).expect("folders");
        fs::write(path, text).expect("written");
    }

    fn tracker(&self) -> Tracker {
        Tracker::open(&self.root(), &self.folder.path().join("state")).expect("opened")
    }
}

fn told(changes: &[Change]) -> Vec<(Kind, &str)> {
    changes.iter().map(|it| (it.kind, it.path.as_str())).collect()
}

/// R73: by content, with what was added, modified and removed.
#[test]
fn changes_are_those_of_content() {
    let project = Project::new(&[("a.txt", "a"), ("b/c.txt", "c"), ("d.txt", "d"), ("e.txt", "e")]);
    let tracker = project.tracker();
    let before = tracker.look().expect("compared");
    project.write("a.txt", "A");
    project.write("d.txt", "d");
    fs::remove_file(project.root().join("b/c.txt")).expect("removed");
    project.write("b/n.txt", "n");
    let after = tracker.look().expect("compared");
    let changes = before.changes(&after);
    assert_eq!(
        told(&changes),
        [
            (Kind::Modified, "res://a.txt"),
            (Kind::Removed, "res://b/c.txt"),
            (Kind::Added, "res://b/n.txt")
        ]
    );
    assert_eq!(before.changes(&before), []);
    // B5: what was there before can be had again.
    let image = |at: usize| tracker.image(changes[at].before.as_deref().expect("there before"));
    assert_eq!((image(0), image(1)), (Some(b"a".to_vec()), Some(b"c".to_vec())));
}

/// A change within the grain of the file system's clock, of equal length.
#[test]
fn quick_changes_of_equal_size_are_seen() {
    let project = Project::new(&[("a.txt", "0000")]);
    let tracker = project.tracker();
    for round in 1..20 {
        let before = tracker.look().expect("compared");
        project.write("a.txt", &format!("{round:04}"));
        let after = tracker.look().expect("compared");
        assert_eq!(told(&before.changes(&after)), [(Kind::Modified, "res://a.txt")]);
    }
}

/// A13.
#[test]
fn own_and_version_control_folders_are_skipped() {
    let mut files: Vec<_> = SKIPPED.iter().map(|it| format!("{it}/x")).collect();
    files.extend(["sub/.git/x".to_owned(), "a/.hidden".to_owned()]);
    let project = Project::new(&[]);
    files.iter().for_each(|it| project.write(it, "x"));
    let manifest = project.tracker().look().expect("compared");
    let names: Vec<_> = manifest.files.iter().map(|it| &*it.path).collect();
    assert_eq!(names, ["a/.hidden"]);
}

/// R96, both sides of both bounds.
#[test]
fn large_projects_are_not_compared() {
    let project = Project::new(&[("a", "12"), ("b/c", "345")]);
    let look = |files, bytes| project.tracker().with_limits(files, bytes).look();
    assert!(look(2, 5).is_ok());
    assert!(look(1, 5).is_err());
    assert!(look(2, 4).is_err());
    let tracker = project.tracker();
    assert_eq!(tracker.limits, (COMPARE_MAX_FILES, COMPARE_MAX_BYTES));
}

/// B2: another process compares with what was written down.
#[test]
fn a_manifest_survives_its_process() {
    let project = Project::new(&[("a b\n.txt", "a"), ("é.txt", "e")]);
    let tracker = project.tracker();
    let before = tracker.look().expect("compared");
    tracker.keep(&before).expect("written");
    drop(tracker);
    project.write("é.txt", "changed");
    let tracker = project.tracker();
    let kept = tracker.kept().expect("written down");
    assert_eq!(kept, *before);
    let changes = kept.changes(&tracker.look().expect("compared"));
    assert_eq!(told(&changes), [(Kind::Modified, "res://é.txt")]);
}

#[test]
fn half_a_manifest_is_none() {
    let project = Project::new(&[("a", "a"), ("b", "b")]);
    let text = project.tracker().look().expect("compared").encode();
    assert!(Manifest::decode(&text).is_some());
    assert_eq!(Manifest::decode(&text[..text.len() - 5]), None);
}

/// Only what may have changed is read again.
#[test]
fn settled_files_are_not_read_again() {
    let project = Project::new(&[("a", "a")]);
    let tracker = project.tracker();
    let long_ago = SystemTime::now() - Duration::from_secs(60);
    let set = || {
        let file = fs::File::options().write(true).open(project.root().join("a")).expect("there");
        file.set_modified(long_ago).expect("set");
    };
    set();
    let first = tracker.look().expect("compared").files[0].read_at;
    let again = tracker.look().expect("compared").files[0].read_at;
    // The inode changed just now, so it is read again; a minute later it would not be.
    assert!(again > first);
    let mut old = (**tracker.last.lock()).clone();
    old.files[0].read_at = old.files[0].stamp.changed + DOUBT_NS + 1;
    let kept = old.files[0].read_at;
    *tracker.last.lock() = Arc::new(old);
    assert_eq!(tracker.look().expect("compared").files[0].read_at, kept);
}

/// B5: bounds of what is kept.
#[test]
fn large_files_have_no_image() {
    let size = usize::try_from(IMAGE_MAX_BYTES).expect("small");
    let project = Project::new(&[("fits", &"x".repeat(size)), ("large", &"x".repeat(size + 1))]);
    let tracker = project.tracker();
    let manifest = tracker.look().expect("compared");
    let image = |path: &str| tracker.image(&hex(&manifest.get(path).expect("there").hash));
    assert!(image("fits").is_some() && image("large").is_none());
}

#[cfg(unix)]
#[test]
fn links_are_compared_by_their_target() {
    use std::os::unix::fs::symlink;
    let project = Project::new(&[("a", "a")]);
    symlink("a", project.root().join("l")).expect("linked");
    symlink("..", project.root().join("up")).expect("linked");
    let tracker = project.tracker();
    let before = tracker.look().expect("compared");
    assert_eq!(before.len(), 3);
    fs::remove_file(project.root().join("l")).expect("removed");
    symlink("b", project.root().join("l")).expect("linked");
    let changes = before.changes(&tracker.look().expect("compared"));
    assert_eq!(told(&changes), [(Kind::Modified, "res://l")]);
}

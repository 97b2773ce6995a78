//! Where text of a project names a file: scenes, resources, scripts, shaders, configuration.
//!
//! Only quoted paths count, with an optional `*` before and `::` behind, so that a longer path that
//! starts alike, or prose, is left alone.

use crate::script_source;

/// Byte offsets at which the path stands.
fn places(text: &str, path: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find(path) {
        let start = from + at;
        from = start + path.len();
        let before = text[..start].trim_end_matches('*');
        let opened = before.ends_with(['"', '\'']);
        let closed = text[from..].starts_with(['"', '\'', '\\']) || text[from..].starts_with("::");
        if opened && closed {
            found.push(start);
        }
    }
    found
}

/// The lines, from 1, in which the path stands; each once.
pub fn lines(text: &str, path: &str) -> Vec<usize> {
    let mut lines: Vec<usize> =
        places(text, path).into_iter().map(|it| text[..it].matches('\n').count() + 1).collect();
    lines.dedup();
    lines
}

/// The text with another path in these places. None when there are none.
pub fn replaced(text: &str, old: &str, new: &str) -> Option<String> {
    let places = places(text, old);
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for start in &places {
        out.push_str(&text[from..*start]);
        out.push_str(new);
        from = start + old.len();
    }
    out.push_str(&text[from..]);
    (!places.is_empty()).then_some(out)
}

/// As [`lines`], for a script or shader in `folder`: relative paths count too.
pub fn script_lines(text: &str, folder: &str, path: &str) -> Vec<usize> {
    let mut all = lines(text, path);
    all.extend(
        script_source::relative_paths(text, folder)
            .into_iter()
            .filter(|it| it.2 == path)
            .map(|it| text[..it.0].matches('\n').count() + 1),
    );
    all.sort_unstable();
    all.dedup();
    all
}

/// As [`replaced`], for a script or shader in `folder`: relative paths become absolute.
pub fn script_replaced(text: &str, folder: &str, old: &str, new: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for (start, end, absolute) in script_source::relative_paths(text, folder) {
        if absolute == old {
            out.push_str(&text[from..start]);
            out.push_str(new);
            from = end;
        }
    }
    out.push_str(&text[from..]);
    replaced(&out, old, new).or_else(|| (from > 0).then_some(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_path_counts() {
        let text = "a = \"res://a.gd\"\nb = 'res://a.gd'\nc = \"res://a.gdx\" # res://a.gd\n\
                    d=\"*res://a.gd\"\ne=\"res://a.gd::1\"\nf = \"\\\"res://a.gd\\\"\"";
        assert_eq!(lines(text, "res://a.gd"), [1, 2, 4, 5, 6]);
        let new = replaced(text, "res://a.gd", "res://b/c.gd").expect("found");
        assert!(lines(&new, "res://a.gd").is_empty());
        assert_eq!(lines(&new, "res://b/c.gd"), [1, 2, 4, 5, 6]);
        assert!(new.contains("\"res://a.gdx\" # res://a.gd\n"));
        assert_eq!(replaced("nothing", "res://a.gd", "x"), None);
    }

    #[test]
    fn relative_paths_become_absolute() {
        let text = "extends \"a.gd\"\nconst X = preload(\"../b.gd\")\n";
        let folder = "res://s";
        assert_eq!(script_lines(text, folder, "res://s/a.gd"), [1]);
        assert_eq!(
            script_replaced(text, folder, "res://b.gd", "res://c.gd").as_deref(),
            Some("extends \"a.gd\"\nconst X = preload(\"res://c.gd\")\n")
        );
        assert_eq!(script_replaced(text, folder, "res://none.gd", "res://c.gd"), None);
    }
}

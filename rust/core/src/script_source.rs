//! Preparing the source of a GDScript for a check beside the loaded script.

use crate::paths::Roots;

/// A source that declares another class name, of the same length, so that every error keeps its
/// line and column.
#[derive(Debug, PartialEq)]
pub struct StandIn {
    pub source: String,
    /// The name that replaces the script's own. Errors that mention it are about the replacement.
    pub name: Option<String>,
}

/// Replaces the name behind `class_name`: two scripts cannot declare the same class, and without
/// the declaration the rest of its line would be wrong.
pub fn stand_in(source: &str) -> StandIn {
    let unchanged = || StandIn { source: source.to_owned(), name: None };
    let Some(range) = class_name(source) else { return unchanged() };
    let own = &source[range.clone()];
    let length = own.chars().count();
    let is_free = |name: &String| !source.contains(name.as_str());
    let candidates = ["Zq", "Qz", "Jx", "Xj"]
        .iter()
        .map(|it| -> String { it.chars().chain(std::iter::repeat('_')).take(length).collect() });
    let Some(name) = candidates.into_iter().find(is_free) else { return unchanged() };
    let source = format!("{}{name}{}", &source[..range.start], &source[range.end..]);
    StandIn { source, name: Some(name) }
}

/// Makes the relative paths of `preload`, `extends` and `#include` absolute: a script that is
/// checked without a path of its own would look for them nowhere. `folder` is the script's,
/// `res://` with no slash at the end of a longer one. Lines keep their numbers.
pub fn with_absolute_paths(source: &str, folder: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut from = 0;
    for (start, end, absolute) in relative_paths(source, folder) {
        out.push_str(&source[from..start]);
        out.push_str(&absolute);
        from = end;
    }
    out + &source[from..]
}

/// The relative paths of `preload`, `extends` and `#include`: where each lies in the source, and the
/// absolute path that it means.
pub fn relative_paths(source: &str, folder: &str) -> Vec<(usize, usize, String)> {
    // `res://` ends with slashes of its own.
    let slash = if folder.ends_with('/') { "" } else { "/" };
    let mut found = Vec::new();
    let mut from = 0;
    while let Some((start, end)) = next_path(&source[from..]) {
        let (start, end) = (from + start, from + end);
        from = end;
        let path = &source[start..end];
        let relative = !path.contains("://") && !path.starts_with('/') && !path.is_empty();
        if relative && let Ok(absolute) = Roots::tidy_res(&format!("{folder}{slash}{path}")) {
            found.push((start, end, absolute));
        }
    }
    found
}

/// Where the next quoted path behind one of the words lies.
fn next_path(text: &str) -> Option<(usize, usize)> {
    let mut from = 0;
    loop {
        let found = ["preload(", "extends ", "#include "]
            .iter()
            .filter_map(|it| text[from..].find(it).map(|at| from + at + it.len()));
        let behind = found.min()?;
        let quote_at =
            behind + (text[behind..].len() - text[behind..].trim_start_matches([' ', '\t']).len());
        if let Some(quote @ ('"' | '\'')) = text[quote_at..].chars().next()
            && let Some(length) = text[quote_at + 1..].find([quote, '\n'])
        {
            return Some((quote_at + 1, quote_at + 1 + length));
        }
        from = behind;
    }
}

/// Where the name of the class is declared: at the start of a line, after annotations at most.
fn class_name(source: &str) -> Option<std::ops::Range<usize>> {
    let mut start = 0;
    for line in source.split_inclusive('\n') {
        if let Some(at) = line.find("class_name") {
            let before = line[..at].trim();
            let after = &line[at + "class_name".len()..];
            let name_at = after.len() - after.trim_start_matches([' ', '\t']).len();
            let name = &after[name_at..];
            let end =
                name.find(|it: char| !it.is_alphanumeric() && it != '_').unwrap_or(name.len());
            let declared = (before.is_empty() || before.starts_with('@')) && !before.contains('#');
            if declared && name_at > 0 && end > 0 {
                let from = start + at + "class_name".len() + name_at;
                return Some(from..from + end);
            }
        }
        start += line.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_paths_become_absolute() {
        let source = "extends \"base.gd\"\nconst A := preload(\"../a.gd\")\nvar b = preload('res://b.gd')\nextends Node\n";
        let wanted = "extends \"res://x/y/base.gd\"\nconst A := preload(\"res://x/a.gd\")\nvar b = preload('res://b.gd')\nextends Node\n";
        assert_eq!(with_absolute_paths(source, "res://x/y"), wanted);
        assert_eq!(with_absolute_paths("preload(\"a.gd\")", "res://"), "preload(\"res://a.gd\")");
        assert_eq!(with_absolute_paths("preload(x)", "res://"), "preload(x)");
    }

    fn check(before: &str, after: &str) {
        let stand_in = stand_in(before);
        assert_eq!(stand_in.source, after);
        assert_eq!(stand_in.source.len(), before.len());
    }

    #[test]
    fn replaces_the_declared_name() {
        check("class_name Hero extends Node\n", "class_name Zq__ extends Node\n");
        check("@tool\n@icon(\"a\") class_name A", "@tool\n@icon(\"a\") class_name Z");
        check("extends Node\r\nclass_name  Hero\r\n", "extends Node\r\nclass_name  Zq__\r\n");
        check("class_name Hero\nvar Zq__ = 1", "class_name Qz__\nvar Zq__ = 1");
    }

    #[test]
    fn leaves_everything_else() {
        for source in
            ["", "extends Node", "# class_name Hero", "var class_names", "print(\"class_name A\")"]
        {
            check(source, source);
        }
    }
}

//! Preparing the source of a GDScript for a check beside the loaded script.

use crate::paths::Roots;

/// A source that declares another class name, of the same length, so that every error keeps its
/// line and column.
#[derive(Debug, PartialEq)]
pub struct StandIn {
    pub source: String,
    /// The name that replaces the script's own.
    pub name: Option<String>,
    /// The script's own name.
    pub own: Option<String>,
}

impl StandIn {
    /// A message about the stand-in in terms of the script itself. None when it is only about the
    /// two names: types of the script no longer match its class outside, which is right there.
    pub fn translate(&self, message: &str) -> Option<String> {
        let (Some(name), Some(own)) = (&self.name, &self.own) else {
            return Some(message.to_owned());
        };
        if !message.contains(name.as_str()) {
            return Some(message.to_owned());
        }
        // The compiler, which comes after all checks, looks for classes by their files.
        if message.starts_with("Compile Error: ") {
            return None;
        }
        let about_both = message.replace(name.as_str(), "").contains(own.as_str());
        (!about_both).then(|| message.replace(name.as_str(), own))
    }
}

/// Replaces the name behind `class_name`, and its uses in the script: two scripts cannot declare the
/// same class. Takes `@tool` away, since the engine runs static initializers of tool scripts.
pub fn stand_in(source: &str) -> StandIn {
    let mut out = source.to_owned();
    // From the end, so that ranges stay true.
    let mut blank = |range: std::ops::Range<usize>, text: &str| out.replace_range(range, text);
    let own = header(source).class_name;
    let name = own.as_deref().and_then(|own| free_name(source, own));
    for token in tokens(source).iter().rev() {
        match (&token.kind, &own, &name) {
            (Kind::Annotation, ..) if source[token.range.clone()] == *"@tool" => {
                blank(token.range.clone(), "     ");
            }
            (Kind::Name { after_dot: false }, Some(own), Some(name))
                if source[token.range.clone()] == **own =>
            {
                blank(token.range.clone(), name);
            }
            _ => {}
        }
    }
    StandIn { source: out, name, own }
}

/// A name of the same length that the source does not have.
fn free_name(source: &str, own: &str) -> Option<String> {
    let length = own.chars().count();
    ["Zq", "Qz", "Jx", "Xj"]
        .iter()
        .map(|it| -> String { it.chars().chain(std::iter::repeat('_')).take(length).collect() })
        .find(|it| !source.contains(it.as_str()))
}

/// What a script declares at its top.
#[derive(Debug, Default, PartialEq)]
pub struct Header {
    pub class_name: Option<String>,
    /// A class, or a path without its quotes.
    pub extends: Option<String>,
    pub extends_path: bool,
}

/// Reads `class_name` and `extends` of the script itself, not those of inner classes.
pub fn header(source: &str) -> Header {
    let mut header = Header::default();
    let tokens = tokens(source);
    let mut index = 0;
    while let Some(token) = tokens.get(index) {
        let text = &source[token.range.clone()];
        let next = tokens.get(index + 1);
        match (&token.kind, text) {
            (Kind::Name { .. }, "class_name") => {
                header.class_name = next.map(|it| source[it.range.clone()].to_owned());
                index += 2;
            }
            (Kind::Name { .. }, "extends") => {
                let Some(next) = next else { break };
                header.extends_path = next.kind == Kind::Text;
                let mut end = next.range.end;
                index += 2;
                // `extends Outer.Inner`
                while let Some(part) = tokens.get(index)
                    && part.kind == (Kind::Name { after_dot: true })
                {
                    end = part.range.end;
                    index += 1;
                }
                header.extends = Some(source[next.range.start..end].to_owned());
            }
            // Annotations and their arguments, and a documentation string, may come before.
            (Kind::Annotation | Kind::Text, _) => index += 1,
            (Kind::Name { .. }, "abstract") => index += 1,
            _ => break,
        }
    }
    header
}

/// A script that others may refer to.
#[derive(Clone, Debug, Default)]
pub struct Target {
    pub path: String,
    /// `uid://...`, empty when there is none.
    pub uid: String,
    /// Names under which it is known everywhere: its class, an autoload.
    pub names: Vec<String>,
}

/// Whether the source of a script in `folder` names the target: by class, path or uid.
pub fn mentions(source: &str, folder: &str, target: &Target) -> bool {
    let file = target.path.rsplit('/').next().unwrap_or_default();
    // Most sources have none of the words, and then need no closer look.
    let likely = source.contains(file)
        || !target.uid.is_empty() && source.contains(&target.uid)
        || target.names.iter().any(|it| source.contains(it.as_str()));
    likely
        && tokens(source).iter().any(|token| {
            let text = &source[token.range.clone()];
            match token.kind {
                Kind::Name { after_dot } => !after_dot && target.names.iter().any(|it| it == text),
                Kind::Text => text == target.uid || absolute(text, folder) == target.path,
                Kind::Annotation => false,
            }
        })
}

/// Where a name stands, as line and column in characters from 1.
pub type Spot = (usize, usize);

/// Where a source has `name`: in code, and as the whole content of a string.
#[derive(Debug, Default, PartialEq)]
pub struct Spots {
    pub code: Vec<Spot>,
    pub strings: Vec<Spot>,
}

/// Comments have none.
pub fn spots(source: &str, name: &str) -> Spots {
    let mut spots = Spots::default();
    if !source.contains(name) {
        return spots;
    }
    let (mut line, mut line_start, mut seen) = (1, 0, 0);
    for token in tokens(source) {
        if source[token.range.clone()] != *name {
            continue;
        }
        let start = token.range.start;
        for (at, _) in source[seen..start].match_indices('\n') {
            line += 1;
            line_start = seen + at + 1;
        }
        seen = start;
        let spot = (line, source[line_start..start].chars().count() + 1);
        match token.kind {
            Kind::Name { .. } => spots.code.push(spot),
            Kind::Text => spots.strings.push(spot),
            Kind::Annotation => {}
        }
    }
    spots
}

/// Whether a text can be the name of a variable or function.
pub fn is_identifier(text: &str) -> bool {
    let starts = text.chars().next().is_some_and(|it| it.is_alphabetic() || it == '_');
    starts && text.chars().all(|it| it.is_alphanumeric() || it == '_') && !KEYWORDS.contains(&text)
}

const KEYWORDS: &[&str] = &[
    "and",
    "as",
    "assert",
    "await",
    "break",
    "breakpoint",
    "class",
    "class_name",
    "const",
    "continue",
    "elif",
    "else",
    "enum",
    "extends",
    "false",
    "for",
    "func",
    "if",
    "in",
    "is",
    "match",
    "namespace",
    "not",
    "null",
    "or",
    "pass",
    "preload",
    "return",
    "self",
    "signal",
    "static",
    "super",
    "trait",
    "true",
    "var",
    "void",
    "when",
    "while",
    "yield",
];

/// A path in a script of `folder`, which may be relative. Empty when it is none.
pub fn absolute(path: &str, folder: &str) -> String {
    if path.contains("://") || path.is_empty() {
        return path.to_owned();
    }
    let slash = if folder.ends_with('/') { "" } else { "/" };
    Roots::tidy_res(&format!("{folder}{slash}{path}")).unwrap_or_default()
}

/// The folder of a `res://` path, without a slash at its end but for the project's.
pub fn folder_of(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some(("res:/", _)) | None => "res://",
        Some((folder, _)) => folder,
    }
}

#[derive(Debug, PartialEq)]
enum Kind {
    /// An identifier or a keyword.
    Name { after_dot: bool },
    /// `@` and the name behind it.
    Annotation,
    /// What is between the quotes of a string.
    Text,
}

#[derive(Debug)]
struct Token {
    kind: Kind,
    range: std::ops::Range<usize>,
}

/// Names, annotations and strings of a source. Comments and everything else are left out.
fn tokens(source: &str) -> Vec<Token> {
    let bytes = source.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    let mut last = b' ';
    while at < bytes.len() {
        let byte = bytes[at];
        match byte {
            b'#' => {
                at += source[at..].find('\n').unwrap_or(source.len() - at);
                continue;
            }
            b'"' | b'\'' => {
                let triple = [byte; 3];
                let quote =
                    if bytes[at..].starts_with(&triple) { &triple[..] } else { &triple[..1] };
                let start = at + quote.len();
                let end = end_of_text(bytes, start, quote);
                tokens.push(Token { kind: Kind::Text, range: start..end });
                at = (end + quote.len()).min(bytes.len());
                last = byte;
                continue;
            }
            _ => {}
        }
        let rest = &source[at..];
        let name_at = usize::from(byte == b'@');
        let length = rest[name_at..]
            .find(|it: char| !it.is_alphanumeric() && it != '_')
            .unwrap_or(rest.len() - name_at);
        if length == 0 {
            // A character of several bytes that is no letter is stepped over whole.
            at += rest.chars().next().map_or(1, char::len_utf8);
            if !byte.is_ascii_whitespace() {
                last = byte;
            }
            continue;
        }
        let range = at..at + name_at + length;
        if name_at == 1 {
            tokens.push(Token { kind: Kind::Annotation, range: range.clone() });
        } else if !byte.is_ascii_digit() {
            let kind = Kind::Name { after_dot: last == b'.' };
            tokens.push(Token { kind, range: range.clone() });
        }
        at = range.end;
        last = b'a';
    }
    tokens
}

fn end_of_text(bytes: &[u8], start: usize, quote: &[u8]) -> usize {
    let mut at = start;
    while at < bytes.len() && !bytes[at..].starts_with(quote) {
        // A line break ends a string of one line, which then is a mistake.
        if bytes[at] == b'\n' && quote.len() == 1 {
            break;
        }
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at.min(bytes.len())
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
        check("@tool\n@icon(\"a\") class_name A", "     \n@icon(\"a\") class_name Z");
        check("extends Node\r\nclass_name  Hero\r\n", "extends Node\r\nclass_name  Zq__\r\n");
        check("class_name Hero\nvar Zq__ = 1", "class_name Qz__\nvar Zq__ = 1");
        check(
            "class_name Hero\nvar a: Hero # Hero\nvar b = \"Hero\" + x.Hero + Heroes",
            "class_name Zq__\nvar a: Zq__ # Hero\nvar b = \"Hero\" + x.Hero + Heroes",
        );
    }

    #[test]
    fn leaves_everything_else() {
        for source in
            ["", "extends Node", "# class_name Hero", "var class_names", "print(\"class_name A\")"]
        {
            check(source, source);
        }
    }

    #[test]
    fn messages_tell_of_the_script_itself() {
        let it = stand_in("class_name Hero\n");
        assert_eq!(it.translate("no \"a\" in Zq__").as_deref(), Some("no \"a\" in Hero"));
        assert_eq!(it.translate("cannot pass Zq__ as Hero"), None);
        assert_eq!(it.translate("Compile Error: Identifier not found: Zq__"), None);
        assert_eq!(it.translate("no Hero").as_deref(), Some("no Hero"));
    }

    #[test]
    fn reads_the_header() {
        let read = |source: &str| {
            let it = header(source);
            (it.class_name.unwrap_or_default(), it.extends.unwrap_or_default(), it.extends_path)
        };
        let wanted = |class: &str, base: &str, path| (class.to_owned(), base.to_owned(), path);
        assert_eq!(
            read("@tool\n## Doc.\nclass_name Ä extends A.B\nvar x"),
            wanted("Ä", "A.B", false)
        );
        assert_eq!(read("extends 'base.gd'\nclass_name B"), wanted("B", "base.gd", true));
        assert_eq!(read("var a\nclass Inner extends Node:\n"), wanted("", "", false));
        assert_eq!(read("@icon(\"res://a.svg\")\nextends Node"), wanted("", "Node", false));
    }

    #[test]
    fn finds_mentions() {
        let target = Target {
            path: "res://a/hero.gd".to_owned(),
            uid: "uid://abc".to_owned(),
            names: vec!["Hero".to_owned()],
        };
        for source in [
            "extends Hero",
            "var x := [Hero.new()]",
            "preload(\"hero.gd\")",
            "preload('../a/hero.gd')",
            "load(\"res://a/hero.gd\")",
            "const A = preload(\"uid://abc\")",
        ] {
            assert!(mentions(source, "res://a", &target), "{source}");
        }
        for source in ["# Hero", "var Heroes", "x.Hero", "\"hero.gd is a file\"", "'a\\'Hero'", ""]
        {
            assert!(!mentions(source, "res://a", &target), "{source}");
        }
        assert!(!mentions("preload(\"hero.gd\")", "res://b", &target));
    }

    #[test]
    fn finds_spots() {
        let source = "var hp := 1 # hp\nfunc ü():\n\t\"ü😀\"; hp += x.hp\n\tset(\"hp\", \"hp!\")";
        assert_eq!(
            spots(source, "hp"),
            Spots { code: vec![(1, 5), (3, 8), (3, 16)], strings: vec![(4, 7)] }
        );
        assert_eq!(spots(source, "mp"), Spots::default());
        for (text, wanted) in [
            ("a1_", true),
            ("_", true),
            ("ü", true),
            ("1a", false),
            ("", false),
            ("var", false),
            ("a b", false),
        ] {
            assert_eq!(is_identifier(text), wanted, "{text}");
        }
    }

    /// Whatever text a file holds, ranges lie between characters.
    #[test]
    fn survives_any_text() {
        for source in
            ["\"", "'\\", "\"\"\"a", "@", "@ü", "«»\"ü\\ü\"…", "\u{feff}class_name A", "0x1F.a"]
        {
            let _ =
                (stand_in(source), header(source), mentions(source, "res://", &Target::default()));
        }
    }
}

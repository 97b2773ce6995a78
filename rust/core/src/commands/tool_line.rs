//! Whether a script is a tool script (R43, A16), by the tokens at its head as Godot reads them.
//!
//! `@tool` counts where the engine takes it: before `class_name`, `extends` and all members. Before
//! it may stand other annotations, comments, and strings on lines of their own. A comment or a
//! string that holds the word does not count.

/// Whether `@tool` is among the annotations at the head of a script.
pub fn has_tool(source: &str) -> bool {
    let mut rest = source;
    loop {
        rest = skip_blank(rest);
        if let Some(behind) = rest.strip_prefix('@') {
            let name_end = behind.find(|it| !is_name(it)).unwrap_or(behind.len());
            match &behind[..name_end] {
                "tool" => return true,
                "" => return false,
                _ => rest = skip_arguments(&behind[name_end..]),
            }
        } else if let Some(behind) = skip_string(rest) {
            rest = behind;
        } else {
            return false;
        }
    }
}

fn is_name(it: char) -> bool {
    it.is_alphanumeric() || it == '_'
}

/// Behind spaces, line ends, continued lines, `;` and comments.
fn skip_blank(mut text: &str) -> &str {
    loop {
        text = text.trim_start_matches([' ', '\t', '\r', '\n', ';']);
        if text.starts_with('#') {
            text = text.find('\n').map_or("", |at| &text[at..]);
        } else if text.starts_with("\\\n") || text.starts_with("\\\r\n") {
            text = &text[1..];
        } else {
            return text;
        }
    }
}

/// Behind a string literal, when the text starts with one. One without an end takes all.
pub(super) fn skip_string(text: &str) -> Option<&str> {
    let raw = text.starts_with("r\"") || text.starts_with("r'");
    let body = if raw { &text[1..] } else { text };
    let quote = body.chars().next().filter(|it| matches!(it, '"' | '\''))?;
    let three: String = std::iter::repeat_n(quote, 3).collect();
    let (quote, multiline) =
        if body.starts_with(&three) { (three.as_str(), true) } else { (&three[..1], false) };
    let mut rest = &body[quote.len()..];
    loop {
        let Some(at) = rest.find(['\\', '\n', '"', '\'']) else { return Some("") };
        rest = &rest[at..];
        if let Some(rest) = rest.strip_prefix(quote) {
            return Some(rest);
        }
        // Behind a backslash a quote is text, in raw strings too.
        let skipped = if rest.starts_with('\\') { 2 } else { 1 };
        if rest.starts_with('\n') && !multiline {
            return Some(rest);
        }
        rest = rest.char_indices().nth(skipped).map_or("", |it| &rest[it.0..]);
    }
}

/// Behind the parentheses of an annotation, when there are some.
fn skip_arguments(text: &str) -> &str {
    let mut rest = text.trim_start_matches([' ', '\t']);
    if !rest.starts_with('(') {
        return text;
    }
    let mut depth = 0_usize;
    loop {
        rest = skip_blank(rest);
        if let Some(behind) = skip_string(rest) {
            rest = behind;
            continue;
        }
        let Some(found) = rest.chars().next() else { return "" };
        rest = &rest[found.len_utf8()..];
        match found {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return rest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::has_tool;

    /// R43 and A16.
    #[test]
    fn found_where_the_engine_takes_it() {
        for source in [
            "@tool",
            "@tool\nextends Node",
            "\r\n# about\r\n@tool\r\nextends Node\r\n",
            "@tool extends Node",
            "@tool;extends Node",
            "@icon(\"res://a.svg\") @tool\nextends Node",
            "@icon(\n\t\"res://)@.svg\" # )\n)\n@tool",
            "@static_unload\n@tool",
            "@static_unload @tool",
            "\"\"\"About.\n@nothing \"quoted\"\n\"\"\"\n@tool",
            "'one line'\n@tool",
            "r\"\\\"\"\n@tool",
            "\\\n@tool",
            "@tool# comment",
        ] {
            assert!(has_tool(source), "{source:?}");
        }
    }

    /// A16.
    #[test]
    fn not_found_elsewhere() {
        for source in [
            "",
            "extends Node",
            "# @tool\nextends Node",
            "#@tool",
            "\"@tool\"\nextends Node",
            "\"\"\"\n@tool\n\"\"\"\nextends Node",
            "'''\n@tool",
            "var a = \"\"\"\n@tool\n\"\"\"",
            "extends Node\n@tool",
            "class_name A\n@tool",
            "@tools",
            "@tool_button",
            "@toolé",
            "@ tool",
            "tool\nextends Node",
            "@icon(\"@tool\")\nextends Node",
            "@icon(\"a\nextends Node",
            "@",
            "\u{feff}@tool",
        ] {
            assert!(!has_tool(source), "{source:?}");
        }
    }
}

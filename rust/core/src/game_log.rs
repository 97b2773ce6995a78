//! Reading what a Godot process printed: errors, warnings and where they come from.

use serde::Serialize;

use crate::feed::Severity;

/// One problem in the output, or several that say the same at the same place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    pub severity: Severity,
    /// `script`, `engine`, `shader`, `parse` or `run`.
    pub source: &'static str,
    pub message: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub file: String,
    #[serde(skip_serializing_if = "is_zero")]
    pub line: i64,
    /// How often it was printed, when more than once.
    #[serde(skip_serializing_if = "is_one")]
    pub times: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<String>,
}

fn is_zero(line: &i64) -> bool {
    *line == 0
}

fn is_one(times: &usize) -> bool {
    *times == 1
}

/// How a line that starts a problem begins, the longer ones first.
const STARTS: &[(&str, Severity, &str)] = &[
    ("USER SCRIPT ERROR: ", Severity::Error, "script"),
    ("USER SHADER ERROR: ", Severity::Error, "shader"),
    ("USER ERROR: ", Severity::Error, "script"),
    ("USER WARNING: ", Severity::Warning, "script"),
    ("SCRIPT ERROR: ", Severity::Error, "script"),
    ("SHADER ERROR: ", Severity::Error, "shader"),
    ("ERROR: ", Severity::Error, "engine"),
    ("WARNING: ", Severity::Warning, "engine"),
];

/// Problems in the output of a process, in order, repeats counted.
pub fn findings(output: &str) -> Vec<Finding> {
    let mut list: Vec<Finding> = Vec::new();
    let mut open: Option<Finding> = None;
    let mut in_message = false;
    let output = plain(output);
    for line in output.lines() {
        let start = STARTS.iter().find_map(|(start, severity, source)| {
            Some((line.strip_prefix(start)?, *severity, *source))
        });
        if let Some((message, severity, source)) = start {
            close(&mut list, open.take());
            open = Some(Finding {
                severity,
                source,
                message: message.to_owned(),
                file: String::new(),
                line: 0,
                times: 1,
                stack: Vec::new(),
            });
            in_message = true;
            continue;
        }
        let Some(finding) = &mut open else { continue };
        let trimmed = line.trim_start();
        let indented = trimmed.len() < line.len();
        if let (true, Some(place)) = (indented, trimmed.strip_prefix("at: ")) {
            in_message = false;
            if let Some((file, number)) = place_in_brackets(place) {
                (finding.file, finding.line) = (file, number);
            }
        } else if indented && trimmed.starts_with('[') && !in_message {
            if let Some((file, number)) = place_in_brackets(trimmed) {
                // An engine error that a script caused is told at the script's line.
                if finding.stack.is_empty() && !finding.file.starts_with("res://") {
                    (finding.file, finding.line) = (file, number);
                }
                let frame = trimmed.split_once("] ").map_or(trimmed, |it| it.1);
                finding.stack.push(frame.to_owned());
            }
        } else if in_message && finding.message.len() < MAX_MESSAGE {
            finding.message.push('\n');
            finding.message.push_str(line);
        } else if !indented {
            close(&mut list, open.take());
        }
    }
    close(&mut list, open);
    list
}

/// A message goes on until the line that tells its place; without one it must not take the rest.
const MAX_MESSAGE: usize = 1_000;

fn close(list: &mut Vec<Finding>, finding: Option<Finding>) {
    let Some(finding) = finding else { return };
    let same = |it: &&mut Finding| {
        it.message == finding.message && it.file == finding.file && it.line == finding.line
    };
    match list.iter_mut().find(same) {
        Some(twin) => twin.times += 1,
        None => list.push(finding),
    }
}

/// `name (file:12)` to file and line.
fn place_in_brackets(text: &str) -> Option<(String, i64)> {
    let inside = text.rsplit_once('(')?.1.split_once(')')?.0;
    let (file, line) = inside.rsplit_once(':')?;
    Some((file.to_owned(), line.parse().ok()?))
}

/// The text without terminal colors, which `print_rich` and progress bars make.
pub fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('\u{1b}') {
        plain.push_str(&rest[..start]);
        let sequence = &rest[start + 1..];
        rest = match sequence.strip_prefix('[') {
            // Parameters end with a letter.
            Some(parameters) => match parameters.find(|it: char| ('@'..='~').contains(&it)) {
                Some(end) => &parameters[end + 1..],
                None => "",
            },
            None => sequence,
        };
    }
    plain.push_str(rest);
    plain.replace('\r', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_scripts_engine_and_user_errors() {
        let output = "\
Godot Engine v4.6.3
hello
SCRIPT ERROR: Invalid access to property 'x' on a base object of type 'Nil'.
          at: _ready (res://player.gd:12)
          GDScript backtrace (most recent call first):
              [0] _ready (res://player.gd:12)
              [1] boot (res://boot.gd:3)
WARNING: careful
     at: push_warning (core/variant/variant_utility.cpp:1034)
     GDScript backtrace (most recent call first):
         [0] warn (res://player.gd:20)
ERROR: two
lines
   at: load (core/io/resource_loader.cpp:345)
goodbye
ERROR: two
lines
   at: load (core/io/resource_loader.cpp:345)";
        let found = findings(output);
        let brief: Vec<_> = found
            .iter()
            .map(|it| (it.source, it.message.as_str(), it.file.as_str(), it.line, it.times))
            .collect();
        assert_eq!(
            brief,
            [
                (
                    "script",
                    "Invalid access to property 'x' on a base object of type 'Nil'.",
                    "res://player.gd",
                    12,
                    1
                ),
                ("engine", "careful", "res://player.gd", 20, 1),
                ("engine", "two\nlines", "core/io/resource_loader.cpp", 345, 2),
            ]
        );
        assert_eq!(found[0].stack, ["_ready (res://player.gd:12)", "boot (res://boot.gd:3)"]);
        assert_eq!(found[1].severity, Severity::Warning);
    }

    #[test]
    fn a_broken_log_is_no_problem() {
        assert!(findings("").is_empty());
        assert_eq!(findings("ERROR: ")[0].message, "");
        let endless = format!("ERROR: a\n{}", "text\n".repeat(10_000));
        assert!(findings(&endless)[0].message.len() < 2 * MAX_MESSAGE);
    }

    #[test]
    fn strips_colors() {
        assert_eq!(plain("\u{1b}[90m\u{1b}[1mbold\u{1b}[22m end\u{1b}[0m\u{1b}["), "bold end");
        assert_eq!(plain("\u{1b}[92m[ DONE ]\u{1b}[39m ü\r\n"), "[ DONE ] ü\n");
    }
}

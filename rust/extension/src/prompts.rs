//! Prompts: recipes that a human picks from a menu of the client.
//!
//! A body is a Markdown file beside this one. What it says depends on the tools that there are: a
//! paragraph or list item that names a tool which this server does not have, or may not run, is left
//! out. So a body never names a tool that cannot be called, and a line for a tool of a later version
//! can stand in it already. Notation, each at the start of a line of its own:
//!
//! - `{name}` is an argument; a line with an argument that was not given is left out.
//! - `(without x)` keeps the line only when there is no tool `x`.
//! - `(read-only)` keeps the line only when the server is read-only.
//! - `{enable}` tells to switch on the toolsets that the rest needs; nothing when all are on.

use std::collections::{BTreeMap, BTreeSet};

use godot_mcp_core::gate::Gate;
use godot_mcp_core::prompt::{PromptArgument, PromptInfo};
use godot_mcp_core::{SafetyClass, ToolError, suggest};

use crate::extensions::offers::OwnPrompt;

/// What values an argument takes, for completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    NodeClass,
    Toolset,
    /// `res://` paths.
    Scene,
    Script,
    /// Paths without `res://`, as the templates of resources have them.
    SceneInUri,
    ScriptInUri,
}

struct Prompt {
    name: &'static str,
    description: &'static str,
    arguments: &'static [Argument],
    body: &'static str,
}

struct Argument {
    name: &'static str,
    description: &'static str,
    required: bool,
    kind: Kind,
}

const fn required(name: &'static str, kind: Kind, description: &'static str) -> Argument {
    Argument { name, description, required: true, kind }
}

const fn optional(name: &'static str, kind: Kind, description: &'static str) -> Argument {
    Argument { name, description, required: false, kind }
}

const PROMPTS: &[Prompt] = &[
    Prompt {
        name: "build_scene",
        description: "Build a scene from a description, checked and saved.",
        arguments: &[
            required("description", Kind::Text, "What the scene should be."),
            optional("scene_path", Kind::Scene, "Scene to extend, or where to make a new one."),
            optional("root_class", Kind::NodeClass, "Class of the root of a new scene."),
        ],
        body: include_str!("prompts/build_scene.md"),
    },
    Prompt {
        name: "debug_scene",
        description: "Find out why a scene does not do what it should.",
        arguments: &[
            optional("problem", Kind::Text, "What goes wrong."),
            optional("scene_path", Kind::Scene, "The scene; by default the edited one."),
        ],
        body: include_str!("prompts/debug_scene.md"),
    },
    Prompt {
        name: "play_test",
        description: "Run the game and report what happens.",
        arguments: &[
            optional("scene_path", Kind::Scene, "Scene to run; by default the main scene."),
            optional("goal", Kind::Text, "What should be possible in the game."),
        ],
        body: include_str!("prompts/play_test.md"),
    },
    Prompt {
        name: "script_edit",
        description: "Change a script and check that it still compiles.",
        arguments: &[
            required("script_path", Kind::Script, "The script."),
            required("change", Kind::Text, "What should be different."),
        ],
        body: include_str!("prompts/script_edit.md"),
    },
    Prompt {
        name: "troubleshoot",
        description: "Find out why this server or one of its tools does not work.",
        arguments: &[
            optional("problem", Kind::Text, "What does not work, best with the error's text."),
            optional("toolset", Kind::Toolset, "The toolset of the tool in question."),
        ],
        body: include_str!("prompts/troubleshoot.md"),
    },
];

/// Every prompt, in the order in which clients see them.
pub fn all() -> Vec<PromptInfo> {
    let argument = |it: &Argument| PromptArgument {
        name: it.name.to_owned(),
        description: it.description.to_owned(),
        required: it.required,
    };
    let info = |it: &Prompt| PromptInfo {
        name: it.name.to_owned(),
        description: it.description.to_owned(),
        arguments: it.arguments.iter().map(argument).collect(),
    };
    PROMPTS.iter().map(info).collect()
}

/// What an argument of a prompt takes.
pub(crate) fn kind_of(prompt: &str, argument: &str) -> Result<Kind, ToolError> {
    let prompt = find(prompt)?;
    prompt.arguments.iter().find(|it| it.name == argument).map(|it| it.kind).ok_or_else(|| {
        let known: Vec<_> = prompt.arguments.iter().map(|it| it.name).collect();
        let message = format!("the prompt \"{}\" has no argument \"{argument}\"", prompt.name);
        ToolError::invalid("argument", message)
            .hint(format!("its arguments are: {}", known.join(", ")))
    })
}

/// The text of a prompt, for the tools that this server has.
///
/// # Errors
/// When there is no such prompt.
pub fn text(
    gate: &Gate,
    name: &str,
    arguments: &BTreeMap<String, String>,
) -> Result<String, ToolError> {
    let prompt = find(name)?;
    let names: Vec<&str> = prompt.arguments.iter().map(|it| it.name).collect();
    Ok(render(gate, prompt.body, &names, arguments))
}

/// The text of a prompt of the project.
pub(crate) fn text_of(
    gate: &Gate,
    prompt: &OwnPrompt,
    arguments: &BTreeMap<String, String>,
) -> String {
    let names: Vec<&str> = prompt.info.arguments.iter().map(|it| it.name.as_str()).collect();
    render(gate, &prompt.body, &names, arguments)
}

fn render(gate: &Gate, body: &str, names: &[&str], arguments: &BTreeMap<String, String>) -> String {
    let given: BTreeMap<&str, &str> = arguments
        .iter()
        .map(|(name, value)| (name.as_str(), value.trim()))
        .filter(|it| !it.1.is_empty())
        .collect();
    let tools = Tools { gate };
    let lines: Vec<&str> =
        body.lines().filter_map(|line| tools.kept(line, names, &given)).collect();
    let needed: BTreeSet<String> = lines
        .iter()
        .flat_map(|line| words(line))
        .filter_map(|word| tools.toolset(word))
        .filter(|set| !gate.is_enabled(set))
        .collect();
    let mut text = String::new();
    for line in lines {
        if line == "{enable}" {
            if !needed.is_empty() {
                let sets = needed.iter().cloned().collect::<Vec<_>>().join(",");
                text += &format!(
                    "First switch on what is off: `enable_toolset` with category \"{sets}\".\n"
                );
            }
            continue;
        }
        text += &filled(line, &given);
        text.push('\n');
    }
    // What was left out leaves no gaps.
    while text.contains("\n\n\n") {
        text = text.replace("\n\n\n", "\n\n");
    }
    text.trim().to_owned()
}

fn find(name: &str) -> Result<&'static Prompt, ToolError> {
    PROMPTS.iter().find(|it| it.name == name).ok_or_else(|| {
        let near = suggest::near(name, PROMPTS.iter().map(|it| it.name), 3);
        ToolError::invalid("ref", format!("no prompt \"{name}\"")).suggest(near)
    })
}

/// Words in backticks.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// In one pass: what an argument holds is not looked at for arguments again.
fn filled(line: &str, given: &BTreeMap<&str, &str>) -> String {
    let (mut text, mut rest) = (String::new(), line);
    while let Some((before, from)) = rest.split_once('{') {
        text += before;
        match from.split_once('}') {
            Some((name, after)) if given.contains_key(name) => {
                text += given[name];
                rest = after;
            }
            _ => {
                text.push('{');
                rest = from;
            }
        }
    }
    text + rest
}

struct Tools<'a> {
    gate: &'a Gate,
}

impl Tools<'_> {
    /// The line without its conditions, when they hold.
    fn kept<'l>(
        &self,
        line: &'l str,
        names: &[&str],
        given: &BTreeMap<&str, &str>,
    ) -> Option<&'l str> {
        let mut line = line;
        while let Some((condition, rest)) =
            line.strip_prefix('(').and_then(|it| it.split_once(") "))
        {
            let holds = match condition.strip_prefix("without ") {
                Some(tool) => self.toolset(tool).is_none(),
                None if condition == "read-only" => self.gate.settings().read_only,
                None => break,
            };
            if !holds {
                return None;
            }
            line = rest;
        }
        let missing = |it: &&str| !given.contains_key(it) && line.contains(&format!("{{{it}}}"));
        if names.iter().any(missing) {
            return None;
        }
        let callable = |word: &str| !is_tool_like(word) || self.toolset(word).is_some();
        words(line).all(callable).then_some(line)
    }

    /// The toolset of a tool that can be called here, switched on or not.
    fn toolset(&self, tool: &str) -> Option<String> {
        let registry = self.gate.registry();
        let spec = &registry.get(tool)?.spec;
        let refused = self.gate.settings().read_only && spec.class != SafetyClass::ReadOnly;
        (!refused).then(|| spec.toolset.clone())
    }
}

/// Names of tools have an underscore and nothing but lower-case letters. Parameters that look like
/// that are written with a colon (`confirm: true`) or without backticks.
fn is_tool_like(word: &str) -> bool {
    word.contains('_') && word.chars().all(|it| it.is_ascii_lowercase() || it == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_filled_in_once() {
        let given = BTreeMap::from([("a", "{b}"), ("b", "x")]);
        assert_eq!(filled("{a} and {b}, {c} {", &given), "{b} and x, {c} {");
    }
}

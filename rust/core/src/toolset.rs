//! Toolsets, bundles and the one server-wide enabled set (S11).

use std::collections::BTreeSet;

/// A group of tools that is switched on and off together.
#[derive(Clone, Copy, Debug)]
pub struct Toolset {
    pub name: &'static str,
    pub description: &'static str,
    /// Words that `discover_tools` matches beside names and descriptions.
    pub keywords: &'static [&'static str],
}

/// Always on.
pub const CORE: &str = "core";

/// Tools of the project that are in no group. Always on, as authors expect.
pub const PROJECT: &str = "project_tools";

/// A toolset of the project. Its texts live as long as the process: there are as many as authors write.
pub fn of_project(name: &str, description: &str, keywords: &[String]) -> &'static Toolset {
    let keep = |text: &str| -> &'static str { Box::leak(text.to_owned().into_boxed_str()) };
    let keywords: Vec<&'static str> = keywords.iter().map(|it| keep(it)).collect();
    Box::leak(Box::new(Toolset {
        name: keep(name),
        description: keep(description),
        keywords: Box::leak(keywords.into_boxed_slice()),
    }))
}

/// On at start when the project declares commands.
pub const COMMANDS: &str = "commands";

/// On when `GODOT_MCP_DEFAULT_TOOLSETS` does not say otherwise (S11.1).
pub const DEFAULT_ENABLED: &[&str] = &[CORE, "inspection"];

/// Every toolset that has tools, in the order in which clients see them.
pub const TOOLSETS: &[Toolset] = &[
    Toolset {
        name: CORE,
        description: "Health, undo and redo, errors, class reference, switching toolsets.",
        keywords: &["undo", "redo", "history", "log", "docs", "help", "heartbeat"],
    },
    Toolset {
        name: "inspection",
        description: "Read the project, the edited scene, its nodes and their properties.",
        keywords: &["read", "tree", "find", "search", "property", "group", "bounds"],
    },
    Toolset {
        name: "scene_edit",
        description: "Create, change, move and delete nodes, signals and scenes, undoable.",
        keywords: &["add", "remove", "reparent", "signal", "instance", "script", "save", "open"],
    },
    Toolset {
        name: "composite",
        description: "Several nodes, properties or calls at once, in one undo step.",
        keywords: &["many", "bulk", "transaction", "atomic", "children", "build", "commands"],
    },
    Toolset {
        name: "batch",
        description: "One property on many nodes or in many scenes; nodes by class; dependencies.",
        keywords: &["many", "bulk", "all", "files", "mass", "type", "replace"],
    },
    Toolset {
        name: "scripts",
        description: "Read, write and patch scripts, undoable, with parse errors in the answer.",
        keywords: &["gdscript", "code", "source", "edit", "compile", "check", "syntax", "csharp"],
    },
    Toolset {
        name: "code",
        description: "Symbols, definitions, references, completion, diagnostics and renames in GDScript.",
        keywords: &["gdscript", "hover", "docs", "lsp", "refactor", "warnings", "lint", "outline"],
    },
    Toolset {
        name: "extensions",
        description: "Tools that the project itself adds: what is loaded, what is wrong, refresh.",
        keywords: &["plugin", "addon", "own", "custom", "register", "reload"],
    },
    Toolset {
        name: "resources_edit",
        description: "Resource files, gradients, curves, noise, sprite frames, placeholders; autoloads.",
        keywords: &["tres", "singleton", "autoload", "resource", "spritesheet", "texture", "sound"],
    },
    Toolset {
        name: "project",
        description: "Project files and settings: search, list, move, delete, set; undoable.",
        keywords: &["file", "folder", "setting", "grep", "uid", "layer", "rename", "config"],
    },
    Toolset {
        name: "project_scaffold",
        description: "Start a game from a small running skeleton.",
        keywords: &["new", "template", "skeleton", "start", "platformer"],
    },
    Toolset {
        name: "input_map",
        description: "The project's input actions and their keys, buttons and axes.",
        keywords: &["key", "binding", "control", "joypad", "mouse", "action"],
    },
    Toolset {
        name: "user_data",
        description: "Files of user://, such as saved games and logs.",
        keywords: &["save", "savegame", "log", "persistent", "user"],
    },
    Toolset {
        name: "journal",
        description: "What became of a changing call after a timeout or a crash.",
        keywords: &["transaction", "idempotency", "timeout", "crash", "lost"],
    },
    Toolset {
        name: COMMANDS,
        description: "Commands that the project itself declares for its editor tooling.",
        keywords: &["project", "custom", "tooling", "run", "provider", "revert", "generate"],
    },
];

/// Several toolsets under one name, for `enable_toolset`.
pub const BUNDLES: &[(&str, &[&str])] = &[
    (
        "author",
        &[
            "scene_edit",
            "composite",
            "batch",
            "scripts",
            "code",
            "resources_edit",
            "project",
            "project_scaffold",
            "input_map",
            "user_data",
        ],
    ),
    ("playtest", &["runtime", "input", "testing", "debugger", "profiling"]),
    ("ship", &["analysis", "export", "asset_import", "testing"]),
];

/// What `GODOT_MCP_DEFAULT_TOOLSETS` asks for: the set, and the names that do not exist.
pub fn seed<'a>(
    setting: Option<&str>,
    known: impl Iterator<Item = &'a str> + Clone,
) -> (BTreeSet<String>, Vec<String>) {
    let mut enabled = BTreeSet::from([CORE.to_owned()]);
    let mut unknown = Vec::new();
    match setting.map(str::trim) {
        None | Some("") => enabled.extend(DEFAULT_ENABLED.iter().map(|&it| it.to_owned())),
        Some("all") => enabled.extend(known.map(str::to_owned)),
        Some(list) => {
            for name in list.split(',').map(str::trim).filter(|it| !it.is_empty()) {
                if known.clone().any(|it| it == name) {
                    enabled.insert(name.to_owned());
                } else {
                    unknown.push(name.to_owned());
                }
            }
        }
    }
    (enabled, unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S11.1: `core` always, `inspection` by default, unknown names reported.
    #[test]
    fn seeds_the_enabled_set() {
        let known = ["core", "inspection", "scene_edit"];
        let names = |setting| seed(setting, known.iter().copied());
        assert_eq!(names(None).0, BTreeSet::from(["core".into(), "inspection".into()]));
        assert_eq!(names(Some("all")).0.len(), 3);
        let (enabled, unknown) = names(Some("scene_edit, nonsense"));
        assert_eq!(enabled, BTreeSet::from(["core".into(), "scene_edit".into()]));
        assert_eq!(unknown, ["nonsense"]);
    }
}

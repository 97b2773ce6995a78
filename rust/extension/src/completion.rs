//! Completion of arguments: files of the project, classes of nodes, toolsets.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use godot::builtin::StringName;
use godot::classes::{ClassDb, ProjectSettings};
use godot::obj::Singleton;
use godot_mcp_core::completion::{Completing, CompletionFuture, Completions, Subject, rank};
use godot_mcp_core::toolset::BUNDLES;
use godot_mcp_core::{ToolError, suggest};
use tokio::sync::oneshot;

use crate::app::Shared;
use crate::prompts::{self, Kind};
use crate::resources::{self, SCENE_PREFIX, SCRIPT_PREFIX};

/// Files that a search looks at; a project with more gets what was found until then.
const MAX_FILES: usize = 50_000;

/// Values for one argument. Called on the I/O thread.
pub(crate) fn complete(shared: &Arc<Shared>, wanted: Completing) -> CompletionFuture {
    let kind = match kind_of(shared, &wanted) {
        Ok(kind) => kind,
        Err(error) => return done(Err(error)),
    };
    let text = wanted.text;
    match kind {
        Kind::Text => done(Ok(Completions::default())),
        Kind::NodeClass => done(Ok(rank(&text, shared.node_classes.load().iter().cloned()))),
        Kind::Toolset => {
            let registry = shared.gate.registry();
            let names = registry.toolsets().map(|it| it.name).chain(BUNDLES.iter().map(|it| it.0));
            done(Ok(rank(&text, names.map(str::to_owned))))
        }
        Kind::Scene => files(shared, &["tscn", "scn"], text, "res://"),
        Kind::Script => files(shared, &["gd", "cs"], text, "res://"),
        Kind::SceneInUri => files(shared, &["tscn"], text, ""),
        Kind::ScriptInUri => files(shared, &["gd", "cs"], text, ""),
    }
}

fn done(found: Result<Completions, ToolError>) -> CompletionFuture {
    Box::pin(std::future::ready(found))
}

/// What kind of value the argument takes.
fn kind_of(shared: &Shared, wanted: &Completing) -> Result<Kind, ToolError> {
    let own = shared.offered.load();
    match &wanted.subject {
        // What the project's own take is not known here.
        Subject::Prompt(name) if own.prompt(name).is_some() => Ok(Kind::Text),
        Subject::Template(uri) if own.resources.iter().any(|it| it.uri == *uri) => Ok(Kind::Text),
        Subject::Prompt(name) => prompts::kind_of(name, &wanted.argument),
        Subject::Template(uri) => {
            let template = uri.strip_suffix("{path}").unwrap_or_default();
            let kind = match template {
                SCENE_PREFIX => Kind::SceneInUri,
                SCRIPT_PREFIX => Kind::ScriptInUri,
                _ => {
                    let templates = resources::all().into_iter().filter(|it| it.template);
                    let known: Vec<_> = templates.map(|it| it.uri).collect();
                    let error =
                        ToolError::invalid("ref", format!("no resource template \"{uri}\""));
                    return Err(error
                        .hint(format!("templates are: {}", known.join(", ")))
                        .suggest(suggest::near(uri, known.iter().map(String::as_str), 2)));
                }
            };
            if wanted.argument != "path" {
                let message = format!("the template has no argument \"{}\"", wanted.argument);
                return Err(ToolError::invalid("argument", message).hint("its argument is: path"));
            }
            Ok(kind)
        }
    }
}

/// Searches the project on a thread of its own: a large one takes longer than the I/O thread may be
/// held up.
fn files(
    shared: &Arc<Shared>,
    kinds: &'static [&'static str],
    text: String,
    prefix: &'static str,
) -> CompletionFuture {
    let root = shared.gate.settings().roots.project().to_owned();
    // A client may spell the path either way.
    let prefix = if text.starts_with("res://") { "res://" } else { prefix };
    let (sender, found) = oneshot::channel();
    let search = move || {
        let paths = project_files(&root, kinds).into_iter().map(|it| format!("{prefix}{it}"));
        // The client may have gone away.
        let _ = sender.send(rank(&text, paths));
    };
    let started = std::thread::Builder::new().name("mcp-files".to_owned()).spawn(search);
    Box::pin(async move {
        started.map_err(|it| ToolError::internal(format!("cannot start a search: {it}")))?;
        found.await.map_err(|_| ToolError::internal("the search for files failed"))
    })
}

/// Paths below the project of files with one of these extensions, without what the editor hides.
fn project_files(root: &Path, kinds: &[&str]) -> Vec<String> {
    let (mut folders, mut found, mut seen) = (vec![PathBuf::new()], Vec::new(), 0);
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(root.join(&folder)) else { continue };
        for entry in entries.flatten() {
            seen += 1;
            if seen > MAX_FILES {
                return found;
            }
            let name = entry.file_name();
            let path = folder.join(&name);
            let hidden = name.to_string_lossy().starts_with('.');
            let Ok(kind) = entry.file_type() else { continue };
            if hidden {
                continue;
            }
            if kind.is_dir() {
                if !root.join(&path).join(".gdignore").exists() {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|it| kinds.iter().any(|kind| it == *kind)) {
                found.push(path.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    found
}

/// Node classes of the engine that can be made, and those of the project's scripts. Main thread.
pub(crate) fn node_classes() -> Vec<String> {
    let engine = ClassDb::singleton();
    let is_node = |name: &str| engine.is_parent_class(name, "Node");
    let mut names: Vec<String> = engine
        .get_inheriters_from_class(&StringName::from("Node"))
        .as_slice()
        .iter()
        .map(ToString::to_string)
        .filter(|it| engine.can_instantiate(it.as_str()))
        .collect();
    names.push("Node".to_owned());
    let mut bases = HashMap::new();
    for class in ProjectSettings::singleton().get_global_class_list().iter_shared() {
        let text = |key: &str| class.get(key).map(|it| it.to_string()).unwrap_or_default();
        bases.insert(text("class"), text("base"));
    }
    for name in bases.keys() {
        let mut base = name;
        // A cycle among bases is an error of the project; it ends here too.
        for _ in 0..bases.len() {
            match bases.get(base) {
                Some(next) => base = next,
                None => break,
            }
        }
        if is_node(base) {
            names.push(name.clone());
        }
    }
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_files_that_the_editor_shows() {
        let root = std::env::temp_dir().join(format!("godot_mcp_files_{}", std::process::id()));
        let file = |path: &str| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("created");
            std::fs::write(path, "").expect("written");
        };
        for path in
            ["a.gd", "b/c d.gd", "b/e.tscn", ".godot/f.gd", "g/.gdignore", "g/h.gd", "b/i.GD.txt"]
        {
            file(path);
        }
        let mut found = project_files(&root, &["gd"]);
        found.sort();
        assert_eq!(found, ["a.gd", "b/c d.gd"]);
        std::fs::remove_dir_all(root).expect("removed");
    }
}

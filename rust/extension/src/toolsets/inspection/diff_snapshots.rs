use super::snapshot_subtree::root;
use crate::editor::inspect;
use crate::editor::snapshots::{self, Snapshot};
use crate::tool_prelude::*;

/// What changed from one snapshot to another, or until now: nodes added and removed, properties as
/// [before, after], groups.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct DiffSnapshots {
    /// From `snapshot_subtree`; `last` is the newest.
    before_id: String,
    /// Left out: compare with the scene as it is.
    #[serde(default)]
    after_id: Option<String>,
    /// Only this branch.
    #[serde(default = "root")]
    node_path: NodeRef,
}

impl Tool for DiffSnapshots {
    const NAME: &'static str = "diff_snapshots";
    const TOOLSET: &'static str = "inspection";

    fn examples() -> Vec<Example> {
        vec![
            Example::answer(
                "Tells that nothing changed.",
                "",
                json!({"identical": true, "changed": {}}),
            )
            .after("snapshot_subtree", json!({}))
            .args(json!({"before_id": "last"})),
            Example::refusal("Refuses an unknown snapshot.", "", Code::ResourceNotFound)
                .args(json!({"before_id": "s0"})),
        ]
    }
}

impl ReadTool for DiffSnapshots {
    fn run(self, editor: &Editor) -> Result<Outcome, ToolError> {
        let newest = || editor.app().snapshots.borrow().newest();
        let before_id = match self.before_id.as_str() {
            "last" => newest().unwrap_or(self.before_id),
            _ => self.before_id,
        };
        let before = stored(editor, &before_id, "before_id")?;
        let after = match &self.after_id {
            Some(id) => stored(editor, id, "after_id")?,
            None => live(editor, &before)?,
        };
        if before.root != after.root || before.scene != after.scene {
            let about = |it: &Snapshot| format!("\"{}\" of \"{}\"", it.root, it.scene);
            let message = format!("{} cannot be compared with {}", about(&before), about(&after));
            return Err(ToolError::invalid("after_id", message)
                .hint("compare snapshots of the same branch of the same scene"));
        }
        let branch = branch(editor, &self.node_path, &before)?;
        let mut answer = json!({
            "before": before_id,
            "after": self.after_id.as_deref().unwrap_or("now"),
            "node_path": branch,
        });
        let diff = snapshots::diff(&before, &after, &branch);
        if let (Value::Object(answer), Value::Object(diff)) = (&mut answer, diff) {
            answer.extend(diff);
        }
        if before.properties != after.properties || before.max_depth != after.max_depth {
            answer["note"] =
                json!("the snapshots differ in properties or depth; what both hold was compared");
        }
        let size = answer.to_string().len();
        if size > inspect::MAX_ANSWER {
            let count = |key: &str| match &answer[key] {
                Value::Array(it) => it.len(),
                Value::Object(it) => it.len(),
                _ => 0,
            };
            let message = format!(
                "the difference has {size} bytes: {} nodes added, {} removed, {} changed",
                count("added"),
                count("removed"),
                count("changed")
            );
            return Err(ToolError::new(Code::ResponseTooLarge, message)
                .required("node_path")
                .hint("give a branch as node_path"));
        }
        Ok(answer.into())
    }
}

fn stored(editor: &Editor, id: &str, parameter: &'static str) -> Result<Snapshot, ToolError> {
    let mut snapshots = editor.app().snapshots.borrow_mut();
    if let Some(found) = snapshots.get(id) {
        return Ok(found);
    }
    let known = snapshots.ids();
    let error = ToolError::not_found(format!("no snapshot \"{id}\" is kept")).required(parameter);
    Err(match known.is_empty() {
        true => error.hint("take one with `snapshot_subtree`"),
        false => error.hint(format!("kept are: {}", known.join(", "))),
    })
}

/// The branch of a snapshot as it is now, read in the same way.
fn live(editor: &Editor, before: &Snapshot) -> Result<Snapshot, ToolError> {
    let scene = editor.edited_scene()?;
    if scene.file() != before.scene {
        let message = format!(
            "the edited scene is \"{}\", the snapshot is of \"{}\"",
            scene.file(),
            before.scene
        );
        return Err(ToolError::new(Code::StateChanged, message)
            .required("active_scene")
            .hint("switch to it with `open_scene`, then call again"));
    }
    match scene.find(&before.root).filter(|it| scene.contains(it)) {
        Some(top) => {
            Ok(snapshots::take(editor, &scene, &top, before.properties.clone(), before.max_depth))
        }
        // The branch is gone: everything in it was removed.
        None => Ok(Snapshot { nodes: Vec::new(), ..before.clone() }),
    }
}

/// Path of the branch that is compared, within that of the snapshot.
fn branch(editor: &Editor, wanted: &NodeRef, before: &Snapshot) -> Result<String, ToolError> {
    if matches!(wanted.as_str(), "." | "" | "/") {
        return Ok(before.root.clone());
    }
    // A removed node has no path to resolve, but the snapshot knows it.
    let known = |path: &str| before.nodes.iter().any(|it| it.0 == path);
    let path = match editor.edited_scene() {
        _ if known(wanted.as_str()) => wanted.as_str().to_owned(),
        Ok(scene) => scene.path_of(&scene.node(wanted)?),
        Err(error) => return Err(error),
    };
    if snapshots::is_within(&before.root, &path) {
        return Ok(before.root.clone());
    }
    if snapshots::is_within(&path, &before.root) {
        return Ok(path);
    }
    Err(ToolError::invalid(
        "node_path",
        format!("\"{path}\" is not in the snapshot of \"{}\"", before.root),
    ))
}

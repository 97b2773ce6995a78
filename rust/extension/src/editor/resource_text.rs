//! What the `godot://` resources say about project, scene and selection.

use godot::builtin::GString;
use godot::classes::{Engine, Node, ProjectSettings, Script};
use godot::obj::{Gd, Singleton};
use godot_mcp_core::ToolError;
use serde_json::{Map, Value, json};

use super::scene::Scene;
use super::{Editor, scene_tabs};

/// Nodes that the tree lists; more are counted.
const MAX_NODES: usize = 1_000;

pub(crate) fn project() -> Value {
    let settings = ProjectSettings::singleton();
    let text = |name: &str| settings.get_setting(name).stringify().to_string();
    let mut autoloads = Map::new();
    for info in settings.get_property_list().iter_shared() {
        let name = info.get("name").map(|it| it.stringify().to_string()).unwrap_or_default();
        if let Some(autoload) = name.strip_prefix("autoload/") {
            // A star marks an autoload that scripts reach by its name.
            autoloads.insert(autoload.to_owned(), json!(text(&name).trim_start_matches('*')));
        }
    }
    let godot = Engine::singleton().get_version_info();
    let godot = godot.get("string").map(|it| it.stringify().to_string()).unwrap_or_default();
    json!({
        "name": text("application/config/name"),
        "version": text("application/config/version"),
        "description": text("application/config/description"),
        "main_scene": text("application/run/main_scene"),
        "autoloads": autoloads,
        "godot": godot,
    })
}

pub(crate) fn scene(editor: &Editor) -> Value {
    let Ok(scene) = editor.edited_scene() else { return json!({"open": false}) };
    let dirty = scene_tabs::open_scenes().iter().find(|it| it.active).map(|it| it.dirty);
    json!({
        "open": true,
        "scene_path": scene.file(),
        "root_name": scene.root().get_name().to_string(),
        "root_type": scene.root().get_class().to_string(),
        "dirty": dirty,
    })
}

pub(crate) fn tree(editor: &Editor) -> Result<Value, ToolError> {
    let scene = editor.edited_scene()?;
    let mut left = MAX_NODES;
    let mut answer =
        json!({"scene_path": scene.file(), "root": branch(&scene, scene.root(), &mut left)});
    let total = count(scene.root());
    if total > MAX_NODES {
        answer["truncated"] = json!(true);
        answer["nodes_total"] = json!(total);
    }
    Ok(answer)
}

pub(crate) fn selected(editor: &Editor) -> Value {
    let Ok(scene) = editor.edited_scene() else { return json!({"selected": []}) };
    let nodes = editor.interface().get_selection().map(|it| it.get_selected_nodes());
    let selected: Vec<_> = nodes
        .iter()
        .flat_map(|it| it.iter_shared())
        .filter(|it| scene.contains(it))
        .map(|it| Value::Object(about(&scene, &it)))
        .collect();
    json!({"selected": selected})
}

fn branch(scene: &Scene, node: &Gd<Node>, left: &mut usize) -> Value {
    *left -= 1;
    let mut fields = about(scene, node);
    let mut children = Vec::new();
    for child in node.get_children().iter_shared() {
        if *left == 0 {
            break;
        }
        children.push(branch(scene, &child, left));
    }
    if !children.is_empty() {
        fields.insert("children".into(), Value::Array(children));
    }
    Value::Object(fields)
}

fn about(scene: &Scene, node: &Gd<Node>) -> Map<String, Value> {
    let mut fields = Map::new();
    fields.insert("name".into(), json!(node.get_name().to_string()));
    fields.insert("type".into(), json!(node.get_class().to_string()));
    fields.insert("path".into(), json!(scene.path_of(node)));
    let mut add = |name: &str, text: GString| {
        if !text.is_empty() {
            fields.insert(name.to_owned(), json!(text.to_string()));
        }
    };
    if let Ok(script) =
        node.get_script().map_or(Err(()), |it| it.try_cast::<Script>().map_err(drop))
    {
        add("script", script.get_path());
    }
    if node != scene.root() {
        add("instance_of", node.get_scene_file_path());
    }
    fields
}

fn count(node: &Gd<Node>) -> usize {
    1 + node.get_children().iter_shared().map(|it| count(&it)).sum::<usize>()
}

/// The edited scene in numbers, null when none is open.
pub(crate) fn summary(editor: &Editor) -> Value {
    let Ok(scene) = editor.edited_scene() else { return Value::Null };
    let mut types = std::collections::BTreeMap::new();
    let nodes = count_types(scene.root(), &mut types);
    let mut types: Vec<_> = types.into_iter().collect();
    types.sort_by_key(|it| std::cmp::Reverse(it.1));
    let types: Map<String, Value> =
        types.into_iter().take(10).map(|(name, count)| (name, json!(count))).collect();
    let dirty = scene_tabs::open_scenes().iter().find(|it| it.active).map(|it| it.dirty);
    json!({"scene_path": scene.file(), "dirty": dirty, "nodes": nodes, "types": types})
}

fn count_types(node: &Gd<Node>, types: &mut std::collections::BTreeMap<String, usize>) -> usize {
    *types.entry(node.get_class().to_string()).or_default() += 1;
    1 + node.get_children().iter_shared().map(|it| count_types(&it, types)).sum::<usize>()
}

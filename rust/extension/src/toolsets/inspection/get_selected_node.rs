use godot::classes::Object;
use godot::obj::Gd;

use crate::editor::inspect;
use crate::tool_prelude::*;

/// The nodes that are selected in the editor: path, type, script, groups, script variables and
/// transform.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct GetSelectedNode {}

impl Tool for GetSelectedNode {
    const NAME: &'static str = "get_selected_node";
    const TOOLSET: &'static str = "inspection";

    fn examples() -> Vec<Example> {
        vec![Example::answer(
            "Tells that nothing is selected.",
            "",
            json!({"nodes": [], "total": 0}),
        )]
    }
}

/// Selected nodes in one answer.
const MAX_SELECTED: usize = 100;

impl ReadTool for GetSelectedNode {
    fn run(self, editor: &Editor) -> Result<Outcome, ToolError> {
        let selection = editor.interface().get_selection();
        let scene = editor.edited_scene();
        let (Some(selection), Ok(scene)) = (selection, scene) else {
            return Ok(json!({"nodes": [], "total": 0, "has_more": false}).into());
        };
        let selected = selection.clone().get_selected_nodes();
        let nodes: Vec<_> = selected.iter_shared().filter(|it| scene.contains(it)).collect();
        let page = inspect::fill(&nodes, MAX_SELECTED, |node| {
            let object: Gd<Object> = node.clone().upcast();
            let check = |path: &str| editor.check_read(path);
            let context = editor.values(Some(&object), &check);
            let properties: Map<String, Value> = inspect::shown(&object)
                .iter()
                .filter(|it| inspect::is_key(it) || it.name == "visible")
                .filter_map(|it| Some((it, inspect::read(&object, it)?)))
                .map(|(slot, value)| (slot.name.clone(), inspect::listed(&value, slot, &context).0))
                .collect();
            json!({
                "node_path": scene.path_of(node),
                "type": node.get_class().to_string(),
                "script": inspect::script_of(node),
                "groups": inspect::groups(node),
                "child_count": node.get_child_count(),
                "properties": properties,
            })
        });
        let mut answer = json!({"total": nodes.len(), "has_more": page.len() < nodes.len()});
        answer["nodes"] = Value::Array(page);
        Ok(answer.into())
    }
}

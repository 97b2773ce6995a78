use godot::builtin::Array;
use godot::classes::Node;
use godot::obj::Gd;

use crate::tool_prelude::*;

/// Replaces the selection in the editor. When one path is wrong, nothing is selected anew.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct SelectNodes {
    /// Nodes to select. Empty: select nothing.
    node_paths: Vec<NodeRef>,
}

impl Tool for SelectNodes {
    const NAME: &'static str = "select_nodes";
    const TOOLSET: &'static str = "scene_edit";

    fn adjust(spec: &mut ToolSpec) {
        spec.edits_scene = true;
    }

    fn examples() -> Vec<Example> {
        let before = r#"
[node name="Main" type="Node2D"]
[node name="A" type="Node2D" parent="."]
[node name="B" type="Node2D" parent="."]"#;
        vec![
            Example::answer("Selects two nodes.", before, json!({"selected": ["A", "B"]}))
                .args(json!({"node_paths": ["A", "B"]})),
            Example::refusal("Refuses an unknown node.", before, Code::ResourceNotFound)
                .args(json!({"node_paths": ["A", "C"]})),
        ]
    }
}

impl EditTool for SelectNodes {
    const CLASS: SafetyClass = SafetyClass::Mutating;
    const UNDO: UndoKind = UndoKind::EditorState("`select_nodes` with the nodes of `previous`");

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let scene = editor.edited_scene()?;
        let mut nodes: Vec<Gd<Node>> = Vec::new();
        for path in &self.node_paths {
            let node = scene.node_at(path, "node_paths")?;
            if !nodes.contains(&node) {
                nodes.push(node);
            }
        }
        let Some(selection) = editor.interface().get_selection() else {
            return Err(ToolError::internal("the editor has no selection"));
        };
        let paths = |list: &[Gd<Node>]| list.iter().map(|it| scene.path_of(it)).collect::<Vec<_>>();
        let previous: Vec<Gd<Node>> = selection
            .clone()
            .get_selected_nodes()
            .iter_shared()
            .filter(|it| scene.contains(it))
            .collect();
        let (selected, previous) = (paths(&nodes), paths(&previous));
        let note = json!({"select": selected, "instead_of": previous});
        let action = Box::new(move |editor: &Editor| {
            let mut selection = selection;
            selection.clear();
            for node in nodes.iter().filter(|it| it.is_instance_valid()) {
                selection.add_node(node);
            }
            // As after a click: the inspector follows a single node.
            if let [only] = nodes.as_slice() {
                editor.interface().edit_node(only);
            }
            let found: Array<Gd<Node>> = selection.get_selected_nodes();
            if found.len() != nodes.len() || !nodes.iter().all(|it| found.contains(it)) {
                return Err(ToolError::internal("the editor did not take the selection"));
            }
            Ok(Acted::Done(Map::new()))
        });
        let mut edit = Edit::editor_state("Select nodes", note, action);
        edit.fact("selected", selected);
        edit.fact("previous", previous);
        Ok(edit)
    }
}

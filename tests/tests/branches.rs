//! S6.3 and S6.4 on a scene that has everything: instanced scenes with and without editable children,
//! local children under instances, unowned `@tool` children, groups, connections with flags and
//! binds, unique names, metadata, node-typed exports, animations that point at the nodes.

use std::path::Path;

use godot_mcp_core::text_diff;
use godot_mcp_tests::client::{Client, Era};
use godot_mcp_tests::editor::{Human, Launch, copy_folder, repository};
use serde_json::{Value, json};

/// Everything of S6.4, of every node in memory, saved or not.
const FINGERPRINT: &str = r#"
var root := EditorInterface.get_edited_scene_root()
var lines: Array[String] = []
var queue: Array[Node] = [root]
while not queue.is_empty():
	var node: Node = queue.pop_front()
	var where := str(root.get_path_to(node))
	var owner := str(root.get_path_to(node.owner)) if node.owner != null and node != root else "-"
	var groups := node.get_groups().filter(func(it): return not str(it).begins_with("_"))
	groups.sort()
	lines.append("%s %s #%d owner=%s groups=%s unique=%s editable=%s meta=%s" % [where, node.get_class(), node.get_index(), owner,
			groups, node.unique_name_in_owner, node != root and root.is_editable_instance(node), node.get_meta_list()])
	# Which connection of a signal comes first in memory is not part of the scene.
	var connections: Array[String] = []
	for sig in node.get_signal_list():
		for it in node.get_signal_connection_list(sig.name):
			var target: Object = it.callable.get_object()
			if it.flags & CONNECT_PERSIST and target is Node and root.is_ancestor_of(target) or target == root:
				connections.append("  %s -> %s.%s flags=%d binds=%s unbinds=%d" % [sig.name, root.get_path_to(target), it.callable.get_method(),
						it.flags, it.callable.get_bound_arguments(), it.callable.get_unbound_arguments_count()])
	connections.sort()
	lines.append_array(connections)
	queue.append_array(node.get_children())
return "\n".join(lines)
"#;

struct Story {
    client: Client,
    human: Human,
    project: std::path::PathBuf,
    problems: Vec<String>,
}

impl Story {
    fn scene(&self, file: &str) -> String {
        std::fs::read_to_string(self.project.join(file)).expect("the scene")
    }

    fn fingerprint(&mut self) -> String {
        self.human.run(FINGERPRINT).as_str().unwrap_or_default().to_owned()
    }

    /// Preview, run, undo, redo, undo: file and memory as they should be at each step.
    fn circle(&mut self, file: &str, tool: &str, args: &Value) {
        if let Err(problem) = self.try_circle(file, tool, args) {
            self.problems.push(format!("{file}: {tool} {args}: {problem}"));
        }
    }

    fn try_circle(&mut self, file: &str, tool: &str, args: &Value) -> Result<(), String> {
        let (before, tree) = (self.scene(file), self.fingerprint());
        let call = |client: &Client, tool: &str, args: Value| {
            client.call(tool, args.clone()).map_err(|it| format!("{tool} {args}: {it}"))
        };
        let mut preview = args.clone();
        preview["dry_run"] = json!(true);
        if let Some(args) = preview.as_object_mut() {
            args.remove("confirm");
        }
        let preview = call(&self.client, tool, preview)?;
        same("tree after the preview", &tree, &self.fingerprint())?;
        let answer = call(&self.client, tool, args.clone())?;
        for field in ["changes", "persisted", "reason", "undoable"] {
            if preview.get(field) != answer.get(field) {
                return Err(format!(
                    "S4.1: {field} is {:?} in the preview, {:?} in the run",
                    preview.get(field),
                    answer.get(field)
                ));
            }
        }
        if answer["applied"] != true {
            return Err(format!("nothing was done: {answer}"));
        }
        let done = self.fingerprint();
        call(&self.client, "save_scene", json!({}))?;
        let after = self.scene(file);

        call(&self.client, "godot_undo", json!({"undo_token": answer["undo_token"]}))?;
        same("tree after undo", &tree, &self.fingerprint())?;
        call(&self.client, "save_scene", json!({}))?;
        same("file after undo", &before, &self.scene(file))?;
        call(&self.client, "godot_redo", json!({}))?;
        same("tree after redo", &done, &self.fingerprint())?;
        call(&self.client, "save_scene", json!({}))?;
        same("file after redo", &after, &self.scene(file))?;
        call(&self.client, "godot_undo", json!({}))?;
        same("tree after the second undo", &tree, &self.fingerprint())?;
        call(&self.client, "save_scene", json!({}))?;
        same("file after the second undo", &before, &self.scene(file))
    }

    /// Whatever went wrong, the next circle starts from the file.
    fn start_over(&mut self, file: &str, original: &str) {
        if self.scene(file) != original {
            std::fs::write(self.project.join(file), original).expect("written");
        }
        let path = format!("res://{file}");
        self.client.call("reload_scene", json!({"scene_path": path, "confirm": true})).ok();
    }
}

fn same(what: &str, wanted: &str, found: &str) -> Result<(), String> {
    if wanted == found {
        return Ok(());
    }
    Err(format!("{what}:\n{}", text_diff::unified(wanted, found, 1)))
}

/// Every undoable tool, on nodes that make it hard.
fn circles() -> Vec<(&'static str, Value)> {
    let mut list = Vec::new();
    let nodes = [
        "Player",
        "Player/Hero",
        "Player/Plain",
        "Player/Editable",
        "Player/Body",
        "Other",
        "Aimer",
        "Follow",
    ];
    for node in nodes {
        list.push(("delete_node", json!({"node_path": node, "confirm": true})));
        list.push(("duplicate_node", json!({"node_path": node})));
        list.push(("add_to_group", json!({"node_path": node, "group": "fresh"})));
        for update in [false, true] {
            list.push((
                "rename_node",
                json!({"node_path": node, "new_name": "Renamed", "update_references": update}),
            ));
        }
    }
    for (node, parent) in [
        ("Player", "Other"),
        ("Player/Hero", "."),
        ("Player/Plain", "Other"),
        ("Player/Editable", "."),
        ("Other", "Player/Plain"),
    ] {
        for update in [false, true] {
            list.push((
                "move_node",
                json!({"node_path": node, "new_parent_path": parent, "update_references": update}),
            ));
        }
    }
    list.push(("move_node", json!({"node_path": "Player", "new_parent_path": ".", "index": 0})));
    for node in ["Player", "Other", "Player/Hero"] {
        list.push(("change_node_type", json!({"node_path": node, "new_type": "Marker2D"})));
        list.push((
            "set_node_property",
            json!({"node_path": node, "property": "position", "value": [8, 9]}),
        ));
        list.push((
            "set_node_property",
            json!({"node_path": node, "property": "global_position", "value": [8, 9]}),
        ));
        list.push((
            "create_node",
            json!({"parent_path": node, "node_type": "Sprite2D", "node_name": "Sprite"}),
        ));
        list.push(("instance_scene", json!({"parent_path": node, "scene_path": "res://sub.tscn"})));
    }
    list.push(("set_unique_name", json!({"node_path": "Player/Hero", "unique": false})));
    list.push(("set_unique_name", json!({"node_path": "Other", "unique": true})));
    list.push(("remove_from_group", json!({"node_path": "Player", "group": "heroes"})));
    list.push((
        "set_editable_children",
        json!({"node_path": "Player/Editable", "editable": false}),
    ));
    list.push(("set_editable_children", json!({"node_path": "Player/Plain", "editable": true})));
    list.push((
        "set_node_property",
        json!({"node_path": "Aimer", "property": "target", "value": "Other"}),
    ));
    list.push((
        "set_node_property",
        json!({"node_path": "Aimer", "property": "target", "value": null}),
    ));
    list.push((
        "set_node_property",
        json!({"node_path": "Aimer", "property": "targets", "value": ["Player"]}),
    ));
    list.push((
        "set_node_property",
        json!({"node_path": "Aimer", "property": "health", "value": 99}),
    ));
    list.push((
        "set_node_property",
        json!({"node_path": "Aimer", "property": "script", "value": null}),
    ));
    list.push(("attach_script", json!({"node_path": "Other", "script_path": "res://targets.gd"})));
    list.push(("connect_signal", json!({"source_path": "Other", "signal_name": "visibility_changed", "target_path": "Player", "method_name": "queue_redraw"})));
    list.push(("extract_scene", json!({"node_path": "Player/Body", "scene_path": "res://made_body.tscn", "replace_with_instance": true})));
    list
}

#[test]
fn every_edit_goes_there_and_back() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let project = home.path().join("project");
    let fixtures = repository().join("tests/fixtures");
    copy_folder(&fixtures.join("plain"), &project);
    let settings = std::fs::read(project.join("project.godot")).expect("settings");
    copy_folder(&fixtures.join("branches"), &project);
    std::fs::write(project.join("project.godot"), settings).expect("written");
    godot_mcp_tests::editor::install_addon(&project);

    let editor = Launch::fixture("plain").on(Path::new(&project)).start();
    let client = Client::connect(&editor, Era::Modern);
    let mut story =
        Story { client, human: editor.human(), project: project.clone(), problems: Vec::new() };
    let only = std::env::var("CIRCLE").ok();
    for file in ["main.tscn"] {
        story.client.ok("open_scene", json!({"scene_path": format!("res://{file}")}));
        story.client.ok("save_scene", json!({}));
        let original = story.scene(file);
        for (tool, args) in circles() {
            if only.as_ref().is_some_and(|it| !format!("{tool} {args}").contains(it)) {
                continue;
            }
            let count = story.problems.len();
            let logged = editor.log_errors().len();
            story.circle(file, tool, &args);
            for line in editor.log_errors().into_iter().skip(logged) {
                story.problems.push(format!("{tool} {args}: the engine logged {line}"));
            }
            if story.problems.len() > count {
                story.start_over(file, &original);
            }
        }
        disconnects(&mut story, file);
    }
    let problems = std::mem::take(&mut story.problems);
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
    drop(story);
    editor.quit();
}

/// Each connection of the scene, with its flags, binds and unbinds, is cut and comes back.
fn disconnects(story: &mut Story, file: &str) {
    let list = story.human.run(
        "var list := []\nvar root := EditorInterface.get_edited_scene_root()\n\
         var state := (load(root.scene_file_path) as PackedScene).get_state()\n\
         for index in state.get_connection_count():\n\
         \tlist.append([str(state.get_connection_source(index)), str(state.get_connection_signal(index)), \
         str(state.get_connection_target(index)), str(state.get_connection_method(index))])\n\
         return list",
    );
    let list = list.as_array().cloned().unwrap_or_default();
    assert!(!list.is_empty(), "the fixture has connections");
    for it in list {
        let args = json!({
            "source_path": it[0], "signal_name": it[1], "target_path": it[2], "method_name": it[3], "confirm": true
        });
        story.circle(file, "disconnect_signal", &args);
    }
}

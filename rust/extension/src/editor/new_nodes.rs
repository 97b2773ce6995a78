//! Branches of new nodes as steps of an edit.

use godot::builtin::Variant;
use godot::classes::{Node, Object, Script};
use godot::meta::ToGodot;
use godot::obj::Gd;
use godot_mcp_core::ToolError;
use serde_json::{Map, Value, json};

use super::branch::{self, Names};
use super::edit::{Edit, Op, Step};
use super::node_classes::NodeClass;
use super::scene::Scene;
use super::values::{self, Slot};
use super::{Editor, persistence, properties, scene_tree};

/// A node to be made, with what is below it.
pub(crate) struct Blueprint<'a> {
    pub(crate) class: &'a NodeClass,
    /// Free among the siblings of the top; further down a taken name gets a number.
    pub(crate) name: String,
    /// Beside the one that the class brings along.
    pub(crate) script: Option<Gd<Script>>,
    pub(crate) properties: &'a Map<String, Value>,
    pub(crate) children: Vec<Blueprint<'a>>,
}

/// Adds steps that make a branch below `parent`. Answers the path of its top.
///
/// Nothing enters the scene before it is complete, so that a script finds the children of its node.
pub(crate) fn add(
    edit: &mut Edit,
    editor: &Editor,
    scene: &Scene,
    parent: &Gd<Node>,
    index: Option<i32>,
    blueprint: &Blueprint,
) -> Result<String, ToolError> {
    let parent_path = scene.path_of(parent);
    let mut made = Vec::new();
    make(edit, editor, &parent_path, parent, blueprint, &blueprint.name, &mut made)?;
    let Some(top) = made.first() else {
        return Err(ToolError::internal("a branch without a top"));
    };
    let path = top.path.clone();
    edit.verdict(persistence::of_addition(scene, parent, &top.name));

    for (depth, it) in made.iter().enumerate() {
        let mut step = Step::new(it.change.clone());
        if let Some(script) = &it.script {
            // Before the node enters the tree, so that a tool script sees its `_ready`.
            step = step.apply(Op::set_apart(&it.node, "script", &script.to_variant()));
        }
        if depth > 0 {
            step = step
                .apply(Op::call(&it.parent, "add_child", &[it.node.to_variant()]))
                .revert(branch::detach(&it.parent, &it.node));
        }
        edit.step(step.keeps_done(&it.node));
    }
    let root = scene.root();
    let owners: Vec<_> = made.iter().map(|it| (it.node.clone(), root.clone())).collect();
    let mut step = Step::new(Value::Null);
    for op in branch::attach(parent, &top.node, index, &owners) {
        step = step.apply(op);
    }
    step = step.revert(branch::detach(parent, &top.node));
    for it in &made {
        step = step
            .answers(&it.node, "get_parent", &[], &it.parent.to_variant())
            .answers(&it.node, "get_owner", &[], &root.to_variant())
            .answers(&it.node, "get_name", &[], &it.name.to_variant());
    }
    edit.step(step);
    for it in made {
        for (property, value) in it.values {
            edit.set_made(&it.path, &it.node, &property, &value);
        }
    }
    Ok(path)
}

struct Made {
    node: Gd<Node>,
    parent: Gd<Node>,
    name: String,
    path: String,
    script: Option<Gd<Script>>,
    values: Vec<(String, Variant)>,
    change: Value,
}

/// Makes the nodes of a branch, apart from each other and from the scene.
fn make(
    edit: &mut Edit,
    editor: &Editor,
    parent_path: &str,
    parent: &Gd<Node>,
    blueprint: &Blueprint,
    name: &str,
    made: &mut Vec<Made>,
) -> Result<(), ToolError> {
    let class = blueprint.class;
    let mut node = class.instantiate()?;
    edit.made(&node);
    node.set_name(name);
    let path = scene_tree::join(parent_path, name);
    let script = blueprint.script.clone().or_else(|| class.script.clone());
    let values = start_values(editor, &node, script.as_ref(), blueprint.properties);
    let values = values.map_err(|it| match made.is_empty() {
        true => it,
        false => it.at(format_args!("\"{path}\"")),
    })?;
    let mut change = json!({"add": path, "type": class.name});
    if let Some(script) = &blueprint.script {
        change["script"] = json!(script.get_path().to_string());
    }
    made.push(Made {
        node: node.clone(),
        parent: parent.clone(),
        name: name.to_owned(),
        path: path.clone(),
        script,
        values,
        change,
    });
    let mut names = Names::default();
    for child in &blueprint.children {
        let name = names.take(&child.name);
        make(edit, editor, &path, &node, child, &name, made)?;
    }
    Ok(())
}

/// Values for the properties of a node whose script is not attached yet.
fn start_values(
    editor: &Editor,
    node: &Gd<Node>,
    script: Option<&Gd<Script>>,
    properties: &Map<String, Value>,
) -> Result<Vec<(String, Variant)>, ToolError> {
    let object: Gd<Object> = node.clone().upcast();
    let check = |path: &str| editor.check_read(path);
    let context = editor.values(Some(&object), &check);
    let mut values = Vec::new();
    for (property, value) in properties {
        if matches!(property.as_str(), "name" | "owner" | "script" | "scene_file_path") {
            let message = format!("\"{property}\" is not set as a property of a new node");
            return Err(ToolError::invalid("properties", message)
                .hint("use `node_name` and `attach_script`"));
        }
        let of_script = script.and_then(|script| {
            let list = script.clone().get_script_property_list();
            list.iter_shared().map(|it| Slot::from_dict(&it)).find(|it| it.name == *property)
        });
        let slot = match of_script {
            Some(slot) => slot,
            None => {
                properties::writable(&object, property).map_err(|it| it.required("properties"))?
            }
        };
        let value = values::decode(value, &slot, &object.get(property), &context);
        values.push((property.clone(), value.map_err(|it| it.required("properties"))?));
    }
    Ok(values)
}

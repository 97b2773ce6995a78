use godot::builtin::{GString, StringName};
use godot::classes::packed_scene::GenEditState;
use godot::classes::{Node, PackedScene};
use godot::global::Error;
use godot::meta::ToGodot;
use godot::obj::{Gd, NewGd};

use crate::editor::connections::{self, Connection};
use crate::editor::{branch, saving, scene_files, scene_keeper};
use crate::tool_prelude::*;

/// Saves a branch of the edited scene as a scene file of its own. Undo removes the file and brings
/// the branch back.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ExtractScene {
    /// Top of the branch.
    node_path: NodeRef,
    /// New file, `.tscn`. Missing folders are made.
    scene_path: ResPath,
    /// Put an instance of the new scene in the place of the branch.
    #[serde(default)]
    replace_with_instance: bool,
    /// Also save the edited scene afterwards.
    #[serde(default)]
    save_current: bool,
}

impl Tool for ExtractScene {
    const NAME: &'static str = "extract_scene";
    const TOOLSET: &'static str = "scene_edit";

    fn adjust(spec: &mut ToolSpec) {
        spec.edits_scene = true;
        spec.writes_disk = true;
    }

    fn examples() -> Vec<Example> {
        let before = r#"
[node name="Main" type="Node2D"]
[node name="Enemy" type="Node2D" parent="."]
[node name="Eye" type="Node2D" parent="Enemy"]"#;
        let after = r#"
[ext_resource type="PackedScene" path="res://enemy.tscn" id="1"]
[node name="Main" type="Node2D"]
[node name="Enemy" parent="." instance=ExtResource("1")]"#;
        vec![
            Example::edit("Makes a branch an instance.", before, after).args(json!({
                "node_path": "Enemy", "scene_path": "res://enemy.tscn", "replace_with_instance": true
            })),
            Example::refusal("Refuses the root.", before, Code::ValidationError)
                .args(json!({"node_path": ".", "scene_path": "res://enemy.tscn"})),
        ]
    }
}

impl EditTool for ExtractScene {
    const CLASS: SafetyClass = SafetyClass::Mutating;
    const SITE: Site = Site::SafeLane;

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let scene = editor.edited_scene()?;
        let node = scene.node(&self.node_path)?;
        scene.not_root(&node, "extracted")?;
        let path = editor.res_path(&self.scene_path)?;
        scene_files::check_new(&path, "scene_path")?;
        if !path.ends_with(".tscn") {
            return Err(ToolError::invalid(
                "scene_path",
                format!("\"{path}\" does not end in .tscn"),
            ));
        }
        check_branch(&scene, &node)?;
        let mut packed = pack(&scene, &node)?;
        let outer = scene_keeper::drop_outer_connections(&mut packed)?;
        if !self.replace_with_instance {
            scene_keeper::give_own_ids(&mut packed, &path)?;
        }

        let node_path = scene.path_of(&node);
        let mut edit = Edit::in_scene(&scene, format!("Extract {}", node.get_name()));
        edit.fact("node_path", node_path.as_str());
        edit.fact("scene_path", path.as_str());
        edit.fact("connections_left_out", outer);
        let keeper = scene_keeper::write_steps(&mut edit, &path, &packed);
        if self.replace_with_instance {
            replace(&mut edit, &scene, &node, &path, &packed, &keeper)?;
            edit.verdict(persistence::of_node(&scene, &node));
        } else {
            edit.verdict(Verdict::yes(path));
        }
        saving::afterwards(&mut edit, &scene, self.save_current, "save_current")?;
        Ok(edit)
    }
}

/// Refuses a branch of which the new file would not hold everything.
fn check_branch(scene: &Scene, node: &Gd<Node>) -> Result<(), ToolError> {
    branch::belongs_to_scene(scene, node, "extracted")?;
    if !node.get_scene_file_path().is_empty() {
        let message = format!("\"{}\" is an instance of a scene already", scene.path_of(node));
        return Err(ToolError::invalid("node_path", message)
            .hint("use `create_inherited_scene` for a variant of it"));
    }
    for below in branch::nodes(node) {
        let owner = below.get_owner();
        let held = owner.as_ref().is_some_and(|it| it == scene.root() || branch::holds(node, it));
        if !held {
            let message = format!(
                "\"{}\" is not saved with this scene and would be lost",
                scene.path_of(&below)
            );
            return Err(ToolError::new(Code::PreconditionFailed, message)
                .required("node_path")
                .hint("it was added by a script; extract a branch without it"));
        }
    }
    Ok(())
}

/// Packs the branch. What belongs to the scene has to belong to the branch's top meanwhile; all of
/// it is put back before anything else runs.
fn pack(scene: &Scene, node: &Gd<Node>) -> Result<Gd<PackedScene>, ToolError> {
    let mut owned: Vec<Gd<Node>> = branch::nodes(node);
    owned.retain(|it| it != node && it.get_owner().as_ref() == Some(scene.root()));
    owned.iter_mut().for_each(|it| it.set_owner(node));
    let mut packed = PackedScene::new_gd();
    let result = packed.pack(node);
    owned.iter_mut().for_each(|it| it.set_owner(scene.root()));
    if result == Error::OK {
        return Ok(packed);
    }
    Err(ToolError::internal(format!("the engine did not pack the branch: {result:?}")))
}

/// Steps that put an instance into the place of the branch.
fn replace(
    edit: &mut Edit,
    scene: &Scene,
    node: &Gd<Node>,
    path: &str,
    packed: &Gd<PackedScene>,
    keeper: &Gd<scene_keeper::SceneKeeper>,
) -> Result<(), ToolError> {
    let (Some(parent), Some(mut instance)) =
        (node.get_parent(), packed.instantiate_ex().edit_state(GenEditState::INSTANCE).done())
    else {
        return Err(ToolError::internal("the engine did not instance the branch"));
    };
    instance.set_scene_file_path(path);
    edit.made(&instance);

    // The instance refers to the file by the path of the packed scene.
    let file = GString::from(path).to_variant();
    edit.step(
        Step::new(Value::Null)
            .apply(Op::call(keeper, "adopt", &[file, packed.to_variant()]))
            .revert(Op::call(keeper, "release", &[packed.to_variant()])),
    );
    let crossing = crossing(scene, node);
    for it in &crossing {
        let args = [StringName::from(&it.signal).to_variant(), it.callable.clone()];
        let mut again = args.to_vec();
        again.push(it.flags.to_variant());
        edit.step(
            Step::new(Value::Null)
                .apply(Op::call(&it.source, "disconnect", &args))
                .revert(Op::call(&it.source, "connect", &again)),
        );
    }
    let index = node.get_index();
    let owners = branch::outer_owners(node);
    let mut step = Step::new(json!({"replace": scene.path_of(node), "instance": path}))
        .apply(branch::detach(&parent, node));
    for op in
        branch::attach(&parent, &instance, Some(index), &[(instance.clone(), scene.root().clone())])
    {
        step = step.apply(op);
    }
    step = step.revert(branch::detach(&parent, &instance));
    for op in branch::attach(&parent, node, Some(index), &owners) {
        step = step.revert(op);
    }
    edit.step(step.keeps_done(&instance).keeps_undone(node));

    let mut lost = Vec::new();
    for it in &crossing {
        match again(scene, node, &instance, it) {
            Some(step) => edit.step(step),
            None => lost.push(format!("{}:{}", it.signal, it.method)),
        }
    }
    edit.fact("connections_lost", lost);
    Ok(())
}

/// Saved connections of which one end lies inside the branch and the other outside.
fn crossing(scene: &Scene, top: &Gd<Node>) -> Vec<Connection> {
    let mut found = Vec::new();
    for node in branch::nodes(scene.root()) {
        let inside = branch::holds(top, &node);
        found.extend(connections::outgoing(&node).into_iter().filter(|it| {
            let target = it.target_in(scene);
            it.flags & connections::PERSIST != 0
                && target.is_some_and(|target| branch::holds(top, &target) != inside)
        }));
    }
    found
}

/// The same connection, to or from the instance. One that starts below the instance's root would
/// not be saved.
fn again(scene: &Scene, top: &Gd<Node>, instance: &Gd<Node>, old: &Connection) -> Option<Step> {
    let (source, target) = (old.source_in(scene)?, old.target_in(scene)?);
    let twin = |node: &Gd<Node>| match node == top {
        true => Some(instance.clone()),
        false if top.is_ancestor_of(node) => instance.get_node_or_null(&top.get_path_to(node)),
        false => Some(node.clone()),
    };
    if source != *top && top.is_ancestor_of(&source) {
        return None;
    }
    let (source, target) = (twin(&source)?, twin(&target)?);
    let callable = connections::callable(&target, &old.method, &old.binds, old.unbinds);
    let signal = StringName::from(&old.signal).to_variant();
    let connect = [signal.clone(), callable.clone(), old.flags.to_variant()];
    Some(Step::new(Value::Null).apply(Op::call(&source, "connect", &connect)).revert(Op::call(
        &source,
        "disconnect",
        &[signal, callable],
    )))
}

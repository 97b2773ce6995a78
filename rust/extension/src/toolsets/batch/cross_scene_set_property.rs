use std::collections::HashMap;

use godot::builtin::{AnyArray, AnyDictionary, Variant, VariantType};
use godot::classes::resource_loader::CacheMode;
use godot::classes::{
    ClassDb, Node, Object, PackedScene, Resource, ResourceLoader, ResourceUid, SceneState, Script,
};
use godot::obj::{EngineBitfield as _, Gd, Singleton};
use godot::register::info::PropertyUsageFlags;
use godot_mcp_core::scene_text::{Changes, SceneText, Section, external_id};

use super::find_nodes_by_type::check_class;
use crate::editor::values::Slot;
use crate::editor::{files, properties, scene_files, scene_tabs};
use crate::tool_prelude::*;

/// Instanced scenes that are followed before a chain counts as endless.
const MAX_BASES: usize = 32;

/// Sets a property of all nodes of a class in closed scene files. Open scenes are refused; nodes
/// of instanced scenes stay as they are.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct CrossSceneSetProperty {
    scenes: Vec<ResPath>,
    node_type: Identifier,
    property: Identifier,
    value: AnyValue,
}

impl Tool for CrossSceneSetProperty {
    const NAME: &'static str = "cross_scene_set_property";
    const TOOLSET: &'static str = "batch";

    fn adjust(spec: &mut ToolSpec) {
        spec.writes_disk = true;
        spec.free_text = true;
    }

    fn examples() -> Vec<Example> {
        let before = r#"
[node name="Main" type="Node2D"]
;- res://a.tscn
[node name="A" type="Sprite2D"]
flip_v = true
[node name="B" type="Timer" parent="."]
[node name="C" type="Sprite2D" parent="B"]"#;
        let after = r#"
;- res://a.tscn
[node name="A" type="Sprite2D"]
centered = false
flip_v = true
[node name="B" type="Timer" parent="."]
[node name="C" type="Sprite2D" parent="B"]
centered = false"#;
        let args = |scenes: Value, value: Value| json!({"scenes": scenes, "node_type": "Sprite2D", "property": "centered", "value": value});
        vec![
            Example::edit("Changes a closed scene.", before, after)
                .args(args(json!(["res://a.tscn"]), json!(false))),
            Example::refusal("Refuses an open scene.", before, Code::PreconditionFailed)
                .args(args(json!(["res://scene.tscn"]), json!(false))),
            Example::refusal("Refuses a value of another type.", before, Code::ValidationError)
                .args(args(json!(["res://a.tscn"]), json!("no"))),
            Example::refusal("Refuses to leave the project.", before, Code::PathDenied)
                .args(args(json!(["res://../a.tscn"]), json!(false))),
        ]
    }
}

impl EditTool for CrossSceneSetProperty {
    const CLASS: SafetyClass = SafetyClass::Destructive;
    const SITE: Site = Site::SafeLane;

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        check_class(self.node_type.as_str(), "node_type")?;
        let property = self.property.as_str();
        let mut edit = Edit::of_files(format!("Set {property} in scene files"));
        let mut classes = Classes::new(editor, property, &self.value.0);
        let (mut scenes, mut refusal, mut done) = (Vec::new(), None, 0);
        let mut paths = Vec::new();
        for path in &self.scenes {
            let path = editor.res_path(path)?;
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        for path in paths {
            match self.scene(editor, &path, &mut classes) {
                Ok(plan) => {
                    done += 1;
                    let changed = plan.bytes.is_some();
                    scenes
                        .push(json!({"scene_path": path, "nodes": plan.nodes, "changed": changed}));
                    edit.verdict(Verdict::yes(path.as_str()));
                    if let Some(bytes) = plan.bytes {
                        edit.write_file(&path, Some(bytes));
                        let (property, value) = (property.to_owned(), plan.value);
                        edit.check(Box::new(move || holds(&path, &plan.set, &property, &value)));
                    }
                }
                Err(error) => {
                    let told = error.to_value();
                    scenes.push(json!({
                        "scene_path": path, "refused": told["error"], "message": told["message"], "hint": told["hint"]
                    }));
                    refusal.get_or_insert(error);
                }
            }
        }
        match refusal {
            Some(refusal) if done == 0 => Err(match scenes.len() {
                1 => refusal,
                _ => refusal.detail("scenes", scenes),
            }),
            None if done == 0 => Err(ToolError::invalid("scenes", "no scene is given")
                .hint("`list_scenes` names the scene files")),
            _ => {
                edit.fact("refused", scenes.len() - done);
                edit.fact("scenes", scenes);
                Ok(edit)
            }
        }
    }
}

/// What becomes of one scene file.
struct ScenePlan {
    nodes: Vec<String>,
    /// Nodes that hold the value afterwards; the others have it by default.
    set: Vec<String>,
    value: Variant,
    bytes: Option<Vec<u8>>,
}

impl CrossSceneSetProperty {
    fn scene(
        &self,
        editor: &Editor,
        path: &str,
        classes: &mut Classes,
    ) -> Result<ScenePlan, ToolError> {
        if !path.ends_with(".tscn") {
            let message = format!("\"{path}\" is no text scene");
            return Err(ToolError::invalid("scenes", message).hint("give a .tscn file"));
        }
        scene_files::check_exists(path, "scenes")?;
        if scene_tabs::root_of(path).is_some() {
            let message = format!("\"{path}\" is open in the editor");
            return Err(ToolError::precondition("scenes", message)
                .hint("use `batch_set_property` there, or close it with `close_scene`"));
        }
        scene_files::load(editor, path, "scenes")?;
        let bytes = files::bytes(path).unwrap_or_default();
        let text =
            std::str::from_utf8(&bytes).ok().and_then(SceneText::parse).ok_or_else(|| {
                ToolError::invalid(
                    "scenes",
                    format!("\"{path}\" is no scene text that can be read"),
                )
                .hint("open and save it in the editor first")
            })?;

        let mut plan =
            ScenePlan { nodes: Vec::new(), set: Vec::new(), value: Variant::nil(), bytes: None };
        let mut changes = Changes::default();
        let mut external = External::new(&text);
        for section in text.sections.iter().filter(|it| it.kind == "node") {
            let Some(kind) = Kind::of(&text, section) else { continue };
            if !kind.is(self.node_type.as_str()) {
                continue;
            }
            let node_path = section.node_path();
            let at = |it: ToolError| it.at(format_args!("\"{node_path}\""));
            let target = classes.target(&kind).map_err(at)?;
            plan.nodes.push(node_path.clone());
            plan.value = target.value.clone();
            if !kind.instance && values::equal(&target.value, &target.default) {
                text.remove(&mut changes, section, &target.name);
                continue;
            }
            let value = external.spelled(&text, &mut changes, &target.value)?;
            text.set(&mut changes, section, &target.name, &value, &|it| target.rank(it));
            plan.set.push(node_path);
        }
        let new = text.with(changes).into_bytes();
        plan.bytes = (new != bytes).then_some(new);
        Ok(plan)
    }
}

/// What a node of a scene file is.
#[derive(Clone, Hash, PartialEq, Eq)]
struct Kind {
    native: String,
    /// Path of its script.
    script: String,
    instance: bool,
}

impl Kind {
    /// None for nodes that an instance or a base scene brings along.
    fn of(text: &SceneText, section: &Section) -> Option<Self> {
        let resource = |value: &str| {
            let id = external_id(value)?;
            let found = text
                .sections
                .iter()
                .find(|it| it.kind == "ext_resource" && it.attribute("id") == Some(id))?;
            let path = found.attribute("path").unwrap_or_default().to_owned();
            let uids = ResourceUid::singleton();
            let uid = found.attribute("uid").map(|it| uids.text_to_id(it));
            match uid {
                Some(id) if id != -1 && uids.has_id(id) => Some(uids.get_id_path(id).to_string()),
                _ => Some(path),
            }
        };
        let script = section.property("script").and_then(|it| resource(it.value));
        if let Some(native) = section.attribute("type") {
            let script = script.unwrap_or_default();
            return Some(Self { native: native.to_owned(), script, instance: false });
        }
        let file = resource(section.attribute("instance")?)?;
        let mut kind = Self::of_root(&file)?;
        if let Some(script) = script {
            kind.script = script;
        }
        Some(kind)
    }

    /// The root of an instanced scene.
    fn of_root(file: &str) -> Option<Self> {
        let packed = ResourceLoader::singleton().load(file)?.try_cast::<PackedScene>().ok()?;
        let mut script = String::new();
        let mut state = packed.get_state()?;
        for _ in 0..MAX_BASES {
            if script.is_empty()
                && let Some(found) = value_of(&state, 0, "script")
                && let Ok(found) = found.try_to::<Gd<Script>>()
            {
                script = found.get_path().to_string();
            }
            let native = state.get_node_type(0).to_string();
            if !native.is_empty() {
                return Some(Self { native, script, instance: true });
            }
            state = state.get_node_instance(0)?.get_state()?;
        }
        None
    }

    fn is(&self, class: &str) -> bool {
        if values::derives(&self.native, class) {
            return true;
        }
        let mut script = self.load_script();
        while let Some(it) = script {
            if it.get_global_name() == class {
                return true;
            }
            script = it.get_base_script();
        }
        false
    }

    fn load_script(&self) -> Option<Gd<Script>> {
        if self.script.is_empty() {
            return None;
        }
        ResourceLoader::singleton().load(&self.script)?.try_cast().ok()
    }
}

/// The value for nodes of one kind.
#[derive(Clone)]
struct Target {
    name: String,
    value: Variant,
    default: Variant,
    /// Properties in the order in which the engine saves them.
    order: HashMap<String, usize>,
}

impl Target {
    fn rank(&self, property: &str) -> Option<usize> {
        self.order.get(property).copied()
    }
}

struct Classes<'a> {
    editor: &'a Editor,
    property: &'a str,
    json: &'a Value,
    known: HashMap<Kind, Target>,
}

impl<'a> Classes<'a> {
    fn new(editor: &'a Editor, property: &'a str, json: &'a Value) -> Self {
        Self { editor, property, json, known: HashMap::new() }
    }

    fn target(&mut self, kind: &Kind) -> Result<Target, ToolError> {
        if let Some(found) = self.known.get(kind) {
            return Ok(found.clone());
        }
        let made = ClassDb::singleton().instantiate(&kind.native);
        let node = made.try_to::<Gd<Node>>().map_err(|_| {
            ToolError::invalid("node_type", format!("no node of \"{}\" can be made", kind.native))
                .hint("name a class of the engine that is no editor class")
        })?;
        let target = self.make(kind, &node);
        node.free();
        let target = target?;
        self.known.insert(kind.clone(), target.clone());
        Ok(target)
    }

    /// Uses a bare node of the class, so no script of the project runs.
    fn make(&self, kind: &Kind, node: &Gd<Node>) -> Result<Target, ToolError> {
        let object: Gd<Object> = node.clone().upcast();
        let property = self.property;
        if matches!(
            property,
            "name" | "owner" | "script" | "scene_file_path" | "unique_name_in_owner"
        ) {
            let message = format!("\"{property}\" is not set across scenes");
            return Err(ToolError::invalid("property", message)
                .hint("open the scene with `open_scene` and edit it there"));
        }
        let mut script = kind.load_script();
        let mut of_script = Vec::new();
        let default = script.as_ref().map(|it| it.clone().get_property_default_value(property));
        while let Some(it) = script {
            of_script
                .extend(it.get_script_property_list().iter_shared().map(|it| Slot::from_dict(&it)));
            script = it.get_base_script();
        }
        let own = of_script.iter().find(|it| it.name == property).cloned();
        let (slot, default) = match own {
            Some(slot) => (slot, default.unwrap_or_default()),
            None => {
                let slot = properties::writable(&object, property)?;
                (slot, object.get(property))
            }
        };
        if !slot.usage.is_set(PropertyUsageFlags::STORAGE) {
            let carriers = properties::carriers(&object, property);
            let hint = match carriers {
                [] => "it is not saved with a scene".to_owned(),
                _ => format!("it is saved as {}; set that", carriers.join(", ")),
            };
            let message = format!("\"{property}\" of {} is in no scene file", kind.native);
            return Err(ToolError::invalid("property", message).hint(hint));
        }
        if slot.is_node() {
            let message = format!("\"{property}\" refers to a node of its own scene");
            return Err(ToolError::invalid("property", message)
                .hint("open the scene with `open_scene` and use `set_node_property`"));
        }
        let check = |path: &str| self.editor.check_read(path);
        let context =
            values::Context { scene_root: None, object: Some(object.clone()), check_path: &check };
        let value = values::decode(self.json, &slot, &default, &context)
            .map_err(|it| it.required("value"))?;
        let all = Slot::all(&object);
        let names = all.into_iter().chain(of_script).map(|it| it.name);
        let order = names.enumerate().map(|(index, name)| (name, index)).collect();
        Ok(Target { name: property.to_owned(), value, default, order })
    }
}

/// Resources that a scene text refers to, those that changes add included.
struct External {
    /// By path.
    ids: HashMap<String, String>,
}

impl External {
    fn new(text: &SceneText) -> Self {
        let sections = text.sections.iter().filter(|it| it.kind == "ext_resource");
        let entry =
            |it: &Section| Some((it.attribute("path")?.to_owned(), it.attribute("id")?.to_owned()));
        Self { ids: sections.filter_map(entry).collect() }
    }

    /// The value as scene files have it.
    fn spelled(
        &mut self,
        text: &SceneText,
        changes: &mut Changes,
        value: &Variant,
    ) -> Result<String, ToolError> {
        if let Ok(resource) = value.try_to::<Gd<Resource>>() {
            let path = resource.get_path().to_string();
            if path.is_empty() || path.contains("::") {
                return Err(no_file());
            }
            return Ok(format!("ExtResource(\"{}\")", self.id(text, changes, &resource, &path)));
        }
        if holds_object(value) {
            return Err(no_file());
        }
        Ok(godot::global::var_to_str(value).to_string())
    }

    fn id(
        &mut self,
        text: &SceneText,
        changes: &mut Changes,
        resource: &Gd<Resource>,
        path: &str,
    ) -> String {
        if let Some(id) = self.ids.get(path) {
            return id.clone();
        }
        let digest = files::sha256(path.as_bytes());
        let number = self.ids.len() + 1;
        let id = (number..).map(|it| format!("{it}_{}", &digest[..5]));
        let id = id.into_iter().find(|it| !self.ids.values().any(|known| known == it));
        let id = id.unwrap_or_default();
        let uid = ResourceLoader::singleton().get_resource_uid(path);
        let uid = match uid {
            -1 => String::new(),
            _ => format!(" uid=\"{}\"", ResourceUid::singleton().id_to_text(uid)),
        };
        let class = saved_class(resource);
        let header = format!("ext_resource type=\"{class}\"{uid} path=\"{path}\" id=\"{id}\"");
        text.add_header(changes, "ext_resource", &header);
        self.ids.insert(path.to_owned(), id.clone());
        id
    }
}

/// Imported and derived kinds are saved under the name of what they stand for.
fn saved_class(resource: &Gd<Resource>) -> String {
    let general = ["Texture2D", "TextureLayered", "Texture3D", "Script", "Shader", "AudioStream"];
    let general = general.iter().find(|it| resource.is_class(**it));
    general.map_or_else(|| resource.get_class().to_string(), |it| (*it).to_owned())
}

fn no_file() -> ToolError {
    ToolError::invalid("value", "a resource without a file of its own is not set across scenes")
        .hint("make it a file with `create_resource`, then give its res:// path")
}

fn holds_object(value: &Variant) -> bool {
    match value.get_type() {
        VariantType::OBJECT => !value.is_nil(),
        VariantType::ARRAY => {
            value.try_to::<AnyArray>().is_ok_and(|it| it.iter_shared().any(|it| holds_object(&it)))
        }
        VariantType::DICTIONARY => value.try_to::<AnyDictionary>().is_ok_and(|it| {
            it.iter_shared().any(|(key, value)| holds_object(&key) || holds_object(&value))
        }),
        _ => false,
    }
}

/// Whether the written file loads and its nodes have the value (S2 step 9).
fn holds(path: &str, nodes: &[String], property: &str, value: &Variant) -> Result<(), ToolError> {
    let lost = |what: String| ToolError::internal(format!("\"{path}\" {what}"));
    let packed = ResourceLoader::singleton().load_ex(path).cache_mode(CacheMode::IGNORE).done();
    let state = packed.and_then(|it| it.try_cast::<PackedScene>().ok()?.get_state());
    let Some(state) = state else { return Err(lost("does not load any more".to_owned())) };
    for index in 0..state.get_node_count() {
        let node = state.get_node_path(index).to_string();
        let node = node.strip_prefix("./").unwrap_or(&node);
        if !nodes.iter().any(|it| it == node) {
            continue;
        }
        let found = value_of(&state, index, property).unwrap_or_default();
        if !values::same(value, &found) {
            let found = values::summary(&found);
            return Err(lost(format!("has {found} in \"{node}\" after the edit")));
        }
    }
    Ok(())
}

fn value_of(state: &Gd<SceneState>, node: i32, property: &str) -> Option<Variant> {
    let named = |it: &i32| state.get_node_property_name(node, *it) == property;
    let index = (0..state.get_node_property_count(node)).find(named)?;
    Some(state.get_node_property_value(node, index))
}

use godot::builtin::GString;
use godot::classes::{ClassDb, Engine, ResourceLoader, Script};
use godot::meta::ToGodot;
use godot::obj::Singleton;

use super::autoload_names;
use crate::editor::scene_files;
use crate::editor::{files, script_check};
use crate::tool_prelude::*;

/// Makes a script or scene an autoload: a node at `/root/Name`, known in scripts by its name.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct RegisterAutoload {
    name: Identifier,
    /// A script that extends Node, or a scene.
    path: ResourcePath,
}

impl Tool for RegisterAutoload {
    const NAME: &'static str = "register_autoload";
    const TOOLSET: &'static str = "resources_edit";

    fn adjust(spec: &mut ToolSpec) {
        spec.writes_disk = true;
    }

    fn examples() -> Vec<Example> {
        let before = "\n;- res://game.gd\nextends Node\n;- res://data.gd\nextends Resource\n";
        vec![
            Example::answer(
                "Adds a script.",
                before,
                json!({"name": "GameState", "path": "res://game.gd"}),
            )
            .args(json!({"name": "GameState", "path": "res://game.gd"})),
            Example::refusal("Refuses a class's name.", before, Code::ValidationError)
                .args(json!({"name": "Timer", "path": "res://game.gd"})),
            Example::refusal("Refuses what is no node.", before, Code::ValidationError)
                .args(json!({"name": "Data", "path": "res://data.gd"})),
            Example::refusal("Refuses a missing file.", before, Code::ResourceNotFound)
                .args(json!({"name": "Game", "path": "res://gme.gd"})),
        ]
    }
}

impl EditTool for RegisterAutoload {
    const CLASS: SafetyClass = SafetyClass::Destructive;
    const SITE: Site = Site::SafeLane;

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let name = self.name.as_str();
        check_name(name)?;
        let path = editor.resource_path(&self.path)?;
        check_path(editor, &path)?;

        let setting = format!("autoload/{name}");
        let mut edit = Edit::of_files(format!("Add autoload {name}"));
        edit.fact("name", name);
        edit.fact("path", path.as_str());
        // The star makes it a global name, as the dialog's "Enable" does.
        edit.set_settings(&[(setting.clone(), format!("*{path}").to_variant())])?;
        edit.verdict(Verdict::yes(setting));
        // The engine loads the scene anew under its own path, which another one has then.
        if scene_files::is_scene_file(&path) && ResourceLoader::singleton().has_cached(&path) {
            edit.fact(
                "warning",
                "the editor holds this scene already, and then the engine logs errors instead of making \
                 the editor's own node of it: games have the autoload at once, `@tool` scripts after the \
                 editor's next start",
            );
        }
        Ok(edit)
    }
}

/// As the Project Settings dialog checks names.
fn check_name(name: &str) -> Result<(), ToolError> {
    let bad = |what: &str| {
        ToolError::invalid("name", format!("\"{name}\" {what}"))
            .hint("choose another name, such as \"GameState\"")
    };
    if autoload_names().iter().any(|it| it == name) {
        return Err(ToolError::new(Code::AlreadyExists, format!("the autoload \"{name}\" exists"))
            .required("name")
            .hint("take it away with `unregister_autoload` first, or choose another name"));
    }
    if !GString::from(name).is_valid_identifier() {
        return Err(bad("is not an identifier"));
    }
    if ClassDb::singleton().class_exists(name) || Engine::singleton().has_singleton(name) {
        return Err(bad("is a class of the engine"));
    }
    if values::script_class_names().iter().any(|it| it == name) {
        return Err(bad("is the class_name of a script"));
    }
    if RESERVED.contains(&name) {
        return Err(bad("is a word of the language"));
    }
    Ok(())
}

/// Built-in types, constants and keywords of GDScript, which no call lists.
const RESERVED: &[&str] = &[
    "bool",
    "int",
    "float",
    "String",
    "Vector2",
    "Vector2i",
    "Rect2",
    "Rect2i",
    "Vector3",
    "Vector3i",
    "Vector4",
    "Vector4i",
    "Transform2D",
    "Plane",
    "Quaternion",
    "AABB",
    "Basis",
    "Transform3D",
    "Projection",
    "Color",
    "StringName",
    "NodePath",
    "RID",
    "Callable",
    "Signal",
    "Dictionary",
    "Array",
    "Variant",
    "PackedByteArray",
    "PackedInt32Array",
    "PackedInt64Array",
    "PackedFloat32Array",
    "PackedFloat64Array",
    "PackedStringArray",
    "PackedVector2Array",
    "PackedVector3Array",
    "PackedVector4Array",
    "PackedColorArray",
    "PI",
    "TAU",
    "INF",
    "NAN",
    "true",
    "false",
    "null",
    "self",
    "super",
    "void",
    "var",
    "const",
    "func",
    "class",
    "class_name",
    "extends",
    "enum",
    "signal",
    "static",
    "if",
    "elif",
    "else",
    "for",
    "while",
    "match",
    "when",
    "break",
    "continue",
    "pass",
    "return",
    "is",
    "as",
    "in",
    "not",
    "and",
    "or",
    "await",
    "yield",
    "preload",
    "assert",
    "breakpoint",
    "namespace",
    "trait",
    "OK",
    "FAILED",
];

fn check_path(editor: &Editor, path: &str) -> Result<(), ToolError> {
    if !files::absolute(path).is_file() {
        let mut all = Vec::new();
        scene_files::each_file(&mut |file, kind| {
            if matches!(kind, "GDScript" | "CSharpScript" | "PackedScene") {
                all.push(file.to_owned());
            }
        });
        let near = suggest::near(path, all.iter().map(String::as_str), 5);
        let error = ToolError::not_found(format!("no file \"{path}\"")).required("path");
        return Err(match near.is_empty() {
            true => error.hint("write the script first"),
            false => error.suggest(near),
        });
    }
    if scene_files::is_scene_file(path) {
        return scene_files::load(editor, path, "path").map(drop);
    }
    let refusal = |what: String| {
        ToolError::invalid("path", what).hint("give a script that extends Node, or a scene")
    };
    if path.ends_with(".gd") {
        let source = String::from_utf8_lossy(&files::bytes(path).unwrap_or_default()).into_owned();
        if let Some(first) = script_check::check(editor, path, &source).first() {
            let message = format!("\"{path}\" does not compile, see line {}", first.line);
            return Err(ToolError::invalid("path", message).hint("repair the script first"));
        }
    }
    let loaded = ResourceLoader::singleton().load(path);
    let Some(Ok(script)) = loaded.map(|it| it.try_cast::<Script>()) else {
        return Err(refusal(format!("\"{path}\" is neither a script nor a scene")));
    };
    let base = script.get_instance_base_type().to_string();
    let is_node = base == "Node" || ClassDb::singleton().is_parent_class(&base, "Node");
    match is_node {
        true => Ok(()),
        false => Err(refusal(format!("\"{path}\" extends \"{base}\", which is no node"))),
    }
}

use godot::builtin::{GString, Variant};
use godot::classes::resource_loader::CacheMode;
use godot::classes::{ClassDb, ResourceLoader, Script};
use godot::global::Error;
use godot::meta::ToGodot;
use godot::obj::{Gd, Singleton};

use crate::editor::{files, scene_files};
use crate::host_node::drain_log;
use crate::tool_prelude::*;

/// Attaches an existing script to a node. It must compile and fit the node's type.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct AttachScript {
    /// Node, as a path from the scene's root.
    node_path: NodeRef,
    /// Script file.
    script_path: ResourcePath,
}

impl Tool for AttachScript {
    const NAME: &'static str = "attach_script";
    const TOOLSET: &'static str = "scene_edit";

    fn adjust(spec: &mut ToolSpec) {
        spec.edits_scene = true;
        spec.free_text = true;
    }

    fn examples() -> Vec<Example> {
        let before = r#"
[node name="Main" type="Node2D"]
;- res://main.gd
extends Node2D
;- res://clock.gd
extends Timer"#;
        let after = r#"
[ext_resource type="Script" path="res://main.gd" id="1"]
[node name="Main" type="Node2D"]
script = ExtResource("1")"#;
        vec![
            Example::edit("Attaches a script.", before, after)
                .args(json!({"node_path": ".", "script_path": "res://main.gd"})),
            Example::refusal("Refuses a script for another class.", before, Code::ValidationError)
                .args(json!({"node_path": ".", "script_path": "res://clock.gd"})),
        ]
    }
}

impl EditTool for AttachScript {
    const CLASS: SafetyClass = SafetyClass::Mutating;

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let scene = editor.edited_scene()?;
        let node = scene.node(&self.node_path)?;
        let path = editor.resource_path(&self.script_path)?;
        check_file(&path)?;
        if path.ends_with(".gd") {
            check_compiles(editor, &path)?;
        }
        let loaded = ResourceLoader::singleton().load_ex(&path).cache_mode(CacheMode::REUSE).done();
        let Some(script) = loaded.and_then(|it| it.try_cast::<Script>().ok()) else {
            return Err(ToolError::invalid("script_path", format!("\"{path}\" is not a script")));
        };
        let base = script.get_instance_base_type();
        let class = node.get_class();
        let fits = base.to_string() == class.to_string()
            || ClassDb::singleton()
                .is_parent_class(&godot::builtin::StringName::from(&class), &base);
        if base.is_empty() || !fits {
            let needs =
                if base.is_empty() { "another class".to_owned() } else { format!("\"{base}\"") };
            return Err(ToolError::invalid(
                "script_path",
                format!("\"{path}\" extends {needs}, the node is a \"{class}\""),
            )
            .hint("attach it to a fitting node, or change what the script extends"));
        }
        if script.is_abstract() {
            return Err(ToolError::invalid("script_path", format!("\"{path}\" is abstract"))
                .hint("attach a script that extends it"));
        }
        let old = node.get("script");
        let old_path = old.try_to::<Gd<Script>>().ok().map(|it| it.get_path().to_string());
        let node_path = scene.path_of(&node);
        let mut edit = Edit::in_scene(&scene, format!("Attach {path} to {}", node.get_name()));
        edit.fact("node_path", node_path.as_str());
        edit.fact("script_path", path.as_str());
        edit.fact("replaced", old_path);
        edit.verdict(persistence::of_node(&scene, &node));
        let new = script.to_variant();
        if !values::same(&new, &old) {
            edit.set_script(&node_path, &node, &new);
        }
        Ok(edit)
    }
}

fn check_file(path: &str) -> Result<(), ToolError> {
    let kinds = ResourceLoader::singleton().get_recognized_extensions_for_type("Script");
    let extension = path.rsplit_once('.').map_or("", |it| it.1);
    if !kinds.as_slice().iter().any(|it| *it == extension) {
        return Err(ToolError::invalid(
            "script_path",
            format!("\"{path}\" is not a script file of this editor"),
        )
        .hint("give a .gd file; .cs needs the .NET build of the editor"));
    }
    if files::absolute(path).is_file() {
        return Ok(());
    }
    let mut scripts = Vec::new();
    scene_files::each_file(&mut |file, _| {
        if file.ends_with(&format!(".{extension}")) {
            scripts.push(file.to_owned());
        }
    });
    let near = suggest::near(path, scripts.iter().map(String::as_str), 5);
    let error = ToolError::not_found(format!("no file \"{path}\"")).required("script_path");
    Err(if near.is_empty() { error.hint("write the script first") } else { error.suggest(near) })
}

/// Compiles the file as it is on disk, beside the loaded script, which may be older.
fn check_compiles(editor: &Editor, path: &str) -> Result<(), ToolError> {
    let source = String::from_utf8_lossy(&files::bytes(path).unwrap_or_default()).into_owned();
    let made: Variant = ClassDb::singleton().instantiate("GDScript");
    let Ok(mut script) = made.try_to::<Gd<Script>>() else {
        return Err(ToolError::new(Code::Unsupported, "this editor has no GDScript"));
    };
    script.set_source_code(&GString::from(without_class_name(&source).as_str()));
    drain_log(editor.app());
    let cursor = editor.shared().feed.cursor();
    if script.reload() == Error::OK {
        return Ok(());
    }
    drain_log(editor.app());
    let page = editor.shared().feed.page(cursor, godot_mcp_core::feed::Severity::Error, 1);
    let first = page.entries.first();
    let line = first.map_or(0, |it| it.line);
    let message = first.map(|it| it.message.clone()).unwrap_or_default();
    Err(ToolError::invalid("script_path", format!("\"{path}\" does not compile, see line {line}"))
        .hint("repair the script, then attach it")
        .details(json!({"line": line, "error": godot_mcp_core::untrusted::wrap(path, &message)})))
}

/// The check would report that the script hides its own global class.
fn without_class_name(source: &str) -> String {
    let blank = |line: &str| match line.strip_prefix("class_name ") {
        // `class_name A extends B` keeps what it extends.
        Some(rest) => match rest.find("extends ") {
            Some(at) => rest[at..].to_owned(),
            None => String::new(),
        },
        None => line.to_owned(),
    };
    source.split('\n').map(blank).collect::<Vec<_>>().join("\n")
}

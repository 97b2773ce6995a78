//! Scripts that a node can get: they exist, compile and fit its class.

use godot::builtin::{GString, StringName, Variant};
use godot::classes::resource_loader::CacheMode;
use godot::classes::{ClassDb, ResourceLoader, Script};
use godot::global::Error;
use godot::obj::{Gd, Singleton};
use godot_mcp_core::{Code, ToolError, suggest};
use serde_json::json;

use super::{Editor, files, scene_files};
use crate::host_node::drain_log;

/// The script of a file, for a node of an engine class. `parameter` names the path in refusals.
pub(crate) fn script(
    editor: &Editor,
    path: &str,
    class: &GString,
    parameter: &'static str,
) -> Result<Gd<Script>, ToolError> {
    check_file(path, parameter)?;
    if path.ends_with(".gd") {
        check_compiles(editor, path, parameter)?;
    }
    let loaded = ResourceLoader::singleton().load_ex(path).cache_mode(CacheMode::REUSE).done();
    let Some(script) = loaded.and_then(|it| it.try_cast::<Script>().ok()) else {
        return Err(ToolError::invalid(parameter, format!("\"{path}\" is not a script")));
    };
    let base = script.get_instance_base_type();
    let fits = base.to_string() == class.to_string()
        || ClassDb::singleton().is_parent_class(&StringName::from(class), &base);
    if base.is_empty() || !fits {
        let needs =
            if base.is_empty() { "another class".to_owned() } else { format!("\"{base}\"") };
        return Err(ToolError::invalid(
            parameter,
            format!("\"{path}\" extends {needs}, the node is a \"{class}\""),
        )
        .hint("attach it to a fitting node, or change what the script extends"));
    }
    if script.is_abstract() {
        return Err(ToolError::invalid(parameter, format!("\"{path}\" is abstract"))
            .hint("attach a script that extends it"));
    }
    Ok(script)
}

fn check_file(path: &str, parameter: &'static str) -> Result<(), ToolError> {
    let kinds = ResourceLoader::singleton().get_recognized_extensions_for_type("Script");
    let extension = path.rsplit_once('.').map_or("", |it| it.1);
    if !kinds.as_slice().iter().any(|it| *it == extension) {
        return Err(ToolError::invalid(
            parameter,
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
    let error = ToolError::not_found(format!("no file \"{path}\"")).required(parameter);
    Err(if near.is_empty() { error.hint("write the script first") } else { error.suggest(near) })
}

/// Compiles the file as it is on disk, beside the loaded script, which may be older.
fn check_compiles(editor: &Editor, path: &str, parameter: &'static str) -> Result<(), ToolError> {
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
    Err(ToolError::invalid(parameter, format!("\"{path}\" does not compile, see line {line}"))
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

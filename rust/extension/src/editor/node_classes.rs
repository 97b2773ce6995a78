//! Node types by name: those of the engine, and those that scripts declare with `class_name`.

use godot::classes::class_db::ApiType;
use godot::classes::{ClassDb, Node, ResourceLoader, Script};
use godot::obj::{Gd, Singleton};
use godot_mcp_core::{ToolError, suggest};

use super::values::classes;

/// A type of which nodes can be made.
pub(crate) struct NodeClass {
    /// As it was asked for.
    pub(crate) name: String,
    pub(crate) native: String,
    pub(crate) script: Option<Gd<Script>>,
}

impl NodeClass {
    /// Looks up a class by its exact name and refuses what is no node or cannot be made.
    pub(crate) fn named(name: &str, parameter: &'static str) -> Result<Self, ToolError> {
        if classes::is_native(name) {
            check_native(name, parameter)?;
            let (name, native) = (name.to_owned(), name.to_owned());
            return Ok(Self { name, native, script: None });
        }
        let Some(class) = classes::script_class(name) else { return Err(unknown(name, parameter)) };
        if !classes::derives(name, "Node") {
            return Err(no_node(name, parameter));
        }
        let script = ResourceLoader::singleton().load(&class.path);
        let Some(script) = script.and_then(|it| it.try_cast::<Script>().ok()) else {
            let message =
                format!("the script \"{}\" of \"{name}\" could not be loaded", class.path);
            return Err(ToolError::invalid(parameter, message).hint("fix the script first"));
        };
        if script.is_abstract() {
            return Err(abstract_class(name, parameter));
        }
        let native = script.get_instance_base_type().to_string();
        check_native(&native, parameter)?;
        Ok(Self { name: name.to_owned(), native, script: Some(script) })
    }

    /// A node of the engine's class. The script is attached by the edit, since its code may run.
    pub(crate) fn instantiate(&self) -> Result<Gd<Node>, ToolError> {
        let node = ClassDb::singleton().instantiate(&self.native);
        node.try_to::<Gd<Node>>().map_err(|_| {
            ToolError::internal(format!("the engine made no node of \"{}\"", self.native))
        })
    }
}

fn check_native(name: &str, parameter: &'static str) -> Result<(), ToolError> {
    let db = ClassDb::singleton();
    if name != "Node" && !db.is_parent_class(name, "Node") {
        return Err(no_node(name, parameter));
    }
    if !db.can_instantiate(name) {
        return Err(abstract_class(name, parameter));
    }
    if matches!(db.class_get_api_type(name), ApiType::EDITOR | ApiType::EDITOR_EXTENSION) {
        let message = format!("\"{name}\" exists only in the editor");
        return Err(
            ToolError::invalid(parameter, message).hint("choose a class that games have too")
        );
    }
    Ok(())
}

fn no_node(name: &str, parameter: &'static str) -> ToolError {
    ToolError::invalid(parameter, format!("\"{name}\" is not a node class"))
        .hint("give a class that derives from Node")
}

fn abstract_class(name: &str, parameter: &'static str) -> ToolError {
    ToolError::invalid(parameter, format!("\"{name}\" is abstract"))
        .hint("give a class that derives from it")
}

fn unknown(name: &str, parameter: &'static str) -> ToolError {
    let db = ClassDb::singleton();
    let natives = db.get_inheriters_from_class("Node");
    let natives = natives.as_slice().iter().map(ToString::to_string);
    let mut names: Vec<String> = natives.filter(|it| check_native(it, parameter).is_ok()).collect();
    names.push("Node".to_owned());
    names.extend(classes::script_class_names());
    let near = suggest::near(name, &names, 3);
    let error = ToolError::invalid(parameter, format!("there is no class \"{name}\""));
    if near.is_empty() {
        error.hint("give an engine class such as \"Node2D\", or a script's `class_name`")
    } else {
        error.suggest(near)
    }
}

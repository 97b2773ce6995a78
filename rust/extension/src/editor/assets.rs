//! New asset files, which the editor imports.

use godot::builtin::{GString, PackedStringArray};
use godot::classes::{EditorInterface, ResourceLoader};
use godot::obj::Singleton;
use godot_mcp_core::ToolError;
use serde_json::{Map, json};

use super::edit::Edit;
use super::persistence::Verdict;
use super::{Editor, files, resource_edit};
use crate::main_thread;

/// Refuses a path where no such file can be made.
pub(crate) fn check(path: &str, suffix: &str) -> Result<(), ToolError> {
    if !path.to_lowercase().ends_with(suffix) {
        return Err(ToolError::invalid(
            "resource_path",
            format!("\"{path}\" does not end in {suffix}"),
        )
        .hint(format!("give a free path that ends in {suffix}")));
    }
    resource_edit::check_free(path, false, "resource_path")
}

/// Writes the file, and answers once it is imported. Undo removes what the import wrote beside it.
pub(crate) fn write(edit: &mut Edit, path: &str, bytes: Vec<u8>) {
    edit.fact("resource_path", path);
    edit.fact("created", true);
    edit.fact("bytes", bytes.len());
    edit.fact("sha256", files::sha256(&bytes));
    edit.verdict(Verdict::yes(path));
    edit.write_file(path, Some(bytes));
    let path = path.to_owned();
    let mut asked = 0;
    edit.settle(Box::new(move |_: &Editor| {
        if main_thread::is_scanning() {
            return None;
        }
        let known = ResourceLoader::singleton().exists(&path);
        if !known && asked < 2 {
            let mut files = EditorInterface::singleton().get_resource_filesystem()?;
            match asked {
                // A scan that ran already when the file came may have passed its folder by.
                0 => files.scan(),
                _ => files.reimport_files(&PackedStringArray::from([GString::from(path.as_str())])),
            }
            asked += 1;
            return None;
        }
        let loaded = if known { ResourceLoader::singleton().load(&path) } else { None };
        let mut facts = Map::new();
        facts.insert("imported".into(), json!(loaded.is_some()));
        if let Some(loaded) = loaded {
            facts.insert("type".into(), json!(loaded.get_class().to_string()));
        }
        Some(facts)
    }));
}

//! Project files as undoable bytes (S6.5).

use std::path::PathBuf;

use godot::builtin::{GString, PackedByteArray, Variant};
use godot::classes::{EditorInterface, ProjectSettings, RefCounted};
use godot::meta::ToGodot;
use godot::obj::{Base, Singleton};
use godot::register::{GodotClass, godot_api};
use godot_mcp_core::{Code, ToolError};

/// Writes and restores files for the undo history, which calls it by name.
#[derive(GodotClass)]
#[class(tool, internal, init, base = RefCounted)]
pub(crate) struct FileKeeper {
    base: Base<RefCounted>,
}

#[godot_api]
impl FileKeeper {
    /// Entry for undo and redo: bytes to write, or null to delete.
    #[func]
    fn restore(&self, path: GString, bytes: Variant) {
        // Null converts to an empty array, which would leave an empty file.
        let bytes = (!bytes.is_nil())
            .then(|| bytes.try_to::<PackedByteArray>().unwrap_or_default().to_vec());
        if let Err(error) = self.write(&path.to_string(), bytes.as_deref()) {
            godot::global::godot_error!("MCP: {}", error.message);
        }
    }
}

impl FileKeeper {
    pub(crate) fn bytes_variant(bytes: Option<&[u8]>) -> Variant {
        bytes.map_or_else(Variant::nil, |it| PackedByteArray::from(it).to_variant())
    }

    /// Writes a file completely or not at all, or deletes it, and tells the editor.
    pub(crate) fn write(&self, path: &str, bytes: Option<&[u8]>) -> Result<(), ToolError> {
        let file = absolute(path);
        let result = match bytes {
            Some(bytes) => write_whole(&file, bytes),
            None => match std::fs::remove_file(&file) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
                result => result,
            },
        };
        result.map_err(|it| {
            ToolError::new(Code::PreconditionFailed, format!("cannot write \"{path}\": {it}"))
                .hint("check permissions and free space; nothing was changed")
        })?;
        if let Some(mut files) = EditorInterface::singleton().get_resource_filesystem() {
            files.update_file(path);
        }
        Ok(())
    }
}

fn write_whole(file: &std::path::Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut part = file.as_os_str().to_owned();
    part.push(".mcp-part");
    std::fs::write(&part, bytes)?;
    std::fs::rename(&part, file).inspect_err(|_| {
        let _ = std::fs::remove_file(&part);
    })
}

/// The file behind an accepted `res://` path.
pub(crate) fn absolute(path: &str) -> PathBuf {
    PathBuf::from(ProjectSettings::singleton().globalize_path(path).to_string())
}

/// The bytes of a project file, none when it does not exist.
pub(crate) fn bytes(path: &str) -> Option<Vec<u8>> {
    std::fs::read(absolute(path)).ok()
}

//! Deviations of the engine that the code works round, each with versions and reason.

use godot::builtin::GString;
use godot::classes;
use godot::classes::node::DuplicateFlags;
use godot::classes::{ClassDb, Engine};
use godot::obj::{EngineBitfield as _, GodotClass, Singleton as _};
use godot_mcp_core::feed::Entry;

/// Engine messages that are known to be harmless, by function and file. Nothing else is let
/// through: the feed hides them and the test harness accepts them.
///
/// 4.6: a headless `EditorInterface.save_scene()` logs one error about a null texture, since the
/// scene's thumbnail cannot be drawn.
pub(crate) const HARMLESS: &[(&str, &str)] =
    &[("texture_2d_get", "servers/rendering/dummy/storage/texture_storage.h")];

pub(crate) fn is_harmless(entry: &Entry) -> bool {
    HARMLESS
        .iter()
        .any(|(function, file)| entry.function.ends_with(function) && entry.file.ends_with(file))
}

/// Runs `work` without the engine printing errors, for questions whose "no" is no error here.
/// Other threads are silenced too, so it must be short.
pub(crate) fn quietly<T>(work: impl FnOnce() -> T) -> T {
    /// Also after a panic, which the dispatcher survives.
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            Engine::singleton().set_print_error_messages(self.0);
        }
    }
    let mut engine = Engine::singleton();
    let _restore = Restore(engine.is_printing_error_messages());
    engine.set_print_error_messages(false);
    work()
}

/// The flag with which the editor's own duplicate copies instances: without it a copy forgets that
/// its nodes come from an instance and is saved with too many properties. It is not exposed; its
/// bit moved up when `DUPLICATE_INTERNAL_STATE` took the old place.
pub(crate) fn duplicate_from_editor() -> DuplicateFlags {
    let names = ClassDb::singleton().class_get_enum_constants("Node", "DuplicateFlags");
    let moved = names.contains(&GString::from("DUPLICATE_INTERNAL_STATE"));
    DuplicateFlags::from_ord(if moved { 32 } else { 16 })
}

/// Makes the bindings know every engine class that this crate names, before the engine names one.
///
/// gdext 0.5.5 panics when a class is first met by name, as the element of a typed array is, and only
/// then by its Rust type. A test keeps the list complete.
pub(crate) fn name_classes() {
    let known = [
        <classes::AnimatedSprite2D as GodotClass>::class_id(),
        <classes::Animation as GodotClass>::class_id(),
        <classes::AtlasTexture as GodotClass>::class_id(),
        <classes::Curve as GodotClass>::class_id(),
        <classes::FastNoiseLite as GodotClass>::class_id(),
        <classes::Gradient as GodotClass>::class_id(),
        <classes::SpriteFrames as GodotClass>::class_id(),
        <classes::AnimationMixer as GodotClass>::class_id(),
        <classes::BoxShape3D as GodotClass>::class_id(),
        <classes::CanvasItem as GodotClass>::class_id(),
        <classes::CapsuleShape3D as GodotClass>::class_id(),
        <classes::ClassDb as GodotClass>::class_id(),
        <classes::CodeEdit as GodotClass>::class_id(),
        <classes::CollisionPolygon2D as GodotClass>::class_id(),
        <classes::CollisionShape2D as GodotClass>::class_id(),
        <classes::CollisionShape3D as GodotClass>::class_id(),
        <classes::Control as GodotClass>::class_id(),
        <classes::CylinderShape3D as GodotClass>::class_id(),
        <classes::DirAccess as GodotClass>::class_id(),
        <classes::DisplayServer as GodotClass>::class_id(),
        <classes::EditorFileSystemDirectory as GodotClass>::class_id(),
        <classes::EditorInterface as GodotClass>::class_id(),
        <classes::EditorPlugin as GodotClass>::class_id(),
        <classes::EditorSettings as GodotClass>::class_id(),
        <classes::EditorUndoRedoManager as GodotClass>::class_id(),
        <classes::Engine as GodotClass>::class_id(),
        <classes::Expression as GodotClass>::class_id(),
        <classes::FileAccess as GodotClass>::class_id(),
        <classes::GeometryInstance3D as GodotClass>::class_id(),
        <classes::HttpClient as GodotClass>::class_id(),
        <classes::InputEvent as GodotClass>::class_id(),
        <classes::InputMap as GodotClass>::class_id(),
        <classes::Line2D as GodotClass>::class_id(),
        <classes::Node as GodotClass>::class_id(),
        <classes::Node2D as GodotClass>::class_id(),
        <classes::Node3D as GodotClass>::class_id(),
        <classes::Object as GodotClass>::class_id(),
        <classes::Os as GodotClass>::class_id(),
        <classes::PackedScene as GodotClass>::class_id(),
        <classes::Polygon2D as GodotClass>::class_id(),
        <classes::PopupMenu as GodotClass>::class_id(),
        <classes::ProjectSettings as GodotClass>::class_id(),
        <classes::RefCounted as GodotClass>::class_id(),
        <classes::Resource as GodotClass>::class_id(),
        <classes::ResourceLoader as GodotClass>::class_id(),
        <classes::ResourceSaver as GodotClass>::class_id(),
        <classes::ResourceUid as GodotClass>::class_id(),
        <classes::ScriptEditorBase as GodotClass>::class_id(),
        <classes::ScriptEditor as GodotClass>::class_id(),
        <classes::SceneState as GodotClass>::class_id(),
        <classes::Script as GodotClass>::class_id(),
        <classes::Shader as GodotClass>::class_id(),
        <classes::Shape2D as GodotClass>::class_id(),
        <classes::Shape3D as GodotClass>::class_id(),
        <classes::SphereShape3D as GodotClass>::class_id(),
        <classes::Sprite2D as GodotClass>::class_id(),
        <classes::TabBar as GodotClass>::class_id(),
        <classes::Texture2D as GodotClass>::class_id(),
        <classes::TileMapLayer as GodotClass>::class_id(),
        <classes::TlsOptions as GodotClass>::class_id(),
        <classes::UndoRedo as GodotClass>::class_id(),
        <classes::EditorFileSystem as GodotClass>::class_id(),
        <classes::EditorSelection as GodotClass>::class_id(),
        <classes::Shortcut as GodotClass>::class_id(),
        <classes::HttpRequest as GodotClass>::class_id(),
        <classes::Window as GodotClass>::class_id(),
        <classes::Theme as GodotClass>::class_id(),
        <classes::MainLoop as GodotClass>::class_id(),
        <classes::SceneTree as GodotClass>::class_id(),
        <classes::GDScript as GodotClass>::class_id(),
        <classes::Viewport as GodotClass>::class_id(),
        <classes::InputEventKey as GodotClass>::class_id(),
        <classes::Texture as GodotClass>::class_id(),
        <classes::Image as GodotClass>::class_id(),
        <classes::Material as GodotClass>::class_id(),
        <classes::Mesh as GodotClass>::class_id(),
        <classes::AnimationPlayer as GodotClass>::class_id(),
        <classes::AnimationLibrary as GodotClass>::class_id(),
        <classes::CollisionObject2D as GodotClass>::class_id(),
        <classes::VisualInstance3D as GodotClass>::class_id(),
        <classes::MenuBar as GodotClass>::class_id(),
        <classes::MenuButton as GodotClass>::class_id(),
        <classes::CanvasLayer as GodotClass>::class_id(),
        <classes::Timer as GodotClass>::class_id(),
        <classes::Label as GodotClass>::class_id(),
        <classes::Json as GodotClass>::class_id(),
        <classes::Marshalls as GodotClass>::class_id(),
        <classes::Time as GodotClass>::class_id(),
        <classes::InputEventMouseButton as GodotClass>::class_id(),
        <classes::InputEventJoypadMotion as GodotClass>::class_id(),
        <classes::InputEventJoypadButton as GodotClass>::class_id(),
    ];
    tracing::debug!("{} engine classes are known", known.len());
}

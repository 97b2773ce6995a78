//! The builder behind `MCPToolkitUndoRedoAction` (X7): the operations of an extension, recorded as the
//! built-in tools record theirs.

use godot::builtin::{AnyArray, Callable, GString, StringName, Variant};
use godot::classes::{EditorInterface, Engine, Object, RefCounted};
use godot::global::{godot_error, godot_warn};
use godot::meta::{FromGodot, ToGodot};
use godot::obj::{Base, Gd, NewGd, Singleton};
use godot::register::{GodotClass, godot_api};

use super::committed;
use crate::app;
use crate::editor::edit::{self, HistoryEntry, Op};
use crate::editor::files::FileKeeper;

/// One action that is being built.
#[derive(GodotClass)]
#[class(tool, internal, init, base = RefCounted)]
pub(crate) struct GodotMcpUndoAction {
    title: String,
    /// None before `begin` and after the commit.
    recording: Option<Recording>,
    base: Base<RefCounted>,
}

#[derive(Default)]
struct Recording {
    title: String,
    context: Option<Gd<Object>>,
    done: Vec<Op>,
    undone: Vec<Op>,
    keep_done: Vec<Gd<Object>>,
    keep_undone: Vec<Gd<Object>>,
}

#[godot_api]
impl GodotMcpUndoAction {
    #[func]
    fn begin(&mut self, title: GString, context: Option<Gd<Object>>) {
        // Authors know the prefix too.
        let title = title.to_string();
        self.title = title.strip_prefix("MCP: ").unwrap_or(&title).to_owned();
        self.recording =
            Some(Recording { title: self.title.clone(), context, ..Recording::default() });
    }

    /// Also in a headless editor.
    #[func]
    fn is_active() -> bool {
        Engine::singleton().is_editor_hint()
            && EditorInterface::singleton().get_editor_undo_redo().is_some()
    }

    #[func]
    fn add_property(&mut self, undo: bool, object: Gd<Object>, name: StringName, value: Variant) {
        let value = edit::own_copy(&value);
        if let Some(recording) = self.open() {
            recording.add(undo, Op::Set { object, property: name, value });
        }
    }

    /// With the arguments that are bound to it.
    #[func]
    fn add_method(&mut self, undo: bool, callable: Callable) {
        let Some(recording) = self.open() else { return };
        match op(&callable) {
            Some(op) => recording.add(undo, op),
            None => godot_error!(
                "MCP: the action \"{}\" leaves out a callable whose object is gone: {callable}",
                recording.title
            ),
        }
    }

    #[func]
    fn add_reference(&mut self, undo: bool, object: Gd<Object>) {
        if let Some(recording) = self.open() {
            let kept = if undo { &mut recording.keep_undone } else { &mut recording.keep_done };
            kept.push(object);
        }
    }

    /// Enters the action into the history, and runs it first when it is to be executed.
    // Bound by nothing while the engine runs the operations, which may be scripts.
    #[func(gd_self)]
    fn commit(mut this: Gd<Self>, execute: bool) {
        let recording = {
            let mut action = this.bind_mut();
            action.open();
            action.recording.take()
        };
        if let Some(recording) = recording {
            recording.commit(execute);
        }
    }
}

impl GodotMcpUndoAction {
    fn open(&mut self) -> Option<&mut Recording> {
        if self.recording.is_none() {
            godot_warn!(
                "MCP: the action \"{}\" was committed already; what comes after that does nothing.",
                self.title
            );
        }
        self.recording.as_mut()
    }
}

impl Recording {
    fn add(&mut self, undo: bool, op: Op) {
        let ops = if undo { &mut self.undone } else { &mut self.done };
        ops.push(op);
    }

    fn commit(mut self, execute: bool) {
        let objects = || self.done.iter().chain(&self.undone).filter_map(Op::object);
        if objects().any(|it| !it.is_instance_valid()) {
            godot_error!(
                "MCP: the action \"{}\" is not recorded, since it names an object that is gone.",
                self.title
            );
            return;
        }
        if objects().next().is_none() {
            return;
        }
        for kept in [&mut self.keep_done, &mut self.keep_undone] {
            kept.retain(Gd::is_instance_valid);
        }
        let keeper = FileKeeper::new_gd();
        let (context, mark_unsaved) = self.history_of(&keeper);
        let entry = HistoryEntry {
            title: &self.title,
            context,
            mark_unsaved,
            done: &self.done,
            undone: &self.undone,
            keep_done: self.keep_done,
            keep_undone: self.keep_undone,
            execute,
        };
        if let Some(token) = entry.enter(app::current().as_deref(), &keeper) {
            committed::add(token);
        }
    }

    /// What decides the history, and whether that is a scene's.
    ///
    /// Without a context, or with a node that was taken out of the scene before, the first object
    /// of a scene decides: an action of a scene's nodes in the project's history would outlive them.
    fn history_of(&self, keeper: &Gd<FileKeeper>) -> (Gd<Object>, bool) {
        let manager = EditorInterface::singleton().get_editor_undo_redo();
        let objects = self.done.iter().chain(&self.undone).filter_map(Op::object);
        let of_scene = self.context.iter().chain(objects).find(|it| {
            it.is_instance_valid()
                && manager.as_ref().is_some_and(|manager| manager.get_object_history_id(*it) > 0)
        });
        match of_scene {
            Some(object) => (object.clone(), true),
            None => (keeper.clone().upcast(), false),
        }
    }
}

/// A method by its name where that is possible: then the history keeps its object.
fn op(callable: &Callable) -> Option<Op> {
    if !callable.is_valid() {
        return None;
    }
    let object = callable.object()?;
    // A lambda may be named as a method is; its text tells them apart.
    let is_lambda = callable.to_string().contains("(lambda)");
    if let Some(method) = callable.method_name()
        && !is_lambda
        && ask::<i64>(callable, "get_unbound_arguments_count") == Some(0)
        && object.has_method(&method)
    {
        let args = ask::<AnyArray>(callable, "get_bound_arguments")?.iter_shared().collect();
        return Some(Op::Call { object, method, args });
    }
    Some(Op::call(&Caller::new_gd(), "run", &[callable.to_variant()]))
}

/// A method of callables that the bindings do not have.
fn ask<T: FromGodot>(callable: &Callable, method: &str) -> Option<T> {
    callable.to_variant().call(method, &[]).try_to().ok()
}

/// Calls what has no name that the history could call it by.
#[derive(GodotClass)]
#[class(tool, internal, init, rename = GodotMcpCaller, base = RefCounted)]
struct Caller {}

#[godot_api]
impl Caller {
    #[func(gd_self)]
    fn run(_this: Gd<Self>, callable: Callable) {
        callable.call(&[]);
    }
}

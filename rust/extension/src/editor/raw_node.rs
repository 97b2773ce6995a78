//! Reading thousands of nodes in one go.
//!
//! Each call of the bindings checks thread, class and liveness of the object, which is right
//! everywhere else, but takes most of the time of a walk over a large scene. Here the engine's
//! methods are called directly. Only reads that run no script belong here.

use std::marker::PhantomData;

use godot::builtin::{GString, StringName, Variant};
use godot::classes::{Node, Script};
use godot::obj::Gd;
use godot::sys::{self, GodotFfi as _};

/// The engine's methods, found once. The numbers are the hashes of their signatures, which the
/// bindings use as well.
#[derive(Clone, Copy)]
pub(crate) struct Methods {
    child_count: Method,
    child: Method,
    name: Method,
    class: Method,
    owner: Method,
    file: Method,
    unique: Method,
    script: Method,
    editable: Method,
    visible_canvas: Method,
    visible_spatial: Method,
    visible_layer: Method,
}

type Method = sys::GDExtensionMethodBindPtr;

impl Methods {
    /// None when the engine lacks one of them, which the bindings would not have survived either.
    pub(crate) fn find() -> Option<Self> {
        thread_local! {
            static FOUND: std::cell::OnceCell<Option<Methods>> = const { std::cell::OnceCell::new() };
        }
        FOUND.with(|it| *it.get_or_init(Self::look_up))
    }

    fn look_up() -> Option<Self> {
        Some(Self {
            child_count: method("Node", "get_child_count", 894_402_480)?,
            child: method("Node", "get_child", 541_253_412)?,
            name: method("Node", "get_name", 2_002_593_661)?,
            class: method("Object", "get_class", 201_670_096)?,
            owner: method("Node", "get_owner", 3_160_264_692)?,
            file: method("Node", "get_scene_file_path", 201_670_096)?,
            unique: method("Node", "is_unique_name_in_owner", 36_873_697)?,
            script: method("Object", "get_script", 1_214_101_251)?,
            editable: method("Node", "is_editable_instance", 3_093_956_946)?,
            visible_canvas: method("CanvasItem", "is_visible", 36_873_697)?,
            visible_spatial: method("Node3D", "is_visible", 36_873_697)?,
            visible_layer: method("CanvasLayer", "is_visible", 36_873_697)?,
        })
    }
}

fn method(class: &str, name: &str, hash: i64) -> Option<Method> {
    let (class, name) = (StringName::from(class), StringName::from(name));
    // SAFETY: both names live through the call, which only looks them up.
    let found = unsafe {
        sys::interface_fn!(classdb_get_method_bind)(class.sys().cast(), name.sys().cast(), hash)
    };
    (!found.is_null()).then_some(found)
}

/// What a class calls its own visibility.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Hiding {
    Canvas,
    Spatial,
    Layer,
    Never,
}

/// A node during a walk.
///
/// Invariant: it is alive. The walk that made it runs no scripts and changes no tree.
#[derive(Clone, Copy)]
pub(crate) struct RawNode<'a> {
    object: sys::GDExtensionObjectPtr,
    methods: &'a Methods,
    walk: PhantomData<&'a Gd<Node>>,
}

impl<'a> RawNode<'a> {
    /// # Safety
    /// Main thread, `node` is alive, and until the last use of what comes from it no node of its
    /// tree is freed: nothing in between calls into scripts or the editor.
    pub(crate) unsafe fn new(node: &'a Gd<Node>, methods: &'a Methods) -> Self {
        Self { object: node.obj_sys(), methods, walk: PhantomData }
    }

    /// What tells one node from another during the walk.
    pub(crate) fn key(self) -> usize {
        self.object as usize
    }

    pub(crate) fn name(self) -> String {
        let mut name = StringName::default();
        // SAFETY: the method takes nothing and writes a `StringName`.
        unsafe { self.call(self.methods.name, &[], name.sys_mut()) };
        text(&GString::from(&name))
    }

    pub(crate) fn class(self) -> String {
        self.string(self.methods.class)
    }

    /// The file that this is an instance of; empty for other nodes.
    pub(crate) fn file(self) -> String {
        self.string(self.methods.file)
    }

    pub(crate) fn child_count(self) -> i64 {
        let (internal, mut count) = (0_u8, 0_i64);
        // SAFETY: the method takes a bool and writes an integer of 64 bits.
        unsafe { self.call(self.methods.child_count, &[of(&internal)], into(&mut count)) };
        count
    }

    pub(crate) fn child(self, index: i64) -> Option<Self> {
        let internal = 0_u8;
        // SAFETY: the method takes an integer of 64 bits and a bool, and writes an object.
        unsafe { self.node(self.methods.child, &[of(&index), of(&internal)]) }
    }

    pub(crate) fn owner(self) -> Option<Self> {
        // SAFETY: the method takes nothing and writes an object.
        unsafe { self.node(self.methods.owner, &[]) }
    }

    pub(crate) fn is_unique(self) -> bool {
        self.flag(self.methods.unique)
    }

    /// Path of the script; empty for one inside the scene.
    pub(crate) fn script(self) -> Option<String> {
        let mut script = Variant::nil();
        // SAFETY: the method takes nothing and writes a `Variant`.
        unsafe { self.call(self.methods.script, &[], script.sys_mut()) };
        if script.is_nil() {
            return None;
        }
        script.try_to::<Gd<Script>>().ok().map(|it| it.get_path().to_string())
    }

    /// Whether the children of `instance` below this root are editable.
    pub(crate) fn is_editable(self, instance: Self) -> bool {
        let mut editable = 0_u8;
        // SAFETY: the method takes an object and writes a bool.
        unsafe {
            self.call(self.methods.editable, &[of(&instance.object)], into(&mut editable));
        }
        editable != 0
    }

    /// `hiding` must be what the class of this node says.
    pub(crate) fn is_hidden(self, hiding: Hiding) -> bool {
        match hiding {
            Hiding::Canvas => !self.flag(self.methods.visible_canvas),
            Hiding::Spatial => !self.flag(self.methods.visible_spatial),
            Hiding::Layer => !self.flag(self.methods.visible_layer),
            Hiding::Never => false,
        }
    }

    fn flag(self, method: Method) -> bool {
        let mut flag = 0_u8;
        // SAFETY: only for methods that take nothing and write a bool.
        unsafe { self.call(method, &[], into(&mut flag)) };
        flag != 0
    }

    fn string(self, method: Method) -> String {
        let mut string = GString::new();
        // SAFETY: only for methods that take nothing and write a `String`.
        unsafe { self.call(method, &[], string.sys_mut()) };
        text(&string)
    }

    /// # Safety
    /// As for `call`; the method writes a node or null.
    unsafe fn node(self, method: Method, args: &[sys::GDExtensionConstTypePtr]) -> Option<Self> {
        let mut object: sys::GDExtensionObjectPtr = std::ptr::null_mut();
        // SAFETY: passed on to the caller.
        unsafe { self.call(method, args, into(&mut object)) };
        (!object.is_null()).then_some(Self { object, ..self })
    }

    /// # Safety
    /// The method belongs to a class of this node, takes these arguments, and writes what `result`
    /// points to, which is initialized.
    unsafe fn call(
        self,
        method: Method,
        args: &[sys::GDExtensionConstTypePtr],
        result: sys::GDExtensionTypePtr,
    ) {
        // SAFETY: the node is alive by the invariant; the rest is passed on to the caller.
        unsafe {
            sys::interface_fn!(object_method_bind_ptrcall)(
                method,
                self.object,
                args.as_ptr(),
                result,
            );
        }
    }
}

fn of<T>(value: &T) -> sys::GDExtensionConstTypePtr {
    std::ptr::from_ref(value).cast()
}

fn into<T>(value: &mut T) -> sys::GDExtensionTypePtr {
    std::ptr::from_mut(value).cast()
}

fn text(string: &GString) -> String {
    string.chars().iter().collect()
}

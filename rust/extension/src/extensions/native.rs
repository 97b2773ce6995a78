//! Tools that other native extensions add, by calling an engine singleton by name (X13.1).

use std::rc::Rc;

use godot::builtin::{Callable, GString, VarDictionary, Variant};
use godot::classes::{Engine, Object};
use godot::obj::{Gd, NewAlloc, Singleton};
use godot::register::{GodotClass, godot_api};

use super::{Extension, options, take_over};
use crate::app;

const NAME: &str = "GodotMcpRegistry";
/// Class under which such tools are told.
pub(super) const CLASS: &str = "(native)";

/// `Engine.get_singleton("GodotMcpRegistry")`, there while the server runs.
#[derive(GodotClass)]
#[class(tool, internal, init, base = Object)]
pub(crate) struct GodotMcpRegistry {}

#[godot_api]
impl GodotMcpRegistry {
    /// Adds a tool, or replaces the one of that name which was added in this way. `options` is an
    /// `MCPToolkitCommandOptions`, or a dictionary as its `to_dict` makes. Answers what is wrong; empty
    /// when all is well.
    #[func(gd_self)]
    fn add(_this: Gd<Self>, method: GString, handler: Callable, options: Variant) -> GString {
        let Some(app) = app::current() else { return "the server does not run".into() };
        let declared = match options.try_to::<Gd<Object>>() {
            Ok(mut object) => object.call("to_dict", &[]).try_to::<VarDictionary>(),
            Err(_) => options.try_to::<VarDictionary>(),
        };
        let Ok(declared) = declared else {
            return "options are a dictionary or an MCPToolkitCommandOptions".into();
        };
        let method = method.to_string();
        let (tool, wanted, notes) = match options::tool(CLASS, &method, handler, &declared) {
            Ok(made) => made,
            Err(fault) => return GString::from(fault.message.as_str()),
        };
        app.extensions.settings.declare(wanted);
        {
            let mut loaded = app.extensions.loaded.borrow_mut();
            let own = loaded.entry(CLASS.to_owned()).or_insert_with(Extension::native);
            own.tools.retain(|it| it.method != method && it.handler.is_valid());
            own.tools.extend(tool.map(Rc::new));
        }
        take_over(&app);
        let taken = app.extensions.loaded.borrow().get(CLASS).and_then(|it| {
            it.faults.iter().find(|it| it.message.contains(&format!("\"{method}\""))).cloned()
        });
        let fault = taken.or_else(|| notes.into_iter().next());
        fault.map(|it| GString::from(it.message.as_str())).unwrap_or_default()
    }

    /// Takes a tool away again. False when there is none of this name.
    #[func(gd_self)]
    fn remove(_this: Gd<Self>, method: GString) -> bool {
        let Some(app) = app::current() else { return false };
        let method = method.to_string();
        let removed = {
            let mut loaded = app.extensions.loaded.borrow_mut();
            let Some(own) = loaded.get_mut(CLASS) else { return false };
            let before = own.tools.len();
            own.tools.retain(|it| it.method != method);
            own.tools.len() < before
        };
        if removed {
            take_over(&app);
        }
        removed
    }
}

/// Engine-wide name of the registry. Gone when this is dropped.
pub(super) struct Named(Gd<GodotMcpRegistry>);

impl Named {
    pub(super) fn new() -> Self {
        let registry = GodotMcpRegistry::new_alloc();
        Engine::singleton().register_singleton(NAME, &registry);
        Self(registry)
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        Engine::singleton().unregister_singleton(NAME);
        self.0.clone().free();
    }
}

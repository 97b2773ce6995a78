//! The third argument of `mcp_call`, for providers that take one (B1).

use std::sync::Arc;

use godot::builtin::GString;
use godot::classes::RefCounted;
use godot::obj::{Base, Gd, NewGd};
use godot::register::{GodotClass, godot_api};

use super::Prepared;
use crate::app::Shared;

/// Lets a command notice that its caller has gone, and tell how far it is.
#[derive(GodotClass)]
#[class(tool, internal, init, base = RefCounted)]
pub(crate) struct GodotMcpCommandContext {
    of: Option<(Arc<Shared>, Arc<Prepared>)>,
    base: Base<RefCounted>,
}

impl GodotMcpCommandContext {
    pub(crate) fn of(shared: &Arc<Shared>, prepared: &Arc<Prepared>) -> Gd<Self> {
        let mut context = Self::new_gd();
        context.bind_mut().of = Some((Arc::clone(shared), Arc::clone(prepared)));
        context
    }
}

#[godot_api]
impl GodotMcpCommandContext {
    /// Whether the caller cancelled or stopped waiting. The command decides what to do about it.
    #[func]
    fn is_cancelled(&self) -> bool {
        self.of.as_ref().is_some_and(|it| it.1.cancel.is_cancelled())
    }

    /// `total` below zero is not known.
    #[func]
    fn progress(&self, done: f64, total: f64, text: GString) {
        let Some((shared, prepared)) = &self.of else { return };
        let (total, text) = ((total >= 0.0).then_some(total), text.to_string());
        if let Some(sink) = &prepared.progress {
            sink(done, total, &text);
        }
        shared.commands.change(&prepared.transaction, |it| {
            it.progress = Some((done, total, text));
        });
    }
}

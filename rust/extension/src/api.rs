//! What the scripts in `addons/godot_mcp/api/` forward to, for tools that projects add.
//!
//! The scripts call by name (`ClassDB.class_call_static`), so that they also compile before the engine
//! has loaded this library, as in the first scan of a project.

pub(crate) mod committed;
pub(crate) mod failure;
pub(crate) mod saves;
mod undo_action;

use godot::builtin::{
    Array, Callable, GString, PackedByteArray, VarDictionary, Variant, VariantType,
};
use godot::classes::{Json, Marshalls, ProjectSettings};
use godot::meta::ToGodot;
use godot::obj::Singleton;
use godot::register::{GodotClass, godot_api};
use godot_mcp_core::paging::Page;
use godot_mcp_core::paths::{Access, Roots};
use godot_mcp_core::{Code, ToolError, untrusted};
use serde_json::Value;

use crate::app;
use crate::extensions::{nested, run};

/// Static functions only.
#[derive(GodotClass)]
#[class(tool, internal, init, base = RefCounted)]
pub(crate) struct GodotMcpApi {}

#[godot_api]
impl GodotMcpApi {
    /// Wraps text that others wrote. `body` may be text, bytes, or any value, which becomes JSON.
    #[func]
    fn wrap_untrusted(kind: GString, source: GString, body: Variant) -> GString {
        let (kind, source) = (kind.to_string(), source.to_string());
        let label: Vec<&str> =
            [kind.trim(), source.trim()].into_iter().filter(|it| !it.is_empty()).collect();
        GString::from(untrusted::wrap(&label.join(": "), &plain_text(&body)).as_str())
    }

    /// Containment of S8.1. `error` is null for a good path, else the code, with `reason`.
    #[func]
    fn resolve_path(path: GString, prefixes: Array<Variant>) -> VarDictionary {
        let prefixes: Vec<String> = prefixes.iter_shared().map(|it| it.to_string()).collect();
        let mut answer = VarDictionary::new();
        match resolve(&path.to_string(), &prefixes) {
            Ok((tidy, absolute)) => {
                answer.set("error", &Variant::nil());
                answer.set("reason", "");
                answer.set("path", tidy);
                answer.set("absolute_path", absolute);
            }
            Err(error) => {
                answer.set("error", error.code.as_str());
                answer.set("reason", error.into_fault().message);
            }
        }
        answer
    }

    /// The page with its fields of X9, which go before `extras`. `window` has `returned`, `offset`,
    /// `unit`, `total`, `hint` and `resumable`.
    #[func]
    fn list_page(
        page: VarDictionary,
        window: VarDictionary,
        extras: VarDictionary,
    ) -> VarDictionary {
        let (unit, hint) = (text(&window, "unit"), text(&window, "hint"));
        let (offset, returned) = (number(&window, "offset"), number(&window, "returned"));
        let mut place = Page::at(offset, returned, &unit, number(&window, "total"), &hint);
        if !flag(&window, "resumable") {
            place.next = None;
        }
        paged(&page, &place, &extras)
    }

    /// As `list_page`, of lines. `window` has `end_line`, `returned`, `total` and `hint`.
    #[func]
    fn line_page(
        page: VarDictionary,
        window: VarDictionary,
        extras: VarDictionary,
    ) -> VarDictionary {
        let hint = text(&window, "hint");
        let (end, returned) = (number(&window, "end_line"), number(&window, "returned"));
        paged(&page, &Page::lines(end, returned, number(&window, "total"), &hint), &extras)
    }

    /// As `list_page`, of anything. `window` has `unit`, `total`, `returned`, `has_more`, `cursor`, which
    /// may be empty, `next` and `hint`.
    #[func]
    fn any_page(
        page: VarDictionary,
        window: VarDictionary,
        extras: VarDictionary,
    ) -> VarDictionary {
        let (unit, cursor) = (text(&window, "unit"), text(&window, "cursor"));
        let place = Page {
            unit: &unit,
            total: number(&window, "total"),
            returned: number(&window, "returned"),
            has_more: flag(&window, "has_more"),
            next: (!cursor.is_empty()).then(|| (cursor.as_str(), number(&window, "next"))),
            hint: &text(&window, "hint"),
        };
        paged(&page, &place, &extras)
    }

    /// Value of a setting that a tool has declared, by `<what>/<key>`.
    #[func]
    fn setting(name: GString) -> Variant {
        app::current().map(|it| it.extensions.settings.get(&name.to_string())).unwrap_or_default()
    }

    /// Calls a tool for an extension, by its class; `done` is called with the answer.
    #[func]
    fn call_tool(class: GString, name: GString, arguments: VarDictionary, done: Callable) {
        let Some(app) = app::current() else {
            let error = ToolError::new(Code::Cancelled, "the server does not run");
            done.call(&[failure::dictionary(&error).to_variant()]);
            return;
        };
        let caller = app.extensions.running.caller_of(&class.to_string());
        let arguments = run::fields(&arguments.to_variant()).unwrap_or_default();
        nested::begin(&app, &caller, &name.to_string(), arguments, done);
    }

    /// Starts a save of the edited scene, and answers its id. See [`saves`].
    #[func]
    fn queue_save(path: GString) -> GString {
        GString::from(saves::queue(&path.to_string()).as_str())
    }

    /// How a save stands. `clear` forgets one that is done.
    #[func]
    fn check_save(id: GString, clear: bool) -> VarDictionary {
        saves::check(&id.to_string(), clear)
    }
}

fn plain_text(body: &Variant) -> String {
    match body.get_type() {
        VariantType::PACKED_BYTE_ARRAY => {
            let bytes = body.to::<PackedByteArray>();
            match String::from_utf8(bytes.to_vec()) {
                Ok(text) => text,
                Err(_) => Marshalls::singleton().raw_to_base64(&bytes).to_string(),
            }
        }
        VariantType::ARRAY | VariantType::DICTIONARY => Json::stringify(body).to_string(),
        VariantType::NIL => String::new(),
        _ => body.to_string(),
    }
}

/// The tidy path and the absolute one.
fn resolve(path: &str, prefixes: &[String]) -> Result<(String, String), ToolError> {
    let roots = roots();
    let (tidy, absolute) = match path.starts_with("user://") {
        true => (Roots::tidy_user(path)?, roots.resolve_user(path)?),
        false => (Roots::tidy_res(path)?, roots.resolve_res(path, Access::Read)?),
    };
    let allowed = prefixes.iter().any(|prefix| {
        // "res://a" must not let "res://ab" pass.
        let rest = tidy.strip_prefix(prefix.as_str());
        rest.is_some_and(|it| prefix.ends_with('/') || it.is_empty() || it.starts_with('/'))
    });
    if !allowed {
        return Err(ToolError::new(
            Code::PathDenied,
            format!("{path:?} is not below {}", prefixes.join(" or ")),
        ));
    }
    Ok((tidy, absolute.to_string_lossy().into_owned()))
}

/// Those of the server, or the same when it does not run.
fn roots() -> Roots {
    if let Some(app) = app::current() {
        return app.shared.gate.settings().roots.clone();
    }
    let settings = ProjectSettings::singleton();
    let folder = |path| settings.globalize_path(path).to_string();
    Roots::new(folder("res://").as_ref(), folder("user://").as_ref())
}

fn paged(page: &VarDictionary, place: &Page<'_>, extras: &VarDictionary) -> VarDictionary {
    let mut answer = page.duplicate_shallow();
    for (name, value) in place.fields() {
        match value {
            Value::Bool(it) => answer.set(name, it),
            Value::String(it) => answer.set(name, it),
            number => answer.set(name, number.as_i64().unwrap_or_default()),
        }
    }
    for (name, value) in extras.iter_shared() {
        if !answer.contains_key(&name) {
            answer.set(&name, &value);
        }
    }
    answer
}

fn text(window: &VarDictionary, name: &str) -> String {
    window.get(name).map(|it| it.to_string()).unwrap_or_default()
}

fn number(window: &VarDictionary, name: &str) -> i64 {
    window.get(name).and_then(|it| it.try_to().ok()).unwrap_or_default()
}

fn flag(window: &VarDictionary, name: &str) -> bool {
    window.get(name).is_some_and(|it| it.booleanize())
}

//! Tools that a handler calls (X6): through the gate, the locks and the audit, as any other call.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use godot::builtin::{Callable, Variant};
use godot::meta::ToGodot;
use godot_mcp_core::{Answer, Code, Reply, ToolCall, ToolError};
use serde_json::{Map, Value, json};
use tokio::sync::oneshot::{self, error::TryRecvError};

use super::run;
use crate::api::failure;
use crate::app::App;
use crate::calls;
use crate::editor::Caller;
use crate::main_thread::Link;

/// Calls inside calls; one more is refused (X6).
const MAX_DEPTH: usize = 8;

/// Calls whose answers handlers wait for. Main thread.
#[derive(Default)]
pub(crate) struct Nested(RefCell<Vec<Waiting>>);

struct Waiting {
    answer: oneshot::Receiver<Answer>,
    done: Callable,
}

impl Nested {
    pub(crate) fn is_idle(&self) -> bool {
        self.0.borrow().is_empty()
    }

    /// Hands out the answers that have come. Handlers go on in here.
    pub(crate) fn work(&self) {
        let waiting = std::mem::take(&mut *self.0.borrow_mut());
        let mut rest = Vec::new();
        for mut it in waiting {
            let answer = match it.answer.try_recv() {
                Ok(answer) => answer,
                Err(TryRecvError::Empty) => {
                    rest.push(it);
                    continue;
                }
                Err(TryRecvError::Closed) => {
                    Err(ToolError::new(Code::Cancelled, "the plugin was switched off"))
                }
            };
            tell(&it.done, answer);
        }
        self.0.borrow_mut().extend(rest);
    }
}

/// What `MCPToolkitToolContext.call_tool` calls: tool, arguments, and what takes the answer.
pub(super) fn caller(app: &Rc<App>, caller: &Caller, tool: &str) -> Callable {
    let (app, inside) = (Rc::downgrade(app), inside(caller, tool));
    Callable::from_fn("mcp_call_tool", move |args: &[&Variant]| {
        let name = args.first().map(|it| it.to_string()).unwrap_or_default();
        let done = args.get(2).and_then(|it| it.try_to::<Callable>().ok());
        let (Some(app), Some(done)) = (app.upgrade(), done) else { return };
        let arguments = args.get(1).and_then(|it| run::fields(it)).unwrap_or_default();
        begin(&app, &inside, &name, arguments, done);
    })
}

/// Who calls from inside the call of a tool.
pub(super) fn inside(caller: &Caller, tool: &str) -> Caller {
    let mut within = caller.within.to_vec();
    within.push(Link { id: caller.id, tool: tool.to_owned() });
    Caller { within: within.into(), ..caller.clone() }
}

/// Calls a tool; `done` is called with the answer, later or at once.
pub(crate) fn begin(
    app: &Rc<App>,
    inside: &Caller,
    name: &str,
    arguments: Map<String, Value>,
    done: Callable,
) {
    let name = app.shared.gate.listed_name(name).into_owned();
    if let Err(why) = check(&inside.within, &name) {
        return tell(&done, Err(why));
    }
    let Some(runtime) = app.shared.runtime.get() else {
        return tell(&done, Err(ToolError::internal("no call has come in yet")));
    };
    let mut call = ToolCall::new(name, arguments);
    call.client.clone_from(&inside.client);
    call.peer.clone_from(&inside.peer);
    call.cancel = inside.cancel.clone();
    let (reply, answer) = oneshot::channel();
    let (shared, within) = (Arc::clone(&app.shared), Arc::clone(&inside.within));
    runtime.spawn(async move {
        // The handler may be over; then nobody listens.
        let _ = reply.send(calls::answer_within(shared, call, within).await);
    });
    app.extensions.nested.0.borrow_mut().push(Waiting { answer, done });
}

fn check(within: &[Link], name: &str) -> Result<(), ToolError> {
    let chain = || within.iter().map(|it| it.tool.as_str()).collect::<Vec<_>>().join(", ");
    if within.iter().any(|it| it.tool == name) {
        let message = format!("\"{name}\" would call itself: {}, {name}", chain());
        return Err(ToolError::new(Code::Own("INVALID_STATE"), message));
    }
    if within.len() > MAX_DEPTH {
        let message = format!("tools call tools at most {MAX_DEPTH} deep: {}, {name}", chain());
        return Err(ToolError::new(Code::Own("INVALID_STATE"), message));
    }
    Ok(())
}

/// In the shape of a handler's own answer (X8).
fn tell(done: &Callable, answer: Answer) {
    let value = match answer {
        Ok(Reply::Json(Value::Object(mut fields))) => {
            fields.entry("success").or_insert(json!(true));
            run::variant(&Value::Object(fields))
        }
        Ok(Reply::Json(value)) => run::variant(&json!({"success": true, "result": value})),
        Ok(Reply::Text(text)) => run::variant(&json!({"success": true, "text": text})),
        Ok(Reply::Image { about, .. }) => run::variant(&json!({"success": true, "about": about})),
        Ok(Reply::Content(_)) => run::variant(&json!({"success": true})),
        Ok(Reply::Ask(_)) => {
            failure::dictionary(&ToolError::new(Code::ApprovalDenied, "a human is asked first"))
                .to_variant()
        }
        Err(error) => failure::dictionary(&error).to_variant(),
    };
    if done.is_valid() {
        done.call(&[value]);
    }
}

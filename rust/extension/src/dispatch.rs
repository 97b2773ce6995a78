//! From a call to its answer: the gate, the queue, and on the main thread the plan and its commit.

use std::sync::Arc;
use std::time::Instant;

use godot_mcp_core::call::{AnswerFuture, ResourceInfo};
use godot_mcp_core::gate::{Admitted, Decision};
use godot_mcp_core::spec::ToolSpec;
use godot_mcp_core::untrusted;
use godot_mcp_core::{Answer, Code, Host, Reply, Site, ToolCall, ToolError};
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use crate::app::{App, Shared};
use crate::editor::Editor;
use crate::editor::edit;
use crate::main_thread::Job;
use crate::resources;
use crate::tool::{Outcome, Runner};
use crate::toolsets;

/// The side of the host that the server sees. Everything here runs on the I/O thread.
pub(crate) struct EditorHost(pub(crate) Arc<Shared>);

impl Host for EditorHost {
    fn tools(&self) -> Arc<Vec<Arc<ToolSpec>>> {
        self.0.gate.listed()
    }

    fn tool(&self, name: &str) -> Option<Arc<ToolSpec>> {
        self.0.gate.registry().get(name).map(|it| Arc::clone(&it.spec))
    }

    fn call(&self, call: ToolCall) -> AnswerFuture {
        let shared = Arc::clone(&self.0);
        Box::pin(async move {
            let started = Instant::now();
            let (name, client) = (call.name.clone(), call.client.clone());
            let answer = answer(&shared, call).await;
            if let Some(tool) = shared.gate.registry().get(&name) {
                let class = tool.spec.class;
                shared.activity.record(name, class, client, started.elapsed(), &answer);
            }
            answer
        })
    }

    fn instructions(&self) -> String {
        toolsets::instructions(&self.0)
    }

    fn resources(&self) -> Vec<ResourceInfo> {
        resources::all()
    }

    fn read_resource(
        &self,
        uri: String,
    ) -> std::pin::Pin<Box<dyn Future<Output = Result<(String, String), ToolError>> + Send>> {
        let mut args = Map::new();
        args.insert("uri".into(), json!(uri));
        let answer = self.call(ToolCall::new("read_resource", args));
        Box::pin(async move {
            match answer.await? {
                Reply::Json(value) => {
                    let mime_type = value["mime_type"].as_str().unwrap_or(resources::JSON);
                    let text = value["result"].as_str().unwrap_or_default();
                    let text = match mime_type {
                        resources::JSON => text.to_owned(),
                        _ => plain_text(text),
                    };
                    Ok((mime_type.to_owned(), text))
                }
                Reply::Text(text) => Ok(("text/plain".to_owned(), text)),
                Reply::Image { .. } => Err(ToolError::internal("a resource is text")),
            }
        })
    }

    fn clients_changed(&self, clients: Vec<String>) {
        *self.0.clients.lock() = clients;
        self.0.activity.touch();
    }
}

/// Runs one call, from the gate to its answer.
async fn answer(shared: &Shared, call: ToolCall) -> Answer {
    let ToolCall { name, arguments, cancel, progress, .. } = call;
    let admitted = shared.gate.admit(&name, arguments)?;
    if admitted.spec().site == Site::Offline {
        return run_offline(shared, admitted);
    }
    let (reply, answer) = oneshot::channel();
    let deadline = Instant::now() + admitted.spec().timeout;
    shared.queue.submit(Job { call: admitted, cancel: cancel.clone(), deadline, progress, reply });
    // The main thread answers at the deadline by itself; this catches one that is blocked.
    let grace = std::time::Duration::from_millis(500);
    let late = tokio::time::sleep_until((deadline + grace).into());
    tokio::select! {
        answer = answer => answer.unwrap_or_else(|_| {
            Err(ToolError::new(Code::Cancelled, "the plugin was switched off"))
        }),
        () = late => {
            cancel.cancel();
            let stalled = shared.heartbeat.stalled_ms();
            Err(ToolError::new(
                Code::Timeout,
                format!("the editor's main thread has not moved for {stalled} ms"),
            )
            .hint("`health_check` says when it is back")
            .details(json!({
                "may_have_applied": true,
                "main_thread_stalled_ms": stalled,
                "busy_with": shared.heartbeat.busy_with(),
            })))
        }
    }
}

/// The text of a file as a resource has it: without the envelope that the tool puts round it.
fn plain_text(result: &str) -> String {
    let value: Value = serde_json::from_str(result).unwrap_or_default();
    let text = value["text"].as_str().unwrap_or_default();
    untrusted::unwrap(text).unwrap_or(text).to_owned()
}

fn run_offline(shared: &Shared, admitted: Admitted) -> Answer {
    match toolsets::runner(&admitted.spec().name) {
        Some(Runner::Offline(run)) => run(shared, admitted.args),
        _ => Err(ToolError::internal("an offline tool without a function")),
    }
}

/// Runs one job on the main thread (S2 steps 4 to 10).
pub(crate) fn run(app: &std::rc::Rc<App>, job: &Job) -> Result<Outcome, ToolError> {
    let call = &job.call;
    let editor = Editor::new(app, job.progress.clone());
    if let Some(expected) = &call.expected_scene {
        editor.expect_scene(expected)?;
    }
    let runner = app.tools.get(call.spec().name.as_str());
    match runner {
        Some(Runner::Direct(run)) => run(&editor, call.args.clone()),
        Some(Runner::Edit(plan)) => {
            let plan = plan(&editor, call.args.clone())?;
            let changes = plan.changes();
            match app.shared.gate.after_plan(call, &changes)? {
                Decision::Preview => Ok(plan.preview(call.spec()).into()),
                Decision::Commit => edit::commit(plan, &editor, call.spec()),
            }
        }
        Some(Runner::Offline(_)) | None => {
            Err(ToolError::internal(format!("\"{}\" has no function", call.spec().name)))
        }
    }
}

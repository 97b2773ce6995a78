//! From a call to its answer: the gate, the queue, and on the main thread the plan and its commit.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use godot_mcp_core::call::{AnswerFuture, ReadFuture, ResourceInfo};
use godot_mcp_core::completion::{Completing, CompletionFuture};
use godot_mcp_core::gate::Decision;
use godot_mcp_core::prompt::{PromptCall, PromptFuture, PromptInfo, PromptReply, Speaker};
use godot_mcp_core::spec::ToolSpec;
use godot_mcp_core::untrusted;
use godot_mcp_core::{Code, Content, Document, Host, Reply, ToolCall, ToolError};
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use crate::app::{App, Shared};
use crate::editor::Editor;
use crate::editor::edit;
use crate::main_thread::Job;
use crate::tool::{Outcome, Runner};
use crate::toolsets;
use crate::{completion, prompts, resources};

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
            let ToolCall { name, arguments, cancel, progress, log, .. } = call;
            let mut admitted = shared.gate.admit(&name, arguments)?;
            let deadline = Instant::now() + admitted.spec().timeout;
            let runner = toolsets::runner(&admitted.spec().name);
            match runner {
                Some(Runner::Offline(run)) => return run(&shared, admitted.args),
                Some(Runner::Async(run)) => {
                    let answer = run(Arc::clone(&shared), admitted.args);
                    return hurried(&shared, deadline, answer).await;
                }
                Some(Runner::Prepared(prepare, _)) => {
                    let args = prepare(Arc::clone(&shared), std::mem::take(&mut admitted.args));
                    admitted.args = hurried(&shared, deadline, args).await?;
                }
                _ => {}
            }
            let (reply, answer) = oneshot::channel();
            shared.queue.submit(Job {
                call: admitted,
                cancel: cancel.clone(),
                deadline,
                progress,
                log,
                reply,
            });
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
        })
    }

    fn instructions(&self) -> String {
        toolsets::instructions(&self.0)
    }

    fn resources(&self) -> Vec<ResourceInfo> {
        resources::all()
    }

    fn read_resource(&self, uri: String) -> ReadFuture {
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
                    Ok(Document::text(mime_type, text))
                }
                Reply::Text(text) => Ok(Document::text("text/plain", text)),
                _ => Err(ToolError::internal("a resource is text")),
            }
        })
    }

    fn check_watchable(&self, uri: &str) -> Result<(), ToolError> {
        resources::target(&self.0.gate.settings().roots, uri).map(drop)
    }

    fn watched(&self, uris: BTreeSet<Arc<str>>) {
        self.0.watch_list.set(uris);
    }

    fn prompts(&self) -> Vec<PromptInfo> {
        prompts::all()
    }

    fn prompt(&self, call: PromptCall) -> PromptFuture {
        let text = prompts::text(&self.0.gate, &call.name, &call.arguments);
        let reply = text.map(|it| PromptReply::Messages(vec![(Speaker::User, Content::Text(it))]));
        Box::pin(std::future::ready(reply))
    }

    fn complete(&self, wanted: Completing) -> CompletionFuture {
        completion::complete(&self.0, wanted)
    }

    fn clients_changed(&self, clients: Vec<String>) {
        *self.0.clients.lock() = clients;
    }
}

/// The text of a file as a resource has it: without the envelope that the tool puts round it.
fn plain_text(result: &str) -> String {
    let value: Value = serde_json::from_str(result).unwrap_or_default();
    let text = value["text"].as_str().unwrap_or_default();
    untrusted::unwrap(text).unwrap_or(text).to_owned()
}

/// Waits for a service that the main thread polls, and keeps that thread from sleeping meanwhile.
async fn hurried<T>(
    shared: &Shared,
    deadline: Instant,
    work: impl Future<Output = Result<T, ToolError>>,
) -> Result<T, ToolError> {
    let _hurry = shared.queue.hurry();
    tokio::time::timeout_at(deadline.into(), work).await.unwrap_or_else(|_| {
        Err(ToolError::new(Code::Timeout, "the deadline passed before the service answered")
            .hint("`health_check` says what the editor is busy with")
            .details(json!({"may_have_applied": false})))
    })
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
        Some(Runner::Edit(plan) | Runner::Prepared(_, plan)) => {
            let plan = plan(&editor, call.args.clone())?;
            let changes = plan.changes();
            match app.shared.gate.after_plan(call, &changes)? {
                Decision::Preview => Ok(plan.preview(&editor, call.spec()).into()),
                Decision::Commit => edit::commit(plan, &editor, call.spec()),
            }
        }
        Some(Runner::Offline(_) | Runner::Async(_)) | None => {
            Err(ToolError::internal(format!("\"{}\" has no function", call.spec().name)))
        }
    }
}

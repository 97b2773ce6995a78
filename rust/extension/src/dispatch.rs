//! Where calls come in from the server, and where they run on the main thread.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use godot_mcp_core::call::{AnswerFuture, ReadFuture, ResourceInfo};
use godot_mcp_core::completion::{Completing, CompletionFuture};
use godot_mcp_core::gate::Decision;
use godot_mcp_core::prompt::{PromptCall, PromptFuture, PromptInfo, PromptReply, Speaker};
use godot_mcp_core::spec::ToolSpec;
use godot_mcp_core::untrusted;
use godot_mcp_core::{Content, Document, Host, Reply, ToolCall, ToolError};
use serde_json::{Map, Value, json};

use crate::app::{App, Shared};
use crate::editor::{Caller, Editor};
use crate::entry::Planned;
use crate::fault_point;
use crate::main_thread::Job;
use crate::tool::{Outcome, Runner};
use crate::toolsets;
use crate::{batch, calls};
use crate::{completion, prompts, resources};

/// The side of the host that the server sees. Everything here runs on the I/O thread.
pub(crate) struct EditorHost(pub(crate) Arc<Shared>);

impl Host for EditorHost {
    fn tools(&self) -> Arc<Vec<Arc<ToolSpec>>> {
        self.0.gate.listed()
    }

    fn tool(&self, name: &str) -> Option<Arc<ToolSpec>> {
        let registry = self.0.gate.registry();
        let name = self.0.gate.listed_name(name);
        let found = registry.get(&name).or_else(|| registry.get(&plain_name(&name)));
        found.map(|it| Arc::clone(&it.spec))
    }

    fn call(&self, mut call: ToolCall) -> AnswerFuture {
        let shared = Arc::clone(&self.0);
        if shared.gate.registry().get(&call.name).is_none() {
            call.name = plain_name(&call.name).into_owned();
        }
        Box::pin(calls::answer(shared, call))
    }

    fn instructions(&self) -> String {
        toolsets::instructions(&self.0)
    }

    fn resources(&self) -> Vec<ResourceInfo> {
        let own = self.0.offered.load();
        resources::all().into_iter().chain(own.resources.iter().cloned()).collect()
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
        let own = self.0.offered.load();
        prompts::all().into_iter().chain(own.prompts.iter().map(|it| it.info.clone())).collect()
    }

    fn prompt(&self, call: PromptCall) -> PromptFuture {
        let own = self.0.offered.load();
        let text = match own.prompt(&call.name) {
            Some(own) => Ok(prompts::text_of(&self.0.gate, own, &call.arguments)),
            None => prompts::text(&self.0.gate, &call.name, &call.arguments),
        };
        let reply = text.map(|it| PromptReply::Messages(vec![(Speaker::User, Content::Text(it))]));
        Box::pin(std::future::ready(reply))
    }

    fn complete(&self, wanted: Completing) -> CompletionFuture {
        completion::complete(&self.0, wanted)
    }

    fn clients_changed(&self, clients: Vec<String>) {
        *self.0.clients.lock() = clients;
        self.0.activity.touch();
    }
}

/// `editor.commands.list` and its like by the names that every client can show (R1).
fn plain_name(name: &str) -> Cow<'_, str> {
    match name.starts_with("editor.commands.") {
        true => Cow::Owned(name.replace('.', "_")),
        false => Cow::Borrowed(name),
    }
}

/// The text of a file as a resource has it: without the envelope that the tool puts round it.
fn plain_text(result: &str) -> String {
    let value: Value = serde_json::from_str(result).unwrap_or_default();
    let text = value["text"].as_str().unwrap_or_default();
    untrusted::unwrap(text).unwrap_or(text).to_owned()
}

/// Runs one job on the main thread (S2 steps 4 to 10).
pub(crate) fn run(app: &Rc<App>, job: &mut Job) -> Result<Outcome, ToolError> {
    let editor = Editor::new(app, job.progress.clone()).for_caller(Caller {
        client: job.call.client.clone(),
        peer: job.peer.clone(),
        cancel: job.cancel.clone(),
        deadline: job.deadline,
        dry_run: job.call.dry_run,
        id: job.id,
        within: Arc::clone(&job.within),
    });
    fault_point::reach("plan", &job.call.spec().name);
    if let Some(Runner::Batch(wanted)) = app.tools.get(job.call.spec().name.as_str()) {
        let wanted = wanted(job.call.args.clone())?;
        return batch::run(&editor, wanted, job);
    }
    let planned = Planned::new(&editor, &job.call)?;
    match planned.decide(&editor, &job.call, job.grant.take())? {
        Decision::Preview => planned.preview(&editor, &job.call),
        Decision::Ask => Ok(Outcome::Ask(Box::new(planned.proposal(&job.call)))),
        Decision::Commit => {
            // The last moment at which nothing has been done (S2.3, S2.5).
            if let Some(why) = job.overdue() {
                return Err(why);
            }
            if let Some(ticket) = &job.ticket {
                ticket.commit()?;
                fault_point::reach("committed", &job.call.spec().name);
            }
            planned.commit(&editor, &job.call)
        }
    }
}

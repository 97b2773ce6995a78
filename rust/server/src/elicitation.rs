//! Asking the human behind the client, in both eras of the protocol (S7.2).

use std::sync::Arc;
use std::time::Duration;

use godot_mcp_core::call::{Asked, Elicitation};
use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ElicitRequest, ElicitRequestParams, ElicitResult,
    ElicitationAction, ElicitationSchema, InputRequest, InputRequests, InputRequiredResult,
    ProtocolVersion,
};
use rmcp::service::{Peer, RequestContext, ServiceError};
use serde_json::Value;

/// Name of the one question, and of the one field of its form.
const QUESTION: &str = "approval";
const FIELD: &str = "approve";

/// How the client of a call can be asked.
pub(crate) fn of(request: &CallToolRequestParams, cx: &RequestContext<RoleServer>) -> Elicitation {
    let capability = cx.client_capabilities().and_then(|it| it.elicitation);
    // A client that names no mode means forms; they were there first.
    if !capability.is_some_and(|it| it.form.is_some() || it.url.is_none()) {
        return Elicitation::None;
    }
    if cx.protocol_version().is_some_and(|it| it >= ProtocolVersion::V_2026_07_28) {
        let said = request.input_responses.as_ref().and_then(|it| it.get(QUESTION));
        return Elicitation::Answer {
            state: request.request_state.clone(),
            approved: said.and_then(|it| meaning(it.clone())),
        };
    }
    let peer = cx.peer.clone();
    Elicitation::Request(Arc::new(move |question, patience| {
        let peer = peer.clone();
        Box::pin(async move { request_form(&peer, question, patience).await })
    }))
}

/// The answer that asks (2026-07-28).
pub(crate) fn ask(question: String, state: String) -> CallToolResponse {
    let mut requests = InputRequests::new();
    let request = ElicitRequest::new(form(question));
    requests.insert(QUESTION.to_owned(), InputRequest::Elicitation(request));
    InputRequiredResult::new(Some(requests), Some(state)).into()
}

async fn request_form(peer: &Peer<RoleServer>, question: String, patience: Duration) -> Asked {
    match peer.create_elicitation_with_timeout(form(question), Some(patience)).await {
        Ok(result) => match decision(&result) {
            Some(true) => Asked::Yes,
            Some(false) => Asked::No,
            None => Asked::Dismissed,
        },
        Err(ServiceError::Timeout { .. }) => Asked::TimedOut,
        Err(error) => Asked::Failed(error.to_string()),
    }
}

fn form(question: String) -> ElicitRequestParams {
    let schema = ElicitationSchema::builder().required_bool(FIELD).build();
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: question,
        requested_schema: schema.expect("the one required field is there"),
    }
}

fn meaning(response: Value) -> Option<bool> {
    decision(&serde_json::from_value(response).ok()?)
}

/// Yes is a form that was accepted with the field set. Anything unclear is no.
fn decision(result: &ElicitResult) -> Option<bool> {
    match result.action {
        ElicitationAction::Accept => {
            let content = result.content.as_ref();
            Some(content.and_then(|it| it.get(FIELD)) == Some(&Value::Bool(true)))
        }
        ElicitationAction::Decline => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// S7.2: only an accepted form with a true field is a yes.
    #[test]
    fn what_an_answer_means() {
        for (answer, expected) in [
            (json!({"action": "accept", "content": {"approve": true}}), Some(true)),
            (json!({"action": "accept", "content": {"approve": false}}), Some(false)),
            (json!({"action": "accept", "content": {"approve": "true"}}), Some(false)),
            (json!({"action": "accept", "content": {}}), Some(false)),
            (json!({"action": "accept"}), Some(false)),
            (json!({"action": "decline", "content": {"approve": true}}), Some(false)),
            (json!({"action": "cancel", "content": {"approve": true}}), None),
            (json!({"action": "approve"}), None),
            (json!(true), None),
            (json!({}), None),
        ] {
            assert_eq!(meaning(answer.clone()), expected, "{answer}");
        }
    }
}

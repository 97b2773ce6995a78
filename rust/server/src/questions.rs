//! Questions of a call on their way to the client (both eras).
//!
//! Since 2026-07-28 the client gets them as the result, and makes its request again with the answers
//! and with our state, which is sealed. Before, it is asked within its request.

#![expect(deprecated, reason = "the protocol still has sampling and roots")]

use std::collections::BTreeMap;
use std::time::Duration;

use godot_mcp_core::question::{Abilities, Answers, Question, Questions};
use godot_mcp_core::{Code, ToolError};
use rmcp::model::{
    ClientCapabilities, CreateMessageRequest, CreateMessageRequestParams, ElicitRequest,
    ElicitRequestParams, InputRequest, InputRequiredResult, InputResponses, ListRootsRequest,
    ProtocolVersion, RequestStateCodec, SamplingMessage, SealOptions,
};
use rmcp::service::{Peer, RequestContext};
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value};
use tokio::time::timeout;

/// A human may have to think, and may have gone for a coffee.
const PATIENCE: Duration = Duration::from_secs(10 * 60);
/// A call that asks more often than this goes round in circles.
const MAX_ROUNDS: usize = 10;

pub(crate) struct Asking {
    /// New with each start: answers to questions of another editor are worth nothing.
    codec: Option<RequestStateCodec>,
}

/// One request that may ask something.
pub(crate) struct Conversation<'a> {
    asking: &'a Asking,
    cx: &'a RequestContext<RoleServer>,
    /// Method, name and arguments: state of one request is of no use for another.
    about: Vec<u8>,
    rounds: usize,
}

/// How it goes on.
pub(crate) enum Next {
    /// This is the result; the client comes back with the answers.
    Return(InputRequiredResult),
    Again(Answers),
}

pub(crate) enum Failure {
    Protocol(ErrorData),
    Call(ToolError),
}

impl Asking {
    pub(crate) fn new() -> Self {
        let mut key = [0; 32];
        let codec = getrandom::fill(&mut key).ok().map(|()| RequestStateCodec::new(key));
        Self { codec }
    }

    pub(crate) fn about<'a>(
        &'a self,
        cx: &'a RequestContext<RoleServer>,
        method: &str,
        name: &str,
        arguments: &Value,
    ) -> Conversation<'a> {
        let about = serde_json::json!([method, name, arguments]).to_string().into_bytes();
        Conversation { asking: self, cx, about, rounds: 0 }
    }
}

impl Conversation<'_> {
    /// The answers that came with the request.
    pub(crate) fn given(
        &self,
        responses: Option<InputResponses>,
        state: Option<&str>,
    ) -> Result<Answers, ErrorData> {
        let state = match state {
            Some(sealed) => self.open(sealed)?,
            None => Value::Null,
        };
        let given = responses.into_iter().flatten().collect();
        Ok(Answers { given, state, abilities: self.abilities() })
    }

    pub(crate) async fn ask(&mut self, questions: Questions) -> Result<Next, Failure> {
        self.rounds += 1;
        if self.rounds > MAX_ROUNDS {
            return Err(Failure::Call(ToolError::internal("the call keeps asking")));
        }
        let abilities = self.abilities();
        let missing: Vec<_> =
            questions.asked.iter().map(|it| &it.1).filter(|it| !abilities.covers(it)).collect();
        if is_modern(self.cx) {
            if !missing.is_empty() {
                let required = required(&missing);
                return Err(Failure::Protocol(ErrorData::missing_required_client_capability(
                    required,
                )));
            }
            return self.later(questions).map(Next::Return);
        }
        if let Some(question) = missing.first() {
            let what = match question {
                Question::Form { .. } => "show a form to its user",
                Question::Sample { .. } => "have its model write a text",
                Question::Roots => "name its folders",
            };
            let message = format!("the call needs the client to {what}, which it cannot");
            return Err(Failure::Call(ToolError::new(Code::Unsupported, message)));
        }
        self.now(questions).await.map(Next::Again).map_err(Failure::Call)
    }

    fn abilities(&self) -> Abilities {
        let client = self.cx.client_capabilities().unwrap_or_default();
        Abilities {
            // A client that names no mode means forms; they were there first.
            form: client.elicitation.is_some_and(|it| it.form.is_some() || it.url.is_none()),
            sample: client.sampling.is_some(),
            roots: client.roots.is_some(),
        }
    }

    fn later(&self, questions: Questions) -> Result<InputRequiredResult, Failure> {
        let state = match questions.state {
            Value::Null => None,
            state => Some(self.seal(&state).map_err(Failure::Protocol)?),
        };
        let requests = questions
            .asked
            .into_iter()
            .map(|(name, question)| Ok((name, request(question)?)))
            .collect::<Result<BTreeMap<_, _>, _>>()
            .map_err(Failure::Call)?;
        Ok(InputRequiredResult::new(Some(requests), state))
    }

    async fn now(&self, questions: Questions) -> Result<Answers, ToolError> {
        let mut given = Map::new();
        for (name, question) in questions.asked {
            let asked = ask_peer(&self.cx.peer, request(question)?);
            let answer = tokio::select! {
                answer = timeout(PATIENCE, asked) => answer.unwrap_or_else(|_| {
                    Err(ToolError::new(Code::Timeout, "nobody answered the question of this call"))
                })?,
                () = self.cx.ct.cancelled() => {
                    return Err(ToolError::new(Code::Cancelled, "the call was cancelled"));
                }
            };
            given.insert(name, answer);
        }
        Ok(Answers { given, state: questions.state, abilities: self.abilities() })
    }

    fn seal(&self, state: &Value) -> Result<String, ErrorData> {
        let codec = self.asking.codec.as_ref().ok_or_else(no_random_numbers)?;
        let options = SealOptions::new().associated_data(&self.about).ttl(PATIENCE);
        Ok(codec.seal_with(state.to_string().as_bytes(), &options))
    }

    fn open(&self, sealed: &str) -> Result<Value, ErrorData> {
        let codec = self.asking.codec.as_ref().ok_or_else(no_random_numbers)?;
        let bytes = codec.open_with(sealed, &self.about).map_err(|error| {
            let message = format!("requestState is not valid for this request: {error}");
            ErrorData::invalid_params(message + "; make the request again without it", None)
        })?;
        serde_json::from_slice(&bytes)
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }
}

/// Whether a request is one of 2026-07-28 or newer, which knows no sessions.
pub(crate) fn is_modern(cx: &RequestContext<RoleServer>) -> bool {
    let version = cx.protocol_version();
    version.is_some_and(|it| it.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

fn no_random_numbers() -> ErrorData {
    ErrorData::internal_error("the system gave no random numbers to seal state with", None)
}

fn required(questions: &[&Question]) -> ClientCapabilities {
    let mut required = ClientCapabilities::default();
    for question in questions {
        match question {
            Question::Form { .. } => required.elicitation = Some(Default::default()),
            Question::Sample { .. } => required.sampling = Some(Default::default()),
            Question::Roots => required.roots = Some(Default::default()),
        }
    }
    required
}

fn request(question: Question) -> Result<InputRequest, ToolError> {
    Ok(match question {
        Question::Form { message, schema } => {
            let requested_schema = serde_json::from_value(schema).map_err(|error| {
                ToolError::internal(format!("a form has a schema that is not allowed: {error}"))
            })?;
            InputRequest::Elicitation(ElicitRequest::new(
                ElicitRequestParams::FormElicitationParams {
                    meta: None,
                    message,
                    requested_schema,
                },
            ))
        }
        Question::Sample { prompt, max_tokens } => {
            InputRequest::CreateMessage(CreateMessageRequest::new(CreateMessageRequestParams::new(
                vec![SamplingMessage::user_text(prompt)],
                max_tokens,
            )))
        }
        Question::Roots => InputRequest::ListRoots(ListRootsRequest::default()),
    })
}

async fn ask_peer(peer: &Peer<RoleServer>, request: InputRequest) -> Result<Value, ToolError> {
    let answer = match request {
        InputRequest::Elicitation(it) => {
            peer.create_elicitation(it.params).await.map(serde_json::to_value)
        }
        InputRequest::CreateMessage(it) => {
            peer.create_message(it.params).await.map(serde_json::to_value)
        }
        InputRequest::ListRoots(_) => peer.list_roots().await.map(serde_json::to_value),
        _ => return Err(ToolError::internal("an unknown kind of question")),
    };
    let answer = answer.map_err(|error| {
        ToolError::new(Code::Unsupported, format!("the client did not answer a question: {error}"))
    })?;
    answer.map_err(|error| ToolError::internal(error.to_string()))
}

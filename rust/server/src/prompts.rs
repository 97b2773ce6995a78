//! Prompts and completion in rmcp's terms.

use godot_mcp_core::completion::{Completing, Completions, Subject};
use godot_mcp_core::prompt::{PromptInfo, Speaker};
use godot_mcp_core::{Content, ToolError};
use rmcp::ErrorData;
use rmcp::model::{
    CompleteRequestParams, CompleteResult, CompletionInfo, GetPromptResult, JsonObject, Prompt,
    PromptArgument, PromptMessage, Reference, Role,
};
use serde_json::Value;

use crate::content;

pub(crate) fn listed(prompts: Vec<PromptInfo>) -> Vec<Prompt> {
    prompts
        .into_iter()
        .map(|it| {
            let arguments = it.arguments.into_iter().map(|argument| {
                PromptArgument::new(argument.name)
                    .with_description(argument.description)
                    .with_required(argument.required)
            });
            Prompt::new(it.name, Some(it.description), Some(arguments.collect()))
        })
        .collect()
}

/// Arguments of a prompt are texts.
pub(crate) fn arguments(
    given: Option<JsonObject>,
) -> Result<std::collections::BTreeMap<String, String>, ToolError> {
    let mut arguments = std::collections::BTreeMap::new();
    for (name, value) in given.into_iter().flatten() {
        let Value::String(text) = value else {
            let message = format!("the argument \"{name}\" of a prompt must be a string");
            return Err(ToolError::invalid(name, message));
        };
        arguments.insert(name, text);
    }
    Ok(arguments)
}

pub(crate) fn result(description: String, messages: Vec<(Speaker, Content)>) -> GetPromptResult {
    let messages = messages.into_iter().map(|(speaker, content)| {
        let role = match speaker {
            Speaker::User => Role::User,
            Speaker::Assistant => Role::Assistant,
        };
        PromptMessage::new(role, content::block(content))
    });
    GetPromptResult::new(messages.collect()).with_description(description)
}

pub(crate) fn completing(request: CompleteRequestParams) -> Result<Completing, ErrorData> {
    let subject = match request.r#ref {
        Reference::Prompt(prompt) => Subject::Prompt(prompt.name),
        Reference::Resource(resource) => Subject::Template(resource.uri),
        _ => {
            let message = "only prompts and resource templates have arguments";
            return Err(ErrorData::invalid_params(message, None));
        }
    };
    let known = request.context.and_then(|it| it.arguments).unwrap_or_default();
    Ok(Completing {
        subject,
        argument: request.argument.name,
        text: request.argument.value,
        known: known.into_iter().collect(),
    })
}

pub(crate) fn completed(found: Completions) -> Result<CompleteResult, ErrorData> {
    let more = found.total > found.values.len();
    let total = u32::try_from(found.total).unwrap_or(u32::MAX);
    let info = CompletionInfo::with_pagination(found.values, Some(total), more)
        .map_err(|it| ErrorData::internal_error(it, None))?;
    Ok(CompleteResult::new(info))
}

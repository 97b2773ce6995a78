use std::collections::BTreeSet;

use godot_mcp_core::prompt::{PromptArgument, PromptCall, PromptInfo, PromptReply, Speaker};
use godot_mcp_core::question::{FormAnswer, Question, Questions};
use godot_mcp_core::{Content, Document, ToolError};
use serde_json::json;

use super::tools::PIXEL;

pub(super) fn all(added: &BTreeSet<String>) -> Vec<PromptInfo> {
    let prompt = |name: &str, arguments: &[&str]| PromptInfo {
        name: name.to_owned(),
        description: "For the conformance suite.".to_owned(),
        arguments: arguments
            .iter()
            .map(|it| PromptArgument {
                name: (*it).to_owned(),
                description: "An argument.".to_owned(),
                required: true,
            })
            .collect(),
    };
    let mut all = vec![
        prompt("test_simple_prompt", &[]),
        prompt("test_prompt_with_arguments", &["arg1", "arg2"]),
        prompt("test_prompt_with_embedded_resource", &["resourceUri"]),
        prompt("test_prompt_with_image", &[]),
        prompt("test_input_required_result_prompt", &[]),
    ];
    all.extend(added.iter().map(|it| prompt(it, &[])));
    all
}

pub(super) fn reply(call: &PromptCall) -> Result<PromptReply, ToolError> {
    let text = |text: String| (Speaker::User, Content::Text(text));
    let argument = |name: &str| call.arguments.get(name).cloned().unwrap_or_default();
    let messages = match call.name.as_str() {
        "test_prompt_with_arguments" => vec![text(format!(
            "Prompt with arguments: arg1='{}', arg2='{}'",
            argument("arg1"),
            argument("arg2")
        ))],
        "test_prompt_with_embedded_resource" => vec![
            (
                Speaker::User,
                Content::Document {
                    uri: argument("resourceUri"),
                    document: Document::text("text/plain", "Embedded resource content."),
                },
            ),
            text("Please process the embedded resource above.".to_owned()),
        ],
        "test_prompt_with_image" => vec![
            (
                Speaker::User,
                Content::Image { mime_type: "image/png".to_owned(), bytes: PIXEL.to_vec() },
            ),
            text("Please analyze the image above.".to_owned()),
        ],
        "test_input_required_result_prompt" => match call.answers.form("user_context") {
            Some(FormAnswer::Accepted(fields)) => {
                vec![text(format!("Use this context: {}", fields["context"]))]
            }
            _ => {
                let question = Question::Form {
                    message: "What context should the prompt use?".to_owned(),
                    schema: json!({
                        "type": "object",
                        "properties": {"context": {"type": "string"}},
                        "required": ["context"],
                    }),
                };
                return Ok(PromptReply::Ask(Questions::one("user_context", question)));
            }
        },
        _ => vec![text("This is a simple prompt for testing.".to_owned())],
    };
    Ok(PromptReply::Messages(messages))
}

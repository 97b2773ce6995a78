use std::time::Duration;

use godot_mcp_core::feed::Severity;
use godot_mcp_core::question::{FormAnswer, Question, Questions};
use godot_mcp_core::{
    Answer, Code, Content, Document, Reply, SafetyClass, ToolCall, ToolError, ToolSpec,
};
use serde_json::{Map, Value, json};

use super::{Inner, SWITCHED};

/// A red pixel.
pub(super) const PIXEL: &[u8] = &[
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d, 0x49, 0x48, 0x44, 0x52, 0, 0, 0,
    1, 0, 0, 0, 1, 8, 2, 0, 0, 0, 0x90, 0x77, 0x53, 0xde, 0, 0, 0, 0x0c, 0x49, 0x44, 0x41, 0x54,
    0x08, 0xd7, 0x63, 0xf8, 0xcf, 0xc0, 0, 0, 0, 3, 1, 1, 0, 0x18, 0xdd, 0x8d, 0xb0, 0, 0, 0, 0,
    0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
];

/// A WAV file with two samples of silence.
const SILENCE: &[u8] = b"RIFF\x26\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x40\x1f\0\0\x01\0\x08\0data\x02\0\0\0\x80\x80";

const STEP: Duration = Duration::from_millis(50);

pub(super) fn specs() -> Vec<ToolSpec> {
    let text = |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}});
    let none = || json!({"type": "object", "properties": {}});
    let mut specs: Vec<ToolSpec> = [
        "test_simple_text",
        "test_image_content",
        "test_audio_content",
        "test_embedded_resource",
        "test_multiple_content_types",
        "test_tool_with_logging",
        "test_logging_tool",
        "test_error_handling",
        "test_tool_with_progress",
        "test_elicitation_sep1034_defaults",
        "test_elicitation_sep1330_enums",
        "test_missing_capability",
        "test_streaming_elicitation",
        "test_trigger_tool_change",
        "test_trigger_prompt_change",
        "test_input_required_result_elicitation",
        "test_input_required_result_sampling",
        "test_input_required_result_list_roots",
        "test_input_required_result_request_state",
        "test_input_required_result_multiple_inputs",
        "test_input_required_result_multi_round",
        "test_input_required_result_tampered_state",
        "test_input_required_result_capabilities",
    ]
    .iter()
    .map(|name| spec(name, none()))
    .collect();
    specs.push(spec("test_sampling", text("prompt")));
    specs.push(spec("test_elicitation", text("message")));
    specs.push(spec("test_headers", headers_schema()));
    specs.push(spec("json_schema_2020_12_tool", schema_2020_12()));
    let mut switched = spec("test_switched", none());
    switched.toolset = SWITCHED.to_owned();
    specs.push(switched);
    specs
}

fn spec(name: &str, schema: Value) -> ToolSpec {
    let Value::Object(schema) = schema else { unreachable!("an object schema") };
    let about = format!("What the conformance suite calls as {name}.");
    ToolSpec::new(name, "core", SafetyClass::ReadOnly, about, schema)
}

fn headers_schema() -> Value {
    json!({
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    })
}

fn schema_2020_12() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }},
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {
            "properties": {"contactMethod": {"const": "phone"}},
            "required": ["contactMethod"],
        },
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    })
}

pub(super) async fn run(pack: &Inner, call: &ToolCall, args: &Map<String, Value>) -> Answer {
    let given = |name: &str| args.get(name).and_then(Value::as_str).unwrap_or_default();
    let image = || Content::Image { mime_type: "image/png".to_owned(), bytes: PIXEL.to_vec() };
    let document = |uri: &str, mime_type: &str, text: &str| Content::Document {
        uri: uri.to_owned(),
        document: Document::text(mime_type, text),
    };
    match call.name.as_str() {
        "test_simple_text" => text("This is a simple text response for testing."),
        "test_image_content" => parts([image()]),
        "test_audio_content" => {
            parts([Content::Audio { mime_type: "audio/wav".to_owned(), bytes: SILENCE.to_vec() }])
        }
        "test_embedded_resource" => parts([document(
            "test://embedded-resource",
            "text/plain",
            "This is an embedded resource content.",
        )]),
        "test_multiple_content_types" => parts([
            Content::Text("Multiple content types test:".to_owned()),
            image(),
            document(
                "test://mixed-content-resource",
                "application/json",
                &json!({"test": "data", "value": 123}).to_string(),
            ),
        ]),
        "test_tool_with_logging" | "test_logging_tool" => log(call).await,
        "test_error_handling" => Err(ToolError::new(
            Code::Internal,
            "This tool intentionally returns an error for testing",
        )),
        "test_tool_with_progress" => progress(call).await,
        "test_sampling" | "test_missing_capability" => match call.answers.sample("answer") {
            Some(answer) => text(format!("LLM response: {answer}")),
            None => sample("answer", given("prompt"), 100),
        },
        "test_elicitation" | "test_streaming_elicitation" => {
            form(call, "answer", given("message"), strings(&["username", "email"]), "User response")
        }
        "test_elicitation_sep1034_defaults" => {
            form(call, "answer", "Please review", defaults(), "Elicitation completed")
        }
        "test_elicitation_sep1330_enums" => {
            form(call, "answer", "Please choose", enums(), "Elicitation completed")
        }
        "test_trigger_tool_change" => {
            let set = [SWITCHED.to_owned()];
            pack.gate.switch(&set, !pack.gate.is_enabled(SWITCHED));
            text("The list of tools has changed.")
        }
        "test_trigger_prompt_change" => {
            let mut added = pack.added_prompts.lock();
            let name = format!("test_added_prompt_{}", added.len());
            added.insert(name);
            drop(added);
            pack.announcer.get().expect("connected before it serves").prompts_changed();
            text("The list of prompts has changed.")
        }
        _ => rounds(call),
    }
}

fn text(text: impl Into<String>) -> Answer {
    Ok(Reply::Text(text.into()))
}

fn parts<const N: usize>(parts: [Content; N]) -> Answer {
    Ok(Reply::Content(parts.into()))
}

async fn log(call: &ToolCall) -> Answer {
    for message in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        if let Some(log) = &call.log {
            log(Severity::Info, json!(message));
        }
        tokio::time::sleep(STEP).await;
    }
    text("Tool with logging executed.")
}

async fn progress(call: &ToolCall) -> Answer {
    for done in [0.0, 50.0, 100.0] {
        if let Some(progress) = &call.progress {
            progress(done, Some(100.0), &format!("{done} of 100"));
        }
        tokio::time::sleep(STEP).await;
    }
    text("Tool with progress executed.")
}

fn strings(names: &[&str]) -> Value {
    let properties: Map<_, _> =
        names.iter().map(|it| ((*it).to_owned(), json!({"type": "string"}))).collect();
    json!({"type": "object", "properties": properties, "required": names})
}

fn defaults() -> Value {
    json!({"type": "object", "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {
            "type": "string", "enum": ["active", "inactive", "pending"], "default": "active"
        },
        "verified": {"type": "boolean", "default": true},
    }, "required": []})
}

fn enums() -> Value {
    let titled = |ordinals: [&str; 3], what: &str| {
        let options = ordinals.iter().enumerate().map(
            |(idx, it)| json!({"const": format!("value{}", idx + 1), "title": format!("{it} {what}")}),
        );
        Value::Array(options.collect())
    };
    let ordinals = ["First", "Second", "Third"];
    json!({"type": "object", "properties": {
        "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
        "titledSingle": {"type": "string", "oneOf": titled(ordinals, "Option")},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {
            "type": "array",
            "items": {"type": "string", "enum": ["option1", "option2", "option3"]},
        },
        "titledMulti": {"type": "array", "items": {"anyOf": titled(ordinals, "Choice")}},
    }, "required": []})
}

fn sample(name: &str, prompt: &str, max_tokens: u32) -> Answer {
    let question = Question::Sample { prompt: prompt.to_owned(), max_tokens };
    Ok(Reply::Ask(Questions::one(name, question)))
}

fn ask_form(name: &str, message: &str, schema: Value) -> Questions {
    Questions::one(name, Question::Form { message: message.to_owned(), schema })
}

/// Asks, and tells what came back.
fn form(call: &ToolCall, name: &str, message: &str, schema: Value, about: &str) -> Answer {
    let (action, content) = match call.answers.form(name) {
        Some(FormAnswer::Accepted(fields)) => ("accept", Value::Object(fields)),
        Some(FormAnswer::Declined) => ("decline", Value::Null),
        Some(FormAnswer::Cancelled) => ("cancel", Value::Null),
        None => return Ok(Reply::Ask(ask_form(name, message, schema))),
    };
    text(format!("{about}: action={action}, content={content}"))
}

/// The tools that need more than one round.
fn rounds(call: &ToolCall) -> Answer {
    let answers = &call.answers;
    let accepted = |name: &str| match answers.form(name) {
        Some(FormAnswer::Accepted(fields)) => Some(fields),
        _ => None,
    };
    let ask_name = || ask_form("user_name", "What is your name?", strings(&["name"]));
    let confirm = || {
        let schema = json!({
            "type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]
        });
        ask_form("confirm", "Please confirm", schema)
    };
    match call.name.as_str() {
        "test_input_required_result_elicitation" => match accepted("user_name") {
            Some(fields) => text(format!("Hello, {}!", fields["name"].as_str().unwrap_or("you"))),
            None => Ok(Reply::Ask(ask_name())),
        },
        "test_input_required_result_sampling" => match answers.sample("capital_question") {
            Some(answer) => text(answer),
            None => sample("capital_question", "What is the capital of France?", 100),
        },
        "test_input_required_result_list_roots" => match answers.roots("client_roots") {
            Some(roots) => text(format!("Roots: {}", roots.join(", "))),
            None => Ok(Reply::Ask(Questions::one("client_roots", Question::Roots))),
        },
        "test_input_required_result_request_state"
        | "test_input_required_result_tampered_state" => match accepted("confirm") {
            Some(_) if answers.state == "asked" => text("state-ok"),
            _ => Ok(Reply::Ask(confirm().with_state(json!("asked")))),
        },
        "test_input_required_result_multiple_inputs" => {
            let all = accepted("user_name")
                .zip(answers.sample("greeting"))
                .zip(answers.roots("client_roots"))
                .filter(|_| answers.state == "all");
            match all {
                Some(((fields, greeting), roots)) => {
                    text(format!("{greeting} {}, {} roots", fields["name"], roots.len()))
                }
                None => {
                    let prompt = "Generate a greeting".to_owned();
                    Ok(Reply::Ask(
                        ask_name()
                            .and("greeting", Question::Sample { prompt, max_tokens: 50 })
                            .and("client_roots", Question::Roots)
                            .with_state(json!("all")),
                    ))
                }
            }
        }
        "test_input_required_result_multi_round" => match answers.state["round"].as_u64() {
            Some(2) if accepted("step2").is_some() => {
                let color = accepted("step2").map(|it| it["color"].clone());
                let color = color.unwrap_or_default();
                text(format!("{} likes {color}", answers.state["name"]))
            }
            Some(1) if accepted("step1").is_some() => {
                let name = accepted("step1").map(|it| it["name"].clone());
                let step2 = "Step 2: What is your favorite color?";
                let questions = ask_form("step2", step2, strings(&["color"]));
                Ok(Reply::Ask(questions.with_state(json!({"round": 2, "name": name}))))
            }
            _ => {
                let step1 = ask_form("step1", "Step 1: What is your name?", strings(&["name"]));
                Ok(Reply::Ask(step1.with_state(json!({"round": 1}))))
            }
        },
        "test_input_required_result_capabilities" => {
            let mut questions = Questions::default();
            if answers.abilities.form {
                questions = ask_name();
            }
            if answers.abilities.sample {
                let prompt = "Generate a greeting".to_owned();
                questions = questions.and("greeting", Question::Sample { prompt, max_tokens: 50 });
            }
            Ok(Reply::Ask(questions))
        }
        _ => text("Done."),
    }
}

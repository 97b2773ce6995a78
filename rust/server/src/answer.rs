//! Answers in rmcp's terms, within the size limit (S3, S9.5).

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use godot_mcp_core::call::Waited;
use godot_mcp_core::{Answer, Code, Reply, ToolError};
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::json;

use crate::content;

/// What is sent for `answer`.
pub(crate) fn result(answer: Answer, max_bytes: usize) -> CallToolResult {
    match answer {
        Ok(reply) => success(reply, max_bytes)
            .unwrap_or_else(|bytes| failure(&too_large(bytes, max_bytes), max_bytes)),
        Err(error) => failure(&error, max_bytes),
    }
}

/// Says that the call has waited for others (X10.3).
pub(crate) fn with_wait(mut result: CallToolResult, waited: Option<&Waited>) -> CallToolResult {
    let Some(waited) = waited else { return result };
    let mut told = json!({"queued_ms": waited.queued_ms, "reason": waited.reason});
    if let Some(scene) = &waited.holder_scene {
        told["holder_scene"] = json!(scene);
    }
    result.meta.get_or_insert_default().insert("concurrency".to_owned(), told);
    result
}

/// Fails with the size of a reply that is too large.
fn success(reply: Reply, max_bytes: usize) -> Result<CallToolResult, usize> {
    let within = |bytes: usize| if bytes > max_bytes { Err(bytes) } else { Ok(()) };
    match reply {
        Reply::Json(value) => {
            let text = value.to_string();
            within(text.len())?;
            let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
            result.structured_content = Some(value);
            Ok(result)
        }
        Reply::Text(text) => {
            within(text.len())?;
            Ok(CallToolResult::success(vec![ContentBlock::text(text)]))
        }
        Reply::Image { png, about } => {
            let about = about.to_string();
            within(png.len().div_ceil(3) * 4 + about.len())?;
            let image = ContentBlock::image(BASE64_STANDARD.encode(png), "image/png");
            Ok(CallToolResult::success(vec![image, ContentBlock::text(about)]))
        }
        Reply::Content(parts) => {
            within(parts.iter().map(|it| it.size()).sum())?;
            Ok(CallToolResult::success(parts.into_iter().map(content::block).collect()))
        }
        // Questions never come this far: `questions.rs` takes them out.
        Reply::Ask(_) => Ok(CallToolResult::error(vec![ContentBlock::text("nobody was asked")])),
    }
}

fn failure(error: &ToolError, max_bytes: usize) -> CallToolResult {
    let mut value = error.to_value();
    let mut text = value.to_string();
    if text.len() > max_bytes {
        // The code is what the caller acts on, so it is kept; what made it large is not.
        let bare = ToolError::new(error.code, shortened(&error.message)).hint(format!(
            "the full answer has {} bytes, more than {max_bytes}; ask for less",
            text.len()
        ));
        value = bare.to_value();
        text = value.to_string();
    }
    let mut result = CallToolResult::error(vec![ContentBlock::text(text)]);
    result.structured_content = Some(value);
    result
}

pub(crate) fn too_large(bytes: usize, max_bytes: usize) -> ToolError {
    let message = format!("the answer has {bytes} bytes, more than the {max_bytes} that are sent");
    ToolError::new(Code::ResponseTooLarge, message)
        .hint("ask for less, such as a narrower filter or a smaller page; the call itself has run")
        .details(json!({"bytes": bytes, "max_bytes": max_bytes}))
}

fn shortened(message: &str) -> String {
    message.chars().take(500).collect()
}

#[cfg(test)]
mod tests {
    use godot_mcp_core::{Content, Document};
    use serde_json::Value;

    use super::*;

    fn sent(answer: Answer, max_bytes: usize) -> Value {
        serde_json::to_value(result(answer, max_bytes)).unwrap()
    }

    #[test]
    fn json_is_sent_as_structure_and_as_compact_text() {
        let sent = sent(Ok(json!({"b": 1, "a": [1, 2]}).into()), 100);
        assert_eq!(sent["structuredContent"], json!({"b": 1, "a": [1, 2]}));
        assert_eq!(sent["content"], json!([{"type": "text", "text": r#"{"b":1,"a":[1,2]}"#}]));
        assert_eq!(sent["isError"], json!(false));
    }

    #[test]
    fn text_is_sent_once() {
        let sent = sent(Ok(Reply::Text("Root\n  Child".into())), 100);
        assert_eq!(sent["content"], json!([{"type": "text", "text": "Root\n  Child"}]));
        assert_eq!(sent.get("structuredContent"), None);
    }

    #[test]
    fn an_image_comes_with_its_description() {
        let sent = sent(Ok(Reply::Image { png: vec![1, 2, 3], about: json!({"w": 1}) }), 100);
        assert_eq!(
            sent["content"],
            json!([
                {"type": "image", "data": "AQID", "mimeType": "image/png"},
                {"type": "text", "text": r#"{"w":1}"#},
            ])
        );
    }

    #[test]
    fn parts_of_any_kind_keep_their_order() {
        let parts = vec![
            Content::Text("a".to_owned()),
            Content::Audio { mime_type: "audio/wav".to_owned(), bytes: vec![1, 2, 3] },
            Content::Document {
                uri: "godot://x".to_owned(),
                document: Document::text("text/plain", "b"),
            },
        ];
        let sent = sent(Ok(Reply::Content(parts)), 100);
        assert_eq!(
            sent["content"],
            json!([
                {"type": "text", "text": "a"},
                {"type": "audio", "data": "AQID", "mimeType": "audio/wav"},
                {"type": "resource", "resource": {
                    "uri": "godot://x", "mimeType": "text/plain", "text": "b"
                }},
            ])
        );
    }

    #[test]
    fn an_error_is_the_same_in_structure_and_text() {
        let error = ToolError::not_found("no node at \"A\"").suggest(["B"]);
        let sent = sent(Err(error.clone()), 1000);
        assert_eq!(sent["isError"], json!(true));
        assert_eq!(sent["structuredContent"], error.to_value());
        assert_eq!(sent["content"][0]["text"], json!(error.to_value().to_string()));
    }

    #[test]
    fn what_is_too_large_is_refused_with_its_size() {
        let text = "x".repeat(300);
        let image = Reply::Image { png: vec![0; 240], about: json!({}) };
        let parts = Reply::Content(vec![Content::Text(text.clone())]);
        for reply in [Reply::Text(text.clone()), json!({"text": text}).into(), image, parts] {
            let sent = sent(Ok(reply), 300 - 1);
            assert_eq!(sent["isError"], json!(true));
            assert_eq!(sent["structuredContent"]["error"], json!("RESPONSE_TOO_LARGE"));
            assert!(sent["structuredContent"]["details"]["bytes"].as_u64().unwrap() >= 300);
        }
    }

    #[test]
    fn a_large_error_keeps_its_code() {
        let error =
            ToolError::precondition("confirm", "needs confirmation").would(json!("x".repeat(2000)));
        let sent = sent(Err(error), 1000);
        assert_eq!(sent["structuredContent"]["error"], json!("PRECONDITION_FAILED"));
        assert_eq!(sent["structuredContent"].get("would"), None);
    }
}

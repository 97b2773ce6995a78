//! Documents and other content in rmcp's terms.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use godot_mcp_core::{Body, Content, Document};
use rmcp::model::{ContentBlock, ResourceContents};

pub(crate) fn block(content: Content) -> ContentBlock {
    match content {
        Content::Text(text) => ContentBlock::text(text),
        Content::Image { mime_type, bytes } => {
            ContentBlock::image(BASE64_STANDARD.encode(bytes), mime_type)
        }
        Content::Audio { mime_type, bytes } => {
            ContentBlock::audio(BASE64_STANDARD.encode(bytes), mime_type)
        }
        Content::Document { uri, document } => ContentBlock::resource(contents(uri, document)),
    }
}

pub(crate) fn contents(uri: String, document: Document) -> ResourceContents {
    let mime_type = Some(document.mime_type);
    match document.body {
        Body::Text(text) => {
            ResourceContents::TextResourceContents { uri, mime_type, text, meta: None }
        }
        Body::Bytes(bytes) => {
            let blob = BASE64_STANDARD.encode(bytes);
            ResourceContents::BlobResourceContents { uri, mime_type, blob, meta: None }
        }
    }
}

//! Resources in rmcp's terms.

use godot_mcp_core::call::ResourceInfo;
use godot_mcp_core::{Body, Code, Document, ToolError};
use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, Resource, ResourceTemplate};
use serde_json::json;

use crate::answer::too_large;
use crate::content;

pub(crate) fn listed(resources: Vec<ResourceInfo>) -> Vec<Resource> {
    let plain = resources.into_iter().filter(|it| !it.template);
    plain
        .map(|it| {
            Resource::new(it.uri, it.name)
                .with_description(it.description)
                .with_mime_type(it.mime_type)
        })
        .collect()
}

pub(crate) fn templates(resources: Vec<ResourceInfo>) -> Vec<ResourceTemplate> {
    let templates = resources.into_iter().filter(|it| it.template);
    templates
        .map(|it| {
            ResourceTemplate::new(it.uri, it.name)
                .with_description(it.description)
                .with_mime_type(it.mime_type)
        })
        .collect()
}

pub(crate) fn contents(
    uri: String,
    read: Result<Document, ToolError>,
    max_bytes: usize,
) -> Result<ReadResourceResult, ErrorData> {
    let document = read.map_err(|error| about(&uri, &error))?;
    let bytes = match &document.body {
        Body::Text(text) => text.len(),
        Body::Bytes(bytes) => bytes.len().div_ceil(3) * 4,
    };
    if bytes > max_bytes {
        return Err(about(&uri, &too_large(bytes, max_bytes)));
    }
    Ok(ReadResourceResult::new(vec![content::contents(uri, document)]))
}

/// An error that names the resource, as the specification wants it.
pub(crate) fn about(uri: &str, error: &ToolError) -> ErrorData {
    let mut sent = protocol_error(error);
    if let Some(data) = &mut sent.data {
        data["uri"] = json!(uri);
    }
    sent
}

/// Unlike a tool, a resource or a prompt has no error result of its own.
pub(crate) fn protocol_error(error: &ToolError) -> ErrorData {
    let message = if error.hint.is_empty() {
        error.message.clone()
    } else {
        format!("{}; {}", error.message, error.hint)
    };
    let data = Some(error.to_value());
    match error.code {
        Code::ResourceNotFound => ErrorData::resource_not_found(message, data),
        Code::ValidationError | Code::PathDenied => ErrorData::invalid_params(message, data),
        _ => ErrorData::internal_error(message, data),
    }
}

//! Resources in rmcp's terms.

use godot_mcp_core::call::ResourceInfo;
use godot_mcp_core::{Code, ToolError};
use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate};

use crate::answer::too_large;

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
    read: Result<(String, String), ToolError>,
    max_bytes: usize,
) -> Result<ReadResourceResult, ErrorData> {
    let (mime_type, text) = read.map_err(|error| protocol_error(&error))?;
    if text.len() > max_bytes {
        return Err(protocol_error(&too_large(text.len(), max_bytes)));
    }
    let contents = ResourceContents::TextResourceContents {
        uri,
        mime_type: Some(mime_type),
        text,
        meta: None,
    };
    Ok(ReadResourceResult::new(vec![contents]))
}

/// Unlike a tool, a resource has no error result of its own.
fn protocol_error(error: &ToolError) -> ErrorData {
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

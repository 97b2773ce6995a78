use godot_mcp_core::call::ResourceInfo;
use godot_mcp_core::{Document, ToolError};
use serde_json::json;

use super::tools::PIXEL;

pub(super) fn all() -> Vec<ResourceInfo> {
    let resource = |uri: &str, mime_type: &str, template| ResourceInfo {
        uri: uri.to_owned(),
        name: uri.trim_start_matches("test://").to_owned(),
        description: "For the conformance suite.".to_owned(),
        mime_type: mime_type.to_owned(),
        template,
    };
    vec![
        resource("test://static-text", "text/plain", false),
        resource("test://static-binary", "image/png", false),
        resource("test://watched-resource", "text/plain", false),
        resource("test://template/{id}/data", "application/json", true),
    ]
}

pub(super) fn read(uri: &str) -> Result<Document, ToolError> {
    let id = || uri.strip_prefix("test://template/")?.strip_suffix("/data");
    match uri {
        "test://static-text" | "test://watched-resource" => {
            Ok(Document::text("text/plain", "This is the content of the static text resource."))
        }
        "test://static-binary" => Ok(Document::bytes("image/png", PIXEL)),
        _ => match id() {
            Some(id) => {
                let data = format!("Data for ID: {id}");
                let text = json!({"id": id, "templateTest": true, "data": data}).to_string();
                Ok(Document::text("application/json", text))
            }
            None => Err(ToolError::not_found(format!("no resource \"{uri}\""))),
        },
    }
}

use godot_mcp_core::untrusted;

use crate::resources;
use crate::tool_prelude::*;

/// Reads a resource of this server, for clients that cannot: `godot://project/info`,
/// `godot://scene/current`, `godot://scene/tree`, `godot://node/selected`,
/// `godot://scene/{path}`, `godot://script/{path}`. JSON text is in result.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ReadResource {
    /// For example `godot://script/player/player.gd`.
    uri: String,
}

impl Tool for ReadResource {
    const NAME: &'static str = "read_resource";
    const TOOLSET: &'static str = "core";

    fn adjust(spec: &mut ToolSpec) {
        spec.free_text = true;
    }

    fn examples() -> Vec<Example> {
        vec![
            Example::answer(
                "Reads the edited scene's tree.",
                "",
                json!({
                    "mime_type": "application/json", "result": "*"
                }),
            )
            .args(json!({"uri": "godot://scene/tree"})),
            Example::refusal("Refuses an unknown resource.", "", Code::ResourceNotFound)
                .args(json!({"uri": "godot://nothing"})),
            Example::refusal("Refuses to leave the project.", "", Code::PathDenied)
                .args(json!({"uri": "godot://script/../secret.gd"})),
        ]
    }
}

impl ReadTool for ReadResource {
    fn run(self, editor: &Editor) -> Result<Outcome, ToolError> {
        if let Some((own, values)) = editor.app().extensions.resource(&self.uri) {
            return own.read(editor, &self.uri, &values);
        }
        let (mime_type, text) = resources::read(editor, &self.uri)?;
        let result = match mime_type {
            resources::JSON => text,
            _ => json!({"text": untrusted::wrap(&self.uri, &text)}).to_string(),
        };
        Ok(json!({"uri": self.uri, "mime_type": mime_type, "result": result}).into())
    }
}

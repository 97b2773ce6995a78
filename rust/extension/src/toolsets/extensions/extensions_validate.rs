use crate::extensions::discovery;
use crate::tool_prelude::*;

/// Compiles an extension script without registering it, and says what is wrong.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ExtensionsValidate {
    /// `.gd` file.
    script_path: ResPath,
}

impl Tool for ExtensionsValidate {
    const NAME: &'static str = "extensions_validate";
    const TOOLSET: &'static str = "extensions";

    fn examples() -> Vec<Example> {
        vec![
            Example::refusal("Refuses a missing file.", "", Code::ResourceNotFound)
                .args(json!({"script_path": "res://nothing.gd"})),
            Example::answer(
                "Says what a script lacks.",
                "\n[node name=\"A\" type=\"Node\"]\n;- res://ex_tool.gd\nextends Node\n",
                json!({"valid": false, "faults": "*"}),
            )
            .args(json!({"script_path": "res://ex_tool.gd"})),
        ]
    }
}

impl ReadTool for ExtensionsValidate {
    fn run(self, editor: &Editor) -> Result<Outcome, ToolError> {
        let path = editor.res_path(&self.script_path)?;
        let Some(bytes) = crate::editor::files::bytes(&path) else {
            return Err(ToolError::not_found(format!("no file \"{path}\"")).required("script_path"));
        };
        let mut faults = match discovery::compile(&editor.app_rc(), &path) {
            Ok(_) => Vec::new(),
            Err(faults) => super::extensions_status::faults(&faults),
        };
        let text = String::from_utf8_lossy(&bytes);
        let has = |word: &str| text.lines().any(|it| it.trim_start().starts_with(word));
        for (word, why) in [
            ("@tool", "without @tool it does not run in the editor"),
            ("class_name", "without a class_name it is not found"),
        ] {
            if !has(word) {
                faults.push(json!({"message": why}));
            }
        }
        let found = discovery::candidates().iter().find(|it| *it.1 == path).map(|it| it.0.clone());
        if found.is_none() {
            faults.push(json!({"message": "the editor knows no extension in it: it has to extend MCPToolkitExtension; a new file is known after `extensions_refresh`"}));
        }
        Ok(json!({"valid": faults.is_empty(), "class": found, "faults": faults}).into())
    }
}

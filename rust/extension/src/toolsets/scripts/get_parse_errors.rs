use crate::editor::script_files;
use crate::tool_prelude::*;

/// Checks a GDScript file: parse and type errors, each as `line: message`.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct GetParseErrors {
    script_path: ResourcePath,
}

impl Tool for GetParseErrors {
    const NAME: &'static str = "get_parse_errors";
    const TOOLSET: &'static str = "scripts";

    fn adjust(spec: &mut ToolSpec) {
        spec.free_text = true;
    }

    fn examples() -> Vec<Example> {
        let before = ";- res://good.gd\nextends Node\n;- res://bad.gd\nextends Node\nvar a: int = \"x\"\nfunc b():\n\treturn c\n;- res://c.cs\n// C#";
        vec![
            Example::answer(
                "Finds nothing wrong.",
                before,
                json!({"script_path": "res://good.gd", "ok": true, "error_count": 0}),
            )
            .args(json!({"script_path": "res://good.gd"})),
            Example::answer(
                "Finds errors of syntax and types.",
                before,
                json!({"ok": false, "error_count": 3, "errors": "*"}),
            )
            .args(json!({"script_path": "res://bad.gd"})),
            Example::refusal("Refuses C#.", before, Code::Unsupported)
                .args(json!({"script_path": "res://c.cs"})),
            Example::refusal("Refuses a missing file.", before, Code::ResourceNotFound)
                .args(json!({"script_path": "res://nowhere.gd"})),
        ]
    }
}

impl ReadTool for GetParseErrors {
    fn run(self, editor: &Editor) -> Result<Outcome, ToolError> {
        let path = editor.resource_path(&self.script_path)?;
        let file = script_files::read(editor, &path)?;
        if !path.ends_with(".gd") {
            let message = format!("\"{path}\" is C#, which this server does not check");
            return Err(ToolError::new(Code::Unsupported, message)
                .required("script_path")
                .hint("build the project to check C#"));
        }
        let fields = script_files::errors(editor, &path, &script_files::decode(&file.bytes));
        let mut answer = json!({"script_path": path, "ok": fields["error_count"] == 0});
        answer.as_object_mut().into_iter().for_each(|it| it.extend(fields.clone()));
        Ok(answer.into())
    }
}

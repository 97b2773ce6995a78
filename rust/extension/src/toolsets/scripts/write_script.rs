use crate::editor::files;
use crate::editor::script_files::{self, Conditions};
use crate::tool_prelude::*;

/// Creates or overwrites a script. Answers its parse errors, and which loaded scripts were reloaded
/// with it.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct WriteScript {
    /// `.gd` or `.cs` file. Missing folders are made.
    script_path: ResPath,
    /// Whole text.
    content: String,
    /// Hash it must have now; empty: it must be new.
    #[serde(default)]
    expected_sha256: Option<String>,
    /// Also replace what the human has not saved in the script editor.
    #[serde(default)]
    overwrite_unsaved: bool,
}

impl Tool for WriteScript {
    const NAME: &'static str = "write_script";
    const TOOLSET: &'static str = "scripts";

    fn adjust(spec: &mut ToolSpec) {
        spec.writes_disk = true;
        spec.free_text = true;
    }

    fn examples() -> Vec<Example> {
        let before = ";- res://old.gd\nextends Node\n\nvar hp := 3";
        let fresh = "\n;- res://written/hero.gd\nclass_name WrittenHero\nextends Node\n\nfunc twin() -> WrittenHero:\n\treturn WrittenHero.new()";
        vec![
            Example::edit("Creates a script with a class of its own.", before, fresh).args(json!({
                "script_path": "res://written/hero.gd",
                "content": "class_name WrittenHero\nextends Node\n\nfunc twin() -> WrittenHero:\n\treturn WrittenHero.new()\n",
            })),
            Example::answer(
                "Overwrites one and tells what is wrong with it.",
                before,
                json!({"created": false, "previous_sha256": "*", "error_count": 2, "errors": "*"}),
            )
            .args(json!({"script_path": "res://old.gd", "content": "extends Node\n\nvar hp: int = \"x\"\n"})),
            Example::refusal("Refuses when the file is not as expected.", before, Code::StateChanged)
                .args(json!({"script_path": "res://old.gd", "content": "", "expected_sha256": ""})),
            Example::refusal("Refuses another kind of file.", before, Code::ValidationError)
                .args(json!({"script_path": "res://old.txt", "content": ""})),
            Example::refusal("Refuses to leave the project.", before, Code::PathDenied)
                .args(json!({"script_path": "res://../x.gd", "content": ""})),
        ]
    }
}

impl EditTool for WriteScript {
    const CLASS: SafetyClass = SafetyClass::Mutating;
    const SITE: Site = Site::SafeLane;

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let path = editor.res_path(&self.script_path)?;
        script_files::language(&path)?;
        if self.content.contains('\0') {
            return Err(ToolError::invalid("content", "the text contains a NUL character"));
        }
        let file = files::absolute(&path);
        if file.is_dir() {
            return Err(ToolError::invalid("script_path", format!("\"{path}\" is a folder")));
        }
        let old = match file.exists() {
            true => Some(script_files::read(editor, &path)?),
            false => None,
        };
        let conditions = Conditions {
            expected_sha256: self.expected_sha256,
            overwrite_unsaved: self.overwrite_unsaved,
        };
        script_files::check(&path, old.as_ref().map(|it| it.bytes.as_slice()), &conditions)?;
        script_files::write(&path, old.as_ref(), &self.content, &conditions)
    }
}

use godot_mcp_core::{text_search, untrusted};

use crate::editor::script_files::{self, Conditions};
use crate::tool_prelude::*;

/// Replaces a text in a script. Answers its parse errors, and which loaded scripts were reloaded.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct PatchScript {
    script_path: ResourcePath,
    /// Text that occurs, over several lines if need be.
    #[schemars(length(min = 1))]
    find: String,
    replace: String,
    /// False: it must occur exactly once.
    #[serde(default = "yes")]
    replace_all: bool,
    /// Hash it must have now.
    #[serde(default)]
    expected_sha256: Option<String>,
    /// Also replace what the human has not saved in the script editor.
    #[serde(default)]
    overwrite_unsaved: bool,
}

fn yes() -> bool {
    true
}

/// Places that an answer lists; more are counted.
const MAX_LINES: usize = 20;

impl Tool for PatchScript {
    const NAME: &'static str = "patch_script";
    const TOOLSET: &'static str = "scripts";

    fn adjust(spec: &mut ToolSpec) {
        spec.writes_disk = true;
        spec.free_text = true;
    }

    fn examples() -> Vec<Example> {
        let before = ";- res://a.gd\nextends Node\nvar a := 1\nvar b := 1";
        let after = ";- res://a.gd\nextends Node\nvar a := 2\nvar b := 2";
        vec![
            Example::edit("Replaces all occurrences.", before, after)
                .args(json!({"script_path": "res://a.gd", "find": ":= 1", "replace": ":= 2"})),
            Example::answer(
                "Counts them.",
                before,
                json!({"occurrences": 2, "occurrence_lines": [2, 3], "error_count": 0}),
            )
            .args(json!({"script_path": "res://a.gd", "find": ":= 1", "replace": ":= 2"})),
            Example::refusal("Refuses a text that does not occur.", before, Code::ResourceNotFound)
                .args(json!({"script_path": "res://a.gd", "find": "var a = 1", "replace": ""})),
            Example::refusal("Refuses to choose.", before, Code::ValidationError).args(json!({
                "script_path": "res://a.gd", "find": ":= 1", "replace": "", "replace_all": false
            })),
        ]
    }
}

impl EditTool for PatchScript {
    const CLASS: SafetyClass = SafetyClass::Mutating;
    const SITE: Site = Site::SafeLane;

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let path = editor.resource_path(&self.script_path)?;
        // A uid says nothing of where it leads.
        editor.check_write(&path)?;
        let file = script_files::read(editor, &path)?;
        let conditions = Conditions {
            expected_sha256: self.expected_sha256,
            overwrite_unsaved: self.overwrite_unsaved,
        };
        script_files::check(&path, Some(&file.bytes), &conditions)?;
        if self.replace.contains('\0') {
            return Err(ToolError::invalid("replace", "the text contains a NUL character"));
        }

        // The text that is read has line feeds only, so what is looked for has too.
        let plain = |text: &str| match file.text.contains('\r') {
            true => text.to_owned(),
            false => text.replace("\r\n", "\n"),
        };
        let (find, replace) = (plain(&self.find), plain(&self.replace));
        let lines = text_search::lines_of(&file.text, &find);
        if lines.is_empty() {
            return Err(not_found(&path, &file.text, &find));
        }
        if !self.replace_all && lines.len() > 1 {
            let shown: Vec<_> = lines.iter().take(MAX_LINES).map(ToString::to_string).collect();
            let message =
                format!("the text occurs {} times, in lines {}", lines.len(), shown.join(", "));
            return Err(ToolError::invalid("find", message)
                .hint("take more of the text around it, or set replace_all: true"));
        }
        let text = file.text.replace(&find, &replace);
        let mut edit = script_files::write(&path, Some(&file), &text, &conditions)?;
        edit.fact("occurrences", lines.len());
        edit.fact("occurrence_lines", lines.into_iter().take(MAX_LINES).collect::<Vec<_>>());
        Ok(edit)
    }
}

fn not_found(path: &str, text: &str, find: &str) -> ToolError {
    let error = ToolError::not_found(format!("the text to find does not occur in \"{path}\""))
        .required("find");
    if let Some(line) = text_search::ignoring_space(text, find) {
        return error.hint(format!(
            "it occurs in line {line} with other white space, such as tabs instead of spaces; \
             copy it from `read_script`"
        ));
    }
    let near = text_search::nearest_lines(text, find, 3);
    if near.is_empty() {
        return error.hint("look at the script with `read_script`");
    }
    let lines: Vec<_> = near.iter().map(|(line, text)| format!("{line}: {text}")).collect();
    error
        .hint("see `details.nearest_lines`; copy the text from `read_script`")
        .details(json!({"nearest_lines": untrusted::wrap(path, &lines.join("\n"))}))
}

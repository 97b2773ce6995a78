use crate::editor::files;
use crate::tool_prelude::*;

/// Makes a folder, and the folders above it that are missing.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct CreateFolder {
    path: ResPath,
}

impl Tool for CreateFolder {
    const NAME: &'static str = "create_folder";
    const TOOLSET: &'static str = "project";

    fn adjust(spec: &mut ToolSpec) {
        spec.writes_disk = true;
    }

    fn examples() -> Vec<Example> {
        vec![
            Example::answer(
                "Makes two folders.",
                "",
                json!({"changes": [{"add_folder": "res://art"}, {"add_folder": "res://art/ui"}]}),
            )
            .args(json!({"path": "res://art/ui"})),
            Example::refusal(
                "Refuses one that exists.",
                "\n;- res://a/b.txt\nx\n",
                Code::AlreadyExists,
            )
            .args(json!({"path": "res://a"})),
        ]
    }
}

impl EditTool for CreateFolder {
    const CLASS: SafetyClass = SafetyClass::Mutating;
    const SITE: Site = Site::SafeLane;

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let path = editor.res_path(&self.path)?;
        if files::absolute(&path).exists() {
            return Err(ToolError::new(Code::AlreadyExists, format!("\"{path}\" exists already"))
                .required("path")
                .hint("`get_filesystem_tree` shows what lies there"));
        }
        let hidden = |it: &str| it.starts_with('.') || it.trim() != it;
        if path.trim_start_matches("res://").split('/').any(hidden) {
            return Err(ToolError::invalid("path", format!("\"{path}\" would be hidden"))
                .hint("names must not start with a dot or a space"));
        }
        let mut edit = Edit::of_files(format!("Make folder {path}"));
        edit.fact("path", path.as_str());
        for folder in files::missing_folders(&path) {
            edit.folder(&folder, true);
        }
        edit.verdict(Verdict::yes(path));
        Ok(edit)
    }
}

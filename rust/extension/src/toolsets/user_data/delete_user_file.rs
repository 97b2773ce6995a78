use crate::tool_prelude::*;

/// Deletes a file of `user://`. Undo brings it back.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct DeleteUserFile {
    path: UserPath,
}

impl Tool for DeleteUserFile {
    const NAME: &'static str = "delete_user_file";
    const TOOLSET: &'static str = "user_data";

    fn adjust(spec: &mut ToolSpec) {
        spec.writes_disk = true;
    }

    fn examples() -> Vec<Example> {
        vec![
            Example::answer(
                "Deletes a file.",
                "",
                json!({"changes": [{"delete": "user://old.txt", "old_bytes": 3}]}),
            )
            .after(
                "write_user_file",
                json!({"path": "user://old.txt", "content": "old", "confirm": true}),
            )
            .args(json!({"path": "user://old.txt"})),
            Example::refusal("Refuses a missing file.", "", Code::ResourceNotFound)
                .args(json!({"path": "user://none.txt"})),
        ]
    }
}

impl EditTool for DeleteUserFile {
    const CLASS: SafetyClass = SafetyClass::Destructive;

    fn plan(self, _editor: &Editor) -> Result<Edit, ToolError> {
        let path = super::tidy(&self.path)?;
        super::check_exists(&path)?;
        super::check_size(&path)?;
        let mut edit = Edit::of_files(format!("Delete {path}"));
        edit.fact("path", path.as_str());
        edit.write_file(&path, None);
        edit.verdict(Verdict::yes(path));
        Ok(edit)
    }
}

use godot::classes::ResourceLoader;
use godot::obj::Singleton;

use crate::editor::scene_files;
use crate::tool_prelude::*;

/// Lists the files that a scene or resource needs, and whether they are there.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct GetDependencies {
    path: ResourcePath,
}

impl Tool for GetDependencies {
    const NAME: &'static str = "get_dependencies";
    const TOOLSET: &'static str = "batch";

    fn examples() -> Vec<Example> {
        let before = r#"
[ext_resource type="Script" path="res://main.gd" id="1"]
[node name="Main" type="Node2D"]
script = ExtResource("1")
;- res://main.gd
extends Node2D"#;
        vec![
            Example::answer(
                "Lists what a scene needs.",
                before,
                json!({"dependencies": [
                    {"path": "res://main.gd", "exists": true}
                ], "missing": 0}),
            )
            .args(json!({"path": "res://scene.tscn"})),
            Example::refusal("Refuses an unknown file.", before, Code::ResourceNotFound)
                .args(json!({"path": "res://scne.tscn"})),
        ]
    }
}

impl ReadTool for GetDependencies {
    fn run(self, editor: &Editor) -> Result<Outcome, ToolError> {
        let path = editor.resource_path(&self.path)?;
        scene_files::check_file(&path, "path")?;
        let mut loader = ResourceLoader::singleton();
        let mut missing = 0;
        let found: Vec<Value> = loader
            .get_dependencies(&path)
            .as_slice()
            .iter()
            .map(|it| {
                let entry = Dependency::parse(&it.to_string());
                let exists = loader.exists(&entry.path);
                missing += usize::from(!exists);
                let mut fields = json!({"path": entry.path, "exists": exists});
                for (name, value) in [("type", entry.kind), ("uid", entry.uid)] {
                    if !value.is_empty() {
                        fields[name] = json!(value);
                    }
                }
                fields
            })
            .collect();
        Ok(json!({"path": path, "dependencies": found, "missing": missing}).into())
    }
}

/// An entry of the engine's list.
#[derive(Debug, PartialEq)]
struct Dependency {
    uid: String,
    kind: String,
    path: String,
}

impl Dependency {
    /// `uid::type::path`, `path::type`, or a path alone, as the format of the file has it.
    fn parse(text: &str) -> Self {
        let mut parts = text.split("::");
        let fields = [parts.next(), parts.next(), parts.next()].map(|it| it.unwrap_or_default());
        let [uid, kind, path] = match fields {
            [path, kind, ""] if !path.starts_with("uid://") => ["", kind, path],
            [uid, kind, ""] => [uid, kind, uid],
            other => other,
        };
        Self { uid: uid.to_owned(), kind: kind.to_owned(), path: path.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_have_several_forms() {
        let parsed = |text| {
            let it = Dependency::parse(text);
            (it.uid, it.kind, it.path)
        };
        let fields = |uid: &str, kind: &str, path: &str| (uid.into(), kind.into(), path.into());
        assert_eq!(
            parsed("uid://a::Script::res://a.gd"),
            fields("uid://a", "Script", "res://a.gd")
        );
        assert_eq!(parsed("::Script::res://a.gd"), fields("", "Script", "res://a.gd"));
        assert_eq!(parsed("res://a.gd::Script"), fields("", "Script", "res://a.gd"));
        assert_eq!(parsed("res://a.gd"), fields("", "", "res://a.gd"));
    }
}

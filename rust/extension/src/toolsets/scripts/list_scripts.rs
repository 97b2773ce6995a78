use godot_mcp_core::paths::{Access, Roots};
use godot_mcp_core::script_source;

use crate::editor::script_files;
use crate::tool_prelude::*;

/// Lists the scripts of the project with class name and base.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ListScripts {
    /// Folder, with those below.
    #[serde(default = "root")]
    directory: ResPath,
    #[serde(default)]
    offset: usize,
    #[serde(default = "two_hundred")]
    #[schemars(range(min = 1, max = 1000))]
    limit: usize,
    #[serde(default)]
    language: Language,
}

#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Language {
    #[default]
    Gd,
    Cs,
}

fn root() -> ResPath {
    ResPath::new("res://").expect("a valid path")
}

fn two_hundred() -> usize {
    200
}

impl Tool for ListScripts {
    const NAME: &'static str = "list_scripts";
    const TOOLSET: &'static str = "scripts";

    fn examples() -> Vec<Example> {
        // One alone: a class must not be declared twice in the project of all examples.
        let named = ";- res://a.gd\nclass_name ListedA\nextends Node";
        let before = ";- res://a.gd\nextends Node\n;- res://deep/b.gd\nextends \"../a.gd\"\n;- res://c.cs\n// C#";
        vec![
            Example::answer(
                "Lists a folder.",
                before,
                json!({"total": 2, "scripts": [
                    {"script_path": "res://a.gd", "extends": "Node"},
                    {"script_path": "res://deep/b.gd", "extends": "../a.gd"},
                ]}),
            )
            .args(json!({"directory": "res://"})),
            Example::answer(
                "Tells the class.",
                named,
                json!({"scripts": [{"class_name": "ListedA"}]}),
            )
            .args(json!({"directory": "res://"})),
            Example::answer(
                "Lists a page.",
                before,
                json!({"total": 2, "next_offset": 1, "scripts": [{"script_path": "res://a.gd"}]}),
            )
            .args(json!({"directory": "res://", "limit": 1})),
            Example::answer(
                "Lists C# scripts.",
                before,
                json!({"total": 1, "scripts": [{"script_path": "res://c.cs"}]}),
            )
            .args(json!({"directory": "res://", "language": "cs"})),
            Example::refusal("Refuses a folder that is not there.", "", Code::ResourceNotFound)
                .args(json!({"directory": "res://nowhere"})),
        ]
    }
}

impl OfflineTool for ListScripts {
    fn run(self, shared: &Shared) -> Answer {
        let roots = &shared.gate.settings().roots;
        let folder = roots.resolve_res(self.directory.as_str(), Access::Read)?;
        let path = Roots::tidy_res(self.directory.as_str())?;
        if !folder.is_dir() {
            return Err(ToolError::not_found(format!("no folder \"{path}\""))
                .required("directory")
                .hint("give a folder such as \"res://\""));
        }
        let ending = match self.language {
            Language::Gd => ".gd",
            Language::Cs => ".cs",
        };
        let mut found = Vec::new();
        script_files::each(&folder, &path, &mut |it| {
            if it.ends_with(ending) {
                found.push(it);
            }
        });
        let page = found.iter().skip(self.offset).take(self.limit);
        let scripts: Vec<_> = page.map(|it| entry(roots, it)).collect();
        let mut answer = json!({"total": found.len(), "scripts": scripts});
        let end = self.offset + scripts.len();
        if end < found.len() {
            answer["next_offset"] = json!(end);
        }
        Ok(answer.into())
    }
}

fn entry(roots: &Roots, path: &str) -> Value {
    let mut entry = json!({"script_path": path});
    let file = roots.resolve_res(path, Access::Read).ok();
    let bytes = file.filter(|_| path.ends_with(".gd")).and_then(|it| std::fs::read(it).ok());
    let header = script_source::header(&script_files::decode(&bytes.unwrap_or_default()));
    if let Some(name) = header.class_name {
        entry["class_name"] = json!(name);
    }
    if let Some(extends) = header.extends {
        entry["extends"] = json!(extends);
    }
    entry
}

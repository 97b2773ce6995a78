use godot_mcp_core::untrusted;
use ignore::overrides::OverrideBuilder;
use regex::bytes::RegexBuilder;

use crate::editor::file_search::{self, Background, Found, Search};
use crate::tool_prelude::*;

/// Finds files by name, content or both. Skipped: hidden entries, folders with a `.gdignore`; for
/// content also binary files and those above 2 MB.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct SearchFiles {
    #[serde(default = "super::res_root")]
    directory: ResPath,
    /// Such as `*.gd`; with a slash it counts from directory: `ui/**/*.tscn`.
    #[serde(default)]
    name_glob: String,
    /// Text to find.
    #[serde(default)]
    content: String,
    /// content is a regular expression, without look-around.
    #[serde(default)]
    regex: bool,
    #[serde(default)]
    ignore_case: bool,
    #[serde(default)]
    offset: usize,
    #[serde(default = "default_results")]
    #[schemars(range(min = 1, max = 10_000))]
    max_results: usize,
}

fn default_results() -> usize {
    200
}

/// Bytes of text in one answer; what is left comes with the next page.
const MAX_TEXT: usize = 200_000;

impl Tool for SearchFiles {
    const NAME: &'static str = "search_files";
    const TOOLSET: &'static str = "project";

    fn adjust(spec: &mut ToolSpec) {
        spec.free_text = true;
    }

    fn examples() -> Vec<Example> {
        let before = "\n;- res://src/a.txt\none\n  two one\n;- res://src/b.md\none\n;- res://src/no/.gdignore\n\n;- res://src/no/c.txt\none\n";
        vec![
            Example::text("Finds text.", before, &["res://src/a.txt:2:7: two one", "\"total\":3"])
                .args(json!({"directory": "res://src", "content": "one"})),
            Example::answer("Finds names.", before, json!({"files": ["res://src/b.md"]}))
                .args(json!({"directory": "res://src", "name_glob": "*.md"})),
            Example::answer(
                "Finds by a pattern, a page at a time.",
                before,
                json!({"total": 3, "next_offset": 1}),
            )
            .args(json!({
                "directory": "res://src", "content": "^\\s*\\w+", "regex": true, "max_results": 1
            })),
            Example::refusal("Refuses a broken pattern.", before, Code::ValidationError)
                .args(json!({"content": "(", "regex": true})),
            Example::refusal("Refuses to list everything.", before, Code::ValidationError)
                .args(json!({"directory": "res://src"})),
        ]
    }
}

impl ReadTool for SearchFiles {
    fn run(self, editor: &Editor) -> Result<Outcome, ToolError> {
        if self.name_glob.is_empty() && self.content.is_empty() {
            return Err(ToolError::invalid("name_glob", "neither name_glob nor content is given")
                .hint("`get_filesystem_tree` lists all files"));
        }
        let (_, folder) = super::folder(editor, &self.directory)?;
        let search = Search {
            project: crate::editor::files::absolute("res://"),
            name: self.name(&folder)?,
            content: self.pattern()?,
            sidecars: file_search::is_sidecar(&self.name_glob),
            folder,
        };
        let work = Background::start(move |wanted| file_search::run(&search, wanted));
        Ok(Outcome::Wait(Box::new(move |_| {
            Some(work.poll()?.map(|found| Reply::Json(self.answer(&found))))
        })))
    }
}

impl SearchFiles {
    fn name(
        &self,
        folder: &std::path::Path,
    ) -> Result<Option<ignore::overrides::Override>, ToolError> {
        if self.name_glob.is_empty() {
            return Ok(None);
        }
        let invalid = |it: ignore::Error| {
            ToolError::invalid("name_glob", format!("not a glob: {it}"))
                .hint("for example \"*.gd\" or \"enemy_?.tscn\"")
        };
        if self.name_glob.starts_with('!') {
            return Err(ToolError::invalid("name_glob", "a glob here cannot be negated")
                .hint("for example \"*.gd\""));
        }
        let mut builder = OverrideBuilder::new(folder);
        builder.case_insensitive(self.ignore_case).map_err(invalid)?;
        builder.add(&self.name_glob).map_err(invalid)?;
        builder.build().map(Some).map_err(invalid)
    }

    fn pattern(&self) -> Result<Option<regex::bytes::Regex>, ToolError> {
        if self.content.is_empty() {
            return Ok(None);
        }
        let text = match self.regex {
            true => self.content.clone(),
            false => regex::escape(&self.content),
        };
        let built =
            RegexBuilder::new(&text).case_insensitive(self.ignore_case).multi_line(true).build();
        built.map(Some).map_err(|it| {
            ToolError::invalid("content", format!("not a regular expression: {it}"))
                .hint("leave regex out to find the very text")
        })
    }

    fn answer(&self, found: &Found) -> Value {
        let total = found.hits.len();
        let mut page = found.hits.iter().skip(self.offset).take(self.max_results);
        let mut answer = json!({"total": total, "files_searched": found.files});
        let mut next = self.offset.min(total);
        if self.content.is_empty() {
            let files: Vec<&str> = page.map(|it| it.file.as_str()).collect();
            next += files.len();
            answer["files"] = json!(files);
        } else {
            let mut lines = String::new();
            for hit in page.by_ref() {
                if !lines.is_empty() {
                    lines.push('\n');
                }
                lines.push_str(&format!("{}:{}:{}: {}", hit.file, hit.line, hit.column, hit.text));
                next += 1;
                if lines.len() >= MAX_TEXT {
                    break;
                }
            }
            // `file:line:column: text`, a line each.
            answer["matches"] = json!(untrusted::wrap("project files", &lines));
        }
        if next < total {
            answer["next_offset"] = json!(next);
        }
        if !found.too_large.is_empty() {
            answer["not_searched_too_large"] =
                json!(found.too_large.iter().take(20).collect::<Vec<_>>());
            answer["not_searched_total"] = json!(found.too_large.len());
        }
        if found.binary > 0 {
            answer["binary_files_skipped"] = json!(found.binary);
        }
        answer
    }
}

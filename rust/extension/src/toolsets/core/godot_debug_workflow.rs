//! One call that looks for problems in every cheap way there is. What it finds is text of the
//! project, so it is told as untrusted lines.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use godot::classes::{Os, ProjectSettings, ResourceUid};
use godot::obj::Singleton;
use godot_mcp_core::feed::Severity;
use godot_mcp_core::game_log::{self, Finding};
use godot_mcp_core::paths::{Access, Roots};
use godot_mcp_core::untrusted;

use crate::editor::game_process::{GameProcess, Stage};
use crate::editor::{resource_text, script_check};
use crate::tool_prelude::*;

/// One report on the health of the project: checks all scripts, sums up the edited scene, runs
/// the saved project headless for some seconds, and lists errors with file and line and what to
/// do. Edits wait meanwhile.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct GodotDebugWorkflow {
    /// Scene to run as `res://` path; by default the main scene.
    #[serde(default)]
    scene: String,
    /// Time after which the game is ended, at most 540.
    #[serde(default = "five")]
    #[schemars(range(min = 0.1, max = 3600.0))]
    timeout_seconds: f64,
    /// The game is meant to run until then.
    #[serde(default)]
    expected_timeout: bool,
}

fn five() -> f64 {
    5.0
}

/// A call may take 10 minutes (S2.3); the rest is for checks and report.
const MAX_RUN_SECONDS: f64 = 540.0;
const MAX_SCRIPTS: usize = 2_000;
const MAX_FINDINGS: usize = 50;
const MAX_TAIL: usize = 3_000;
/// Time for checks in one frame, so the editor stays fluid.
const SLICE: Duration = Duration::from_millis(10);

impl Tool for GodotDebugWorkflow {
    const NAME: &'static str = "godot_debug_workflow";
    const TOOLSET: &'static str = "core";

    fn adjust(spec: &mut ToolSpec) {
        spec.executes_code = true;
        spec.free_text = true;
        spec.timeout = Duration::from_secs(600);
    }

    fn examples() -> Vec<Example> {
        vec![
            Example::answer(
                "Reports on the project.",
                "",
                json!({
                    "scripts": "*", "run": "*", "findings_total": "*", "suggestions": "*"
                }),
            )
            .args(json!({"timeout_seconds": 0.5, "expected_timeout": true})),
            Example::refusal("Refuses a scene that is not there.", "", Code::ResourceNotFound)
                .args(json!({"scene": "res://nowhere.tscn"})),
            Example::refusal("Refuses to leave the project.", "", Code::PathDenied)
                .args(json!({"scene": "res://../outside.tscn"})),
        ]
    }
}

impl RuntimeTool for GodotDebugWorkflow {
    fn run(self, editor: &Editor) -> Result<Outcome, ToolError> {
        let roots = &editor.shared().gate.settings().roots;
        let given = match self.scene.as_str() {
            "" => None,
            scene => Some(existing_scene(roots, scene)?),
        };
        let mut scripts = VecDeque::new();
        collect_scripts(roots.project(), roots.project(), &mut scripts);
        let scripts_left_out = scripts.len().saturating_sub(MAX_SCRIPTS);
        scripts.truncate(MAX_SCRIPTS);
        let mut workflow = Workflow {
            project: roots.project().to_owned(),
            scene: given.clone().unwrap_or_else(main_scene),
            given: given.is_some(),
            timeout: Duration::from_secs_f64(self.timeout_seconds.min(MAX_RUN_SECONDS)),
            capped: self.timeout_seconds > MAX_RUN_SECONDS,
            expected_timeout: self.expected_timeout,
            scripts_total: scripts.len(),
            scripts,
            scripts_left_out,
            broken: 0,
            findings: Vec::new(),
            game: None,
        };
        Ok(Outcome::Wait(Box::new(move |editor| workflow.poll(editor))))
    }
}

fn existing_scene(roots: &Roots, scene: &str) -> Result<String, ToolError> {
    let file = roots.resolve_res(scene, Access::Read).map_err(|it| it.required("scene"))?;
    let scene = Roots::tidy_res(scene)?;
    if !file.is_file() {
        return Err(ToolError::not_found(format!("no scene \"{scene}\"")).required("scene"));
    }
    if !file.extension().is_some_and(|it| it == "tscn" || it == "scn") {
        return Err(ToolError::invalid("scene", format!("\"{scene}\" is not a scene"))
            .hint("give a .tscn or .scn file"));
    }
    Ok(scene)
}

/// `res://` path of the main scene, empty when none is set.
fn main_scene() -> String {
    let setting = ProjectSettings::singleton().get_setting("application/run/main_scene");
    let path = setting.stringify().to_string();
    if !path.starts_with("uid://") {
        return path;
    }
    let uids = ResourceUid::singleton();
    let id = uids.text_to_id(&path);
    if uids.has_id(id) { uids.get_id_path(id).to_string() } else { path }
}

/// All scripts of the project but this addon's own. Links are not followed.
fn collect_scripts(project: &Path, folder: &Path, scripts: &mut VecDeque<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut entries: Vec<_> = entries.filter_map(Result::ok).collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        if kind.is_dir() {
            let ours =
                path.strip_prefix(project).is_ok_and(|it| it == Path::new("addons/godot_mcp"));
            if !ours && !path.join(".gdignore").exists() {
                collect_scripts(project, &path, scripts);
            }
        } else if kind.is_file() && path.extension().is_some_and(|it| it == "gd") {
            scripts.push_back(path);
        }
    }
}

/// The state of one report between frames.
struct Workflow {
    project: PathBuf,
    scene: String,
    /// Whether the caller named the scene.
    given: bool,
    timeout: Duration,
    capped: bool,
    expected_timeout: bool,
    scripts: VecDeque<PathBuf>,
    scripts_total: usize,
    scripts_left_out: usize,
    broken: usize,
    findings: Vec<Finding>,
    game: Option<GameProcess>,
}

impl Workflow {
    fn poll(&mut self, editor: &Editor) -> Option<Answer> {
        if !self.scripts.is_empty() {
            self.check_some(editor);
            return None;
        }
        let Some(game) = &mut self.game else {
            if self.scene.is_empty() {
                self.problem(
                    Severity::Error,
                    "no main scene is set, so nothing was run".to_owned(),
                );
                return Some(Ok(self.report(editor, json!({"ended": "not_started"}), "").into()));
            }
            return self.start(editor);
        };
        let seconds = game.elapsed().as_secs_f64();
        let seconds = (seconds * 100.0).round() / 100.0;
        let mut run = json!({"scene": self.scene, "seconds": seconds});
        match game.poll() {
            Ok(Stage::Running) if game.elapsed() < self.timeout => {
                editor.progress(seconds, Some(self.timeout.as_secs_f64()), "running the game");
                return None;
            }
            Ok(Stage::Running) => {
                game.kill();
                run["ended"] = json!("timeout");
                if !self.expected_timeout {
                    let text = format!("the game had not ended by itself after {seconds} s");
                    self.problem(Severity::Warning, text);
                }
            }
            Ok(Stage::Ended(status)) => {
                run["ended"] = json!("exit");
                run["exit_code"] = json!(status.code());
                if !status.success() {
                    self.problem(Severity::Error, format!("the game ended with {status}"));
                }
            }
            Ok(Stage::Flooded) => {
                run["ended"] = json!("too_much_output");
                self.problem(
                    Severity::Error,
                    "the game printed without end and was ended".to_owned(),
                );
            }
            Err(error) => {
                run["ended"] = json!("lost");
                self.problem(Severity::Error, format!("the game was lost: {error}"));
            }
        }
        if self.capped {
            run["timeout_capped_to"] = json!(MAX_RUN_SECONDS);
        }
        let output = self.game.take().map(|it| it.output()).unwrap_or_default();
        self.findings.extend(game_log::findings(&output));
        Some(Ok(self.report(editor, run, &game_log::plain(&output)).into()))
    }

    fn check_some(&mut self, editor: &Editor) {
        let begun = Instant::now();
        while begun.elapsed() < SLICE
            && let Some(file) = self.scripts.pop_front()
        {
            let Ok(relative) = file.strip_prefix(&self.project) else { continue };
            let parts: Vec<_> = relative.iter().map(|it| it.to_string_lossy()).collect();
            let path = format!("res://{}", parts.join("/"));
            let found = match std::fs::read_to_string(&file) {
                Ok(source) => script_check::check(editor, &path, &source),
                Err(error) => {
                    vec![problem(Severity::Error, format!("cannot read \"{path}\": {error}"))]
                }
            };
            self.broken += usize::from(!found.is_empty());
            self.findings.extend(found);
        }
        let done = self.scripts_total - self.scripts.len();
        editor.progress(done as f64, Some(self.scripts_total as f64), "checking scripts");
    }

    fn start(&mut self, editor: &Editor) -> Option<Answer> {
        let executable = Os::singleton().get_executable_path().to_string();
        let scene = self.given.then_some(self.scene.as_str());
        match GameProcess::start(&executable, &self.project, scene) {
            Ok(game) => {
                self.game = Some(game);
                None
            }
            Err(error) => {
                self.problem(Severity::Error, format!("the game cannot be started: {error}"));
                Some(Ok(self.report(editor, json!({"ended": "not_started"}), "").into()))
            }
        }
    }

    fn problem(&mut self, severity: Severity, message: String) {
        self.findings.push(problem(severity, message));
    }

    fn report(&mut self, editor: &Editor, run: Value, output: &str) -> Value {
        let summary = resource_text::summary(editor);
        let mut suggestions = suggestions(&self.findings);
        if summary["dirty"] == true {
            suggestions.push(
                "the edited scene has unsaved changes, which the run did not have".to_owned(),
            );
        }
        // The worst first; what comes first usually causes the rest, so the order stays.
        self.findings.sort_by_key(|it| std::cmp::Reverse(it.severity));
        let errors = self.findings.iter().filter(|it| it.severity == Severity::Error).count();
        let lines: Vec<String> = self
            .findings
            .iter()
            .take(MAX_FINDINGS)
            .filter_map(|it| serde_json::to_string(it).ok())
            .collect();
        let mut scripts = json!({"checked": self.scripts_total, "with_errors": self.broken});
        if self.scripts_left_out > 0 {
            scripts["left_out"] = json!(self.scripts_left_out);
        }
        let mut report = json!({
            "ok": errors == 0,
            "scripts": scripts,
            "edited_scene": summary,
            "run": run,
            "errors": errors,
            "findings_total": self.findings.len(),
            "suggestions": suggestions,
        });
        if !lines.is_empty() {
            report["findings"] = json!(untrusted::wrap("project", &lines.join("\n")));
        }
        let output = output.trim();
        if !output.is_empty() {
            let tail = output.char_indices().rev().nth(MAX_TAIL).map_or(0, |it| it.0);
            report["output_tail"] = json!(untrusted::wrap("game output", &output[tail..]));
        }
        report
    }
}

fn problem(severity: Severity, message: String) -> Finding {
    Finding {
        severity,
        source: "run",
        message,
        file: String::new(),
        line: 0,
        times: 1,
        stack: Vec::new(),
    }
}

/// What to do about findings of known kinds, each once.
fn suggestions(findings: &[Finding]) -> Vec<String> {
    const RULES: &[(&str, &str)] = &[
        ("no main scene", "set application/run/main_scene, or give scene"),
        (
            "on a null value",
            "a variable is null: check node paths and `@onready` lines at the place named",
        ),
        (
            "type 'Nil'",
            "a variable is null: check node paths and `@onready` lines at the place named",
        ),
        (
            "Nonexistent function",
            "a method does not exist there: `describe_class` lists those of a class",
        ),
        (
            "Node not found",
            "a node path leads nowhere: compare it with the resource godot://scene/tree",
        ),
        ("Failed loading resource", "a file is missing or broken: check its path"),
        ("Cannot open file", "a file is missing or broken: check its path"),
        (
            "had not ended by itself",
            "for a scene that runs on, pass expected_timeout true or a longer timeout_seconds",
        ),
    ];
    let mut list = Vec::new();
    if let Some(first) = findings.iter().find(|it| it.source == "parse") {
        list.push(format!("fix parse errors first: {}:{}", first.file, first.line));
    }
    for (part, advice) in RULES {
        let advice = (*advice).to_owned();
        if findings.iter().any(|it| it.message.contains(part)) && !list.contains(&advice) {
            list.push(advice);
        }
    }
    list
}

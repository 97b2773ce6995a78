//! What a script declares about a tool, made into the spec of one.

use godot::builtin::{Callable, VarDictionary};
use godot::classes::{Engine, Json};
use godot::meta::ToGodot;
use godot::obj::Singleton;
use godot_mcp_core::registry::Registry;
use godot_mcp_core::schema::Checker;
use godot_mcp_core::spec::{DEFAULT_TIMEOUT, TabUse};
use godot_mcp_core::toolset::{self, Toolset};
use godot_mcp_core::{SafetyClass, Site, ToolSpec};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::time::Duration;

use super::settings::Wanted;
use super::{Fault, ScriptTool};

/// X3.1.
const RESERVED: &[&str] = &[
    "scene",
    "script",
    "editor",
    "node",
    "runtime",
    "server",
    "resource",
    "folder",
    "file",
    "signal",
    "playtest",
    "project",
    "input_map",
    "animation",
    "tilemap",
    "asset",
    "save",
    "meta",
    "game",
    "diff",
    "autoload",
    "extensions",
];
const SHORTEST_MS: i64 = 1_000;
const LONGEST_MS: i64 = 300_000;

/// As `MCPToolkitCommandOptions.to_dict` says it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Declared {
    description: String,
    title: Option<String>,
    input_schema: Option<Value>,
    output_schema: Option<Value>,
    timeout_ms: i64,
    group: Option<Group>,
    read_only: bool,
    destructive: bool,
    idempotent: bool,
    open_world: bool,
    cancellable: bool,
    dry_run: bool,
    exclusive: bool,
    scene_independent: bool,
    min_godot: String,
    max_godot: String,
    success_hint: String,
    project_paths: Vec<String>,
    user_paths: Vec<String>,
    examples: Vec<Sample>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Sample {
    arguments: Map<String, Value>,
    note: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Group {
    name: String,
    description: String,
    keywords: Vec<String>,
}

/// The tool, none when this version of Godot is none of its; its settings; and what is said about it.
type Made = (Option<ScriptTool>, Vec<Wanted>, Vec<Fault>);

/// Makes a tool of what a script declares.
pub(super) fn tool(
    class: &str,
    method: &str,
    handler: Callable,
    options: &VarDictionary,
) -> Result<Made, Fault> {
    let refuse = |why: String| Fault::new(format!("\"{method}\": {why}"));
    check_name(method).map_err(refuse)?;
    if !handler.is_valid() {
        return Err(refuse("its handler is no function of a live object".to_owned()));
    }
    let text = Json::stringify(&options.to_variant()).to_string();
    let declared: Declared = serde_json::from_str(&text)
        .map_err(|it| refuse(format!("its options are not understood: {it}")))?;
    if declared.read_only && declared.destructive {
        return Err(refuse(
            "it is marked both read-only and destructive; a tool that deletes is not read-only"
                .into(),
        ));
    }
    if !is_between(&declared.min_godot, &declared.max_godot) {
        return Ok((None, Vec::new(), Vec::new()));
    }
    let schema = match declared.input_schema {
        None => Map::new(),
        Some(Value::Object(map)) => map,
        Some(_) => return Err(refuse("its input schema is no dictionary".into())),
    };
    let params: Vec<&String> = declared.project_paths.iter().chain(&declared.user_paths).collect();
    if let Some(name) = params
        .iter()
        .find(|it| schema.get("properties").and_then(|all| all.get(it.as_str())).is_none())
    {
        return Err(refuse(format!(
            "the path guard names \"{name}\", which the input schema does not declare"
        )));
    }
    let wanted =
        Wanted::all(method.split('.').next().unwrap_or_default(), options).map_err(refuse)?;
    let mut notes = Vec::new();
    let timeout = match declared.timeout_ms {
        ..=0 => DEFAULT_TIMEOUT,
        given => {
            let kept = given.clamp(SHORTEST_MS, LONGEST_MS);
            if kept != given {
                notes.push(refuse(format!("a timeout of {given} ms was made {kept} ms")));
            }
            Duration::from_millis(u64::try_from(kept).unwrap_or(30_000))
        }
    };
    let class_of = match (declared.read_only, declared.destructive) {
        (true, _) => SafetyClass::ReadOnly,
        (_, true) => SafetyClass::Destructive,
        _ => SafetyClass::Mutating,
    };
    let set: &'static Toolset = match &declared.group {
        Some(group) if !group.name.trim().is_empty() => {
            toolset::of_project(group.name.trim(), &group.description, &group.keywords)
        }
        _ => toolset::of_project(
            toolset::PROJECT,
            "Tools that this project adds without a group.",
            &[],
        ),
    };
    let name = method.replace('.', "_");
    let mut spec = ToolSpec::new(name, set.name, class_of, declared.description, schema);
    Registry::check(&spec).map_err(|it| refuse(format!("its input schema is refused: {it}")))?;
    for Sample { arguments, note } in declared.examples {
        let fits = Checker::new(&spec.input_schema)
            .and_then(|it| it.check(arguments.clone()).map_err(|it| it.into_fault().message));
        match fits {
            Ok(_) => {
                let note = if note.is_empty() { note } else { format!(" ({note})") };
                spec.description += &format!("\n\nExample: {}{note}", Value::Object(arguments));
            }
            Err(why) => notes.push(refuse(format!("an example does not fit its schema: {why}"))),
        }
    }
    spec.site = match class_of {
        SafetyClass::ReadOnly => Site::FastLane,
        _ => Site::SafeLane,
    };
    spec.timeout = timeout;
    spec.executes_code = true;
    spec.exclusive = declared.exclusive;
    if declared.scene_independent {
        spec.tab = TabUse::Apart;
    }
    spec.hints.title = declared.title;
    spec.hints.idempotent = declared.idempotent;
    spec.hints.open_world = declared.open_world;
    spec.hints.output_schema = declared.output_schema.and_then(|it| it.as_object().cloned());
    let tool = ScriptTool {
        spec,
        set,
        method: method.to_owned(),
        handler,
        class: class.to_owned(),
        owner: None,
        takes_context: declared.cancellable || declared.dry_run,
        dry_run: declared.dry_run,
        success_hint: declared.success_hint,
        project_paths: declared.project_paths,
        user_paths: declared.user_paths,
    };
    Ok((Some(tool), wanted, notes))
}

fn check_name(method: &str) -> Result<(), String> {
    let parts: Vec<&str> = method.split('.').collect();
    let fine = |part: &&str| {
        part.starts_with(|it: char| it.is_ascii_lowercase())
            && part.chars().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '_')
    };
    if parts.len() < 2 || !parts.iter().all(fine) {
        return Err("a name has the form <what>.<action>, in lower case".to_owned());
    }
    let taken = RESERVED.iter().copied().chain(toolset::TOOLSETS.iter().map(|it| it.name));
    if taken.clone().any(|it| it == parts[0]) {
        return Err(format!("the namespace \"{}\" is reserved; choose your own", parts[0]));
    }
    Ok(())
}

/// Whether this editor is from `min` to `max`, each of which may be empty.
fn is_between(min: &str, max: &str) -> bool {
    let version = Engine::singleton().get_version_info();
    let number = |key: &str| version.get(key).and_then(|it| it.try_to::<u32>().ok()).unwrap_or(0);
    let own = [number("major"), number("minor"), number("patch")];
    let parse =
        |text: &str| -> Vec<u32> { text.split('.').filter_map(|it| it.parse().ok()).collect() };
    let (min, max) = (parse(min), parse(max));
    own[..] >= min[..] && (max.is_empty() || own[..max.len().min(3)] <= max[..])
}

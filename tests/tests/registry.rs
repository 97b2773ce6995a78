//! Rules that every registered tool keeps, checked without an editor.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use godot_mcp_core::gate::{Gate, GateSettings};
use godot_mcp_core::paths::Roots;
use godot_mcp_core::registry::Registry;
use godot_mcp_core::{Expect, SafetyClass, ToolSpec, UndoKind, paths, schema, toolset};
use godot_mcp_tests::editor::repository;
use serde_json::{Value, json};

/// S6.7: tools whose effect is editor state. It grows only with a reason.
const EDITOR_STATE: &[&str] = &[
    "godot_undo",
    "godot_redo",
    "save_scene",
    "open_scene",
    "reload_scene",
    "close_scene",
    "save_all_scenes",
    "select_nodes",
];
/// Default `tools/list` (S11.5).
const MAX_DEFAULT_TOOLS: usize = 28;
const MAX_DEFAULT_TOKENS: usize = 3_000;
const MAX_TOKENS_A_TOOL: usize = 110;

fn registry() -> Registry {
    Registry::new(godot_mcp_extension::builtin_specs())
}

/// Fails with every violation at once.
#[track_caller]
fn none(problems: Vec<String>) {
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

fn each(check: impl Fn(&ToolSpec) -> Vec<String>) -> Vec<String> {
    let registry = registry();
    registry
        .tools()
        .flat_map(|spec| {
            check(spec).into_iter().map(|it| format!("{}: {it}", spec.name)).collect::<Vec<_>>()
        })
        .collect()
}

/// S1.1, S1.2: the class decides `dry_run`, `confirm` and the kind of undo.
#[test]
fn classes_are_consistent() {
    none(each(|spec| {
        let mut problems = Vec::new();
        let properties = &spec.input_schema["properties"];
        if properties.get(schema::DRY_RUN).is_some() != spec.class.has_dry_run() {
            problems.push("dry_run does not follow from the class".to_owned());
        }
        if properties.get(schema::CONFIRM).is_some() != spec.class.has_confirm() {
            problems.push("confirm does not follow from the class".to_owned());
        }
        let edits = spec.class.has_dry_run();
        if edits == (spec.undo == UndoKind::Nothing) {
            problems.push(format!("undo is {:?}", spec.undo));
        }
        let state = matches!(spec.undo, UndoKind::EditorState(_));
        if state != EDITOR_STATE.contains(&spec.name.as_str()) {
            problems.push("editor state: not as the list in this test says (S6.7)".to_owned());
        }
        problems
    }));
}

/// Names, sentences and examples.
#[test]
fn tools_are_documented() {
    none(each(|spec| {
        let mut problems = Vec::new();
        let plain = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '_';
        if !spec.name.chars().all(plain) || spec.name.len() > 64 {
            problems.push("the name is not snake case".to_owned());
        }
        if !spec.description.ends_with('.') || spec.description.len() > 600 {
            problems.push("the description is no short sentence".to_owned());
        }
        for (name, declared) in spec.input_schema["properties"].as_object().into_iter().flatten() {
            let text = declared["description"].as_str().unwrap_or_default();
            if !text.is_empty() && !text.ends_with('.') {
                problems.push(format!("the description of {name} does not end as a sentence"));
            }
        }
        if !spec.examples.iter().any(|it| !matches!(it.expect, Expect::Refusal(_))) {
            problems.push("no example of success".to_owned());
        }
        let refused = spec.examples.iter().any(|it| matches!(it.expect, Expect::Refusal(_)));
        let takes = spec.input_schema.get("required").is_some() || spec.class.has_dry_run();
        if takes
            && !refused
            && !["save_all_scenes", "godot_undo", "godot_redo"].contains(&spec.name.as_str())
        {
            problems.push("no example of a refusal".to_owned());
        }
        problems
    }));
}

/// The arguments of each example are valid for the schema that clients see.
#[test]
fn examples_fit_the_schema() {
    let registry = registry();
    let mut problems = Vec::new();
    for spec in registry.tools() {
        let checker = schema::Checker::new(&spec.input_schema).expect("compiles");
        for example in &spec.examples {
            let expects_refusal = matches!(example.expect, Expect::Refusal(_));
            if let Err(error) = checker.check(example.args.clone())
                && !expects_refusal
            {
                problems.push(format!("{}: {}: {error}", spec.name, example.title));
            }
        }
    }
    none(problems);
}

/// S11.7: only what every client accepts.
#[test]
fn schemas_are_plain() {
    fn walk(schema: &Value, at: &str, problems: &mut Vec<String>) {
        let Value::Object(map) = schema else { return };
        for key in ["$ref", "oneOf", "anyOf", "allOf", "not", "$defs"] {
            if map.contains_key(key) {
                problems.push(format!("{at} has {key}"));
            }
        }
        for (name, property) in
            map.get("properties").and_then(Value::as_object).into_iter().flatten()
        {
            if property.get("type").is_none() {
                problems.push(format!("{at}/{name} has no type"));
            }
            walk(property, &format!("{at}/{name}"), problems);
        }
        if schema::allows(schema, "array") && map.get("items").is_none() {
            problems.push(format!("{at} is an array without items"));
        }
        if let Some(items) = map.get("items") {
            walk(items, &format!("{at}/items"), problems);
        }
    }
    none(each(|spec| {
        let mut problems = Vec::new();
        // It is compiled at the first call only.
        if let Err(error) = schema::Checker::new(&spec.input_schema) {
            problems.push(format!("does not compile: {error}"));
        }
        walk(&Value::Object(spec.input_schema.clone()), "", &mut problems);
        problems
    }));
}

/// S8.2: a string parameter whose name ends in path or file, at any depth, is contained by format.
/// Node paths are not files.
#[test]
fn path_parameters_are_contained() {
    fn walk(schema: &Value, at: &str, problems: &mut Vec<String>) {
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let at = format!("{at}/{name}");
            let node = [
                "node_path",
                "parent_path",
                "source_path",
                "target_path",
                "root_path",
                "track_path",
                "tree_path",
            ];
            let named =
                (name.ends_with("path") || name.ends_with("file")) && !name.ends_with("node_path");
            let format = property["format"].as_str().unwrap_or_default();
            let contained = paths::FORMATS.contains(&format);
            if named
                && !contained
                && !node.contains(&name.as_str())
                && !name.ends_with("parent_path")
            {
                problems.push(format!("{at} names a file without a format"));
            }
            walk(property, &at, problems);
            if let Some(items) = property.get("items") {
                walk(items, &at, problems);
            }
        }
    }
    none(each(|spec| {
        let mut problems = Vec::new();
        walk(&Value::Object(spec.input_schema.clone()), "", &mut problems);
        problems
    }));
}

/// Descriptions and hints name only tools that exist.
#[test]
fn named_tools_exist() {
    let registry = registry();
    let known: BTreeSet<_> = registry.tools().map(|it| it.name.clone()).collect();
    let parameters: BTreeSet<String> = registry
        .tools()
        .flat_map(|it| it.input_schema["properties"].as_object().cloned().unwrap_or_default())
        .map(|it| it.0)
        .collect();
    let mut problems = Vec::new();
    let mut check = |text: &str, at: &str| {
        for word in text.split('`').skip(1).step_by(2) {
            let tool_like =
                word.contains('_') && word.chars().all(|it| it.is_ascii_lowercase() || it == '_');
            if tool_like
                && !known.contains(word)
                && !parameters.contains(word)
                && !ALLOWED_WORDS.contains(&word)
            {
                problems.push(format!("{at} names `{word}`"));
            }
        }
    };
    for spec in registry.tools() {
        check(&spec.description, &spec.name);
    }
    // Hints are in the sources; string literals in doc comments are not hints.
    let sources = repository().join("rust");
    each_source(&sources, &mut |path, text| {
        for line in text.lines().filter(|it| !it.trim_start().starts_with("//")) {
            if line.contains('"') {
                check(line, path);
            }
        }
    });
    none(problems);
}

/// Prompts name only tools that can be called, and say which toolsets have to be switched on for
/// them: with the default toolsets, with all, and on a read-only server.
#[test]
fn prompts_name_tools_that_can_be_called() {
    let roots = Roots::new(std::path::Path::new("."), std::path::Path::new("."));
    let gate = |toolsets: Option<&str>, read_only| {
        Gate::new(
            GateSettings {
                read_only,
                default_toolsets: toolsets.map(str::to_owned),
                godot: (4, 6, 0),
                roots: roots.clone(),
            },
            registry(),
        )
    };
    let gates = [gate(None, false), gate(Some("all"), false), gate(None, true)];
    let mut problems = Vec::new();
    for prompt in godot_mcp_extension::prompts() {
        let all: BTreeMap<_, _> =
            prompt.arguments.iter().map(|it| (it.name.clone(), format!("<{}>", it.name))).collect();
        let required = prompt.arguments.iter().filter(|it| it.required);
        let least: BTreeMap<_, _> = required.map(|it| (it.name.clone(), "x".to_owned())).collect();
        for (gate, arguments) in gates.iter().flat_map(|it| [(it, &all), (it, &least)]) {
            let mut problem = |text: String| problems.push(format!("{}: {text}", prompt.name));
            let text = godot_mcp_extension::prompt_text(gate, &prompt.name, arguments);
            let text = text.expect("a listed prompt");
            let enabled = text.split_once("category \"").map_or("", |it| it.1);
            let enabled: Vec<_> =
                enabled.split('"').next().unwrap_or_default().split(',').collect();
            let mut named = 0;
            for tool in text.split('`').skip(1).step_by(2) {
                let Some(spec) = gate.registry().get(tool).map(|it| it.spec.clone()) else {
                    problem(format!("names `{tool}`, which is no tool"));
                    continue;
                };
                named += 1;
                if !gate.is_enabled(&spec.toolset) && !enabled.contains(&spec.toolset.as_str()) {
                    problem(format!("does not say that `{tool}` is in {}", spec.toolset));
                }
                if gate.settings().read_only && spec.class != SafetyClass::ReadOnly {
                    problem(format!("names `{tool}` on a read-only server"));
                }
            }
            if named < 3 || text.lines().count() < 6 {
                problem(format!("does not help:\n{text}"));
            }
            for argument in arguments.values().filter(|it| !text.contains(*it)) {
                problem(format!("leaves out {argument}:\n{text}"));
            }
            if text.contains('{') || text.contains("(without") || text.contains("(read-only)") {
                problem(format!("has notation left:\n{text}"));
            }
        }
    }
    none(problems);
}

/// Words in backticks that look like tools and are not.
const ALLOWED_WORDS: &[&str] = &["dry_run", "input_schema"];

fn each_source(folder: &std::path::Path, visit: &mut dyn FnMut(&str, &str)) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() && !path.ends_with("target") && !path.ends_with("tests") {
            each_source(&path, visit);
        } else if path.extension().is_some_and(|it| it == "rs") {
            let text = std::fs::read_to_string(&path).expect("UTF-8");
            visit(&path.display().to_string(), &text);
        }
    }
}

/// Every file in a toolset's folder is a registered tool, and every tool has its file.
#[test]
fn files_and_tools_agree() {
    let registry = registry();
    let folder = repository().join("rust/extension/src/toolsets");
    let mut problems = Vec::new();
    for toolset in registry.toolsets() {
        let tools: BTreeSet<_> =
            registry.tools_of(toolset.name).map(|it| it.name.clone()).collect();
        let files: BTreeSet<_> = std::fs::read_dir(folder.join(toolset.name))
            .expect("a folder")
            .flatten()
            .filter(|it| it.path().is_file())
            .filter_map(|it| {
                it.file_name().to_string_lossy().strip_suffix(".rs").map(str::to_owned)
            })
            .collect();
        problems
            .extend(tools.symmetric_difference(&files).map(|it| format!("{}: {it}", toolset.name)));
    }
    none(problems);
}

/// S11.5. Counted is what a model sees: name, description and input schema.
#[test]
fn the_context_stays_small() {
    let registry = registry();
    let bpe = tiktoken_rs::o200k_base().expect("a vocabulary");
    let cost = |spec: &ToolSpec| {
        let entry = json!({
            "name": spec.name, "description": spec.description, "inputSchema": spec.input_schema
        });
        bpe.encode_ordinary(&entry.to_string()).len()
    };
    let (enabled, _) = toolset::seed(None, registry.toolsets().map(|it| it.name));
    let default: Vec<_> = registry.tools().filter(|it| enabled.contains(&it.toolset)).collect();
    let mut costs: Vec<_> = default.iter().map(|it| (cost(it), it.name.clone())).collect();
    costs.sort();
    let sum: usize = costs.iter().map(|it| it.0).sum();
    println!(
        "default: {} tools, {sum} tokens; dearest: {:?}",
        default.len(),
        costs.iter().rev().take(8).collect::<Vec<_>>()
    );
    assert!(default.len() <= MAX_DEFAULT_TOOLS, "{} tools", default.len());
    assert!(sum <= MAX_DEFAULT_TOKENS, "{sum} tokens: {costs:?}");

    let mut all: Vec<_> = registry.tools().map(|it| (cost(it), it.name.clone())).collect();
    let average = all.iter().map(|it| it.0).sum::<usize>() / all.len();
    all.sort();
    println!(
        "all: {} tools, {average} tokens a tool; dearest: {:?}",
        all.len(),
        all.iter().rev().take(30).collect::<Vec<_>>()
    );
    assert!(average <= MAX_TOKENS_A_TOOL, "{average} tokens a tool");
}

/// S1.4: the reference is up to date.
#[test]
fn docs_are_up_to_date() {
    let stale = godot_mcp_tests::reference::write_or_check(true);
    assert!(stale.is_empty(), "run `make docs`: {stale:?}");
}

/// S9.2: every tool that is not read-only says so in the annotations that the class gives.
#[test]
fn read_only_tools_take_no_flags() {
    none(each(|spec| {
        let flags = spec.writes_disk || spec.executes_code;
        match spec.class {
            SafetyClass::ReadOnly if flags => vec!["a read does not write or run code".to_owned()],
            _ => Vec::new(),
        }
    }));
}

/// `quirks::name_classes` names every engine class that the extension imports.
#[test]
fn classes_are_named_early() {
    let sources = repository().join("rust/extension/src");
    let quirks = std::fs::read_to_string(sources.join("editor/quirks.rs")).expect("UTF-8");
    let mut missing = BTreeSet::new();
    each_source(&sources, &mut |_, text| {
        for part in text.split("godot::classes::").skip(1) {
            let names = match part.strip_prefix('{') {
                Some(list) => list.split('}').next().unwrap_or_default(),
                None => part
                    .split(|it: char| !it.is_alphanumeric() && it != '_')
                    .next()
                    .unwrap_or_default(),
            };
            for name in
                names.split([',', ' ', '\n']).map(|it| it.split("::").next().unwrap_or_default())
            {
                // Traits such as `INode` and modules are no classes.
                let class = name.starts_with(|it: char| it.is_ascii_uppercase())
                    && !(name.starts_with('I')
                        && name[1..].starts_with(|it: char| it.is_ascii_uppercase()));
                if class && !quirks.contains(&format!("classes::{name} as GodotClass")) {
                    missing.insert(name.to_owned());
                }
            }
        }
    });
    assert!(missing.is_empty(), "add to quirks::name_classes: {missing:?}");
}

/// X1: each class of the interface of extensions is documented for the editor's help, with all that it has.
#[test]
fn scripts_of_extensions_are_documented() {
    let classes = "Extension CommandRegistry CommandOptions ExtensionOptions ToolContext UndoRedoAction \
        SafeSceneOps Success Error FileGuard Untrusted Pagination";
    let folder = repository().join("addons/godot_mcp/api");
    let texts: Vec<String> = std::fs::read_dir(folder)
        .expect("listed")
        .filter_map(|it| Some(it.ok()?.path()))
        .filter(|it| it.extension().is_some_and(|it| it == "gd"))
        .map(|it| std::fs::read_to_string(it).expect("a script"))
        .collect();
    let mut wrong = Vec::new();
    for class in classes.split_whitespace() {
        let line = format!("class_name MCPToolkit{class}\n");
        let Some(text) = texts.iter().find(|it| it.contains(&line)) else {
            wrong.push(format!("there is no MCPToolkit{class}"));
            continue;
        };
        let lines: Vec<&str> = text.lines().collect();
        let head: Vec<&&str> = lines.iter().skip_while(|it| !it.starts_with("extends")).collect();
        if !head.get(1).is_some_and(|it| it.starts_with("## ")) {
            wrong.push(format!("MCPToolkit{class} has no description"));
        }
        for (index, line) in lines.iter().enumerate() {
            let line = line.strip_prefix("static ").unwrap_or(line);
            let public = ["func ", "signal ", "const "].iter().find_map(|it| line.strip_prefix(it));
            let Some(name) = public.filter(|it| !it.starts_with('_')) else { continue };
            // What says it all by its name need not.
            let said = name.starts_with("create_");
            let commented = index > 0 && lines[index - 1].starts_with("##");
            if !said && !commented {
                wrong.push(format!("MCPToolkit{class}: {name}"));
            }
        }
    }
    none(wrong);
}

/// Each test that CASES.md names exists.
#[test]
fn cases_name_tests_that_exist() {
    let text = cases();
    let names = text.split('`').skip(1).step_by(2).filter_map(|it| it.split_once("::"));
    let missing = names.clone().filter(|(file, test)| body_of(file, test).is_none());
    none(missing.map(|(file, test)| format!("there is no test {file}::{test}")).collect());
    assert!(names.count() > 50);
}

/// Each number of the contract of extensions stands in CASES.md, once, with tests that name it.
#[test]
fn numbers_of_extensions_are_tested() {
    let parts = [
        (1, 0),
        (2, 6),
        (3, 3),
        (4, 6),
        (5, 7),
        (6, 0),
        (7, 0),
        (8, 0),
        (9, 0),
        (10, 4),
        (11, 3),
        (12, 0),
        (13, 7),
    ];
    let mut wrong = Vec::new();
    for (part, count) in parts {
        let numbers = match count {
            0 => vec![format!("X{part}")],
            _ => (1..=count).map(|it| format!("X{part}.{it}")).collect(),
        };
        for number in numbers {
            let text = cases();
            let rows: Vec<&str> =
                text.lines().filter_map(|it| it.strip_prefix(&format!("| {number} | "))).collect();
            let [row] = rows[..] else {
                wrong.push(format!("{number} has {} rows", rows.len()));
                continue;
            };
            if row.starts_with("- ") {
                continue;
            }
            for (file, test) in
                row.split('`').skip(1).step_by(2).filter_map(|it| it.split_once("::"))
            {
                let named = body_of(file, test).is_some_and(|it| names(&it, &number));
                if !named {
                    wrong.push(format!("{file}::{test} does not name {number}"));
                }
            }
        }
    }
    none(wrong);
}

/// Each number of the contract of project commands is named by a test, or CASES.md says why not.
#[test]
fn numbers_of_commands_are_tested() {
    let mut tests = String::new();
    for folder in ["rust", "tests"] {
        test_code(&repository().join(folder), &mut tests);
    }
    let mut named = BTreeSet::new();
    for (at, _) in tests.match_indices(['R', 'A', 'B', 'C']) {
        let number = |text: &str| {
            let digits = text.find(|it: char| !it.is_ascii_digit()).unwrap_or(text.len());
            text[..digits].parse::<u32>().ok().map(|it| (it, digits))
        };
        let (kind, rest) = (&tests[at..=at], &tests[at + 1..]);
        let inside = tests[..at].ends_with(|it: char| it.is_alphanumeric() || it == '_');
        let Some((first, digits)) = number(rest).filter(|_| !inside) else { continue };
        let until = rest[digits..].strip_prefix(&format!(" to {kind}")).and_then(number);
        let last = until.map_or(first, |it| it.0).min(first + 100);
        named.extend((first..=last).map(|it| format!("{kind}{it}")));
    }
    let text = cases();
    let mut wrong = Vec::new();
    for (kind, count) in [("R", 98), ("A", 17), ("B", 10), ("C", 10)] {
        for number in (1..=count).map(|it| format!("{kind}{it}")) {
            let excused = text.contains(&format!("\n| {number} | "));
            match (named.contains(&number), excused) {
                (false, false) => wrong.push(format!("no test names {number}")),
                (true, true) => wrong.push(format!("{number} has a test and an excuse")),
                _ => {}
            }
        }
    }
    none(wrong);
}

/// All code of tests below a folder: files of tests, and what follows `#[cfg(test)]` in others.
fn test_code(folder: &Path, into: &mut String) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            test_code(&path, into);
        } else if path.extension().is_some_and(|it| it == "rs") {
            let text = std::fs::read_to_string(&path).expect("UTF-8");
            let inside = path.strip_prefix(repository()).expect("below it");
            let all = path.ends_with("tests.rs")
                || inside.components().any(|it| it.as_os_str() == "tests");
            let from = if all { Some(0) } else { text.find("#[cfg(test)]") };
            into.push_str(from.map_or("", |it| &text[it..]));
        }
    }
}

fn cases() -> String {
    std::fs::read_to_string(repository().join("tests/CASES.md")).expect("CASES.md")
}

/// A number as itself: X1 is not part of X10 nor of X1.1. Ranges name what lies between: "X2 to X5".
fn names(text: &str, number: &str) -> bool {
    let mut rest = text;
    while let Some((_, after)) = rest.split_once(number) {
        let mut next = after.chars();
        match (next.next(), next.next()) {
            (Some(digit), _) if digit.is_ascii_digit() => {}
            (Some('.'), Some(digit)) if digit.is_ascii_digit() => {}
            _ => return true,
        }
        rest = after;
    }
    false
}

/// The function of a test with its comment, up to the next one of that file.
fn body_of(file: &str, test: &str) -> Option<String> {
    let folders = [
        "tests/tests",
        "rust/server/tests/live",
        "rust/core/src/gate",
        "rust/core/src",
        "rust/extension/src",
        "rust/extension/src/extensions",
    ];
    folders.iter().find_map(|it| {
        let path = repository().join(format!("{it}/{file}.rs"));
        let source = std::fs::read_to_string(path).ok()?;
        let at = source.find(&format!("fn {test}("))?;
        let end = source[at..].find("\n}").map_or(source.len(), |it| at + it);
        // Comment and attributes stand before it, without an empty line between.
        let begin = source[..at].rfind("\n\n").unwrap_or(0);
        Some(source[begin..end].to_owned())
    })
}

use std::borrow::Cow;

use godot_mcp_core::discover;
use godot_mcp_core::toolset;
use schemars::{Schema, SchemaGenerator, json_schema};

use crate::tool_prelude::*;

/// Finds toolsets for what you want to do and switches them on. Without a request: all toolsets
/// in short.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct DiscoverTools {
    /// Toolset names, or words such as "move nodes, take a screenshot".
    #[serde(default)]
    request: TextOrList,
    /// False: only look.
    #[serde(default = "yes")]
    activate: bool,
    /// With input schemas and full descriptions.
    #[serde(default)]
    include_schemas: bool,
    /// First switch off: these toolsets, or with true all but the default ones.
    #[serde(default)]
    reset: FlagOrList,
}

fn yes() -> bool {
    true
}

#[derive(Deserialize)]
#[serde(untagged)]
enum TextOrList {
    Text(String),
    List(Vec<String>),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum FlagOrList {
    Flag(bool),
    List(Vec<String>),
}

impl Default for TextOrList {
    fn default() -> Self {
        Self::List(Vec::new())
    }
}

impl Default for FlagOrList {
    fn default() -> Self {
        Self::Flag(false)
    }
}

/// A union spelled by its types, since some clients drop a tool with `anyOf` (S11.7).
macro_rules! plain_union {
    ($name:ident, $kind:literal) => {
        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({"type": [$kind, "array"], "items": {"type": "string"}})
            }
        }
    };
}

plain_union!(TextOrList, "string");
plain_union!(FlagOrList, "boolean");

impl Tool for DiscoverTools {
    const NAME: &'static str = "discover_tools";
    const TOOLSET: &'static str = toolset::CORE;

    fn examples() -> Vec<Example> {
        vec![
            Example::answer("Lists the toolsets in short.", "", json!({"toolsets": "*"})),
            Example::answer("Finds a toolset without switching it on.", "", json!({
                "found": [{"toolset": "core", "matched": ["heartbeat"], "enabled": true, "tools": "*"}]
            }))
            .args(json!({"request": "heartbeat", "activate": false})),
            Example::refusal("Refuses to reset an unknown toolset.", "", Code::ValidationError)
                .args(json!({"reset": ["nonsense"]})),
        ]
    }
}

impl OfflineTool for DiscoverTools {
    fn run(self, shared: &Shared) -> Answer {
        let mut answer = Map::new();
        match &self.reset {
            FlagOrList::Flag(true) => {
                answer.insert("switched_off".into(), json!(back_to_defaults(shared)));
            }
            FlagOrList::List(names) => {
                let (switched, failed) = super::switch(shared, &names.join(","), false)
                    .map_err(|it| it.required("reset"))?;
                let off: Vec<_> = switched.into_iter().filter(|it| it.1).map(|it| it.0).collect();
                answer.insert("switched_off".into(), json!(off));
                if !failed.is_empty() {
                    answer.insert("failed".into(), json!(failed));
                }
            }
            FlagOrList::Flag(false) => {}
        }
        let requests = match self.request {
            TextOrList::Text(text) => text.split(',').map(str::to_owned).collect(),
            TextOrList::List(list) => list,
        };
        if requests.iter().all(|it| it.trim().is_empty()) {
            answer.insert("toolsets".into(), in_short(shared));
            return Ok(Value::Object(answer).into());
        }

        let registry = shared.gate.registry();
        let found = discover::find(&registry, &requests);
        if found.is_empty() {
            answer.insert("found".into(), json!([]));
            answer.insert("toolsets".into(), in_short(shared));
            return Ok(Value::Object(answer).into());
        }
        let names: Vec<String> = found.iter().map(|it| it.name.to_owned()).collect();
        let outcomes = match self.activate {
            true => shared.gate.switch(&names, true),
            false => Vec::new(),
        };
        let entries: Vec<_> = found
            .iter()
            .enumerate()
            .map(|(index, found)| {
                let tools: Vec<_> = registry
                    .tools_of(found.name)
                    .map(|it| if self.include_schemas { it.listing(true) } else { short(it) })
                    .collect();
                let mut entry = json!({
                    "toolset": found.name,
                    "matched": found.words,
                    "enabled": shared.gate.is_enabled(found.name),
                    "tools": tools,
                });
                match outcomes.get(index).map(|it| &it.outcome) {
                    Some(Ok(changed)) => entry["changed"] = json!(changed),
                    Some(Err(error)) => entry["failed"] = error.to_value(),
                    None => {}
                }
                entry
            })
            .collect();
        answer.insert("found".into(), json!(entries));
        Ok(Value::Object(answer).into())
    }
}

/// Switches the enabled set back to what it was at start. Answers what went off.
fn back_to_defaults(shared: &Shared) -> Vec<String> {
    let gate = &shared.gate;
    let registry = gate.registry();
    let known = registry.toolsets().map(|it| it.name);
    let (wanted, _) = toolset::seed(gate.settings().default_toolsets.as_deref(), known.clone());
    let off: Vec<String> = known
        .filter(|it| gate.is_enabled(it) && !wanted.contains(*it))
        .map(str::to_owned)
        .collect();
    gate.switch(&off, false);
    let on: Vec<String> = wanted.into_iter().filter(|it| !gate.is_enabled(it)).collect();
    gate.switch(&on, true);
    off
}

fn in_short(shared: &Shared) -> Value {
    let registry = shared.gate.registry();
    registry
        .toolsets()
        .map(|it| {
            json!({
                "name": it.name,
                "enabled": shared.gate.is_enabled(it.name),
                "tools": registry.tools_of(it.name).count(),
                "description": it.description,
            })
        })
        .collect()
}

/// The first sentence tells enough to choose; the list of tools has the rest.
fn short(spec: &ToolSpec) -> Value {
    let description = &spec.description;
    let end = description.find(". ").map_or(description.len(), |it| it + 1);
    json!({"name": spec.name, "description": description[..end]})
}

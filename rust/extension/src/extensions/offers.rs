//! Prompts and resources that extensions add (X13.4).

use std::rc::Rc;

use godot::builtin::{Callable, VarArray, Variant};
use godot::classes::{Json, RefCounted};
use godot::obj::Gd;
use godot_mcp_core::call::ResourceInfo;
use godot_mcp_core::prompt::{PromptArgument, PromptInfo};
use godot_mcp_core::spec::TabUse;
use godot_mcp_core::{Answer, Reply, SafetyClass, ToolError, ToolSpec, toolset};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Fault, ScriptTool, run};
use crate::editor::Editor;
use crate::tool::Outcome;
use crate::{prompts, resources};

/// What all extensions offer beside tools, for the I/O thread.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Offered {
    pub(crate) prompts: Vec<OwnPrompt>,
    pub(crate) resources: Vec<ResourceInfo>,
}

impl Offered {
    pub(crate) fn prompt(&self, name: &str) -> Option<&OwnPrompt> {
        self.prompts.iter().find(|it| it.info.name == name)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OwnPrompt {
    pub(crate) info: PromptInfo,
    pub(crate) body: String,
}

pub(crate) struct OwnResource {
    pub(crate) info: ResourceInfo,
    tool: Rc<ScriptTool>,
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct DeclaredPrompt {
    name: String,
    description: String,
    text: String,
    arguments: Vec<DeclaredArgument>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct DeclaredArgument {
    name: String,
    description: String,
    required: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct DeclaredResource {
    uri: String,
    name: String,
    description: String,
    mime_type: String,
}

fn parsed<T: for<'a> Deserialize<'a>>(given: &Variant) -> Result<T, Fault> {
    let text = Json::stringify(given).to_string();
    serde_json::from_str(&text).map_err(|it| Fault::new(format!("{text} is not understood: {it}")))
}

/// A prompt as `add_prompt` of the registry keeps it.
pub(super) fn prompt(given: &Variant) -> Result<OwnPrompt, Fault> {
    let DeclaredPrompt { name, description, text, arguments } = parsed(given)?;
    let refuse = |why: &str| Err(Fault::new(format!("the prompt \"{name}\": {why}")));
    if !is_name(&name) || !arguments.iter().all(|it| is_name(&it.name)) {
        return refuse("names of prompts and arguments are in lower case, with underscores");
    }
    if text.trim().is_empty() {
        return refuse("it has no text");
    }
    if prompts::all().iter().any(|it| it.name == name) {
        return refuse("its name is taken by a built-in prompt");
    }
    let arguments = arguments.into_iter().map(|it| PromptArgument {
        name: it.name,
        description: it.description,
        required: it.required,
    });
    let info = PromptInfo { name, description, arguments: arguments.collect() };
    Ok(OwnPrompt { info, body: text })
}

fn is_name(text: &str) -> bool {
    text.starts_with(|it: char| it.is_ascii_lowercase())
        && text.chars().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '_')
}

/// A resource as `add_resource` of the registry keeps it.
pub(super) fn resource(
    class: &str,
    given: &Variant,
    owner: &Gd<RefCounted>,
) -> Result<OwnResource, Fault> {
    let entry = given.try_to::<VarArray>().unwrap_or_default();
    let about = entry.get(0).unwrap_or_default();
    let DeclaredResource { uri, name, description, mime_type } = parsed(&about)?;
    let refuse = |why: &str| Fault::new(format!("the resource \"{uri}\": {why}"));
    let handler = entry.get(1).and_then(|it| it.try_to::<Callable>().ok());
    let Some(handler) = handler.filter(Callable::is_valid) else {
        return Err(refuse("its handler is no function of a live object"));
    };
    let path = uri.strip_prefix("godot://").filter(|it| it.contains('/') && !it.contains(' '));
    let Some(path) = path else {
        return Err(refuse("it has the form godot://<what>/<name>"));
    };
    let first = path.split('/').next().unwrap_or_default();
    if !is_name(first) {
        return Err(refuse("what comes after godot:// is a name in lower case"));
    }
    let prefix = format!("godot://{first}/");
    if resources::all().iter().any(|it| it.uri.starts_with(&prefix)) {
        return Err(refuse(&format!("\"{prefix}\" is the server's own; choose another")));
    }
    let pieces = pieces(&uri).ok_or_else(|| refuse("each placeholder is {a_name} of its own"))?;
    let template = pieces.iter().any(|it| matches!(it, Piece::Any(_)));
    let mut spec = ToolSpec::new(
        uri.clone(),
        toolset::PROJECT,
        SafetyClass::ReadOnly,
        description.clone(),
        Map::new(),
    );
    spec.tab = TabUse::Apart;
    let tool = ScriptTool::bare(class, &uri, handler, spec, owner.clone());
    Ok(OwnResource {
        info: ResourceInfo { uri, name, description, mime_type, template },
        tool: Rc::new(tool),
    })
}

impl OwnResource {
    /// The placeholders of a URI that is of this resource.
    pub(super) fn matched(&self, uri: &str) -> Option<Map<String, Value>> {
        values(&pieces(&self.info.uri)?, uri)
    }

    /// Asks the handler, as a tool is asked.
    pub(crate) fn read(
        &self,
        editor: &Editor,
        uri: &str,
        values: &Map<String, Value>,
    ) -> Result<Outcome, ToolError> {
        let (uri, mime_type) = (uri.to_owned(), self.info.mime_type.clone());
        let tell = move |answer: Answer| -> Answer {
            match answer? {
                Reply::Json(Value::Object(mut fields)) => {
                    fields.remove("success");
                    let result = match fields.get("text") {
                        Some(Value::String(text)) if mime_type != resources::JSON => {
                            json!({"text": text}).to_string()
                        }
                        _ => Value::Object(fields).to_string(),
                    };
                    Ok(json!({"uri": uri, "mime_type": mime_type, "result": result}).into())
                }
                other => Ok(other),
            }
        };
        match run::start(editor, &self.tool, values)? {
            Outcome::Done(reply) => tell(Ok(reply)).map(Outcome::Done),
            Outcome::Wait(mut poll) => {
                Ok(Outcome::Wait(Box::new(move |editor| poll(editor).map(&tell))))
            }
            ask @ Outcome::Ask(_) => Ok(ask),
        }
    }
}

#[derive(Debug, PartialEq)]
enum Piece {
    Text(String),
    /// One or more characters, none of them a slash.
    Any(String),
}

/// None when placeholders are not closed, have no name, one name twice, or touch each other.
fn pieces(uri: &str) -> Option<Vec<Piece>> {
    let (mut pieces, mut rest) = (Vec::new(), uri);
    while let Some((before, from)) = rest.split_once('{') {
        let (name, after) = from.split_once('}')?;
        let twice = pieces.iter().any(|it| *it == Piece::Any(name.to_owned()));
        if before.is_empty() || before.contains('}') || !is_name(name) || twice {
            return None;
        }
        pieces.push(Piece::Text(before.to_owned()));
        pieces.push(Piece::Any(name.to_owned()));
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest.to_owned()));
    }
    (!rest.contains('}')).then_some(pieces)
}

fn values(pieces: &[Piece], uri: &str) -> Option<Map<String, Value>> {
    let (mut values, mut rest) = (Map::new(), uri);
    for (index, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Text(text) => rest = rest.strip_prefix(text.as_str())?,
            Piece::Any(name) => {
                let end = match pieces.get(index + 1) {
                    Some(Piece::Text(text)) => rest.find(text.as_str())?,
                    _ => rest.len(),
                };
                let (value, after) = rest.split_at(end);
                if value.is_empty() || value.contains('/') {
                    return None;
                }
                let value = resources::percent_decoded(value)?;
                values.insert(name.clone(), json!(value));
                rest = after;
            }
        }
    }
    rest.is_empty().then_some(values)
}

/// What the registry of one extension has collected.
pub(super) fn list(registry: &Gd<RefCounted>, name: &str) -> Vec<Variant> {
    let list = registry.get(name).try_to::<VarArray>().unwrap_or_default();
    list.iter_shared().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// X13.4.
    #[test]
    fn placeholders_of_uris() {
        let matched = |template: &str, uri: &str| {
            pieces(template).and_then(|it| values(&it, uri)).map(Value::Object)
        };
        let one = "godot://quests/{id}";
        assert_eq!(matched(one, "godot://quests/a%20b"), Some(json!({"id": "a b"})));
        for uri in
            ["godot://quests/", "godot://quests/a/b", "godot://quest/a", "godot://quests/a%2"]
        {
            assert_eq!(matched(one, uri), None, "{uri}");
        }
        let two = "godot://quests/{id}/steps/{step}.json";
        let wanted = json!({"id": "a", "step": "1"});
        assert_eq!(matched(two, "godot://quests/a/steps/1.json"), Some(wanted));
        assert_eq!(matched("godot://quests/all", "godot://quests/all"), Some(json!({})));
        for broken in
            ["godot://q/{", "godot://q/}", "godot://q/{a}{b}", "godot://q/{a}/{a}", "godot://q/{}"]
        {
            assert_eq!(pieces(broken), None, "{broken}");
        }
    }
}

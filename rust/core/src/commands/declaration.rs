//! The declaration file (R5 to R23): its bytes in, its providers or all its problems out.

use std::collections::HashSet;

use super::json::{self, Json, Object, quoted};
use super::limits::{
    COMMANDS_PER_PROVIDER_MIN, COMMANDS_TOTAL_MAX, DESCRIPTION_MAX_CHARS, FILE_MAX_BYTES,
    FORMAT_VERSION, ID_MAX_CHARS, INPUT_SCHEMA_MAX_BYTES, PROVIDERS_MAX, SCRIPT_MAX_CHARS,
    TITLE_MAX_CHARS,
};
use super::problem::{Pointer, Problems};
use super::subset::{self, ArgumentSchema, OutsideSubset};
use crate::suggest;

/// What a valid file declares.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Declaration {
    pub providers: Vec<Provider>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Provider {
    pub id: String,
    /// `res://` path of a `.gd` file.
    pub script: String,
    pub commands: Vec<Command>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    pub name: String,
    pub title: String,
    pub description: String,
    /// As it was declared, for listings.
    pub input_schema: Json,
    /// Whether it says of itself that it changes project files. Not enforced (R86).
    pub mutates: bool,
    /// What its arguments are checked with, unless the schema leaves the subset (R32).
    pub arguments: Result<ArgumentSchema, OutsideSubset>,
}

/// A file that was looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// Commands that it declares, counted also when they are wrong.
    pub declared: usize,
    pub result: Result<Declaration, Problems>,
}

impl Declaration {
    pub fn provider(&self, id: &str) -> Option<&Provider> {
        self.providers.iter().find(|it| it.id == id)
    }
}

impl Provider {
    pub fn command(&self, name: &str) -> Option<&Command> {
        self.commands.iter().find(|it| it.name == name)
    }
}

/// Checks a whole file. One broken rule makes all of it invalid (R22).
pub fn check(bytes: &[u8]) -> Checked {
    let whole = |rule, message: String| Checked {
        declared: 0,
        result: Err(Problems::whole(rule, message)),
    };
    if bytes.len() > FILE_MAX_BYTES {
        let size = bytes.len();
        return whole("R6", format!("the file has {size} bytes; at most {FILE_MAX_BYTES}"));
    }
    let text = match json::text_of(bytes) {
        Ok(text) => text,
        Err(why) => return whole("A7", format!("the file {why}")),
    };
    let root = match json::parse(text) {
        Ok(root) => root,
        Err(error) => return whole("R7", format!("the file is {error}")),
    };
    let mut checker = Checker::default();
    let declaration = checker.file(&root);
    let result = match declaration {
        Some(declaration) if checker.problems.is_empty() => Ok(declaration),
        _ => Err(checker.problems),
    };
    Checked { declared: checker.declared, result }
}

/// R12 and R16.
pub fn is_id(text: &str) -> bool {
    text.len() <= ID_MAX_CHARS
        && text.starts_with(|it: char| it.is_ascii_lowercase())
        && text.bytes().all(|it| matches!(it, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.' | b'-'))
}

#[derive(Default)]
struct Checker {
    problems: Problems,
    declared: usize,
}

/// Every method reports what is wrong and answers what is right, so that one problem hides no other.
impl Checker {
    fn file(&mut self, root: &Json) -> Option<Declaration> {
        let here = &Pointer::ROOT;
        let file = self.object(root, here, "the file")?;
        self.keys(file, here, &["version", "providers"], &["$schema"]);
        if let Some(version) = file.get("version") {
            let known =
                matches!(version, Json::Number(it) if it.to_f64() == f64::from(FORMAT_VERSION));
            if !known {
                let found = quoted(&version.compact());
                let message =
                    format!("version {found} is unknown; the only one is {FORMAT_VERSION}");
                self.problems.add("R8", &here.key("version"), message);
            }
        }
        let here = &here.key("providers");
        let providers = self.array(file.get("providers")?, here)?;
        if providers.len() > PROVIDERS_MAX {
            let message = format!("{} providers; at most {PROVIDERS_MAX}", providers.len());
            self.problems.add("R9", here, message);
        }
        let mut ids = HashSet::new();
        let read = providers.iter().enumerate();
        let read: Vec<_> =
            read.map(|(at, it)| self.provider(it, &here.item(at), &mut ids)).collect();
        if self.declared > COMMANDS_TOTAL_MAX {
            let message = format!(
                "{} commands over all providers; at most {COMMANDS_TOTAL_MAX}",
                self.declared
            );
            self.problems.add("R10", here, message);
        }
        Some(Declaration { providers: read.into_iter().collect::<Option<_>>()? })
    }

    fn provider<'a>(
        &mut self,
        value: &'a Json,
        here: &Pointer<'_>,
        ids: &mut HashSet<&'a str>,
    ) -> Option<Provider> {
        let provider = self.object(value, here, "a provider")?;
        self.keys(provider, here, &["id", "script", "commands"], &[]);
        let id = self.id(provider, here, "id", "R12", ids);
        let script = self.script(provider, here);
        let here = &here.key("commands");
        let commands = self.array(provider.get("commands")?, here)?;
        self.declared += commands.len();
        if commands.len() < COMMANDS_PER_PROVIDER_MIN {
            self.problems.add("R14", here, "a provider without a command");
        }
        let mut names = HashSet::new();
        let read = commands.iter().enumerate();
        let read: Vec<_> =
            read.map(|(at, it)| self.command(it, &here.item(at), &mut names)).collect();
        Some(Provider {
            id: id?.to_owned(),
            script: script?.to_owned(),
            commands: read.into_iter().collect::<Option<_>>()?,
        })
    }

    fn command<'a>(
        &mut self,
        value: &'a Json,
        here: &Pointer<'_>,
        names: &mut HashSet<&'a str>,
    ) -> Option<Command> {
        let command = self.object(value, here, "a command")?;
        let required = ["name", "title", "description", "input_schema", "mutates"];
        self.keys(command, here, &required, &[]);
        let name = self.id(command, here, "name", "R16", names);
        let title = self.line(command, here, "title", "R17", TITLE_MAX_CHARS);
        let description = self.line(command, here, "description", "R18", DESCRIPTION_MAX_CHARS);
        let mutates = match command.get("mutates") {
            Some(Json::Bool(it)) => Some(*it),
            Some(other) => {
                self.wrong("R20", &here.key("mutates"), other, "a boolean");
                None
            }
            None => None,
        };
        let (input_schema, arguments) = self.input_schema(command, here)?;
        Some(Command {
            name: name?.to_owned(),
            title: title?.to_owned(),
            description: description?.to_owned(),
            input_schema,
            mutates: mutates?,
            arguments,
        })
    }

    fn input_schema(
        &mut self,
        command: &Object,
        here: &Pointer<'_>,
    ) -> Option<(Json, Result<ArgumentSchema, OutsideSubset>)> {
        let here = &here.key("input_schema");
        let value = command.get("input_schema")?;
        let Json::Object(schema) = value else {
            self.wrong("A1", here, value, "an object");
            return None;
        };
        let size = value.compact().len();
        if size > INPUT_SCHEMA_MAX_BYTES {
            let message = format!(
                "the schema has {size} bytes as compact JSON; at most {INPUT_SCHEMA_MAX_BYTES}"
            );
            self.problems.add("R19", here, message);
            return None;
        }
        value.irregular(here, &mut self.problems);
        Some((value.clone(), subset::walk(schema)))
    }

    fn script<'a>(&mut self, provider: &'a Object, here: &Pointer<'_>) -> Option<&'a str> {
        let here = &here.key("script");
        let script = self.text(provider.get("script")?, here, "R13")?;
        let mut wrong = |why: String| {
            self.problems.add("R13", here, format!("{} {why}", quoted(script)));
        };
        let length = script.chars().count();
        if length > SCRIPT_MAX_CHARS {
            wrong(format!("has {length} characters; at most {SCRIPT_MAX_CHARS}"));
        }
        if script.contains('\\') {
            wrong("has a backslash".to_owned());
        }
        if !script.ends_with(".gd") {
            wrong("does not end with \".gd\"".to_owned());
        }
        let Some(path) = script.strip_prefix("res://") else {
            wrong("does not start with \"res://\"".to_owned());
            return Some(script);
        };
        if path.split('/').any(str::is_empty) {
            self.problems.add("R13 segment", here, format!("{} has an empty part", quoted(script)));
        }
        if path.split('/').any(|it| it.starts_with('.')) {
            let message = format!("{} has a part that starts with \".\"", quoted(script));
            self.problems.add("R13 segment", here, message);
        }
        Some(script)
    }

    /// An id or name, unique in `taken`.
    fn id<'a>(
        &mut self,
        object: &'a Object,
        here: &Pointer<'_>,
        key: &str,
        rule: &'static str,
        taken: &mut HashSet<&'a str>,
    ) -> Option<&'a str> {
        let here = &here.key(key);
        let id = self.text(object.get(key)?, here, rule)?;
        if !is_id(id) {
            let message = format!(
                "{} is no {key}: 1 to {ID_MAX_CHARS} of a-z, 0-9, \"_\", \".\" and \"-\", a letter first",
                quoted(id)
            );
            self.problems.add(rule, here, message);
        }
        if !taken.insert(id) {
            let rule = if key == "id" { "R12 twice" } else { "R16 twice" };
            self.problems.add(rule, here, format!("the {key} {} is declared twice", quoted(id)));
        }
        Some(id)
    }

    fn line<'a>(
        &mut self,
        object: &'a Object,
        here: &Pointer<'_>,
        key: &str,
        rule: &'static str,
        most: usize,
    ) -> Option<&'a str> {
        let here = &here.key(key);
        let text = self.text(object.get(key)?, here, rule)?;
        let length = text.chars().count();
        if length == 0 || length > most {
            let message = format!("the {key} has {length} characters; 1 to {most}");
            self.problems.add(rule, here, message);
        }
        Some(text)
    }

    fn text<'a>(
        &mut self,
        value: &'a Json,
        here: &Pointer<'_>,
        rule: &'static str,
    ) -> Option<&'a str> {
        if value.as_str().is_none() {
            self.wrong(rule, here, value, "a string");
        }
        value.as_str()
    }

    fn object<'a>(
        &mut self,
        value: &'a Json,
        here: &Pointer<'_>,
        what: &str,
    ) -> Option<&'a Object> {
        if value.as_object().is_none() {
            self.problems.add("R7", here, format!("{what} is an object, not {}", value.kind()));
        }
        value.as_object()
    }

    fn array<'a>(&mut self, value: &'a Json, here: &Pointer<'_>) -> Option<&'a [Json]> {
        let Json::Array(items) = value else {
            self.wrong("R7", here, value, "an array");
            return None;
        };
        Some(items)
    }

    fn wrong(&mut self, rule: &'static str, here: &Pointer<'_>, value: &Json, due: &str) {
        self.problems.add(rule, here, format!("{} where {due} is due", value.kind()));
    }

    /// All of `required` are there, nothing else than those and `allowed` (R7), nothing twice (A5).
    fn keys(&mut self, object: &Object, here: &Pointer<'_>, required: &[&str], allowed: &[&str]) {
        object.repeated(here, &mut self.problems);
        for (key, _) in &object.entries {
            if required.contains(&key.as_str()) || allowed.contains(&key.as_str()) {
                continue;
            }
            let near = suggest::near(key, required, 1);
            let hint = match near.first() {
                Some(near) => format!("did you mean \"{near}\""),
                None => format!("known are {}", required.join(", ")),
            };
            let message = format!("the key {} is unknown; {hint}", quoted(key));
            self.problems.add("R7", &here.key(key), message);
        }
        for key in required {
            if object.get(key).is_none() {
                self.problems.add(missing_rule(key), here, format!("the key \"{key}\" is missing"));
            }
        }
    }
}

fn missing_rule(key: &str) -> &'static str {
    match key {
        "version" => "R8",
        "providers" => "R9",
        "id" | "script" | "commands" => "R11",
        _ => "R15",
    }
}

#[cfg(test)]
mod tests;

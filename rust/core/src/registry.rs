//! Every tool by name, in the order in which clients see them.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use crate::schema::{self, Checker};
use crate::spec::ToolSpec;
use crate::toolset::{self, Toolset};

/// A spec with its compiled schema.
pub struct RegisteredTool {
    pub spec: Arc<ToolSpec>,
    pub checker: Checker,
}

/// An immutable set of tools; a change makes a new one.
#[derive(Default)]
pub struct Registry {
    tools: Vec<Arc<RegisteredTool>>,
    index: HashMap<String, usize>,
    /// Toolsets of the project, after the built-in ones.
    sets: Vec<&'static Toolset>,
}

impl Registry {
    /// Builds the registry and adds the parameters of each class to the schemas (S1.2).
    ///
    /// # Panics
    /// When two tools share a name, a toolset is unknown or a schema does not compile: faults of
    /// built-in tools, which every start would show.
    pub fn new(specs: Vec<ToolSpec>) -> Self {
        let mut registry = Self::default();
        for mut spec in specs {
            assert!(
                toolset::TOOLSETS.iter().any(|it| it.name == spec.toolset),
                "unknown toolset {} of {}",
                spec.toolset,
                spec.name
            );
            spec.add_framework_parameters();
            let checker = Checker::new(&spec.input_schema)
                .unwrap_or_else(|it| panic!("schema of {} does not compile: {it}", spec.name));
            let twin = registry.index.insert(spec.name.clone(), registry.tools.len());
            assert!(twin.is_none(), "two tools are named {}", spec.name);
            registry.tools.push(Arc::new(RegisteredTool { spec: Arc::new(spec), checker }));
        }
        registry
    }

    /// These tools and those of the project. Their specs were checked by [`Registry::check`], and
    /// their names are free.
    #[must_use]
    pub fn extended(&self, specs: Vec<ToolSpec>, sets: Vec<&'static Toolset>) -> Self {
        let mut registry = Self {
            tools: self.tools.clone(),
            index: self.index.clone(),
            sets: [self.sets.clone(), sets].concat(),
        };
        for mut spec in specs {
            spec.add_framework_parameters();
            let Ok(checker) = Checker::new(&spec.input_schema) else { continue };
            registry.index.insert(spec.name.clone(), registry.tools.len());
            registry.tools.push(Arc::new(RegisteredTool { spec: Arc::new(spec), checker }));
        }
        registry
    }

    /// Why a spec of the project cannot be taken.
    ///
    /// # Errors
    /// A sentence for the author of the tool.
    pub fn check(spec: &ToolSpec) -> Result<(), String> {
        let schema = &spec.input_schema;
        if schema.get("type").is_some_and(|it| it != "object") {
            return Err("/type: the schema of parameters is of type \"object\"".to_owned());
        }
        match schema.get("properties") {
            None => {}
            Some(Value::Object(properties)) => {
                let taken = [schema::DRY_RUN, schema::CONFIRM, schema::IDEMPOTENCY_KEY];
                if let Some(name) = taken.iter().find(|it| properties.contains_key(**it)) {
                    return Err(format!(
                        "/properties/{name}: the server adds this parameter itself"
                    ));
                }
            }
            Some(_) => return Err("/properties: an object is wanted".to_owned()),
        }
        if schema.get("required").is_some_and(|it| !it.is_array()) {
            return Err("/required: an array is wanted".to_owned());
        }
        if let Err(error) = jsonschema::meta::validate(&Value::Object(schema.clone())) {
            return Err(format!("{}: {error}", error.instance_path()));
        }
        Checker::new(schema).map(drop)
    }

    pub fn get(&self, name: &str) -> Option<&Arc<RegisteredTool>> {
        self.index.get(name).map(|&it| &self.tools[it])
    }

    pub fn tools(&self) -> impl Iterator<Item = &Arc<ToolSpec>> + Clone {
        self.tools.iter().map(|it| &it.spec)
    }

    /// Toolsets that have tools here.
    pub fn toolsets(&self) -> impl Iterator<Item = &'static Toolset> + Clone {
        let all = toolset::TOOLSETS.iter().chain(self.sets.iter().copied());
        all.filter(|set| self.tools().any(|it| it.toolset == set.name))
    }

    pub fn tools_of(&self, toolset: &str) -> impl Iterator<Item = &Arc<ToolSpec>> {
        self.tools().filter(move |it| it.toolset == toolset)
    }
}

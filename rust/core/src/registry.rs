//! Every tool by name, in the order in which clients see them.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};

use crate::error::ToolError;
use crate::schema::{self, Checker};
use crate::spec::ToolSpec;
use crate::toolset::{self, Toolset};

/// A spec with its schema, which is compiled at the first call: a session calls few of the tools.
pub struct RegisteredTool {
    pub spec: Arc<ToolSpec>,
    checker: OnceLock<Checker>,
}

impl RegisteredTool {
    fn new(mut spec: ToolSpec) -> Self {
        spec.add_framework_parameters();
        Self { spec: Arc::new(spec), checker: OnceLock::new() }
    }

    /// Arguments as the tool may read them: see [`Checker::check`].
    ///
    /// # Errors
    /// The first problem.
    pub fn check(&self, args: Map<String, Value>) -> Result<Map<String, Value>, ToolError> {
        self.compiled()?.check(args)
    }

    fn compiled(&self) -> Result<&Checker, ToolError> {
        if let Some(checker) = self.checker.get() {
            return Ok(checker);
        }
        let made = Checker::new(&self.spec.input_schema).map_err(|it| {
            ToolError::internal(format!("schema of {} does not compile: {it}", self.spec.name))
        })?;
        Ok(self.checker.get_or_init(|| made))
    }
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
    /// When two tools share a name or a toolset is unknown: faults of built-in tools, which every
    /// start would show.
    pub fn new(specs: Vec<ToolSpec>) -> Self {
        let mut registry = Self::default();
        for spec in specs {
            assert!(
                toolset::TOOLSETS.iter().any(|it| it.name == spec.toolset),
                "unknown toolset {} of {}",
                spec.toolset,
                spec.name
            );
            let twin = registry.index.insert(spec.name.clone(), registry.tools.len());
            assert!(twin.is_none(), "two tools are named {}", spec.name);
            registry.tools.push(Arc::new(RegisteredTool::new(spec)));
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
        for spec in specs {
            let tool = RegisteredTool::new(spec);
            // A tool of the project whose schema is none is left out.
            if tool.compiled().is_ok() {
                registry.index.insert(tool.spec.name.clone(), registry.tools.len());
                registry.tools.push(Arc::new(tool));
            }
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

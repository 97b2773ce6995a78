//! Every tool by name, in the order in which clients see them.

use std::collections::HashMap;
use std::sync::Arc;

use crate::schema::Checker;
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

    pub fn get(&self, name: &str) -> Option<&Arc<RegisteredTool>> {
        self.index.get(name).map(|&it| &self.tools[it])
    }

    pub fn tools(&self) -> impl Iterator<Item = &Arc<ToolSpec>> + Clone {
        self.tools.iter().map(|it| &it.spec)
    }

    /// Toolsets that have tools here.
    pub fn toolsets(&self) -> impl Iterator<Item = &'static Toolset> + Clone {
        toolset::TOOLSETS.iter().filter(|set| self.tools().any(|it| it.toolset == set.name))
    }

    pub fn tools_of(&self, toolset: &str) -> impl Iterator<Item = &Arc<ToolSpec>> {
        self.tools().filter(move |it| it.toolset == toolset)
    }
}

//! `tools/list`: what the host declares, in rmcp's terms.

use std::collections::HashMap;
use std::sync::Arc;

use godot_mcp_core::{Host, SafetyClass, ToolSpec};
use parking_lot::Mutex;
use rmcp::model::{MetaObject, Tool, ToolAnnotations};

/// Remembers the converted list. Every modern call looks up its tool, so this must be cheap.
#[derive(Default)]
pub(crate) struct ToolList {
    cached: Mutex<Option<Arc<Listing>>>,
}

pub(crate) struct Listing {
    /// What the rest was made from. Held, so that no other list can get the same address.
    source: Arc<Vec<Arc<ToolSpec>>>,
    /// In the host's order.
    pub(crate) tools: Vec<Tool>,
    by_name: HashMap<String, usize>,
}

impl ToolList {
    pub(crate) fn current(&self, host: &dyn Host) -> Arc<Listing> {
        let source = host.tools();
        let mut cached = self.cached.lock();
        match &*cached {
            Some(listing) if Arc::ptr_eq(&listing.source, &source) => listing.clone(),
            _ => cached.insert(Arc::new(Listing::new(source))).clone(),
        }
    }
}

impl Listing {
    fn new(source: Arc<Vec<Arc<ToolSpec>>>) -> Self {
        let tools: Vec<Tool> = source.iter().map(|it| convert(it)).collect();
        let by_name = source.iter().enumerate().map(|(idx, it)| (it.name.clone(), idx)).collect();
        Self { source, tools, by_name }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Tool> {
        self.by_name.get(name).map(|idx| &self.tools[*idx])
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.source.iter().map(|it| it.name.as_str())
    }
}

/// Output schemas stay out: they would double the size of the list (S11.5).
fn convert(spec: &ToolSpec) -> Tool {
    let schema = Arc::new(spec.input_schema.clone());
    let mut annotations = annotations(spec.class);
    if spec.hints.idempotent {
        annotations.idempotent_hint = Some(true);
    }
    if spec.hints.open_world {
        annotations.open_world_hint = Some(true);
    }
    let mut tool = Tool::new(spec.name.clone(), spec.description.clone(), schema)
        .with_annotations(annotations)
        .with_meta(MetaObject(spec.meta()));
    tool.title.clone_from(&spec.hints.title);
    // Only tools of the project have one.
    tool.output_schema = spec.hints.output_schema.clone().map(Arc::new);
    tool
}

/// The table of S1. A missing hint means what the specification says it means.
fn annotations(class: SafetyClass) -> ToolAnnotations {
    let (read_only, destructive, idempotent) = match class {
        SafetyClass::ReadOnly => (true, None, Some(true)),
        SafetyClass::Mutating => (false, Some(false), None),
        SafetyClass::Destructive => (false, Some(true), None),
        SafetyClass::Runtime => (false, None, None),
    };
    ToolAnnotations::from_raw(None, Some(read_only), destructive, idempotent, Some(false))
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    #[test]
    fn hints_follow_from_the_class() {
        let hints = |class| serde_json::to_value(annotations(class)).unwrap();
        assert_eq!(
            hints(SafetyClass::ReadOnly),
            json!({"readOnlyHint": true, "idempotentHint": true, "openWorldHint": false})
        );
        assert_eq!(
            hints(SafetyClass::Mutating),
            json!({"readOnlyHint": false, "destructiveHint": false, "openWorldHint": false})
        );
        assert_eq!(
            hints(SafetyClass::Destructive),
            json!({"readOnlyHint": false, "destructiveHint": true, "openWorldHint": false})
        );
        assert_eq!(
            hints(SafetyClass::Runtime),
            json!({"readOnlyHint": false, "openWorldHint": false})
        );
    }

    #[test]
    fn an_entry_has_class_and_toolset_and_no_output_schema() {
        let spec = ToolSpec::new("look", "core", SafetyClass::ReadOnly, "Looks.", Map::new());
        assert_eq!(
            serde_json::to_value(convert(&spec)).unwrap(),
            json!({
                "name": "look",
                "description": "Looks.",
                "inputSchema": {},
                "annotations": {"readOnlyHint": true, "idempotentHint": true, "openWorldHint": false},
                "_meta": {"safety_class": "read_only", "toolset": "core"},
            })
        );
    }
}

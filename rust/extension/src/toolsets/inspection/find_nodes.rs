use std::cmp::Ordering;
use std::collections::HashMap;

use godot::builtin::Variant;
use godot::classes::{ClassDb, Node, Object};
use godot::obj::{Gd, InstanceId, Singleton};

use crate::editor::values::{Context, Slot};
use crate::editor::{glob, inspect, scene_tree};
use crate::tool_prelude::*;

/// Finds nodes of the edited scene that match all given filters.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct FindNodes {
    /// Class of engine or script; derived ones match.
    #[serde(default)]
    class_filter: Option<Identifier>,
    #[serde(default)]
    group_filter: Option<String>,
    /// With `*` and `?`, such as `enemy*`.
    #[serde(default)]
    name_pattern: Option<String>,
    /// Property to value, or to `{"op": "lt", "value": 5}` with eq, ne, lt, le, gt, ge or contains.
    #[serde(default)]
    property_filters: Option<Map<String, Value>>,
    #[serde(default)]
    root_path: Option<NodeRef>,
    #[serde(default)]
    #[schemars(range(min = -1, max = 1000))]
    max_depth: Option<i64>,
    /// Properties to answer with each node.
    #[serde(default)]
    include_properties: Vec<String>,
    #[serde(default)]
    offset: usize,
    #[serde(default = "page_size")]
    #[schemars(range(min = 1, max = 1000))]
    limit: usize,
}

fn page_size() -> usize {
    100
}

impl Tool for FindNodes {
    const NAME: &'static str = "find_nodes";
    const TOOLSET: &'static str = "inspection";

    fn examples() -> Vec<Example> {
        let before = r#"
[node name="Main" type="Node2D"]
[node name="Slime" type="Sprite2D" parent="." groups=["enemies"]]
z_index = 3
[node name="Bat" type="Sprite2D" parent="."]"#;
        vec![
            Example::answer(
                "Finds by class, group, name and value.",
                before,
                json!({"nodes": [{"path": "Slime", "type": "Sprite2D", "properties": {"z_index": 3}}], "total": 1}),
            )
            .args(json!({
                "class_filter": "CanvasItem", "group_filter": "enemies", "name_pattern": "sl*",
                "property_filters": {"z_index": {"op": "gt", "value": 2}},
                "include_properties": ["z_index"],
            })),
            Example::refusal("Refuses an unknown class.", before, Code::ValidationError)
                .args(json!({"class_filter": "Sprite2d"})),
        ]
    }
}

impl ReadTool for FindNodes {
    fn run(self, editor: &Editor) -> Result<Outcome, ToolError> {
        let scene = editor.edited_scene()?;
        let top = match &self.root_path {
            Some(path) => scene.node_at(path, "root_path")?,
            None => scene.root().clone(),
        };
        if let Some(class) = &self.class_filter {
            check_class(class.as_str())?;
        }
        let mut filters = Vec::new();
        for (property, filter) in self.property_filters.iter().flatten() {
            filters.push(Filter::new(property, filter)?);
        }

        let mut search = Search {
            find: &self,
            editor,
            filters,
            slots: HashMap::new(),
            refusal: None,
            found: Vec::new(),
        };
        let depth = self.max_depth.and_then(|it| usize::try_from(it).ok()).unwrap_or(usize::MAX);
        search.visit(&top, scene.path_of(&top), depth);
        if search.found.is_empty()
            && let Some(refusal) = search.refusal
        {
            return Err(refusal.required("property_filters"));
        }
        let found = search.found;
        let page = inspect::fill(found.iter().skip(self.offset), self.limit, |(path, node)| {
            self.entry(editor, path, node)
        });
        let taken = page.len();
        let mut answer = json!({"nodes": page});
        inspect::page_fields(&mut answer, self.offset, taken, found.len());
        Ok(answer.into())
    }
}

impl FindNodes {
    fn entry(&self, editor: &Editor, path: &str, node: &Gd<Node>) -> Value {
        let mut entry = json!({"path": path, "type": node.get_class().to_string()});
        if let Some(script) = inspect::script_of(node) {
            entry["script"] = json!(script);
        }
        if !self.include_properties.is_empty() {
            let object: Gd<Object> = node.clone().upcast();
            let check = |path: &str| editor.check_read(path);
            let context = editor.values(Some(&object), &check);
            let slots = Slot::all(&object);
            let wanted = slots.iter().filter(|it| self.include_properties.contains(&it.name));
            let values = wanted.filter_map(|it| Some((it, inspect::read(&object, it)?)));
            let values: Map<String, Value> = values
                .map(|(slot, value)| (slot.name.clone(), inspect::listed(&value, slot, &context).0))
                .collect();
            entry["properties"] = Value::Object(values);
        }
        entry
    }
}

/// Refuses a class that neither engine nor project declare. The path of a script is fine.
pub(super) fn check_class(class: &str) -> Result<(), ToolError> {
    if values::class_exists(class) || class.starts_with("res://") {
        return Ok(());
    }
    let classes = ClassDb::singleton().get_inheriters_from_class("Node");
    let mut names: Vec<_> = classes.as_slice().iter().map(ToString::to_string).collect();
    names.retain(|it| !it.contains("Editor"));
    names.extend(values::script_class_names());
    Err(ToolError::invalid("class_filter", format!("no class \"{class}\""))
        .suggest(suggest::near(class, &names, 5)))
}

/// One condition on a property.
struct Filter {
    property: String,
    op: Op,
    value: Value,
}

#[derive(Clone, Copy, PartialEq)]
enum Op {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Contains,
}

impl Filter {
    fn new(property: &str, filter: &Value) -> Result<Self, ToolError> {
        let property = property.to_owned();
        let Some(Value::String(op)) = filter.get("op") else {
            return Ok(Self { property, op: Op::Eq, value: filter.clone() });
        };
        let op = match op.as_str() {
            "eq" | "==" => Op::Eq,
            "ne" | "!=" => Op::Ne,
            "lt" | "<" => Op::Lt,
            "le" | "<=" => Op::Le,
            "gt" | ">" => Op::Gt,
            "ge" | ">=" => Op::Ge,
            "contains" => Op::Contains,
            _ => {
                return Err(ToolError::invalid(
                    "property_filters",
                    format!("no operator \"{op}\""),
                )
                .hint("operators are: eq, ne, lt, le, gt, ge, contains"));
            }
        };
        let value = filter.get("value").cloned().unwrap_or(Value::Null);
        Ok(Self { property, op, value })
    }

    fn accepts(&self, found: &Variant, slot: &Slot, context: &Context) -> Result<bool, ToolError> {
        if self.op == Op::Contains {
            let wanted = self.value.as_str().map_or_else(|| self.value.to_string(), str::to_owned);
            let text = found.stringify().to_string().to_lowercase();
            return Ok(text.contains(&wanted.to_lowercase()));
        }
        if matches!(self.op, Op::Eq | Op::Ne) {
            let wanted = values::decode(&self.value, slot, found, context)?;
            return Ok(values::same(&wanted, found) == (self.op == Op::Eq));
        }
        let number = |it: &Variant| {
            it.try_to::<f64>().ok().or_else(|| it.try_to::<i64>().ok().map(|it| it as f64))
        };
        let Some(wanted) = self.value.as_f64() else {
            let message =
                format!("{} is not a number to compare \"{}\" with", self.value, self.property);
            return Err(ToolError::invalid("property_filters", message));
        };
        Ok(number(found).and_then(|it| it.partial_cmp(&wanted)).is_some_and(|it| self.op.holds(it)))
    }
}

impl Op {
    fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Lt => order == Ordering::Less,
            Self::Le => order != Ordering::Greater,
            Self::Gt => order == Ordering::Greater,
            Self::Ge => order != Ordering::Less,
            Self::Eq | Self::Ne | Self::Contains => false,
        }
    }
}

/// What tells nodes with the same properties: class, script and property.
type SlotKey = (String, Option<InstanceId>, String);

struct Search<'a> {
    find: &'a FindNodes,
    editor: &'a Editor,
    filters: Vec<Filter>,
    slots: HashMap<SlotKey, Option<Slot>>,
    /// Why a value does not fit a property, told when nothing at all was found.
    refusal: Option<ToolError>,
    found: Vec<(String, Gd<Node>)>,
}

impl Search<'_> {
    fn visit(&mut self, node: &Gd<Node>, path: String, depth: usize) {
        if self.accepts(node) {
            self.found.push((path.clone(), node.clone()));
        }
        if depth == 0 {
            return;
        }
        for child in scene_tree::children(node) {
            let path = scene_tree::join(&path, &child.get_name().to_string());
            self.visit(&child, path, depth - 1);
        }
    }

    fn accepts(&mut self, node: &Gd<Node>) -> bool {
        let find = self.find;
        if let Some(pattern) = &find.name_pattern
            && !glob::matches(pattern, &node.get_name().to_string())
        {
            return false;
        }
        if let Some(group) = &find.group_filter
            && !node.is_in_group(group.as_str())
        {
            return false;
        }
        let object: Gd<Object> = node.clone().upcast();
        if let Some(class) = &find.class_filter
            && !values::is_a(&object, class.as_str())
        {
            return false;
        }
        (0..self.filters.len()).all(|index| self.accepts_value(&object, index))
    }

    fn accepts_value(&mut self, object: &Gd<Object>, index: usize) -> bool {
        let property = self.filters[index].property.clone();
        let script = object.get_script().map(|it| it.instance_id());
        let key = (object.get_class().to_string(), script, property);
        let slot = match self.slots.get(&key) {
            Some(known) => known.clone(),
            None => {
                let slot = Slot::of(object, &key.2);
                self.slots.insert(key, slot.clone());
                slot
            }
        };
        let Some(slot) = slot else { return false };
        let Some(value) = inspect::read(object, &slot) else { return false };
        let editor = self.editor;
        let check = |path: &str| editor.check_read(path);
        let context = editor.values(Some(object), &check);
        match self.filters[index].accepts(&value, &slot, &context) {
            Ok(accepted) => accepted,
            Err(refusal) => {
                self.refusal.get_or_insert(refusal);
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_have_names_and_signs() {
        let filter = |value| Filter::new("hp", &value);
        assert!(
            filter(json!({"op": "<=", "value": 3}))
                .is_ok_and(|it| it.op == Op::Le && it.value == 3)
        );
        assert!(filter(json!({"x": 1, "y": 2})).is_ok_and(|it| it.op == Op::Eq));
        assert!(filter(json!({"op": "like", "value": 3})).is_err());
        assert!(Op::Ge.holds(Ordering::Equal) && !Op::Gt.holds(Ordering::Equal));
    }
}

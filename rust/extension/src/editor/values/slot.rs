//! What is declared about a target: a property, an argument, an element of a container.

use std::cell::RefCell;
use std::collections::HashMap;

use godot::builtin::VariantType;
use godot::classes::ClassDb;
use godot::obj::{EngineBitfield as _, EngineEnum as _, Singleton as _};
use godot::prelude::*;
use godot::register::info::{PropertyHint, PropertyUsageFlags};

use super::{classes, kinds, structs};

thread_local! {
    /// Properties by class of the engine, as the classes declare them; those do not change.
    static DECLARED: RefCell<HashMap<String, HashMap<String, Slot>>> = RefCell::default();
}

/// Properties of a control that become read-only inside a container.
fn set_by_container(property: &str) -> bool {
    ["anchor", "offset", "position", "size", "rotation", "scale", "pivot", "global_", "layout"]
        .iter()
        .any(|it| property.starts_with(it))
}

/// The declared type of a target.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    /// Name of the property or argument. Refusals name it as the parameter at fault.
    pub(crate) name: String,
    /// `NIL` stands for any type.
    pub(crate) kind: VariantType,
    /// Class of an object, or the enum of an integer; else empty.
    pub(crate) class: String,
    pub(crate) hint: PropertyHint,
    pub(crate) hint_string: String,
    pub(crate) usage: PropertyUsageFlags,
}

impl Slot {
    /// From a dictionary of `get_property_list` or of the arguments of `get_method_list`.
    pub(crate) fn from_dict(info: &VarDictionary) -> Self {
        Keys::default().slot(info)
    }

    /// The slot of a property, `None` when the object has no such property.
    ///
    /// The list is fetched anew, which takes the engine a millisecond: a script, a sibling property
    /// or `_validate_property` may have changed it. Use [`Slot::all`] to look up several. Only what
    /// the instance has no say in comes from [`Slot::declared`].
    pub(crate) fn of(object: &Gd<Object>, property: &str) -> Option<Self> {
        let by_container = set_by_container(property) && object.is_class("Control");
        if !by_container
            && let Some(slot) = Self::declared(&object.get_class().to_string(), property)
            && slot.is_plain()
        {
            return Some(slot);
        }
        let keys = Keys::default();
        let wanted = GString::from(property).to_variant();
        let list = object.get_property_list();
        let info = list.iter_shared().find(|it| {
            it.get(&keys.name).is_some_and(|name| name == wanted) && keys.is_property(it)
        })?;
        Some(keys.slot(&info).of_object(object))
    }

    /// The slots of all properties, without headings such as categories and groups.
    pub(crate) fn all(object: &Gd<Object>) -> Vec<Self> {
        let keys = Keys::default();
        let list = object.get_property_list();
        let infos = list.iter_shared().filter(|it| keys.is_property(it));
        infos.map(|it| keys.slot(&it).of_object(object)).collect()
    }

    /// The slot of a property as an engine class declares it: fast, and also without an object.
    ///
    /// An instance may restrict it further: the list of an enum, whether it is read-only or shown.
    pub(crate) fn declared(class: &str, property: &str) -> Option<Self> {
        DECLARED.with_borrow_mut(|classes| {
            if let Some(slots) = classes.get(class) {
                return slots.get(property).cloned();
            }
            let keys = Keys::default();
            let list = ClassDb::singleton().class_get_property_list(class);
            let infos = list.iter_shared().filter(|it| keys.is_property(it));
            let slots = infos.map(|it| keys.slot(&it)).map(|it| (it.name.clone(), it));
            let slots: HashMap<_, _> = slots.collect();
            let slot = slots.get(property).cloned();
            classes.insert(class.to_owned(), slots);
            slot
        })
    }

    /// Whether hints mean nothing for values of this type.
    fn is_plain(&self) -> bool {
        matches!(self.kind, VariantType::BOOL | VariantType::FLOAT)
            || structs::components(self.kind).is_some()
    }

    /// Marks a float of a script, which a placeholder instance does not.
    fn of_object(mut self, object: &Gd<Object>) -> Self {
        if self.kind == VariantType::FLOAT
            && !self.name.contains('/')
            && object.get_script().is_some()
            && !classes::has_native_property(&object.get_class().to_string(), &self.name)
        {
            self.usage |= PropertyUsageFlags::SCRIPT_VARIABLE;
        }
        self
    }

    /// A target that takes any value.
    pub(crate) fn any(name: impl Into<String>) -> Self {
        Self::of_kind(name, VariantType::NIL)
    }

    /// A target of one type, without hints.
    pub(crate) fn of_kind(name: impl Into<String>, kind: VariantType) -> Self {
        Self {
            name: name.into(),
            kind,
            class: String::new(),
            hint: PropertyHint::NONE,
            hint_string: String::new(),
            usage: PropertyUsageFlags::DEFAULT,
        }
    }

    /// Whether any type is fine.
    pub(crate) fn is_any(&self) -> bool {
        self.kind == VariantType::NIL
    }

    /// Whether the target holds a reference to a node.
    pub(crate) fn is_node(&self) -> bool {
        self.kind == VariantType::OBJECT
            && (self.hint == PropertyHint::NODE_TYPE
                || self.classes().iter().any(|it| classes::derives(it, "Node")))
    }

    /// Classes of the nodes that the target may hold, itself or as elements; empty when any will do.
    pub(crate) fn node_classes(&self) -> Vec<String> {
        if self.kind == VariantType::OBJECT {
            return self.classes();
        }
        // `24/34:Node2D` in an array, and `4/0:;24/34:Node2D` in a dictionary.
        let element = self.hint_string.rsplit(';').next().unwrap_or_default();
        match element.split_once(':') {
            Some((kind, class)) if kind.starts_with("24/") => {
                class.split(',').map(str::to_owned).filter(|it| !it.is_empty()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The declared type for people: `Vector2`, `Texture2D`, `Array`.
    pub(crate) fn type_name(&self) -> String {
        if self.kind == VariantType::OBJECT {
            let classes: Vec<_> = self.classes();
            if !classes.is_empty() {
                return classes.join(" or ");
            }
        }
        kinds::name(self.kind).to_owned()
    }

    /// Classes that an object may have, one of them; empty when any will do.
    ///
    /// Names with a minus in front, which the hint uses for excluded classes, are left out.
    pub(super) fn classes(&self) -> Vec<String> {
        self.class_list(|it| !it.starts_with('-')).map(str::to_owned).collect()
    }

    /// Classes that the hint excludes again, such as `-ViewportTexture`.
    pub(super) fn excluded_classes(&self) -> Vec<String> {
        self.class_list(|it| it.starts_with('-')).map(|it| it[1..].to_owned()).collect()
    }

    fn class_list(&self, keep: fn(&&str) -> bool) -> impl Iterator<Item = &str> {
        let hinted = matches!(self.hint, PropertyHint::RESOURCE_TYPE | PropertyHint::NODE_TYPE)
            && !self.hint_string.is_empty();
        let text = if hinted { &self.hint_string } else { &self.class };
        text.split(',').map(str::trim).filter(|it| !it.is_empty()).filter(keep)
    }

    /// Whether a float of this target may be shown with the digits of an `f32`.
    ///
    /// Most float properties of the engine are single; those of scripts are double.
    pub(super) fn is_engine_float(&self) -> bool {
        self.kind == VariantType::FLOAT
            && !self.usage.is_set(PropertyUsageFlags::SCRIPT_VARIABLE)
            && !self.name.starts_with("metadata/")
    }
}

/// The keys of a property dictionary, made once per list.
struct Keys {
    name: Variant,
    kind: Variant,
    class: Variant,
    hint: Variant,
    hint_string: Variant,
    usage: Variant,
}

impl Default for Keys {
    fn default() -> Self {
        let key = |text: &str| GString::from(text).to_variant();
        Self {
            name: key("name"),
            kind: key("type"),
            class: key("class_name"),
            hint: key("hint"),
            hint_string: key("hint_string"),
            usage: key("usage"),
        }
    }
}

impl Keys {
    fn slot(&self, info: &VarDictionary) -> Slot {
        let text =
            |key: &Variant| info.get(key).map(|it| it.stringify().to_string()).unwrap_or_default();
        let number = |key: &Variant| {
            let number = info.get(key).and_then(|it| it.try_to::<i64>().ok());
            number.and_then(|it| i32::try_from(it).ok()).unwrap_or(0)
        };
        Slot {
            name: text(&self.name),
            kind: VariantType::try_from_ord(number(&self.kind)).unwrap_or(VariantType::NIL),
            class: text(&self.class),
            // A hint that this build does not know comes from a newer engine; it restricts nothing.
            hint: PropertyHint::try_from_ord(number(&self.hint)).unwrap_or(PropertyHint::NONE),
            hint_string: text(&self.hint_string),
            usage: self.usage(info),
        }
    }

    fn usage(&self, info: &VarDictionary) -> PropertyUsageFlags {
        let bits = info.get(&self.usage).and_then(|it| it.try_to::<i64>().ok()).unwrap_or(0);
        PropertyUsageFlags::try_from_ord(bits as u64).unwrap_or(PropertyUsageFlags::NONE)
    }

    fn is_property(&self, info: &VarDictionary) -> bool {
        let usage = self.usage(info);
        ![PropertyUsageFlags::CATEGORY, PropertyUsageFlags::GROUP, PropertyUsageFlags::SUBGROUP]
            .iter()
            .any(|it| usage.is_set(*it))
    }
}

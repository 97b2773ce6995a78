//! Argument types that refuse bad text while they are read (S8.3), so tools start with valid values.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de::Error};

use crate::paths;

/// A string argument with a rule of its own.
macro_rules! text_argument {
    ($(#[$doc:meta])* $name:ident, $schema:tt, $check:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(String);

        impl $name {
            pub fn new(text: impl Into<String>) -> Result<Self, String> {
                let text = text.into();
                let check: fn(&str) -> Result<(), String> = $check;
                check(&text).map(|()| Self(text))
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::new(String::deserialize(deserializer)?).map_err(D::Error::custom)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    };
}

text_argument!(
    /// A `res://` path. Containment was checked by the gate, by its schema format.
    ResPath, {"type": "string", "format": "res-path"}, |text| {
        paths::Roots::tidy_res(text).map(drop).map_err(|it| it.into_fault().message)
    }
);

text_argument!(
    /// A `res://` path or a `uid://`, for parameters that mean a resource.
    ResourcePath, {"type": "string", "format": "resource-path"}, |text| {
        if text.starts_with("uid://") {
            return Ok(());
        }
        paths::Roots::tidy_res(text).map(drop).map_err(|it| it.into_fault().message)
    }
);

text_argument!(
    /// A `user://` path.
    UserPath, {"type": "string", "format": "user-path"}, |text| {
        paths::Roots::tidy_user(text).map(drop).map_err(|it| it.into_fault().message)
    }
);

text_argument!(
    /// The name of an input action, as the Project Settings dialog allows it.
    ActionName, {"type": "string"}, |text| {
        no_control(text)?;
        if text.trim() != text || text.is_empty() {
            return Err(format!("{text:?} is not an action name: it is empty or has outer spaces"));
        }
        match text.chars().find(|it| "/:=\\\"".contains(*it)) {
            Some(bad) => Err(format!("{text:?} is not an action name: it contains {bad:?}")),
            None => Ok(()),
        }
    }
);

text_argument!(
    /// The name of a project setting, such as `display/window/size/viewport_width`.
    SettingName, {"type": "string"}, |text| {
        no_control(text)?;
        let plain = |it: char| it.is_alphanumeric() || "/_.- ".contains(it);
        match text.chars().find(|it| !plain(*it)) {
            Some(bad) => Err(format!("{text:?} is not a setting's name: it contains {bad:?}")),
            None if text.is_empty() || text.trim() != text => {
                Err(format!("{text:?} is not a setting's name: it is empty or has outer spaces"))
            }
            None => Ok(()),
        }
    }
);

text_argument!(
    /// The path of a node of the edited scene, in any form that the one resolver knows (S8.4).
    NodeRef, {"type": "string"}, |text| no_control(text)
);

text_argument!(
    /// The name of a node: not empty, and without the characters that the engine replaces.
    NodeName, {"type": "string"}, |text| {
        no_control(text)?;
        if text.trim() != text || text.is_empty() {
            return Err(format!("{text:?} is not a node name: it is empty or has outer spaces"));
        }
        match text.chars().find(|it| ".:@/\"%".contains(*it)) {
            Some(bad) => Err(format!("{text:?} is not a node name: it contains {bad:?}")),
            None => Ok(()),
        }
    }
);

text_argument!(
    /// The name of a group.
    GroupName, {"type": "string"}, |text| {
        no_control(text)?;
        if text.trim() != text || text.is_empty() || text.contains('"') {
            return Err(format!("{text:?} is not a group name: it is empty, quoted or has outer spaces"));
        }
        if text.starts_with('_') {
            return Err(format!("{text:?} is not a group name: a leading \"_\" marks the engine's own"));
        }
        Ok(())
    }
);

text_argument!(
    /// The name of a class, signal, method or property.
    Identifier, {"type": "string"}, |text| {
        no_control(text)?;
        if text.is_empty() || text.contains('"') {
            return Err(format!("{text:?} is not a name: it is empty or quoted"));
        }
        Ok(())
    }
);

fn no_control(text: &str) -> Result<(), String> {
    match text.chars().find(|it| it.is_control()) {
        Some(bad) => Err(format!("{text:?} contains the control character {bad:?}")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S8.3: nothing that lands in a text file carries a newline.
    #[test]
    fn refuses_bad_names() {
        for text in ["", " a", "a.b", "a/b", "a:b", "a@b", "a%b", "a\"b", "a\nb"] {
            assert!(NodeName::new(text).is_err(), "{text:?}");
        }
        for text in ["", "a\nb", "_internal", "a\"b"] {
            assert!(GroupName::new(text).is_err(), "{text:?}");
        }
        assert!(Identifier::new("a\0b").is_err());
        for text in ["", "a\n[autoload]", "a/b", "a:b", "a=b", "a\"b", "a\\b", " a"] {
            assert!(ActionName::new(text).is_err(), "{text:?}");
        }
        for text in ["", "a/b\nc", "a/b=c", "a/b[c]", "a/\"b", "a;b"] {
            assert!(SettingName::new(text).is_err(), "{text:?}");
        }
        SettingName::new("display/window/size/viewport_width.android").expect("valid");
        NodeName::new("Enemy 2 ü").expect("valid");
        GroupName::new("res://with/slashes").expect("valid");
    }
}

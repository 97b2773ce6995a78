//! Prompts: texts for a model that a human picks from a menu of the client.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;

use crate::content::Content;
use crate::error::ToolError;
use crate::question::{Answers, Questions};

#[derive(Clone, Debug, PartialEq)]
pub struct PromptInfo {
    pub name: String,
    pub description: String,
    pub arguments: Vec<PromptArgument>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PromptArgument {
    pub name: String,
    pub description: String,
    pub required: bool,
}

/// One request for a prompt, its arguments not yet checked.
#[derive(Clone, Debug, Default)]
pub struct PromptCall {
    pub name: String,
    pub arguments: BTreeMap<String, String>,
    pub answers: Answers,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    User,
    Assistant,
}

#[derive(Clone, Debug, PartialEq)]
pub enum PromptReply {
    Messages(Vec<(Speaker, Content)>),
    Ask(Questions),
}

pub type PromptFuture = Pin<Box<dyn Future<Output = Result<PromptReply, ToolError>> + Send>>;

impl PromptInfo {
    /// Checks that what is required is given and nothing else is.
    ///
    /// # Errors
    /// Names the argument at fault.
    pub fn check(&self, arguments: &BTreeMap<String, String>) -> Result<(), ToolError> {
        let names = || self.arguments.iter().map(|it| it.name.as_str());
        for name in arguments.keys() {
            if !names().any(|it| it == name) {
                let known = names().collect::<Vec<_>>().join(", ");
                let message = format!("the prompt \"{}\" has no argument \"{name}\"", self.name);
                return Err(ToolError::invalid(name.clone(), message)
                    .hint(format!("its arguments are: {known}")));
            }
        }
        let given = |name: &str| arguments.get(name).is_some_and(|it| !it.trim().is_empty());
        match self.arguments.iter().find(|it| it.required && !given(&it.name)) {
            Some(missing) => Err(ToolError::invalid(
                missing.name.clone(),
                format!("the prompt \"{}\" needs the argument \"{}\"", self.name, missing.name),
            )),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_checked() {
        let argument = |name: &str, required| PromptArgument {
            name: name.to_owned(),
            description: String::new(),
            required,
        };
        let prompt = PromptInfo {
            name: "p".to_owned(),
            description: String::new(),
            arguments: vec![argument("what", true), argument("where", false)],
        };
        let check = |given: &[(&str, &str)]| {
            let given = given.iter().map(|it| (it.0.to_owned(), it.1.to_owned())).collect();
            prompt.check(&given).err().map(|it| it.into_fault().message)
        };
        assert_eq!(check(&[("what", "x")]), None);
        assert_eq!(check(&[("what", "x"), ("where", "")]), None);
        let missing = "the prompt \"p\" needs the argument \"what\"";
        assert_eq!(check(&[("where", "y")]).as_deref(), Some(missing));
        assert_eq!(check(&[("what", " ")]).as_deref(), Some(missing));
        let unknown = "the prompt \"p\" has no argument \"wat\"";
        assert_eq!(check(&[("what", "x"), ("wat", "x")]).as_deref(), Some(unknown));
    }
}

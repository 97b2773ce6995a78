//! Examples: documentation and tests in one (see `docs/tools.md`).

use serde_json::{Map, Value};

use crate::error::Code;

/// What an example shows.
#[derive(Clone, Debug, PartialEq)]
pub enum Expect {
    /// An edit: the scene afterwards, in the notation of `Example::before`.
    After(String),
    /// A successful answer that contains these fields with these values, at any depth.
    /// Arrays must be equal; a string `"*"` stands for any value.
    Answer(Value),
    /// A text answer that contains each of these lines.
    Text(Vec<String>),
    /// A refusal with this code. Nothing is changed.
    Refusal(Code),
}

/// One example of a tool: a sentence, the arguments, a scene before, and what comes of it.
///
/// It is shown in the reference and run against a real editor by one loop over the registry.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    pub title: &'static str,
    /// Scene that is open in the editor, without the `[gd_scene]` header. Empty: a scene with one
    /// `Node2D` named `Main`. Further project files follow, each after a line `;- res://path`.
    pub before: String,
    /// Tools called before this one, in order, for examples that need a history or a selection.
    pub setup: Vec<(&'static str, Value)>,
    pub args: Map<String, Value>,
    pub expect: Expect,
}

impl Example {
    fn new(title: &'static str, before: &str, expect: Expect) -> Self {
        Self {
            title,
            before: before.trim().to_owned(),
            setup: Vec::new(),
            args: Map::new(),
            expect,
        }
    }

    /// An edit of the open scene: the scene before and after.
    pub fn edit(title: &'static str, before: &str, after: &str) -> Self {
        Self::new(title, before, Expect::After(after.trim().to_owned()))
    }

    /// A call that answers at least these fields.
    pub fn answer(title: &'static str, before: &str, answer: Value) -> Self {
        Self::new(title, before, Expect::Answer(answer))
    }

    /// A call that answers text with these lines in it.
    pub fn text(title: &'static str, before: &str, lines: &[&str]) -> Self {
        let lines = lines.iter().map(|&it| it.to_owned()).collect();
        Self::new(title, before, Expect::Text(lines))
    }

    /// A call that is refused.
    pub fn refusal(title: &'static str, before: &str, code: Code) -> Self {
        Self::new(title, before, Expect::Refusal(code))
    }

    /// The arguments, as a JSON object. `confirm` is added by the runner where the class has it.
    ///
    /// # Panics
    /// When `args` is not an object.
    #[must_use]
    pub fn args(mut self, args: Value) -> Self {
        let Value::Object(args) = args else { panic!("arguments of an example are an object") };
        self.args = args;
        self
    }

    /// A call made before, with the same rules as the example's own.
    #[must_use]
    pub fn after(mut self, tool: &'static str, args: Value) -> Self {
        self.setup.push((tool, args));
        self
    }
}

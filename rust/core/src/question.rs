//! What a call needs to know from the client, or from the human in front of it, before it can go on.
//!
//! A call that needs something answers with [`Questions`] and ends. It is made again with the
//! [`Answers`], so nothing waits in between, and both eras of the protocol look the same from here:
//! the server either asks the client within the request, or hands it the questions to come back with.

use serde_json::{Map, Value};

#[derive(Clone, Debug, PartialEq)]
pub enum Question {
    /// A form that the human fills in. `schema` is a flat object schema of its fields.
    Form { message: String, schema: Value },
    /// A text that the client's own model writes.
    Sample { prompt: String, max_tokens: u32 },
    /// The folders that the client works in.
    Roots,
}

/// Questions under names of the caller's choice.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Questions {
    pub asked: Vec<(String, Question)>,
    /// Comes back with the answers, sealed on its way: a client can neither read nor change it.
    /// Null travels not at all.
    pub state: Value,
}

impl Questions {
    pub fn one(name: impl Into<String>, question: Question) -> Self {
        Self { asked: vec![(name.into(), question)], state: Value::Null }
    }

    #[must_use]
    pub fn and(mut self, name: impl Into<String>, question: Question) -> Self {
        self.asked.push((name.into(), question));
        self
    }

    #[must_use]
    pub fn with_state(mut self, state: Value) -> Self {
        self.state = state;
        self
    }
}

/// Which questions a client can be asked. Asking another one fails the call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    pub form: bool,
    pub sample: bool,
    pub roots: bool,
}

impl Abilities {
    pub fn covers(&self, question: &Question) -> bool {
        match question {
            Question::Form { .. } => self.form,
            Question::Sample { .. } => self.sample,
            Question::Roots => self.roots,
        }
    }
}

/// What a human did with a form.
#[derive(Clone, Debug, PartialEq)]
pub enum FormAnswer {
    Accepted(Map<String, Value>),
    Declined,
    /// Closed without a decision.
    Cancelled,
}

/// What came back, and what could be asked. Empty in the first round.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    /// By the names of the questions. Written by the client, so nothing in it can be relied on.
    pub given: Map<String, Value>,
    /// As it was in [`Questions::state`].
    pub state: Value,
    pub abilities: Abilities,
}

impl Answers {
    /// The answer to a form. None when there is none, or one that is no answer to a form.
    pub fn form(&self, name: &str) -> Option<FormAnswer> {
        let answer = self.given.get(name)?;
        match answer.get("action")?.as_str()? {
            "accept" => Some(FormAnswer::Accepted(answer.get("content")?.as_object()?.clone())),
            "decline" => Some(FormAnswer::Declined),
            "cancel" => Some(FormAnswer::Cancelled),
            _ => None,
        }
    }

    /// The text that the client's model wrote.
    pub fn sample(&self, name: &str) -> Option<&str> {
        let content = self.given.get(name)?.get("content")?;
        // A list of parts since 2025-11-25, one part before.
        let parts = content.as_array().map_or(std::slice::from_ref(content), Vec::as_slice);
        parts.iter().find_map(|it| it.get("text")?.as_str())
    }

    /// URIs of the client's folders.
    pub fn roots(&self, name: &str) -> Option<Vec<&str>> {
        let roots = self.given.get(name)?.get("roots")?.as_array()?;
        Some(roots.iter().filter_map(|it| it.get("uri")?.as_str()).collect())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answers(given: Value) -> Answers {
        Answers { given: given.as_object().cloned().unwrap_or_default(), ..Answers::default() }
    }

    #[test]
    fn reads_answers() {
        let answers = answers(json!({
            "yes": {"action": "accept", "content": {"name": "Ann"}},
            "no": {"action": "decline"},
            "text": {"role": "assistant", "content": {"type": "text", "text": "Paris"}, "model": "m"},
            "parts": {"content": [{"type": "image"}, {"type": "text", "text": "Rome"}]},
            "roots": {"roots": [{"uri": "file:///a", "name": "a"}]},
        }));
        let Some(FormAnswer::Accepted(fields)) = answers.form("yes") else { panic!("accepted") };
        assert_eq!(fields["name"], "Ann");
        assert_eq!(answers.form("no"), Some(FormAnswer::Declined));
        assert_eq!(answers.sample("text"), Some("Paris"));
        assert_eq!(answers.sample("parts"), Some("Rome"));
        assert_eq!(answers.roots("roots"), Some(vec!["file:///a"]));
    }

    #[test]
    fn rubbish_is_no_answer() {
        let answers = answers(json!({
            "number": 12345, "null": null, "list": [], "bare": {"action": "accept"},
            "other": {"action": "maybe", "content": {}},
        }));
        for name in ["number", "null", "list", "bare", "other", "missing"] {
            assert_eq!(answers.form(name), None, "{name}");
            assert_eq!(answers.sample(name), None, "{name}");
            assert_eq!(answers.roots(name), None, "{name}");
        }
    }
}

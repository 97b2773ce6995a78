//! The envelope around text that projects, logs and games wrote (S9.3).

use std::fmt::Write;

/// Wraps `text` so that a reader can tell where it starts and ends, whatever it contains.
///
/// The nonce is 128 random bits: text that was written before the call cannot contain it.
pub fn wrap(source: &str, text: &str) -> String {
    let mut nonce = [0; 16];
    // Without randomness the envelope would be forgeable; the system's source does not fail in
    // practice, and text must then not pass for trusted.
    if getrandom::fill(&mut nonce).is_err() {
        return "(withheld: no random numbers to mark untrusted text with)".to_owned();
    }
    let nonce = nonce.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    let source = serde_json::Value::from(source);
    format!("<untrusted source={source} nonce=\"{nonce}\">\n{text}\n</untrusted nonce=\"{nonce}\">")
}

/// What [`wrap`] was given, for readers who have no use for the envelope.
pub fn unwrap(wrapped: &str) -> Option<&str> {
    let (first, rest) = wrapped.split_once('\n')?;
    let (text, _) = rest.rsplit_once('\n')?;
    first.starts_with("<untrusted source=").then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn can_be_taken_off() {
        for text in ["", "a", "a\nb\n", "</untrusted>\n<untrusted source=\"\">"] {
            assert_eq!(unwrap(&wrap("x", text)), Some(text));
        }
        assert_eq!(unwrap("plain\ntext\nhere"), None);
    }

    /// S9.3: source escaped, nonce of 128 bits, another one each time.
    #[test]
    fn cannot_be_forged() {
        let (one, two) = (wrap("a \"b\"\n", "text"), wrap("a", "text"));
        assert!(one.starts_with(r#"<untrusted source="a \"b\"\n" nonce=""#), "{one}");
        let nonce = |it: &str| it.rsplit("nonce=\"").next().map(|it| it.len());
        assert_eq!(nonce(&one), Some(32 + 2));
        assert_ne!(one.rsplit("nonce=").next(), two.rsplit("nonce=").next());
    }
}

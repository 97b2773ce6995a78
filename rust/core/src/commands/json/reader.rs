//! Reads JSON text (RFC 8259) in one pass, with bounded depth.

use super::{Json, Number, Object};
use crate::commands::limits::JSON_MAX_DEPTH;

/// Why text is not JSON, and where: line and column count from one, columns in characters.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("not JSON: {message} at line {line}, column {column}")]
pub struct SyntaxError {
    pub message: String,
    pub line: usize,
    pub column: usize,
}

/// Text from bytes, or why it is none (A7): a byte order mark counts as an error.
pub fn text_of(bytes: &[u8]) -> Result<&str, String> {
    if bytes.starts_with(b"\xef\xbb\xbf") || bytes.starts_with(b"\xff\xfe") {
        return Err("starts with a byte order mark; save it as UTF-8 without one".to_owned());
    }
    std::str::from_utf8(bytes)
        .map_err(|it| format!("is not UTF-8 text: byte {} is wrong", it.valid_up_to()))
}

/// The value that a text is.
pub fn parse(text: &str) -> Result<Json, SyntaxError> {
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(0)?;
    reader.spaces();
    if reader.at < text.len() { Err(reader.error("text behind the end")) } else { Ok(value) }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    /// `depth` containers are open around it.
    fn value(&mut self, depth: usize) -> Result<Json, SyntaxError> {
        self.spaces();
        match self.peek() {
            Some(b'{' | b'[') if depth == JSON_MAX_DEPTH => {
                Err(self.error(format!("more than {JSON_MAX_DEPTH} levels")))
            }
            Some(b'{') => self.object(depth + 1),
            Some(b'[') => self.array(depth + 1),
            Some(b'"') => self.string().map(Json::String),
            Some(b'-' | b'0'..=b'9') => self.number().map(Json::Number),
            Some(b'n') => self.word("null", Json::Null),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(_) => Err(self.error("no value")),
            None => Err(self.error("the text ends where a value is due")),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, SyntaxError> {
        self.at += 1;
        let mut entries = Vec::new();
        self.spaces();
        if self.take(b'}') {
            return Ok(Json::Object(Object { entries }));
        }
        loop {
            self.spaces();
            if self.peek() != Some(b'"') {
                return Err(self.error("no key in quotes"));
            }
            let key = self.string()?;
            self.spaces();
            if !self.take(b':') {
                return Err(self.error("no \":\" behind a key"));
            }
            entries.push((key, self.value(depth)?));
            self.spaces();
            if self.take(b'}') {
                return Ok(Json::Object(Object { entries }));
            }
            if !self.take(b',') {
                return Err(self.error("neither \",\" nor \"}\""));
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Json, SyntaxError> {
        self.at += 1;
        let mut items = Vec::new();
        self.spaces();
        if self.take(b']') {
            return Ok(Json::Array(items));
        }
        loop {
            items.push(self.value(depth)?);
            self.spaces();
            if self.take(b']') {
                return Ok(Json::Array(items));
            }
            if !self.take(b',') {
                return Err(self.error("neither \",\" nor \"]\""));
            }
        }
    }

    fn number(&mut self) -> Result<Number, SyntaxError> {
        let start = self.at;
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            let _ = self.take(b'+') || self.take(b'-');
            self.digits()?;
        }
        if self.peek().is_some_and(|it| it.is_ascii_alphanumeric() || it == b'.') {
            return Err(self.error("no number"));
        }
        Ok(Number::new(&self.text[start..self.at]))
    }

    fn digits(&mut self) -> Result<(), SyntaxError> {
        let start = self.at;
        while self.peek().is_some_and(|it| it.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == start { Err(self.error("no digit")) } else { Ok(()) }
    }

    fn string(&mut self) -> Result<String, SyntaxError> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = &self.text[self.at..];
            let plain = rest.bytes().position(|it| it == b'"' || it == b'\\' || it < 0x20);
            let Some(plain) = plain else {
                self.at = self.text.len();
                return Err(self.error("a string without its closing quote"));
            };
            out.push_str(&rest[..plain]);
            self.at += plain;
            if self.take(b'"') {
                return Ok(out);
            }
            if !self.take(b'\\') {
                return Err(self.error("a control character in a string"));
            }
            out.push(self.escape()?);
        }
    }

    fn escape(&mut self) -> Result<char, SyntaxError> {
        let Some(letter) = self.peek() else { return Err(self.error("no escape")) };
        let plain = match letter {
            b'"' | b'\\' | b'/' => char::from(letter),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode(),
            _ => return Err(self.error("no escape")),
        };
        self.at += 1;
        Ok(plain)
    }

    fn unicode(&mut self) -> Result<char, SyntaxError> {
        let start = self.at;
        let first = self.four_hex()?;
        let mut code = first;
        if (0xd800..0xdc00).contains(&first) && self.text[self.at..].starts_with("\\u") {
            self.at += 1;
            let second = self.four_hex()?;
            if (0xdc00..0xe000).contains(&second) {
                code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            }
        }
        char::from_u32(code).ok_or_else(|| {
            self.at = start;
            self.error("half a surrogate pair")
        })
    }

    /// From the `u` on.
    fn four_hex(&mut self) -> Result<u32, SyntaxError> {
        let digits = self.text.get(self.at + 1..self.at + 5).filter(|it| {
            it.bytes().all(|it| it.is_ascii_hexdigit()) // `from_str_radix` takes a sign too
        });
        let Some(digits) = digits else { return Err(self.error("no four hexadecimal digits")) };
        self.at += 5;
        Ok(u32::from_str_radix(digits, 16).unwrap_or_default())
    }

    fn word(&mut self, word: &str, value: Json) -> Result<Json, SyntaxError> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.error("no value"));
        }
        self.at += word.len();
        Ok(value)
    }

    fn spaces(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn error(&self, message: impl Into<String>) -> SyntaxError {
        // An error inside a character of several bytes is told at its start.
        let mut at = self.at.min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        let before = &self.text[..at];
        let line_start = before.rfind('\n').map_or(0, |it| it + 1);
        SyntaxError {
            message: message.into(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}

//! The pattern grammar of argument schemas (R30).
//!
//! `^…$` around literals, escapes, character classes and the quantifiers `*`, `+`, `?`, `{n}` and
//! `{n,m}`; or `^(…|…)$` around several such sequences. Everything else is refused with its name:
//! groups inside, `.`, back-references, look-around, lazy quantifiers, `{n,}`. So a pattern is a
//! regular expression in the mathematical sense, and matching takes time linear in the text.
//!
//! `\d`, `\w` and `\s` are ASCII: the digits 0 to 9, letters, digits and `_`, and the six spaces of
//! ASCII. That is what a project's author means, and what GDScript's `is_valid_int` takes.

mod class;

use std::iter::Peekable;
use std::str::Chars;

use super::json::quoted;
use super::limits::{PATTERN_COST_MAX, PATTERN_REPEAT_MAX};
use class::Class;

/// A pattern in a spelling that the matcher reads in one way only.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    pub regex: String,
    /// Size with repetitions written out; a class costs one for each range, eight beyond ASCII.
    pub cost: u64,
}

/// Reads a pattern, or says which construct is outside the grammar.
pub fn parse(text: &str) -> Result<Pattern, String> {
    let inner = text
        .strip_prefix('^')
        .ok_or_else(|| format!("{} does not start with \"^\"", quoted(text)))?;
    let mut parser = Parser { rest: inner.chars().peekable(), regex: "^".to_owned(), cost: 0 };
    parser.whole().map_err(|it| format!("{it} in {}", quoted(text)))?;
    if parser.cost > PATTERN_COST_MAX {
        return Err(format!(
            "{} is too large with its repetitions written out; use \"maxLength\" for long texts",
            quoted(text)
        ));
    }
    Ok(Pattern { regex: parser.regex, cost: parser.cost })
}

struct Parser<'a> {
    rest: Peekable<Chars<'a>>,
    regex: String,
    cost: u64,
}

/// What may follow an atom.
enum Next {
    Atom(Class),
    Bar,
    Close,
    End,
}

impl Parser<'_> {
    fn whole(&mut self) -> Result<(), String> {
        if self.rest.peek() != Some(&'(') {
            return match self.alternative()? {
                Next::End => {
                    self.regex.push('$');
                    Ok(())
                }
                _ => Err("\"|\" or \")\" outside \"^(…|…)$\"".to_owned()),
            };
        }
        self.rest.next();
        if self.rest.peek() == Some(&'?') {
            return Err("\"(?\", a special group,".to_owned());
        }
        self.regex.push_str("(?:");
        loop {
            let end = self.alternative()?;
            match end {
                Next::Bar => self.regex.push('|'),
                Next::Close => break,
                _ => return Err("a group that is not closed".to_owned()),
            }
        }
        self.regex.push(')');
        match (self.rest.next(), self.rest.next()) {
            (Some('$'), None) => {
                self.regex.push('$');
                Ok(())
            }
            (Some('*' | '+' | '?' | '{'), _) => Err("a repeated group".to_owned()),
            (None, _) => Err("no \"$\" at the end".to_owned()),
            _ => Err("a group that is not the whole pattern".to_owned()),
        }
    }

    /// Atoms with quantifiers, up to what ends them.
    fn alternative(&mut self) -> Result<Next, String> {
        loop {
            let class = match self.next()? {
                Next::Atom(class) => class,
                end => return Ok(end),
            };
            class.write(&mut self.regex);
            let times = self.quantifier()?;
            self.cost = self.cost.saturating_add(class.cost() * u64::from(times));
        }
    }

    fn next(&mut self) -> Result<Next, String> {
        let Some(found) = self.rest.next() else { return Err("no \"$\" at the end".to_owned()) };
        let class = match found {
            '$' if self.rest.peek().is_none() => return Ok(Next::End),
            '$' | '^' => return Err(format!("{:?} inside", found.to_string())),
            '|' => return Ok(Next::Bar),
            ')' => return Ok(Next::Close),
            '(' => return Err("a nested group".to_owned()),
            '.' => return Err("the wildcard \".\"".to_owned()),
            '*' | '+' | '?' => return Err(format!("\"{found}\" with nothing to repeat")),
            '{' | '}' | ']' => return Err(format!("\"{found}\" without \"\\\\\" before it")),
            '[' => self.class()?,
            '\\' => self.escape()?,
            literal => Class::one(literal),
        };
        Ok(Next::Atom(class))
    }

    /// Writes the quantifier, and answers how often it writes the atom out.
    fn quantifier(&mut self) -> Result<u32, String> {
        let times = match self.rest.peek() {
            Some(&it @ ('*' | '+' | '?')) => {
                self.rest.next();
                self.regex.push(it);
                if it == '+' { 2 } else { 1 }
            }
            Some('{') => {
                self.rest.next();
                self.counted()?
            }
            _ => return Ok(1),
        };
        match self.rest.peek() {
            Some('?') => Err("a lazy quantifier".to_owned()),
            Some('+') => Err("a possessive quantifier".to_owned()),
            Some('*' | '{') => Err("a quantifier behind a quantifier".to_owned()),
            _ => Ok(times),
        }
    }

    /// From behind `{`.
    fn counted(&mut self) -> Result<u32, String> {
        let least = self.count()?;
        let most = match self.rest.next() {
            Some('}') => least,
            Some(',') if self.rest.peek() == Some(&'}') => {
                return Err("the open quantifier \"{n,}\"".to_owned());
            }
            Some(',') => {
                let most = self.count()?;
                if self.rest.next() != Some('}') {
                    return Err("\"{\" that is no quantifier".to_owned());
                }
                most
            }
            _ => return Err("\"{\" that is no quantifier".to_owned()),
        };
        if least > most {
            return Err(format!("\"{{{least},{most}}}\", which ends before it starts,"));
        }
        self.regex.push_str(&format!("{{{least},{most}}}"));
        Ok(most.max(1))
    }

    fn count(&mut self) -> Result<u32, String> {
        let mut digits = String::new();
        while let Some(digit) = self.rest.next_if(char::is_ascii_digit) {
            digits.push(digit);
        }
        if digits.is_empty() {
            return Err("\"{\" that is no quantifier".to_owned());
        }
        let count = digits.parse().ok().filter(|&it| it <= PATTERN_REPEAT_MAX);
        count.ok_or_else(|| {
            format!("a repetition of {} (at most {PATTERN_REPEAT_MAX})", quoted(&digits))
        })
    }

    /// From behind `[`.
    fn class(&mut self) -> Result<Class, String> {
        let negated = self.rest.next_if_eq(&'^').is_some();
        let mut class = Class::default();
        loop {
            let first = match self.rest.next() {
                None => return Err("a class that is not closed".to_owned()),
                Some(']') => break,
                Some('\\') => self.escape()?,
                Some(it) => Class::one(it),
            };
            let mut after = self.rest.clone();
            let is_range = after.next() == Some('-') && after.peek().is_some_and(|it| *it != ']');
            if !is_range {
                class.add(first);
                continue;
            }
            self.rest.next();
            let last = match self.rest.next() {
                Some('\\') => self.escape()?,
                Some(it) => Class::one(it),
                None => return Err("a class that is not closed".to_owned()),
            };
            let (Some(from), Some(to)) = (first.single(), last.single()) else {
                return Err("a range with a class at its end".to_owned());
            };
            if from > to {
                return Err(format!("the range \"{from}-{to}\", which ends before it starts,"));
            }
            class.add(Class::range(from, to));
        }
        let class = if negated { class.complement() } else { class };
        if class.is_empty() { Err("a class that matches nothing".to_owned()) } else { Ok(class) }
    }

    /// From behind `\`.
    fn escape(&mut self) -> Result<Class, String> {
        let Some(letter) = self.rest.next() else {
            return Err("\"\\\\\" with nothing behind it".to_owned());
        };
        let one = match letter {
            'd' => return Ok(Class::digits()),
            'D' => return Ok(Class::digits().complement()),
            'w' => return Ok(Class::word()),
            'W' => return Ok(Class::word().complement()),
            's' => return Ok(Class::spaces()),
            'S' => return Ok(Class::spaces().complement()),
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'f' => '\u{c}',
            'v' => '\u{b}',
            'x' => self.hex(2)?,
            'u' => self.hex(4)?,
            '0'..='9' | 'k' => return Err(format!("the back-reference \"\\{letter}\"")),
            'b' | 'B' => return Err(format!("the word boundary \"\\{letter}\"")),
            'p' | 'P' => return Err(format!("the character property \"\\{letter}\"")),
            it if it.is_ascii_punctuation() => it,
            _ => return Err(format!("the escape \"\\{letter}\"")),
        };
        Ok(Class::one(one))
    }

    fn hex(&mut self, digits: usize) -> Result<char, String> {
        let first = self.hex_code(digits)?;
        let mut code = first;
        let mut after = self.rest.clone();
        let pair = (0xd800..0xdc00).contains(&first) && after.next() == Some('\\');
        if pair && after.next() == Some('u') {
            self.rest = after;
            let second = self.hex_code(4)?;
            if (0xdc00..0xe000).contains(&second) {
                code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            }
        }
        char::from_u32(code).ok_or_else(|| "half a surrogate pair".to_owned())
    }

    fn hex_code(&mut self, digits: usize) -> Result<u32, String> {
        (0..digits).try_fold(0, |code, _| {
            let digit = self.rest.next().and_then(|it| it.to_digit(16));
            let digit = digit.ok_or_else(|| format!("an escape without {digits} digits"))?;
            Ok(code * 16 + digit)
        })
    }
}

#[cfg(test)]
mod tests;

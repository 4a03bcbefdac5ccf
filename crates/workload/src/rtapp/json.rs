//! JSON in the dialect of rt-app's parser, with the place of every value.
//!
//! Extensions of JSON: comments (`/* */` and `//`), a comma before a closing bracket, strings in single quotes,
//! `true`, `false` and `null` in any case, repeated keys, and keys without a value.

use super::error::{Place, RtAppError};

/// Greatest depth of nested brackets. rt-app's grammar needs six.
const MAX_DEPTH: u32 = 32;

/// A value with the place of its first character.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    pub place: Place,
    pub value: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    Integer(i64),
    Real(f64),
    Text(String),
    List(Vec<Node>),
    Object(Vec<Member>),
}

/// A key with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    pub key: String,
    pub place: Place,
    pub node: Node,
}

impl Value {
    /// Name of such a value in messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Bool(_) => "true or false",
            Self::Integer(_) => "a whole number",
            Self::Real(_) => "a number with a fraction or exponent",
            Self::Text(_) => "a string",
            Self::List(_) => "a list",
            Self::Object(_) => "an object",
        }
    }
}

/// Read one value that spans the complete text.
pub fn parse(text: &str) -> Result<Node, RtAppError> {
    let mut reader = Reader { rest: text.chars(), place: Place { line: 1, column: 1 } };
    reader.space()?;
    let node = reader.node(0)?;
    reader.space()?;
    match reader.peek() {
        None => Ok(node),
        Some(other) => reader.fail(format!("`{other}` follows the end of the document")),
    }
}

struct Reader<'t> {
    rest: std::str::Chars<'t>,
    place: Place,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.rest.clone().next()
    }

    fn take(&mut self) -> Option<char> {
        let next = self.rest.next()?;
        if next == '\n' {
            self.place = Place { line: self.place.line.saturating_add(1), column: 1 };
        } else {
            self.place.column = self.place.column.saturating_add(1);
        }
        Some(next)
    }

    fn takes(&mut self, wanted: char) -> bool {
        let there = self.peek() == Some(wanted);
        if there {
            self.take();
        }
        there
    }

    fn fail<T>(&self, reason: impl Into<String>) -> Result<T, RtAppError> {
        fail_at(self.place, reason)
    }

    /// Skip white space and comments.
    fn space(&mut self) -> Result<(), RtAppError> {
        loop {
            match self.peek() {
                Some(next) if next.is_whitespace() => {
                    self.take();
                }
                Some('/') => self.comment()?,
                _ => return Ok(()),
            }
        }
    }

    fn comment(&mut self) -> Result<(), RtAppError> {
        let begin = self.place;
        self.take();
        match self.take() {
            Some('/') => {
                while self.peek().is_some_and(|next| next != '\n') {
                    self.take();
                }
            }
            Some('*') => {
                let mut star = false;
                loop {
                    match self.take() {
                        None => return fail_at(begin, "this comment has no end"),
                        Some('/') if star => break,
                        Some(next) => star = next == '*',
                    }
                }
            }
            _ => return fail_at(begin, "a single `/` is not valid: comments begin with `//` or `/*`"),
        }
        Ok(())
    }

    fn node(&mut self, depth: u32) -> Result<Node, RtAppError> {
        let place = self.place;
        if depth > MAX_DEPTH {
            return self.fail(format!("brackets are nested more than {MAX_DEPTH} deep"));
        }
        let value = match self.peek() {
            Some('{') => self.object(depth)?,
            Some('[') => self.list(depth)?,
            Some('"' | '\'') => Value::Text(self.string()?),
            Some('-' | '+' | '.' | '0'..='9') => self.number()?,
            Some(next) if next.is_ascii_alphabetic() => self.word()?,
            Some(other) => return self.fail(format!("a value was expected, not `{other}`")),
            None => return self.fail("the text ends where a value was expected"),
        };
        Ok(Node { place, value })
    }

    fn object(&mut self, depth: u32) -> Result<Value, RtAppError> {
        let begin = self.place;
        self.take();
        let mut members = Vec::new();
        loop {
            self.space()?;
            let place = self.place;
            match self.peek() {
                Some('}') => break,
                Some('"' | '\'') => {}
                Some(other) => {
                    return self.fail(format!("a key in quotes or `}}` was expected, not `{other}`"));
                }
                None => return fail_at(begin, "this object has no end: a `}` is missing"),
            }
            let key = self.string()?;
            self.space()?;
            let node = if self.takes(':') {
                self.space()?;
                self.node(depth + 1)?
            } else {
                Node { place, value: Value::Null }
            };
            members.push(Member { key, place, node });
            self.space()?;
            if !self.takes(',') && self.peek() != Some('}') {
                return self.missing(begin, "object", "`,` or `}`");
            }
        }
        self.take();
        Ok(Value::Object(members))
    }

    fn list(&mut self, depth: u32) -> Result<Value, RtAppError> {
        let begin = self.place;
        self.take();
        let mut nodes = Vec::new();
        loop {
            self.space()?;
            match self.peek() {
                Some(']') => break,
                None => return fail_at(begin, "this list has no end: a `]` is missing"),
                _ => nodes.push(self.node(depth + 1)?),
            }
            self.space()?;
            if !self.takes(',') && self.peek() != Some(']') {
                return self.missing(begin, "list", "`,` or `]`");
            }
        }
        self.take();
        Ok(Value::List(nodes))
    }

    fn missing<T>(&self, begin: Place, kind: &str, wanted: &str) -> Result<T, RtAppError> {
        match self.peek() {
            Some(other) => self.fail(format!("{wanted} was expected, not `{other}`")),
            None => fail_at(begin, format!("this {kind} has no end: {wanted} was expected")),
        }
    }

    fn string(&mut self) -> Result<String, RtAppError> {
        let begin = self.place;
        let quote = self.take();
        let mut text = String::new();
        loop {
            let place = self.place;
            match self.take() {
                None | Some('\n') => return fail_at(begin, "this string has no end"),
                next if next == quote => return Ok(text),
                Some('\\') => text.push(self.escape(place)?),
                Some(next) => text.push(next),
            }
        }
    }

    fn escape(&mut self, place: Place) -> Result<char, RtAppError> {
        Ok(match self.take() {
            Some('n') => '\n',
            Some('t') => '\t',
            Some('r') => '\r',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some(same @ ('"' | '\'' | '\\' | '/')) => same,
            Some('u') => {
                let mut code = 0;
                for _ in 0..4 {
                    let Some(digit) = self.take().and_then(|digit| digit.to_digit(16)) else {
                        return fail_at(place, "`\\u` needs four hexadecimal digits");
                    };
                    code = code * 16 + digit;
                }
                // Halves of surrogate pairs become replacement characters: no name needs them.
                char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            _ => return fail_at(place, "this escape is not valid in JSON"),
        })
    }

    fn number(&mut self) -> Result<Value, RtAppError> {
        let begin = self.place;
        let mut text = String::new();
        while let Some(next) =
            self.peek().filter(|next| next.is_ascii_alphanumeric() || "+-.".contains(*next))
        {
            text.push(next);
            self.take();
        }
        let whole = text.trim_start_matches(['+', '-']).chars().all(|next| next.is_ascii_digit());
        match (whole, text.parse::<i64>(), text.parse::<f64>()) {
            (true, Ok(number), _) => Ok(Value::Integer(number)),
            (true, Err(_), Ok(_)) => fail_at(begin, format!("{text} is out of range")),
            (false, _, Ok(number)) if number.is_finite() => Ok(Value::Real(number)),
            _ => fail_at(begin, format!("`{text}` is not a number")),
        }
    }

    fn word(&mut self) -> Result<Value, RtAppError> {
        let begin = self.place;
        let mut word = String::new();
        while let Some(next) = self.peek().filter(char::is_ascii_alphanumeric) {
            word.push(next);
            self.take();
        }
        match word.to_ascii_lowercase().as_str() {
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            "null" => Ok(Value::Null),
            _ => fail_at(begin, format!("`{word}` is not valid in JSON: write strings in quotes")),
        }
    }
}

fn fail_at<T>(place: Place, reason: impl Into<String>) -> Result<T, RtAppError> {
    Err(RtAppError::Syntax { place, reason: reason.into() })
}

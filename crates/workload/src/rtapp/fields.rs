//! Typed access to the members of an object; errors name the place.

use super::error::{Place, RtAppError};
use super::json::{Member, Node, Value};

/// Path in the document: the keys from the root to a member.
#[derive(Debug, Clone, Copy)]
pub struct At<'a> {
    parent: Option<&'a At<'a>>,
    key: &'a str,
}

impl<'a> At<'a> {
    pub const ROOT: At<'static> = At { parent: None, key: "" };

    pub fn child(&'a self, key: &'a str) -> At<'a> {
        At { parent: Some(self), key }
    }

    /// Path as text: `tasks.thread0.run`.
    pub fn path(&self) -> String {
        match self.parent {
            None => self.key.to_owned(),
            Some(parent) if parent.parent.is_none() => self.key.to_owned(),
            Some(parent) => format!("{}.{}", parent.path(), self.key),
        }
    }

    pub fn fail<T>(&self, place: Place, reason: impl Into<String>) -> Result<T, RtAppError> {
        let path = if self.parent.is_none() { "the document".to_owned() } else { self.path() };
        Err(RtAppError::Content { place, path, reason: reason.into() })
    }
}

/// Members of an object. A repeated key is a separate member.
pub fn members<'n>(node: &'n Node, at: &At<'_>) -> Result<&'n [Member], RtAppError> {
    match &node.value {
        Value::Object(members) => Ok(members),
        other => at.fail(node.place, format!("an object was expected, not {}", other.kind())),
    }
}

/// A whole number within `low..=high`.
pub fn integer(node: &Node, at: &At<'_>, low: i64, high: i64) -> Result<i64, RtAppError> {
    match node.value {
        Value::Integer(number) if (low..=high).contains(&number) => Ok(number),
        Value::Integer(number) if high == i64::MAX => {
            at.fail(node.place, format!("{number} is less than {low}"))
        }
        Value::Integer(number) => at.fail(node.place, format!("{number} is not between {low} and {high}")),
        ref other => at.fail(node.place, format!("a whole number was expected, not {}", other.kind())),
    }
}

/// A time in nanoseconds; the document has microseconds.
pub fn microseconds(node: &Node, at: &At<'_>) -> Result<u64, RtAppError> {
    Ok(integer(node, at, 0, i64::MAX / 1000)? as u64 * 1000)
}

pub fn text<'n>(node: &'n Node, at: &At<'_>) -> Result<&'n str, RtAppError> {
    match &node.value {
        Value::Text(text) => Ok(text),
        other => at.fail(node.place, format!("a string was expected, not {}", other.kind())),
    }
}

pub fn boolean(node: &Node, at: &At<'_>) -> Result<bool, RtAppError> {
    match node.value {
        Value::Bool(value) => Ok(value),
        ref other => at.fail(node.place, format!("true or false was expected, not {}", other.kind())),
    }
}

/// A list of numbers of CPUs or nodes.
pub fn numbers(node: &Node, at: &At<'_>, most: u32) -> Result<Vec<u32>, RtAppError> {
    let Value::List(nodes) = &node.value else {
        return at.fail(node.place, format!("a list of numbers was expected, not {}", node.value.kind()));
    };
    if nodes.is_empty() {
        return at.fail(node.place, "the list is empty");
    }
    nodes.iter().map(|number| Ok(integer(number, at, 0, i64::from(most) - 1)? as u32)).collect()
}

/// A loop's count; `None` for −1 and other negative numbers, which repeat without end.
pub fn loops(node: &Node, at: &At<'_>) -> Result<Option<u64>, RtAppError> {
    Ok(u64::try_from(integer(node, at, i64::MIN, i64::MAX)?).ok())
}

/// Refuse the second member with the same key.
pub fn once<T>(slot: &mut Option<T>, value: T, member: &Member, at: &At<'_>) -> Result<(), RtAppError> {
    if slot.replace(value).is_some() {
        return at.fail(member.place, "occurs twice");
    }
    Ok(())
}

/// The error of an unknown key.
pub fn unknown<T>(member: &Member, at: &At<'_>, kind: &str, supported: &[&str]) -> Result<T, RtAppError> {
    at.fail(member.place, format!("unknown {kind} `{}` (known: {})", member.key, supported.join(", ")))
}

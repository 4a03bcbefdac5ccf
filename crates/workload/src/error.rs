//! Faults of parameters and programs.

use thiserror::Error;

/// A parameter of a workload is unknown, or its value is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{parameter} = {value}: {reason}")]
pub struct ParameterError {
    /// Name of the parameter, as in an experiment file.
    pub parameter: String,
    /// The refused value.
    pub value: String,
    /// The accepted values.
    pub reason: String,
}

impl ParameterError {
    /// An error for the value of a parameter.
    pub fn new(parameter: &str, value: impl ToString, reason: impl Into<String>) -> Self {
        Self { parameter: parameter.to_owned(), value: value.to_string(), reason: reason.into() }
    }

    /// `Ok` when `value` lies in `range`, otherwise an error that states the range.
    pub fn check<T>(
        parameter: &str,
        value: T,
        range: std::ops::RangeInclusive<T>,
    ) -> Result<(), ParameterError>
    where
        T: PartialOrd + std::fmt::Display,
    {
        if range.contains(&value) {
            return Ok(());
        }
        Err(Self::new(parameter, value, format!("must be from {} to {}", range.start(), range.end())))
    }
}

/// A program that no executor can run.
#[derive(Debug, Clone, PartialEq, Error)]
#[allow(missing_docs, reason = "the text of a variant explains its fields")]
pub enum ProgramError {
    /// The document has another layout version.
    #[error("program schema {schema} is not supported: this version reads schema {supported}")]
    Schema { schema: u32, supported: u32 },
    /// A count or size that must be positive is 0.
    #[error("{name} must be at least 1")]
    Zero { name: String },
    /// Two definitions of one kind have the same name.
    #[error("two {kind}s are called `{name}`: names are unique within a kind")]
    Duplicate { kind: &'static str, name: String },
    /// A body or metric refers to a name that the program does not define.
    #[error("{place} uses {kind} `{name}`, which the program does not define (defined: {known})")]
    Unknown { place: String, kind: &'static str, name: String, known: String },
    /// An index can leave the range of instances.
    #[error("{place}: the index of {kind} `{name}` can reach {reached}, but only {count} exist (0 to {})", count - 1)]
    Index { place: String, kind: &'static str, name: String, reached: u64, count: u32 },
    /// An operation of a body is not valid.
    #[error("{place}: {reason}")]
    Body { place: String, reason: String },
    /// The product of counts exceeds the range of numbers.
    #[error("{name}: {number} is more than the {limit} that a program can have")]
    TooMany { name: String, number: u64, limit: u64 },
    /// A metric's definition is wrong.
    #[error("metric `{metric}`: {reason}")]
    Metric { metric: String, reason: String },
}

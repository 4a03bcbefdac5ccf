//! Arithmetic on unsigned 64-bit integers inside a program: sizes, times and indices.

use std::ops::{Add, Div, Mul, Rem};

use serde::{Deserialize, Serialize};

/// A number that may depend on the task and on the enclosing loops.
///
/// In JSON: `7`, `"task"`, `{"add": ["task", {"loop": 0}]}`. Arithmetic saturates at the ends of the range;
/// [`crate::check`] refuses a divisor that can be 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Expr {
    /// A literal.
    Const(u64),
    /// A property of the task.
    Variable(Variable),
    /// An operation with operands.
    Operation(Box<Operation>),
}

/// A property of the task that evaluates an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Variable {
    /// Index of the task within its group and replica, from 0.
    Task,
    /// Index of the replica, from 0.
    Replica,
}

/// An operation of an expression.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Iterations completed by an enclosing loop of the same task; 0 is the innermost loop.
    Loop(u32),
    /// First + second.
    Add(Expr, Expr),
    /// First − second, never below 0.
    Sub(Expr, Expr),
    /// First × second.
    Mul(Expr, Expr),
    /// First ÷ second, rounded down.
    Div(Expr, Expr),
    /// Remainder of first ÷ second.
    Rem(Expr, Expr),
    /// Uniformly distributed in `first..second`, drawn from the task's generator at each evaluation.
    Random(Expr, Expr),
}

impl Expr {
    /// Whether this is the literal 0.
    pub(crate) fn is_zero(&self) -> bool {
        *self == Self::Const(0)
    }

    /// Index of the task within its group.
    pub fn task() -> Self {
        Self::Variable(Variable::Task)
    }

    /// Index of the replica.
    pub fn replica() -> Self {
        Self::Variable(Variable::Replica)
    }

    /// Iterations completed by the enclosing loop at `depth`, 0 being the innermost.
    pub fn loop_index(depth: u32) -> Self {
        Operation::Loop(depth).into()
    }

    /// A uniform draw from `from..below`.
    pub fn random(from: impl Into<Expr>, below: impl Into<Expr>) -> Self {
        Operation::Random(from.into(), below.into()).into()
    }
}

impl Default for Expr {
    fn default() -> Self {
        Self::Const(0)
    }
}

impl From<u64> for Expr {
    fn from(value: u64) -> Self {
        Self::Const(value)
    }
}

impl From<u32> for Expr {
    fn from(value: u32) -> Self {
        Self::Const(value.into())
    }
}

impl From<Operation> for Expr {
    fn from(operation: Operation) -> Self {
        Self::Operation(Box::new(operation))
    }
}

macro_rules! operator {
    ($trait:ident, $method:ident) => {
        impl<T: Into<Expr>> $trait<T> for Expr {
            type Output = Expr;

            fn $method(self, other: T) -> Expr {
                Operation::$trait(self, other.into()).into()
            }
        }
    };
}

operator!(Add, add);
operator!(Mul, mul);
operator!(Div, div);
operator!(Rem, rem);

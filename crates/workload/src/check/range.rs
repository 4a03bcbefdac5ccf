//! Interval arithmetic: the values that an expression can take.

use crate::program::{Expr, Operation, Variable};

/// An inclusive interval of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// Least value.
    pub low: u64,
    /// Greatest value.
    pub high: u64,
}

/// Values that the variables of an expression can take.
#[derive(Debug, Clone)]
pub struct Variables {
    /// Index of the task.
    pub task: Range,
    /// Index of the replica.
    pub replica: Range,
    /// Iteration indices of the enclosing loops, outermost first.
    pub loops: Vec<Range>,
}

/// Why an expression has no range.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "the text of a variant explains its fields")]
pub enum Flaw {
    /// The expression refers to a loop that does not enclose it.
    NoLoop { depth: u32, enclosing: usize },
    /// A divisor can be 0.
    DivisorZero,
    /// A random draw's interval can be empty.
    EmptyDraw,
}

impl std::fmt::Display for Flaw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoLoop { depth, enclosing } => {
                write!(f, "loop index {depth} is used inside {enclosing} loop(s); 0 is the innermost")
            }
            Self::DivisorZero => f.write_str("a divisor can be 0"),
            Self::EmptyDraw => f.write_str("a random draw `from..below` can be empty"),
        }
    }
}

impl Variables {
    /// Values in the body of a single task, outside of all loops.
    pub fn exactly(task: u32, replica: u32) -> Self {
        let [task, replica] = [task, replica].map(|number| Range::exactly(number.into()));
        Self { task, replica, loops: Vec::new() }
    }
}

impl Range {
    /// Every value.
    pub const ANY: Self = Self { low: 0, high: u64::MAX };

    /// Exactly `value`.
    pub fn exactly(value: u64) -> Self {
        Self { low: value, high: value }
    }

    /// `0..count`; a count of 0 is treated as 1, because the body is never reached.
    pub fn below(count: u64) -> Self {
        Self { low: 0, high: count.saturating_sub(1) }
    }
}

/// The interval of values that `expr` can take.
pub fn of(expr: &Expr, variables: &Variables) -> Result<Range, Flaw> {
    Ok(match expr {
        Expr::Const(value) => Range::exactly(*value),
        Expr::Variable(Variable::Task) => variables.task,
        Expr::Variable(Variable::Replica) => variables.replica,
        Expr::Operation(operation) => of_operation(operation, variables)?,
    })
}

fn of_operation(operation: &Operation, variables: &Variables) -> Result<Range, Flaw> {
    let both =
        |a: &Expr, b: &Expr| -> Result<(Range, Range), Flaw> { Ok((of(a, variables)?, of(b, variables)?)) };
    Ok(match operation {
        Operation::Loop(depth) => {
            let enclosing = variables.loops.len();
            let position = enclosing.checked_sub(*depth as usize + 1);
            variables.loops[position.ok_or(Flaw::NoLoop { depth: *depth, enclosing })?]
        }
        Operation::Add(a, b) => {
            let (a, b) = both(a, b)?;
            Range { low: a.low.saturating_add(b.low), high: a.high.saturating_add(b.high) }
        }
        Operation::Sub(a, b) => {
            let (a, b) = both(a, b)?;
            Range { low: a.low.saturating_sub(b.high), high: a.high.saturating_sub(b.low) }
        }
        Operation::Mul(a, b) => {
            let (a, b) = both(a, b)?;
            Range { low: a.low.saturating_mul(b.low), high: a.high.saturating_mul(b.high) }
        }
        Operation::Div(a, b) => {
            let (a, b) = both(a, b)?;
            let quotient = |x: u64, y: u64| x.checked_div(y).ok_or(Flaw::DivisorZero);
            Range { high: quotient(a.high, b.low)?, low: quotient(a.low, b.high)? }
        }
        Operation::Rem(a, b) => {
            let (a, b) = both(a, b)?;
            if b.low == 0 {
                return Err(Flaw::DivisorZero);
            }
            if a.low == a.high && b.low == b.high {
                return Ok(Range::exactly(a.low % b.low));
            }
            // A dividend below every divisor is its own remainder.
            if a.high < b.low { a } else { Range { low: 0, high: a.high.min(b.high - 1) } }
        }
        Operation::Random(from, below) => {
            let (from, below) = both(from, below)?;
            if from.high >= below.low {
                return Err(Flaw::EmptyDraw);
            }
            Range { low: from.low, high: below.high - 1 }
        }
    })
}

//! Traversal of every operation of a body together with its surroundings.

use super::range::{Known, Range, of};
use crate::program::{Op, Repeat};

/// An operation and its surroundings.
pub struct Visit<'a> {
    /// The operation.
    pub op: &'a Op,
    /// Values that variables can take here.
    pub known: &'a Known,
    /// Whether an enclosing loop of the same process runs until a channel is closed.
    pub until_closed: bool,
    /// Most times that the operation is performed; `u64::MAX` inside a loop that ends by time or a stream's end.
    pub runs: u64,
    /// Depth of enclosing forks.
    pub forks: usize,
    /// Whether the operation is the last of its list.
    pub last: bool,
}

/// Call `visit` for every operation in `body`, enclosing operations first. The first error of `visit` ends the walk.
pub fn walk<E>(
    body: &[Op],
    known: &mut Known,
    visit: &mut dyn FnMut(Visit<'_>) -> Result<(), E>,
) -> Result<(), E> {
    level(body, known, Place { until_closed: false, runs: 1, forks: 0 }, visit)
}

#[derive(Clone, Copy)]
struct Place {
    until_closed: bool,
    runs: u64,
    forks: usize,
}

fn level<E>(
    body: &[Op],
    known: &mut Known,
    place: Place,
    visit: &mut dyn FnMut(Visit<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let Place { until_closed, runs, forks } = place;
    for (position, op) in body.iter().enumerate() {
        visit(Visit { op, known, until_closed, runs, forks, last: position + 1 == body.len() })?;
        match op {
            Op::Loop { repeat, body } => {
                // `visit` has refused a number without a range, so `ANY` only stands in for a value that is not used.
                let range = |expr| of(expr, known).unwrap_or(Range::ANY);
                let (range, times) = match repeat {
                    Repeat::Count(count) => (Range::below(range(count).high), range(count).high),
                    Repeat::With(value) => (range(value), 1),
                    _ => (Range::ANY, u64::MAX),
                };
                known.loops.push(range);
                let until_closed = until_closed || matches!(repeat, Repeat::UntilClosed);
                let inside = Place { until_closed, runs: runs.saturating_mul(times), forks };
                let result = level(body, known, inside, visit);
                known.loops.pop();
                result?;
            }
            Op::Choose { branches } => {
                for branch in branches {
                    level(&branch.body, known, place, visit)?;
                }
            }
            Op::Fork { body } => level(body, known, Place { forks: forks + 1, ..place }, visit)?,
            _ => {}
        }
    }
    Ok(())
}

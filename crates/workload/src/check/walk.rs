//! Visits every operation of a body together with its surroundings.

use super::range::{Flaw, Known, Range, of};
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

/// Calls `visit` for every operation in `body`, enclosing operations first. A fault in a loop's count ends the walk.
pub fn walk<E: From<Flaw>>(
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

fn level<E: From<Flaw>>(
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
                let (range, times) = match repeat {
                    Repeat::Count(count) => {
                        let most = of(count, known)?.high;
                        (Range::below(most), most)
                    }
                    Repeat::With(value) => (of(value, known)?, 1),
                    _ => (Range { low: 0, high: u64::MAX }, u64::MAX),
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

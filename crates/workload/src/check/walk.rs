//! Visits every operation of a body with what is known at its place.

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
    /// Depth of enclosing forks.
    pub forks: usize,
    /// Whether it is the last operation of its list.
    pub last: bool,
}

/// Calls `visit` for every operation in `body`, outer ones first. A flaw in a loop's count ends the walk.
pub fn walk<E: From<Flaw>>(
    body: &[Op],
    known: &mut Known,
    visit: &mut dyn FnMut(Visit<'_>) -> Result<(), E>,
) -> Result<(), E> {
    level(body, known, (false, 0), visit)
}

fn level<E: From<Flaw>>(
    body: &[Op],
    known: &mut Known,
    place: (bool, usize),
    visit: &mut dyn FnMut(Visit<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let (until_closed, forks) = place;
    for (position, op) in body.iter().enumerate() {
        visit(Visit { op, known, until_closed, forks, last: position + 1 == body.len() })?;
        match op {
            Op::Loop { repeat, body } => {
                let range = match repeat {
                    Repeat::Count(count) => Range::below(of(count, known)?.high),
                    _ => Range { low: 0, high: u64::MAX },
                };
                known.loops.push(range);
                let closes = matches!(repeat, Repeat::UntilClosed);
                let result = level(body, known, (until_closed || closes, forks), visit);
                known.loops.pop();
                result?;
            }
            Op::Choose { branches } => {
                for branch in branches {
                    level(&branch.body, known, place, visit)?;
                }
            }
            Op::Fork { body } => level(body, known, (until_closed, forks + 1), visit)?,
            _ => {}
        }
    }
    Ok(())
}

//! Traversal of every operation of a body together with its surroundings.

use super::range::{Range, Variables, of};
use crate::program::{Image, Op, Repeat};

/// An operation and its surroundings.
pub struct Visit<'a> {
    /// The operation.
    pub op: &'a Op,
    /// Values that variables can have at this place.
    pub variables: &'a Variables,
    /// Largest number of times that the operation is performed; `u64::MAX` inside a loop that a time or a closed channel
    /// ends.
    pub runs: u64,
    /// Depth of enclosing forks.
    pub forks: usize,
    /// Whether the operation is the last of its list.
    pub last: bool,
}

/// Call `visit` for every operation in `body`, enclosing operations first. The first error of `visit` ends the walk.
pub fn walk<E>(
    body: &[Op],
    variables: &mut Variables,
    visit: &mut dyn FnMut(Visit<'_>) -> Result<(), E>,
) -> Result<(), E> {
    level(body, variables, Place { runs: 1, forks: 0 }, visit)
}

#[derive(Clone, Copy)]
struct Place {
    runs: u64,
    forks: usize,
}

fn level<E>(
    body: &[Op],
    variables: &mut Variables,
    place: Place,
    visit: &mut dyn FnMut(Visit<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let Place { runs, forks } = place;
    for (position, op) in body.iter().enumerate() {
        visit(Visit { op, variables, runs, forks, last: position + 1 == body.len() })?;
        match op {
            Op::Loop { repeat, body } => {
                // `visit` has refused an expression without a range, so `ANY` is never used.
                let range = |expr| of(expr, variables).unwrap_or(Range::ANY);
                let (range, times) = match repeat {
                    Repeat::Count(count) => (Range::below(range(count).high), range(count).high),
                    Repeat::With(value) => (range(value), 1),
                    _ => (Range::ANY, u64::MAX),
                };
                variables.loops.push(range);
                let inside = Place { runs: runs.saturating_mul(times), forks };
                let result = level(body, variables, inside, visit);
                variables.loops.pop();
                result?;
            }
            Op::Choose { branches } => {
                for branch in branches {
                    level(&branch.body, variables, place, visit)?;
                }
            }
            Op::Fork { body } => level(body, variables, Place { forks: forks + 1, ..place }, visit)?,
            Op::Exec { image: Image::Command { model, .. } } => level(model, variables, place, visit)?,
            _ => {}
        }
    }
    Ok(())
}

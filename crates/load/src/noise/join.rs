//! Gaps of the loop, and what the kernel did in them: each instant of a gap belongs to the innermost interval that the trace
//! shows.
//!
//! ```text
//! gap         |---------------------------------------------------------|
//! trace          local_timer [  hrtimer tick [ ]  ]  softirq [ timer [] ]
//! belongs to  eee tttttttttttttttttttttttttttttttt ee ssssssssssss ii sss eee
//! ```
//! `e` is the path into the kernel, out of the kernel, or between two tasks: it is outside all intervals. Its usual length is
//! the lower quartile of the run, which a noisy neighbour hardly changes; what exceeds three times the usual length, or 5 µs, is
//! unexplained, as is a gap without any event.

use std::collections::{BTreeMap, HashMap};

use super::explained::{ENTRY, Explained, Part, UNEXPLAINED};
use super::spin::Gap;
use super::trace::{Event, What};
use super::walk::{Tasks, Walk};

/// Longest path into and out of the kernel that counts as explained, in ns: an interrupt of a virtual machine with page-table
/// isolation takes some thousand cycles.
const LONGEST_ENTRY_NS: f64 = 5_000.0;
/// Multiple of the usual path into and out of the kernel up to which such a path counts as explained.
const USUAL: u64 = 3;

/// Result of a join.
#[derive(Debug, Default)]
pub struct Joined {
    /// The gaps with their parts, in order.
    pub gaps: Vec<Explained>,
    /// Path into and out of the kernel up to which it counts as explained, in counts.
    pub usual: u64,
    /// How often the tick stopped, or what kept it.
    pub tick_stops: BTreeMap<String, u64>,
}

/// Join the gaps and the events of one CPU, both in order of time.
///
/// Args: the gaps; the least time of a turn, which is not part of a gap; the events; requests of other CPUs by the place of
/// their event; the number of the loop's thread; counts per nanosecond.
pub fn join(
    gaps: &[Gap],
    minimum: u64,
    events: &[Event],
    requests: &HashMap<usize, usize>,
    spinner: i32,
    per_ns: f64,
) -> Joined {
    let mut joined = Joined::default();
    let mut tasks = Tasks::new(spinner);
    let mut next = 0;
    let mut stopped = |event: &Event| {
        if let What::TickStop(reason) = &event.what {
            *joined.tick_stops.entry(reason.clone()).or_default() += 1;
        }
    };
    for gap in gaps {
        // Events between gaps belong to interruptions below the threshold.
        while let Some(event) = events.get(next).filter(|event| event.at < gap.start) {
            next += 1;
            stopped(event);
            tasks.follow(&event.what);
        }
        let mut walk = Walk::new(gap, &mut tasks, per_ns);
        while let Some(event) = events.get(next).filter(|event| event.at <= gap.end) {
            stopped(event);
            walk.apply(event, requests.get(&next).copied());
            next += 1;
        }
        joined.gaps.push(walk.finish(minimum));
    }
    events[next..].iter().for_each(stopped);
    let bare = joined.gaps.iter().filter(|gap| gap.is_traced).flat_map(|gap| &gap.bare);
    joined.usual = (USUAL * lower_quartile(bare)).min((LONGEST_ENTRY_NS * per_ns) as u64);
    let mut number = tasks.occurrences();
    joined.gaps.iter_mut().for_each(|gap| explain_bare(gap, joined.usual, &mut number));
    joined
}

fn lower_quartile<'a>(values: impl Iterator<Item = &'a u64>) -> u64 {
    let mut values: Vec<u64> = values.copied().collect();
    if values.is_empty() {
        return 0;
    }
    let quarter = values.len() / 4;
    *values.select_nth_unstable(quarter).1
}

/// Divide the time outside all intervals into the usual path through the kernel, and the unexplained rest.
fn explain_bare(gap: &mut Explained, usual: u64, occurrence: &mut u64) {
    let entry: u64 = match gap.is_traced {
        true => gap.bare.iter().map(|bare| (*bare).min(usual)).sum(),
        false => 0,
    };
    let unexplained = gap.bare.iter().sum::<u64>() - entry;
    for (name, own) in [(ENTRY, entry), (UNEXPLAINED, unexplained)] {
        if own > 0 {
            *occurrence += 1;
            gap.parts.push(Part::new(name, own, *occurrence));
        }
    }
}

/// Give the longest unexplained times the cause `cause`, longest first, while their sum is at most `budget` counts and their
/// number at most `most`. `admits` limits the choice to gaps with evidence of the cause.
pub fn attribute(
    gaps: &mut [Explained],
    cause: &str,
    budget: u64,
    most: usize,
    admits: impl Fn(&Explained) -> bool,
) {
    let mut order: Vec<usize> =
        (0..gaps.len()).filter(|at| gaps[*at].unexplained() > 0 && admits(&gaps[*at])).collect();
    order.sort_by_key(|at| std::cmp::Reverse(gaps[*at].unexplained()));
    let mut left = budget;
    for at in order.into_iter().take(most) {
        let time = gaps[at].unexplained();
        if time <= left {
            left -= time;
            gaps[at].rename_unexplained(cause);
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/noise/join.rs"]
mod tests;

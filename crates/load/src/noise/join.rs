//! Gaps of the loop, and what the kernel did in them: each instant of a gap belongs to the innermost interval that the trace
//! shows.
//!
//! ```text
//! gap         |---------------------------------------------------------|
//! trace          local_timer [  hrtimer tick [ ]  ]  softirq [ timer [] ]
//! belongs to  eee tttttttttttttttttttttttttttttttt ee ssssssssssss ii sss eee
//! ```
//! `e` is the path into the kernel, out of the kernel, or between two tasks: it is outside all intervals. Its usual length is
//! the median of the run; what exceeds three times the usual length is unexplained, as is a gap without any event.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::spin::Gap;
use super::trace::{Event, Kind, What};

/// Cause of the time outside all intervals, in a gap with events.
pub const ENTRY: &str = "kernel entry and exit";
/// Cause of the time that the trace does not explain.
pub const UNEXPLAINED: &str = "unexplained";
/// Cause of unexplained time that the hypervisor reports as stolen.
pub const HYPERVISOR: &str = "hypervisor";
/// Cause of unexplained time in which the processor ran its firmware.
pub const HARDWARE: &str = "hardware";
/// Name of the scheduler's periodic interrupt.
const TICK: &str = "tick";
/// Functions of the tick's timer (kernel/time/tick-sched.c, Linux 6.12 and earlier).
const TICK_FUNCTIONS: [&str; 2] = ["hrtimer tick_nohz_handler", "hrtimer tick_sched_timer"];
/// Multiple of the usual path into and out of the kernel up to which such a path counts as explained.
const USUAL: u64 = 3;

/// A part of a gap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Cause.
    pub name: String,
    /// Time in counts of this cause alone, without the parts inside it.
    pub own: u64,
    /// Index of the part around it.
    pub within: Option<usize>,
    /// For a task: the part in which it was woken on this CPU.
    pub woken_in: Option<String>,
    /// Whether the part goes on with an occurrence that a switch interrupted.
    pub is_rest: bool,
}

impl Part {
    fn new(name: &str, own: u64) -> Self {
        Self { name: name.to_owned(), own, within: None, woken_in: None, is_rest: false }
    }
}

/// A gap with its parts, whose times sum to `length`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained {
    /// Start in counts.
    pub start: u64,
    /// Counts beyond the loop's minimum.
    pub length: u64,
    /// Parts in the order of their beginnings.
    pub parts: Vec<Part>,
    /// Times in counts outside all intervals.
    bare: Vec<u64>,
    /// Whether the trace has an event in this gap.
    is_traced: bool,
}

impl Explained {
    /// The name of the largest part, and of a real cause rather than of the path into the kernel if there is one.
    pub fn main(&self) -> &str {
        let largest = |all: bool| {
            let parts = self.parts.iter().filter(|part| all || part.name != ENTRY);
            parts.max_by_key(|part| part.own).map(|part| part.name.as_str())
        };
        largest(false).or_else(|| largest(true)).unwrap_or(UNEXPLAINED)
    }

    /// The time in counts of the unexplained part.
    pub fn unexplained(&self) -> u64 {
        self.parts.iter().filter(|part| part.name == UNEXPLAINED).map(|part| part.own).sum()
    }

    /// Give the unexplained time another cause.
    pub fn rename_unexplained(&mut self, cause: &str) {
        for part in self.parts.iter_mut().filter(|part| part.name == UNEXPLAINED) {
            cause.clone_into(&mut part.name);
        }
    }
}

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
/// Args: the gaps; the least time of a turn, which is not part of a gap; the events; the number of the loop's thread; counts
/// per nanosecond.
pub fn join(gaps: &[Gap], minimum: u64, events: &[Event], spinner: i32, per_ns: f64) -> Joined {
    let mut joined = Joined::default();
    let mut tasks = Tasks::default();
    let mut next = 0;
    for gap in gaps {
        let mut walk = Walk::new(gap, &mut tasks, spinner, per_ns);
        while let Some(event) = events.get(next).filter(|event| event.at <= gap.end) {
            next += 1;
            if let What::TickStop(reason) = &event.what {
                *joined.tick_stops.entry(reason.clone()).or_default() += 1;
            }
            // Events between gaps belong to interruptions below the threshold.
            if event.at >= gap.start {
                walk.apply(event);
            }
        }
        joined.gaps.push(walk.finish(minimum));
    }
    for event in &events[next..] {
        if let What::TickStop(reason) = &event.what {
            *joined.tick_stops.entry(reason.clone()).or_default() += 1;
        }
    }
    joined.usual = USUAL * median(joined.gaps.iter().filter(|gap| gap.is_traced).flat_map(|gap| &gap.bare));
    joined.gaps.iter_mut().for_each(|gap| explain_bare(gap, joined.usual));
    joined
}

fn median<'a>(values: impl Iterator<Item = &'a u64>) -> u64 {
    let mut values: Vec<u64> = values.copied().collect();
    if values.is_empty() {
        return 0;
    }
    let middle = values.len() / 2;
    *values.select_nth_unstable(middle).1
}

/// Divide the time outside all intervals into the usual path through the kernel, and the unexplained rest.
fn explain_bare(gap: &mut Explained, usual: u64) {
    let entry: u64 = match gap.is_traced {
        true => gap.bare.iter().map(|bare| (*bare).min(usual)).sum(),
        false => 0,
    };
    let unexplained = gap.bare.iter().sum::<u64>() - entry;
    for (name, own) in [(ENTRY, entry), (UNEXPLAINED, unexplained)] {
        if own > 0 {
            gap.parts.push(Part::new(name, own));
        }
    }
}

/// What is known of tasks from one gap to the next, by process number.
#[derive(Debug, Default)]
struct Tasks {
    /// Work items that have begun.
    working: HashMap<i32, String>,
    /// Parts in which tasks were woken.
    wakers: HashMap<i32, String>,
    /// Tasks that were switched out without waiting.
    preempted: HashSet<i32>,
}

/// The walk through the events of one gap.
struct Walk<'a> {
    gap: &'a Gap,
    tasks: &'a mut Tasks,
    spinner: i32,
    per_ns: f64,
    running: i32,
    /// Time up to which the gap is explained.
    at: u64,
    open: Vec<(Kind, usize)>,
    parts: Vec<Part>,
    bare: Vec<u64>,
    is_traced: bool,
}

impl<'a> Walk<'a> {
    fn new(gap: &'a Gap, tasks: &'a mut Tasks, spinner: i32, per_ns: f64) -> Self {
        let (open, parts, bare) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            gap,
            tasks,
            spinner,
            per_ns,
            running: spinner,
            at: gap.start,
            open,
            parts,
            bare,
            is_traced: false,
        }
    }

    /// The time up to `at` belongs to the innermost open interval.
    fn advance(&mut self, at: u64) {
        let elapsed = at.saturating_sub(self.at);
        match self.open.last() {
            Some((_, part)) => self.parts[*part].own += elapsed,
            None if elapsed > 0 => self.bare.push(elapsed),
            None => {}
        }
        self.at = self.at.max(at);
    }

    fn enter(&mut self, kind: Kind, name: &str) {
        let within = self.open.last().map(|(_, part)| *part);
        let woken_in = (kind == Kind::Task).then(|| self.tasks.wakers.remove(&self.running)).flatten();
        self.open.push((kind, self.parts.len()));
        self.parts.push(Part { within, woken_in, ..Part::new(name, 0) });
    }

    fn apply(&mut self, event: &Event) {
        if let What::TickStop(_) = event.what {
            return;
        }
        if let What::Ended(_, name, ns) = &event.what {
            return self.end_of_known_length(event.at, name, *ns);
        }
        self.advance(event.at);
        self.is_traced = true;
        match &event.what {
            What::Enter(kind, name) if *kind == Kind::Hrtimer && TICK_FUNCTIONS.contains(&name.as_str()) => {
                self.enter_tick(name);
            }
            What::Enter(kind, name) => {
                if *kind == Kind::Work {
                    self.tasks.working.insert(self.running, name.clone());
                }
                self.enter(*kind, name);
            }
            What::Exit(kind) => {
                if *kind == Kind::Work {
                    self.tasks.working.remove(&self.running);
                }
                self.exit(*kind);
            }
            What::Switch { from, to, name, is_preempted } => {
                if *is_preempted {
                    self.tasks.preempted.insert(*from);
                }
                self.switch(*to, name);
            }
            What::Wake(pid) => {
                if let Some((_, part)) = self.open.last() {
                    self.tasks.wakers.insert(*pid, self.parts[*part].name.clone());
                }
            }
            What::Ended(..) | What::TickStop(_) | What::Lost => {}
        }
    }

    /// The timer interrupt of the tick is the tick: its time before and after the function is the tick's.
    fn enter_tick(&mut self, name: &str) {
        match self.open.last() {
            Some((Kind::Vector | Kind::Irq, part)) => {
                let part = *part;
                TICK.clone_into(&mut self.parts[part].name);
                self.open.push((Kind::Hrtimer, part));
            }
            _ => self.enter(Kind::Hrtimer, if TICK_FUNCTIONS.contains(&name) { TICK } else { name }),
        }
    }

    fn exit(&mut self, kind: Kind) {
        if let Some(depth) = self.open.iter().rposition(|(open, _)| *open == kind) {
            self.open.truncate(depth);
        }
    }

    fn switch(&mut self, to: i32, name: &str) {
        // Interrupts are over when the CPU switches.
        self.open.clear();
        self.running = to;
        if to == self.spinner {
            return;
        }
        let first = self.parts.len();
        let is_rest = self.tasks.preempted.remove(&to);
        self.enter(Kind::Task, name);
        self.parts[first].is_rest = is_rest;
        if let Some(work) = self.tasks.working.get(&to).cloned() {
            self.enter(Kind::Work, &work);
            self.parts[first + 1].is_rest = true;
        }
    }

    fn end_of_known_length(&mut self, at: u64, name: &str, ns: u64) {
        let began = at.saturating_sub((ns as f64 * self.per_ns) as u64).clamp(self.at, at.max(self.at));
        self.advance(began);
        self.is_traced = true;
        self.enter(Kind::Nmi, name);
        self.advance(at);
        self.exit(Kind::Nmi);
    }

    /// Close the gap. A turn of the loop takes `minimum` without any interruption, which is taken from the time outside all
    /// intervals, or from the longest part if there is none.
    fn finish(mut self, minimum: u64) -> Explained {
        self.advance(self.gap.end);
        let length = (self.gap.end - self.gap.start).saturating_sub(minimum);
        let mut excess = (self.gap.end - self.gap.start) - length;
        let mut order: Vec<&mut u64> = self.bare.iter_mut().collect();
        order.sort_by(|one, other| other.cmp(one));
        let mut owns: Vec<&mut u64> = self.parts.iter_mut().map(|part| &mut part.own).collect();
        owns.sort_by(|one, other| other.cmp(one));
        for value in order.into_iter().chain(owns) {
            let taken = excess.min(*value);
            *value -= taken;
            excess -= taken;
        }
        let bare = self.bare.into_iter().filter(|bare| *bare > 0).collect();
        Explained { start: self.gap.start, length, parts: self.parts, bare, is_traced: self.is_traced }
    }
}

/// Give the longest unexplained times the cause `cause`, longest first, while their sum is at most `budget` counts and their
/// number at most `most`. `admits` limits the choice to gaps of which something speaks for the cause.
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
#[path = "../../tests/unit/noise_join.rs"]
mod tests;

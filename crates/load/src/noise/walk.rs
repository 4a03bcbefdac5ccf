//! The walk through the events of one gap, and the state of tasks from one gap to the next.
//!
//! An *occurrence* of a cause is one interval: an interrupt from entry to exit, a work item from its start to its end, a task
//! from the switch to it until it waits. Occurrences of tasks and work items go on after a preemption. A task that waits
//! uninterruptibly (state D: for a lock, a completion or a disk, within one request to the kernel) goes on too.

use std::collections::HashMap;

use super::explained::{Explained, Part};
use super::spin::Gap;
use super::trace::{Event, Kind, Leaves, What};

/// Name of the scheduler's periodic interrupt.
const TICK: &str = "tick";
/// Functions of the tick's timer (kernel/time/tick-sched.c, Linux 6.12 and earlier).
const TICK_FUNCTIONS: [&str; 2] = ["hrtimer tick_nohz_handler", "hrtimer tick_sched_timer"];

/// State of the tasks of a CPU from one gap to the next, by process number.
#[derive(Debug, Default)]
pub struct Tasks {
    spinner: i32,
    running: i32,
    /// Last number of an occurrence.
    last: u64,
    /// Work items that have begun, with their occurrences; `None` before their first part in a gap.
    working: HashMap<i32, (String, Option<u64>)>,
    /// Parts in which tasks were woken.
    wakers: HashMap<i32, String>,
    /// Occurrences of tasks that go on.
    unfinished: HashMap<i32, u64>,
}

impl Tasks {
    /// State of a CPU that runs the loop.
    pub fn new(spinner: i32) -> Self {
        Self { spinner, running: spinner, ..Self::default() }
    }

    /// Number of occurrences so far.
    pub fn occurrences(&self) -> u64 {
        self.last
    }

    fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Follow an event outside all gaps.
    pub fn follow(&mut self, what: &What) {
        match what {
            What::Enter(Kind::Work, name) => {
                self.working.insert(self.running, (name.clone(), None));
            }
            What::Exit(Kind::Work) => {
                self.working.remove(&self.running);
            }
            What::Switch { from, to, leaves, .. } => {
                if *leaves == Leaves::Done {
                    self.unfinished.remove(from);
                }
                self.running = *to;
            }
            _ => {}
        }
    }
}

/// The walk through the events of one gap.
pub struct Walk<'a> {
    gap: &'a Gap,
    tasks: &'a mut Tasks,
    per_ns: f64,
    /// Time up to which the gap is explained.
    at: u64,
    open: Vec<(Kind, usize)>,
    parts: Vec<Part>,
    bare: Vec<u64>,
    is_traced: bool,
}

impl<'a> Walk<'a> {
    /// The beginning of a gap, at which the CPU runs the loop.
    pub fn new(gap: &'a Gap, tasks: &'a mut Tasks, per_ns: f64) -> Self {
        tasks.running = tasks.spinner;
        let (open, parts, bare) = (Vec::new(), Vec::new(), Vec::new());
        Self { gap, tasks, per_ns, at: gap.start, open, parts, bare, is_traced: false }
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

    /// Open an interval; a `rest` continues an earlier occurrence. Return the number of the occurrence.
    fn enter(&mut self, kind: Kind, name: &str, rest: Option<u64>) -> u64 {
        let within = self.open.last().map(|(_, part)| *part);
        let woken_in = (kind == Kind::Task).then(|| self.tasks.wakers.remove(&self.tasks.running)).flatten();
        let occurrence = rest.unwrap_or_else(|| self.tasks.number());
        self.open.push((kind, self.parts.len()));
        let span = Some((self.at, self.at));
        self.parts.push(Part { span, within, woken_in, ..Part::new(name, 0, occurrence) });
        occurrence
    }

    /// Close the open intervals from `depth` on.
    fn close(&mut self, depth: usize) {
        for (_, part) in self.open.drain(depth..) {
            if let Some((_, end)) = &mut self.parts[part].span {
                *end = self.at;
            }
        }
    }

    /// Apply an event in the gap; `request` is the request of another CPU that the event answers.
    pub fn apply(&mut self, event: &Event, request: Option<usize>) {
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
                self.enter_tick();
            }
            What::Enter(kind, name) => {
                let occurrence = self.enter(*kind, name, None);
                if *kind == Kind::Work {
                    self.tasks.working.insert(self.tasks.running, (name.clone(), Some(occurrence)));
                }
                if let Some(part) = self.parts.last_mut() {
                    part.request = request;
                }
            }
            What::Exit(kind) => {
                if *kind == Kind::Work {
                    self.tasks.working.remove(&self.tasks.running);
                }
                self.exit(*kind);
            }
            What::Switch { from, to, name, leaves } => self.switch(*from, *to, name, *leaves),
            What::Wake(pid) => {
                if let Some((_, part)) = self.open.last() {
                    self.tasks.wakers.insert(*pid, self.parts[*part].name.clone());
                }
            }
            What::Ended(..) | What::TickStop(_) => {}
        }
    }

    /// The timer interrupt of the tick is the tick: its time before and after the function is the tick's.
    fn enter_tick(&mut self) {
        match self.open.last() {
            Some((Kind::Vector | Kind::Irq, part)) => {
                let part = *part;
                TICK.clone_into(&mut self.parts[part].name);
                self.open.push((Kind::Hrtimer, part));
            }
            _ => {
                self.enter(Kind::Hrtimer, TICK, None);
            }
        }
    }

    fn exit(&mut self, kind: Kind) {
        if let Some(depth) = self.open.iter().rposition(|(open, _)| *open == kind) {
            self.close(depth);
        }
    }

    fn switch(&mut self, from: i32, to: i32, name: &str, leaves: Leaves) {
        let previous = self.open.iter().find(|(kind, _)| *kind == Kind::Task).map(|(_, part)| *part);
        if let (Some(part), Leaves::ToGoOn) = (previous, leaves) {
            self.tasks.unfinished.insert(from, self.parts[part].occurrence);
        }
        // Interrupts are over when the CPU switches.
        self.close(0);
        self.tasks.running = to;
        if to == self.tasks.spinner {
            return;
        }
        let rest = self.tasks.unfinished.remove(&to);
        self.enter(Kind::Task, name, rest);
        if let Some((work, rest)) = self.tasks.working.get(&to).cloned() {
            let occurrence = self.enter(Kind::Work, &work, rest);
            self.tasks.working.insert(to, (work, Some(occurrence)));
        }
    }

    fn end_of_known_length(&mut self, at: u64, name: &str, ns: u64) {
        let began = at.saturating_sub((ns as f64 * self.per_ns) as u64).clamp(self.at, at.max(self.at));
        self.advance(began);
        self.is_traced = true;
        self.enter(Kind::Nmi, name, None);
        self.advance(at);
        self.exit(Kind::Nmi);
    }

    /// Close the gap. A turn of the loop takes `minimum` without any interruption, which is taken from the time outside all
    /// intervals, or from the longest part if there is none.
    pub fn finish(mut self, minimum: u64) -> Explained {
        self.advance(self.gap.end);
        self.close(0);
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

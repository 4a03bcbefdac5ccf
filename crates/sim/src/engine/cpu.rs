//! A CPU as the engine sees it.

use crate::sched::{NOBODY, Realtime, TaskIx};
use crate::tasks::Segment;
use crate::time::{NEVER, Ns, Timers};

/// Full speed, in parts of itself.
pub(crate) const FULL: u64 = 1024;

/// A CPU's state of one domain.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DomainState {
    pub last_balance: Ns,
    pub interval: Ns,
    pub failed: u32,
    pub max_newidle_lb_cost: Ns,
    pub decay_at: Ns,
}

/// A CPU. The order of fields is that of their use, see [`crate::tasks::Task`].
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Cpu {
    /// The moment up to which its time is spoken for.
    pub clock: Ns,
    pub current: TaskIx,
    pub need_resched: bool,
    /// The current real-time task lets its equals go first.
    pub turn_over: bool,
    /// It handles an interrupt and will look at its queue itself.
    pub in_interrupt: bool,
    /// No tick while one task runs.
    pub nohz_full: bool,
    /// Speed, in parts of [`FULL`].
    pub rate: u64,
    pub segment: Segment,
    /// Up to where the current task's run time has been charged.
    pub charged_at: Ns,

    pub tick_at: Ns,
    pub ipi_at: Ns,
    /// When the first timer fires by itself, and when it may at the earliest.
    pub timer_at: Ns,
    pub timer_soft_at: Ns,
    /// User time of the current task since it was last written back.
    pub user_ns: Ns,
    /// Since when it idles.
    pub idle_since: Ns,
    /// When its runqueue lock is free.
    pub lock_free_at: Ns,
    /// Mean length of recent idleness.
    pub avg_idle: Ns,

    pub max_idle_balance_cost: Ns,
    /// What the search for an idle CPU costs on average.
    pub avg_search: Ns,
    pub next_balance: Ns,
    pub realtime: Realtime,
    /// Its state of each of its domains, narrow to wide.
    pub domains: Box<[DomainState]>,

    pub timers: Timers,
}

impl Cpu {
    pub fn new(tick_at: Ns, migration_cost: Ns, domains: Box<[DomainState]>) -> Self {
        Self {
            clock: 0,
            segment: Segment::EMPTY,
            rate: FULL,
            current: NOBODY,
            need_resched: false,
            turn_over: false,
            in_interrupt: false,
            nohz_full: false,
            tick_at,
            ipi_at: NEVER,
            charged_at: 0,
            user_ns: 0,
            idle_since: 0,
            timers: Timers::default(),
            timer_at: NEVER,
            timer_soft_at: NEVER,
            realtime: Realtime::default(),
            // As sched_init() leaves them (kernel/sched/core.c, v4.5 to v6.12).
            avg_idle: 2 * migration_cost,
            max_idle_balance_cost: migration_cost,
            next_balance: 0,
            lock_free_at: 0,
            avg_search: 0,
            domains,
        }
    }

    /// Notes when the first timer fires; the timers themselves are not looked at between.
    #[inline]
    pub fn note_timers(&mut self) {
        let first = self.timers.first();
        self.timer_at = first.map_or(NEVER, |timer| timer.at);
        self.timer_soft_at = first.map_or(NEVER, super::interrupt::soft);
    }

    /// When the current segment ends if nothing intervenes.
    #[inline]
    pub fn end(&self) -> Ns {
        let left = self.segment.left;
        self.clock + if self.rate == FULL { left } else { (left * FULL).div_ceil(self.rate) }
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::Cpu;

    #[test]
    fn what_events_need_of_a_cpu_lies_in_three_cache_lines_before_its_timers() {
        assert_eq!(offset_of!(Cpu, timer_at), 64 + 16);
        assert_eq!(offset_of!(Cpu, max_idle_balance_cost), 128);
        assert_eq!(offset_of!(Cpu, timers), 192);
        assert_eq!(size_of::<Cpu>(), 512, "a power of two, for which an index is a shift");
    }
}

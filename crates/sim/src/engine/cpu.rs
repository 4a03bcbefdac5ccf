//! State of a CPU.

use crate::sched::{NOBODY, Realtime, TaskIx};
use crate::tasks::Segment;
use crate::time::{NEVER, Ns, Timers};

/// Full speed of a CPU; the unit of [`Cpu::rate`].
pub(crate) const FULL: u16 = 1024;

/// A CPU's balancing state of one domain (`struct sched_domain`).
#[derive(Debug, Clone, Copy)]
pub(crate) struct DomainState {
    pub last_balance: Ns,
    pub interval: Ns,
    pub failed: u32,
    pub max_newidle_lb_cost: Ns,
    pub decay_at: Ns,
    pub newidle: NewidleStats,
}

/// New-idle passes over a domain and their success (`update_newidle_stats()`, kernel/sched/fair.c, v6.19 and v7.1).
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewidleStats {
    calls: u32,
    successes: u32,
    /// Probability that a pass runs, times [`NewidleStats::SCALE`].
    pub ratio: u32,
    /// When the ratio was computed.
    computed: Ns,
}

impl NewidleStats {
    pub const SCALE: u32 = 1024;

    /// After a time in which the machine had little to do. At boot half of the passes count as successful. Hours later, on two CPUs
    /// of a virtual machine with Linux 6.18.44 whose work was a few tasks at a time, none of 560 to 1020 counted passes had succeeded, and
    /// the ratio was 0: a CPU that becomes idle while another has two tasks seldom gets one of them. A pass then runs with a probability of
    /// 2 in 1024. By rate, passes are so rare on such a machine that the ratio is at its maximum.
    pub fn idle(by_rate: bool) -> Self {
        let ratio = if by_rate { Self::SCALE } else { 0 };
        Self { calls: Self::SCALE / 2, successes: 0, ratio, computed: 0 }
    }

    /// Count a pass; `success` is the weight of its success, 0 for a failed or skipped pass. `by_rate`: the ratio also grows with the
    /// time since the last ratio, by 1 each 2²² ns.
    pub fn count(&mut self, success: u32, by_rate: bool, now: Ns) {
        self.calls += 1;
        self.successes += success;
        if self.calls >= Self::SCALE {
            let rare = if by_rate { (now - self.computed) >> 22 } else { 0 };
            self.ratio = (rare + Ns::from(self.successes)).min(Self::SCALE.into()) as u32;
            (self.calls, self.successes, self.computed) = (self.calls / 2, self.successes / 2, now);
        }
    }
}

/// State of a CPU. Fields that are used together share cache lines, see [`crate::tasks::Task`].
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Cpu {
    /// Time up to which the CPU's time is accounted for.
    pub clock: Ns,
    pub current: TaskIx,
    pub need_resched: bool,
    /// The current real-time task lets tasks of equal priority run first.
    pub turn_over: bool,
    /// The CPU is in an interrupt, at whose end it checks its queue.
    pub in_interrupt: bool,
    /// The CPU has no tick while it has a single task.
    pub nohz_full: bool,
    /// Work per time, relative to [`FULL`]: the product of `speed` and `share`.
    pub rate: u32,
    /// Speed of the CPU's core relative to [`FULL`], see [`crate::machine::Speeds`].
    pub speed: u16,
    /// Share of the core that busy SMT siblings leave to the CPU, relative to [`FULL`].
    pub share: u16,
    pub segment: Segment,
    /// Time up to which the current task's run time is charged.
    pub charged_at: Ns,

    pub tick_at: Ns,
    pub ipi_at: Ns,
    /// Latest time at which the first timer fires, by a separate interrupt.
    pub timer_at: Ns,
    /// Earliest time at which the first timer fires, in another interrupt.
    pub timer_soft_at: Ns,
    /// User time of the current task that its total does not contain yet.
    pub user_ns: Ns,
    /// Time at which the CPU last became idle.
    pub idle_since: Ns,
    /// Time at which the runqueue lock is released.
    pub lock_free_at: Ns,
    /// Average length of recent idle times (`rq->avg_idle`).
    pub avg_idle: Ns,

    pub max_idle_balance_cost: Ns,
    /// Average cost of the search for an idle CPU (`this_sd->avg_scan_cost`).
    pub avg_search: Ns,
    pub next_balance: Ns,
    pub realtime: Realtime,
    /// State of each domain of the CPU, narrow to wide.
    pub domains: Box<[DomainState]>,

    pub timers: Timers,
    /// Idle time that the next searches for an idle CPU may use up, and the tick up to which it has aged
    /// (`rq->wake_avg_idle`, `rq->wake_stamp`, v5.14).
    pub wake_avg_idle: Ns,
    pub wake_stamp: u64,
    /// CPU that has used the runqueue last.
    pub queue_user: Option<u16>,
    /// The next schedule() does not update the current task's run time, because a wake-up that preempts the task has updated it
    /// (`rq_clock_skip_update()`, kernel/sched/core.c, v4.5; `skip_clock_update` before 4.0, which also suppresses updates by ticks).
    ///
    /// Limit: the run of a task that an idle CPU chooses begins when the CPU has left its idle state; in a kernel it begins when
    /// the waker has put the task on the queue.
    pub skips_update: bool,
}

impl Cpu {
    pub fn new(tick_at: Ns, migration_cost: Ns, domains: Box<[DomainState]>) -> Self {
        Self {
            rate: FULL.into(),
            speed: FULL,
            share: FULL,
            current: NOBODY,
            tick_at,
            ipi_at: NEVER,
            timer_at: NEVER,
            timer_soft_at: NEVER,
            // Values of sched_init() (kernel/sched/core.c, v4.5 to v6.12).
            avg_idle: 2 * migration_cost,
            wake_avg_idle: 2 * migration_cost,
            max_idle_balance_cost: migration_cost,
            domains,
            ..Self::default()
        }
    }

    /// Copy the times of the first timer to `timer_at` and `timer_soft_at`, after a change of `timers`.
    #[inline]
    pub fn note_timers(&mut self) {
        let first = self.timers.first();
        self.timer_at = first.map_or(NEVER, |timer| timer.at);
        self.timer_soft_at = first.map_or(NEVER, super::interrupt::soft);
    }

    /// Compute the rate after a change of the speed or of the share.
    pub fn update_rate(&mut self) {
        self.rate = (u32::from(self.speed) * u32::from(self.share) / u32::from(FULL)).max(1);
    }

    #[inline]
    pub fn at_full_rate(&self) -> bool {
        self.speed == FULL && self.share == FULL
    }

    /// Time that kernel work takes on the CPU. Siblings do not lengthen it.
    #[inline]
    pub fn duration(&self, work: Ns) -> Ns {
        let (speed, full) = (Ns::from(self.speed), Ns::from(FULL));
        if speed == full { work } else { (work * full + speed / 2) / speed }
    }

    /// Time at which the current segment ends unless an event intervenes.
    #[inline]
    pub fn end(&self) -> Ns {
        let left = self.segment.left;
        self.clock
            + if self.at_full_rate() { left } else { (left * Ns::from(FULL)).div_ceil(self.rate.into()) }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/engine/cpu.rs"]
mod tests;

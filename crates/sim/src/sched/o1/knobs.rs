//! The tuning knobs of the O(1) scheduler, converted to ticks, and the formulas with these knobs.

use crate::kernel::{Tunable, Tunables};
use crate::time::{MS, Ns};

/// Number of priorities of ordinary tasks (`MAX_USER_PRIO`).
const USER_PRIORITIES: i64 = 40;

/// Priority of nice −20 (`MAX_RT_PRIO`).
const BEST: i64 = 100;

/// Priority of nice 19.
const WORST: i64 = 139;

/// The knobs; slices, averages and limits in ticks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Knobs {
    pub tick_ns: Ns,
    min_slice: u32,
    max_slice: u32,
    pub child_penalty: u64,
    pub parent_penalty: u64,
    pub exit_weight: u64,
    bonus_ratio: i64,
    interactive_delta: i64,
    pub max_sleep_avg: u32,
    starvation_limit: u64,
    /// Patch 03: a limit of 0 disables the limit.
    no_limit_at_zero: bool,
    /// Patch 05.
    pub plain_activation: bool,
    /// Patch 05, compile-time switch `SYNC_WAKEUPS`.
    pub sync_wakeups: bool,
    /// Patch 05, compile-time switch `SMART_WAKE_CHILD`.
    pub smart_wake_child: bool,
    /// Patch 04: the address space is dropped after the runqueue's lock is released.
    pub drops_mm_unlocked: bool,
}

impl Knobs {
    pub fn read(tunables: &Tunables, tick_ns: Ns) -> Self {
        let count = |tunable| tunables.get(tunable).max(0) as u64;
        let ticks = |tunable| (count(tunable) * MS / tick_ns).min(u32::MAX.into()) as u32;
        let plain = tunables.on(Tunable::D7ActivateTask);
        Self {
            tick_ns,
            min_slice: ticks(Tunable::MinTimesliceMs).max(1),
            max_slice: ticks(Tunable::MaxTimesliceMs).max(1),
            child_penalty: count(Tunable::ChildPenalty),
            parent_penalty: count(Tunable::ParentPenalty),
            exit_weight: count(Tunable::ExitWeight),
            bonus_ratio: tunables.get(Tunable::PrioBonusRatio),
            interactive_delta: tunables.get(Tunable::InteractiveDelta),
            max_sleep_avg: ticks(Tunable::MaxSleepAvgMs).max(1),
            starvation_limit: ticks(Tunable::StarvationLimitMs).into(),
            no_limit_at_zero: tunables.on(Tunable::D7Tunables),
            plain_activation: plain,
            sync_wakeups: plain && tunables.on(Tunable::SyncWakeups),
            smart_wake_child: plain && tunables.on(Tunable::SmartWakeChild),
            drops_mm_unlocked: tunables.on(Tunable::D7OldMm),
        }
    }

    /// Number of ticks since boot (`jiffies`).
    #[inline]
    pub fn jiffies(&self, now: Ns) -> u64 {
        now / self.tick_ns
    }

    /// Priority of a nice value without the bonus.
    pub fn static_priority(nice: i32) -> u8 {
        (BEST + 20 + i64::from(nice.clamp(-20, 19))) as u8
    }

    /// Slice of a priority: linear from the maximum at nice −20 to the minimum at nice 19 (`BASE_TIMESLICE`,
    /// kernel/sched.c, 2.5.59).
    pub fn slice(&self, static_priority: u8) -> u32 {
        let range = u64::from(self.max_slice.saturating_sub(self.min_slice));
        let above_worst = (WORST - i64::from(static_priority)) as u64;
        self.min_slice + (range * above_worst / (USER_PRIORITIES as u64 - 1)) as u32
    }

    /// Maximum slice of any task.
    pub fn max_slice(&self) -> u32 {
        self.max_slice
    }

    /// Priority with the bonus (`effective_prio()`, kernel/sched.c, 2.5.59). With the default `PRIO_BONUS_RATIO` of 25 the
    /// bonus is −5 for a sleep average of 0, and +5 for `MAX_SLEEP_AVG`.
    pub fn priority(&self, static_priority: u8, sleep_avg: u32) -> u8 {
        let percent_range = USER_PRIORITIES * self.bonus_ratio;
        let slept = i64::from(sleep_avg.min(self.max_sleep_avg));
        let bonus = percent_range * slept / i64::from(self.max_sleep_avg) / 100 - percent_range / 100 / 2;
        (i64::from(static_priority) - bonus).clamp(BEST, WORST) as u8
    }

    /// Whether a task counts as interactive, that is, whether its bonus is large enough for its nice value
    /// (`TASK_INTERACTIVE`, kernel/sched.c, 2.5.59).
    pub fn interactive(&self, static_priority: u8, priority: u8) -> bool {
        let nice = i64::from(static_priority) - BEST - 20;
        let delta = nice * (USER_PRIORITIES * self.bonus_ratio / 100) / 40 + self.interactive_delta;
        i64::from(priority) <= i64::from(static_priority) - delta
    }

    /// Whether expired tasks have waited so long that interactive tasks also expire (`EXPIRED_STARVING`,
    /// kernel/sched.c, 2.5.59). `since` is the time in ticks at which the first task expired.
    pub fn starving(&self, since: Option<u64>, jiffies: u64, running: u32) -> bool {
        if self.starvation_limit == 0 && self.no_limit_at_zero {
            return false;
        }
        since.is_some_and(|since| jiffies - since > self.starvation_limit * u64::from(running))
    }
}

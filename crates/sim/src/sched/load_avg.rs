//! Averages of load over time, which weigh the past less the longer ago it is (per-entity load tracking, PELT).

use crate::time::Ns;

use super::weight;

/// Length of a period, 2²⁰ ns: 1024 units of 1024 ns. Averages change only where a period ends (`accumulate_sum()`,
/// kernel/sched/pelt.c, v5.10).
const PERIOD_BITS: u32 = 20;
const PERIOD: u64 = 1 << PERIOD_BITS;

/// Decay of a period, times 2³²: y, of which the 32nd power is 1/2 (Documentation/scheduler/schedutil.rst, v6.1).
const DECAY: u64 = 4_202_935_003;

/// Periods in which the past halves.
const HALF_LIFE: u64 = 32;

/// Interval after which the averages of idle CPUs are updated, in ns: 32 ms (`LOAD_AVG_PERIOD`, kernel/sched/sched.h, v5.10).
pub(crate) const IDLE_UPDATE_NS: Ns = 32_000_000;

/// Sum of all past periods without end in which a task was runnable: a period / (1 − y).
const MAX_SUM: u64 = (((PERIOD as u128) << 32) / ((1 << 32) - DECAY as u128)) as u64;

/// Powers of [`DECAY`] up to the half-life, times 2³².
const POWERS: [u64; HALF_LIFE as usize] = powers();

const fn powers() -> [u64; HALF_LIFE as usize] {
    let (mut powers, mut at) = ([1 << 32; HALF_LIFE as usize], 1);
    while at < powers.len() {
        powers[at] = (powers[at - 1] * DECAY) >> 32;
        at += 1;
    }
    powers
}

/// `sum` after some periods without load.
#[inline]
fn decayed(sum: u64, periods: u64) -> u64 {
    let halved = sum.checked_shr((periods / HALF_LIFE).min(64) as u32).unwrap_or(0);
    ((u128::from(halved) * u128::from(POWERS[(periods % HALF_LIFE) as usize])) >> 32) as u64
}

/// Sum at `now` of a task that has been runnable without end: the period of `now` counts up to `now` (`get_pelt_divider()`,
/// kernel/sched/pelt.h, v5.10).
#[inline]
fn whole(now: Ns) -> u64 {
    MAX_SUM - PERIOD + now % PERIOD
}

/// An average of load (`struct sched_avg`).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LoadAvg {
    /// Load × ns, decayed.
    sum: u64,
    /// Average at the end of the last period that an update saw.
    avg: u64,
    /// Time up to which `sum` is complete.
    updated: Ns,
}

impl LoadAvg {
    pub fn avg(&self) -> u64 {
        self.avg
    }

    /// Add the time since the last update, in which `load` was runnable (`___update_load_sum()` and `___update_load_avg()`,
    /// kernel/sched/pelt.c, v5.10).
    #[inline]
    pub fn update(&mut self, now: Ns, load: u64) {
        let from = std::mem::replace(&mut self.updated, now);
        debug_assert!(from <= now, "time does not go back");
        let periods = (now >> PERIOD_BITS) - (from >> PERIOD_BITS);
        if periods == 0 {
            self.sum += load * (now - from);
        } else {
            self.cross(from, now, periods, load);
        }
    }

    /// As [`LoadAvg::update`], if periods have ended.
    fn cross(&mut self, from: Ns, now: Ns, periods: u64, load: u64) {
        let (first, last) = (PERIOD - from % PERIOD, now % PERIOD);
        // The whole periods between the first and the last.
        let between = (MAX_SUM - PERIOD).saturating_sub(decayed(MAX_SUM, periods));
        self.sum = decayed(self.sum + load * first, periods) + load * (between + last);
        self.avg = self.sum / whole(now);
    }

    /// Add the share of a task of a weight, which is up to date as this average is (`attach_entity_load_avg()`,
    /// kernel/sched/fair.c, v5.10).
    fn add(&mut self, task: &Self, weight: u64) {
        self.sum += scaled(task.sum, weight);
        self.avg += scaled(task.avg, weight);
    }

    /// Subtract the share of a task (`detach_entity_load_avg()`, kernel/sched/fair.c, v5.10). Rounding may make the share
    /// greater than the average.
    fn sub(&mut self, task: &Self, weight: u64) {
        self.sum = self.sum.saturating_sub(scaled(task.sum, weight));
        self.avg = self.avg.saturating_sub(scaled(task.avg, weight));
    }
}

/// A load of weight [`weight::UNIT`] at another weight.
#[inline]
fn scaled(load: u64, weight: u64) -> u64 {
    if weight == weight::UNIT {
        load
    } else {
        (u128::from(load) * u128::from(weight) / u128::from(weight::UNIT)) as u64
    }
}

/// A task's average of the time in which it is runnable, at weight [`weight::UNIT`].
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TaskLoad {
    pub avg: LoadAvg,
    /// The average is a part of the average of the CPU on which the task is or was last.
    attached: bool,
}

impl TaskLoad {
    /// Load of a new task: as if the task had been runnable without end (`init_entity_runnable_average()`,
    /// kernel/sched/fair.c, v4.5 to v6.12).
    pub fn new(now: Ns) -> Self {
        let avg = LoadAvg { sum: weight::UNIT * whole(now), avg: weight::UNIT, updated: now };
        Self { avg, attached: false }
    }

    /// Load at the task's weight (`task_h_load()`, kernel/sched/fair.c, v4.5 to v6.12).
    pub fn of_weight(&self, weight: u64) -> u64 {
        scaled(self.avg.avg(), weight)
    }
}

/// A CPU's average load and utilisation.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CpuLoad {
    avg: LoadAvg,
    /// Part of the time in which the CPU had a runnable task, of [`weight::UNIT`]. A task that changes its CPU leaves its part
    /// behind, unlike in the kernel.
    util: LoadAvg,
    /// Sum of the weights of the runnable tasks.
    weight: u64,
}

impl CpuLoad {
    pub fn avg(&self) -> u64 {
        self.avg.avg()
    }

    #[cfg(any(debug_assertions, feature = "check"))]
    pub fn weight(&self) -> u64 {
        self.weight
    }

    pub fn util(&self) -> u64 {
        self.util.avg()
    }

    #[inline]
    pub fn update(&mut self, now: Ns) {
        self.avg.update(now, self.weight);
        self.util.update(now, if self.weight > 0 { weight::UNIT } else { 0 });
    }

    /// A task becomes runnable.
    #[inline]
    pub fn enqueue(&mut self, task: &mut TaskLoad, weight: u64, now: Ns) {
        self.update(now);
        self.weight += weight;
        task.avg.update(now, 0);
        if !std::mem::replace(&mut task.attached, true) {
            self.avg.add(&task.avg, weight);
        }
    }

    /// A runnable task sleeps or leaves.
    #[inline]
    pub fn dequeue(&mut self, task: &mut TaskLoad, weight: u64, now: Ns) {
        self.update(now);
        task.avg.update(now, weight::UNIT);
        self.weight -= weight;
    }

    /// Remove the average of a task that is not runnable.
    #[inline]
    pub fn detach(&mut self, task: &mut TaskLoad, weight: u64, now: Ns) {
        if std::mem::take(&mut task.attached) {
            self.update(now);
            task.avg.update(now, 0);
            self.avg.sub(&task.avg, weight);
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/sched/load_avg.rs"]
mod tests;

//! Averages of load over time (per-entity load tracking, PELT): the past counts less and less.

use crate::time::Ns;

use super::weight;

/// Length of a period, 2²⁰ ns: 1024 units of 1024 ns. Averages change only where a period ends (`accumulate_sum()`,
/// kernel/sched/pelt.c, v5.10).
const PERIOD_BITS: u32 = 20;
const PERIOD: u64 = 1 << PERIOD_BITS;

/// Factor by which a period shrinks the past, times 2³². The 32nd power of this factor is 1/2
/// (Documentation/scheduler/schedutil.rst, v6.1).
const DECAY: u64 = 4_202_935_003;

/// Periods in which the past halves (`LOAD_AVG_PERIOD`, kernel/sched/sched-pelt.h, v5.10).
const HALF_LIFE: u64 = 32;

/// Interval after which the averages of idle CPUs are updated: [`HALF_LIFE`] ms (`NOHZ_STATS_KICK`, kernel/sched/fair.c, v5.10).
pub(crate) const IDLE_UPDATE_NS: Ns = HALF_LIFE * 1_000_000;

/// Sum of a load of 1 over all periods, from the present one back: [`PERIOD`] / (1 − [`DECAY`] / 2³²) (`LOAD_AVG_MAX`).
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

/// `sum` after some periods without load (`decay_load()`, kernel/sched/pelt.c, v5.10).
#[inline]
fn decay_load(sum: u64, periods: u64) -> u64 {
    let halved = sum.checked_shr((periods / HALF_LIFE).min(64) as u32).unwrap_or(0);
    ((u128::from(halved) * u128::from(POWERS[(periods % HALF_LIFE) as usize])) >> 32) as u64
}

/// Sum of a load of 1 at `now`: the present period counts up to `now` (`get_pelt_divider()`, kernel/sched/pelt.h, v5.10).
#[inline]
fn pelt_divider(now: Ns) -> u64 {
    MAX_SUM - PERIOD + now % PERIOD
}

/// Averages that are updated together (`struct sched_avg`).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Averages<const N: usize> {
    /// Loads × ns, decayed.
    sums: [u64; N],
    /// Averages at the end of the last period that an update saw.
    averages: [u64; N],
    /// Time up to which the sums are complete.
    updated: Ns,
}

impl<const N: usize> Default for Averages<N> {
    fn default() -> Self {
        Self { sums: [0; N], averages: [0; N], updated: 0 }
    }
}

impl<const N: usize> Averages<N> {
    /// Add the time since the last update, in which there were `loads`; return whether a period has ended
    /// (`___update_load_sum()` and `___update_load_avg()`, kernel/sched/pelt.c, v5.10).
    #[inline]
    pub fn update(&mut self, now: Ns, loads: [u64; N]) -> bool {
        let from = std::mem::replace(&mut self.updated, now);
        debug_assert!(from <= now, "time does not go back");
        let ended = now >> PERIOD_BITS != from >> PERIOD_BITS;
        if ended {
            self.cross(from, now, loads);
        } else {
            self.sums.iter_mut().zip(loads).for_each(|(sum, load)| *sum += load * (now - from));
        }
        ended
    }

    /// The averages.
    #[inline]
    pub fn get(&self) -> [u64; N] {
        self.averages
    }

    /// Set a sum, and the average with it; `divider` is [`pelt_divider`] of the present time.
    #[inline]
    fn set(&mut self, which: usize, sum: u64, divider: u64) {
        self.sums[which] = sum;
        self.averages[which] = sum / divider;
    }

    /// As [`Averages::update`], if periods have ended.
    fn cross(&mut self, from: Ns, now: Ns, loads: [u64; N]) {
        let periods = (now >> PERIOD_BITS) - (from >> PERIOD_BITS);
        let (first, last) = (PERIOD - from % PERIOD, now % PERIOD);
        // The whole periods between the first and the last.
        let between = (MAX_SUM - PERIOD).saturating_sub(decay_load(MAX_SUM, periods));
        for ((sum, average), load) in self.sums.iter_mut().zip(&mut self.averages).zip(loads) {
            *sum = decay_load(*sum + load * first, periods) + load * (between + last);
            *average = *sum / pelt_divider(now);
        }
    }
}

impl Averages<1> {
    /// Change the sum, and the average with it; the sum is at most that of a load of [`weight::UNIT`] without end.
    pub fn change(&mut self, now: Ns, sum: impl FnOnce(u64) -> u64) {
        let divider = pelt_divider(now);
        self.sums = [sum(self.sums[0]).min(weight::UNIT * divider)];
        self.averages = [self.sums[0] / divider];
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

/// Location of a task's average utilisation, and of its part in the number of tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskUtil {
    /// In the averages of the CPU on which the task is or was last. The utilisation is what the task brought along, until the first
    /// period has ended.
    Attached(Option<u64>),
    /// With the task, of [`weight::UNIT`], to be attached to the CPU that the task joins.
    Carried(u64),
    /// Not set yet: the task is new and gets a part of what its CPU has left.
    New,
}

impl Default for TaskUtil {
    fn default() -> Self {
        Self::Attached(None)
    }
}

/// Index of the load among averages.
const LOAD: usize = 0;
/// Index of the number of tasks in the queue, times [`weight::UNIT`].
const RUNNABLE: usize = 1;
/// Index of the utilisation.
const UTIL: usize = 2;

/// A task's averages of the time in which it is in a queue, of [`weight::UNIT`]: the task is runnable, or sleeps and is still in the
/// queue. Its load and its part in the number of tasks differ in what a new task begins with.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TaskLoad {
    averages: Averages<2>,
    /// The load is a part of the load of the CPU on which the task is or was last.
    attached: bool,
    util: TaskUtil,
}

impl TaskLoad {
    /// Averages of a new task: its load is that of a task that was runnable without end (`init_entity_runnable_average()`,
    /// kernel/sched/fair.c, v4.5 to v6.12).
    pub fn new(now: Ns, util: TaskUtil) -> Self {
        let mut averages = Averages { updated: now, ..Averages::default() };
        let divider = pelt_divider(now);
        averages.set(LOAD, weight::UNIT * divider, divider);
        if let TaskUtil::Carried(util) = util {
            averages.set(RUNNABLE, util * divider, divider);
        }
        Self { averages, attached: false, util }
    }

    /// Load at the task's weight (`task_h_load()`, kernel/sched/fair.c, v4.5 to v6.12).
    pub fn at_weight(&self, weight: u64) -> u64 {
        scaled(self.averages.averages[LOAD], weight)
    }

    /// Part of the time in which the task is in a queue.
    pub fn runnable(&self) -> u64 {
        self.averages.averages[RUNNABLE]
    }

    /// Add the time since the last update, in which the task was in a queue or not.
    #[inline]
    pub fn update(&mut self, now: Ns, queued: bool) {
        let ended = self.averages.update(now, [if queued { weight::UNIT } else { 0 }; 2]);
        if ended && let TaskUtil::Attached(brought) = &mut self.util {
            *brought = None;
        }
    }

    #[cfg(any(debug_assertions, feature = "check"))]
    pub fn is_attached(&self) -> bool {
        self.attached
    }
}

/// What an operation did to the averages of a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// Nothing: no period has ended.
    None,
    /// Time has passed.
    Time,
    /// The load of a task was added: its sum at weight [`weight::UNIT`].
    Attached(u64),
    /// The load of a task was removed.
    Detached,
}

/// A CPU's average load, its average number of ordinary tasks in the queue, and its average utilisation: the part of the time in which
/// the CPU had such a task. Tasks that join the CPU bring their parts, and tasks that leave it take them away.
///
/// Limits, unlike in the kernel: the tasks of a CPU share its utilisation by their times in the queue, and sleepers that are still in
/// the queue count while a real-time task runs.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CpuLoad {
    averages: Averages<3>,
    /// Number and sum of the weights of the tasks in the CPU's queue.
    number: u64,
    weight: u64,
}

impl CpuLoad {
    pub fn load(&self) -> u64 {
        self.averages.averages[LOAD]
    }

    /// Average number of tasks in the queue, times [`weight::UNIT`].
    pub fn runnable(&self) -> u64 {
        self.averages.averages[RUNNABLE]
    }

    /// Utilisation; tasks that have just joined may bring more than a CPU has (`cpu_util_cfs()`, kernel/sched/fair.c, v6.1).
    pub fn util(&self) -> u64 {
        self.averages.averages[UTIL].min(weight::UNIT)
    }

    /// Utilisation of a task of the CPU (`task_util()`, kernel/sched/fair.c, v6.1).
    pub fn task_util(&self, task: &TaskLoad) -> u64 {
        if let TaskUtil::Attached(Some(brought)) = task.util {
            // Averages change at the end of a period.
            return brought;
        }
        let (of_task, of_cpu) = (task.runnable(), self.runnable());
        (of_task * self.averages.averages[UTIL]).checked_div(of_cpu.max(of_task)).unwrap_or(0)
    }

    /// Attach the utilisation and the part in the number of tasks of a task that joins the CPU (`attach_entity_load_avg()`). A new
    /// task begins with as much as the CPU's utilisation for its load, and with at most half of what is left
    /// (`post_init_entity_util_avg()`, kernel/sched/fair.c, v4.7 to v6.12).
    fn attach_util(&mut self, task: &mut TaskLoad, weight: u64, now: Ns) {
        let divider = pelt_divider(now);
        let util = match task.util {
            TaskUtil::Attached(_) => return,
            TaskUtil::Carried(util) => util,
            TaskUtil::New => {
                let left = (weight::UNIT - self.util()) / 2;
                let alike = self.util() * weight / (self.load() + 1);
                let util = if self.util() == 0 { left } else { alike.min(left) };
                task.averages.set(RUNNABLE, util * divider, divider);
                util
            }
        };
        let runnable = task.runnable();
        task.util = TaskUtil::Attached(Some(util));
        self.averages.set(UTIL, self.averages.sums[UTIL] + util * divider, divider);
        self.averages.set(RUNNABLE, self.averages.sums[RUNNABLE] + runnable * divider, divider);
    }

    /// Let a task that leaves the CPU take its utilisation and its part in the number of tasks away (`detach_entity_load_avg()`).
    fn detach_util(&mut self, task: &mut TaskLoad, now: Ns) {
        if matches!(task.util, TaskUtil::Attached(_)) {
            let (util, runnable) = (self.task_util(task), task.runnable());
            task.util = TaskUtil::Carried(util);
            let divider = pelt_divider(now);
            let left = |sum: u64, part: u64| sum.saturating_sub(part * divider);
            self.averages.set(UTIL, left(self.averages.sums[UTIL], util), divider);
            self.averages.set(RUNNABLE, left(self.averages.sums[RUNNABLE], runnable), divider);
        }
    }

    /// Sum of the weights of the tasks in the CPU's queue.
    #[inline]
    pub fn weight(&self) -> u64 {
        self.weight
    }

    /// Sum of the load, divided by the weight of the tasks in the queue: as if all had run for equal times; 0 without a task.
    pub fn sum_per_weight(&self) -> u64 {
        (u128::from(self.averages.sums[LOAD]) * u128::from(weight::UNIT))
            .checked_div(self.weight.into())
            .unwrap_or(0) as u64
    }

    /// Add the time since the last update.
    #[inline]
    pub fn update(&mut self, now: Ns) -> Change {
        let used = if self.number > 0 { weight::UNIT } else { 0 };
        let loads = [self.weight, self.number * weight::UNIT, used];
        if self.averages.update(now, loads) { Change::Time } else { Change::None }
    }

    /// A task joins the queue. Its averages are attached unless they are parts of the CPU's averages (`enqueue_entity()` and
    /// `attach_entity_load_avg()`, kernel/sched/fair.c, v5.10).
    #[inline]
    pub fn enqueue(&mut self, task: &mut TaskLoad, weight: u64, now: Ns) -> Change {
        let change = self.update(now);
        task.update(now, false);
        self.attach_util(task, weight, now);
        self.weight += weight;
        self.number += 1;
        if std::mem::replace(&mut task.attached, true) {
            return change;
        }
        let sum = task.averages.sums[LOAD];
        self.averages.set(LOAD, self.averages.sums[LOAD] + scaled(sum, weight), pelt_divider(now));
        Change::Attached(sum)
    }

    /// A task leaves the queue.
    #[inline]
    pub fn dequeue(&mut self, task: &mut TaskLoad, weight: u64, now: Ns) -> Change {
        let change = self.update(now);
        task.update(now, true);
        self.weight -= weight;
        self.number -= 1;
        change
    }

    /// Remove the load of a task that is on no queue, where the averages of both are updated up to now (`dequeue_entity_load_avg()`,
    /// kernel/sched/fair.c, v4.5). Rounding may make the task's part greater than the sum. Sum and average change together, so that
    /// no load is left without a task; the kernel changes both by the task's, which may be of different moments of a period.
    #[inline]
    pub fn detach_load(&mut self, task: &mut TaskLoad, weight: u64, now: Ns) -> Change {
        debug_assert!(self.averages.updated == now && task.averages.updated == now, "both are updated");
        if !std::mem::take(&mut task.attached) {
            return Change::None;
        }
        let part = scaled(task.averages.sums[LOAD], weight);
        self.averages.set(LOAD, self.averages.sums[LOAD].saturating_sub(part), pelt_divider(now));
        Change::Detached
    }

    /// Remove all averages of a task that is on no queue (`detach_entity_load_avg()`, kernel/sched/fair.c, v5.10).
    #[inline]
    pub fn detach(&mut self, task: &mut TaskLoad, weight: u64, now: Ns) -> Change {
        self.update(now);
        task.update(now, false);
        self.detach_util(task, now);
        self.detach_load(task, weight, now)
    }
}

#[cfg(test)]
#[path = "../../tests/unit/sched/load_avg.rs"]
mod tests;

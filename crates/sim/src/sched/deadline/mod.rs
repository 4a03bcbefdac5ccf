//! Deadline tasks: SCHED_DEADLINE, the class above the real-time classes.
//!
//! A constant bandwidth server for each task (L. Abeni, G. Buttazzo, "Integrating multimedia applications in hard real-time
//! systems", RTSS 1998) with global EDF (Documentation/scheduler/sched-deadline.rst, v6.12):
//!
//! ```text
//! wake-up      keep budget and deadline, if the rest of the budget fits the time to the deadline, else a new period
//! run          the budget shrinks; at 0 the task is throttled, also by sched_yield(2)
//! next period  a timer refills the budget, postpones the deadline by a period, and queues the task again
//! ```
//! As in kernels without `HRTICK_DL` (the default), ticks and other updates of the run time notice an empty budget. An overrun
//! is taken from the next budget.
//!
//! Not modelled: GRUB (`SCHED_FLAG_RECLAIM`), priority inheritance, the fair server's run time, and the bounds of periods
//! (`kernel.sched_deadline_period_*_us`). The bandwidth of a task that leaves the class is free at once, not at its 0-lag time.

mod class;

use std::collections::BTreeMap;

use super::TaskIx;
use crate::kernel::Kernel;
use crate::time::{NEVER, Ns};

/// Shift of bandwidths (`BW_SHIFT`, kernel/sched/sched.h, v6.12).
const BW_SHIFT: u32 = 20;

/// Shift of times in products (`DL_SCALE`, kernel/sched/sched.h, v6.12); the shortest runtime is 1 << `DL_SCALE` ns.
const DL_SCALE: u32 = 10;

/// Bandwidth of a CPU for deadline tasks: `sched_rt_runtime_us` 950000 in `sched_rt_period_us` 1000000 (kernel/sched/rt.c, v6.12).
const RT_BANDWIDTH: u64 = to_ratio(1_000_000, 950_000);

/// Bandwidth of a CPU's fair server: 50 ms in a second (`fair_server_init()`, kernel/sched/fair.c, v6.12).
const FAIR_SERVER: u64 = to_ratio(1000, 50);

/// Bandwidth in units of 2⁻²⁰ CPUs (`to_ratio()`, kernel/sched/core.c, v6.12).
const fn to_ratio(period: Ns, runtime: Ns) -> u64 {
    (((runtime as u128) << BW_SHIFT) / period as u128) as u64
}

/// Times of a deadline task (sched_setattr(2)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Run time in each period.
    pub runtime_ns: Ns,
    /// Time from the beginning of a period to the deadline.
    pub deadline_ns: Ns,
    /// Length of a period.
    pub period_ns: Ns,
}

impl Budget {
    /// Check the times (`__checkparam_dl()`, kernel/sched/deadline.c, v6.12).
    pub(crate) fn check(&self) -> Result<(), String> {
        let Self { runtime_ns, deadline_ns, period_ns } = *self;
        if runtime_ns < 1 << DL_SCALE
            || runtime_ns > deadline_ns
            || deadline_ns > period_ns
            || period_ns >= NEVER
        {
            return Err(format!(
                "EINVAL: deadline tasks need {} ns ≤ runtime ≤ deadline ≤ period, but these times are {runtime_ns}, \
                 {deadline_ns} and {period_ns} ns",
                1 << DL_SCALE
            ));
        }
        Ok(())
    }
}

/// Check that deadline tasks with these budgets fit on `cpus` CPUs; the error is the kernel's, with the reason (`sched_dl_overflow()`,
/// kernel/sched/deadline.c, v6.12).
pub(crate) fn sched_dl_overflow(
    kernel: &Kernel,
    cpus: usize,
    budgets: impl Iterator<Item = Budget>,
) -> Result<(), String> {
    let Some(rules) = kernel.deadline else {
        return Err(format!("EINVAL: {} has no deadline class (since 3.14)", kernel.name));
    };
    let needed: u64 = budgets.map(|budget| to_ratio(budget.period_ns, budget.runtime_ns)).sum();
    let limit = cpus as u64 * (RT_BANDWIDTH - if rules.fair_server { FAIR_SERVER } else { 0 });
    if needed <= limit {
        return Ok(());
    }
    let [needed, limit] = [needed, limit].map(|bandwidth| bandwidth as f64 / f64::from(1 << BW_SHIFT));
    Err(format!(
        "EBUSY: admission control: the deadline tasks would need {needed:.2} CPUs, and may have {limit:.2} of {cpus}"
    ))
}

/// State of a deadline task (`struct sched_dl_entity`).
#[derive(Debug, Clone)]
pub(crate) struct DlEntity {
    budget: Budget,
    /// Rest of the budget; negative after an overrun.
    runtime: i64,
    /// Absolute deadline.
    pub deadline: Ns,
    /// The task waits for its replenishment.
    pub throttled: bool,
    yielded: bool,
    /// Time of the armed replenishment, or [`NEVER`].
    timer_at: Ns,
}

impl DlEntity {
    pub fn new(budget: Budget) -> Self {
        Self { budget, runtime: 0, deadline: 0, throttled: false, yielded: false, timer_at: NEVER }
    }

    /// Begin a period (`replenish_dl_new_period()`, kernel/sched/deadline.c, v6.12; `setup_new_dl_entity()` before).
    fn replenish_dl_new_period(&mut self, now: Ns) {
        self.deadline = now + self.budget.deadline_ns;
        self.runtime = self.budget.runtime_ns as i64;
    }

    /// Refill the budget and postpone the deadline by as many periods as the overrun needs (`replenish_dl_entity()`,
    /// kernel/sched/deadline.c, v4.5 to v6.12).
    fn replenish_dl_entity(&mut self, now: Ns) {
        if self.yielded {
            self.runtime = self.runtime.min(0);
        }
        while self.runtime <= 0 {
            self.deadline += self.budget.period_ns;
            self.runtime += self.budget.runtime_ns as i64;
        }
        if self.deadline < now {
            self.replenish_dl_new_period(now);
        }
        (self.yielded, self.throttled) = (false, false);
    }

    /// Whether the rest of the budget until the deadline would exceed the task's bandwidth (`dl_entity_overflow()`,
    /// kernel/sched/deadline.c, v6.12).
    fn dl_entity_overflow(&self, now: Ns) -> bool {
        let product = |first: Ns, second: Ns| u128::from(first >> DL_SCALE) * u128::from(second >> DL_SCALE);
        let rest = self.runtime.max(0) as Ns;
        product(self.budget.deadline_ns, rest)
            > product(self.deadline.saturating_sub(now), self.budget.runtime_ns)
    }

    /// Apply the rule of wake-ups (`update_dl_entity()`, kernel/sched/deadline.c, v4.5 to v6.12). `revised`: a constrained task keeps
    /// its deadline with a budget of its density (`update_dl_revised_wakeup()`, since v4.13).
    fn update_dl_entity(&mut self, now: Ns, revised: bool) {
        if self.deadline >= now && !self.dl_entity_overflow(now) {
            return;
        }
        if revised && self.budget.deadline_ns < self.budget.period_ns && self.deadline >= now {
            let density = to_ratio(self.budget.deadline_ns, self.budget.runtime_ns);
            self.runtime = ((u128::from(density) * u128::from(self.deadline - now)) >> BW_SHIFT) as i64;
            return;
        }
        self.replenish_dl_new_period(now);
    }

    /// Beginning of the next period (`dl_next_period()`, kernel/sched/deadline.c, since v4.12; the deadline before).
    fn dl_next_period(&self, revised: bool) -> Ns {
        self.deadline + if revised { self.budget.period_ns - self.budget.deadline_ns } else { 0 }
    }
}

/// All deadline tasks.
#[derive(Debug, Default)]
pub(crate) struct DeadlineTasks {
    pub entities: BTreeMap<TaskIx, DlEntity>,
    /// CPU that the last search among equal CPUs has chosen (`distribute_cpu_mask_prev`, lib/cpumask.c).
    pub distributed: usize,
}

impl DeadlineTasks {
    /// State of a task of [`Class::Deadline`](crate::Class).
    pub fn entity(&mut self, task: TaskIx) -> &mut DlEntity {
        self.entities.get_mut(&task).expect("a deadline task has an entity")
    }

    /// Budget of a task, if the task is a deadline task.
    pub fn budget(&self, task: TaskIx) -> Option<Budget> {
        self.entities.get(&task).map(|entity| entity.budget)
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/sched/deadline.rs"]
mod tests;

//! CPU bandwidth of a control group, `cpu.max` (Documentation/scheduler/sched-bwc.rst, v6.12): each period refills a pool of the
//! group, from which CPUs take slices.
//!
//! ```text
//! quota, each period ──► pool ──► slice of a CPU ──► run time
//!                          ▲           │ empty, as is the pool: the CPU is throttled until the refill
//!                          └───────────┘ more than 1 ms is left when the last task sleeps
//! ```
//! All functions are those of kernel/sched/fair.c, v5.14 to v6.12. Limits: no burst; a timer never expires late.

use std::collections::VecDeque;

use crate::time::{MS, Ns};

/// Time that a CPU keeps when it returns its slice (`min_cfs_rq_runtime`).
const MIN_CFS_RQ_RUNTIME: i64 = MS as i64;

/// Time from the return of a slice to its distribution (`cfs_bandwidth_slack_period`).
const SLACK_PERIOD: Ns = 5 * MS;

/// Least time before a refill at which returned time is distributed (`min_bandwidth_expiration`).
const MIN_BANDWIDTH_EXPIRATION: Ns = 2 * MS;

/// A CPU's part of the time (of `struct cfs_rq`).
#[derive(Debug, Clone, Copy, Default)]
struct Local {
    /// Time that is left; negative after a run beyond the slice.
    remaining: i64,
    throttled: bool,
    /// Since when a task cannot run because the CPU is throttled.
    throttled_clock: Option<Ns>,
}

/// A timer of the group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GroupTimer {
    Period,
    Slack,
}

/// Bandwidth of a group (`struct cfs_bandwidth`).
#[derive(Debug, Clone, Default)]
pub(crate) struct Bandwidth {
    quota: Option<Ns>,
    period: Ns,
    /// Time in the pool.
    runtime: Ns,
    /// Throttled CPUs, in the order of throttling.
    throttled: VecDeque<usize>,
    period_active: bool,
    /// No CPU has asked for time since the refill.
    idle: bool,
    slack_started: bool,
    /// A time of a refill: the phase of the periods.
    refill_at: Ns,
    cpus: Vec<Local>,
    /// A timer that the caller has to start.
    pub starts: Option<(GroupTimer, Ns)>,
    pub nr_periods: u64,
    pub nr_throttled: u64,
    pub throttled_ns: Ns,
}

impl Bandwidth {
    /// Bandwidth without a limit; `refill_at` is the phase of the periods, random since 6.3.
    pub fn new(cpus: usize, refill_at: Ns) -> Self {
        Self { refill_at, cpus: vec![Local::default(); cpus], ..Self::default() }
    }

    /// Set quota and period. The caller unthrottles all CPUs (`tg_set_cfs_bandwidth()`, kernel/sched/core.c).
    pub fn set(&mut self, quota: Option<Ns>, period: Ns, now: Ns) {
        (self.quota, self.period) = (quota, period);
        self.runtime = quota.unwrap_or(0);
        if quota.is_some() {
            self.start_cfs_bandwidth(now);
        }
        self.cpus.iter_mut().for_each(|local| local.remaining = 0);
    }

    fn start_cfs_bandwidth(&mut self, now: Ns) {
        if !self.period_active {
            self.period_active = true;
            let since = (now % self.period + self.period - self.refill_at % self.period) % self.period;
            self.refill_at = now + self.period - since;
            self.starts = Some((GroupTimer::Period, self.refill_at));
        }
    }

    /// Whether a CPU is throttled (`cfs_rq_throttled()`).
    pub fn is_throttled(&self, cpu: usize) -> bool {
        self.cpus[cpu].throttled
    }

    /// Whether a CPU has used up its time.
    pub fn is_empty(&self, cpu: usize) -> bool {
        self.quota.is_some() && self.cpus[cpu].remaining <= 0 && !self.cpus[cpu].throttled
    }

    /// Fill a CPU's time up to `target` from the pool. Return whether the CPU has time.
    fn assign_cfs_rq_runtime(&mut self, cpu: usize, target: Ns, now: Ns) -> bool {
        self.start_cfs_bandwidth(now);
        let wanted = target as i64 - self.cpus[cpu].remaining;
        let amount = self.runtime.min(wanted.max(0) as Ns);
        self.idle &= self.runtime == 0;
        self.runtime -= amount;
        self.cpus[cpu].remaining += amount as i64;
        self.cpus[cpu].remaining > 0
    }

    /// Charge a CPU for run time. Return whether the CPU has no time left (`__account_cfs_rq_runtime()`).
    pub fn account_cfs_rq_runtime(&mut self, cpu: usize, ran: Ns, slice: Ns, now: Ns) -> bool {
        if self.quota.is_none() {
            return false;
        }
        self.cpus[cpu].remaining -= ran as i64;
        self.is_empty(cpu) && !self.assign_cfs_rq_runtime(cpu, slice, now)
    }

    /// Throttle a CPU unless the pool has time meanwhile. Return whether the CPU is throttled (`throttle_cfs_rq()`).
    pub fn throttle_cfs_rq(&mut self, cpu: usize, now: Ns) -> bool {
        if self.assign_cfs_rq_runtime(cpu, 1, now) {
            return false;
        }
        self.throttled.push_back(cpu);
        self.cpus[cpu].throttled = true;
        true
    }

    /// Note that a task cannot run on a throttled CPU.
    pub fn record_throttle_clock(&mut self, cpu: usize, now: Ns) {
        self.cpus[cpu].throttled_clock.get_or_insert(now);
    }

    /// End the throttling of a CPU (`unthrottle_cfs_rq()`).
    pub fn unthrottle_cfs_rq(&mut self, cpu: usize, now: Ns) {
        self.cpus[cpu].throttled = false;
        self.throttled.retain(|other| *other != cpu);
        if let Some(since) = self.cpus[cpu].throttled_clock.take() {
            self.throttled_ns += now - since;
        }
    }

    /// Give throttled CPUs time from the pool. Return the CPUs to unthrottle, in order.
    fn distribute_cfs_runtime(&mut self) -> Vec<usize> {
        let mut freed = Vec::new();
        for cpu in &self.throttled {
            let local = &mut self.cpus[*cpu];
            let amount = self.runtime.min((1 - local.remaining).max(0) as Ns);
            self.runtime -= amount;
            local.remaining += amount as i64;
            if local.remaining > 0 {
                freed.push(*cpu);
            }
        }
        freed
    }

    /// Begin a period. Return the CPUs to unthrottle (`do_sched_cfs_period_timer()`).
    pub fn period_timer(&mut self, now: Ns) -> Vec<usize> {
        self.period_active = false;
        let Some(quota) = self.quota else { return Vec::new() };
        self.nr_periods += 1;
        self.runtime = quota;
        if self.idle && self.throttled.is_empty() {
            return Vec::new();
        }
        self.start_cfs_bandwidth(now);
        self.idle = self.throttled.is_empty();
        self.nr_throttled += u64::from(!self.idle);
        self.distribute_cfs_runtime()
    }

    /// Return the time of a CPU whose last task sleeps to the pool, if other CPUs wait for it (`__return_cfs_rq_runtime()`).
    pub fn return_cfs_rq_runtime(&mut self, cpu: usize, slice: Ns, now: Ns) {
        let slack = self.cpus[cpu].remaining - MIN_CFS_RQ_RUNTIME;
        if self.quota.is_none() || slack <= 0 {
            return;
        }
        self.cpus[cpu].remaining -= slack;
        self.runtime += slack as Ns;
        let late = self.refill_at < now + SLACK_PERIOD + MIN_BANDWIDTH_EXPIRATION;
        if self.runtime > slice && !self.throttled.is_empty() && !self.slack_started && !late {
            self.slack_started = true;
            self.starts = Some((GroupTimer::Slack, now + SLACK_PERIOD));
        }
    }

    /// Distribute returned time. Return the CPUs to unthrottle (`do_sched_cfs_slack_timer()`).
    pub fn slack_timer(&mut self, slice: Ns, now: Ns) -> Vec<usize> {
        self.slack_started = false;
        let late = self.refill_at < now + MIN_BANDWIDTH_EXPIRATION;
        if late || self.quota.is_none() || self.runtime <= slice {
            Vec::new()
        } else {
            self.distribute_cfs_runtime()
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/sched/bandwidth.rs"]
mod tests;

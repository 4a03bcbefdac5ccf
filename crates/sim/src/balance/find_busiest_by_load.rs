//! Which group a balancing pass takes tasks from, and how much, by the load of groups (kernel/sched/fair.c, v4.5; up to 5.4).
//!
//! Limit: a CPU's load is that of the moment, where passes that are not new-idle compare decayed loads (`cpu_load[]`).

use super::groups::{GroupStats, GroupType};
use super::load_balance::{CpuIdleType, Imbalance};
use super::sched_domains::SchedDomain;
use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::observe::Observer;
use crate::sched::weight::UNIT;

impl GroupStats {
    /// Average load of the group's tasks, times 1024.
    fn load_per_task(&self) -> u64 {
        (self.sum.load * 1024).checked_div(self.sum.number).unwrap_or(0)
    }

    /// Count a group with several tasks as overloaded if the groups spread their tasks and the local group has spare capacity
    /// (`update_sd_lb_stats()`).
    pub fn mark_overloaded(&mut self, local: &Self, prefer_sibling: bool) {
        if prefer_sibling && local.kind == GroupType::HasSpare && self.sum.number > 1 {
            self.kind = GroupType::Overloaded;
        }
    }

    /// Whether a pass prefers this group to another as the busiest (`update_sd_pick_busiest()`).
    pub fn is_busier_by_load(&self, other: &Self) -> bool {
        let key = |stats: &Self| (stats.kind == GroupType::Overloaded, stats.sum.per_cpu());
        key(self) > key(other)
    }
}

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Load to take from the busiest group, which may be 0; `None` if the groups are balanced (`find_busiest_group()` and
    /// `calculate_imbalance()`). `mean` is the domain's load per CPU, times 1024.
    pub(super) fn load_imbalance(
        &self,
        domain: &SchedDomain,
        local: &GroupStats,
        busiest: &GroupStats,
        mean: u64,
        idle: CpuIdleType,
    ) -> Option<Imbalance> {
        if busiest.sum.number == 0 {
            return None;
        }
        let (here, there) = (local.sum.per_cpu(), busiest.sum.per_cpu());
        let overloaded = busiest.kind == GroupType::Overloaded;
        let waits_for_work = idle == CpuIdleType::Newidle && local.kind == GroupType::HasSpare && overloaded;
        if !waits_for_work {
            if here >= there || here >= mean {
                return None;
            }
            let even = if idle == CpuIdleType::Idle {
                !overloaded && local.sum.idle <= busiest.sum.idle + 1
            } else {
                100 * there <= u64::from(self.imbalance_pct(domain.kind)) * here
            };
            if even {
                return None;
            }
        }
        let per_task = busiest.load_per_task();
        let mut load = 0;
        if there > mean && here < mean {
            // Between overloaded groups only as many tasks move as are beyond the busiest group's capacity.
            let beyond = busiest.sum.number.saturating_sub(busiest.sum.width) * UNIT * 1024;
            let both = overloaded && local.kind == GroupType::Overloaded;
            let pull = if both && beyond > 0 { (there - mean).min(beyond) } else { there - mean };
            load = (pull * busiest.sum.width).min((mean - here) * local.sum.width);
        }
        if load < per_task && moves_a_task(local, busiest) {
            load = per_task;
        }
        Some(Imbalance::Load(load / 1024))
    }
}

/// Whether a pass moves one task although the load to move is less than a task (`fix_small_imbalance()`): if the busiest group
/// remains as loaded as the local group, or if the groups together get more capacity.
fn moves_a_task(local: &GroupStats, busiest: &GroupStats) -> bool {
    let (here, there) = (local.sum.per_cpu(), busiest.sum.per_cpu());
    let (our_task, task) = (local.load_per_task(), busiest.load_per_task());
    let (our_width, width) = (local.sum.width.max(1), busiest.sum.width.max(1));
    let part = task / width;
    let tasks = if local.sum.number > 0 && task > our_task { 1 } else { 2 };
    if there + part >= here + part * tasks {
        return true;
    }
    let now = width * task.min(there) + our_width * our_task.min(here);
    let added = task.min(there * width) / our_width;
    let left = if there > part { width * task.min(there - part) } else { 0 };
    left + our_width * our_task.min(here + added) > now
}

#[cfg(test)]
#[path = "../../tests/unit/balance/find_busiest_by_load.rs"]
mod tests;

//! Balancing by a CPU that is about to become idle.

use super::load_balance::CpuIdleType;
use crate::balance::KernelPolicy;
use crate::engine::{Engine, NewidleStats};
use crate::kernel::{NewidleGate, Tunable};
use crate::observe::Observer;
use crate::time::{Ns, SECOND};

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Search tasks for a CPU that is about to become idle. Return whether the CPU has work (`newidle_balance()`,
    /// kernel/sched/fair.c, v5.14 and v6.12; `idle_balance()` in v4.5).
    ///
    /// The cut-off: no pass begins unless `avg_idle` covers `sched_migration_cost_ns` (v4.5, v5.14) or the cost of the
    /// narrowest domain (v6.12), and a domain is visited only while `avg_idle` also covers the cost of the domain.
    pub(super) fn newidle_balance(&mut self, cpu: usize) -> bool {
        let avg_idle = self.cpus[cpu].avg_idle;
        let Some(narrowest) = self.cpus[cpu].domains.first() else { return false };
        let threshold = match self.world.kernel.newidle_gate {
            NewidleGate::MigrationCost => self.tunables.migration_cost().into(),
            NewidleGate::DomainCost => narrowest.max_newidle_lb_cost,
        };
        if avg_idle < threshold || !self.rq.overload {
            self.records.counters.newidle_skipped += 1;
            self.update_next_balance(cpu, 0);
            return false;
        }
        self.settle(cpu);
        self.rq.update_blocked_average(cpu, self.time.now);
        let mut curr_cost = 0;
        for level in 0..self.cpus[cpu].domains.len() {
            self.update_next_balance(cpu, level);
            if avg_idle < curr_cost + self.cpus[cpu].domains[level].max_newidle_lb_cost {
                break;
            }
            let Some(weight) = self.newidle_weight(cpu, level) else {
                self.count_newidle(cpu, level, 0);
                continue;
            };
            let pass = self.load_balance(cpu, cpu, level, CpuIdleType::Newidle);
            curr_cost += pass.cost;
            self.note_newidle_cost(cpu, level, pass.cost);
            self.count_newidle(cpu, level, if pass.moved > 0 { weight } else { 0 });
            if pass.moved > 0 || self.rq.nr_running[cpu] > 0 {
                break;
            }
        }
        self.cpus[cpu].max_idle_balance_cost = self.cpus[cpu].max_idle_balance_cost.max(curr_cost);
        self.rq.nr_running[cpu] > 0
    }

    /// Weight of a success of this pass over a domain, the inverse of the probability that a pass runs; `None` to skip the pass
    /// (`sched_balance_newidle()`, kernel/sched/fair.c, v6.19).
    fn newidle_weight(&mut self, cpu: usize, level: usize) -> Option<u32> {
        if !self.tunables.on(Tunable::NiRandom) {
            return Some(1);
        }
        let chance = 1 + self.cpus[cpu].domains[level].newidle.ratio;
        let draw = self.time.random.below(NewidleStats::SCALE.into()) as u32;
        (draw <= chance).then(|| (NewidleStats::SCALE + chance / 2) / chance)
    }

    /// Count a pass over a domain whose success has a weight, 0 for no success.
    fn count_newidle(&mut self, cpu: usize, level: usize, success: u32) {
        if self.tunables.has(Tunable::NiRandom) {
            let by_rate = self.tunables.on(Tunable::NiRate);
            self.cpus[cpu].domains[level].newidle.count(success, by_rate, self.time.now);
        }
    }

    /// Bring a CPU's next periodic balancing forward to the interval of an idle CPU, because the CPU is about to become
    /// idle (`update_next_balance()`, kernel/sched/fair.c, v4.5 to v6.12).
    fn update_next_balance(&mut self, cpu: usize, level: usize) {
        let due = self.cpus[cpu].domains[level].last_balance
            + self.get_sd_balance_interval(cpu, level, CpuIdleType::Idle);
        let cpu_state = &mut self.cpus[cpu];
        cpu_state.next_balance = cpu_state.next_balance.min(due);
    }

    /// Record the cost of a new-idle pass over a domain.
    fn note_newidle_cost(&mut self, cpu: usize, level: usize, cost: Ns) {
        match self.world.kernel.newidle_gate {
            NewidleGate::MigrationCost => {
                let domain_state = &mut self.cpus[cpu].domains[level];
                domain_state.max_newidle_lb_cost = domain_state.max_newidle_lb_cost.max(cost);
            }
            NewidleGate::DomainCost => {
                self.update_newidle_cost(cpu, level, cost);
            }
        }
    }

    /// Update the maximum cost of new-idle passes over a domain: a greater `cost` replaces the maximum, otherwise the
    /// maximum decays by 1 % a second. Return whether the maximum has decayed (`update_newidle_cost()`,
    /// kernel/sched/fair.c, v6.12; the decay is in `rebalance_domains()` in v4.5 and v5.14).
    pub(super) fn update_newidle_cost(&mut self, cpu: usize, level: usize, cost: Ns) -> bool {
        let now = self.time.now;
        let domain_state = &mut self.cpus[cpu].domains[level];
        if cost > domain_state.max_newidle_lb_cost {
            (domain_state.max_newidle_lb_cost, domain_state.decay_at) = (cost, now + SECOND);
            return false;
        }
        let due = now > domain_state.decay_at;
        if due {
            (domain_state.max_newidle_lb_cost, domain_state.decay_at) =
                (domain_state.max_newidle_lb_cost * 253 / 256, now + SECOND);
        }
        due
    }
}

#[cfg(test)]
#[path = "../../tests/unit/balance/newidle_balance.rs"]
mod tests;

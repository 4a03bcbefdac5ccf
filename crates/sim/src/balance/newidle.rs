//! Balancing by a CPU that is about to become idle.

use super::pass::Kind;
use crate::engine::Engine;
use crate::kernel::NewidleGate;
use crate::observe::Observer;
use crate::sched::Policy;

impl<P: Policy, O: Observer> Engine<'_, P, O> {
    /// Looks for work for a CPU that has none (`newidle_balance()`); whether there is some now.
    pub(crate) fn balance_newidle(&mut self, cpu: usize) -> bool {
        if self.is_o1() {
            return self.balance_newidle_o1(cpu);
        }
        let average = self.cpus[cpu].avg_idle;
        let first = self.cpus[cpu].domains.first().map(|domain| domain.newidle_cost);
        let Some(first) = first else { return false };
        let threshold = match self.world.kernel.newidle_gate {
            NewidleGate::MigrationCost => self.cost_cap(),
            NewidleGate::DomainCost => first,
        };
        if average < threshold || self.crowded.is_empty() {
            self.counters.newidle_skipped += 1;
            return false;
        }
        self.settle(cpu);
        let mut spent = 0;
        for level in 0..self.cpus[cpu].domains.len() {
            if average < spent + self.cpus[cpu].domains[level].newidle_cost {
                break;
            }
            let passed = self.pass(cpu, cpu, level, Kind::Newidle);
            spent += passed.cost;
            let it = &mut self.cpus[cpu].domains[level];
            it.newidle_cost = it.newidle_cost.max(passed.cost);
            if passed.moved > 0 || self.running[cpu] > 0 {
                break;
            }
        }
        self.cpus[cpu].max_idle_cost = self.cpus[cpu].max_idle_cost.max(spent);
        self.running[cpu] > 0
    }
}

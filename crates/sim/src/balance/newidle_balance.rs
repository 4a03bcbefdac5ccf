//! Balancing by a CPU that is about to become idle.

use super::load_balance::CpuIdleType;
use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::kernel::NewidleGate;
use crate::observe::Observer;
use crate::time::{Ns, SECOND};

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Look for work for a CPU that is about to become idle. Return whether the CPU has work (`newidle_balance()`,
    /// kernel/sched/fair.c, v5.14 and v6.12; `idle_balance()` in v4.5).
    ///
    /// The cut-off: no pass begins unless `avg_idle` covers `sched_migration_cost_ns` (v4.5, v5.14) or the cost of the
    /// narrowest domain (v6.12), and a domain is visited only while `avg_idle` covers its cost too.
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
        let mut curr_cost = 0;
        for level in 0..self.cpus[cpu].domains.len() {
            self.update_next_balance(cpu, level);
            if avg_idle < curr_cost + self.cpus[cpu].domains[level].max_newidle_lb_cost {
                break;
            }
            let pass = self.load_balance(cpu, cpu, level, CpuIdleType::Newidle);
            curr_cost += pass.cost;
            self.note_newidle_cost(cpu, level, pass.cost);
            if pass.moved > 0 || self.rq.nr_running[cpu] > 0 {
                break;
            }
        }
        self.cpus[cpu].max_idle_balance_cost = self.cpus[cpu].max_idle_balance_cost.max(curr_cost);
        self.rq.nr_running[cpu] > 0
    }

    /// Bring a CPU's next periodic balancing forward to the interval of an idle CPU, because it is about to become idle
    /// (`update_next_balance()`, kernel/sched/fair.c, v4.5 to v6.12).
    fn update_next_balance(&mut self, cpu: usize, level: usize) {
        let due = self.cpus[cpu].domains[level].last_balance + self.interval(cpu, level, CpuIdleType::Idle);
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

    /// Update the maximum cost of new-idle passes over a domain: a greater `cost` replaces it, otherwise it decays by 1 %
    /// a second. Return whether it has decayed (`update_newidle_cost()`, kernel/sched/fair.c, v6.12; the decay is in
    /// `rebalance_domains()` in v4.5 and v5.14).
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
mod tests {
    use schedlab_workload::Plan;
    use schedlab_workload::library::yielding::Yielding;

    use crate::simulation::{Config, Simulation};
    use crate::time::{MS, SECOND};
    use crate::{kernel, machine};

    /// Run the body with an engine two seconds after boot: CPU 1 is idle, and no CPU has more than one task.
    macro_rules! about_to_idle {
        ($machine:literal, $kernel:literal, |$engine:ident| $body:block) => {{
            let plan = Plan::new(Yielding { tasks: 1, ..Yielding::default() }.program().unwrap()).unwrap();
            let (machine, kernel) = (machine($machine).unwrap(), kernel($kernel).unwrap());
            let simulation = Simulation::new(machine, kernel, plan, Config::default()).unwrap();
            #[allow(unused_mut, reason = "some bodies only read")]
            simulation.with_engine(|mut $engine| {
                $engine.boot();
                $engine.time.now = 2 * SECOND;
                $body
            });
        }};
    }

    #[test]
    fn overload_flag_is_cleared_only_by_a_pass_over_the_widest_domain() {
        // 4 nodes: the widest domain of a CPU is its third level or higher.
        about_to_idle!("kunpeng920", "linux-6.12", |engine| {
            let levels = engine.cpus[1].domains.len();
            assert!(levels >= 3);
            let calls =
                |engine: &crate::engine::Engine<'_, _, _>| engine.records.counters.newidle_balance.calls;
            // The flag is clear: there is no pass.
            engine.rq.overload = false;
            engine.newidle_balance(1);
            assert_eq!((calls(engine), engine.records.counters.newidle_skipped), (0, 1));
            // The flag is set: there is a pass on each level, and the last one clears the flag.
            engine.rq.overload = true;
            engine.newidle_balance(1);
            assert_eq!((calls(engine), engine.rq.overload), (levels as u64, false));
            // Balancing that stops below the last level leaves the flag set.
            engine.rq.overload = true;
            engine.cpus[1].domains[levels - 1].max_newidle_lb_cost = 10 * SECOND;
            engine.newidle_balance(1);
            assert_eq!((calls(engine), engine.rq.overload), (2 * levels as u64 - 1, true));
        });
    }

    #[test]
    fn cpu_that_becomes_idle_uses_the_intervals_of_idle_cpus() {
        about_to_idle!("laptop-4", "linux-5.14", |engine| {
            // The CPU was busy, so its next balancing is 16 intervals of 4 ms away.
            let cpu = &mut engine.cpus[1];
            (cpu.domains[0].last_balance, cpu.domains[0].interval) = (2 * SECOND, 4 * MS);
            cpu.next_balance = 2 * SECOND + 64 * MS;
            engine.newidle_balance(1);
            assert_eq!(engine.cpus[1].next_balance, 2 * SECOND + 4 * MS);
        });
    }

    #[test]
    fn max_newidle_cost_decays_by_three_256ths_each_second() {
        about_to_idle!("laptop-4", "linux-6.12", |engine| {
            assert!(!engine.update_newidle_cost(1, 0, 25_600));
            engine.time.now += SECOND;
            assert!(!engine.update_newidle_cost(1, 0, 25_600), "not yet");
            engine.time.now += 1;
            assert!(engine.update_newidle_cost(1, 0, 0));
            assert_eq!(engine.cpus[1].domains[0].max_newidle_lb_cost, 25_300);
            assert!(!engine.update_newidle_cost(1, 0, 0), "once a second");
        });
    }
}

//! Balancing by a CPU that is about to become idle.

use super::pass::Kind;
use crate::balance::KernelPolicy;
use crate::engine::Engine;
use crate::kernel::NewidleGate;
use crate::observe::Observer;
use crate::time::{Ns, SECOND};

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Looks for work for a CPU that is about to become idle. Returns whether it has work (`newidle_balance()`,
    /// kernel/sched/fair.c, v5.14 and v6.12; `idle_balance()` in v4.5).
    pub(super) fn newidle_balance(&mut self, cpu: usize) -> bool {
        let average = self.cpus[cpu].avg_idle;
        let first = self.cpus[cpu].domains.first().map(|domain| domain.max_newidle_lb_cost);
        let Some(first) = first else { return false };
        let threshold = match self.world.kernel.newidle_gate {
            NewidleGate::MigrationCost => self.tunables.migration_cost().into(),
            NewidleGate::DomainCost => first,
        };
        if average < threshold || !self.rq.overload {
            self.records.counters.newidle_skipped += 1;
            self.update_next_balance(cpu, 0);
            return false;
        }
        self.settle(cpu);
        let mut spent = 0;
        for level in 0..self.cpus[cpu].domains.len() {
            self.update_next_balance(cpu, level);
            if average < spent + self.cpus[cpu].domains[level].max_newidle_lb_cost {
                break;
            }
            let passed = self.load_balance(cpu, cpu, level, Kind::Newidle);
            spent += passed.cost;
            self.note_newidle_cost(cpu, level, passed.cost);
            if passed.moved > 0 || self.rq.nr_running[cpu] > 0 {
                break;
            }
        }
        self.cpus[cpu].max_idle_balance_cost = self.cpus[cpu].max_idle_balance_cost.max(spent);
        self.rq.nr_running[cpu] > 0
    }

    /// The CPU is about to idle: its next periodic balancing of a level is due by an idle CPU's interval now
    /// (`update_next_balance()`).
    fn update_next_balance(&mut self, cpu: usize, level: usize) {
        let due = self.cpus[cpu].domains[level].last_balance + self.interval(cpu, level, Kind::Idle);
        let it = &mut self.cpus[cpu];
        it.next_balance = it.next_balance.min(due);
    }

    fn note_newidle_cost(&mut self, cpu: usize, level: usize, cost: Ns) {
        match self.world.kernel.newidle_gate {
            NewidleGate::MigrationCost => {
                let it = &mut self.cpus[cpu].domains[level];
                it.max_newidle_lb_cost = it.max_newidle_lb_cost.max(cost);
            }
            // Each visit is an opportunity to decay (update_newidle_cost()).
            NewidleGate::DomainCost => {
                self.update_newidle_cost(cpu, level, cost);
            }
        }
    }

    /// A level's dearest new-idle balancing decays by 1 % a second; whether it just has. A dearer one of `cost` takes its
    /// place, and decays from now on.
    pub(super) fn update_newidle_cost(&mut self, cpu: usize, level: usize, cost: Ns) -> bool {
        let now = self.time.now;
        let it = &mut self.cpus[cpu].domains[level];
        if cost > it.max_newidle_lb_cost {
            (it.max_newidle_lb_cost, it.decay_at) = (cost, now + SECOND);
            return false;
        }
        let due = now > it.decay_at;
        if due {
            (it.max_newidle_lb_cost, it.decay_at) = (it.max_newidle_lb_cost * 253 / 256, now + SECOND);
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

    /// Two seconds after boot, when CPU 1 has nothing to do and nobody has more than one task.
    macro_rules! about_to_idle {
        ($machine:literal, $kernel:literal, |$engine:ident| $body:block) => {{
            let plan = Plan::new(Yielding { tasks: 1, ..Yielding::default() }.program().unwrap()).unwrap();
            let (machine, kernel) = (machine($machine).unwrap(), kernel($kernel).unwrap());
            let simulation = Simulation::new(machine, kernel, plan, Config::default()).unwrap();
            #[allow(unused_mut, reason = "some only look")]
            simulation.with_engine(|mut $engine| {
                $engine.boot();
                $engine.time.now = 2 * SECOND;
                $body
            });
        }};
    }

    #[test]
    fn the_flag_of_overload_stays_until_a_pass_over_the_widest_domain_finds_nobody_overloaded() {
        // 4 nodes: the widest domain of a CPU is its third level or higher.
        about_to_idle!("kunpeng920", "linux-6.12", |engine| {
            let levels = engine.cpus[1].domains.len();
            assert!(levels >= 3);
            let calls =
                |engine: &crate::engine::Engine<'_, _, _>| engine.records.counters.newidle_balance.calls;
            // Nobody has two tasks, and nobody has had: it does not look.
            engine.rq.overload = false;
            engine.newidle_balance(1);
            assert_eq!((calls(engine), engine.records.counters.newidle_skipped), (0, 1));
            // Somebody has had: it looks on all levels, and clears the flag at the last.
            engine.rq.overload = true;
            engine.newidle_balance(1);
            assert_eq!((calls(engine), engine.rq.overload), (levels as u64, false));
            // What stops below the last leaves it.
            engine.rq.overload = true;
            engine.cpus[1].domains[levels - 1].max_newidle_lb_cost = 10 * SECOND;
            engine.newidle_balance(1);
            assert_eq!((calls(engine), engine.rq.overload), (2 * levels as u64 - 1, true));
        });
    }

    #[test]
    fn a_cpu_that_begins_to_idle_is_balanced_by_the_intervals_of_idle_ones() {
        about_to_idle!("laptop-4", "linux-5.14", |engine| {
            // It was busy, so its next balancing is 16 intervals of 4 ms away.
            let it = &mut engine.cpus[1];
            (it.domains[0].last_balance, it.domains[0].interval) = (2 * SECOND, 4 * MS);
            it.next_balance = 2 * SECOND + 64 * MS;
            engine.newidle_balance(1);
            assert_eq!(engine.cpus[1].next_balance, 2 * SECOND + 4 * MS);
        });
    }

    #[test]
    fn the_dearest_balancing_decays_by_three_256ths_each_second() {
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

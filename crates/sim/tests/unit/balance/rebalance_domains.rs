use schedlab_workload::Plan;
use schedlab_workload::library::yielding::Yielding;

use super::CpuIdleType;
use crate::time::SECOND;
use crate::{Config, Simulation};
use crate::{kernel, machine};

#[test]
fn since_6_6_a_cpu_of_an_idle_core_balances_before_an_idle_sibling_of_a_busy_cpu() {
    for (kernel_name, balancing) in [("linux-4.5", 0), ("linux-6.1", 0), ("linux-6.6", 1), ("linux-7.2", 1)] {
        let plan = Plan::new(Yielding { tasks: 1, ..Yielding::default() }.program().unwrap()).unwrap();
        let (machine, kernel) = (machine("xeon-e5-2670v3").unwrap(), kernel(kernel_name).unwrap());
        Simulation::new(machine, kernel, plan, Config::default()).unwrap().with_engine(|engine| {
            let widest = engine.balance.domains.of_cpu[0].len() - 1;
            let choice = |engine: &crate::engine::Engine<'_, _, _>| {
                (0..3)
                    .filter(|cpu| engine.should_we_balance(*cpu, widest).0 == Some(*cpu))
                    .collect::<Vec<_>>()
            };
            assert_eq!(choice(engine), [0], "{kernel_name}: all CPUs are idle");
            let sibling = engine.topology.core_cpus(engine.topology.core(0)).iter().nth(1).unwrap();
            engine.rq.add_nr_running(sibling, engine.topology);
            assert_eq!(choice(engine), [balancing], "{kernel_name}: CPU 0's sibling is busy");
        });
    }
}

#[test]
fn since_5_16_only_the_decay_of_the_last_domain_lowers_the_cost_of_new_idle_balancing() {
    for (kernel_name, decaying, lowered) in
        [("linux-5.14", 0, true), ("linux-6.1", 0, false), ("linux-5.14", 2, true), ("linux-6.1", 2, true)]
    {
        let plan = Plan::new(Yielding { tasks: 1, ..Yielding::default() }.program().unwrap()).unwrap();
        let (machine, kernel) = (machine("xeon-e5-2670v3").unwrap(), kernel(kernel_name).unwrap());
        Simulation::new(machine, kernel, plan, Config::default()).unwrap().with_engine(|engine| {
            engine.time.now = 2 * SECOND;
            for (level, state) in engine.cpus[0].domains.iter_mut().enumerate() {
                state.decay_at = if level == decaying { SECOND } else { 3 * SECOND };
            }
            engine.cpus[0].max_idle_balance_cost = SECOND;
            engine.settle(0);
            engine.rebalance_domains(0, 0, CpuIdleType::Idle);
            assert_eq!(engine.cpus[0].max_idle_balance_cost < SECOND, lowered, "{kernel_name}, {decaying}");
        });
    }
}

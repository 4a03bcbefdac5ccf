use schedlab_workload::Plan;
use schedlab_workload::library::yielding::Yielding;

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

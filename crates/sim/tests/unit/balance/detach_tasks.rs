use schedlab_workload::Plan;
use schedlab_workload::library::yielding::Yielding;

use crate::machine::DomainKind;
use crate::{Config, Simulation};
use crate::{kernel, machine};

#[test]
fn a_task_is_cache_hot_up_to_the_migration_cost_and_not_a_nanosecond_longer() {
    for (cost, since, hot) in [
        (500_000, 499_999, true),
        (500_000, 500_000, false),
        (1, 0, true),
        (1, 1, false),
        (0, 0, false),
        (-1, 1_000_000_000, true),
        (u32::MAX.into(), 10_000_000_000, true),
    ] {
        let config =
            Config { tunables: vec![("sched.migration_cost_ns".to_owned(), cost)], ..Config::default() };
        let plan = Plan::new(Yielding::default().program().unwrap()).unwrap();
        let (machine, kernel) = (machine("laptop-4").unwrap(), kernel("linux-5.14").unwrap());
        Simulation::new(machine, kernel, plan, config).unwrap().with_engine(|engine| {
            engine.boot();
            let task = engine.gate.main;
            engine.tasks[task].ran_at = 7_000_000;
            engine.time.now = 7_000_000 + since;
            assert_eq!(engine.task_hot(0, 1, task, DomainKind::Cache), hot, "cost {cost}, {since} ns ago");
            assert!(!engine.task_hot(0, 1, task, DomainKind::Smt), "siblings share their caches");
            // sched_init() runs before the tunable can be set.
            let cpu_state = &engine.cpus[1];
            assert_eq!(
                (cpu_state.avg_idle, cpu_state.max_idle_balance_cost),
                (1_000_000, 500_000),
                "cost {cost}"
            );
        });
    }
}

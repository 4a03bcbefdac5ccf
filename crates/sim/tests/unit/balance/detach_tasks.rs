use schedlab_workload::Plan;
use schedlab_workload::library::yielding::Yielding;

use crate::machine::DomainKind;
use crate::sched::{Cfs, Enqueue, Policy};
use crate::tasks::Script;
use crate::time::SECOND;
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

#[test]
fn the_task_that_the_queue_prefers_is_cache_hot_for_cpus_with_tasks_only() {
    let config = Config { tunables: vec![("sched.migration_cost_ns".to_owned(), 0)], ..Config::default() };
    let plan = Plan::new(Yielding::default().program().unwrap()).unwrap();
    let (machine, kernel) = (machine("laptop-4").unwrap(), kernel("linux-5.14").unwrap());
    Simulation::new(machine, kernel, plan, config).unwrap().with_engine(|engine| {
        // With fewer tasks than fit into the latency a wake-up does not make the current task a buddy.
        for _ in 0..10 {
            let task = engine.spawn_kernel(0, Script::None);
            engine.activate_task(0, task, Enqueue::New);
        }
        let preempted = engine.rq.pick_next_task(0, None, 0).unwrap();
        let woken = if preempted == 0 { 1 } else { 0 };
        let rq = &mut engine.rq;
        rq.policy.update_curr(&mut rq.queues[0], &mut rq.entities, preempted, SECOND);
        assert!(rq.policy.check_preempt_wakeup(&mut rq.queues[0], &mut rq.entities, preempted, woken));
        assert!(Cfs::preferred(&rq.queues[0], preempted) && !Cfs::preferred(&rq.queues[0], woken));
        engine.time.now = SECOND;
        assert!(!engine.task_hot(0, 1, preempted, DomainKind::Cache), "CPU 1 has no task");
        let task = engine.spawn_kernel(1, Script::None);
        engine.activate_task(1, task, Enqueue::New);
        assert!(engine.task_hot(0, 1, preempted, DomainKind::Cache));
        assert!(!engine.task_hot(0, 1, woken, DomainKind::Cache), "not the preferred task");
        assert!(!engine.task_hot(0, 1, preempted, DomainKind::Smt), "siblings share their caches");
    });
}

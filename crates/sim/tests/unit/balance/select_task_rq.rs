use schedlab_workload::Plan;
use schedlab_workload::library::yielding::Yielding;

use crate::machine::CpuMask;
use crate::{Config, Simulation};
use crate::{kernel, machine};

/// A simulation with a single task, which has not begun.
fn simulation(machine_name: &str, kernel_name: &str) -> Simulation {
    let plan = Plan::new(Yielding { tasks: 1, ..Yielding::default() }.program().unwrap()).unwrap();
    let (machine, kernel) = (machine(machine_name).unwrap(), kernel(kernel_name).unwrap());
    Simulation::new(machine, kernel, plan, Config::default()).unwrap()
}

/// `update_avg()`: a search moves the average of its CPU by an eighth of the difference, up or down.
#[test]
fn average_cost_of_a_search_moves_by_an_eighth_of_the_difference() {
    simulation("laptop-4", "linux-5.14").with_engine(|engine| {
        engine.boot();
        engine.rq.idle.remove(0);
        let (_, scanned) = engine.select_idle_cpu(0, 0, 0);
        let cost = scanned as u64 * u64::from(engine.costs.idle_scan_cpu);
        assert!(cost >= 8);
        for (before, after) in [(0, cost / 8), (cost, cost), (cost + 80, cost + 70)] {
            engine.cpus[0].avg_search = before;
            engine.select_idle_sibling(0, 0, 0, 0);
            assert_eq!(engine.cpus[0].avg_search, after);
        }
    });
}

/// 5.14 halves the idle time of a busy CPU at each tick, and each search uses up its own time.
#[test]
fn idle_time_for_searches_ages_by_half_per_tick_and_is_used_up() {
    simulation("laptop-4", "linux-5.14").with_engine(|engine| {
        engine.boot();
        engine.rq.idle.remove(0);
        (engine.cpus[0].wake_avg_idle, engine.cpus[0].wake_stamp) = (80_000, 0);
        engine.time.now = 3 * engine.time.tick_ns;
        engine.cpus[0].clock = engine.time.now;
        engine.age_idle_time(0);
        engine.age_idle_time(0);
        assert_eq!((engine.cpus[0].wake_avg_idle, engine.cpus[0].wake_stamp), (10_000, 3));
        let (_, scanned) = engine.select_idle_cpu(0, 0, 0);
        engine.select_idle_sibling(0, 0, 0, 0);
        let cost = scanned as u64 * u64::from(engine.costs.idle_scan_cpu);
        assert_eq!(engine.cpus[0].wake_avg_idle, 10_000 - cost);
    });
}

/// Without predicted idle time 5.14 examines the target and two more CPUs. A search that ends there costs time, but its time
/// is not accounted for.
#[test]
fn a_search_without_idle_time_examines_three_cpus() {
    simulation("kunpeng920", "linux-5.14").with_engine(|engine| {
        engine.boot();
        for (idle, idle_ns, scanned) in [(7, 0, 3), (8, 0, 3), (8, 90, 4), (9, 90, 4)] {
            engine.rq.idle = CpuMask::EMPTY;
            engine.rq.mark_idle(idle, engine.topology);
            // 32 CPUs of 90 ns of idle time pay for five CPUs at 540 ns and 1 ns each.
            (engine.cpus[5].wake_avg_idle, engine.cpus[5].avg_search) = (idle_ns, 540);
            engine.cpus[5].wake_stamp = engine.time.now / engine.time.tick_ns;
            let reached = idle < 5 + scanned;
            assert_eq!(
                engine.select_idle_cpu(5, 5, 0),
                (reached.then_some(idle), scanned),
                "idle CPU {idle}"
            );
            let chosen = engine.select_idle_sibling(5, 5, 5, 0);
            assert_eq!(chosen, if reached { idle } else { 5 });
            assert_eq!(engine.cpus[5].avg_search < 540, reached, "idle CPU {idle}");
        }
    });
}

/// Without an idle core, 4.5 takes an idle SMT sibling of the target, and no other idle CPU.
#[test]
fn the_search_of_4_5_ends_with_the_targets_siblings() {
    simulation("i7-3770", "linux-4.5").with_engine(|engine| {
        engine.boot();
        // CPUs 0 to 3 are the first threads of the cores, and CPU 5 is the sibling of CPU 1.
        for idle in [5, 6] {
            (engine.rq.idle, engine.rq.idle_cores) = (CpuMask::EMPTY, CpuMask::EMPTY);
            engine.rq.mark_idle(idle, engine.topology);
            let chosen = engine.select_idle_cpu(1, 1, 0).0;
            assert_eq!(chosen, (idle == 5).then_some(5), "idle CPU {idle}");
        }
    });
}

/// Where target and previous CPU are busy, a wake-up takes the CPU of an earlier wake-up if it is idle, and does not search.
#[test]
fn a_recently_used_idle_cpu_comes_before_a_search() {
    for (name, found, left) in
        [("linux-4.5", None, 3), ("linux-5.14", Some(3), 1), ("linux-6.12", Some(3), 1)]
    {
        simulation("laptop-4", name).with_engine(|engine| {
            engine.boot();
            engine.rq.idle.remove(0);
            engine.rq.idle.remove(1);
            engine.tasks[0].recent_cpu = 3;
            assert_eq!(engine.recent_used_cpu(1, 0, 0), found, "{name}");
            assert_eq!(engine.tasks[0].recent_cpu, left, "{name}");
        });
    }
}

/// 5.14 keeps the recent CPU while that CPU is busy, later kernels note the previous CPU at each search.
#[test]
fn a_busy_recent_cpu_is_forgotten_since_5_15() {
    for (name, left) in [("linux-5.14", 2), ("linux-6.12", 1)] {
        simulation("laptop-4", name).with_engine(|engine| {
            engine.boot();
            (0..3).for_each(|cpu| engine.rq.idle.remove(cpu));
            engine.tasks[0].recent_cpu = 2;
            assert_eq!(engine.recent_used_cpu(1, 0, 0), None, "{name}");
            assert_eq!(engine.tasks[0].recent_cpu, left, "{name}");
        });
    }
}

/// Since 4.14 `wake_affine()` subtracts the waking task from the load of its previous CPU.
#[test]
fn a_waking_task_does_not_count_on_its_previous_cpu_since_4_14() {
    for (name, pulled) in
        [("linux-3.8", true), ("linux-4.5", true), ("linux-5.14", false), ("linux-6.12", false)]
    {
        simulation("laptop-4", name).with_engine(|engine| {
            engine.boot();
            engine.rq.set_autogroup(false, false, 1);
            engine.rq.idle = CpuMask::EMPTY;
            // The task is new and has its whole weight, 1024.
            (engine.rq.loads[0], engine.rq.loads[1]) = (100, 1200);
            assert_eq!(engine.wake_affine(0, 1, 0, false), pulled, "{name}");
        });
    }
}

/// 5.10 compares loads although the previous CPU is idle and the load there is of sleeping tasks. Since 5.11 the task stays.
#[test]
fn an_idle_previous_cpu_keeps_its_task_since_5_11() {
    for (name, pulled) in [("linux-5.10", true), ("linux-5.14", false), ("linux-6.12", false)] {
        simulation("kunpeng920", name).with_engine(|engine| {
            engine.boot();
            engine.rq.set_autogroup(false, false, 1);
            engine.rq.idle = CpuMask::EMPTY;
            engine.rq.mark_idle(96, engine.topology);
            // The task is new and has its whole weight, 1024.
            (engine.rq.loads[0], engine.rq.loads[96]) = (100, 3000);
            assert_eq!(engine.wake_affine(0, 96, 0, false), pulled, "{name}");
        });
    }
}

/// A cache whose periodic balancing found it busy is not searched, idle cores included.
#[test]
fn a_busy_cache_is_not_searched() {
    simulation("i7-3770", "linux-6.12").with_engine(|engine| {
        engine.boot();
        engine.rq.idle.remove(0);
        assert!(engine.select_idle_cpu(0, 0, 0).0.is_some(), "the CPUs were idle before");
        engine.balance.domains.caches[0].scan_limit = 0;
        assert_eq!(engine.select_idle_cpu(0, 0, 0), (None, 0));
    });
}

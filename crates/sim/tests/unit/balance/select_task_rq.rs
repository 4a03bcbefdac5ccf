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

/// 6.7 and later examine the target's cluster first: CPUs 4 to 7 with target 6. The walk of the cluster ends with the target
/// itself, so that the first CPU of the next cluster is the fifth of the walk.
#[test]
fn the_targets_cluster_is_searched_before_the_rest_of_the_cache_since_6_7() {
    for (name, idle_cpus, chosen, scanned) in [
        ("linux-6.12", vec![4, 8], 4, 3),
        ("linux-6.6", vec![4, 8], 8, 3),
        ("linux-6.12", vec![8, 9], 8, 6),
        // 9 to 31 and 0 to 2 are busy.
        ("linux-6.12", vec![3], 3, 4 + 1 + 27 + 1),
        ("linux-6.6", vec![3], 3, 30),
    ] {
        simulation("kunpeng920", name).with_engine(|engine| {
            engine.boot();
            engine.rq.idle = idle_cpus.iter().copied().collect();
            assert_eq!(engine.select_idle_cpu(6, 6, 0), (Some(chosen), scanned), "{name}, {idle_cpus:?}");
        });
    }
}

/// A limited search of a cluster machine ends after as many CPUs as on other machines, the target included.
#[test]
fn the_limit_of_a_search_counts_the_cpus_of_the_cluster() {
    simulation("kunpeng920", "linux-6.12").with_engine(|engine| {
        engine.boot();
        engine.rq.idle = [8].into_iter().collect();
        for (limit, found) in [(5, None), (6, Some(8))] {
            engine.balance.domains.caches[0].scan_limit = limit;
            assert_eq!(engine.select_idle_cpu(6, 6, 0).0, found, "{limit} CPUs");
        }
    });
}

/// An idle previous CPU, or recent CPU, of another cluster is taken only if the search finds no CPU, the previous CPU first.
#[test]
fn an_idle_cpu_of_another_cluster_waits_for_the_search() {
    // Target 6, previous CPU 9, recent CPU 12. Without a limit the search itself reaches CPU 9 and 12.
    for (name, idle_cpus, limit, chosen) in [
        ("linux-6.6", vec![4, 9], 32, 9),
        ("linux-6.12", vec![4, 9], 32, 4),
        ("linux-6.12", vec![9, 12], 4, 9),
        ("linux-6.12", vec![12], 4, 12),
        ("linux-6.6", vec![4, 12], 32, 12),
        ("linux-6.12", vec![4, 12], 32, 4),
        ("linux-6.12", vec![], 32, 6),
    ] {
        simulation("kunpeng920", name).with_engine(|engine| {
            engine.boot();
            engine.rq.idle = idle_cpus.iter().copied().collect();
            engine.tasks[0].recent_cpu = 12;
            engine.balance.domains.caches[0].scan_limit = limit;
            assert_eq!(engine.select_idle_sibling(6, 9, 6, 0), chosen, "{name}, {idle_cpus:?}");
            assert_eq!(
                engine.tasks[0].recent_cpu,
                if idle_cpus == [4, 9] && name == "linux-6.6" { 12 } else { 9 }
            );
        });
    }
}

/// With SMT, an idle core of the target's cluster comes before idle cores of other clusters, and an idle core of another
/// cluster before an idle sibling of the own cluster.
#[test]
fn idle_cores_are_searched_by_clusters_too() {
    let mut clustered = machine("xeon-e5-2670v3").unwrap();
    clustered.cores_per_cluster = Some(3);
    let plan = Plan::new(Yielding { tasks: 1, ..Yielding::default() }.program().unwrap()).unwrap();
    let simulation = Simulation::new(clustered, kernel("linux-6.12").unwrap(), plan, Config::default());
    simulation.unwrap().with_engine(|engine| {
        // Core 0 has CPUs 0 and 24; cores 0 to 2 are a cluster. After CPU 2 the search examines CPU 24.
        for (idle_cpus, chosen) in [(vec![24, 0, 3, 27], 24), (vec![0, 3, 27], 3), (vec![0, 3], 0)] {
            engine.boot();
            (engine.rq.idle, engine.rq.idle_cores) = (CpuMask::EMPTY, CpuMask::EMPTY);
            idle_cpus.iter().for_each(|cpu| engine.rq.mark_idle(*cpu, engine.topology));
            assert_eq!(engine.select_idle_cpu(2, 2, 0).0, Some(chosen), "{idle_cpus:?}");
        }
    });
}

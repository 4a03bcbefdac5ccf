use schedlab_workload::Plan;
use schedlab_workload::library::yielding::Yielding;

use super::{CpuIdleType, Imbalance, busier};
use crate::machine::DomainKind;
use crate::sched::Sum;
use crate::{Config, Simulation};
use crate::{kernel, machine};

/// A simulation of a machine under 6.12 with a single task, which has not begun.
fn simulation(machine_name: &str) -> Simulation {
    let plan = Plan::new(Yielding { tasks: 1, ..Yielding::default() }.program().unwrap()).unwrap();
    let (machine, kernel) = (machine(machine_name).unwrap(), kernel("linux-6.12").unwrap());
    Simulation::new(machine, kernel, plan, Config::default()).unwrap()
}

/// A group of `width` CPUs, `idle` of them without tasks, with `number` tasks of weight 1024.
fn group(width: u64, number: u64, idle: u64) -> Sum {
    Sum { width, number, load: 1024 * number, idle }
}

/// Imbalance between a local and a busiest group, whose mean is that of both groups.
fn imbalance(numa: bool, local: &Sum, busiest: &Sum, idle: CpuIdleType) -> Option<Imbalance> {
    simulation("xeon-e5-2670v3").with_engine(|engine| {
        let is_numa = |kind| matches!(kind, DomainKind::Numa(_));
        let domain = engine.balance.domains.all.iter().find(|domain| is_numa(domain.kind) == numa).unwrap();
        let mean = || (local.load + busiest.load) * 1024 / (local.width + busiest.width);
        engine.calculate_imbalance(domain, local, busiest, mean, idle)
    })
}

#[test]
fn idle_group_takes_a_waiting_task_for_each_idle_cpu() {
    for (local, busiest, tasks) in [
        (group(1, 0, 1), group(1, 2, 0), 1),
        (group(8, 2, 6), group(8, 11, 0), 3),
        (group(8, 6, 2), group(8, 20, 0), 2),
    ] {
        for idle in [CpuIdleType::Busy, CpuIdleType::Idle, CpuIdleType::Newidle] {
            assert_eq!(imbalance(false, &local, &busiest, idle), Some(Imbalance::Tasks(tasks)));
        }
    }
}

#[test]
fn two_overloaded_groups_even_out_their_load_beyond_imbalance_pct() {
    let at = |here, there| imbalance(true, &group(8, here, 0), &group(8, there, 0), CpuIdleType::Busy);
    // 16 and 24 tasks: both groups have 4 tasks of weight 1024 more or less than the mean of 20.
    assert_eq!(at(16, 24), Some(Imbalance::Load(4 * 1024)));
    // imbalance_pct is 117.
    assert_eq!((at(100, 117), at(100, 118)), (None, Some(Imbalance::Load(9 * 1024))));
    assert_eq!((at(16, 16), at(24, 16)), (None, None));
    // The wider group has more load to give than the narrow group can take.
    let narrow = imbalance(true, &group(1, 2, 0), &group(8, 24, 0), CpuIdleType::Busy);
    assert_eq!(narrow, Some(Imbalance::Load(910)));
}

#[test]
fn a_heavier_group_that_is_not_overloaded_leaves_the_local_groups_room() {
    simulation("xeon-e5-2670v3").with_engine(|engine| {
        let domain = &engine.balance.domains.all[0];
        // Two light tasks on the busiest CPU, and one steady task on a third CPU: the mean of 100, 200 and 1024 is 441.
        let local = Sum { width: 1, number: 1, load: 100, idle: 0 };
        let busiest = Sum { width: 1, number: 2, load: 200, idle: 0 };
        let found = engine.calculate_imbalance(domain, &local, &busiest, || 441 * 1024, CpuIdleType::Busy);
        assert_eq!(found, Some(Imbalance::Load(341)));
    });
}

#[test]
fn periodic_balancing_limits_the_search_by_the_utilisation() {
    simulation("i7-3770").with_engine(|engine| {
        let width = engine.balance.domains.caches[0].width;
        engine.balance.domains.caches[0].scan_limit = 1;
        engine.update_idle_cpu_scan(0, width - 1);
        assert_eq!(engine.balance.domains.caches[0].scan_limit, 1, "the domain is not the cache");
        engine.update_idle_cpu_scan(0, width);
        assert_eq!(engine.balance.domains.caches[0].scan_limit, width + 1, "all CPUs are idle");
        // At 50 % a wake-up scans 8 × (1 − (0.5 × 1.17)²) = 5.3 CPUs and the target. At 86 % it scans no CPU.
        for (util, limit) in [(0, 9), (512, 6), (880, 0), (1024, 0)] {
            engine.balance.domains.caches[0].update_scan_limit(util * 8, 117);
            assert_eq!(engine.balance.domains.caches[0].scan_limit, limit, "utilisation {util}");
        }
    });
}

#[test]
fn an_idle_cpu_evens_out_the_numbers_of_idle_cpus() {
    let at = |local: u64, busiest: u64, idle| {
        imbalance(false, &group(8, 8 - local, local), &group(8, 8 - busiest, busiest), idle)
    };
    for idle in [CpuIdleType::Idle, CpuIdleType::Newidle] {
        assert_eq!(at(8, 2, idle), Some(Imbalance::Tasks(3)));
        assert_eq!(at(4, 2, idle), Some(Imbalance::Tasks(1)));
        assert_eq!((at(3, 2, idle), at(2, 2, idle), at(2, 4, idle)), (None, None, None));
        // A single task stays: the group would only exchange its idle CPU.
        assert_eq!(at(8, 7, idle), None);
    }
    assert_eq!(at(8, 2, CpuIdleType::Busy), None);
}

#[test]
fn a_pair_of_tasks_may_stay_on_its_node() {
    let at =
        |numa, number| imbalance(numa, &group(32, 0, 32), &group(32, number, 32 - number), CpuIdleType::Idle);
    // A difference of up to NUMA_IMBALANCE_MIN tasks stays on a node that is less than a quarter busy.
    assert_eq!((at(true, 2), at(true, 5)), (None, None));
    assert_eq!((at(false, 2), at(false, 5)), (Some(Imbalance::Tasks(1)), Some(Imbalance::Tasks(2))));
    // A greater difference does not stay, and neither does any on a busier node.
    assert_eq!((at(true, 6), at(true, 20)), (Some(Imbalance::Tasks(3)), Some(Imbalance::Tasks(10))));
    let busier = imbalance(true, &group(32, 5, 27), &group(32, 8, 24), CpuIdleType::Idle);
    assert_eq!(busier, Some(Imbalance::Tasks(1)));
}

#[test]
fn overloaded_groups_rank_by_load_and_others_by_idle_cpus() {
    let full = group(8, 9, 0);
    assert!(busier(&full, &group(8, 8, 0)) && !busier(&group(8, 8, 0), &full));
    assert!(busier(&group(8, 20, 0), &full) && !busier(&full, &group(8, 20, 0)) && !busier(&full, &full));
    // Load per CPU counts, not load.
    assert!(busier(&group(2, 4, 0), &group(8, 12, 0)));
    assert!(busier(&group(8, 6, 2), &group(8, 5, 3)) && !busier(&group(8, 5, 3), &group(8, 6, 2)));
    // The same number of idle CPUs: the group with more tasks.
    assert!(busier(&group(8, 7, 2), &group(8, 6, 2)) && !busier(&group(8, 6, 2), &group(8, 6, 2)));
}

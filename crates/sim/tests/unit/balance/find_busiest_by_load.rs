use schedlab_workload::Plan;
use schedlab_workload::library::yielding::Yielding;

use super::{CpuIdleType, GroupStats, GroupType, Imbalance, moves_a_task};
use crate::machine::DomainKind;
use crate::sched::Sum;
use crate::{Config, Simulation};
use crate::{kernel, machine};

/// A group of `width` CPUs with `number` tasks of weight 1024 that never sleep, on as many CPUs as they can use.
fn group(width: u64, number: u64) -> GroupStats {
    let kind = match number.cmp(&width) {
        std::cmp::Ordering::Less => GroupType::HasSpare,
        std::cmp::Ordering::Equal => GroupType::FullyBusy,
        std::cmp::Ordering::Greater => GroupType::Overloaded,
    };
    GroupStats { sum: Sum { width, number, load: 1024 * number, idle: width.saturating_sub(number) }, kind }
}

/// Load that a local group takes from a busiest group between nodes, where `imbalance_pct` is 125. `mean_percent` is the number of
/// tasks of the domain for each CPU, in per cent.
fn load(local: GroupStats, busiest: GroupStats, mean_percent: u64, idle: CpuIdleType) -> Option<u64> {
    let plan = Plan::new(Yielding { tasks: 1, ..Yielding::default() }.program().unwrap()).unwrap();
    let (machine, kernel) = (machine("xeon-e5-2670v3").unwrap(), kernel("linux-4.5").unwrap());
    Simulation::new(machine, kernel, plan, Config::default()).unwrap().with_engine(|engine| {
        let numa =
            engine.balance.domains.all.iter().find(|domain| matches!(domain.kind, DomainKind::Numa(_)));
        let mean = mean_percent * 1024 * 1024 / 100;
        engine.load_imbalance(numa.unwrap(), &local, &busiest, mean, idle).map(|imbalance| match imbalance {
            Imbalance::Load(load) => load,
            other => panic!("{other:?}"),
        })
    })
}

#[test]
fn groups_even_out_to_the_mean_beyond_imbalance_pct() {
    let at = |here, there, idle| load(group(8, here), group(8, there), (here + there) * 100 / 16, idle);
    // 8 and 16 tasks: four tasks above and below the mean of 12.
    assert_eq!(at(8, 16, CpuIdleType::Busy), Some(4 * 1024));
    assert_eq!((at(100, 125, CpuIdleType::Busy), at(16, 8, CpuIdleType::Busy)), (None, None));
    assert!(at(100, 126, CpuIdleType::Busy).is_some());
}

#[test]
fn an_idle_cpu_asks_for_overload_or_two_idle_cpus_more() {
    let at =
        |here, there| load(group(8, here), group(8, there), (here + there) * 100 / 16, CpuIdleType::Idle);
    assert_eq!(at(5, 6), None);
    assert_eq!(at(2, 6), Some(2 * 1024));
    assert!(at(7, 9).is_some());
}

#[test]
fn a_cpu_about_to_idle_takes_from_an_overloaded_group_below_the_mean() {
    // Few CPUs are busy in the domain, so that the mean is less than a task.
    let at = |idle| load(group(1, 0), group(1, 2), 10, idle);
    assert_eq!(at(CpuIdleType::Newidle), Some(1024));
    // The local group is more loaded than the mean.
    let full = |idle| load(group(8, 7), group(8, 10), 50, idle);
    assert_eq!((full(CpuIdleType::Idle), full(CpuIdleType::Busy)), (None, None));
    assert_eq!(full(CpuIdleType::Newidle), Some(1024), "one task");
}

#[test]
fn only_what_is_beyond_the_capacity_leaves_an_overloaded_group() {
    // Tasks of 8 times the usual weight: the load above the mean is more than that of the two tasks beyond the capacity.
    let heavy =
        |number| GroupStats { sum: Sum { load: 8192 * number, ..group(8, number).sum }, ..group(8, number) };
    let found = load(group(8, 9), heavy(10), 500, CpuIdleType::Busy);
    assert_eq!(found, Some(2 * 1024 * 8));
}

#[test]
fn a_task_moves_if_its_group_remains_as_loaded() {
    assert!(moves_a_task(&group(1, 0), &group(1, 2)));
    assert!(moves_a_task(&group(1, 1), &group(1, 2)));
    // Two CPUs with a light and a heavy task would exchange their loads.
    let light = GroupStats { sum: Sum { load: 100, ..group(1, 1).sum }, ..group(1, 1) };
    assert!(moves_a_task(&light, &group(1, 1)));
    let idle = GroupStats { sum: Sum { load: 500, ..group(1, 0).sum }, ..group(1, 0) };
    assert!(!moves_a_task(&idle, &group(1, 1)));
    // A heavy task has only half of two CPUs, so that they have capacity for a task of a CPU with two.
    let with_load = |width, number, load| GroupStats {
        sum: Sum { load, ..group(width, number).sum },
        ..group(width, number)
    };
    assert!(moves_a_task(&with_load(2, 1, 1240), &with_load(1, 2, 1200)));
    assert!(!moves_a_task(&with_load(1, 1, 1240), &with_load(1, 2, 1200)));
}

#[test]
fn several_tasks_count_as_overload_if_siblings_are_preferred_and_the_local_group_has_room() {
    let kind = |local: GroupStats, mut stats: GroupStats, prefer_sibling| {
        stats.mark_overloaded(&local, prefer_sibling);
        stats.kind
    };
    assert_eq!(kind(group(8, 7), group(8, 2), true), GroupType::Overloaded);
    assert_eq!(kind(group(8, 7), group(8, 2), false), GroupType::HasSpare);
    assert_eq!(kind(group(8, 7), group(8, 1), true), GroupType::HasSpare);
    assert_eq!(kind(group(8, 8), group(8, 2), true), GroupType::HasSpare);
}

/// Whether the groups of each domain of CPU 0 spread their tasks, from the narrowest domain on.
fn spread(machine_name: &str, kernel_name: &str, kinds: &[&str]) -> Vec<bool> {
    let plan = Plan::new(Yielding { tasks: 1, ..Yielding::default() }.program().unwrap()).unwrap();
    let (machine, kernel) = (machine(machine_name).unwrap(), kernel(kernel_name).unwrap());
    Simulation::new(machine, kernel, plan, Config::default()).unwrap().with_engine(|engine| {
        let domains = (0..kinds.len()).map(|level| engine.balance.domains.domain(0, level));
        let names: Vec<_> = domains.map(|domain| format!("{:?}", domain.kind)).collect();
        assert!(names.iter().zip(kinds).all(|(name, kind)| name.starts_with(kind)), "{names:?}");
        (0..kinds.len()).map(|level| engine.prefer_sibling(0, level)).collect()
    })
}

#[test]
fn in_4_5_groups_spread_tasks_above_cores_and_nodes_and_since_5_5_above_caches_too() {
    let kinds = ["Smt", "Cache", "Node", "Numa"];
    assert_eq!(spread("epyc-7713", "linux-4.5", &kinds), [false, true, false, true]);
    assert_eq!(spread("epyc-7713", "linux-5.14", &kinds), [false, true, true, true]);
}

#[test]
fn a_cache_that_is_all_of_a_node_counts_as_the_node() {
    let kinds = ["Smt", "Cache", "Numa"];
    for kernel_name in ["linux-4.5", "linux-5.14"] {
        assert_eq!(spread("xeon-e5-2670v3", kernel_name, &kinds), [false, true, true]);
    }
}

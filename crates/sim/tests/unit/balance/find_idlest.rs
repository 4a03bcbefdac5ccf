use schedlab_workload::Plan;
use schedlab_workload::library::yielding::Yielding;

use super::{GroupAverages, GroupStats, GroupType};
use crate::machine::DomainKind;
use crate::sched::Sum;
use crate::{Config, Simulation};
use crate::{kernel, machine};

/// A group of 24 CPUs with `number` tasks of weight 1024 that never sleep.
fn group(number: u64) -> GroupStats {
    let busy = number.min(24);
    let averages = GroupAverages { util: busy * 1024, runnable: number * 1024 };
    let sum = Sum { width: 24, number, load: number * 1024, idle: 24 - busy };
    GroupStats { sum, kind: GroupType::classify(24, number, &averages, 117) }
}

/// Whether a task that is forked on a node with `here` tasks goes to a node with `there` tasks.
fn leaves(kernel_name: &str, here: u64, there: u64) -> bool {
    moves(kernel_name, group(here), group(there))
}

/// Whether a task that is forked in the group `here` goes to the group `there`.
fn moves(kernel_name: &str, here: GroupStats, there: GroupStats) -> bool {
    moves_on("xeon-e5-2670v3", kernel_name, here, there)
}

fn moves_on(machine_name: &str, kernel_name: &str, here: GroupStats, there: GroupStats) -> bool {
    let plan = Plan::new(Yielding { tasks: 1, ..Yielding::default() }.program().unwrap()).unwrap();
    let (machine, kernel) = (machine(machine_name).unwrap(), kernel(kernel_name).unwrap());
    Simulation::new(machine, kernel, plan, Config::default()).unwrap().with_engine(|engine| {
        let groups = [(0, here, true), (1, there, false)];
        let mut domains = engine.balance.domains.all.iter();
        let nodes = domains.find(|domain| matches!(domain.kind, DomainKind::Numa(_))).unwrap();
        engine.find_idlest_group(groups.into_iter(), nodes).is_some()
    })
}

#[test]
fn a_node_keeps_its_children_as_each_kernel_lets_nodes_differ() {
    assert!(leaves("linux-4.5", 1, 0));
    // While it has an idle CPU.
    assert!(!leaves("linux-5.10", 23, 0) && leaves("linux-5.10", 24, 0));
    // Up to a quarter of the 48 CPUs of both nodes.
    assert!(!leaves("linux-5.14", 11, 0) && leaves("linux-5.14", 12, 0));
    // With up to an eighth of the node's 24 CPUs, and a difference of two.
    for kernel_name in ["linux-6.1", "linux-6.12"] {
        assert!(!leaves(kernel_name, 1, 0) && !leaves(kernel_name, 2, 0) && leaves(kernel_name, 3, 2));
    }
    // Eight caches in a node: up to eight tasks.
    let leaves = |here, there| moves_on("epyc-7713", "linux-6.12", group(here), group(there));
    assert!(leaves(4, 0) && !leaves(4, 2) && leaves(8, 7));
}

#[test]
fn before_5_5_load_beyond_half_of_the_imbalance_percentage_decides() {
    // imbalance_pct is 125: the other node gets the task from 112 % of its load on.
    assert!(!leaves("linux-4.5", 10, 10) && !leaves("linux-4.5", 11, 10) && leaves("linux-4.5", 12, 10));
    assert!(leaves("linux-5.14", 13, 12));
}

#[test]
fn since_5_5_a_group_with_more_tasks_than_cpus_gives_its_children_to_a_group_without() {
    // The difference of loads is within 25 %.
    assert!(leaves("linux-5.14", 25, 24) && !leaves("linux-4.5", 25, 24));
    assert!(!leaves("linux-5.14", 24, 25));
    // Both groups are overloaded: loads decide.
    assert!(!leaves("linux-5.14", 27, 25) && leaves("linux-5.14", 50, 30));
}

#[test]
fn since_5_5_a_group_whose_tasks_mostly_sleep_has_spare_capacity() {
    let averages = GroupAverages { util: 24 * 512, runnable: 24 * 1024 };
    let quiet =
        |number| GroupStats { kind: GroupType::classify(24, number, &averages, 117), ..group(number) };
    assert!(moves("linux-5.14", group(26), quiet(26)));
    // Groups with spare capacity are compared by their idle CPUs.
    assert!(!moves("linux-5.14", quiet(30), quiet(24)));
}

#[test]
fn since_5_5_a_full_node_keeps_its_children_if_the_difference_is_a_part_of_one_task() {
    // 1.5 times the load, and a difference of 100 for each CPU, where 17 % of a task are 174.
    let full = |load: u64| GroupStats { sum: Sum { load: load * 24, ..group(30).sum }, ..group(30) };
    assert!(!moves("linux-5.14", full(300), full(200)));
    assert!(moves("linux-5.14", full(450), full(200)));
}

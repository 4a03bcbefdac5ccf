use schedlab_workload::Plan;
use schedlab_workload::library::yielding::Yielding;

use super::GroupLoad;
use crate::machine::DomainKind;
use crate::{Config, Simulation};
use crate::{kernel, machine};

/// A group of 24 CPUs with `number` tasks of weight 1024, each on a CPU of its own.
fn group(index: usize, number: u64) -> GroupLoad {
    GroupLoad { index, width: 24, idle: 24 - number as usize, number, per_cpu: number * 1024 * 1024 / 24 }
}

/// Whether a task that is forked on a node with `here` tasks goes to a node with `there` tasks.
fn leaves(kernel_name: &str, here: u64, there: u64) -> bool {
    let plan = Plan::new(Yielding { tasks: 1, ..Yielding::default() }.program().unwrap()).unwrap();
    let (machine, kernel) = (machine("xeon-e5-2670v3").unwrap(), kernel(kernel_name).unwrap());
    Simulation::new(machine, kernel, plan, Config::default()).unwrap().with_engine(|engine| {
        let groups = [(group(0, here), true), (group(1, there), false)];
        engine.find_idlest_group(groups.into_iter(), DomainKind::Numa(21)).is_some()
    })
}

#[test]
fn a_quiet_node_keeps_its_children_since_5_11_only() {
    for kernel_name in ["linux-5.14", "linux-6.12"] {
        assert!(!leaves(kernel_name, 1, 0) && !leaves(kernel_name, 5, 0) && leaves(kernel_name, 6, 0));
    }
    assert!(leaves("linux-4.5", 1, 0));
}

#[test]
fn before_5_5_load_beyond_half_of_the_imbalance_percentage_decides() {
    // imbalance_pct is 125: the other node gets the task from 112 % of its load on.
    assert!(!leaves("linux-4.5", 10, 10) && !leaves("linux-4.5", 11, 10) && leaves("linux-4.5", 12, 10));
    assert!(leaves("linux-5.14", 11, 10));
}

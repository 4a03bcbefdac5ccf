use schedlab_workload::Plan;
use schedlab_workload::library::yielding::Yielding;

use super::{NOWHERE, Placement, Quality};
use crate::machine::DomainKind;
use crate::sched::Enqueue;
use crate::tasks::Script;
use crate::{Config, Simulation};
use crate::{kernel, machine};

fn placement(running: u32, prefer: u32, settled: u32) -> Placement {
    Placement { running, prefer, settled }
}

#[test]
fn the_worst_placed_task_decides() {
    assert_eq!(placement(3, 2, 2).quality(), Quality::Regular);
    assert_eq!(placement(3, 3, 2).quality(), Quality::Remote);
    assert_eq!(placement(3, 3, 3).quality(), Quality::Settled);
    let mut group = placement(2, 2, 2);
    group.add(&placement(1, 1, 0));
    assert_eq!(group.quality(), Quality::Remote);
}

/// CPUs of node 0 from which a pass over a domain of this kind may take tasks. `tasks` are the CPUs of the tasks on this node, and the
/// tasks' preferred nodes.
fn sources(tasks: &[(usize, u8)], kind: DomainKind, numa_balancing: bool) -> Vec<usize> {
    let plan = Plan::new(Yielding { tasks: 1, ..Yielding::default() }.program().unwrap()).unwrap();
    let (machine, kernel) = (machine("xeon-e5-2670v3").unwrap(), kernel("linux-5.14").unwrap());
    Simulation::new(machine, kernel, plan, Config::default()).unwrap().with_engine(|engine| {
        for (cpu, preferred) in tasks {
            let task = engine.spawn_kernel(*cpu, Script::None);
            engine.numa.members[task as usize].preferred = *preferred;
            engine.activate_task(*cpu, task, Enqueue::New);
        }
        engine.numa.on = numa_balancing;
        let mut domains = engine.balance.domains.all.iter();
        let widest = domains.find(|domain| matches!(domain.kind, DomainKind::Numa(_))).unwrap();
        let node = widest.groups.iter().find(|group| group.span.contains(0)).unwrap();
        engine.worst_placed(node, kind).collect()
    })
}

#[test]
fn passes_between_nodes_take_tasks_of_the_worst_placed_cpus() {
    // Two tasks on their preferred node, a task that prefers the other node, and a task without preference.
    let [settled, also_settled, remote, regular] = [(1, 0), (1, 0), (2, 1), (3, NOWHERE)];
    let between = |tasks: &[(usize, u8)]| sources(tasks, DomainKind::Numa(21), true);
    assert_eq!(between(&[settled, also_settled, remote, regular]), [3]);
    assert_eq!(between(&[settled, also_settled, regular]), [3]);
    assert_eq!(between(&[settled, also_settled, remote]), [2]);
    let all = between(&[settled, also_settled]);
    assert_eq!(all.len(), 24);
    // A CPU with tasks of two kinds is placed as its worst task.
    assert_eq!(between(&[settled, (1, 1), remote]), [1, 2]);
    // Within a node, and without NUMA balancing, all CPUs may give tasks away.
    let tasks = [settled, also_settled, remote, regular];
    assert_eq!(sources(&tasks, DomainKind::Cache, true), all);
    assert_eq!(sources(&tasks, DomainKind::Numa(21), false), all);
}

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

/// Whether a move of a waiting task from node 0 to node 1 degrades its locality, where the task prefers a node and has faults on both.
fn degrades(kernel_name: &str, preferred: u8, faults: [u64; 2], idle: bool) -> Option<bool> {
    let plan = Plan::new(Yielding { tasks: 1, ..Yielding::default() }.program().unwrap()).unwrap();
    let (machine, kernel) = (machine("xeon-e5-2670v3").unwrap(), kernel(kernel_name).unwrap());
    Simulation::new(machine, kernel, plan, Config::default()).unwrap().with_engine(|engine| {
        let [task, other] = [0, 0].map(|cpu| {
            let task = engine.spawn_kernel(cpu, Script::None);
            engine.activate_task(cpu, task, Enqueue::New);
            task
        });
        assert_ne!(task, other);
        let member = &mut engine.numa.members[task as usize];
        for (node, pages) in faults.into_iter().enumerate() {
            member.task_numa_fault(node as u8, pages, true, 2);
        }
        member.task_numa_placement(1, (1, 1), true);
        member.preferred = preferred;
        engine.migrate_degrades_locality(0, 12, task, DomainKind::Numa(21), idle)
    })
}

#[test]
fn in_5_10_and_later_an_idle_cpu_takes_a_task_from_its_memory_but_not_from_its_preferred_node() {
    for (kernel_name, outweighs) in [("linux-4.5", Some(true)), ("linux-5.14", None)] {
        assert_eq!(degrades(kernel_name, NOWHERE, [10, 5], true), outweighs);
        assert_eq!(degrades(kernel_name, NOWHERE, [10, 5], false), Some(true));
        assert_eq!(degrades(kernel_name, NOWHERE, [5, 10], false), Some(false));
        assert_eq!(degrades(kernel_name, 0, [10, 5], true), Some(true), "another task of the queue can move");
        assert_eq!(degrades(kernel_name, 1, [10, 5], true), Some(false));
    }
    assert_eq!(degrades("linux-3.8", NOWHERE, [10, 5], false), None, "this kernel counts no faults of tasks");
}

#[test]
fn a_cpu_outside_of_balancing_places_no_tasks() {
    for (command_line, preferred) in [("", 1), ("isolcpus=0", 0)] {
        let plan = Plan::new(Yielding { tasks: 1, ..Yielding::default() }.program().unwrap()).unwrap();
        let (machine, kernel) = (machine("xeon-e5-2670v3").unwrap(), kernel("linux-5.14").unwrap());
        let config = Config { command_line: command_line.to_owned(), ..Config::default() };
        Simulation::new(machine, kernel, plan, config).unwrap().with_engine(|engine| {
            let task = engine.spawn_kernel(0, Script::None);
            engine.activate_task(0, task, Enqueue::New);
            engine.schedule(0);
            assert_eq!(engine.cpus[0].current, task);
            engine.numa.members[task as usize].preferred = 1;
            engine.task_numa_migrate(0);
            assert_eq!(engine.numa.preferred(task), preferred, "{command_line:?}");
        });
    }
}

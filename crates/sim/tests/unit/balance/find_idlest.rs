use schedlab_workload::Plan;
use schedlab_workload::library::yielding::Yielding;

use super::{GroupAverages, GroupStats, GroupType};
use crate::engine::Engine;
use crate::machine::{CpuMask, DomainKind};
use crate::sched::{Cfs, Enqueue, Sum, TaskIx};
use crate::tasks::Script;
use crate::time::MS;
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
        let mut domains = engine.balance.domains.all.iter();
        let nodes = domains.find(|domain| matches!(domain.kind, DomainKind::Numa(_))).unwrap();
        engine.gets_task(nodes, nodes.numa_limit, &here, &there)
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

/// Call `look` with a new task, and return its result. The task may run on `cpus`, or on all CPUs if `cpus` is empty. One other task
/// runs on each CPU of `busy`.
fn looks<T>(
    kernel_name: &str,
    busy: &[usize],
    cpus: &[usize],
    look: impl FnOnce(&mut Engine<'_, Cfs, ()>, TaskIx) -> T,
) -> T {
    let plan = Plan::new(Yielding { tasks: 1, ..Yielding::default() }.program().unwrap()).unwrap();
    let (machine, kernel) = (machine("xeon-e5-2670v3").unwrap(), kernel(kernel_name).unwrap());
    Simulation::new(machine, kernel, plan, Config::default()).unwrap().with_engine(|engine| {
        for cpu in busy {
            let task = engine.spawn_kernel(*cpu, Script::None);
            engine.activate_task(*cpu, task, Enqueue::New);
        }
        let task = engine.spawn_kernel(0, Script::None);
        let all = *engine.balance.domains.open.mask();
        let allowed: CpuMask = if cpus.is_empty() { all } else { cpus.iter().copied().collect() };
        engine.tasks[task].mask = engine.tasks.mask(&allowed);
        look(engine, task)
    })
}

/// First CPU of the group of the CPU's domain `level` to which a task moves from `here`.
fn target(engine: &Engine<'_, Cfs, ()>, task: TaskIx, here: usize, level: usize) -> Option<usize> {
    let domain = engine.balance.domains.domain(here, level);
    engine.find_idlest_group(domain, here, task)?.span.lowest()
}

#[test]
fn of_equally_idle_groups_the_next_after_the_local_one_gets_the_task() {
    // The cores of a node are CPUs 0 and 24 to 11 and 35.
    for kernel_name in ["linux-4.5", "linux-5.14"] {
        for (here, next) in [(0, 1), (6, 7), (11, 0)] {
            let target = looks(kernel_name, &[here], &[], |engine, task| target(engine, task, here, 1));
            assert_eq!(target, Some(next), "{kernel_name}, core {here}");
        }
    }
}

#[test]
fn since_5_9_the_group_that_was_busy_least_gets_the_task_among_equally_idle_groups() {
    for (kernel_name, next) in [("linux-4.5", 1), ("linux-5.14", 2)] {
        let target = looks(kernel_name, &[0, 1], &[], |engine, task| {
            // The task of CPU 1 runs for a while and sleeps.
            let asleep = engine.rq.pick_next_task(1, None, 0).unwrap();
            engine.time.now = 50 * MS;
            engine.rq.update_load_avg(1, asleep, 50 * MS);
            engine.rq.sleep(1, asleep, 50 * MS);
            engine.rq.sub_nr_running(1);
            engine.rq.mark_idle(1, engine.topology);
            assert!(engine.rq.util(1) > 0);
            engine.rq.update_load(1);
            target(engine, task, 0, 1)
        });
        assert_eq!(target, Some(next), "{kernel_name}");
    }
}

#[test]
fn up_to_6_18_cpus_that_the_task_may_not_use_count() {
    for (kernel_name, number, idle) in [("linux-6.12", 2, 22), ("linux-7.2", 1, 1)] {
        let sum = looks(kernel_name, &[1, 2], &[0, 1], |engine, task| {
            let domain = engine.balance.domains.domain(0, 2);
            let node = domain.groups.iter().find(|group| group.span.contains(0)).unwrap();
            engine.sum_for(task, node).0
        });
        assert_eq!((sum.width, sum.number, sum.idle), (24, number, idle), "{kernel_name}");
    }
    // CPU 25 is an idle sibling of CPU 1, which the task may not use, as CPU 26 is of CPU 2.
    for (kernel_name, cpu) in [("linux-6.12", 1), ("linux-7.2", 26)] {
        let selected =
            looks(kernel_name, &[1, 2], &[1, 2, 26], |engine, task| engine.find_idlest_cpu(1, task));
        assert_eq!(selected, cpu, "{kernel_name}");
    }
}

#[test]
fn a_node_keeps_fewer_tasks_of_a_task_that_may_use_fewer_of_its_cpus() {
    // Three CPUs may have tasks (an eighth of 24), or as many as the task may use.
    let leaves = |cpus: &[usize]| {
        let target = looks("linux-6.12", &[0, 1], cpus, |engine, task| target(engine, task, 0, 2));
        assert!(target.is_none() || target == Some(12));
        target.is_some()
    };
    assert!(!leaves(&[0, 1, 2, 12]) && leaves(&[0, 1, 12]));
}

#[test]
fn since_5_5_a_new_thread_stays_on_or_goes_to_its_preferred_node() {
    // By the number of tasks, 5.14 leaves a node with twelve tasks and stays on a node with one task.
    for (kernel_name, tasks, preferred, node) in [
        ("linux-4.5", 12, Some(0), Some(12)),
        ("linux-5.14", 12, None, Some(12)),
        ("linux-5.14", 12, Some(0), None),
        ("linux-5.14", 1, None, None),
        ("linux-5.14", 1, Some(1), Some(12)),
    ] {
        let busy: Vec<_> = (0..tasks).collect();
        let target = looks(kernel_name, &busy, &[], |engine, task| {
            if let Some(preferred) = preferred {
                engine.numa.prefer(task, preferred);
            }
            target(engine, task, 0, 2)
        });
        assert_eq!(target, node, "{kernel_name}, {tasks} tasks, node {preferred:?}");
    }
}

/// CPU on which a task that is alone on CPU 0 executes a program, where one task runs on each CPU of `busy`.
fn executes_on(machine_name: &str, kernel_name: &str, busy: &[usize], command_line: &str) -> usize {
    let plan = Plan::new(Yielding { tasks: 1, ..Yielding::default() }.program().unwrap()).unwrap();
    let (machine, kernel) = (machine(machine_name).unwrap(), kernel(kernel_name).unwrap());
    let config = Config { command_line: command_line.to_owned(), ..Config::default() };
    Simulation::new(machine, kernel, plan, config).unwrap().with_engine(|engine| {
        for cpu in [&[0], busy].concat() {
            let task = engine.spawn_kernel(cpu, Script::None);
            engine.tasks[task].mask = engine.tasks.mask(&CpuMask::first_cpus(engine.topology.cpus()));
            engine.activate_task(cpu, task, Enqueue::New);
        }
        engine.schedule(0);
        let task = engine.cpus[0].current;
        engine.select_task_rq_exec(0, task)
    })
}

#[test]
fn since_5_5_a_task_that_executes_a_program_does_not_count_on_its_cpu() {
    let cpu = |kernel_name, busy: &[usize]| executes_on("xeon-e5-2670v3", kernel_name, busy, "");
    assert_eq!(cpu("linux-5.14", &[]), 0);
    // The sibling of CPU 0 is busy.
    assert_eq!(cpu("linux-5.14", &[24]), 1);
    // 4.5 counts the task, so that node 1 is idler, and a group without load passes the task on: from CPU 12 to core 13 and thread 37.
    assert_eq!(cpu("linux-4.5", &[]), 37);
}

#[test]
fn on_zen_kernels_since_5_4_spread_tasks_over_the_distance_of_32() {
    let node: Vec<_> = (0..64).chain(128..192).skip(1).collect();
    let spreads = |kernel_name| (64..128).contains(&executes_on("epyc-7713", kernel_name, &node, ""));
    assert!(spreads("linux-5.14") && !spreads("linux-4.5"));
}

#[test]
fn a_task_on_an_isolated_cpu_stays() {
    for kernel_name in ["linux-4.5", "linux-5.14"] {
        assert_eq!(executes_on("xeon-e5-2670v3", kernel_name, &[24], "isolcpus=0,24"), 0);
    }
}

#[test]
fn a_search_continues_in_all_narrower_domains_of_the_selected_cpu() {
    // CPU 0 has no domain of its core, as its sibling is isolated. From CPU 12 the search goes to core 13 and to its thread 37, as
    // above.
    assert_eq!(executes_on("xeon-e5-2670v3", "linux-4.5", &[], "isolcpus=24"), 37);
}

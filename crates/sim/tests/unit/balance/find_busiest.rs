use schedlab_workload::Plan;
use schedlab_workload::library::yielding::Yielding;

use super::{Balanced, Comparison, CpuIdleType, GroupStats, GroupType, Imbalance};
use crate::balance::groups::GroupAverages;
use crate::machine::DomainKind;
use crate::sched::{Enqueue, Sum};
use crate::tasks::Script;
use crate::time::SECOND;
use crate::{Config, Simulation};
use crate::{kernel, machine};

const ALL: [CpuIdleType; 3] = [CpuIdleType::Busy, CpuIdleType::Idle, CpuIdleType::Newidle];

/// A group of `width` CPUs with `number` tasks of weight 1024 that never sleep, on as many CPUs as they can use.
fn group(width: u64, number: u64) -> GroupStats {
    let busy = number.min(width);
    let averages = GroupAverages { util: busy * 1024, runnable: number * 1024 };
    let kind = GroupType::classify(width, number, &averages, 117);
    GroupStats { sum: Sum { width, number, load: 1024 * number, idle: width - busy }, kind }
}

/// Imbalance between a local and a busiest group, whose mean is that of both groups, in the widest domain within a node or in the
/// narrowest domain of several nodes.
fn imbalance(numa: bool, local: GroupStats, busiest: GroupStats, idle: CpuIdleType) -> Option<Imbalance> {
    imbalance_of("linux-5.14", numa, local, busiest, idle)
}

fn imbalance_of(
    kernel_name: &str,
    numa: bool,
    local: GroupStats,
    busiest: GroupStats,
    idle: CpuIdleType,
) -> Option<Imbalance> {
    let plan = Plan::new(Yielding { tasks: 1, ..Yielding::default() }.program().unwrap()).unwrap();
    let (machine, kernel) = (machine("kunpeng920").unwrap(), kernel(kernel_name).unwrap());
    Simulation::new(machine, kernel, plan, Config::default()).unwrap().with_engine(|engine| {
        let is_numa = |kind| matches!(kind, DomainKind::Numa(_));
        let domain = engine.balance.domains.all.iter().find(|domain| is_numa(domain.kind) == numa).unwrap();
        let mut both = local.sum;
        both.add(&busiest.sum);
        let local_util = (local.sum.width - local.sum.idle) * 1024;
        let groups = Comparison { local, busiest, mean: both.per_cpu(), local_util, prefer_sibling: numa };
        engine.find_imbalance(domain, &groups, idle)
    })
}

#[test]
fn spare_capacity_of_a_node_takes_as_much_utilisation() {
    for idle in ALL {
        assert_eq!(imbalance(true, group(8, 2), group(8, 11), idle), Some(Imbalance::Util(6 * 1024)));
    }
    // A group whose tasks mostly sleep has no room by its average, but an idle CPU takes a task.
    let no_room = GroupStats { sum: Sum { idle: 0, ..group(8, 7).sum }, ..group(8, 7) };
    let at = |idle| imbalance(true, no_room, group(8, 11), idle);
    assert_eq!(ALL.map(at), [None, Some(Imbalance::Tasks(1)), Some(Imbalance::Tasks(1))]);
}

#[test]
fn few_tasks_stay_on_their_node_as_each_kernel_allows() {
    let spare = |number| GroupStats { kind: GroupType::HasSpare, ..group(32, number) };
    let at = |kernel, here, there| imbalance_of(kernel, true, spare(here), spare(there), CpuIdleType::Idle);
    let tasks = |number| Some(Imbalance::Tasks(number));
    // Half of the difference moves, of which up to two tasks may stay.
    assert_eq!(
        (at("linux-5.10", 0, 2), at("linux-5.10", 0, 3), at("linux-5.10", 0, 4)),
        (None, tasks(1), tasks(2))
    );
    assert_eq!(
        (at("linux-5.14", 0, 5), at("linux-5.14", 4, 9), at("linux-5.14", 0, 7)),
        (None, tasks(2), tasks(3))
    );
    // A difference of two, with up to an eighth of 32 CPUs.
    assert_eq!(
        (at("linux-6.12", 3, 5), at("linux-6.12", 3, 6), at("linux-6.12", 4, 6)),
        (None, tasks(1), tasks(1))
    );
}

#[test]
fn idle_cpu_takes_half_of_the_tasks_of_a_cpu_under_its_cache() {
    for idle in ALL {
        let at = |there| imbalance(false, group(1, 0), group(1, there), idle);
        assert_eq!([2, 3, 4].map(at), [1, 1, 2].map(|tasks| Some(Imbalance::Tasks(tasks))));
    }
    // A CPU with a single task has no waiting task to give away.
    assert_eq!(imbalance(false, group(1, 0), group(1, 1), CpuIdleType::Idle), None);
}

#[test]
fn a_busy_cpu_takes_from_an_overloaded_cpu_beyond_imbalance_pct() {
    let at = |here, there| imbalance(false, group(1, here), group(1, there), CpuIdleType::Busy);
    assert_eq!(at(1, 3), Some(Imbalance::Load(1024)));
    assert_eq!((at(2, 2), at(3, 2)), (None, None));
    // A CPU whose two tasks mostly sleep is not overloaded: a busy CPU leaves them there, an idle CPU does not.
    let quiet = GroupStats { kind: GroupType::HasSpare, ..group(1, 2) };
    let one = GroupStats { kind: GroupType::HasSpare, ..group(1, 1) };
    assert_eq!(imbalance(false, one, quiet, CpuIdleType::Busy), None);
    assert_eq!(imbalance(false, group(1, 0), quiet, CpuIdleType::Newidle), Some(Imbalance::Tasks(1)));
}

#[test]
fn two_overloaded_groups_even_out_their_load_beyond_imbalance_pct() {
    let at = |here, there| imbalance(true, group(8, here), group(8, there), CpuIdleType::Busy);
    // 16 and 24 tasks: both groups have 4 tasks of weight 1024 more or less than the mean of 20.
    assert_eq!(at(16, 24), Some(Imbalance::Load(4 * 1024)));
    // Both groups are overloaded, and imbalance_pct is 117.
    assert_eq!((group(8, 100).kind, group(8, 117).kind), (GroupType::Overloaded, GroupType::Overloaded));
    assert_eq!((at(100, 117), at(100, 118)), (None, Some(Imbalance::Load(9 * 1024))));
    assert_eq!((at(16, 16), at(24, 16)), (None, None));
    // Eight CPUs that are fully busy, and are not overloaded, take load below imbalance_pct.
    assert_eq!(at(8, 9), Some(Imbalance::Load(512)));
}

#[test]
fn a_heavier_group_that_is_not_overloaded_leaves_the_local_groups_room() {
    // Two light tasks on the busiest CPU, and one steady task on a third CPU: the mean of 100, 200 and 1024 is 441.
    let light = |number, load, kind| GroupStats { sum: Sum { width: 1, number, load, idle: 0 }, kind };
    let local = light(1, 100, GroupType::FullyBusy);
    let groups = Comparison {
        local,
        busiest: light(2, 200, GroupType::Overloaded),
        mean: 441 * 1024,
        local_util: 0,
        prefer_sibling: false,
    };
    let plan = Plan::new(Yielding { tasks: 1, ..Yielding::default() }.program().unwrap()).unwrap();
    let (machine, kernel) = (machine("xeon-e5-2670v3").unwrap(), kernel("linux-6.12").unwrap());
    Simulation::new(machine, kernel, plan, Config::default()).unwrap().with_engine(|engine| {
        let domain = &engine.balance.domains.all[0];
        let found = engine.find_imbalance(domain, &groups, CpuIdleType::Busy);
        assert_eq!(found, Some(Imbalance::Load(341)));
    });
}

#[test]
fn nodes_spread_their_tasks_beyond_a_quiet_pair() {
    for idle in ALL {
        let at = |here, there| imbalance(true, group(32, here), group(32, there), idle);
        // A difference of up to NUMA_IMBALANCE_MIN tasks to move stays on a node that is less than a quarter busy.
        assert_eq!((at(0, 2), at(0, 5)), (None, None));
        // A greater difference does not stay, and neither does any on a busier node.
        assert_eq!((at(0, 6), at(0, 20)), (Some(Imbalance::Tasks(3)), Some(Imbalance::Tasks(10))));
        assert_eq!((at(5, 8), at(7, 8)), (Some(Imbalance::Tasks(1)), None));
    }
}

#[test]
fn groups_without_siblings_even_out_their_idle_cpus() {
    let at = |here, there, idle| imbalance(false, group(8, here), group(8, there), idle);
    for idle in [CpuIdleType::Idle, CpuIdleType::Newidle] {
        assert_eq!(at(0, 6, idle), Some(Imbalance::Tasks(3)));
        assert_eq!(at(4, 6, idle), Some(Imbalance::Tasks(1)));
        assert_eq!((at(5, 6, idle), at(6, 6, idle), at(6, 4, idle)), (None, None, None));
        // A single task stays: the group would only exchange its idle CPU.
        assert_eq!(at(0, 1, idle), None);
    }
    assert_eq!(at(0, 6, CpuIdleType::Busy), None);
}

#[test]
fn a_busy_cpu_spreads_tasks_until_6_5_only() {
    let at = |kernel_name: &str, idle| {
        let plan = Plan::new(Yielding { tasks: 1, ..Yielding::default() }.program().unwrap()).unwrap();
        let (machine, kernel) = (machine("kunpeng920").unwrap(), kernel(kernel_name).unwrap());
        Simulation::new(machine, kernel, plan, Config::default()).unwrap().with_engine(|engine| {
            let is_numa = |kind| matches!(kind, DomainKind::Numa(_));
            let domain = engine.balance.domains.all.iter().find(|domain| is_numa(domain.kind)).unwrap();
            let (local, busiest) = (group(32, 10), group(32, 20));
            let groups = Comparison { local, busiest, mean: 0, local_util: 0, prefer_sibling: true };
            engine.find_imbalance(domain, &groups, idle)
        })
    };
    let five = Some(Imbalance::Tasks(5));
    assert_eq!([CpuIdleType::Busy, CpuIdleType::Idle].map(|idle| at("linux-6.1", idle)), [five, five]);
    assert_eq!([CpuIdleType::Busy, CpuIdleType::Idle].map(|idle| at("linux-6.6", idle)), [None, five]);
}

#[test]
fn a_cpu_busy_with_a_single_task_ranks_before_a_short_queue_and_keeps_its_task() {
    let plan = Plan::new(Yielding { tasks: 1, ..Yielding::default() }.program().unwrap()).unwrap();
    let (machine, kernel) = (machine("laptop-4").unwrap(), kernel("linux-5.14").unwrap());
    Simulation::new(machine, kernel, plan, Config::default()).unwrap().with_engine(|engine| {
        assert!(engine.balance.domains.domain(0, 0).single_cpu_groups);
        // Two tasks on CPU 1 and one task on CPU 2, all without any past.
        for cpu in [1, 1, 2] {
            let task = engine.spawn_kernel(cpu, Script::None);
            engine.activate_task(cpu, task, Enqueue::New);
        }
        let short_queue = Ok((1, Imbalance::Tasks(1)));
        assert_eq!(engine.find_busiest(0, 0, CpuIdleType::Idle), short_queue);
        // The task on CPU 2 has been running for a second.
        engine.rq.update_blocked_average(2, SECOND);
        assert_eq!(engine.find_busiest(0, 0, CpuIdleType::Idle), Err(Balanced::Groups));
        // The tasks on CPU 1 have been running, too: the queue is overloaded.
        engine.rq.update_blocked_average(1, SECOND);
        assert_eq!(engine.find_busiest(0, 0, CpuIdleType::Idle), short_queue);
    });
}

#[test]
fn a_pass_reports_whether_it_finds_no_group_or_no_queue() {
    let plan = Plan::new(Yielding { tasks: 1, ..Yielding::default() }.program().unwrap()).unwrap();
    let (machine, kernel) = (machine("xeon-e5-2670v3").unwrap(), kernel("linux-4.5").unwrap());
    Simulation::new(machine, kernel, plan, Config::default()).unwrap().with_engine(|engine| {
        // All CPUs under the cache have a task of weight 900, but CPU 0's core has a single heavier task.
        let domain = engine.balance.domains.domain(0, 1);
        let cpus: Vec<_> = domain.span.mask().iter().collect();
        let [here, there] = [0, 1].map(|cpu| {
            let group = domain.groups.iter().find(|group| group.span.contains(cpu)).unwrap();
            [usize::from(group.cpus[0]), usize::from(group.cpus[1])]
        });
        for cpu in cpus {
            (engine.rq.nr_running[cpu], engine.rq.loads[cpu]) = (1, 900);
        }
        (engine.rq.nr_running[here[1]], engine.rq.loads[here[1]]) = (0, 0);
        engine.rq.loads[here[0]] = 1277;
        // The tasks of a slightly busier core are heavier than the imbalance.
        there.into_iter().for_each(|cpu| engine.rq.loads[cpu] = 1024);
        assert_eq!(engine.find_busiest(0, 1, CpuIdleType::Busy), Err(Balanced::Queues));
        // CPU 0's core is busier than the other cores.
        engine.rq.loads[here[0]] = 2100;
        assert_eq!(engine.find_busiest(0, 1, CpuIdleType::Busy), Err(Balanced::Groups));
    });
}

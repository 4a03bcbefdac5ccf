use super::super::load_avg::TaskLoad;
use super::*;

/// A CPU's load after a time with some tasks of a weight that never sleep.
fn busy(tasks: usize, weight: u64, until: Ns) -> CpuLoad {
    let mut load = CpuLoad::default();
    for _ in 0..tasks {
        load.enqueue(&mut TaskLoad::new(0), weight, 0);
    }
    load.update(until);
    load
}

/// Update the group after a change of a CPU's average.
fn update(group: &mut TaskGroup, cpu: usize, load: &CpuLoad, now: Ns) {
    group.update_tg_load_avg(cpu, load.load(), now);
    group.update_cfs_group(cpu, load.load(), load.weight());
}

/// A group on CPUs with some tasks each, after half a second in which all CPUs counted their loads.
fn group_of(tasks: &[usize]) -> (TaskGroup, Vec<CpuLoad>) {
    let now = 500 * MS;
    let mut group = TaskGroup::new(tasks.len(), true, 4 * MS);
    let loads: Vec<_> = tasks.iter().map(|number| busy(*number, UNIT, now)).collect();
    for _ in 0..2 {
        loads.iter().enumerate().for_each(|(cpu, load)| update(&mut group, cpu, load, now));
    }
    (group, loads)
}

#[test]
fn the_weight_of_one_task_is_divided_in_proportion_to_the_load() {
    let (group, loads) = group_of(&[1, 3]);
    assert_eq!((group.load(0, &loads[0]), group.load(1, &loads[1])), (255, 767));
    // A task has its part of its CPU's share.
    assert_eq!(group.task_h_load(0, UNIT, &loads[0], 500 * MS), 255 * UNIT / (loads[0].load() + 1));
    assert_eq!(group.task_h_load(1, UNIT, &loads[1], 500 * MS), 767 * UNIT / (loads[1].load() + 1));
}

#[test]
fn a_nice_task_alone_on_its_cpu_has_the_load_of_its_share() {
    let mut group = TaskGroup::new(2, true, 4 * MS);
    let (now, nice) = (500 * MS, busy(1, 15, 500 * MS));
    update(&mut group, 0, &nice, now);
    assert!(group.load(0, &nice) > UNIT * 9 / 10, "{}", group.load(0, &nice));
}

#[test]
fn a_load_is_counted_at_most_once_in_a_millisecond_since_6_7() {
    for (limited, counted) in [(true, 1), (false, 2)] {
        let mut group = TaskGroup::new(1, limited, 4 * MS);
        let (one, two) = (busy(1, UNIT, 500 * MS), busy(2, UNIT, 500 * MS));
        update(&mut group, 0, &one, 500 * MS);
        update(&mut group, 0, &two, 500 * MS + 1);
        assert_eq!(group.load, [0, one.load(), two.load()][counted], "limited: {limited}");
        update(&mut group, 0, &two, 502 * MS);
        assert_eq!(group.load, two.load());
    }
}

#[test]
fn a_cpu_that_all_tasks_have_left_has_no_load() {
    let mut load = CpuLoad::default();
    let mut task = TaskLoad::new(0);
    load.enqueue(&mut task, UNIT, 0);
    load.dequeue(&mut task, UNIT, 500 * MS);
    load.detach(&mut task, UNIT, 500 * MS);
    let mut group = TaskGroup::new(1, true, 4 * MS);
    update(&mut group, 0, &load, 500 * MS);
    assert!(load.util() > 1000);
    assert_eq!((group.load(0, &load), group.task_h_load(0, UNIT, &load, 500 * MS)), (0, 0));
}

#[test]
fn loads_of_tasks_are_expressed_in_the_load_of_the_tick_before() {
    let (mut group, loads) = group_of(&[1, 1]);
    let first = group.task_h_load(0, UNIT, &loads[0], 500 * MS);
    let more = busy(3, UNIT, 500 * MS);
    update(&mut group, 0, &more, 502 * MS);
    assert_eq!(group.task_h_load(0, UNIT, &loads[0], 503 * MS), first);
    assert!(group.task_h_load(0, UNIT, &loads[0], 504 * MS) > first);
}

use super::super::load_avg::{TaskLoad, TaskUtil};
use super::*;

const HALF_SECOND: Ns = 500 * MS;

/// A group and the loads of its CPUs.
struct Group {
    group: TaskGroup,
    loads: Vec<CpuLoad>,
}

impl Group {
    fn new(cpus: usize, ratelimit: bool) -> Self {
        Self { group: TaskGroup::new(cpus, ratelimit, 4 * MS), loads: vec![CpuLoad::default(); cpus] }
    }

    /// CPUs with some tasks each, which never sleep, after half a second in which all CPUs counted their loads.
    fn busy(tasks: &[usize]) -> Self {
        let mut group = Self::new(tasks.len(), true);
        for (cpu, number) in tasks.iter().enumerate() {
            (0..*number)
                .for_each(|_| group.enqueue(cpu, &mut TaskLoad::new(0, TaskUtil::Carried(0)), UNIT, 0));
        }
        for _ in 0..2 {
            (0..tasks.len()).for_each(|cpu| group.tick(cpu, HALF_SECOND));
        }
        group
    }

    fn tell(&mut self, cpu: usize, change: Change, now: Ns) {
        let load = &self.loads[cpu];
        self.group.update(cpu, load, change, now);
    }

    fn enqueue(&mut self, cpu: usize, task: &mut TaskLoad, weight: u64, now: Ns) {
        let change = self.loads[cpu].enqueue(task, weight, now);
        self.tell(cpu, change, now);
    }

    /// The task leaves the CPU's queue and its load.
    fn leave(&mut self, cpu: usize, task: &mut TaskLoad, weight: u64, now: Ns) {
        let _ = self.loads[cpu].dequeue(task, weight, now);
        let change = self.loads[cpu].detach(task, weight, now);
        self.tell(cpu, change, now);
    }

    fn tick(&mut self, cpu: usize, now: Ns) {
        let _ = self.loads[cpu].update(now);
        self.tell(cpu, Change::Time, now);
    }

    fn task_h_load(&self, cpu: usize, now: Ns) -> u64 {
        self.group.task_h_load(cpu, UNIT, &self.loads[cpu], now)
    }
}

#[test]
fn the_weight_of_one_task_is_divided_in_proportion_to_the_load() {
    let group = Group::busy(&[1, 3]);
    assert_eq!((group.group.load(0), group.group.load(1)), (256, 768));
    // A task has its part of its CPU's share.
    for (cpu, load) in [(0, 256), (1, 768)] {
        let expected = load * UNIT / (group.loads[cpu].load() + 1);
        assert_eq!(group.task_h_load(cpu, HALF_SECOND), expected);
    }
}

#[test]
fn a_nice_task_alone_on_its_cpu_has_the_load_of_its_share() {
    let mut group = Group::new(2, true);
    group.enqueue(0, &mut TaskLoad::new(0, TaskUtil::Carried(0)), 15, 0);
    group.tick(0, HALF_SECOND);
    assert!(group.group.load(0) > UNIT * 9 / 10, "{}", group.group.load(0));
}

#[test]
fn a_load_is_counted_at_most_once_in_a_millisecond_since_6_7() {
    for ratelimit in [true, false] {
        let mut group = Group::new(1, ratelimit);
        group.enqueue(0, &mut TaskLoad::new(HALF_SECOND, TaskUtil::Carried(0)), UNIT, HALF_SECOND);
        let one = group.group.load;
        group.enqueue(0, &mut TaskLoad::new(HALF_SECOND, TaskUtil::Carried(0)), UNIT, HALF_SECOND + 1);
        assert_eq!(group.group.load > one, !ratelimit);
        group.tick(0, HALF_SECOND + 2 * MS);
        assert!(group.group.load > one);
    }
}

#[test]
fn a_cpu_that_all_tasks_have_left_has_no_load() {
    let (mut group, mut task) = (Group::new(1, true), TaskLoad::new(0, TaskUtil::Carried(0)));
    group.enqueue(0, &mut task, UNIT, 0);
    group.leave(0, &mut task, UNIT, HALF_SECOND);
    assert_eq!(group.loads[0].util(), 0);
    assert_eq!((group.group.load(0), group.task_h_load(0, HALF_SECOND)), (0, 0));
}

#[test]
fn a_task_takes_its_load_along_at_once() {
    let mut group = Group::new(2, true);
    let (mut stays, mut moves) =
        (TaskLoad::new(0, TaskUtil::Carried(0)), TaskLoad::new(0, TaskUtil::Carried(0)));
    group.enqueue(0, &mut stays, UNIT, 0);
    group.enqueue(0, &mut moves, UNIT, 0);
    for _ in 0..2 {
        (0..2).for_each(|cpu| group.tick(cpu, HALF_SECOND));
    }
    assert_eq!(group.group.load(1), 0);
    group.leave(0, &mut moves, UNIT, HALF_SECOND);
    group.enqueue(1, &mut moves, UNIT, HALF_SECOND);
    // The task was always runnable, and so is the group on the CPU from now on: the load is the share.
    let share = group.group.shares[1].weight;
    assert!(share > UNIT / 4 && group.group.load(1) + 2 > share, "{} of {share}", group.group.load(1));
    // The other task was always runnable too.
    let share = group.group.shares[0].weight;
    assert!(group.group.load(0) + 2 > share, "{} of {share}", group.group.load(0));
}

#[test]
fn loads_of_tasks_are_expressed_in_the_load_of_the_tick_before() {
    let mut group = Group::busy(&[1, 1]);
    let h_load = |group: &Group, now| {
        let _ = group.task_h_load(0, now);
        group.group.shares[0].h_load.get()
    };
    let first = h_load(&group, HALF_SECOND);
    (0..2).for_each(|_| {
        group.enqueue(0, &mut TaskLoad::new(HALF_SECOND, TaskUtil::Carried(0)), UNIT, HALF_SECOND + 2 * MS)
    });
    assert_eq!(h_load(&group, HALF_SECOND + 3 * MS), first);
    assert!(h_load(&group, HALF_SECOND + 4 * MS) > first);
}

//! The O(1) scheduler and the D7 patches with one queue and a few tasks, against figures computed by hand. A tick is a
//! millisecond.

use schedlab_sim::kernel;
use schedlab_sim::kernel::{Tunable, Tunables};
use schedlab_sim::sched::{Enqueue, O1, Policy, Setting, weight};

const MS: u64 = 1_000_000;
const WAKE: Enqueue = Enqueue::Wake { moved: false, sync: false };
const SYNC: Enqueue = Enqueue::Wake { moved: false, sync: true };

struct Bench {
    policy: O1,
    queue: <O1 as Policy>::Queue,
    all: Vec<<O1 as Policy>::Entity>,
    now: u64,
}

impl Bench {
    /// Create tasks with these nice values, which are not on the queue yet.
    fn new(changes: &[(&str, i64)], nices: &[i32]) -> Self {
        let model = kernel("linux-2.5.59").unwrap();
        let mut tunables = Tunables::new(&model, 1);
        changes.iter().for_each(|(name, value)| tunables.set(name, *value).unwrap());
        let policy = O1::new(&model, &tunables, Setting { cpus: 1, tick_ns: MS });
        let all = nices.iter().map(|nice| policy.entity(weight::of_nice(*nice), *nice, None)).collect();
        Self { policy, queue: Default::default(), all, now: 0 }
    }

    fn enqueue(&mut self, task: u32, how: Enqueue) {
        self.policy.enqueue(&mut self.queue, &mut self.all, task, how, self.now);
    }

    fn pick(&mut self, previous: Option<u32>) -> Option<u32> {
        self.policy.pick_next_task(&mut self.queue, &mut self.all, previous, self.now, |_, _| {})
    }

    /// Call the tick handler `many` times, at intervals of a millisecond. Return whether the last tick requests a reschedule.
    fn ticks(&mut self, current: u32, many: u32) -> bool {
        let mut asks = false;
        for _ in 0..many {
            assert!(!asks, "only the last tick ends a turn");
            self.now += MS;
            asks = self.policy.task_tick(&mut self.queue, &mut self.all, current, self.now);
        }
        asks
    }

    fn block(&mut self, current: u32) {
        self.policy.block(&mut self.queue, &mut self.all, current, self.now);
    }

    fn fork(&mut self, parent: u32, child: u32) {
        self.policy.task_fork(&self.queue, &mut self.all, Some(parent), child, self.now);
    }

    fn preempts(&mut self, current: u32, woken: u32) -> bool {
        self.policy.check_preempt_wakeup(&mut self.queue, &mut self.all, current, woken)
    }

    /// Make a task that has slept for `ms` the current task.
    fn slept(&mut self, task: u32, ms: u64) {
        self.now += ms * MS;
        self.enqueue(task, WAKE);
        assert_eq!(self.pick(None), Some(task));
    }

    fn priority(&self, task: u32) -> u8 {
        self.all[task as usize].priority()
    }

    fn has_expired(&self, task: u32) -> bool {
        self.queue.has_expired(&self.all[task as usize])
    }

    /// Waiting tasks in the order in which balancing visits them.
    fn waiting(&self) -> Vec<u32> {
        let mut tasks = Vec::new();
        O1::waiting(&self.queue, |task| {
            tasks.push(task);
            true
        });
        tasks
    }
}

#[test]
fn slices_go_from_300_ms_at_nice_minus_20_to_10_ms_at_nice_19() {
    // 10 + (300 − 10) × (19 − nice) / 39 in integers: 290 × 19 / 39 = 141, 290 × 9 / 39 = 66.
    let bench = Bench::new(&[], &[-20, 0, 10, 19]);
    let slices: Vec<u32> = bench.all.iter().map(|entity| entity.slice()).collect();
    assert_eq!(slices, [300, 151, 76, 10]);
    // Patch 03: 10 + (200 − 10) × 19 / 39 = 10 + 92.
    let bench = Bench::new(&[("sched.d7.03", 1)], &[-20, 0, 19]);
    let slices: Vec<u32> = bench.all.iter().map(|entity| entity.slice()).collect();
    assert_eq!(slices, [200, 102, 10]);
}

#[test]
fn sleep_average_changes_the_priority_by_minus_five_to_plus_five() {
    // bonus = 40 × 25 × sleep_avg / 2000 / 100 − 5: −5 at 0, 0 from 1000, +1 from 1200, +5 from 2000.
    for (slept, priority) in
        [(0, 125), (999, 121), (1000, 120), (1199, 120), (1200, 119), (2000, 115), (9000, 115)]
    {
        let mut bench = Bench::new(&[], &[0]);
        bench.slept(0, slept);
        assert_eq!(bench.priority(0), priority, "{slept} ms");
        assert_eq!(u64::from(bench.all[0].sleep_avg()), slept.min(2000));
    }
    // The bonus does not leave the range of nice values: 100 at nice −20, 139 at nice 19.
    let mut bench = Bench::new(&[], &[-20]);
    bench.slept(0, 2000);
    assert_eq!(bench.priority(0), 100);
    assert_eq!(Bench::new(&[], &[19]).priority(0), 139);
    // Under patch 03 MAX_SLEEP_AVG is 10 s: 40 × 25 × 2000 / 10000 / 100 − 5 = −3.
    let mut bench = Bench::new(&[("sched.d7.03", 1)], &[0]);
    bench.slept(0, 2000);
    assert_eq!(bench.priority(0), 123);
}

#[test]
fn each_tick_of_run_time_reduces_the_sleep_average_by_a_tick() {
    let mut bench = Bench::new(&[], &[0]);
    bench.slept(0, 1000);
    assert!(!bench.ticks(0, 150));
    assert_eq!((bench.all[0].sleep_avg(), bench.all[0].slice()), (850, 1));
    // The priority changes at the end of the slice: 1000 × 849 / 2000 / 100 − 5 = −1.
    assert_eq!(bench.priority(0), 120);
    assert!(bench.ticks(0, 1));
    assert_eq!((bench.priority(0), bench.all[0].slice()), (121, 151));
}

#[test]
fn expired_task_waits_until_all_other_tasks_have_expired() {
    let mut bench = Bench::new(&[], &[0, 0, 5]);
    (0..3).for_each(|task| bench.enqueue(task, Enqueue::Moved));
    assert_eq!(bench.pick(None), Some(0));
    assert!(bench.ticks(0, 151));
    assert!(bench.has_expired(0));
    assert_eq!(bench.pick(Some(0)), Some(1));
    assert!(bench.ticks(1, 151));
    // Nice 5, the worst priority of all tasks, still runs before the two expired tasks: 10 + 290 × 14 / 39 = 114 ticks.
    assert_eq!(bench.pick(Some(1)), Some(2));
    assert!(bench.ticks(2, 114));
    // The active array is empty: the arrays change places.
    assert_eq!(bench.pick(Some(2)), Some(0));
    assert!((0..3).all(|task| !bench.has_expired(task)));
}

#[test]
fn balancing_visits_expired_tasks_first_and_lists_from_their_tails() {
    let mut bench = Bench::new(&[], &[0, 0, 0, -5]);
    (0..3).for_each(|task| bench.enqueue(task, Enqueue::Moved));
    assert_eq!(bench.pick(None), Some(0));
    assert!(bench.ticks(0, 151));
    assert_eq!(bench.pick(Some(0)), Some(1));
    bench.enqueue(3, Enqueue::Moved);
    bench.policy.dequeue(&mut bench.queue, &mut bench.all, 2, bench.now);
    bench.enqueue(2, Enqueue::Moved);
    // Task 0 has expired; task 3 has a better priority than 2; task 1 runs.
    assert_eq!(bench.waiting(), [0, 3, 2]);
}

#[test]
fn interactive_task_returns_to_the_active_array() {
    // At nice 0 a bonus of 2 is needed, 7 × 200 = 1400 ms of sleep average when the slice of 151 ms is over.
    for (slept, expires) in [(1550, true), (1551, false)] {
        let mut bench = Bench::new(&[], &[0, 0]);
        bench.slept(0, slept);
        assert!(bench.ticks(0, 151));
        assert_eq!(bench.has_expired(0), expires, "{slept} ms");
    }
    // Nice −20 needs −20 × 10 / 40 + 2 = −3, which is 400 ms left after its slice of 300 ms.
    for (slept, expires) in [(699, true), (700, false)] {
        let mut bench = Bench::new(&[], &[-20]);
        bench.slept(0, slept);
        assert!(bench.ticks(0, 300));
        assert_eq!(bench.has_expired(0), expires, "{slept} ms at nice -20");
    }
    // Nice 19 never is interactive: an interactive task needs 19 × 10 / 40 + 2 = 6.
    let mut bench = Bench::new(&[], &[19]);
    bench.slept(0, 2000);
    assert!(bench.ticks(0, 10));
    assert!(bench.has_expired(0));
}

/// Whether the interactive task 1 moves to the expired array `later` ticks after task 0 has expired.
fn starves(changes: &[(&str, i64)], later: u64) -> bool {
    let mut bench = Bench::new(changes, &[0, 0]);
    bench.enqueue(0, Enqueue::Moved);
    assert_eq!(bench.pick(None), Some(0));
    bench.now = 100_000 * MS;
    let slice = bench.all[0].slice();
    assert!(bench.ticks(0, slice));
    let expired_at = bench.now;
    bench.enqueue(1, WAKE);
    assert_eq!(bench.pick(Some(0)), Some(1));
    assert!(!bench.ticks(1, slice - 1));
    bench.now = expired_at + (later - 1) * MS;
    assert!(bench.ticks(1, 1));
    bench.has_expired(1)
}

#[test]
fn interactive_tasks_expire_when_expired_tasks_starve() {
    // Two tasks: 2000 × 2 + 1 ticks.
    assert!(!starves(&[], 4000));
    assert!(starves(&[], 4001));
    // With a limit of 0 expired tasks starve at once; under patch 03 they never starve.
    assert!(starves(&[("sched.starvation_limit_ms", 0)], 200));
    let off = [("sched.d7.03", 1), ("sched.starvation_limit_ms", 0)];
    assert!(!starves(&off, 1_000_000));
    // Patch 03: 30 000 × 2 + 1.
    assert!(!starves(&[("sched.d7.03", 1)], 60_000));
    assert!(starves(&[("sched.d7.03", 1)], 60_001));
}

#[test]
fn child_gets_half_of_its_parents_slice_and_returns_the_rest_at_exit() {
    let mut bench = Bench::new(&[], &[0, 0]);
    bench.slept(0, 1000);
    bench.fork(0, 1);
    // (151 + 1) / 2 and 151 / 2; 95 % and 100 % of the sleep average: 1000 × 950 / 2000 / 100 − 5 = −1.
    assert_eq!((bench.all[1].slice(), bench.all[0].slice()), (76, 75));
    assert_eq!((bench.all[1].sleep_avg(), bench.all[0].sleep_avg()), (950, 1000));
    assert_eq!(bench.priority(1), 121);
    bench.enqueue(1, Enqueue::New);
    // The child ends after 10 ticks of its first slice: 75 + 66. The sleep average of the child is less: (3 × 1000 +
    // 940) / 4.
    bench.block(0);
    assert_eq!(bench.pick(None), Some(1));
    assert!(!bench.ticks(1, 10));
    bench.policy.exit(&mut bench.all, 0, 1);
    assert_eq!((bench.all[0].slice(), bench.all[0].sleep_avg()), (141, 985));
}

#[test]
fn child_that_has_used_its_first_slice_returns_nothing() {
    let mut bench = Bench::new(&[], &[0, 0]);
    bench.slept(0, 0);
    bench.fork(0, 1);
    bench.enqueue(1, Enqueue::New);
    bench.block(0);
    assert_eq!(bench.pick(None), Some(1));
    assert!(bench.ticks(1, 76));
    bench.policy.exit(&mut bench.all, 0, 1);
    assert_eq!(bench.all[0].slice(), 75);
}

#[test]
fn patch_03_leaves_a_child_half_of_the_sleep_average() {
    let mut bench = Bench::new(&[("sched.d7.03", 1)], &[0, 0]);
    bench.slept(0, 4000);
    bench.fork(0, 1);
    // 50 % of 4000; 1000 × 2000 / 10000 / 100 − 5 = −3.
    assert_eq!((bench.all[1].sleep_avg(), bench.priority(1)), (2000, 123));
}

#[test]
fn patch_03_sets_four_tunables_and_can_be_turned_off() {
    let model = kernel("linux-2.5.59").unwrap();
    let mut tunables = Tunables::new(&model, 16);
    let base = tunables.clone();
    tunables.set("sched.d7.03", 1).unwrap();
    for (name, value) in [
        ("sched.max_timeslice_ms", 200),
        ("sched.child_penalty", 50),
        ("sched.max_sleep_avg_ms", 10_000),
        ("sched.starvation_limit_ms", 30_000),
    ] {
        assert_eq!(tunables.get(tunables.check(name, value).unwrap()), value, "{name}");
    }
    tunables.set("sched.d7.03", 0).unwrap();
    for tunable in Tunable::ALL {
        assert_eq!(tunables.get(*tunable), base.get(*tunable), "{}", tunable.name());
    }
}

#[test]
fn a_tunable_set_by_its_own_name_keeps_its_value_under_patch_03_in_every_order() {
    let values = |changes: &[(&str, i64)]| {
        let mut tunables = Tunables::new(&kernel("linux-2.5.59").unwrap(), 16);
        changes.iter().for_each(|(name, value)| tunables.set(name, *value).unwrap());
        Tunable::ALL.iter().map(|tunable| tunables.get(*tunable)).collect::<Vec<_>>()
    };
    let set = [("sched.max_timeslice_ms", 10), ("sched.child_penalty", 95), ("sched.d7.03", 1)];
    let expected = values(&set);
    assert_eq!(expected[Tunable::MaxTimesliceMs as usize], 10);
    // 95 is the kernel's default: a default that is set explicitly also takes precedence.
    assert_eq!(expected[Tunable::ChildPenalty as usize], 95);
    assert_eq!(expected[Tunable::StarvationLimitMs as usize], 30_000);
    for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        assert_eq!(values(&order.map(|index| set[index])), expected, "{order:?}");
    }
    let off = values(&[set[0], set[2], ("sched.d7.03", 0)]);
    assert_eq!(off, values(&[set[0]]), "turning the patch off resets only what the patch has set");
}

#[test]
fn a_better_priority_preempts_and_an_equal_priority_does_not() {
    for (slept, preempts) in [(199, false), (200, true)] {
        // −5 and −4: 1000 × 200 / 2000 / 100.
        let mut bench = Bench::new(&[], &[0, 0]);
        bench.slept(0, 0);
        bench.now = slept * MS;
        bench.enqueue(1, WAKE);
        assert_eq!(bench.preempts(0, 1), preempts, "{slept} ms");
    }
}

#[test]
fn pulled_task_preempts_a_task_of_equal_priority_with_a_shorter_remaining_slice() {
    for (ran, preempts) in [(0, false), (1, true)] {
        let mut bench = Bench::new(&[], &[0, 0]);
        let mut source = Bench::new(&[], &[0, 0]);
        source.enqueue(1, Enqueue::New);
        source.policy.dequeue(&mut source.queue, &mut source.all, 1, 0);
        bench.all[1] = source.all[1].clone();
        bench.slept(0, 0);
        assert!(!bench.ticks(0, ran));
        bench.enqueue(1, Enqueue::Moved);
        assert_eq!(bench.preempts(0, 1), preempts, "after {ran} ticks");
    }
}

#[test]
fn synchronous_wake_up_under_patch_05_has_no_bonus_and_does_not_preempt() {
    let woken = |changes: &[(&str, i64)], how| {
        let mut bench = Bench::new(changes, &[0, 0]);
        bench.slept(0, 0);
        bench.now = 2000 * MS;
        bench.enqueue(1, how);
        (bench.priority(1), bench.all[1].sleep_avg(), bench.preempts(0, 1))
    };
    assert_eq!(woken(&[], SYNC), (115, 2000, true));
    assert_eq!(woken(&[("sched.d7.05", 1)], SYNC), (125, 0, false));
    assert_eq!(woken(&[("sched.d7.05", 1)], WAKE), (115, 2000, true));
    // Even a task of better priority waits until its waker sleeps.
    let mut bench = Bench::new(&[("sched.d7.05", 1)], &[0, -10]);
    bench.slept(0, 0);
    bench.enqueue(1, SYNC);
    assert_eq!((bench.priority(1), bench.preempts(0, 1)), (115, false));
    // Each half of the patch has a switch.
    let off = [("sched.d7.05", 1), ("sched.sync_wakeups", 0)];
    assert_eq!(woken(&off, SYNC), (115, 2000, true));
}

#[test]
fn patch_05_puts_a_child_behind_its_parent_in_the_ring_of_the_parents_list() {
    let forked = |changes: &[(&str, i64)]| {
        let mut bench = Bench::new(changes, &[0, 0, 0]);
        bench.now = 1000 * MS;
        bench.enqueue(0, WAKE);
        bench.enqueue(1, WAKE);
        assert_eq!(bench.pick(None), Some(0));
        bench.fork(0, 2);
        bench.enqueue(2, Enqueue::New);
        bench
    };
    // Without the patch the child has the priority of its sleep average of 950, 121, behind tasks 0 and 1 of 120.
    let mut bench = forked(&[]);
    assert_eq!((bench.priority(0), bench.priority(2)), (120, 121));
    assert!(!bench.preempts(0, 2));
    assert_eq!(bench.waiting(), [1, 2]);
    assert_eq!(bench.pick(Some(0)), Some(0));
    // With the patch it has the parent's priority, and the ring that begins at the parent is 0, 1, 2 (list_add_tail() at the
    // parent). The parent was the first of its list, so that the list is 2, 0, 1, and the child runs when the parent
    // reschedules.
    let mut bench = forked(&[("sched.d7.05", 1)]);
    assert_eq!((bench.priority(0), bench.priority(2)), (120, 120));
    assert_eq!(bench.waiting(), [1, 2], "from the tail: 1, the parent, which runs, 2");
    assert!(bench.preempts(0, 2));
    assert_eq!(bench.pick(Some(0)), Some(2));
    bench.block(2);
    assert_eq!(bench.pick(None), Some(0));
    let bench = forked(&[("sched.d7.05", 1), ("sched.smart_wake_child", 0)]);
    assert_eq!(bench.priority(2), 121);
}

#[test]
fn patch_05_puts_the_child_of_an_expired_parent_into_the_expired_array() {
    let mut bench = Bench::new(&[("sched.d7.05", 1)], &[0, 0, 0]);
    bench.slept(0, 0);
    bench.enqueue(1, Enqueue::Moved);
    assert!(bench.ticks(0, 151));
    bench.fork(0, 2);
    bench.enqueue(2, Enqueue::New);
    assert!(bench.has_expired(2));
    assert_eq!(bench.pick(Some(0)), Some(1));
}

#[test]
fn task_that_yields_waits_for_all_other_tasks() {
    let mut bench = Bench::new(&[], &[-10, 10]);
    bench.slept(0, 0);
    bench.enqueue(1, WAKE);
    bench.policy.yield_task(&mut bench.queue, &mut bench.all, 0, bench.now);
    assert!(bench.has_expired(0));
    assert_eq!(bench.pick(Some(0)), Some(1));
}

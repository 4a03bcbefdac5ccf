//! CFS and EEVDF with one queue and a few tasks, against figures computed by hand.

use schedlab_sim::kernel;
use schedlab_sim::kernel::Tunables;
use schedlab_sim::sched::{Cfs, Eevdf, Enqueue, Policy, Setting, weight};

const MS: u64 = 1_000_000;
const WAKE: Enqueue = Enqueue::Wake { moved: false, sync: false };

/// A policy with its defaults on a machine of one CPU, where tunables are not scaled: CFS has a latency of 6 ms, a minimum of
/// 0.75 ms and a wake-up granularity of 1 ms; EEVDF has a slice of 0.75 ms.
struct Bench<P: Policy> {
    policy: P,
    queue: P::Queue,
    all: Vec<P::Entity>,
}

impl<P: Policy> Bench<P> {
    /// Create tasks with these nice values, which are not on the queue yet.
    fn new(kernel_name: &str, nices: &[i32]) -> Self {
        let model = kernel(kernel_name).unwrap();
        let setting = Setting { cpus: 1, tick_ns: 4 * MS };
        let policy = P::new(&model, &Tunables::new(&model, 1), setting);
        let all = nices.iter().map(|nice| policy.entity(weight::of_nice(*nice), *nice, None)).collect();
        Self { policy, queue: P::Queue::default(), all }
    }

    fn enqueue(&mut self, task: u32, how: Enqueue) {
        self.policy.enqueue(&mut self.queue, &mut self.all, task, how, 0);
    }

    fn pick(&mut self, previous: Option<u32>) -> Option<u32> {
        self.policy.pick_next_task(&mut self.queue, &mut self.all, previous, 0, |_, _| {})
    }

    fn charge(&mut self, current: u32, ns: u64) -> bool {
        self.policy.update_curr(&mut self.queue, &mut self.all, current, ns)
    }

    fn tick(&mut self, current: u32) -> bool {
        self.policy.task_tick(&mut self.queue, &mut self.all, current, 0)
    }

    fn block(&mut self, current: u32) {
        self.policy.block(&mut self.queue, &mut self.all, current, 0);
    }

    fn sleep(&mut self, current: u32) {
        self.policy.sleep(&mut self.queue, &mut self.all, current, 0);
    }

    fn yields(&mut self, current: u32) {
        self.policy.yield_task(&mut self.queue, &mut self.all, current, 0);
    }

    fn preempts(&mut self, current: u32, woken: u32) -> bool {
        self.policy.check_preempt_wakeup(&mut self.queue, &mut self.all, current, woken)
    }
}

#[test]
fn cfs_divides_the_latency_by_weight() {
    // Two tasks of nice 0: each has 6 ms / 2 = 3 ms. The tick ends a longer turn.
    let mut bench = Bench::<Cfs>::new("linux-5.14", &[0, 0]);
    bench.enqueue(0, Enqueue::Moved);
    bench.enqueue(1, Enqueue::Moved);
    assert_eq!(bench.pick(None), Some(0));
    bench.charge(0, 3 * MS);
    assert!(!bench.tick(0));
    bench.charge(0, 1);
    assert!(bench.tick(0));
    // Nice 0 next to nice 5: 6 ms × 1024 / (1024 + 335) = 4520971.3 ns.
    let mut bench = Bench::<Cfs>::new("linux-5.14", &[0, 5]);
    bench.enqueue(0, Enqueue::Moved);
    bench.enqueue(1, Enqueue::Moved);
    assert_eq!(bench.pick(None), Some(0));
    let ideal = 4_520_971;
    bench.charge(0, ideal);
    assert!(!bench.tick(0));
    bench.charge(0, 1);
    assert!(bench.tick(0));
}

#[test]
fn cfs_slices_do_not_shrink_below_the_minimum() {
    // Ten tasks: more than 6 / 0.75 = 8, so the period is 10 × 0.75 ms and each slice 0.75 ms.
    let mut bench = Bench::<Cfs>::new("linux-5.14", &[0; 10]);
    (0..10).for_each(|task| bench.enqueue(task, Enqueue::Moved));
    assert_eq!(bench.pick(None), Some(0));
    bench.charge(0, 750_000);
    assert!(!bench.tick(0));
    bench.charge(0, 1);
    assert!(bench.tick(0));
}

#[test]
fn cfs_places_a_sleeper_half_a_latency_back() {
    let mut bench = Bench::<Cfs>::new("linux-5.14", &[0, 0]);
    bench.enqueue(0, Enqueue::Moved);
    bench.enqueue(1, Enqueue::Moved);
    assert_eq!(bench.pick(None), Some(0));
    bench.block(0);
    // Task 1 runs 100 ms while 0 sleeps; min_vruntime follows to 100 ms. Task 0 wakes at 100 − 6 / 2 = 97 ms.
    assert_eq!(bench.pick(None), Some(1));
    bench.charge(1, 100 * MS);
    bench.enqueue(0, WAKE);
    assert_eq!(bench.all[0].vruntime(), 97 * MS as i64);
    // A short sleep does not change the virtual time: task 0 runs to 98.9 ms, sleeps, and wakes at 98.9 ms.
    assert_eq!(bench.pick(Some(1)), Some(0));
    bench.charge(0, 1_900_000);
    bench.block(0);
    bench.enqueue(0, WAKE);
    assert_eq!(bench.all[0].vruntime(), 98_900_000);
}

#[test]
fn cfs_preempts_one_nanosecond_beyond_the_wakeup_granularity() {
    for (ahead, preempts) in [(MS, false), (MS + 1, true)] {
        let mut bench = Bench::<Cfs>::new("linux-5.14", &[0, 0]);
        bench.enqueue(0, Enqueue::Moved);
        bench.enqueue(1, Enqueue::Moved);
        assert_eq!(bench.pick(None), Some(0));
        bench.charge(0, ahead);
        assert_eq!(bench.preempts(0, 1), preempts, "{ahead} ns ahead");
    }
    // The granularity is in the woken task's virtual time: nice 5 needs 1 ms × 1024 / 335 = 3 056 716 ns.
    for (ahead, preempts) in [(3_056_716, false), (3_056_717, true)] {
        let mut bench = Bench::<Cfs>::new("linux-5.14", &[0, 5]);
        bench.enqueue(0, Enqueue::Moved);
        bench.enqueue(1, Enqueue::Moved);
        assert_eq!(bench.pick(None), Some(0));
        bench.charge(0, ahead);
        assert_eq!(bench.preempts(0, 1), preempts, "{ahead} ns ahead");
    }
}

#[test]
fn cfs_keeps_a_moved_tasks_distance_from_its_queue() {
    let mut bench = Bench::<Cfs>::new("linux-5.14", &[0, 0, 0]);
    (0..3).for_each(|task| bench.enqueue(task, Enqueue::Moved));
    assert_eq!(bench.pick(None), Some(0));
    bench.charge(0, 10 * MS);
    assert_eq!(bench.pick(Some(0)), Some(1));
    bench.charge(1, 2 * MS);
    // min_vruntime is 0 (task 2 has not run). Task 0 is 10 ms ahead of min_vruntime, also on a queue whose min_vruntime
    // is 50 ms.
    bench.policy.dequeue(&mut bench.queue, &mut bench.all, 0, 0);
    assert_eq!(bench.all[0].vruntime(), 10 * MS as i64);
    let mut other = Bench::<Cfs>::new("linux-5.14", &[0, 0, 0]);
    other.enqueue(1, Enqueue::Moved);
    assert_eq!(other.pick(None), Some(1));
    other.charge(1, 50 * MS);
    other.all[0] = bench.all[0].clone();
    other.enqueue(0, Enqueue::Moved);
    assert_eq!(other.all[0].vruntime(), 60 * MS as i64);
}

#[test]
fn eevdf_runs_the_eligible_task_with_the_earliest_deadline() {
    let mut bench = Bench::<Eevdf>::new("linux-6.12", &[0, 0, 0]);
    (0..3).for_each(|task| bench.enqueue(task, WAKE));
    // All tasks begin at V = 0 with deadlines at 0.75 ms; the first task runs.
    assert_eq!(bench.pick(None), Some(0));
    assert!(!bench.charge(0, 749_999));
    // The slice is over: a new deadline at 0.75 + 0.75 ms, and its turn ends.
    assert!(bench.charge(0, 1));
    assert_eq!((bench.all[0].vruntime(), bench.all[0].deadline()), (750_000, 1_500_000));
    assert_eq!(bench.pick(Some(0)), Some(1));
    // Task 1 sleeps at once, with v = 0 and V = 750000 / 3 = 250000: its lag is 250000.
    bench.block(1);
    // Tasks 0 (v = 750000) and 2 (v = 0) remain: V = 375000. Only task 2 is eligible.
    assert_eq!(bench.pick(None), Some(2));
    // Task 1 wakes while 2 runs, with V = 375000. Task 1 is placed so that its lag is 250000 with its weight included
    // in V: 250000 × 3 / 2 = 375000, so v = 375000 − 375000 = 0, deadline 750000, and V = 750000 / 3 again.
    bench.enqueue(1, WAKE);
    assert_eq!((bench.all[1].vruntime(), bench.all[1].deadline()), (0, 750_000));
}

#[test]
fn eevdf_lets_an_eligible_current_task_run_to_its_deadline() {
    let mut bench = Bench::<Eevdf>::new("linux-6.12", &[0, 0, 0]);
    bench.enqueue(0, WAKE);
    assert_eq!(bench.pick(None), Some(0));
    bench.charge(0, 500_000);
    // The new task is placed at V = 500000 with a later deadline: it does not preempt, with or without RUN_TO_PARITY.
    bench.enqueue(1, WAKE);
    assert_eq!(bench.all[1].deadline(), 1_250_000);
    assert!(!bench.preempts(0, 1));
    // Task 2, of four times the weight, is also placed at V, with a deadline before the current task's deadline. The current
    // task is eligible (v = V) and therefore protected.
    bench.all[2] = bench.policy.entity(4096, 0, None);
    bench.enqueue(2, WAKE);
    assert_eq!(bench.all[2].deadline(), 687_500);
    assert!(!bench.preempts(0, 2));
    // The end of its slice ends the protection: tasks 1 and 2 have v = 500000 < V, and 2 the earlier deadline.
    assert!(bench.charge(0, 250_000));
    assert_eq!(bench.pick(Some(0)), Some(2));
}

#[test]
fn eevdf_does_not_protect_a_task_that_is_not_eligible() {
    let mut bench = Bench::<Eevdf>::new("linux-6.12", &[0, 0]);
    bench.enqueue(0, WAKE);
    bench.enqueue(1, WAKE);
    assert_eq!(bench.pick(None), Some(0));
    bench.charge(0, 200_000);
    // A single task is eligible at any v. With task 1 (v = 0) V is 100000, and task 0 is not eligible, 550 µs before its
    // deadline. Ticks do not check eligibility in this case, but a wake-up does.
    assert!(!bench.charge(0, 100_000));
    assert!(bench.preempts(0, 1));
    assert_eq!(bench.pick(Some(0)), Some(1));
}

#[test]
fn eevdf_lets_a_shorter_slice_preempt() {
    let mut bench = Bench::<Eevdf>::new("linux-6.12", &[0, 0]);
    bench.all[1] = bench.policy.entity(1024, 0, Some(100_000));
    bench.enqueue(0, WAKE);
    assert_eq!(bench.pick(None), Some(0));
    bench.charge(0, 500_000);
    // Placed at V = 500000 with a deadline at 600000, before the current task's 750000, and eligible.
    bench.enqueue(1, WAKE);
    assert!(bench.preempts(0, 1));
    assert_eq!(bench.pick(Some(0)), Some(1));
}

#[test]
fn eevdf_limits_lag_to_two_slices() {
    let mut bench = Bench::<Eevdf>::new("linux-6.12", &[0, 0]);
    bench.enqueue(0, WAKE);
    bench.enqueue(1, WAKE);
    assert_eq!(bench.pick(None), Some(0));
    // Task 0 runs 20 ms without a reschedule: V = 10 ms. The lag of −10 ms is limited to a tick, 4 ms, which is longer
    // than two slices. With only task 1 (v = 0) on the queue it wakes at V + 4 × 2 / 1 = 0 + 8 ms.
    bench.charge(0, 20 * MS);
    bench.block(0);
    assert_eq!(bench.pick(None), Some(1));
    bench.enqueue(0, WAKE);
    assert_eq!(bench.all[0].vruntime(), 8 * MS as i64);
}

/// Task 0 sleeps with negative lag, after 600 µs of its 750 µs next to task 1, which has not run: v = 600000 > V =
/// 300000. Then task 1 runs.
fn with_a_delayed_sleeper() -> Bench<Eevdf> {
    let mut bench = Bench::<Eevdf>::new("linux-6.12", &[0, 0]);
    bench.enqueue(0, WAKE);
    bench.enqueue(1, WAKE);
    assert_eq!(bench.pick(None), Some(0));
    bench.charge(0, 600_000);
    bench.sleep(0);
    assert!(Eevdf::sched_delayed(&bench.all[0]));
    assert_eq!(bench.pick(None), Some(1));
    bench
}

#[test]
fn eevdf_dequeues_a_delayed_sleeper_when_it_would_be_chosen() {
    let mut bench = with_a_delayed_sleeper();
    // At the end of 1's slice V = (600000 + 750000) / 2 = 675000: task 1 is not eligible. Task 0 is eligible and leaves
    // the queue, without its positive lag of 75000.
    assert!(bench.charge(1, 750_000), "a delayed task competes");
    assert_eq!(bench.pick(Some(1)), Some(1));
    assert!(!Eevdf::sched_delayed(&bench.all[0]));
    bench.charge(1, 50_000);
    bench.enqueue(0, WAKE);
    assert_eq!((bench.all[0].vruntime(), bench.all[0].deadline()), (800_000, 1_550_000));
}

#[test]
fn eevdf_keeps_the_place_of_a_delayed_sleeper_that_wakes_with_negative_lag() {
    let mut bench = with_a_delayed_sleeper();
    // V = (600000 + 200000) / 2 = 400000: the lag is −200000.
    bench.charge(1, 200_000);
    bench.enqueue(0, WAKE);
    assert_eq!((bench.all[0].vruntime(), bench.all[0].deadline()), (600_000, 750_000));
    assert!(!Eevdf::sched_delayed(&bench.all[0]));
    assert!(!bench.preempts(1, 0));
}

#[test]
fn eevdf_drops_the_positive_lag_of_a_delayed_sleeper_that_wakes() {
    let mut bench = with_a_delayed_sleeper();
    // A tick updates task 1: V = (600000 + 700000) / 2 = 650000. The lag of 50000 is dropped, and task 0 is placed at the
    // V of task 1 alone, 700000.
    bench.charge(1, 700_000);
    bench.tick(1);
    bench.enqueue(0, WAKE);
    assert_eq!((bench.all[0].vruntime(), bench.all[0].deadline()), (700_000, 1_450_000));
    assert!(!bench.preempts(1, 0), "1 is as far, and so eligible and protected");
}

#[test]
fn eevdf_lets_a_delayed_sleeper_preempt_a_waker_that_has_run_since_its_last_update() {
    let mut bench = with_a_delayed_sleeper();
    // No tick: the last updated v of task 1 is 0, so task 0 has a lag of −300000 and stays at 600000. Then task 1 is
    // updated to 700000, and V = 650000: task 1 is not eligible.
    bench.charge(1, 700_000);
    bench.enqueue(0, WAKE);
    assert_eq!((bench.all[0].vruntime(), bench.all[0].deadline()), (600_000, 750_000));
    assert!(bench.preempts(1, 0));
    assert_eq!(bench.pick(Some(1)), Some(0));
}

#[test]
fn eevdf_dequeues_a_sleeper_with_positive_lag_at_once() {
    let mut bench = Bench::<Eevdf>::new("linux-6.12", &[0, 0]);
    bench.enqueue(0, WAKE);
    bench.enqueue(1, WAKE);
    assert_eq!(bench.pick(None), Some(0));
    bench.sleep(0);
    assert!(!Eevdf::sched_delayed(&bench.all[0]));
}

#[test]
fn eevdf_ignores_a_yield_beside_delayed_sleepers_only() {
    // A yield ends the slice in favour of tasks that can run; a delayed sleeper cannot.
    let mut bench = with_a_delayed_sleeper();
    bench.charge(1, 200_000);
    bench.yields(1);
    assert_eq!(bench.all[1].deadline(), 750_000);
    bench.enqueue(0, WAKE);
    bench.yields(1);
    assert_eq!(bench.all[1].deadline(), 750_000 + 750_000);
}

//! CFS and EEVDF by hand: one queue, a few tasks, exact numbers.

use schedlab_sim::kernel;
use schedlab_sim::kernel::Tunables;
use schedlab_sim::sched::{Cfs, Eevdf, Enqueue, Policy, Setting, weight};

const MS: u64 = 1_000_000;
const WAKE: Enqueue = Enqueue::Wake { moved: false, sync: false };

/// A policy with its defaults on a machine of one CPU, where nothing is scaled: CFS has a latency of 6 ms, a minimum of
/// 0.75 ms and a wake-up granularity of 1 ms; EEVDF has a slice of 0.75 ms.
struct Bench<P: Policy> {
    policy: P,
    queue: P::Queue,
    all: Vec<P::Entity>,
}

impl<P: Policy> Bench<P> {
    /// Tasks of these nice values, not yet on the queue.
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
        self.policy.pick_next_task(&mut self.queue, &mut self.all, previous, 0)
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

    fn preempts(&mut self, current: u32, woken: u32) -> bool {
        self.policy.check_preempt(&mut self.queue, &mut self.all, current, woken)
    }
}

#[test]
fn cfs_divides_the_latency_by_weight() {
    // Two tasks of nice 0: 6 ms / 2 = 3 ms each. The tick ends a turn that is longer.
    let mut bench = Bench::<Cfs>::new("linux-5.14", &[0, 0]);
    bench.enqueue(0, Enqueue::Moved);
    bench.enqueue(1, Enqueue::Moved);
    assert_eq!(bench.pick(None), Some(0));
    bench.charge(0, 3 * MS);
    assert!(!bench.tick(0));
    bench.charge(0, 1);
    assert!(bench.tick(0));
    // Nice 0 beside nice 5: 6 ms × 1024 / (1024 + 335) = 4520971.3 ns.
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
    // Ten tasks: more than 6 / 0.75 = 8, so the period is 10 × 0.75 ms and each gets 0.75 ms.
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
    // Task 1 runs 100 ms while 0 sleeps; min_vruntime follows to 100 ms. 0 comes back at 100 − 6 / 2 = 97 ms.
    assert_eq!(bench.pick(None), Some(1));
    bench.charge(1, 100 * MS);
    bench.enqueue(0, WAKE);
    assert_eq!(bench.all[0].vruntime(), 97 * MS as i64);
    // One that has slept less than that keeps its time: 0 runs on to 98.9 ms, sleeps, and wakes at the same.
    assert_eq!(bench.pick(Some(1)), Some(0));
    bench.charge(0, 1_900_000);
    bench.block(0);
    bench.enqueue(0, WAKE);
    assert_eq!(bench.all[0].vruntime(), 98_900_000);
}

#[test]
fn cfs_preempts_at_a_wakeup_granularity_and_one_nanosecond() {
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
    // min_vruntime is 0 (task 2 has not run); task 0 is 10 ms ahead of it, and so it is on a queue that is at 50 ms.
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
    // All begin at V = 0 with deadlines at 0.75 ms; the first of them runs.
    assert_eq!(bench.pick(None), Some(0));
    assert!(!bench.charge(0, 749_999));
    // Its slice is over: a new deadline at 0.75 + 0.75 ms, and its turn ends.
    assert!(bench.charge(0, 1));
    assert_eq!((bench.all[0].vruntime(), bench.all[0].deadline()), (750_000, 1_500_000));
    assert_eq!(bench.pick(Some(0)), Some(1));
    // 1 sleeps at once, with v = 0 and V = 750000 / 3 = 250000: its lag is 250000.
    bench.block(1);
    // 0 (v = 750000) and 2 (v = 0) are left: V = 375000. Only 2 is eligible.
    assert_eq!(bench.pick(None), Some(2));
    // 1 comes back. 2 runs on: V stays 375000 at its 0. Placed so that its lag is 250000 with its own weight counted in:
    // 250000 × 3 / 2 = 375000, so v = 375000 − 375000 = 0, deadline 750000, and V = 750000 / 3 again.
    bench.enqueue(1, WAKE);
    assert_eq!((bench.all[1].vruntime(), bench.all[1].deadline()), (0, 750_000));
}

#[test]
fn eevdf_lets_an_eligible_current_task_run_to_its_deadline() {
    let mut bench = Bench::<Eevdf>::new("linux-6.12", &[0, 0, 0]);
    bench.enqueue(0, WAKE);
    assert_eq!(bench.pick(None), Some(0));
    bench.charge(0, 500_000);
    // The newcomer is placed at V = 500000 and has its deadline later: no reason to preempt, with or without parity.
    bench.enqueue(1, WAKE);
    assert_eq!(bench.all[1].deadline(), 1_250_000);
    assert!(!bench.preempts(0, 1));
    // 2, of four times the weight, is placed at V too, with its deadline before the current task's, which is eligible
    // (v = V) and so protected.
    bench.all[2] = bench.policy.entity(4096, 0, None);
    bench.enqueue(2, WAKE);
    assert_eq!(bench.all[2].deadline(), 687_500);
    assert!(!bench.preempts(0, 2));
    // The end of its slice ends the protection: 1 and 2 have v = 500000 < V, and 2 the earlier deadline.
    assert!(bench.charge(0, 250_000));
    assert_eq!(bench.pick(Some(0)), Some(2));
}

#[test]
fn eevdf_protects_nobody_who_is_not_eligible() {
    let mut bench = Bench::<Eevdf>::new("linux-6.12", &[0, 0]);
    bench.enqueue(0, WAKE);
    bench.enqueue(1, WAKE);
    assert_eq!(bench.pick(None), Some(0));
    bench.charge(0, 200_000);
    // Alone it is eligible wherever it is; with 1 (v = 0) beside it V = 100000, and it is not, 550 µs before its deadline.
    // No tick asks for that, but a wake-up does.
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
    // 0 runs 20 ms without a reschedule: V = 10 ms. Its lag of −10 ms is cut to that of a tick, 4 ms, which is longer
    // than two slices. Alone with 1 (v = 0) it comes back at V + 4 × 2 / 1 = 0 + 8 ms.
    bench.charge(0, 20 * MS);
    bench.block(0);
    assert_eq!(bench.pick(None), Some(1));
    bench.enqueue(0, WAKE);
    assert_eq!(bench.all[0].vruntime(), 8 * MS as i64);
}

/// 0 has run for 600 µs of its 750 µs beside 1, which has not run, and sleeps: v = 600000 > V = 300000. 1 runs then.
fn with_a_sleeper_in_debt() -> Bench<Eevdf> {
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
fn eevdf_lets_a_sleeper_in_debt_leave_when_it_would_be_chosen() {
    let mut bench = with_a_sleeper_in_debt();
    // At the end of 1's slice V = (600000 + 750000) / 2 = 675000: 1 is not eligible, and 0, which is, leaves. Its credit of
    // 75000 is lost.
    assert!(bench.charge(1, 750_000), "one that lingers competes");
    assert_eq!(bench.pick(Some(1)), Some(1));
    assert!(!Eevdf::sched_delayed(&bench.all[0]));
    bench.charge(1, 50_000);
    bench.enqueue(0, WAKE);
    assert_eq!((bench.all[0].vruntime(), bench.all[0].deadline()), (800_000, 1_550_000));
}

#[test]
fn eevdf_wakes_a_lingering_sleeper_where_it_is_while_it_is_in_debt() {
    let mut bench = with_a_sleeper_in_debt();
    // V = (600000 + 200000) / 2 = 400000: 200000 to go.
    bench.charge(1, 200_000);
    bench.enqueue(0, WAKE);
    assert_eq!((bench.all[0].vruntime(), bench.all[0].deadline()), (600_000, 750_000));
    assert!(!Eevdf::sched_delayed(&bench.all[0]));
    assert!(!bench.preempts(1, 0));
}

#[test]
fn eevdf_wakes_a_lingering_sleeper_without_its_credit() {
    let mut bench = with_a_sleeper_in_debt();
    // A tick brings 1 up to date: V = (600000 + 700000) / 2 = 650000, a credit of 50000, which is lost: 0 is placed at the
    // V of 1 alone, 700000.
    bench.charge(1, 700_000);
    bench.tick(1);
    bench.enqueue(0, WAKE);
    assert_eq!((bench.all[0].vruntime(), bench.all[0].deadline()), (700_000, 1_450_000));
    assert!(!bench.preempts(1, 0), "1 is as far, and so eligible and protected");
}

#[test]
fn eevdf_lets_a_lingering_sleeper_preempt_a_waker_that_has_run_since_it_was_last_looked_at() {
    let mut bench = with_a_sleeper_in_debt();
    // No tick: 1 is known to stand at 0, so 0 has a debt of 300000 and stays at 600000. Then 1 is brought up to date, to
    // 700000, and V = 650000: 1 is not eligible.
    bench.charge(1, 700_000);
    bench.enqueue(0, WAKE);
    assert_eq!((bench.all[0].vruntime(), bench.all[0].deadline()), (600_000, 750_000));
    assert!(bench.preempts(1, 0));
    assert_eq!(bench.pick(Some(1)), Some(0));
}

#[test]
fn eevdf_lets_a_sleeper_with_credit_leave_at_once() {
    let mut bench = Bench::<Eevdf>::new("linux-6.12", &[0, 0]);
    bench.enqueue(0, WAKE);
    bench.enqueue(1, WAKE);
    assert_eq!(bench.pick(None), Some(0));
    bench.sleep(0);
    assert!(!Eevdf::sched_delayed(&bench.all[0]));
}

use super::super::load_avg::TaskLoad;
use super::*;
use crate::kernel::{Tunables, kernel};
use crate::machine::machine;
use crate::sched::{Eevdf, Setting};
use crate::time::MS;

/// The runqueues of a 6.12 on which task 0 has run for 2 ms beside task 1, and sleeps with negative lag: it is still in its
/// queue. Task 1 runs.
fn with_a_delayed_sleeper() -> Runqueues<Eevdf> {
    let (topology, model) =
        (Topology::new(&machine("xeon-e5-2670v3").unwrap()), kernel("linux-6.12").unwrap());
    let policy = Eevdf::new(&model, &Tunables::new(&model, 1), Setting { cpus: 1, tick_ns: 4 * MS });
    let open = CpuMask::first_cpus(topology.cpus());
    let mut rq = Runqueues::new(policy, CpuLoadKind::Average, &topology, open);
    for task in 0..2 {
        rq.set_entity(task, rq.policy.entity(weight::UNIT as u32, 0, None), TaskLoad::default());
        rq.enqueue(0, task, Enqueue::New, 0);
    }
    assert_eq!(rq.pick_next_task(0, None, 0), Some(0));
    rq.policy.update_curr(&mut rq.queues[0], &mut rq.entities, 0, 2 * MS);
    rq.sleep(0, 0, 2 * MS);
    assert!(Eevdf::sched_delayed(&rq.entities[0]));
    assert_eq!(rq.pick_next_task(0, None, 2 * MS), Some(1));
    rq
}

/// Average load of task 0 after a wake-up at `now`.
fn load_at(mut rq: Runqueues<Eevdf>, now: Ns) -> u64 {
    rq.enqueue(0, 0, Enqueue::Wake { moved: false, sync: false }, now);
    rq.queued_average(0)
}

/// 33.6 ms of load make half of the unit, from nothing.
const HALF: std::ops::Range<u64> = 480..512;

#[test]
fn the_load_of_a_sleeper_grows_while_it_is_still_in_its_queue() {
    let mut rq = with_a_delayed_sleeper();
    rq.update_blocked_average(0, 32 * MS);
    // The CPU has the loads of both tasks.
    assert_eq!(rq.cpu_loads[0].weight(), 2 * weight::UNIT);
    assert!((2 * HALF.start..2 * HALF.end).contains(&rq.loads[0]), "{}", rq.loads[0]);
    let load = load_at(rq, 32 * MS);
    assert!(HALF.contains(&load), "{load}");
}

#[test]
fn the_weight_of_a_sleeper_that_wakes_up_in_its_queue_counts_once() {
    let mut rq = with_a_delayed_sleeper();
    rq.enqueue(0, 0, Enqueue::Wake { moved: false, sync: false }, 3 * MS);
    assert_eq!(rq.cpu_loads[0].weight(), 2 * weight::UNIT);
    rq.sleep(0, 1, 3 * MS);
    assert_eq!(rq.pick_next_task(0, None, 3 * MS), Some(0));
    assert_eq!(rq.cpu_loads[0].weight(), weight::UNIT);
}

#[test]
fn the_load_of_a_sleeper_shrinks_from_when_it_leaves_its_queue() {
    let mut rq = with_a_delayed_sleeper();
    // Task 1 has run more than task 0, which is chosen and leaves the queue.
    rq.policy.update_curr(&mut rq.queues[0], &mut rq.entities, 1, 8 * MS);
    assert_eq!(rq.pick_next_task(0, Some(1), 10 * MS), Some(1));
    assert!(!Eevdf::sched_delayed(&rq.entities[0]));
    // Task 1 is left. After 10 ms the average of each task is a fifth of the unit.
    assert_eq!(rq.cpu_loads[0].weight(), weight::UNIT);
    assert!((2 * 190..2 * 208).contains(&rq.loads[0]), "{}", rq.loads[0]);
    // A fifth after 10 ms; 32 ms later half of it.
    let load = load_at(rq, 42 * MS);
    assert!((94..104).contains(&load), "{load}");
}

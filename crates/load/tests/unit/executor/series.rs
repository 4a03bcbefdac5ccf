//! Unit tests of `executor/series.rs`.

use schedlab_workload::library::pipetest::Pipetest;
use schedlab_workload::library::rr::Rr;

use super::Plan;
use crate::executor::arena::Arena;

fn arena(loops: u64, most: u64) -> Arena {
    let plan = Plan::new(Pipetest { loops, ..Pipetest::default() }.program().unwrap()).unwrap();
    let arena = Arena::new(&plan, most).unwrap();
    arena.prefault(plan.task(0));
    arena
}

#[test]
fn all_samples_are_kept_in_order_while_there_is_room() {
    let arena = arena(1000, 1000);
    (0..1000).for_each(|ns| arena.record(0, 0, ns));
    let collected = arena.collect(2, 0);
    assert_eq!(collected.one_in, 1);
    assert_eq!(collected.samples, (0..1000).collect::<Vec<_>>());
}

#[test]
fn a_full_buffer_keeps_a_uniform_selection_in_order() {
    let arena = arena(1 << 20, 1 << 12);
    (0..1 << 20).for_each(|ns| arena.record(0, 0, ns));
    let collected = arena.collect(2, 0);
    assert!(collected.samples.is_sorted());
    assert_eq!((collected.samples.len(), collected.one_in), (1 << 12, 1 << 8));
    let mean = collected.samples.iter().sum::<u64>() as f64 / collected.samples.len() as f64;
    let middle = f64::from(1 << 19);
    assert!((mean - middle).abs() < middle * 0.06, "{mean}");
    // A periodic pattern in the workload does not bias the selection.
    let odd = collected.samples.iter().filter(|ns| **ns % 2 == 1).count() as f64;
    assert!((odd / collected.samples.len() as f64 - 0.5).abs() < 0.06);
}

#[test]
fn the_largest_sample_of_all_tasks_is_known_although_it_was_not_kept() {
    let plan = Plan::new(Rr { pairs: 2, ..Rr::default() }.program().unwrap()).unwrap();
    let arena = Arena::new(&plan, 128).unwrap();
    let tasks = plan.task_count();
    let clients: Vec<_> =
        (0..tasks).filter(|task| arena.series.buffer(&arena.mapping, *task, 0).is_some()).collect();
    assert_eq!(arena.collect(tasks, 0).largest, 0);
    for (client, largest) in clients.into_iter().zip([7_000_000, 5_000_000]) {
        (0..1 << 12).for_each(|ns| arena.record(client, 0, ns));
        arena.record(client, 0, largest);
        (0..1 << 12).for_each(|ns| arena.record(client, 0, ns));
    }
    let collected = arena.collect(tasks, 0);
    assert_eq!(collected.largest, 7_000_000);
    assert!(collected.samples.len() <= 128);
}

#[test]
fn tasks_that_kept_different_shares_count_alike() {
    let plan = Plan::new(Rr { pairs: 2, ..Rr::default() }.program().unwrap()).unwrap();
    let arena = Arena::new(&plan, 2 << 12).unwrap();
    plan.tasks().for_each(|task| arena.prefault(task));
    let tasks = plan.task_count();
    let clients: Vec<_> =
        (0..tasks).filter(|task| arena.series.buffer(&arena.mapping, *task, 0).is_some()).collect();
    let [busy, calm] = clients[..] else { panic!("two clients record: {clients:?}") };
    (0..100 << 12).for_each(|_| arena.record(busy, 0, 1));
    (0..10 << 12).for_each(|_| arena.record(calm, 0, 2));
    let collected = arena.collect(tasks, 0);
    let of = |value: u64| collected.samples.iter().filter(|ns| **ns == value).count();
    assert_eq!((of(1), collected.one_in), (1 << 12, 100));
    // The calm client has a tenth of the busy client's samples, with a standard deviation of 19.
    assert!(of(2).abs_diff((1 << 12) / 10) < 100, "{}", of(2));
}

#[test]
fn a_sample_costs_a_full_buffer_no_more_than_one_replacement() {
    let arena = arena(1 << 20, 1 << 8);
    (0..1 << 8).for_each(|ns| arena.record(0, 0, ns));
    for ns in 1 << 8..(1 << 8) + 500 {
        let before = arena.collect(2, 0).samples;
        arena.record(0, 0, ns);
        let after = arena.collect(2, 0).samples;
        assert_eq!(after.len(), before.len());
        let gone = before.iter().filter(|sample| after.binary_search(sample).is_err()).count();
        assert!(gone <= 1, "{gone} samples left the buffer at once");
    }
}

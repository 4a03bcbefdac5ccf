use super::{Budget, DlEntity};

const MS: u64 = 1_000_000;

fn entity(runtime: u64, deadline: u64, period: u64) -> DlEntity {
    let mut entity = DlEntity::new(Budget {
        runtime_ns: runtime * MS,
        deadline_ns: deadline * MS,
        period_ns: period * MS,
    });
    entity.replenish_dl_new_period(0);
    entity
}

#[test]
fn a_task_that_wakes_up_early_keeps_its_deadline_only_if_the_rest_of_its_budget_fits() {
    // 2 of 5 ms left: 4 ms before the deadline they are exactly the bandwidth of 5 in 10 ms.
    for (now, kept) in [(5 * MS, true), (6 * MS - 10_000, true), (6 * MS + 10_000, false), (11 * MS, false)] {
        let mut entity = entity(5, 10, 10);
        entity.runtime = 2 * MS as i64;
        entity.update_dl_entity(now, true);
        let expected = if kept { (10 * MS, 2 * MS as i64) } else { (now + 10 * MS, 5 * MS as i64) };
        assert_eq!((entity.deadline, entity.runtime), expected, "at {now}");
    }
}

#[test]
fn a_constrained_task_keeps_its_deadline_with_a_budget_of_its_density() {
    let mut revised = entity(2, 4, 10);
    revised.update_dl_entity(3 * MS, true);
    assert_eq!((revised.deadline, revised.runtime), (4 * MS, MS as i64 / 2));
    let mut before_4_13 = entity(2, 4, 10);
    before_4_13.update_dl_entity(3 * MS, false);
    assert_eq!((before_4_13.deadline, before_4_13.runtime), (7 * MS, 2 * MS as i64));
}

#[test]
fn an_overrun_costs_whole_periods_and_the_rest_of_a_yielding_task_is_lost() {
    let mut overrun = entity(2, 10, 10);
    (overrun.runtime, overrun.throttled) = (-3 * MS as i64, true);
    overrun.replenish_dl_entity(10 * MS);
    assert_eq!((overrun.deadline, overrun.runtime, overrun.throttled), (30 * MS, MS as i64, false));
    let mut yielded = entity(2, 10, 10);
    (yielded.yielded, yielded.throttled) = (true, true);
    yielded.replenish_dl_entity(10 * MS);
    assert_eq!((yielded.deadline, yielded.runtime), (20 * MS, 2 * MS as i64));
    let mut late = entity(2, 10, 10);
    late.runtime = 0;
    late.replenish_dl_entity(35 * MS);
    assert_eq!((late.deadline, late.runtime), (45 * MS, 2 * MS as i64));
}

#[test]
fn the_timer_of_a_constrained_task_waits_for_the_next_period() {
    let constrained = entity(2, 4, 10);
    assert_eq!([true, false].map(|revised| constrained.dl_next_period(revised)), [10 * MS, 4 * MS]);
}

#[test]
fn times_that_the_kernel_refuses_are_named() {
    let check = |runtime_ns, deadline_ns, period_ns| Budget { runtime_ns, deadline_ns, period_ns }.check();
    assert_eq!(check(1024, 1024, 1024), Ok(()));
    for (runtime, deadline, period) in
        [(1023, MS, MS), (2 * MS, MS, MS), (MS, 2 * MS, MS), (MS, MS, u64::MAX)]
    {
        assert!(check(runtime, deadline, period).is_err_and(|reason| reason.contains("EINVAL")));
    }
}

use super::*;

const SLICE: Ns = 5 * MS;
const PERIOD: Ns = 100 * MS;

/// A quota on four CPUs, whose periods begin at multiples of 100 ms.
fn limited(quota: Ns) -> Bandwidth {
    let mut bandwidth = Bandwidth::new(4, 0);
    bandwidth.set(Some(quota), PERIOD, 0);
    assert_eq!(bandwidth.starts.take(), Some((GroupTimer::Period, PERIOD)));
    bandwidth
}

/// Run on a CPU for `ns`. Return whether the CPU has no time left.
fn run(bandwidth: &mut Bandwidth, cpu: usize, ns: Ns) -> bool {
    bandwidth.account_cfs_rq_runtime(cpu, ns, SLICE, MS)
}

#[test]
fn cpus_take_slices_until_the_pool_is_empty() {
    let mut bandwidth = limited(12 * MS);
    assert!(!run(&mut bandwidth, 0, 1));
    assert!(!run(&mut bandwidth, 1, 1));
    assert_eq!(bandwidth.runtime, 2 * MS - 2, "a slice covers the debt as well");
    assert!(!run(&mut bandwidth, 0, SLICE));
    assert!(run(&mut bandwidth, 0, 3 * MS), "the pool has given its last 2 ms");
    assert!(bandwidth.throttle_cfs_rq(0, MS));
    assert!(!bandwidth.throttle_cfs_rq(1, MS), "CPU 1 still has its slice");
}

#[test]
fn a_refill_pays_debts_in_the_order_of_throttling() {
    let mut bandwidth = limited(6 * MS);
    for (cpu, ran) in [(2, 10 * MS), (0, 4 * MS), (3, 3 * MS)] {
        assert!(run(&mut bandwidth, cpu, ran));
        assert!(bandwidth.throttle_cfs_rq(cpu, MS));
        bandwidth.record_throttle_clock(cpu, MS);
    }
    // CPU 2 has a debt of 4 ms, CPU 0 of 4 ms, and CPU 3 of 3 ms: the refill of 6 ms reaches CPU 2 only.
    assert_eq!(bandwidth.period_timer(PERIOD), [2]);
    bandwidth.unthrottle_cfs_rq(2, PERIOD);
    assert_eq!(bandwidth.throttled_ns, PERIOD - MS);
    assert_eq!(bandwidth.period_timer(2 * PERIOD), [0, 3]);
    assert_eq!((bandwidth.nr_periods, bandwidth.nr_throttled), (2, 2));
}

#[test]
fn a_cpu_without_tasks_returns_all_but_a_millisecond() {
    let mut bandwidth = limited(8 * MS);
    assert!(!run(&mut bandwidth, 0, 1));
    assert!(!run(&mut bandwidth, 1, 1));
    assert!(run(&mut bandwidth, 1, 4 * MS));
    assert!(bandwidth.throttle_cfs_rq(1, MS));
    bandwidth.return_cfs_rq_runtime(0, SLICE, MS);
    assert_eq!((bandwidth.cpus[0].remaining, bandwidth.runtime), (MS as i64, 4 * MS));
    assert_eq!(bandwidth.starts, None, "less than a slice is left until the refill");
    bandwidth.return_cfs_rq_runtime(0, SLICE / 5, MS);
    assert_eq!(bandwidth.starts, None, "nothing is returned twice");
    bandwidth.cpus[0].remaining += 2 * MS as i64;
    bandwidth.return_cfs_rq_runtime(0, SLICE, MS);
    assert_eq!(bandwidth.starts.take(), Some((GroupTimer::Slack, MS + SLACK_PERIOD)));
    assert_eq!(bandwidth.slack_timer(SLICE, MS + SLACK_PERIOD), [1]);
}

#[test]
fn the_timer_stops_when_no_cpu_asks_for_time() {
    let mut bandwidth = limited(8 * MS);
    run(&mut bandwidth, 0, 1);
    assert!(bandwidth.period_timer(PERIOD).is_empty());
    assert_eq!(bandwidth.starts.take(), Some((GroupTimer::Period, 2 * PERIOD)));
    assert!(bandwidth.period_timer(2 * PERIOD).is_empty());
    assert_eq!(bandwidth.starts, None);
    run(&mut bandwidth, 0, 6 * MS);
    let from_phase = bandwidth.starts.take();
    assert!(matches!(from_phase, Some((GroupTimer::Period, at)) if at % PERIOD == 0), "{from_phase:?}");
}

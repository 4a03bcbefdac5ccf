//! Unit tests of `measure.rs`.

use super::{Observed, mean, metrics, quantile};
use crate::library::busyloop::BusyLoop;
use crate::library::pipetest::Pipetest;

#[test]
fn quantiles_interpolate_between_order_statistics() {
    let samples = [10, 20, 30, 40];
    assert_eq!(quantile(&samples, 0.0), Some(10.0));
    assert_eq!(quantile(&samples, 50.0), Some(25.0));
    assert_eq!(quantile(&samples, 75.0), Some(32.5));
    assert_eq!(quantile(&samples, 100.0), Some(40.0));
    assert_eq!(quantile(&[], 50.0), None);
    assert_eq!(mean(&samples), Some(25.0));
}

#[test]
fn metrics_are_in_their_units_and_empty_metrics_have_no_value() {
    let program = Pipetest::default().program().unwrap();
    let observed = Observed {
        elapsed_ns: 3_000_000,
        counters: vec![1000],
        series: vec![vec![2621, 2623]],
        largest: vec![2623],
        ..Observed::default()
    };
    let measured = metrics(&program, &observed);
    let named = |name| measured.iter().find(|metric| metric.name == name).unwrap();
    assert_eq!(named("latency").value, Some(2.622));
    assert_eq!(named("latency").samples, Some(vec![2.621, 2.623]));
    let per_operation = named("usecs-per-op");
    assert_eq!((per_operation.value, per_operation.unit.as_str()), (Some(3.0), "us"));
    let nothing = Observed { counters: vec![0], series: vec![vec![]], ..Observed::default() };
    assert!(metrics(&program, &nothing).iter().all(|metric| metric.value.is_none()));
}

#[test]
fn a_maximum_is_the_largest_sample_offered_and_not_the_largest_sample_kept() {
    let program = BusyLoop::default().program().unwrap();
    let observed = |series: Vec<u64>, largest| Observed {
        counters: vec![0; 2],
        series: vec![series],
        largest: vec![largest],
        ..Observed::default()
    };
    let longest = |observed| metrics(&program, &observed)[0].value;
    assert_eq!(longest(observed(vec![2000, 3000], 9000)), Some(9.0));
    assert_eq!(longest(observed(vec![], 0)), None);
}

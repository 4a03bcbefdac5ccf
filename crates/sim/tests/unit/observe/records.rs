use super::Series;

#[test]
fn a_full_series_keeps_a_uniform_selection_in_order() {
    let mut series = Series::new(1 << 12, 7);
    (0..1 << 20).for_each(|ns| series.record(ns));
    assert_eq!(series.largest(), (1 << 20) - 1);
    let one_in = series.one_in;
    let samples = series.finish();
    assert!(samples.is_sorted() && (1 << 10..=1 << 12).contains(&samples.len()));
    let expected = (1u64 << 20) / one_in;
    assert!((samples.len() as u64).abs_diff(expected) < expected / 5, "{} of {expected}", samples.len());
    let mean = samples.iter().sum::<u64>() / samples.len() as u64;
    assert!(mean.abs_diff(1 << 19) < (1 << 19) / 16, "{mean}");
}

use proptest::prelude::*;

use super::{Histogram, bucket, start};

proptest! {
    #[test]
    fn a_duration_is_at_most_a_quarter_above_the_lower_end_of_its_bucket(ns in 0u64..1 << 39) {
        let begin = start(bucket(ns));
        prop_assert!(begin <= ns && (ns < 64 || ns - begin <= begin / 4));
        prop_assert_eq!(bucket(begin), bucket(ns));
    }

    #[test]
    fn quantiles_lie_in_the_bucket_of_the_exact_quantiles(mut all in prop::collection::vec(0u64..1 << 30, 1..200)) {
        let mut histogram = Histogram::default();
        all.iter().for_each(|ns| histogram.add(*ns));
        all.sort_unstable();
        let exact = all[(all.len() * 9).div_ceil(10) - 1];
        prop_assert_eq!(bucket(histogram.quantile_ns(900).unwrap()), bucket(exact));
        prop_assert_eq!(histogram.most_ns(), all.last().copied());
        prop_assert_eq!(histogram.mean_ns(), Some(all.iter().sum::<u64>() / all.len() as u64));
    }
}

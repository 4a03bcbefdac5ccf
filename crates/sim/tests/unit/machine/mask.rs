use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{CpuMask, MAX_CPUS};

proptest! {
    #[test]
    fn masks_behave_like_sets(
        a in prop::collection::btree_set(0..MAX_CPUS, 0..40), b in prop::collection::btree_set(0..MAX_CPUS, 0..40),
        start in 0..MAX_CPUS,
    ) {
        let (x, y): (CpuMask, CpuMask) = (a.iter().copied().collect(), b.iter().copied().collect());
        let both: BTreeSet<_> = a.intersection(&b).copied().collect();
        prop_assert_eq!(x.and(&y).iter().collect::<BTreeSet<_>>(), both.clone());
        prop_assert_eq!(x.or(&y).count(), a.union(&b).count());
        prop_assert_eq!(x.without(&y).count(), a.difference(&b).count());
        prop_assert_eq!(x.common(&y), both.len());
        prop_assert_eq!(x.lowest(), a.first().copied());
        let (low, high) = (start.min(MAX_CPUS / 3), start);
        prop_assert_eq!(x.count_between(low, high), a.range(low..high).count());
    }
}

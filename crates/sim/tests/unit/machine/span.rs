use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{CpuMask, Span};
use crate::machine::MAX_CPUS;

proptest! {
    #[test]
    fn spans_behave_like_sets(
        low in 0..MAX_CPUS, width in prop_oneof![1..30usize, 1..200usize], dense in any::<bool>(),
        nearby in any::<bool>(), a in prop::collection::btree_set(0..200usize, 0..40),
        b in prop::collection::btree_set(0..MAX_CPUS, 0..600), start in 0..MAX_CPUS, cpu in 0..MAX_CPUS,
    ) {
        let within = |each: usize| (low + each % width).min(MAX_CPUS - 1);
        let (start, cpu) = if nearby { (within(start), within(cpu)) } else { (start, cpu) };
        let a: BTreeSet<usize> = a.into_iter().map(within).collect();
        let a = if dense { (low..(low + width).min(MAX_CPUS)).collect() } else { a };
        let (span, y) = (Span::new(a.iter().copied().collect()), b.iter().copied().collect::<CpuMask>());
        let both: BTreeSet<_> = a.intersection(&b).copied().collect();
        prop_assert_eq!((span.common(&y), span.meets(&y)), (both.len(), !both.is_empty()));
        let mut visited = BTreeSet::new();
        span.each_common(&y, |cpu| assert!(visited.insert(cpu)));
        prop_assert_eq!(&visited, &both);
        prop_assert_eq!(span.first_common(&y), both.first().copied());
        let next = both.range(start..).chain(both.range(..start)).next().copied();
        prop_assert_eq!(span.first_common_from(&y, start), next);
        let between =
            if cpu >= start { a.range(start..cpu).count() } else { a.len() - a.range(cpu..start).count() };
        prop_assert_eq!(span.rank(start, cpu), between);
    }
}

//! Histograms of lengths of time.

use crate::time::Ns;

/// Parts of each power of two.
const PARTS: usize = 4;

/// Buckets: everything below 64 ns, then four per power of two up to 2^40 ns, then everything above.
const BUCKETS: usize = (40 - LEAST as usize) * PARTS + 1;

/// Power of two at which buckets begin.
const LEAST: u32 = 6;

/// Counts by logarithmic buckets, each at most a quarter wider than its lower end, with exact count, sum and extremes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    count: u64,
    sum: u64,
    least: Ns,
    most: Ns,
    buckets: [u32; BUCKETS],
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: [0; BUCKETS], count: 0, sum: 0, least: Ns::MAX, most: 0 }
    }
}

/// The bucket of a length.
#[inline]
fn bucket(ns: Ns) -> usize {
    if ns < 1 << LEAST {
        return 0;
    }
    let power = ns.ilog2();
    let part = (ns >> (power - 2)) as usize & (PARTS - 1);
    ((power - LEAST) as usize * PARTS + part + 1).min(BUCKETS - 1)
}

/// First length of a bucket.
fn start(bucket: usize) -> Ns {
    if bucket == 0 {
        return 0;
    }
    let (power, part) = (LEAST + ((bucket - 1) / PARTS) as u32, ((bucket - 1) % PARTS) as u64);
    (1 << power) + part * (1 << (power - 2))
}

impl Histogram {
    /// Counts a length.
    #[inline]
    pub fn add(&mut self, ns: Ns) {
        let bucket = &mut self.buckets[bucket(ns)];
        *bucket = bucket.saturating_add(1);
        self.count += 1;
        self.sum += ns;
        self.least = self.least.min(ns);
        self.most = self.most.max(ns);
    }

    /// Adds another histogram's counts.
    pub fn merge(&mut self, other: &Self) {
        self.buckets.iter_mut().zip(other.buckets.iter()).for_each(|(a, b)| *a = a.saturating_add(*b));
        self.count += other.count;
        self.sum += other.sum;
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
    }

    /// Number of counted lengths.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their sum in nanoseconds.
    pub fn sum_ns(&self) -> u64 {
        self.sum
    }

    /// The shortest; `None` without any.
    pub fn least_ns(&self) -> Option<Ns> {
        (self.count > 0).then_some(self.least)
    }

    /// The longest; `None` without any.
    pub fn most_ns(&self) -> Option<Ns> {
        (self.count > 0).then_some(self.most)
    }

    /// The arithmetic mean, rounded down; `None` without any.
    pub fn mean_ns(&self) -> Option<Ns> {
        self.sum.checked_div(self.count)
    }

    /// The lower end of the bucket in which the `per_mille`-th thousandth lies; `None` without any.
    pub fn quantile_ns(&self, per_mille: u64) -> Option<Ns> {
        let rank = (self.count * per_mille).div_ceil(1000).max(1);
        let mut below = 0;
        let found = self.buckets.iter().position(|count| {
            below += u64::from(*count);
            below >= rank
        });
        found.filter(|_| self.count > 0).map(|bucket| start(bucket).clamp(self.least, self.most))
    }

    /// Buckets that hold something: first length and count.
    pub fn buckets(&self) -> impl Iterator<Item = (Ns, u32)> + '_ {
        self.buckets
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
            .map(|(at, count)| (start(at), *count))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Histogram, bucket, start};

    proptest! {
        #[test]
        fn a_bucket_begins_at_most_a_fifth_below_what_it_holds(ns in 0u64..1 << 39) {
            let begin = start(bucket(ns));
            prop_assert!(begin <= ns && (ns < 64 || ns - begin <= begin / 4));
            prop_assert_eq!(bucket(begin), bucket(ns));
        }

        #[test]
        fn quantiles_lie_in_the_bucket_of_the_exact_ones(mut all in prop::collection::vec(0u64..1 << 30, 1..200)) {
            let mut histogram = Histogram::default();
            all.iter().for_each(|ns| histogram.add(*ns));
            all.sort_unstable();
            let exact = all[(all.len() * 9).div_ceil(10) - 1];
            prop_assert_eq!(bucket(histogram.quantile_ns(900).unwrap()), bucket(exact));
            prop_assert_eq!(histogram.most_ns(), all.last().copied());
            prop_assert_eq!(histogram.mean_ns(), Some(all.iter().sum::<u64>() / all.len() as u64));
        }
    }
}

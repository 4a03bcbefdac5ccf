//! Histograms of durations.

use crate::time::Ns;

/// Number of buckets per power of two.
const PARTS: usize = 4;

/// Number of buckets: one below 64 ns, four per power of two up to 2^40 ns; the last includes longer durations.
const BUCKETS: usize = (40 - LEAST as usize) * PARTS + 1;

/// Binary logarithm of the upper end of the first bucket.
const LEAST: u32 = 6;

/// Histogram with logarithmic buckets and with exact count, sum and extremes. The upper end of a bucket is at most a
/// quarter above its lower end.
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

/// Bucket of a duration.
#[inline]
fn bucket(ns: Ns) -> usize {
    if ns < 1 << LEAST {
        return 0;
    }
    let power = ns.ilog2();
    let part = (ns >> (power - 2)) as usize & (PARTS - 1);
    ((power - LEAST) as usize * PARTS + part + 1).min(BUCKETS - 1)
}

/// Lower end of a bucket.
fn start(bucket: usize) -> Ns {
    if bucket == 0 {
        return 0;
    }
    let (power, part) = (LEAST + ((bucket - 1) / PARTS) as u32, ((bucket - 1) % PARTS) as u64);
    (1 << power) + part * (1 << (power - 2))
}

impl Histogram {
    /// Count a duration.
    #[inline]
    pub fn add(&mut self, ns: Ns) {
        let bucket = &mut self.buckets[bucket(ns)];
        *bucket = bucket.saturating_add(1);
        self.count += 1;
        self.sum += ns;
        self.least = self.least.min(ns);
        self.most = self.most.max(ns);
    }

    /// Add another histogram's counts.
    pub fn merge(&mut self, other: &Self) {
        self.buckets.iter_mut().zip(other.buckets.iter()).for_each(|(a, b)| *a = a.saturating_add(*b));
        self.count += other.count;
        self.sum += other.sum;
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
    }

    /// Number of counted durations.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Sum of the durations in nanoseconds.
    pub fn sum_ns(&self) -> u64 {
        self.sum
    }

    /// Shortest duration; `None` if the histogram is empty.
    pub fn least_ns(&self) -> Option<Ns> {
        (self.count > 0).then_some(self.least)
    }

    /// Longest duration; `None` if the histogram is empty.
    pub fn most_ns(&self) -> Option<Ns> {
        (self.count > 0).then_some(self.most)
    }

    /// Arithmetic mean, rounded down; `None` if the histogram is empty.
    pub fn mean_ns(&self) -> Option<Ns> {
        self.sum.checked_div(self.count)
    }

    /// Lower end of the bucket that contains the `per_mille` / 1000 quantile; `None` if the histogram is empty.
    pub fn quantile_ns(&self, per_mille: u64) -> Option<Ns> {
        let rank = (self.count * per_mille).div_ceil(1000).max(1);
        let mut below = 0;
        let bucket = self.buckets.iter().position(|count| {
            below += u64::from(*count);
            below >= rank
        });
        bucket.filter(|_| self.count > 0).map(|bucket| start(bucket).clamp(self.least, self.most))
    }

    /// Lower end and count of each bucket that is not empty.
    pub fn buckets(&self) -> impl Iterator<Item = (Ns, u32)> + '_ {
        self.buckets
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
            .map(|(at, count)| (start(at), *count))
    }
}

#[cfg(test)]
#[path = "../../tests/unit/observe/histogram.rs"]
mod tests;

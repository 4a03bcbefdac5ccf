//! Recorded samples of the program's series.

use crate::time::{Ns, Random};

/// A series. When it is full, each sample is dropped with probability one half, and from then on each new one is recorded
/// with half the probability as before: a uniform selection in the order of recording, as the load generator keeps it.
#[derive(Debug, Clone)]
pub(crate) struct Series {
    samples: Vec<Ns>,
    most: usize,
    one_in: u64,
    random: Random,
}

impl Series {
    pub(crate) fn new(most: usize, seed: u64) -> Self {
        Self { samples: Vec::new(), most: most.max(2), one_in: 1, random: Random::new(seed) }
    }

    pub(crate) fn record(&mut self, ns: Ns) {
        if self.one_in > 1 && self.random.below(self.one_in) != 0 {
            return;
        }
        if self.samples.len() == self.most {
            let random = &mut self.random;
            self.samples.retain(|_| random.below(2) == 0);
            self.one_in *= 2;
            if self.random.below(2) != 0 {
                return;
            }
        }
        self.samples.push(ns);
    }

    /// The samples, and about one in how many was kept.
    pub(crate) fn finish(self) -> (Vec<Ns>, u64) {
        (self.samples, self.one_in)
    }
}

#[cfg(test)]
mod tests {
    use super::Series;

    #[test]
    fn a_full_series_keeps_a_uniform_selection_in_order() {
        let mut series = Series::new(1 << 12, 7);
        (0..1 << 20).for_each(|ns| series.record(ns));
        let (samples, one_in) = series.finish();
        assert!(samples.is_sorted() && (1 << 10..=1 << 12).contains(&samples.len()));
        let expected = (1u64 << 20) / one_in;
        assert!((samples.len() as u64).abs_diff(expected) < expected / 5, "{} of {expected}", samples.len());
        let mean = samples.iter().sum::<u64>() / samples.len() as u64;
        assert!(mean.abs_diff(1 << 19) < (1 << 19) / 16, "{mean}");
    }
}

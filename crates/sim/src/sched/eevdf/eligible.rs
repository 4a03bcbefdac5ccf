//! Eligibility: the weighted mean V of a queue's virtual times, and the tasks whose time is not after V.

/// Sums over a queue, the current task included.
#[derive(Debug, Clone, Copy)]
pub struct Sums {
    /// Σ (v − base) × weight (`avg_vruntime`).
    pub sum: i128,
    /// Σ weight (`avg_load`).
    pub load: u64,
    /// Base of the virtual times in `sum`.
    pub base: i64,
}

impl Sums {
    /// Whether a task with a virtual time is eligible, that is, whether the time is not after V (`entity_eligible()` and
    /// `vruntime_eligible()`, kernel/sched/fair.c, v6.12).
    #[inline(always)]
    pub fn entity_eligible(&self, vruntime: i64) -> bool {
        // As i64, so that the compiler needs a single multiplication of 64-bit numbers. A load is far below 2⁶³.
        self.sum >= i128::from(vruntime - self.base) * i128::from(self.load as i64)
    }

    /// V, rounded down (`avg_vruntime()`, kernel/sched/fair.c, v6.12).
    #[inline]
    pub fn avg_vruntime(&self) -> i64 {
        if self.load == 0 { self.base } else { self.base + divided(self.sum, self.load) }
    }

    /// The sums without a task of this virtual time and weight.
    #[inline]
    pub fn without(self, vruntime: i64, weight: u32) -> Self {
        let sum = self.sum - i128::from(vruntime - self.base) * i128::from(weight);
        Self { sum, load: self.load - u64::from(weight), base: self.base }
    }
}

/// `sum` / `load`, rounded down. A 64-bit division is much cheaper than a division of 128 bits, and nearly always
/// suffices.
#[inline]
fn divided(sum: i128, load: u64) -> i64 {
    match (i64::try_from(sum), i64::try_from(load)) {
        (Ok(sum), Ok(load)) => sum.div_euclid(load),
        _ => sum.div_euclid(i128::from(load)) as i64,
    }
}

//! Weights of nice values.

/// Weight of nice 0; the unit of loads.
pub const UNIT: u64 = 1024;

/// Weight of a SCHED_IDLE task.
pub const IDLE: u32 = 3;

/// Weights of nice −20 to 19: each step is a factor of about 1.25, so that one step up or down changes a task's share of
/// a contended CPU by 10 % (Documentation/scheduler/sched-nice-design.rst; the kernel's `sched_prio_to_weight`).
const OF_NICE: [u32; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904, 3906, 3121,
    2501, 1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87, 70, 56, 45, 36, 29,
    23, 18, 15,
];

/// Weight of a nice value. Values outside of −20..=19 are clamped.
pub fn of_nice(nice: i32) -> u32 {
    OF_NICE[(nice.clamp(-20, 19) + 20) as usize]
}

/// Virtual time that a task of `weight` accrues in `ns` of run time.
#[inline]
pub fn virtual_ns(ns: u64, weight: u32) -> i64 {
    if u64::from(weight) == UNIT { ns as i64 } else { divided(ns, weight) }
}

/// Slow path of [`virtual_ns`]. Not inlined, because an inlined function would occupy registers in the event loop.
#[inline(never)]
fn divided(ns: u64, weight: u32) -> i64 {
    let weight = u64::from(weight.max(1));
    match ns.checked_mul(UNIT) {
        Some(scaled) => (scaled / weight) as i64,
        None => (u128::from(ns) * u128::from(UNIT) / u128::from(weight)) as i64,
    }
}

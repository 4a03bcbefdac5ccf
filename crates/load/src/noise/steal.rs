//! Time that the hypervisor takes from CPUs.

use super::join;
use super::observed;
use crate::sys::counter::Rate;

/// Explain unexplained time by the hypervisor where /proc/stat shows that it took time. Return that time in ns.
///
/// The counters have steps of a tick. Only windows in which the counters grew are considered; the stolen time of a window may
/// be a tick longer than the growth.
pub fn attribute(gaps: &mut [join::Explained], samples: &[(u64, u64)], rate: Rate) -> u64 {
    let tick_ns = 1_000_000_000 / observed::ticks_per_second().max(1);
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else { return 0 };
    let ticks = last.1.saturating_sub(first.1);
    if ticks == 0 {
        return 0;
    }
    let slack = rate.counts(tick_ns as f64);
    let windows: Vec<(u64, u64)> =
        samples.windows(2).filter(|pair| pair[1].1 > pair[0].1).map(|pair| (pair[0].0, pair[1].0)).collect();
    let admits = |gap: &join::Explained| {
        let end = gap.start + gap.length;
        windows.iter().any(|(from, to)| end + slack >= *from && gap.start <= *to)
    };
    let budget = rate.counts(((ticks + 1) * tick_ns) as f64);
    join::attribute(gaps, join::HYPERVISOR, budget, usize::MAX, admits);
    ticks * tick_ns
}

use std::mem::offset_of;

use super::Cpu;

#[test]
fn fields_that_events_use_are_in_three_cache_lines_before_the_timers() {
    assert_eq!(offset_of!(Cpu, timer_at), 64 + 16);
    assert_eq!(offset_of!(Cpu, max_idle_balance_cost), 128);
    assert_eq!(offset_of!(Cpu, timers), 192);
    assert_eq!(size_of::<Cpu>(), 512, "a power of two, so that indexing is a shift");
}

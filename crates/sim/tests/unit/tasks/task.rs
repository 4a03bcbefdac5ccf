use std::mem::offset_of;

use super::Task;

#[test]
fn wake_ups_and_switches_need_only_the_first_two_cache_lines_of_a_task() {
    assert_eq!(offset_of!(Task, segment), 64);
    assert_eq!(offset_of!(Task, action), 128);
}

use super::Buffers;

#[test]
fn the_kernel_doubles_the_sizes_and_has_a_least_size() {
    assert_eq!(Buffers::new(4352).segment(), 2176);
    assert_eq!(Buffers::new(1).segment(), 576);
}

#[test]
fn a_sender_waits_when_its_memory_is_used_up() {
    let mut buffers = Buffers::new(4352);
    assert_eq!(buffers.room(0, 4096), 4096);
    buffers.write(0, 4096);
    // Two segments occupy 4096 + 2 * 1280 bytes of 8704: a third segment fits, and 256 bytes fill up the second.
    assert_eq!(buffers.room(4096, 4096), 256 + 2176);
    assert_eq!(buffers.next(4096, 0, true), 2176);
    buffers.sent(2176);
    assert_eq!(buffers.next(1920, 0, false), 0, "a small segment waits");
    buffers.sent(1920);
    assert_eq!(buffers.next(2176, 0, true), 0, "256 bytes of the window are left");
    assert!(buffers.reports_room(0, 2176));
    buffers.acknowledged(0, 2176);
    assert_eq!(buffers.next(2176, 0, false), 2176);
    assert!(buffers.wakes_writer());
}

#[test]
fn a_window_is_never_taken_back() {
    let mut buffers = Buffers::new(4352);
    buffers.write(0, 100);
    buffers.sent(100);
    assert_eq!(buffers.select_window(8704, 536), 0);
    buffers.acknowledged(8704, 536);
    assert_eq!(buffers.next(2000, 0, true), 2000);
}

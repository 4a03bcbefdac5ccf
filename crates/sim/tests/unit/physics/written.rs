use super::*;

#[test]
fn messages_that_the_core_writes_meanwhile_evict_a_message() {
    let mut written = Written::new(2, 4);
    let after = written.add(0, 1024);
    assert_eq!(written.read(0, (after, 0, 0), 1000), 0, "the message is complete in the caches");
    written.add(0, 1024);
    assert_eq!(written.read(0, (after, 0, 0), 1000), 250, "a quarter of 4 KiB came in");
    written.add(1, 4096);
    assert_eq!(written.read(0, (after, 0, 0), 1000), 250, "each core has its own caches");
    written.add(0, 1 << 20);
    assert_eq!(written.read(0, (after, 0, 0), 1000), 1000);
}

#[test]
fn messages_behind_in_the_same_queue_count() {
    let mut written = Written::new(1, 4);
    let after_both = written.add(0, 2048);
    assert_eq!(written.read(0, (after_both, 2048, 0), 1000), 500);
    assert_eq!(written.read(0, (after_both, 1024, 0), 1000), 250);
}

#[test]
fn memory_of_a_new_message_is_as_cold_as_the_message_that_was_read_last() {
    let mut written = Written::new(2, 4);
    let after = written.add(0, 1024);
    assert_eq!(written.part_of_last(0, 1000), 0);
    written.add(0, 2048);
    written.read(0, (after, 0, 0), 1000);
    assert_eq!((written.part_of_last(0, 600), written.part_of_last(1, 600)), (300, 0));
}

#[test]
fn lost_messages_that_are_read_evict_others() {
    let mut written = Written::new(1, 4);
    let first = written.add(0, 1024);
    let last = written.add(0, 4096);
    assert_eq!(written.read(0, (first, 0, 1024), 1000), 1000);
    assert_eq!(written.read(0, (last, 0, 1024), 1000), 250, "1 KiB has come back");
}

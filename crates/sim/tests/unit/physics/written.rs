use super::*;

/// Read a message; return the time to fetch its lost part, if the complete message takes 1000 ns.
fn read(written: &mut Written, core: usize, message: Waiting) -> u64 {
    let fetched = written.fetch(core, &message, || 1000);
    assert_eq!(
        written.fetch(core, &message, || 1000),
        fetched,
        "a message that is only looked at stays as it is"
    );
    written.read(core, &message);
    assert_eq!(written.fetch_last(core, || 1000), fetched);
    fetched
}

fn waiting(written: u64, behind: u64) -> Waiting {
    Waiting { written, behind, memory: 1024 }
}

#[test]
fn messages_that_the_core_writes_meanwhile_evict_a_message() {
    let mut written = Written::new(2, 4);
    let first = written.write(0, 1024);
    assert_eq!(read(&mut written, 0, waiting(first, 0)), 0, "the message is complete in the caches");
    let mut written = Written::new(2, 4);
    let first = written.write(0, 1024);
    written.write(0, 1024);
    written.write(1, 4096);
    assert_eq!(
        read(&mut written, 0, waiting(first, 0)),
        250,
        "a quarter of 4 KiB came in, and each core has its caches"
    );
    let mut written = Written::new(2, 4);
    let first = written.write(0, 1024);
    written.write(0, 1 << 20);
    assert_eq!(read(&mut written, 0, waiting(first, 0)), 1000);
}

#[test]
fn bytes_behind_a_message_in_its_queue_have_come_in_after_it() {
    let mut written = Written::new(1, 4);
    let both = written.write(0, 2048);
    assert_eq!(read(&mut written, 0, waiting(both, 1024)), 250);
    assert_eq!(
        read(&mut written, 0, waiting(both, 0)),
        62,
        "a quarter of the first has come back: 256 of 4096 bytes"
    );
}

#[test]
fn memory_that_was_freed_warm_brings_nothing_in() {
    let mut written = Written::new(1, 4);
    let mut last = 0;
    for _ in 0..100 {
        let now = written.write(0, 1024);
        assert_eq!(read(&mut written, 0, waiting(now, 0)), 0);
        last = now;
    }
    assert_eq!(last, 1024, "only the first message was fresh memory");
}

#[test]
fn memory_of_a_new_message_is_as_cold_as_the_message_that_was_read_last() {
    let mut written = Written::new(2, 4);
    let first = written.write(0, 1024);
    assert_eq!(written.fetch_last(0, || 1000), 0);
    written.write(0, 2048);
    read(&mut written, 0, waiting(first, 0));
    assert_eq!((written.fetch_last(0, || 600), written.fetch_last(1, || 600)), (300, 0));
    let before = written.write(0, 0);
    assert_eq!(written.write(0, 1024) - before, 512, "half of the freed memory has left the caches");
}
